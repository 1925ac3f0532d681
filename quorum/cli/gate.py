"""`quorum gate`: one call from standard input, the answer on standard output."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
from dataclasses import replace

from domain.review.gate_decision import GateDecision
from domain.review.permissions import Answer
from domain.shell.git_commands import GIT_ENVIRONMENT
from quorum.gate import tui_client
from quorum.gate.dialects import DIALECTS, Dialect, Reply
from quorum.gate.payload import BadPayload, parse_payload, read_payload
from quorum.options import Options


def print_decision(options: Options) -> int:
    """Answer the caller; the exit code that its form has for the answer. Never raises for what a call holds."""
    gc.disable()  # the process ends soon
    if not options.gate.dialect:
        print(json.dumps(dict(GIT_ENVIRONMENT), indent=2))
        return 0
    dialect = DIALECTS[options.gate.dialect]
    reply = _reply(dialect, options)
    if reply.err:
        print(reply.err, file=sys.stderr)
    if reply.out:
        print(reply.out, flush=True)
    return reply.code


def _reply(dialect: Dialect, options: Options) -> Reply:
    event = ""
    try:
        if sys.stdin is None:
            raise BadPayload("standard input is closed, so there is no call to decide about")
        gate, trouble = options.gate, ""
        if tui_client.held is not None:
            content, trouble = tui_client.held
        else:
            content = read_payload(sys.stdin.buffer)
            if gate.tui is not None:
                try:
                    return Reply(
                        *tui_client.ask_running(str(gate.tui), gate.dialect, content, gate.timeout_secs)
                    )
                except tui_client.Unreachable as error:
                    trouble = str(error)
        request = dialect.read(parse_payload(content), os.environ)
        event = request.event
        from quorum.cli.settings import load
        from quorum.gate.local_gate import decide_here

        decision = asyncio.run(decide_here(request, options, load))
        if trouble and decision.answer is Answer.ASK:
            decision = replace(decision, reasons=(*decision.reasons, trouble))
    except BadPayload as error:
        event = event or error.event
        decision = GateDecision.ask(str(error))
    except KeyboardInterrupt:
        decision = GateDecision.ask("quorum was interrupted")
    except Exception as error:  # noqa: BLE001 - a failure of ours must not let a call run
        decision = GateDecision.ask(f"quorum failed: {type(error).__name__}: {error}")
    return dialect.reply(event, decision)

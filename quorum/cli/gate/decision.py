"""One call from standard input, decided about; after its answer the resident gate starts for the next."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import quorum
from quorum.cli.gate import GateOptions
from quorum.command_line.options import StartOptions
from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.domain.review.gate_decision import GateDecision
from quorum.domain.review.permission_rules import Answer
from quorum.domain.shell.git_commands import GIT_ENVIRONMENT
from quorum.gate import held_call, tui_client
from quorum.gate.dialects import DIALECTS, Dialect, Reply
from quorum.gate.held_call import HeldCall
from quorum.gate.payload import BadPayload, parse_payload, read_payload
from quorum.gate.plain_arguments import read_folder
from quorum.gate.resident_key import identify_resident
from quorum.infrastructure.remote.place import remove_dead_sockets, resolve_own_path

if TYPE_CHECKING:
    from quorum.gate.gate_sessions import Load
    from quorum.infrastructure.config.loading import LoadedSettings


def print_decision(options: GateOptions) -> int:
    """Answer the caller; the exit code that its form has for the answer. Never raises for what a call holds."""
    if not options.dialect:
        print(json.dumps(dict(GIT_ENVIRONMENT), indent=2))
        return 0
    dialect = DIALECTS[options.dialect]
    kept_minutes = 0

    def load(options: StartOptions, root: Path) -> LoadedSettings:
        nonlocal kept_minutes
        from quorum import settings

        loaded = settings.load(options, root)
        kept_minutes = loaded.settings.gate.idle_minutes
        return loaded

    reply = _reply(dialect, options, load)
    if reply.err:
        print(reply.err, file=sys.stderr)
    if reply.out:
        print(reply.out, flush=True)
    if kept_minutes and options.is_plain:
        with suppress(OSError):  # the next call is decided in a process of its own, too
            start_resident()
    return reply.code


def _reply(dialect: Dialect, options: GateOptions, load: Load) -> Reply:
    event = ""
    try:
        if sys.stdin is None:
            raise BadPayload("standard input is closed, so there is no call to decide about")
        held = held_call.held
        if held is None:
            held = HeldCall(read_payload(sys.stdin.buffer))
            if options.tui is not None:
                try:
                    return Reply(
                        *tui_client.ask_running(
                            str(options.tui), options.dialect, held.content, options.timeout_secs
                        )
                    )
                except tui_client.Unreachable as error:
                    held = held._replace(trouble=str(error))
        payload = parse_payload(held.content)
        dialect = dialect.adapt(payload, os.environ)
        request = dialect.read(payload, dict(os.environ), read_folder())
        event = request.event
        if held.verdict:
            return dialect.reply(event, _leave_undecided(held.verdict))
        from quorum.gate.gate_sessions import decide_here

        left_secs = max(1.0, options.timeout_secs - held.spent_secs)
        decision = asyncio.run(decide_here(request, options, load, timeout_secs=left_secs))
        if held.trouble and decision.answer is Answer.ASK:
            decision = replace(decision, reasons=(*decision.reasons, held.trouble))
    except BadPayload as error:
        event = event or error.event
        decision = _leave_undecided(str(error))
    except KeyboardInterrupt:
        decision = _leave_undecided("quorum was interrupted")
    except Exception as error:  # noqa: BLE001 - a failure of ours must not let a call run
        decision = _leave_undecided(f"quorum failed: {type(error).__name__}: {error}")
    return dialect.reply(event, decision)


def _leave_undecided(reason: str) -> GateDecision:
    from quorum.infrastructure.gate.undecided import answer_undecided

    return answer_undecided(reason)


OPTION = "--resident"
_PROGRAM = os.path.join(os.path.abspath(quorum.__path__[0]), "__main__.py")
_MOST = 4  # an agent that gives each call another environment must not fill the memory with them


def start_resident() -> None:
    """Start it, if this environment has none yet. Raises OSError where that cannot be done."""
    if (key := identify_resident(os.environ)) is None:
        return
    folder = Path(key.socket).parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        resolve_own_path(Path(key.socket))
    except ConfigError:
        return  # it could not listen there
    if remove_dead_sockets(folder) >= _MOST or os.path.lexists(key.socket):
        return
    # -P, and the file by its path: neither the caller's folder nor another `quorum` can come in between.
    subprocess.Popen(
        [sys.executable, "-P", _PROGRAM, "gate", OPTION],
        cwd="/",
        env=dict(os.environ),  # what a library has set past Python would be in no key
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=True,
        start_new_session=True,
    )

"""Deciding about one call in this process, from its settings to its record."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from application.ports.people import Approver
from domain.errors import QuorumError
from domain.review.gate_decision import GateDecision
from domain.review.permissions import Answer
from quorum.gate.dialects import CallerRequest
from quorum.gate.payload import BadPayload
from quorum.options import Options

_RECORDED = GateDecision(answer=Answer.ALLOW, reasons=("the prompt is recorded",))


def locate_root(request: CallerRequest, options: Options) -> Path:
    """The workspace: --workdir, else the project that Claude Code names, else the caller's folder.

    The folder of a call may change while a caller works; its project does not. Raises BadPayload where the
    folder is not there.
    """
    project = os.environ.get("CLAUDE_PROJECT_DIR") if options.gate.dialect == "claude" else None
    named = options.gate.workdir or project or request.cwd
    try:
        root = Path(named).resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise BadPayload(f"the folder {named} cannot be used: {error}", request.event) from error
    if not root.is_dir():
        raise BadPayload(f"{named} is no folder", request.event)
    return root


async def decide_here(
    request: CallerRequest, options: Options, *, caller: str, approver: Approver
) -> GateDecision:
    """Decide, and put it on record. Whatever fails, and whatever takes too long, is to be asked about."""
    limit = options.gate.timeout_secs
    started = time.monotonic()
    try:
        async with asyncio.timeout(limit) as timer:
            decision = await _decide(request, options, caller=caller, approver=approver)
    except TimeoutError:
        return GateDecision.ask(f"nothing was decided within {limit:g} s")
    except (QuorumError, OSError) as error:
        return GateDecision.ask(str(error))
    if timer.expired() or time.monotonic() - started > limit:
        return GateDecision.ask(f"nothing was decided within {limit:g} s")
    return decision


async def _decide(request: CallerRequest, options: Options, *, caller: str, approver: Approver) -> GateDecision:
    from infrastructure.gate.sessions import build_call_gate, open_caller_record
    from quorum.cli.settings import load

    root = locate_root(request, options)
    loaded = await asyncio.to_thread(load, options, root)
    record = await open_caller_record(
        loaded, root, caller=caller, session=request.session, patience_secs=options.gate.timeout_secs
    )
    try:
        gate = build_call_gate(loaded, root, caller=caller, approver=approver, record=record)
        if request.call is None:
            await gate.note_prompt(request.prompt)
            return _RECORDED
        return await gate.decide(request.call)
    finally:
        await record.release()

"""The sessions of callers that are open: each is kept for a while, for its next call.

Nobody watches a gate: what the reviewers say is waited for, and given to the caller, who asks its own person.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from quorum.application.ports.people import Approver, PersonAnswer, Question, ReviewQuestion
from quorum.application.review.approvers import NonInteractiveApprover
from quorum.command_line.options import StartOptions
from quorum.domain.errors import LedgerError, QuorumError
from quorum.domain.review.gate_decision import GateDecision
from quorum.domain.review.permission_rules import Answer
from quorum.domain.review.questions import NobodyThere
from quorum.gate.dialects import CallerRequest
from quorum.gate.payload import BadPayload
from quorum.gate.resident_key import select_common
from quorum.infrastructure.gate.undecided import answer_undecided

if TYPE_CHECKING:
    from quorum.application.call_gate import CallGate
    from quorum.application.session.session_record import SessionRecord
    from quorum.infrastructure.config.loading import LoadedSettings


class UnaskedApprover(NonInteractiveApprover):
    """Implements `Approver`. The caller asks its own person, who reads the votes with the question. What people
    have to sign waits for them: no answer to the caller is a signature."""

    is_there = True

    async def ask(self, question: Question) -> PersonAnswer:
        """Wait for the votes about a call, and leave the question to the caller."""
        if not isinstance(question, ReviewQuestion):
            return await super().ask(question)
        if question.request.signing is not None:
            await asyncio.get_running_loop().create_future()
        context, complete = question.context, asyncio.Event()

        def look() -> None:
            if not context.awaited:
                complete.set()

        stop = context.watch(look)
        try:
            look()
            await complete.wait()
        finally:
            stop()
        return NobodyThere()


MakeApprover: TypeAlias = Callable[[str, Path], Approver]
"""The person for the calls of a caller, named, in a workspace."""

Load: TypeAlias = Callable[[StartOptions, Path], "LoadedSettings"]
"""Reads the settings of a folder, as far as it is trusted. It blocks, and raises ConfigError."""

_PATIENCE_SECS = 10.0
"""How long a server is waited for: an agent that has waited too long for its hook goes on without one."""
IDLE_SECS = 2.0
_RECORDED = GateDecision(answer=Answer.ALLOW, reasons=("the prompt is recorded",))


@dataclass(slots=True)
class _Open:
    """What decides for one session, and the settings that it was made with."""

    gate: CallGate
    record: SessionRecord
    settings: object


@dataclass(slots=True)
class _SessionSlot:
    """One session of a caller. `used`: how often; what waits to close it looks whether that has changed."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    open: _Open | None = None
    used: int = 0
    until_closing: asyncio.TimerHandle | None = None


class GateSessions:
    """Decides about calls of any number of sessions; those of one session come one after the other."""

    def __init__(
        self, options: StartOptions, load: Load, make_approver: MakeApprover, *, idle_secs: float = IDLE_SECS
    ) -> None:
        self._options, self._load = options, load
        self._make_approver, self._idle_secs = make_approver, idle_secs
        self._slots: dict[tuple[object, ...], _SessionSlot] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def decide(self, request: CallerRequest, *, timeout_secs: float) -> GateDecision:
        """Decide, and record it. Whatever fails, and whatever takes too long, is not decided.

        Raises BadPayload where the folder cannot be used.
        """
        root = await asyncio.to_thread(self._locate_root, request)
        key = (request.caller, request.session, root)
        slot = self._slots.setdefault(key, _SessionSlot())
        started, unsigned = time.monotonic(), ""
        try:
            async with asyncio.timeout(timeout_secs):
                async with slot.turn:
                    try:
                        decision = await self._decide(request, root, slot)
                    finally:
                        unsigned = slot.open.gate.explain_unsigned() if slot.open is not None else ""
        except TimeoutError:
            return await _decide_late(timeout_secs, unsigned)
        except (QuorumError, OSError) as error:
            return await asyncio.to_thread(answer_undecided, str(error))
        finally:
            self._close_later(slot)
        # A runtime that is cancelled brings its call to an end all the same.
        is_late = time.monotonic() - started > timeout_secs
        return await _decide_late(timeout_secs, unsigned) if is_late else decision

    async def aclose(self) -> None:
        """Close all sessions. Raises LedgerError where something could not be written."""
        for task in tuple(self._closing):
            task.cancel()
        for slot in self._slots.values():
            if slot.until_closing is not None:
                slot.until_closing.cancel()
            async with slot.turn:
                await _close(slot)

    def _locate_root(self, request: CallerRequest) -> Path:
        """The workspace: --workdir, else the folder that the caller was started in. With all of the machine in
        it, every file would count as one of the workspace: that is refused."""
        named = self._options.workdir or request.project
        try:
            root = Path(named).resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:
            raise BadPayload(f"the folder {named} cannot be used: {error}", request.event) from error
        if not root.is_dir():
            raise BadPayload(f"{named} is not a folder", request.event)
        if root == Path(root.anchor):
            raise BadPayload(f"the workspace would be {root}: name one with --workdir", request.event)
        return root

    async def release(self, session_id: str) -> None:
        """Close the session of ours with this id, once nothing is decided in it, for another process."""
        for slot in tuple(self._slots.values()):
            if slot.open is not None and slot.open.record.session_id == session_id:
                async with slot.turn:
                    await _close(slot)

    async def _decide(self, request: CallerRequest, root: Path, slot: _SessionSlot) -> GateDecision:
        from quorum.infrastructure.gate.hook_files import read_settings_state

        settings = await asyncio.to_thread(read_settings_state, root, self._options.config_file)
        if slot.open is not None and slot.open.settings != settings:
            await _close(slot)
        if slot.open is None:
            slot.open = await self._open(request, root, settings)
        gate = slot.open.gate
        if request.call is None:
            if request.prompt.strip():
                await gate.note_prompt(request.prompt)
            return _RECORDED
        if request.unknown:
            from quorum.infrastructure.gate.unknown_fields import keep_unknown_fields

            await asyncio.to_thread(keep_unknown_fields, request.caller, request.unknown, os.environ)
        return await gate.decide(request.call, unknown=request.unknown)

    async def _open(self, request: CallerRequest, root: Path, settings: object) -> _Open:
        from quorum.infrastructure.gate.sessions import build_call_gate, open_caller_record

        caller = request.caller
        loaded = await asyncio.to_thread(self._load, self._options, root)
        record = await open_caller_record(loaded, root, caller=caller, session=request.session)
        try:
            gate = build_call_gate(
                loaded,
                root,
                caller=caller,
                approver=self._make_approver(caller, root),
                record=record,
                hook_environ=select_common(os.environ),  # a resident decides for callers with others
            )
        except BaseException:
            await record.release()
            raise
        return _Open(gate, record, settings)

    def _close_later(self, slot: _SessionSlot) -> None:
        """Let another process write the session when no call came for a while."""
        slot.used += 1
        used = slot.used

        def begin_closing() -> None:
            task = asyncio.create_task(self._close_unused(slot, used))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

        if slot.until_closing is not None:
            slot.until_closing.cancel()
        slot.until_closing = asyncio.get_running_loop().call_later(self._idle_secs, begin_closing)

    async def _close_unused(self, slot: _SessionSlot, used: int) -> None:
        async with slot.turn:
            if slot.used == used:
                await _close(slot)


async def _decide_late(timeout_secs: float, unsigned: str) -> GateDecision:
    if unsigned:
        return GateDecision(answer=Answer.DENY, reasons=(unsigned,))
    return await asyncio.to_thread(answer_undecided, f"nothing was decided within {timeout_secs:g} s")


async def _close(slot: _SessionSlot) -> None:
    opened, slot.open = slot.open, None
    if opened is not None:
        try:
            await opened.gate.aclose()
        finally:
            await opened.record.release()


async def decide_here(
    request: CallerRequest, options: StartOptions, load: Load, *, timeout_secs: float
) -> GateDecision:
    """Decide, and record it. What fails is not decided. Raises BadPayload."""
    from quorum.infrastructure.blocking import Outage

    Outage.most_secs = _PATIENCE_SECS
    sessions = GateSessions(options, load, lambda _caller, _root: UnaskedApprover())
    try:
        decision = await sessions.decide(request, timeout_secs=timeout_secs)
        await sessions.aclose()
    except LedgerError as error:
        return answer_undecided(f"the decision cannot be recorded: {error}")
    return decision

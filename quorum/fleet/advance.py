"""`quorum fleet advance`: one submitted session, run until it ends or a review needs a person."""

from __future__ import annotations

import gc
import os
import sys
import threading
from pathlib import Path
from typing import NoReturn

from quorum.application.session.advance import Ended, LeftOpen, SessionAdvance
from quorum.application.session.agent_session import AgentSession
from quorum.command_line.options import SessionOptions
from quorum.domain.errors import GoalRefused, HostFailed, LedgerError
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.fleet_session import FleetSession
from quorum.domain.goal import TypedGoal
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.session_summary import ContinuedSession
from quorum.domain.sessions.waiting_review import find_last_report, find_used_layer
from quorum.errors import complain
from quorum.event_loop import run_event_loop
from quorum.headless.leave_open import advance_opened, end_process
from quorum.headless.printer import HeadlessPrinter
from quorum.headless.session import SessionInUseElsewhere, close_session, compose_session
from quorum.infrastructure.answerer import name_machine
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.execution.program import open_process_to_inspection
from quorum.infrastructure.staging.entered import find_entered
from quorum.run_signals import RunSignals
from quorum.settings import load
from quorum.starting import enter_layer, explain_start_failures

BUSY = 75
"""The exit code where the session cannot be advanced now, as sysexits.h has it for what may work later."""
_ORPHANED = 137
_LOST = (
    "The layer in which you worked is gone, and with it all that you changed in this turn: every file is as it "
    "is in the folder. Read files again before you edit them."
)


def advance_fleet_session(
    options: SessionOptions, session: FleetSession, root: Path, *, owner: int | None
) -> int:
    """Advance it in this process; the exit code. Workers serve only folders in `root`.

    `owner` is a descriptor: once its other end is closed, the process ends. BUSY where another process, later
    or elsewhere, can advance it. Raises as `quorum run` does.
    """
    gc.disable()  # what a session is made of lives on; composed, it turns it on again
    folder = Path(session.cwd)
    if not folder.is_dir() or not folder.resolve().is_relative_to(root.resolve()):
        complain([f"{session.cwd!a} is no folder in {str(root)!a}, where this worker runs sessions"])
        return BUSY
    signals = RunSignals(("--output", "json"))
    with explain_start_failures():
        loaded = load_for_fleet(options, folder)
    complain(loaded.warnings)
    if loaded.settings.review.mode is Mode.STAGED:
        open_process_to_inspection()
        enter_layer(folder.resolve(), session.session_id, is_shared=False)
    if owner is not None:
        _watch_owner(owner)
    try:
        return run_event_loop(_advance(options, folder, loaded, session, signals, has_owner=owner is not None))
    except (SessionInUseElsewhere, LedgerError) as busy:
        complain([str(busy)])
        return BUSY


def load_for_fleet(options: SessionOptions, folder: Path) -> LoadedSettings:
    """The settings of a session that somebody submitted. Raises ConfigError."""
    loaded = load(replace(options, workdir=folder), folder)
    people = replace(loaded.policy.people, account_asks=False)  # the worker's is not that of who submitted it
    return replace(loaded, policy=replace(loaded.policy, people=people))


async def _advance(
    options: SessionOptions,
    folder: Path,
    loaded: LoadedSettings,
    session: FleetSession,
    signals: RunSignals,
    *,
    has_owner: bool,
) -> int:
    printer = HeadlessPrinter("json", quiet=True, verbose=False)
    advance = SessionAdvance(printer)
    entered = find_entered()
    lacks_layer = entered is None or entered.folder.session != session.session_id
    with explain_start_failures():
        agent, _ = await compose_session(
            options,
            folder,
            loaded,
            advance,
            choice=ContinuedSession(session.session_id),
            reviews=advance.reviews,
        )
    async with close_session(agent, signals):
        if not agent.record.outlives:
            # Run unrecorded, it would be run again by whoever finds no record of it.
            complain(agent.record.notices)
            return BUSY
        lost = find_used_layer(agent.record.records) if lacks_layer else None
        if lost is not None and (why := lost.explain_absence(name_machine(), is_in_layer=entered is not None)):
            complain([why])
            return BUSY
        if (code := await _report_past_end(agent, printer)) is not None:
            return code
        prompt = "" if agent.state.turns else session.prompt
        if why := await _explain_unfit_prompt(agent, session, prompt):
            return _fail(session, printer, why)
        agent.run.leaves_host_failures = True

        async def tell_of_lost_layer() -> None:
            if lost is not None:
                await agent.run.queue_note(_LOST)

        try:
            advanced = await advance_opened(
                agent, advance, prompt or "", printer, signals, has_owner=has_owner, prepare=tell_of_lost_layer
            )
        except HostFailed as failed:
            complain([str(failed)])
            _end_unrecorded()
        match advanced:
            case Ended(report):
                if agent.unrecorded:
                    _end_unrecorded()
                await agent.close(report)
                printer.conclude()
                return report.exit_code
            case LeftOpen() as left:
                end_process(left, agent, printer)


async def _explain_unfit_prompt(agent: AgentSession, session: FleetSession, prompt: str | None) -> str:
    """Why it cannot begin with this; empty where it can, and then the goal is set, if it is one."""
    if prompt is None:
        return "the record of the session is gone, and its prompt with it; submit it again"
    if prompt and session.checks is not None:
        try:
            # again where an earlier process did not get to its first turn
            await agent.require_goals().set_goal(TypedGoal(prompt, session.checks))
        except GoalRefused as refusal:
            return str(refusal)
    return ""


def _fail(session: FleetSession, printer: HeadlessPrinter, error: str) -> int:
    report = RunReport(
        session_id=session.session_id,
        status=RunStatus.FAILED,
        stop_reason=None,
        text="",
        turns=0,
        error=error,
    )
    printer.leave(report, ())
    return report.exit_code


def _end_unrecorded() -> NoReturn:
    """End as if killed: another process continues, or has done so, from what is recorded. Why is said already.

    In order, the end of the turn would be recorded as soon as that can be, and be the end of the session.
    """
    sys.stderr.flush()
    os._exit(BUSY)


async def _report_past_end(agent: AgentSession, printer: HeadlessPrinter) -> int | None:
    """Print how the session ended in an earlier process; None where it has not."""
    state = agent.state
    if not state.turns or not state.finished or agent.run.has_pending:
        return None
    if agent.staged is not None and await agent.staged.inquiry.has_effects():
        return None
    if (report := find_last_report(agent.record.records)) is None:
        return None
    printer.leave(report, ())
    # An earlier process was interrupted, and with that the turn has ended. This one is not to be tried again.
    return 0 if report.status is RunStatus.INTERRUPTED else report.exit_code


def _watch_owner(owner: int) -> None:
    """End this process at once when the one at the other end of the descriptor has: as if it were killed."""

    def watch() -> None:
        while os.read(owner, 1):
            pass
        os._exit(_ORPHANED)

    threading.Thread(target=watch, name="owner", daemon=True).start()

"""`quorum agent`: one prompt is carried out by an agent of another vendor, without a screen."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.command_line.options import AgentOptions
from quorum.domain.errors import ConfigError, LedgerError
from quorum.errors import UsageError, complain, mask_complaints
from quorum.event_loop import run_event_loop
from quorum.headless.printer import HeadlessPrinter, watch_reader
from quorum.headless.session import read_prompt
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.run_signals import RunSignals
from quorum.settings import load
from quorum.starting import explain_start_failures
from quorum.version import __version__

if TYPE_CHECKING:
    from quorum.application.ports.agents import AgentTerms
    from quorum.application.session.session_record import SessionRecord
    from quorum.domain.events.report import RunReport
    from quorum.infrastructure.agents.launch import ExternalAgent
    from quorum.infrastructure.agents.session import AgentSessionParts


def run_agent(options: AgentOptions, root: Path, signals: RunSignals) -> int:
    """Have the agent carry out the prompt; the exit code tells how it ended. Raises as `run_prompt` does."""
    prompt = read_prompt(options)
    with explain_start_failures():
        loaded = load(options, root)
    complain(loaded.warnings)
    return run_event_loop(_answer(options, root.resolve(), loaded, prompt, signals))


def find_external_agent(name: str, loaded: LoadedSettings, root: Path) -> ExternalAgent:
    """The agent of this name, to work in this folder. Raises ConfigError where it cannot be had."""
    from quorum.gate.acp_calls import read_reported_call
    from quorum.infrastructure.agents.launch import ExternalAgent, find_launch

    launch = find_launch(name, loaded.settings, os.environ)
    read_call = partial(
        read_reported_call,
        cwd=str(root),
        environment=launch.environ,
        tells_no_arguments=launch.tells_no_arguments,
    )
    return ExternalAgent(launch=launch, read_call=read_call, version=__version__)


async def _answer(
    options: AgentOptions, root: Path, loaded: LoadedSettings, prompt: str, signals: RunSignals
) -> int:
    from quorum.application.review.approvers import NonInteractiveApprover
    from quorum.domain.conversation.session_kind import SessionKind
    from quorum.domain.events.masking import SecretMask
    from quorum.domain.sessions.session_summary import NewSession
    from quorum.infrastructure.agents.session import AgentSessionParts
    from quorum.infrastructure.session_inputs import open_session

    external = find_external_agent(options.agent, loaded, root)
    printer = HeadlessPrinter(options.output, quiet=options.quiet, verbose=options.verbose)
    choice = options.session
    if isinstance(choice, NewSession):
        choice = NewSession(SessionKind.EXTERNAL, options.agent)
    record = await asyncio.to_thread(open_session, loaded, root, choice)
    try:
        if record.in_use:
            raise UsageError(record.in_use)
        terms = _choose_terms(options, record)
        complain(record.notices)
        mask = SecretMask()
        mask_complaints(mask.mask_text)
        with explain_start_failures():
            parts = AgentSessionParts(
                loaded,
                root,
                external,
                approver=NonInteractiveApprover(),
                observer=printer,
                record=record,
                mask=mask,
            )
        try:
            report = await _execute(parts, terms, prompt, printer, signals)
        finally:
            signals.ignore()
            await parts.aclose()
    except BaseException:
        with suppress(LedgerError):  # what came before tells more
            await record.release()
        raise
    await record.release()
    printer.conclude()
    if printer.lost is not None:
        raise printer.lost
    return report.exit_code


async def _execute(
    parts: AgentSessionParts,
    terms: AgentTerms,
    prompt: str,
    printer: HeadlessPrinter,
    signals: RunSignals,
) -> RunReport:
    """Carry the prompt out; a signal, and the end of whoever reads the output, interrupts it."""
    from quorum.domain.events.report import RunReport, RunStatus

    if (why := await parts.review.find_refusal(parts.review.mode)) is not None:
        raise ConfigError(why)

    async def open_and_execute() -> RunReport:
        return await parts.run.execute(prompt, await parts.open(terms))

    task = asyncio.ensure_future(open_and_execute())
    loop = asyncio.get_running_loop()
    signals.listen(lambda: loop.call_soon_threadsafe(task.cancel))
    printer.listen(task.cancel)
    with watch_reader(printer):
        try:
            report = await task
        except asyncio.CancelledError:  # the signal came before the agent was asked
            report = RunReport(
                session_id=parts.run.session_id,
                status=RunStatus.INTERRUPTED,
                stop_reason=None,
                text="",
                turns=0,
            )
        await parts.run.finish(report)
    return report


def _choose_terms(options: AgentOptions, record: SessionRecord) -> AgentTerms:
    """How the agent is to begin: with its own session, where ours is continued. Raises UsageError."""
    from quorum.application.ports.agents import AgentTerms

    terms = AgentTerms(mode=options.agent_mode or "", model=options.agent_model or "")
    if record.past:
        connected = record.connected
        if connected is None or connected.agent != options.agent:
            whose = f"of the agent {connected.agent}" if connected is not None else "of no agent"
            raise UsageError(
                f"the session {record.session_id} is {whose}; name one of {options.agent} with --resume ID, or "
                "begin a new one"
            )
        return terms.continuing(connected)
    return terms

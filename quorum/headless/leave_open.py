"""`quorum run --leave-open`: a session is advanced until its turn ends, or a review is all that is left."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from quorum.application.session.advance import Advanced, Ended, LeftOpen, SessionAdvance
from quorum.application.session.agent_session import AgentSession
from quorum.command_line.options import PromptOptions
from quorum.domain.errors import ConfigError, ConversationError
from quorum.domain.events.report import RunReport, RunStatus
from quorum.errors import UsageError, complain
from quorum.event_loop import run_event_loop
from quorum.headless.goal import prepare_goal
from quorum.headless.printer import HeadlessPrinter, prepare_nothing, watch_reader
from quorum.headless.session import (
    add_attachments,
    close_session,
    compose_session,
    read_answer_schema,
    read_prompt,
    require_schema,
    work_staged,
)
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.run_signals import RunSignals
from quorum.settings import load
from quorum.starting import explain_start_failures, stay_staged

if TYPE_CHECKING:
    from quorum.infrastructure.tools.answer_schema import AnswerSchema


def run_leaving_open(options: PromptOptions, root: Path, signals: RunSignals) -> int:
    """Carry the prompt, or what is unfinished, to its end or to an open review; the exit code.

    Raises as `run_prompt` does, and UsageError where there is nothing to continue.
    """
    prompt = read_prompt(options)
    with explain_start_failures():
        options = stay_staged(options, root)
        loaded = load(options, root)
        schema = read_answer_schema(options, root)
    complain(loaded.warnings)
    work_staged(options, loaded, root)
    return run_event_loop(advance_session(options, root, loaded, prompt, schema, signals))


async def advance_session(
    options: PromptOptions,
    root: Path,
    loaded: LoadedSettings,
    prompt: str,
    schema: AnswerSchema | None,
    signals: RunSignals,
) -> int:
    """Resume what is unfinished in the session, or answer the prompt; the exit code.

    Where a review is left open, the process ends here, with the code of an approval that is needed.
    Raises as `run_prompt` does.
    """
    with explain_start_failures():
        printer = HeadlessPrinter(options.output, quiet=options.quiet, verbose=options.verbose, schema=schema)
        advance = SessionAdvance(printer)
        agent, _ = await compose_session(options, root, loaded, advance, reviews=advance.reviews)
    async with close_session(agent, signals):
        text = await add_attachments(agent, prompt, options.images, root) if prompt else ""

        async def prepare() -> None:
            await require_schema(agent, schema, prompt)
            await prepare_goal(agent, options, prompt)

        advanced = await advance_opened(agent, advance, text, printer, signals, prepare=prepare)
        match advanced:
            case Ended(report):
                await printer.read_staged(agent)
                await agent.close(report)
                printer.conclude()
                if printer.lost is not None:
                    raise printer.lost
                return report.exit_code
            case LeftOpen() as left:
                await printer.read_staged(agent)
                end_process(left, agent, printer)


async def advance_opened(
    agent: AgentSession,
    advance: SessionAdvance,
    prompt: str,
    printer: HeadlessPrinter,
    signals: RunSignals,
    *,
    has_owner: bool = False,
    prepare: Callable[[], Awaitable[None]] = prepare_nothing,
) -> Advanced:
    """Open the session and advance it; signals interrupt it. Raises ConfigError, LedgerError and UsageError.

    So does the end of whoever reads the output, unless it `has_owner`, with whom the process ends as if killed:
    an interruption would be the end of the turn, and no other worker could continue it.
    """
    if not agent.is_resumed and (why := await agent.review.find_refusal(agent.review.mode)) is not None:
        raise ConfigError(why)
    printer.follow_past(agent.record.records)

    async def open_and_advance() -> Advanced:
        await agent.open()
        printer.tell_unsent(len(agent.run.unsent))
        await prepare()
        return await advance.advance(agent, prompt)

    task = asyncio.ensure_future(open_and_advance())
    loop = asyncio.get_running_loop()
    signals.listen(lambda: loop.call_soon_threadsafe(task.cancel))
    printer.listen(task.cancel)
    try:
        with nullcontext() if has_owner else watch_reader(printer):
            return await task
    except asyncio.CancelledError:  # the signal came before the turn had taken its first step
        return Ended(
            RunReport(
                session_id=agent.session_id, status=RunStatus.INTERRUPTED, stop_reason=None, text="", turns=0
            )
        )
    except ConversationError as error:
        raise UsageError(f"{error} (session {agent.session_id})") from error


def end_process(left: LeftOpen, agent: AgentSession, printer: HeadlessPrinter) -> NoReturn:
    """End at once: whatever ends in order would cancel the review. All that happened is recorded."""
    report = left.build_report(agent.session_id)
    printer.leave(report, left.digests)
    from quorum.application.program_lookup import find_own_command

    command = find_own_command()
    complain(
        [
            f"{_describe_answer(digest, printer, command)}; then: "
            f"{command} run --leave-open --resume {agent.session_id}"
            for digest in left.digests
        ]
    )
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(report.exit_code)


def _describe_answer(digest: str, printer: HeadlessPrinter, command: str) -> str:
    if digest in printer.questions:
        return f"the model asks you: {command} inbox answer {digest[:16]} REPLY"
    return f"a review waits for your answer: {command} inbox show {digest[:16]}"

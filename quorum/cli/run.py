"""`quorum run`: one prompt without a screen."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from application.session.agent_session import AgentSession
from domain.errors import AttachmentError, LedgerError
from infrastructure.config.loading import LoadedSettings
from quorum.cli.errors import UsageError, complain, mask_complaints
from quorum.cli.settings import load
from quorum.cli.starting import explain_start_failures
from quorum.options import Options
from quorum.run_signals import RunSignals

if TYPE_CHECKING:
    from infrastructure.changes.repository_changes import ReadChange
    from infrastructure.container import Container
    from quorum.cli.headless import HeadlessPrinter


def run_prompt(options: Options, root: Path, signals: RunSignals) -> int:
    """Carry the prompt to its end and print the answer; the exit code that tells how it ended.

    Raises UsageError for an empty prompt, an attachment that cannot be shown and a session in use, ConfigError,
    LedgerError and ProviderError; StartFailure for any other error before the prompt is sent; OutputLost once
    standard output takes no more.
    """
    prompt = _prompt(options)
    with explain_start_failures():
        loaded = load(options, root)
    complain(loaded.warnings)
    return asyncio.run(_answer(options, root, loaded, prompt, signals))


def _prompt(options: Options) -> str:
    prompt = options.prompt or ""
    if prompt == "-":
        prompt = sys.stdin.read() if sys.stdin else ""  # None where it is closed
    if not prompt.strip():
        raise UsageError("the prompt is empty; write what to do, or - to read it from stdin")
    return prompt


async def _add_attachments(agent: AgentSession, prompt: str, files: Sequence[Path], root: Path) -> str:
    """The prompt with the labels below it of these images, and of what it mentions. Raises UsageError
    where one cannot be shown."""
    from tui.attachments.mentions import append_labels, find_mentioned_attachments

    paths = [*(str(file.absolute()) for file in files), *find_mentioned_attachments(prompt, root)]
    try:
        labels = [(await agent.attachments.attach(path)).label for path in paths]
    except AttachmentError as error:
        raise UsageError(str(error)) from error
    return append_labels(prompt, labels)


async def _answer(
    options: Options, root: Path, loaded: LoadedSettings, prompt: str, signals: RunSignals
) -> int:
    with explain_start_failures():
        from quorum.cli.headless import HeadlessPrinter, run_headless

        printer = HeadlessPrinter(options.output, quiet=options.quiet, verbose=options.verbose)
        agent, _ = await compose_session(options, root, loaded, printer)
    async with close_session(agent, signals):
        prompt = await _add_attachments(agent, prompt, options.images, root)
        return await run_headless(agent, prompt, printer, signals.listen)


@asynccontextmanager
async def close_session(agent: AgentSession, signals: RunSignals) -> AsyncIterator[None]:
    """Close the session in the end; from then on no signal changes how the run ends."""
    try:
        yield
    except BaseException:
        with suppress(LedgerError):  # what came before tells more
            await agent.aclose()
        raise
    finally:
        signals.ignore()
    try:
        await agent.aclose()
    except LedgerError as lost:  # the answer is out, and how the run ended does not change any more
        complain([str(lost)])


async def compose_session(
    options: Options,
    root: Path,
    loaded: LoadedSettings,
    printer: HeadlessPrinter,
    *,
    read_change: ReadChange | None = None,
) -> tuple[AgentSession, Container]:
    """The session that the options name, with nobody to ask, and what it is made of.

    Raises UsageError where another process has it, and as `build_session` does.
    """
    from application.review.non_interactive_approver import NonInteractiveApprover
    from application.session.session_folders import list_option_folders
    from infrastructure.bootstrap import build_session, open_session
    from tui.keys.commands import RESERVED_NAMES

    record = await asyncio.to_thread(open_session, loaded, root, options.session, fork=options.fork)
    try:
        if record.in_use:
            remedy = f"quorum run --resume {record.session_id} --fork PROMPT"
            raise UsageError(f"{record.in_use}; to continue in a copy: {remedy}")
        container = build_session(
            loaded,
            root,
            approver=NonInteractiveApprover(),
            observer=printer,
            record=record,
            folders=list_option_folders(options.add_dirs),
            reserved_commands=RESERVED_NAMES,
            mask_outputs=(mask_complaints,),
            read_change=read_change,
        )
        complain((*container.visible_record().notices, *container.saved_rules().warnings))
        return container.agent(), container
    except BaseException:
        await record.release()
        raise

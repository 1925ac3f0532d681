"""A session without a screen: composed, closed, and asked one prompt."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.application.session.agent_session import AgentSession
from quorum.command_line.options import PromptOptions, SessionOptions
from quorum.domain.errors import AttachmentError, LedgerError, explain_host_failure
from quorum.domain.review.mode import Mode
from quorum.errors import UsageError, complain, mask_complaints
from quorum.event_loop import run_event_loop
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.run_signals import RunSignals
from quorum.settings import load
from quorum.starting import enter_layer, explain_start_failures, stay_staged

if TYPE_CHECKING:
    from quorum.application.ports.people import Approver, Observer
    from quorum.domain.conversation.session_kind import SessionKind
    from quorum.domain.sessions.session_summary import SessionChoice
    from quorum.infrastructure.changes.read_change import ReadChange
    from quorum.infrastructure.container import Container
    from quorum.infrastructure.tools.answer_schema import AnswerSchema


class SessionInUseElsewhere(UsageError):
    """Another process writes the session."""


def run_prompt(options: PromptOptions, root: Path, signals: RunSignals) -> int:
    """Carry the prompt to its end and print the answer; the exit code that tells how it ended.

    Raises UsageError for an empty prompt, an attachment that cannot be shown, a session in use and a debate of
    fewer than two models, ConfigError, LedgerError and ProviderError; StartFailure for any other error before
    the prompt is sent; OutputLost once standard output takes no more.
    """
    prompt = read_prompt(options)
    with explain_start_failures():
        options = stay_staged(options, root)
        loaded = load(options, root)
        schema = read_answer_schema(options, root)
    complain(loaded.warnings)
    work_staged(options, loaded, root)
    try:
        return run_event_loop(_answer(options, root, loaded, prompt, schema, signals))
    finally:
        gc.freeze()  # the process ends: to look at every object once more takes up to 0.3 s


def work_staged(options: SessionOptions, loaded: LoadedSettings, root: Path) -> None:
    """Where the settings ask for the mode `staged`, have all that follows be done in a layer over the folder.

    Raises UsageError where there can be none.
    """
    if loaded.settings.review.mode is Mode.STAGED:
        enter_layer(root, options.resume or "")


def read_prompt(options: PromptOptions) -> str:
    """The prompt that the options name; empty where a session is continued without one. Raises UsageError for
    an empty one."""
    if options.prompt is None and (options.goal is not None or options.continues or options.resume is not None):
        return options.goal or ""
    prompt = options.prompt or ""
    if prompt == "-":
        prompt = sys.stdin.read() if sys.stdin else ""  # None where it is closed
    if not prompt.strip():
        raise UsageError("the prompt is empty; write what to do, or - to read it from stdin")
    return prompt


async def add_attachments(agent: AgentSession, prompt: str, files: Sequence[Path], root: Path) -> str:
    """The prompt with the labels below it of these images, and of what it mentions. Raises UsageError
    where one cannot be shown."""
    from quorum.tui.mentioned_attachments import append_labels, find_mentioned_attachments

    paths = [*(str(file.absolute()) for file in files), *find_mentioned_attachments(prompt, root)]
    try:
        labels = [(await agent.attachments.attach(path)).label for path in paths]
    except AttachmentError as error:
        raise UsageError(str(error)) from error
    return append_labels(prompt, labels)


def read_answer_schema(options: PromptOptions, root: Path) -> AnswerSchema | None:
    """What the final answer has to fit; None where it need not fit anything. Raises ConfigError."""
    if options.json_schema is None:
        return None
    from quorum.infrastructure.tools.answer_schema import AnswerSchema

    return AnswerSchema.read(options.json_schema, root)


async def require_schema(agent: AgentSession, schema: AnswerSchema | None, prompt: str) -> None:
    """Have the answers of the session checked, and, where a prompt follows, tell the model of the schema. The
    session has been opened. Raises UsageError where its answers are not checked here."""
    if schema is None:
        return
    from quorum.domain.conversation.session_kind import SessionKind

    if agent.record.form is SessionKind.EXTERNAL:
        raise UsageError("--json-schema does not go with a session of another vendor's agent")
    if prompt:
        await agent.run.queue_note(schema.instruction)
    agent.run.require_answer(schema.find_problem)


async def _answer(
    options: PromptOptions,
    root: Path,
    loaded: LoadedSettings,
    prompt: str,
    schema: AnswerSchema | None,
    signals: RunSignals,
) -> int:
    with explain_start_failures():
        from quorum.headless.printer import HeadlessPrinter, run_headless

        printer = HeadlessPrinter(options.output, quiet=options.quiet, verbose=options.verbose, schema=schema)
        agent, container = await compose_session(options, root, loaded, printer)
    async with close_session(agent, signals):
        _require_debaters(agent.record.form, container.inputs().asked.participants)
        from quorum.headless.goal import prepare_goal

        prompt = await add_attachments(agent, prompt, options.images, root) if prompt else ""

        async def prepare() -> None:
            await require_schema(agent, schema, prompt)
            await prepare_goal(agent, options, prompt)

        return await run_headless(agent, prompt, printer, signals.listen, prepare=prepare)


def _require_debaters(form: SessionKind, participants: Sequence[str]) -> None:
    """Refuse a debate that cannot begin, before anything of it is recorded. Raises UsageError."""
    from quorum.domain.conversation.session_kind import SessionKind

    if form is not SessionKind.DEBATE:
        return
    from quorum.application.panel.debate import FEWEST_DEBATERS, TOO_FEW_DEBATERS

    if len(participants) < FEWEST_DEBATERS:
        raise UsageError(TOO_FEW_DEBATERS)


@asynccontextmanager
async def close_session(agent: AgentSession, signals: RunSignals) -> AsyncIterator[None]:
    """Close the session in the end; from then on no signal changes how the run ends."""
    try:
        yield
    except BaseException:
        with suppress(LedgerError, MemoryError, RuntimeError):  # what came before tells more
            await agent.aclose()
        raise
    finally:
        signals.ignore()
    try:
        await agent.aclose()
    except (LedgerError, MemoryError, RuntimeError) as lost:
        # The answer is out, and how the run ended does not change any more.
        if not (why := str(lost) if isinstance(lost, LedgerError) else explain_host_failure(lost)):
            raise
        complain([why])


async def compose_session(
    options: SessionOptions,
    root: Path,
    loaded: LoadedSettings,
    observer: Observer,
    *,
    read_change: ReadChange | None = None,
    choice: SessionChoice | None = None,
    reviews: Approver | None = None,
) -> tuple[AgentSession, Container]:
    """The session that the options name, with nobody to ask, and what it is made of.

    `choice` names another session than the options do. `reviews` is asked instead of nobody, if another process
    can resume the session. Raises UsageError where another process has it, and as `build_session` does.
    """
    from quorum.application.review.approvers import NonInteractiveApprover
    from quorum.application.session_folders import list_option_folders
    from quorum.infrastructure.bootstrap import build_session
    from quorum.infrastructure.changes.read_change import ReadChange
    from quorum.infrastructure.session_inputs import SessionInputs, open_session
    from quorum.tui.keys.slash_commands import RESERVED_NAMES

    record = await asyncio.to_thread(open_session, loaded, root, choice or options.session, fork=options.fork)
    try:
        if record.in_use:
            from quorum.application.program_lookup import find_own_command

            remedy = f"{find_own_command()} run --resume {record.session_id} --fork PROMPT"
            raise SessionInUseElsewhere(f"{record.in_use}; to continue in a copy: {remedy}")
        container = build_session(
            SessionInputs(
                loaded=loaded,
                root=root,
                approver=reviews if reviews is not None and record.outlives else NonInteractiveApprover(),
                observer=observer,
                record=record,
                wanted_folders=list_option_folders(options.add_dirs),
                reserved_commands=RESERVED_NAMES,
                read_change=read_change or ReadChange(),
            ),
            mask_outputs=(mask_complaints,),
        )
        complain((*container.record().notices, *container.saved_rules().warnings))
        return container.agent(), container
    except BaseException:
        await record.release()
        raise

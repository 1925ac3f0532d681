"""A session as front ends hold it: its turns, and all that the person may see and change of it between them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from application.calls.outputs import Outputs
from application.context.context_manager import ContextManager
from application.events.event_bus import EventBus
from application.ports import FileFinder, LineSource, OrphanFinderPort, RuleService, SessionArchive
from application.review.review import Review
from application.session.rewind import Rewind
from application.session.session_record import SessionRecord
from application.turn.recovery import orphan_notices
from application.turn.run_agent import RunAgent
from application.turn.switchable_session import SwitchableSession
from application.turn.user_commands import UserCommandRunner, lost_command_notices
from domain.calls.found_file import FoundFile
from domain.conversation.context_account import ContextAccount
from domain.conversation.session_kind import SessionKind
from domain.errors import ConversationError, RestoreError
from domain.events.event import (
    Event,
    ModelChanged,
    SessionFinished,
    SessionResumed,
    SessionRewound,
    SessionStarted,
)
from domain.events.report import RunReport
from domain.review.mode import Mode
from domain.sessions.restoration import RestorePlan, RestoreStep
from domain.sessions.state import PastTurn

_GIVEN_BACK = "I have given these files back as they were before some of your changes: {paths}"
# The model is told of so many files by name; all of them would fill its window.
_MOST_NAMED = 20


class AgentSession:
    """One session, from its opening to its end. `run` carries its turns; what takes the conversation apart is
    not called while one of them runs."""

    def __init__(  # noqa: PLR0913 - all that a front end reaches meets here
        self,
        run: RunAgent,
        *,
        cwd: str,
        session: SwitchableSession,
        review: Review,
        outputs: Outputs,
        events: EventBus,
        record: SessionRecord,
        rewind: Rewind,
        care: ContextManager,
        orphan_finder: OrphanFinderPort,
        commands: UserCommandRunner,
        files: FileFinder,
        rules: RuleService,
    ) -> None:
        self.run = run
        self._cwd = cwd
        self._session = session
        self._review = review
        self._outputs = outputs
        self._events = events
        self._record = record
        self._rewind = rewind
        self._care = care
        self._orphan_finder = orphan_finder
        self._files = files
        self.rules = rules
        self._commands = commands
        self._choosing = asyncio.Lock()

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self.run.session_id

    @property
    def form(self) -> SessionKind:
        """What the session is for."""
        return self._record.form

    # ---------------------------------------------------------------- its life

    async def open(self) -> None:
        """Announce the session; one that is taken up again has its open calls recovered. Raises LedgerError.

        Nothing is announced of a session that can only be read.
        """
        if self.in_use:
            return
        if not self._events.state.session_id:
            await self._events.announce(
                SessionStarted(
                    session_id=self.session_id,
                    model=self.model,
                    mode=self.mode,
                    cwd=self._cwd,
                    form=self.form,
                )
            )
            return
        await self._events.announce(
            SessionResumed(
                session_id=self.session_id,
                model=self.model,
                mode=self.mode,
                cwd=self._cwd,
                told=(
                    *self._events.state.mended,
                    *self.run.recovered,
                    *lost_command_notices(self._commands.lost),
                    *await self._still_running(),
                ),
            )
        )
        await self._commands.recover()
        await self.run.recover()

    async def _still_running(self) -> tuple[str, ...]:
        """What is left of the calls that were running when the process before this one died, in sentences."""
        batches = {
            call.context.batch_id
            for call in self._events.state.open_calls
            if call.context is not None and call.started and call.end is None
        }
        owners = [*batches, *(command.command_id for command in self._commands.lost)]
        return orphan_notices([each for id_ in owners for each in await self._orphan_finder.of_batch(id_)])

    async def close(self, report: RunReport) -> None:
        """Announce the session's end, with the report of its last run."""
        await self._events.record(SessionFinished(report=report))

    async def aclose(self) -> None:
        """Let go of the record and of all connections. Raises LedgerError."""
        try:
            await self._files.aclose()
            await self._session.aclose()
        finally:
            await self._record.release()

    # ---------------------------------------------------------------- what the person does beside the turns

    async def run_command(self, command: str, *, visible_to_model: bool) -> None:
        """Run a command that the person typed, to its end, reviewed by nobody; a turn may run meanwhile.

        `visible_to_model`: the model learns of it with the next request that can carry that. Cancelled, it ends
        the command and all it started. What became of it is told by events; nothing is raised.
        """
        await self._commands.run(command, visible_to_model=visible_to_model)

    # ---------------------------------------------------------------- what it goes on with

    @property
    def model(self) -> str:
        """The full name of the model chosen, "provider/model"."""
        return self._session.model

    async def set_model(self, model: str) -> None:
        """Choose another model; it holds from the next request on, and for one that waits to be repeated.

        Raises ProviderError(CONFIGURATION), and leaves all as it was, where it cannot be had.
        """
        async with self._choosing:
            if model != self.model:
                session = await self._session.open(model)
                await self._events.record(ModelChanged(model=session.model))
                self._session.switch(session)

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of the providers there are."""
        return self._session.providers

    async def list_models(self, provider: str) -> tuple[str, ...]:
        """The models a provider lists, each as "provider/model". Raises ProviderError."""
        return await self._session.list_models(provider)

    @property
    def mode(self) -> Mode:
        """The review mode in force."""
        return self._review.mode

    async def set_mode(self, mode: Mode) -> None:
        """Choose another review mode; it holds for every decision from now on."""
        await self._review.set_mode(mode)

    @property
    def context(self) -> tuple[int, int]:
        """How many tokens the next request takes of the model's window, about, and how many there are.

        0 stands for a window that is not known, or for a model that has none.
        """
        use = self._care.gauge.use(self.model)
        return use.tokens, use.window or 0

    @property
    def context_account(self) -> ContextAccount:
        """What fills the model's window, reckoned from the whole conversation."""
        return self._care.account(self.model)

    async def compact(self, focus: str) -> str:
        """Let a summary take the place of the conversation so far; what that came to, in a sentence.

        `focus` is what to keep in view; it may be empty. Raises ProviderError and ConversationError, and leaves
        all as it was, where there is none to be had.
        """
        done = await self._care.compact(self.model, focus or None)
        return f"about {done.tokens_before:,} → {done.tokens_after:,} tokens"

    async def attach_image(self, path: str) -> str:
        """Keep the image in this file; the label that shows it to the model wherever it stands in a prompt.

        A relative path starts at the session's folder. Raises ImageError.
        """
        return (await self.run.attachments.attach(path)).label

    async def paste_image(self) -> str:
        """Keep the image in the clipboard; its label. Raises ImageError."""
        return (await self.run.attachments.paste()).label

    # ---------------------------------------------------------------- what was

    def open_output(self, blob_id: str) -> LineSource:
        """The lines of a stored output, read as they are needed. Raises BlobError."""
        return self._outputs.open_lines(blob_id)

    @property
    def turns(self) -> tuple[PastTurn, ...]:
        """All turns so far, oldest first: also those taken back, and those of processes before this one."""
        return self._events.state.turns

    async def plan_restore(self, turn: int) -> RestorePlan:
        """What would change if files were given back as they were before this turn. Raises LedgerError."""
        return await self._rewind.plan(turn)

    async def restore_diff(self, step: RestoreStep) -> str:
        """What a step would do to its file, as a unified diff or in words."""
        return await self._rewind.diff(step)

    async def rewind(
        self, turn: int, *, conversation: bool, plan: RestorePlan | None, overwrite: frozenset[str]
    ) -> None:
        """Take back this turn and all after it: what was said, and, with a plan, files.

        Files that somebody edited since are left alone but for those of `overwrite`. Of a turn whose words were
        taken back already, the files can be. Raises ConversationError where there is no such turn, LedgerError
        where it cannot be recorded, and RestoreError for files that could not be given back; all else is done
        then.
        """
        past = next((each for each in self.turns if each.number == turn), None)
        if past is None or (past.undone and conversation):
            raise ConversationError(f"there is no turn {turn} to go back to")
        given_back: Sequence[str] = ()
        try:
            if plan is not None:
                restored = await self._rewind.restore(plan, overwrite)
                given_back = [change.path for change in restored.changes]
        except RestoreError as error:
            given_back = error.given_back
            raise
        finally:
            try:
                await self._events.announce(
                    SessionRewound(turn=turn, conversation=conversation, files=plan is not None)
                )
            finally:  # the state has gone back by now, also where the record of it has to wait
                if conversation:
                    self.run.return_to(past)
                elif given_back:
                    await self.run.queue_note(_told(given_back))

    # ---------------------------------------------------------------- the files it is about

    async def find_files(self, query: str, limit: int) -> tuple[FoundFile, ...]:
        """The files and folders below the working directory that fit what is typed, best first."""
        return await self._files.find(query, limit)

    def note_file_used(self, path: str) -> None:
        """The person named this file or folder: it comes first when it fits again."""
        self._files.note_used(path)

    # ---------------------------------------------------------------- its record

    @property
    def archive(self) -> SessionArchive:
        """All records of sessions."""
        return self._record.archive

    @property
    def past(self) -> tuple[Event, ...]:
        """What had happened before the session was opened, oldest first."""
        return tuple(record.event for record in self._record.records if record.event is not None)

    @property
    def past_at(self) -> tuple[int, ...]:
        """When each event of the past happened, in milliseconds since 1970."""
        return tuple(record.at_ms for record in self._record.records if record.event is not None)

    @property
    def in_use(self) -> str:
        """Why nothing can be added to the session, as a sentence; empty where it can."""
        return self._record.in_use

    @property
    def outlives(self) -> bool:
        """Whether another process can take the session up again."""
        return self._record.outlives

    def hide(self, text: str) -> str:
        """The text without the secrets that are known so far."""
        return self._events.hide(text)

    async def fork(self) -> str:
        """Copy the session as it stands; the id of the copy. Raises LedgerError."""
        return await self._record.archive.fork(self.session_id)


def _told(paths: Sequence[str]) -> str:
    """That these files were given back, as the model is to read it: every byte of a name as text."""
    named = ", ".join(sorted(paths)[:_MOST_NAMED])
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    return (_GIVEN_BACK.format(paths=named) + more).encode("utf-8", "backslashreplace").decode("utf-8")

"""Undo and redo of turns: in the conversation, and with files, without losing what anybody did since."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress

from msgspec import UNSET

from quorum.application.background_jobs import BackgroundJobs
from quorum.application.cancellation import run_to_end
from quorum.application.event_bus import EventBus
from quorum.application.ports.storage import ContentStore
from quorum.application.ports.workspace import FileKeeper, FileRestorer
from quorum.application.turn.run_agent import RunAgent
from quorum.domain.calls.effects import ChangeKind, FileChange, FileKind, FileState, KeptFiles
from quorum.domain.errors import ConversationError, LedgerError, RestoreError
from quorum.domain.events.event import FilesRestored, SessionRedone, SessionRewound
from quorum.domain.sessions.restoration import (
    Restored,
    RestorePlan,
    RestoreStep,
    plan_for_turns,
    plan_redo,
    select_undone_turns,
)
from quorum.domain.sessions.session_facts import escape_surrogates
from quorum.domain.sessions.state import PastTurn, PastUndo
from quorum.domain.text.amounts import format_amount

_GIVEN_BACK = "I have given these files back as they were before some of your changes: {paths}"
_REDONE = "I have brought these files back to what they held before I had given them back: {paths}"
# The model reads the names of so many files; all of them would fill its window.
_MOST_NAMED_TO_MODEL = 20
# An error names so many files; all of them are too many to read.
_MOST_NAMED = 8


class Rewind:
    """Plans what giving files back would change, shows it, and takes turns back.

    A plan stores what the files hold now, so that nothing is lost whichever way the person decides.
    """

    def __init__(
        self,
        *,
        run: RunAgent,
        events: EventBus,
        keeper: FileKeeper,
        contents: ContentStore,
        restorer: FileRestorer,
        jobs: BackgroundJobs,
        withdraw_folders: Callable[[], None] = lambda: None,
    ) -> None:
        """`withdraw_folders` takes those out of the workspace that were added in turns taken back."""
        self._withdraw_folders = withdraw_folders
        self._jobs = jobs
        self._run = run
        self._events = events
        self._keeper = keeper
        self._contents = contents
        self._restorer = restorer

    @property
    def turns(self) -> tuple[PastTurn, ...]:
        """All turns so far, oldest first: also those taken back, and those of processes before this one."""
        return self._events.state.turns

    async def plan(self, turn: int) -> RestorePlan:
        """What would bring the files back to before the turn of this number. Raises LedgerError where what they
        hold now cannot be stored."""
        state = self._events.state
        turns = select_undone_turns(turn, state.turns)
        interrupted: dict[str, KeptFiles] = {}
        for manifest in dict.fromkeys(manifest for past in turns for manifest in past.manifests):
            with suppress(LedgerError):  # the plan says that this list is lost
                interrupted[manifest] = await self._keeper.load(manifest)
        paths = {change.path for past in turns for change in past.changes}
        roots = {root for kept in interrupted.values() for root in kept.roots}
        rest = await self._keeper.keep(sorted(roots)) if roots else KeptFiles(roots=())
        if not rest.complete:  # what it did not come to is looked for by name
            paths |= {path for kept in interrupted.values() for path in kept.states.keys() - rest.states.keys()}
        named = await self._read_current_files(paths)
        now = KeptFiles(
            roots=(*rest.roots, *(named.roots if named.complete else ())),
            states={**rest.states, **named.states},
            complete=rest.complete and named.complete,
        )
        return plan_for_turns(
            turn, state.turns, last_written=state.last_written, now=now, interrupted=interrupted
        )

    async def diff(self, step: RestoreStep) -> str:
        """What a step would change: from how the file is now to how it was."""
        return await self._restorer.diff(
            step, await self._read_stored(step.now), await self._read_stored(step.wanted)
        )

    async def restore(
        self, plan: RestorePlan, overwrite: frozenset[str] = frozenset(), *, redo: bool = False
    ) -> Restored:
        """Carry a plan out: all of it that nobody edited since, and of the rest the paths in `overwrite`.

        `redo`: the plan is that of a redo.

        One file that fails does not stop the others; RestoreError names those in the end.
        """
        left: dict[str, str] = {}
        failed: dict[str, str] = {}
        async with self._record_restoration(redo=redo) as changes:
            for step in sorted(plan.steps, key=_order):
                if (why := _explain_skipped_step(step, overwrite)) is not None:
                    left[step.path] = why
                    continue
                try:
                    changes.append(await self._give_back(step))
                except (RestoreError, LedgerError) as error:
                    failed[step.path] = str(error)
        if failed:
            raise RestoreError(_report(len(changes), failed), given_back=[change.path for change in changes])
        return Restored(changes=tuple(changes), left=left)

    async def restore_together(self, *steps: RestoreStep) -> None:
        """Give files back in this order, also where somebody edited them since, as one change; the model reads
        so with the next prompt. After one that fails none is tried.

        Raises RestoreError where that cannot be, and LedgerError where it cannot be recorded.
        """
        if trouble := next((step.trouble for step in steps if step.trouble is not None), None):
            raise RestoreError(trouble)
        given_back: list[str] = []
        try:
            async with self._record_restoration() as changes:
                for step in steps:
                    changes.append(await self._give_back(step))
                    given_back.append(step.path)
        finally:
            if given_back:
                note = _format_restoration_note(_GIVEN_BACK, given_back, RestorePlan(turn=0))
                await self._run.queue_note(note)

    @asynccontextmanager
    async def _record_restoration(self, *, redo: bool = False) -> AsyncIterator[list[FileChange]]:
        """Record what is added to the changes in the end, however that comes."""
        changes: list[FileChange] = []
        try:
            yield changes
            await self._restorer.sweep([c.path for c in changes if c.kind is ChangeKind.DELETED])
        finally:
            if changes:
                await run_to_end(self._events.record(FilesRestored(changes=tuple(changes), redo=redo)))

    async def rewind_to(
        self, turn: int, *, conversation: bool, plan: RestorePlan | None, overwrite: frozenset[str]
    ) -> None:
        """Take back this turn and all after it: what was said, and, with a plan, files.

        With what was said, the background commands end that these turns started.

        Files that somebody edited since are left alone but for those of `overwrite`. Of a turn whose words were
        taken back already, the files can be. Raises ConversationError where there is no such turn, LedgerError
        where it cannot be recorded, and RestoreError for files that could not be given back; all else is done
        then.
        """
        past = next((each for each in self._events.state.turns if each.number == turn), None)
        if past is None or (past.undone and conversation):
            raise ConversationError(f"there is no turn {turn} to go back to")
        if conversation and self._run.rewind_refusal:
            raise ConversationError(self._run.rewind_refusal)
        given_back: Sequence[str] = ()
        if conversation:
            await self._jobs.stop_since(turn)
        try:
            if plan is not None:
                restored = await self.restore(plan, overwrite)
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
                self._withdraw_folders()
                if conversation:
                    self._run.return_to(past.before.messages)
                elif plan is not None and given_back:
                    await self._run.queue_note(_format_restoration_note(_GIVEN_BACK, given_back, plan))

    @property
    def last_undo(self) -> PastUndo | None:
        """The undo that a redo brings back; None where there is none, or a turn has started since."""
        undos = self._events.state.undos
        return undos[-1] if undos else None

    async def plan_redo(self, undo: PastUndo) -> RestorePlan:
        """What would bring the files of an undo back to before it. Raises LedgerError where what they hold now
        cannot be stored."""
        return plan_redo(undo, await self._read_current_files({change.path for change in undo.changes}))

    async def redo(self, undo: PastUndo, plan: RestorePlan, overwrite: frozenset[str]) -> None:
        """Bring back what the last undo took away: its files by this plan, and its turns in the conversation.

        Files that somebody edited since are left alone but for those of `overwrite`. Raises ConversationError
        where another undo is the last one by now or the conversation has continued, LedgerError where it cannot
        be recorded, and RestoreError for files that could not be given back; all else is done then, and another
        redo tries them again.
        """
        last = self.last_undo
        if last is None or (last.number, last.turns) != (undo.number, undo.turns):
            raise ConversationError(
                "the session has continued since: look again at what /redo would bring back"
            )
        given_back: Sequence[str] = ()
        is_whole = False
        try:
            given_back = [change.path for change in (await self.restore(plan, overwrite, redo=True)).changes]
            is_whole = True
        except RestoreError as error:
            given_back = error.given_back
            raise
        finally:
            try:
                if is_whole or undo.turns:
                    await self._events.announce(SessionRedone(turns=undo.turns, files=is_whole, turn=undo.turn))
            finally:  # the state has changed by now, also where the record of it has to wait
                if undo.turns:
                    self._run.return_to(undo.messages)
                elif given_back:
                    await self._run.queue_note(_format_restoration_note(_REDONE, given_back, plan))

    async def _read_current_files(self, paths: Collection[str]) -> KeptFiles:
        return await self._keeper.keep(sorted(paths)) if paths else KeptFiles(roots=())

    async def _give_back(self, step: RestoreStep) -> FileChange:
        content = None
        if step.wanted is not None and step.wanted.sha256 is not None and step.wanted.unkept is None:
            content = await self._contents.get(step.wanted.sha256)
        after = await self._restorer.restore(step, content)
        kind = ChangeKind.MODIFIED
        if step.now is None or after is None:
            kind = ChangeKind.CREATED if step.now is None else ChangeKind.DELETED
        return FileChange(
            path=step.path,
            kind=kind,
            declared=True,
            before=step.now,
            after=after,
            ignored=step.ignored or UNSET,
        )

    async def _read_stored(self, state: FileState | None) -> bytes | None:
        """What a file held in that state, where it is stored."""
        if state is None or state.kind is not FileKind.FILE or state.sha256 is None or state.unkept is not None:
            return None
        try:
            return await self._contents.get(state.sha256)
        except LedgerError:  # the step itself will say so
            return None


def _order(step: RestoreStep) -> tuple[int, int, str]:
    """What goes, goes first and from the depth, so that there is room for what comes, from the top."""
    depth = step.path.count("/")
    return (0, -depth, step.path) if step.wanted is None else (1, depth, step.path)


def _explain_skipped_step(step: RestoreStep, overwrite: frozenset[str]) -> str | None:
    if step.trouble is not None:
        return step.trouble
    if step.edited_since and step.path not in overwrite:
        return "it was edited since"
    return None


def _report(done: int, failed: dict[str, str]) -> str:
    named = "; ".join(f"{escape_surrogates(path)}: {why}" for path, why in list(failed.items())[:_MOST_NAMED])
    more = f"; and {len(failed) - _MOST_NAMED} more" if len(failed) > _MOST_NAMED else ""
    files = "1 file was" if done == 1 else f"{done} files were"
    return f"{files} given back, {len(failed)} could not be and stayed as they are: {named}{more}"


def _format_restoration_note(template: str, paths: Sequence[str], plan: RestorePlan) -> str:
    """That these files were given back, as the model is to read it: every byte of a name as text."""
    ignored = {step.path for step in plan.steps if step.ignored}
    telling = sorted(path for path in paths if path not in ignored)
    named = telling[:_MOST_NAMED_TO_MODEL]
    more = f"{len(telling) - len(named)} more" if len(named) < len(telling) else ""
    by_products = format_amount(len(paths) - len(telling), "ignored file") if len(paths) > len(telling) else ""
    listed = " and ".join(filter(None, [", ".join(named), more, by_products]))
    return template.format(paths=listed).encode("utf-8", "backslashreplace").decode("utf-8")

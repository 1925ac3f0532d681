"""Keeping what files hold before a call may change them, and telling afterwards what it changed."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from msgspec import Struct

from quorum.application.cancellation import raise_if_cancelled, run_off_loop
from quorum.application.ports.storage import ContentStore
from quorum.application.session.session_record import SessionRecord
from quorum.domain.calls.effects import (
    IN_IGNORED_FOLDER,
    ChangeKind,
    Effects,
    FileChange,
    FileLook,
    FileMark,
    FileState,
    KeptFiles,
    compute_effects,
    is_declared,
    is_same,
)
from quorum.domain.errors import LedgerError
from quorum.domain.replacing import replace
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.files.mounts import are_local
from quorum.infrastructure.files.searching import RULE_FILES, IgnoredFolders
from quorum.infrastructure.store.snapshots.cache import ContentCache, SavedIndex, open_saved_index
from quorum.infrastructure.store.snapshots.manifest import Base, decode, encode
from quorum.infrastructure.store.snapshots.reading import (
    LARGEST_BYTES,
    FileContent,
    FileReader,
    OpenFolders,
    build_unread_state,
    keep_unlinked_paths,
)
from quorum.infrastructure.store.snapshots.watch import WorkspaceWatch


class Survey(Struct):
    """Files at one look: those whose states are known, and those still to be read.

    `reads` counts those of files before it, by anybody; `left` are files that it did not look up again.
    """

    marks: dict[str, FileMark]
    states: dict[str, FileState] = {}
    unread: list[str] = []
    kept_bytes: int = 0
    reads: int = 0
    left: frozenset[str] = frozenset()

    def know(self, path: str, state: FileState) -> None:
        """Add the state of a file that has none yet."""
        self.states[path] = state
        self.kept_bytes += count_stored_bytes(state)

    def leave(self, paths: Iterable[str], why: str) -> None:
        """Know of these files, which must not be read, no more than their marks: none has a content."""
        states, marks = self.states, self.marks
        for path in paths:
            states[path] = build_unread_state(marks[path], why)

    def list_improvable(self) -> frozenset[str]:
        """Files of which more may become known when all are looked at again."""
        more = {path for path in self.unread if may_improve(self.states.get(path))}
        return self.left | more if more else self.left

    def add(self, readings: Sequence[FileContent]) -> None:
        for reading in readings:
            if reading.state is None or reading.mark is None:
                self.marks.pop(reading.path, None)
            else:
                self.marks[reading.path] = reading.mark
                self.know(reading.path, reading.state)


class LastSurvey(Struct, frozen=True):
    """What the last survey of the whole workspace led to. `again` are files of which more may become known,
    `reads` counts those of files before it."""

    look: FileLook
    states: Mapping[str, FileState]
    kept_bytes: int
    again: frozenset[str]
    reads: int


def count_stored_bytes(state: FileState) -> int:
    """The size of a content that is known to be stored."""
    return state.size if state.unkept is None else 0


def may_improve(state: FileState | None) -> bool:
    return state is None or state.unkept is not None


_BATCH_BYTES = 4 * 1024 * 1024
BATCH_FILES = 1_000
# Files up to this size take as long to open as to read.
_SMALL_BYTES = 256
_VAIN_FILES = 5_000
_NO_ROOM = "too much is kept already"
NO_TIME = "there was no time to read it"


class KeepLimits(Struct, frozen=True, kw_only=True):
    """Bytes of one file and of all, and seconds of waiting before and of reading after a call.

    Once a call had to go on without some files, later ones wait for `later_secs`, until the rest was read in
    the background; so does the first where more than `awaited_files` are to be read, the most of which it would
    have to go on without. Where more than `again_files` files are without a content, a call takes only those
    that were read since.

    So many seconds after the session has come up, `early_files` or more are read before there is any call.
    """

    file_bytes: int = LARGEST_BYTES
    total_bytes: int = 256 * 1024 * 1024
    before_secs: float = 5.0
    later_secs: float = 0.2
    after_secs: float = 3.0
    early_secs: float = 1.0
    early_files: int = 1_000
    awaited_files: int = 100_000
    again_files: int = 1_000


class ReadBatch(Struct, frozen=True):
    """Files that are read in one step, and how many bytes that are."""

    paths: list[str]
    size_bytes: int


class Budget:
    """Bytes that may be spent, and seconds from now on."""

    def __init__(self, limits: KeepLimits, *, spent_bytes: int, secs: float) -> None:
        self._largest = limits.file_bytes
        self._room = limits.total_bytes - spent_bytes
        self._deadline = time.monotonic() + secs

    def split(
        self, paths: Collection[str], marks: Mapping[str, FileMark], batch_files: int = BATCH_FILES
    ) -> list[ReadBatch]:
        """The paths in batches, in the order in which to read them.

        Small files are first, so that there is time for as many as can be. Of those of about one size
        neighbours follow each other, because opening a folder takes longer than reading a file. Where there is
        no room for all, what is left out is what weighs most.
        """
        sizes = {path: marks[path].size for path in paths}
        weights = {path: size if size <= self._largest else 0 for path, size in sizes.items()}
        fit = sum(weights.values()) <= self._room
        order = {path: max(size, _SMALL_BYTES).bit_length() if fit else size for path, size in sizes.items()}
        batches: list[ReadBatch] = []
        batch: list[str] = []
        weight, room = 0, self._room
        for path in sorted(sorted(paths), key=order.__getitem__):
            if batch and (weight + weights[path] > min(_BATCH_BYTES, room) or len(batch) == batch_files):
                batches.append(ReadBatch(batch, weight))
                room -= weight if weight <= room else 0
                batch, weight = [], 0
            batch.append(path)
            weight += weights[path]
        if batch:
            batches.append(ReadBatch(batch, weight))
        return batches

    def find_refusal(self, batch: ReadBatch) -> str | None:
        """Why these must not be read; None: they may be, and count as read."""
        if batch.size_bytes > self._room:
            return _NO_ROOM
        if time.monotonic() > self._deadline:
            return NO_TIME
        self._room -= batch.size_bytes
        return None


_CHECK_SECS = 60.0
# In the background: short steps, between which the screen comes round.
_STEP_FILES = 500


class WorkspaceKeeper:
    """Implements `FileKeeper` over the files of its reader's workspace, and `BackgroundWork`: what of a large
    one can be kept before the first call. Links are kept, not followed.

    `own_paths` are what quorum itself writes: giving that back would undo the record of the session.
    """

    def __init__(
        self,
        reader: FileReader,
        contents: ContentStore,
        *,
        own_paths: Sequence[str] = (),
        limits: KeepLimits = KeepLimits(),  # noqa: B008 - it is immutable
        watch: WorkspaceWatch | None = None,
        saved_index: SavedIndex | None = None,
    ) -> None:
        self._workspace, self._holds_secret = reader.workspace, reader.holds_secret
        self._roots = reader.workspace.folders
        self._limits = limits
        self._watch = watch or WorkspaceWatch(self._roots, passed_over=own_paths)
        self._reader = reader
        self._ignored = IgnoredFolders(self._roots)
        self._ignored_lock = threading.Lock()
        self._cache = ContentCache(contents, saved_index)
        self._base: Base | None = None
        self._known: LastSurvey | None = None
        self._keeping = 0
        self._is_late = False  # whether a call waited for all files, and had to go on without some
        self._unchecked = False  # whether a call ran since the last check of all files
        self._checked_at = -math.inf
        self._reading_ahead = asyncio.Lock()
        self._listing_early = asyncio.Lock()
        self._early: asyncio.Task[None] | None = None
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    async def keep(
        self, paths: Sequence[str] | None = None, report: Callable[[int, int], None] = lambda _done, _all: None
    ) -> KeptFiles:
        """The files as they are now, their contents stored. Raises LedgerError.

        `report` gets how many of how many files were read, where there are so many that it takes a while.
        """
        self._keeping += 1
        self._is_idle.clear()
        try:
            if paths is None:
                async with self._listing_early:  # it is at what this call needs as well
                    pass
            return await self._keep(paths, report)
        finally:
            self._keeping -= 1
            if not self._keeping:
                self._is_idle.set()

    @contextmanager
    def keep_ahead(self) -> Iterator[None]:
        """Keep the whole workspace in the background meanwhile, so that the next call finds little to read."""
        task = asyncio.create_task(self._keep_ahead(), name="keep-ahead")
        try:
            yield
        finally:
            task.cancel()

    def begin(self) -> None:
        """Keep a large workspace in the background, if it lies on disks of this machine."""
        if self._early is None:
            self._early = asyncio.create_task(self._keep_early(), name="keep-early")

    async def aclose(self) -> None:
        """Keep nothing in the background any more, and let go of the events of the system."""
        if self._early is not None:
            self._early.cancel()
            await asyncio.wait([self._early])
        await asyncio.to_thread(self._watch.close)

    async def _keep_early(self) -> None:
        await asyncio.sleep(self._limits.early_secs)
        if not await asyncio.to_thread(are_local, self._roots):
            return
        fewest = self._limits.early_files
        if await self._keep_ahead(fewest) >= fewest:
            await self._store_list_early(completes=True)

    async def _store_list_early(self, *, completes: bool = False) -> None:
        """Make and store the list of all files of a large workspace, which takes the first call seconds, unless
        there is one; where this `completes` it, unless that has the contents of all."""
        await self._is_idle.wait()
        if self._known is None or (completes and self._known.again):
            async with self._listing_early:
                with suppress(LedgerError):  # the call that needs it reports that
                    await self._keep(None, lambda _done, _all: None)

    async def _keep_ahead(self, fewest: int = 0) -> int:
        """How many files there are. Fewer than `fewest` unread ones are left to the call that needs them, which
        also reports what cannot be stored."""
        async with self._reading_ahead:
            return await self._keep_unread(fewest)

    async def _keep_unread(self, fewest: int) -> int:
        await self._cache.recall()
        look = await self._watch.follow()
        if len(look.marks) > self._limits.awaited_files:
            await self._store_list_early()  # to read them takes longer than a person may take for a prompt
        try:
            await self._read_ahead(look, fewest)
        finally:  # also for what was read until then
            await run_in_thread(lambda _stop: self._cache.save(look.marks))
        return len(look.marks)

    async def _read_ahead(self, look: FileLook, fewest: int) -> None:
        if not self._is_idle.is_set():  # a call is at it, and then knows the most of it
            await self._is_idle.wait()
            await asyncio.sleep(self._limits.early_secs)  # it starts something now, and looks around for that
            look = await self._watch.follow()
        survey = await asyncio.to_thread(self._survey, look, whole=True, most_again=len(look.marks))
        if len(survey.unread) < fewest:
            return
        budget = Budget(self._limits, spent_bytes=survey.kept_bytes, secs=math.inf)
        batches = await asyncio.to_thread(budget.split, survey.unread, survey.marks, _STEP_FILES)
        with suppress(LedgerError):
            for batch in batches:
                if budget.find_refusal(batch) is not None:
                    break
                await self._is_idle.wait()
                begun = time.monotonic()
                await self._cache.store(await run_in_thread(partial(self._read, batch.paths)))
                raise_if_cancelled()
                await asyncio.sleep((time.monotonic() - begun) / 2)  # a third of the time is the screen's
        if self._unchecked and time.monotonic() - self._checked_at > _CHECK_SECS:
            await run_in_thread(self._watch.check)
            self._unchecked, self._checked_at = False, time.monotonic()

    async def _keep(self, paths: Sequence[str] | None, report: Callable[[int, int], None]) -> KeptFiles:
        begun = time.monotonic()
        roots = tuple(self._roots) if paths is None else await asyncio.to_thread(keep_unlinked_paths, paths)
        whole = self._is_whole(roots)
        if whole:
            await self._cache.recall()
        look = await self._watch.look(roots)
        survey = await asyncio.to_thread(self._survey, look, whole=whole, most_again=self._limits.again_files)
        waiting = await self._read_all_but_last(survey, begun, report, whole=whole)
        kept = KeptFiles(
            roots=roots,
            states=survey.states,
            complete=look.complete,
            look=replace(look, marks=survey.marks),
        )
        base = self._base if paths is None else None
        content, is_base = await asyncio.to_thread(encode, kept, base, self._holds_secret)
        (manifest,) = await self._cache.store(waiting, content)
        if not await self._cache.prove(kept.states, whole=self._is_all(roots)):
            self._known = None
            return await self._keep(paths, report)
        if self._is_all(roots):
            again = await run_off_loop(survey.list_improvable, survey.unread)
            self._known = LastSurvey(look, survey.states, survey.kept_bytes, again, survey.reads)
        if is_base and paths is None:
            self._base = Base(manifest, kept.states)
        return replace(kept, manifest=manifest)

    async def find_changes(self, kept: KeptFiles, declared: frozenset[str]) -> Effects:
        """What differs now from then. What cannot be stored of it is reported all the same."""
        self._unchecked = True
        look = await self._watch.look(kept.roots, after=True)
        if not look.complete:
            look = await self._add_missing(look, kept.look)
        found = await asyncio.to_thread(self._compare, kept, look, declared)
        late = {path: state for path in found if (state := self._find_late_state(kept, path)) is not None}
        there = {path: look.marks[path] for path in found if path in look.marks}
        after = await self._read_states_after(there, whole=self._is_whole(kept.roots))
        changes = []
        for path, change in found.items():
            before, now = late.get(path, kept.states.get(path)), after.get(path)
            if not is_same(before, now):
                kind = ChangeKind.DELETED if now is None else change.kind
                changes.append(replace(change, kind=kind, before=before, after=now, late=path in look.late))
        changes = await asyncio.to_thread(self._mark_ignored, changes)
        changes.sort(key=lambda change: (change.declared, change.path))
        return Effects(changes=tuple(changes), complete=kept.complete and look.complete)

    def _mark_ignored(self, changes: Sequence[FileChange]) -> list[FileChange]:
        with self._ignored_lock:
            changed_rules = [
                change.path
                for change in changes
                if change.path.endswith(RULE_FILES) and not self._ignored.contains(change.path)
            ]
            return [
                replace(change, ignored=True) if self._is_by_product(change.path, changed_rules) else change
                for change in changes
            ]

    def _is_by_product(self, path: str, changed_rules: Sequence[str]) -> bool:
        """Whether nobody has to look at a change of the file; `_ignored_lock` is held."""
        if self._ignored.is_made_anew(path):
            return True
        return self._ignored.covers(path, changed_rules) and not self._reader.is_guarded(path)

    async def load(self, manifest: str) -> KeptFiles:
        listed = decode(await self._cache.get(manifest))
        if listed.base is None:
            return replace(listed.kept, manifest=manifest)
        base = decode(await self._cache.get(listed.base))
        return replace(listed.lay_over(base), manifest=manifest)

    def _is_whole(self, roots: Sequence[str]) -> bool:
        """Whether all of a root was asked for. Whoever names less means it, also in an ignored folder."""
        return not set(self._roots).isdisjoint(roots)

    def _is_all(self, roots: Sequence[str]) -> bool:
        return set(self._roots) == set(roots)

    # ---------------------------------------------------------------- before

    def _survey(self, look: FileLook, *, whole: bool, most_again: int) -> Survey:
        with self._ignored_lock:
            survey, paths = self._survey_since(look, most_again)
            if whole and paths is look.marks:
                self._ignored.refresh(look.marks)
            for path in paths:
                if (mark := look.marks.get(path)) is None:
                    continue
                if (state := self._cache.find_state(path, mark)) is not None:
                    survey.know(path, state)
                elif whole and self._ignored.contains(path):
                    survey.know(path, build_unread_state(mark, IN_IGNORED_FOLDER))
                else:
                    survey.unread.append(path)
        return survey

    def _survey_since(self, look: FileLook, most_again: int) -> tuple[Survey, Collection[str]]:
        """What the last survey knows, and the paths that it does not know: all, where there is none.

        Of more than `most_again` files of which more may become known, only those that were read since.
        """
        known, reads = self._known, self._cache.reads
        touched = self._watch.list_touched(known.look, look) if known is not None else None
        if known is None or touched is None or any(path.endswith(RULE_FILES) for path in touched):
            return Survey(marks=dict(look.marks), reads=reads), look.marks
        again = known.again
        if len(again) > most_again:
            again &= self._cache.list_read(known.reads)
        paths = touched | again
        survey = Survey(
            dict(look.marks),
            dict(known.states),
            kept_bytes=known.kept_bytes,
            reads=reads,
            # usually the very same set: there can be hundreds of thousands of them
            left=known.again if known.again.isdisjoint(paths) else known.again - paths,
        )
        for path in paths:
            if (state := survey.states.pop(path, None)) is not None:
                survey.kept_bytes -= count_stored_bytes(state)
        return survey, paths

    async def _read_all_but_last(
        self, survey: Survey, begun: float, report: Callable[[int, int], None], *, whole: bool
    ) -> list[FileContent]:
        """Read what is unread, within the limits, and store all but the last batch, which is answered.

        What the look has taken since `begun` counts, up to half.
        """
        unread, left = survey.unread, list[str]()
        is_vain = whole and len(unread) > self._limits.awaited_files
        if is_vain:  # those that come first: to put all in order takes longer than there is
            unread, left = unread[:_VAIN_FILES], unread[_VAIN_FILES:]
        most = self._limits.later_secs if is_vain or (whole and self._is_late) else self._limits.before_secs
        secs = max(most - (time.monotonic() - begun), most / 2)
        budget = Budget(self._limits, spent_bytes=survey.kept_bytes, secs=secs)
        waiting: list[FileContent] = []
        known, done, is_late = len(survey.states), 0, is_vain or (self._is_late and bool(survey.left))
        refused: list[tuple[Sequence[str], str]] = [(left, NO_TIME)] if left else []
        for batch in await asyncio.to_thread(budget.split, unread, survey.marks):
            if (why := budget.find_refusal(batch)) is not None:
                is_late |= why == NO_TIME
                refused.append((batch.paths, why))
                continue
            if done:
                report(known + done, len(survey.marks))
            done += len(batch.paths)
            # One after the other: two threads that hand the interpreter to and fro take longer than one.
            await self._cache.store(waiting)
            waiting = await run_in_thread(partial(self._read, batch.paths))
            survey.add(waiting)
        for paths, why in refused:
            await run_off_loop(partial(survey.leave, paths, why), paths)
        if whole:
            self._is_late = is_late
        return waiting

    def _read(self, paths: Sequence[str], stop: Stop) -> list[FileContent]:
        readings = []
        with OpenFolders(self._workspace) as folders:
            for path in sorted(paths):
                stop.check()
                readings.append(self._reader.read(path, folders))
        return readings

    # ---------------------------------------------------------------- after

    async def _add_missing(self, look: FileLook, before: FileLook) -> FileLook:
        """An incomplete look, with the files of the one before that it did not come to, looked for by name."""
        missing = sorted(before.marks.keys() - look.marks.keys())
        named = await self._watch.look(missing)
        gone = frozenset(missing) - named.marks.keys() if named.complete else frozenset()
        return FileLook(marks={**look.marks, **named.marks}, complete=False, gone=gone)

    def _compare(self, kept: KeptFiles, look: FileLook, declared: frozenset[str]) -> dict[str, FileChange]:
        """What may have changed: what looks otherwise, and what was changed too lately to tell by its look.

        Where it is known at which paths something happened, only these are compared.
        """
        before, after = kept.look, look
        paths: Collection[str] = kept.states
        touched = self._watch.list_touched(kept.look, look)
        if touched is not None:
            before, after = _select_part(kept.look, touched), _select_part(look, touched)
            paths = touched & kept.states.keys()
        found = {change.path: change for change in compute_effects(before, after, declared).changes}
        for path in paths:
            state, mark = kept.states[path], look.marks.get(path)
            if mark is None or state.sha256 is None or path in found:
                continue
            known = self._cache.find_state(path, mark)
            if known is not state and not is_same(known, state):
                found[path] = FileChange(
                    path=path, kind=ChangeKind.MODIFIED, declared=is_declared(declared, path)
                )
        return found

    def _find_late_state(self, kept: KeptFiles, path: str) -> FileState | None:
        """The state before a call of a file that was not read in time, where it was while the call ran.

        It counts as long as it was read before the call changed it, which its mark tells.
        """
        state, mark = kept.states.get(path), kept.look.marks.get(path)
        if state is None or mark is None or state.unkept != NO_TIME:
            return None
        return self._cache.get_proven_state(path, mark)

    async def _read_states_after(self, marks: Mapping[str, FileMark], *, whole: bool) -> dict[str, FileState]:
        """The states of changed files. Of those in ignored folders only the hash is taken."""
        states: dict[str, FileState] = {}
        budget = Budget(self._limits, spent_bytes=0, secs=self._limits.after_secs)
        for batch in budget.split(marks, marks):
            if (why := budget.find_refusal(batch)) is not None:
                states.update({path: build_unread_state(marks[path], why) for path in batch.paths})
                continue
            readings = await run_in_thread(partial(self._read, batch.paths))
            states.update(await self._store_after(readings, whole=whole))
        return states

    async def _store_after(self, readings: Sequence[FileContent], *, whole: bool) -> dict[str, FileState]:
        with self._ignored_lock:
            passed = {reading.path for reading in readings if whole and self._ignored.contains(reading.path)}
        trouble = None
        try:
            await self._cache.store([reading for reading in readings if reading.path not in passed])
        except LedgerError:
            trouble = "it could not be stored"
        states: dict[str, FileState] = {}
        for reading in readings:
            if reading.state is not None:
                why = reading.state.unkept or (IN_IGNORED_FOLDER if reading.path in passed else trouble)
                states[reading.path] = replace(reading.state, unkept=why)
        return states


def _select_part(look: FileLook, paths: Collection[str]) -> FileLook:
    return replace(look, marks={path: look.marks[path] for path in paths if path in look.marks})


def open_keeper(
    reader: FileReader,
    record: SessionRecord,
    own: Sequence[Path],
    settings: Settings,
    environ: Mapping[str, str],
) -> WorkspaceKeeper:
    """The keeper of a session, which begins with what an earlier one knew of the workspace's files. `own` are
    the paths of quorum itself. Blocks."""
    return WorkspaceKeeper(
        reader,
        record.contents,
        own_paths=[str(path) for path in own],
        saved_index=open_saved_index(settings, environ, reader.policy, record, reader.holds_secret),
    )

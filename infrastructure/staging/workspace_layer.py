"""The layer over a workspace, read, applied to the real folder, and taken back."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path, PurePosixPath
from threading import Lock

from quorum.domain.errors import StagingError
from quorum.domain.replacing import replace
from quorum.domain.staging.layer_effects import AppliedEffects, EffectChoice, LayerEffects
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.staging.change_journal import (
    ChangeJournal,
    ChangePlan,
    JournalStep,
    RefMove,
    StepKind,
    StepRefused,
    mark_status,
)
from quorum.infrastructure.staging.effects_planning import EffectsPlanner
from quorum.infrastructure.staging.effects_reading import EffectsReader, ReadEffects
from quorum.infrastructure.staging.entered import find_entered
from quorum.infrastructure.staging.layer_folder import (
    LayerFolder,
    StoredLayer,
    hold_layer,
    hold_workspace,
    remove_tree,
    wait_for_git,
)
from quorum.infrastructure.staging.layer_repository import (
    INDEX,
    LayerRepository,
    drop_stale_locks,
    find_lock,
)
from quorum.infrastructure.staging.lower_files import LowerFiles
from quorum.infrastructure.staging.renaming import open_folder, open_root
from quorum.infrastructure.staging.settling import abandon_emptying, drop_copies, empty, finish_emptying, settle
from quorum.infrastructure.staging.subagent_layer import describe_unmerged, drop_subagents
from quorum.infrastructure.staging.upper_folder import UpperFolder, is_same_file, is_whiteout, read_status

_MOST_SHOWN_BYTES = 5_000_000
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_INDEX_LOCK = ".git/index.lock"
_LOCK = "lock"
_HELD = "the layer holds another change there: apply or discard that first"


class _Locked(Exception):
    """A lock keeps git from moving refs; the text is its path."""


class WorkspaceLayer:
    """A layer that is held. `find_real` gives a path by which the real folder is reached while the layer is
    over it; `closed` takes the layer off, while something is changed there, and gives the path then. In `apart`
    subagents work now, of another session in this process: their work is to be merged yet."""

    def __init__(
        self,
        folder: LayerFolder,
        environ: Mapping[str, str],
        *,
        find_real: Callable[[], str],
        closed: Callable[[], AbstractContextManager[str]],
        is_protected: Callable[[str], bool],
        apart: Collection[Path] = (),
    ) -> None:
        self._folder = folder
        self._apart = apart
        self._environ = environ
        self._find_real = find_real
        self._closed = closed
        self._is_protected = is_protected
        self._last: LayerEffects | None = None
        self._remarks: list[str] = []
        self._turn = Lock()

    @property
    def id(self) -> str:
        return self._folder.id

    async def read_effects(self) -> LayerEffects:
        return await run_in_thread(lambda _: self._read_effects())

    async def note_files(self, upper: str = "") -> None:
        await run_in_thread(lambda _: self._note_files(upper or str(self._folder.upper)))

    async def read_content(self, path: str, *, before: bool) -> bytes | None:
        return await run_in_thread(lambda _: self._read_content(path, before=before))

    async def apply(self, choice: EffectChoice, digest: str) -> AppliedEffects:
        return await run_in_thread(lambda _: self._apply(choice, digest))

    async def undo_apply(self) -> AppliedEffects:
        return await run_in_thread(lambda _: self._undo())

    async def redo_apply(self) -> AppliedEffects:
        return await run_in_thread(lambda _: self._redo())

    async def discard(self) -> None:
        await run_in_thread(lambda _: self._discard())

    def take_remarks(self) -> tuple[str, ...]:
        remarks, self._remarks = tuple(self._remarks), []
        return remarks

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One at a time: subagents that work at once have files noted at once."""
        with self._turn, _explained(self._folder):
            yield

    @contextmanager
    def _change(self) -> Iterator[str]:
        """The workspace, while nothing else changes it or reads the layer."""
        with self._alone(), self._closed() as workspace, hold_workspace(self._folder):
            yield workspace

    def _note_files(self, upper: str) -> None:
        with self._alone(), _open_lower(self._find_real()) as lower:
            self._open_reader(lower, upper=upper).note_before()

    def _read_effects(self) -> LayerEffects:
        with self._alone(), _open_lower(self._find_real()) as lower:
            self._last = self._read(lower).effects
            return self._last

    def _read(self, lower: str, known: LowerFiles | None = None) -> ReadEffects:
        read = self._open_reader(lower, known).read()
        unmerged = describe_unmerged(self._folder, self._apart)
        return read._replace(effects=replace(read.effects, unmerged=unmerged)) if unmerged else read

    def _read_content(self, path: str, *, before: bool) -> bytes | None:
        folder, _, name = path.rpartition("/")
        place = self._find_real() if before else str(self._folder.upper)
        try:
            with (
                open_root(place) as root,
                open_folder(root, folder) as opened,
                os.fdopen(os.open(name, _READ, dir_fd=opened), "rb") as file,
            ):
                status = os.fstat(file.fileno())
                is_shown = stat.S_ISREG(status.st_mode) and status.st_size <= _MOST_SHOWN_BYTES
                return file.read(_MOST_SHOWN_BYTES) if is_shown else None
        except (OSError, ValueError):  # nothing, a link or a device is there, or it may not be read
            return None

    def _apply(self, choice: EffectChoice, digest: str) -> AppliedEffects:
        with self._change() as workspace, _open_lower(workspace) as lower:
            self._finish_journals(lower)
            known = LowerFiles(self._folder.place)
            read = self._read(lower, known)
            if read.effects.digest != digest:
                return AppliedEffects(refused=self._name_differences(read.effects))
            journal = self._begin_journal(workspace)
            repository = self._open_repository(lower)
            planner = EffectsPlanner(
                read,
                choice,
                upper=self._folder.upper,
                lower=lower,
                stage=journal.stage,
                known=known,
                began_ns=self._folder.began_ns,
                environ=self._environ,
                repository=repository,
            )
            try:
                plan = planner.plan()
            except BaseException:
                remove_tree(journal.place)
                raise
            if planner.refused:
                remove_tree(journal.place)
                return AppliedEffects(refused=planner.refused)
            if refused := self._carry_out(journal, plan, repository, known):
                return AppliedEffects(refused=refused)
            done = {*plan.cleared, *(step.path for step in plan.steps)}
            return AppliedEffects(
                paths=tuple(sorted(each.path for each in read.effects.effects if each.path in done)),
                refs=tuple(each.ref for each in read.effects.commits if f".git/{each.ref}" in done),
            )

    def _carry_out(
        self, journal: ChangeJournal, plan: ChangePlan, repository: LayerRepository, known: LowerFiles
    ) -> Mapping[str, str]:
        """Have the plan hold; why it does not, by path."""
        workspace = self._folder.workspace

        def move_refs(refs: Sequence[RefMove]) -> None:
            repository.move_refs(refs, workspace)

        try:
            with _lock_index(journal, plan):
                journal.begin(plan)
                journal.carry_out(plan, move_refs, lambda: _note_restored(known, plan, workspace))
        except StepRefused as refused:
            _note_restored(known, plan, workspace)
            return {refused.path: str(refused)}
        try:
            self._folder = _finish(self._folder, journal, plan, repository, known)
        except OSError:
            # All of it holds, and stands in the layer as well. To do the rest later would take what is changed
            # until then; so the layer keeps what it knew, and takes more than it should for the person's.
            abandon_emptying(self._folder)
            journal.note_settled()
        self._prune(journal)
        self._last = None
        return {}

    def _undo(self) -> AppliedEffects:
        with self._change() as workspace, _open_lower(workspace) as lower:
            self._finish_journals(lower)
            journal = next(
                (each for each in reversed(_list_journals(self._folder)) if each.state == "settled"), None
            )
            if journal is None:
                raise StagingError("nothing that was applied from this layer can be taken back")
            plan = journal.read()
            repository = self._open_repository(lower)
            try:
                with _lock_index(journal, plan):
                    plan = _accept_written_index(plan, repository, lower)
                    journal.undo(
                        plan,
                        lambda refs: repository.move_refs(refs, workspace),
                        lambda: _begin_after_undo(self._folder, plan, lower),
                    )
            except StepRefused as refused:
                return AppliedEffects(refused={refused.path: str(refused)})
            self._folder = _begin_after_undo(self._folder, plan, lower)
            self._last = None
            return AppliedEffects(
                paths=plan.changed,
                refs=tuple(each.ref for each in plan.refs),
            )

    def _redo(self) -> AppliedEffects:
        with self._change() as workspace, _open_lower(workspace) as lower:
            self._finish_journals(lower)
            journal = _find_undone(self._folder)
            if journal is None:
                raise StagingError("nothing was taken back last that could be applied again")
            plan, known = journal.plan_again(), LowerFiles(self._folder.place)
            effects = self._open_reader(lower, known).read().effects
            applied = AppliedEffects(paths=plan.changed, refs=tuple(each.ref for each in plan.refs))
            held = _find_meetings((each.path for each in effects.effects), plan.changed)
            held += [each.ref for each in effects.commits if each.ref in applied.refs]
            refused = dict.fromkeys(held, _HELD) or self._carry_out(
                journal, plan, self._open_repository(lower), known
            )
            return AppliedEffects(refused=refused) if refused else applied

    def _discard(self) -> None:
        with self._alone(), self._closed() as workspace:
            if os.path.isdir(workspace):
                with _open_lower(workspace) as lower:
                    self._finish_journals(lower)
            drop_subagents(self._folder)
            self._folder = _empty(self._folder)
            self._last = None

    def _finish_journals(self, lower: str) -> None:
        """What failed here in a way that was not foreseen is as what a killed process leaves."""
        for journal in _list_journals(self._folder):
            self._remarks += _recover_one(self._folder, journal, self._open_repository(lower))

    def _open_reader(self, lower: str, known: LowerFiles | None = None, upper: str = "") -> EffectsReader:
        return EffectsReader(
            upper or str(self._folder.upper),
            lower,
            self._folder.workspace,
            began_ns=self._folder.began_ns,
            known=known or LowerFiles(self._folder.place),
            scratch=self._folder.place,
            environ=self._environ,
            is_protected=self._is_protected,
        )

    def _open_repository(self, lower: str) -> LayerRepository:
        return _open_repository(self._folder, lower, self._environ)

    def _name_differences(self, now: LayerEffects) -> dict[str, str]:
        """What stands otherwise than it was reviewed, by path and ref."""
        last = self._last
        if last is None:
            return {".": "these are not the effects that were reviewed; read them again"}
        found = {}
        for before, after in ((last.effects, now.effects), (now.effects, last.effects)):
            found.update({each.path: "it changed since the review" for each in before if each not in after})
        for one, other in ((last.commits, now.commits), (now.commits, last.commits)):
            found.update({each.ref: "it moved since the review" for each in one if each not in other})
        return found or {".": "the effects changed since the review; read them again"}

    def _begin_journal(self, workspace: str) -> ChangeJournal:
        places = self._folder.place / "applies"
        number = max((int(each.name) for each in places.iterdir()), default=0) + 1 if places.is_dir() else 1
        journal = ChangeJournal(places / str(number), workspace)
        journal.stage.mkdir(mode=0o700, parents=True)
        return journal

    def _prune(self, newest: ChangeJournal) -> None:
        """Only what was applied last can be taken back."""
        for journal in _list_journals(self._folder):
            if journal.place != newest.place and not _was_written_later(journal):
                remove_tree(journal.place)


def recover(folder: LayerFolder, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Finish, or take back, what a process that is gone did to a layer that is held now, and is not mounted.

    Returns sentences about it. Blocks. Raises StagingError.
    """
    said: list[str] = []
    if not os.path.isdir(folder.workspace):  # whoever reads the layer says so
        return ()
    with _explained(folder), _open_lower(folder.workspace) as lower:
        wait_for_git(folder.place)
        if finish_emptying(folder):
            folder.renew_began()
            LowerFiles(folder.place).forget()
        repository = _open_repository(folder, lower, environ)
        if journals := _list_journals(folder):
            with hold_workspace(folder):
                for journal in journals:
                    said += _recover_one(folder, journal, repository)
        with suppress(
            PermissionError
        ):  # a folder that a program closed to all: whoever reads the layer says so
            drop_copies(folder.upper, lower)
        for each in folder.place.iterdir():
            if each.name.startswith(("git-", "merge-", "packs")) and each.is_dir():
                remove_tree(each)
    return tuple(said)


def has_effects(folder: LayerFolder) -> bool:
    """Whether a layer holds something. Blocks. Raises StagingError."""
    with _explained(folder):
        if describe_unmerged(folder):
            return True
    if not folder.upper.exists():  # a process empties it, or was killed while it did
        return False
    if not os.path.isdir(folder.workspace):
        return bool(os.listdir(folder.upper))
    with _explained(folder), _open_lower(folder.workspace) as lower:
        try:
            return UpperFolder(str(folder.upper), lower).holds_any()
        except PermissionError:  # of a folder that a program closed to all: a session in the layer can read it
            return True


def has_undone(folder: LayerFolder) -> bool:
    """Whether what was taken back last can be applied again. Blocks. Raises StagingError."""
    with _explained(folder):
        return _find_undone(folder) is not None


def has_applied(folder: LayerFolder) -> bool:
    """Whether something that was applied from a layer can be taken back. Blocks. Raises StagingError."""
    with _explained(folder):
        return any(journal.state == "settled" for journal in _list_journals(folder))


@contextmanager
def open_layer(
    stored: StoredLayer,
    environ: Mapping[str, str],
    is_protected: Callable[[str], bool],
    tell: Callable[[Sequence[str]], None],
) -> Iterator[WorkspaceLayer]:
    """A layer that no process works in, to be read and applied from outside; `tell` gets what there is to say
    of putting it in order. Blocks. Raises StagingError."""
    with hold_layer(stored.folder) as held:
        tell(recover(held, environ))
        yield WorkspaceLayer(
            held,
            environ,
            find_real=lambda: held.workspace,
            closed=lambda: nullcontext(held.workspace),
            is_protected=is_protected,
        )


def _recover_one(folder: LayerFolder, journal: ChangeJournal, repository: LayerRepository) -> Iterator[str]:
    state = journal.state
    _unlock_index(journal)

    def move_refs(refs: Sequence[RefMove]) -> None:
        drop_stale_locks(folder.workspace, refs, began_ns)
        try:
            repository.move_refs(refs, folder.workspace)
        except StepRefused as error:
            if lock := find_lock(folder.workspace, refs):
                raise _Locked(lock) from error
            raise

    match state:
        case "":
            remove_tree(journal.place)
        case "journal" | "undoing":
            plan, began_ns = journal.read(), os.stat(journal.place / state).st_mtime_ns
            back = journal.take_back if state == "journal" else journal.finish_undo

            def note() -> None:
                if state == "journal":
                    _note_restored(LowerFiles(folder.place), plan, folder.workspace)
                else:
                    _begin_after_undo(folder, plan, folder.workspace)

            try:
                kept = back(plan, move_refs, note)
            except _Locked as error:
                raise StagingError(
                    f"what was begun cannot be taken back while {error} is there: if no git works in the "
                    "workspace, remove it; then try again"
                ) from error
            what = "applying effects" if state == "journal" else "undoing"
            yield f"{what} was broken off; the workspace is as it was before they were applied"
            yield from kept
        case "done":
            plan = journal.read()
            _finish(folder, journal, plan, repository, LowerFiles(folder.place))
            yield f"all {len(plan.steps)} effects that were approved last are in the workspace"
        case _:
            return


def _finish(
    folder: LayerFolder,
    journal: ChangeJournal,
    plan: ChangePlan,
    repository: LayerRepository,
    known: LowerFiles,
) -> LayerFolder:
    """Have the layer know what stands in the workspace now. Can be repeated."""
    if plan.is_all and not describe_unmerged(folder):  # else the person's own changes would count as seen
        folder = _empty(folder)
    else:
        with _open_lower(folder.workspace) as lower:
            settle(folder.upper, lower, plan, repository)
            _note_places(known, plan, lower, is_undone=False)
    journal.note_settled()
    return folder


def _empty(folder: LayerFolder) -> LayerFolder:
    empty(folder)
    renewed = folder.renew_began()
    known = folder.place / "known.json"
    known.unlink(missing_ok=True)
    shutil.rmtree(folder.place / "bases", ignore_errors=True)
    return renewed


def _begin_after_undo(folder: LayerFolder, plan: ChangePlan, lower: str) -> LayerFolder:
    """Have the layer know that it is not the person who changed what was put back. Can be repeated."""
    if not UpperFolder(str(folder.upper), lower).holds_any():
        return _empty(folder)
    _note_places(LowerFiles(folder.place), plan, lower, is_undone=True)
    return folder


def _note_places(known: LowerFiles, plan: ChangePlan, lower: str, *, is_undone: bool) -> None:
    """What stands at the places that were changed is what the layer's own version begins with from now on."""
    for step in plan.steps:
        if step.kind not in (StepKind.MAKE_FOLDER, StepKind.DROP_FOLDER, StepKind.DRESS_FOLDER):
            known.renew(step.path, f"{lower}/{step.path}")
    for each in plan.refs:
        known.note_ref(each.ref, each.old if is_undone else each.new)
    known.save()


def _accept_written_index(plan: ChangePlan, repository: LayerRepository, lower: str) -> ChangePlan:
    """The plan with each index as it is, if it stages what was applied: git rewrites it on any look."""
    indexes = {**plan.indexes, **({INDEX: plan.staged} if plan.staged else {})}

    def accept(step: JournalStep) -> JournalStep:
        place, wanted = f"{lower}/{step.path}", indexes.get(step.path)
        if wanted is None or not os.path.isfile(place) or repository.describe_index(Path(place)) != wanted:
            return step
        return replace(step, new=mark_status(os.lstat(place)))

    return replace(plan, steps=tuple(map(accept, plan.steps)))


def _note_restored(known: LowerFiles, plan: ChangePlan, lower: str) -> None:
    """Files that were put back are as they were, though the file system has new times of change for them."""
    for step in plan.steps:
        if step.old is not None:
            known.note_restored(step.path, f"{lower}/{step.path}", step.old)
    known.save()


def _find_undone(folder: LayerFolder) -> ChangeJournal | None:
    """The last journal, if it says what was taken back."""
    for journal in reversed(_list_journals(folder)):
        match journal.state:
            case "" | "refused":
                continue
            case "undone" if _is_in_layer(folder, journal):  # as earlier versions noted what never held
                continue
            case state:
                return journal if state == "undone" else None
    return None


def _is_in_layer(folder: LayerFolder, journal: ChangeJournal) -> bool:
    """Whether the layer itself holds all that a journal would apply."""
    steps = [step for step in journal.read().steps if not step.path.startswith(".git/")]
    puts = [step for step in steps if step.kind in (StepKind.PUT, StepKind.SWAP)]
    takes = [step for step in steps if step.kind is StepKind.TAKE]
    above = [read_status(f"{folder.upper}/{step.path}") for step in takes]
    return (
        bool(puts or takes)
        and all(is_same_file(f"{folder.upper}/{step.path}", journal.stage / str(step.number)) for step in puts)
        and all(status is not None and is_whiteout(status) for status in above)
    )


def _find_meetings(paths: Iterable[str], others: Iterable[str]) -> list[str]:
    """Those of the paths that stand at, above or below one of the others."""
    places = {other.rstrip("/") for other in others}
    above = {str(parent) for place in places for parent in PurePosixPath(place).parents}
    return [
        path
        for path in paths
        if not places.isdisjoint((path.rstrip("/"), *map(str, PurePosixPath(path).parents)))
        or path.rstrip("/") in above
    ]


def _list_journals(folder: LayerFolder) -> list[ChangeJournal]:
    places = folder.place / "applies"
    numbers = sorted(int(each.name) for each in places.iterdir()) if places.is_dir() else []
    return [ChangeJournal(places / str(number), folder.workspace) for number in numbers]


def _was_written_later(journal: ChangeJournal) -> bool:
    """Whether a program still held a file that was replaced, and wrote in it: that is in no other place."""
    if journal.state != "settled":
        return False
    for step in journal.read().steps:
        status = read_status(str(journal.stage / str(step.number)))
        if step.old is None or status is None or not stat.S_ISREG(status.st_mode):
            continue
        if (status.st_mtime_ns, status.st_size) != (step.old.modified_ns, step.old.size):
            return True
    return False


@contextmanager
def _lock_index(journal: ChangeJournal, plan: ChangePlan) -> Iterator[None]:
    """Keep git from the index while it is replaced. Raises StepRefused where it is at work there."""
    if not plan.staged:
        yield
        return
    lock = journal.place / _LOCK
    lock.touch(mode=0o600)
    try:
        os.link(lock, f"{journal.workspace}/{_INDEX_LOCK}")
    except FileExistsError as error:
        why = "git is at work in the workspace, or was killed there; see to it first"
        raise StepRefused(_INDEX_LOCK, why) from error
    try:
        yield
    finally:
        _unlock_index(journal)


def _unlock_index(journal: ChangeJournal) -> None:
    """Let git at the index again, if it is this change that keeps it away."""
    ours = read_status(str(journal.place / _LOCK))
    lock = f"{journal.workspace}/{_INDEX_LOCK}"
    found = read_status(lock)
    if ours is not None and found is not None and os.path.samestat(ours, found):
        os.unlink(lock)


def _open_repository(folder: LayerFolder, lower: str, environ: Mapping[str, str]) -> LayerRepository:
    return LayerRepository(str(folder.upper), lower, folder.workspace, folder.place, environ)


@contextmanager
def _open_lower(path: str) -> Iterator[str]:
    """The path of a descriptor of a real folder: what is mounted over it later does not show."""
    with open_root(path) as folder:
        yield f"/proc/self/fd/{folder}/."


@contextmanager
def _explained(folder: LayerFolder) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if not os.path.isdir(folder.workspace):
            raise StagingError(
                f"{folder.workspace} is not there now, and its layer cannot be read without it: put it back, "
                f"or drop the layer for good (quorum staged discard {folder.id})"
            ) from error
        place = _locate(folder, str(error.filename)) if error.filename else ""
        remedy = "mend that and try again"
        if isinstance(error, PermissionError):
            remedy = (
                "a session can read it: quorum --mode staged, then /effects"
                if _can_session_read(place)
                else f"get the right to read it, or drop the layer for good (quorum staged discard {folder.id})"
            )
        shown = f" ({make_printable(place, newlines=False)})" if place else ""
        raise StagingError(
            f"the layer over {folder.workspace} cannot be read or applied: {error.strerror or error}{shown}; "
            f"nothing is lost: {remedy}"
        ) from error


def _locate(folder: LayerFolder, path: str) -> str:
    """Where a file lies that an error names by the descriptor of `_open_lower`."""
    _, mark, rest = path.partition("/./")
    return f"{folder.workspace}/{rest.lstrip('/')}" if mark else path


def _can_session_read(place: str) -> bool:
    """Whether a session can read what this process may not: a user namespace gives more rights to own files."""
    try:
        return find_entered() is None and os.lstat(place).st_uid == os.geteuid()
    except OSError:
        return False

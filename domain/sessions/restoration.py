"""The plan of a restoration: which files, to what state, and which a person has changed since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from quorum.domain.calls.effects import (
    OUTSIDE,
    ChangeKind,
    FileChange,
    FileKind,
    FileState,
    KeptFiles,
    find_renames,
    is_like,
    is_same,
)
from quorum.domain.events.masking import holds_mask
from quorum.domain.replacing import replace
from quorum.domain.sessions.state import PastTurn, PastUndo
from quorum.domain.text.paths import is_below_any

# A sentence names so many files of git; all of them are too many to read.
_MOST_NAMED = 6


class RestoreStep(Struct, frozen=True, kw_only=True):
    """One file that differs from its earlier state. None stands for no file.

    `edited_since`: it is not, or is not known to be, as it was left; somebody must be asked before it is
    overwritten. `trouble` says why it cannot be given back at all. `ignored`: calls only changed it as a
    by-product, see `FileChange`.
    """

    path: str
    wanted: FileState | None
    now: FileState | None
    edited_since: bool = False
    trouble: str | None = None
    ignored: bool = False

    @property
    def is_final(self) -> bool:
        """Whether what is there now would be lost for good, because its content is not stored."""
        return self.now is not None and self.now.kind is FileKind.FILE and self.now.unkept is not None


class RestorePlan(Struct, frozen=True, kw_only=True):
    """The steps that return the files to their states before a turn, declared changes first, ignored ones last.

    `unseen` are sentences about what may have changed and cannot be given back, since nobody saw it.
    """

    turn: int
    steps: tuple[RestoreStep, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def edited(self) -> tuple[RestoreStep, ...]:
        """The steps that somebody must be asked about."""
        return tuple(step for step in self.steps if step.edited_since and step.trouble is None)


def find_renamed(steps: Sequence[RestoreStep]) -> dict[str, RestoreStep]:
    """By the path of a file that only has a new name, the step of its old one.

    A file that somebody edited since, or that cannot go back, stands for itself.
    """
    plain = [step for step in steps if step.trouble is None and not step.edited_since]
    gone = {step.path: step for step in plain if step.now is None}
    changes = [
        FileChange(
            path=step.path,
            kind=ChangeKind.DELETED if step.path in gone else ChangeKind.CREATED,
            declared=True,
            before=step.wanted,
            after=step.now,
        )
        for step in plain
        if step.wanted is None or step.now is None
    ]
    return {new: gone[old] for new, old in find_renames(changes).items()}


class Restored(Struct, frozen=True, kw_only=True):
    """The result of a plan: the files that were restored, and those left as they are, each with the reason."""

    changes: tuple[FileChange, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict)


def select_undone_turns(turn: int, turns: Sequence[PastTurn]) -> tuple[PastTurn, ...]:
    """Return the turns whose changes are undone by a return to before this turn.

    Those undone already are among them: where files were left as they are then, their changes still stand.
    """
    return tuple(past for past in turns if past.number >= turn)


def plan_for_turns(
    turn: int,
    turns: Sequence[PastTurn],
    *,
    last_written: Mapping[str, FileState | None],
    now: KeptFiles,
    interrupted: Mapping[str, KeptFiles],
) -> RestorePlan:
    """Plan the steps that return the files to their states before this turn.

    `now` holds every path that these turns changed; `interrupted` the files before each call without an end, by
    manifest, and `now` then holds all files there are. Where it is incomplete, its `roots` that are no folders
    were looked at all the same.
    """
    wanted: dict[str, FileState | None] = {}
    doubtful: set[str] = set()
    edited: set[str] = set()
    unseen: list[str] = []
    taken_back = select_undone_turns(turn, turns)
    for place, past in enumerate(taken_back):
        unseen.extend(past.unseen)
        for change in past.changes:
            if change.path in past.edited and change.path in wanted:
                edited.add(change.path)  # going back past it would take away what somebody did in between
            wanted.setdefault(change.path, change.before)
        for manifest in past.manifests:
            if manifest not in interrupted:
                unseen.append("What an interrupted call changed is unknown: the list of its files is lost.")
                continue
            kept = interrupted[manifest]
            suspects = _find_suspects(kept, now)
            doubtful |= suspects
            for path in sorted(suspects):
                wanted.setdefault(path, kept.states.get(path))
            edited |= _find_earlier_changes(taken_back[place:], suspects, kept)
            unseen.extend(_list_unknown_changes(kept, now))
    for path in wanted.keys() - doubtful:
        # All that was done here is undone already: what still differs was not done by a call.
        if path in last_written and is_same(last_written[path], wanted[path]):
            del wanted[path]
    left = {path: state for path, state in last_written.items() if path not in edited}
    plan = _plan_steps(turn, wanted, now, left, unseen)
    return _order_steps(plan, [change for past in taken_back for change in past.changes])


def plan_from_record(turns: Sequence[PastTurn], last_written: Mapping[str, FileState | None]) -> RestorePlan:
    """Plan the steps that return the files from how the session left them to before its first turn.

    Nothing but the record counts: what is there now may be other. `unseen` names what it does not tell.
    """
    unseen: list[str] = []
    described: list[PastTurn] = []
    for past in turns:
        changes = tuple(change for change in past.changes if change.path in last_written)
        described.append(replace(past, changes=changes, manifests=()))
        if past.manifests:
            unseen.append("What an interrupted call changed is not recorded.")
    untold = {change.path for past in turns for change in past.changes} - last_written.keys()
    if untold:
        files = "a file" if len(untold) == 1 else f"{len(untold)} files"
        unseen.append(f"How the session left {files} is not recorded.")
    left = KeptFiles(
        roots=tuple(path for path, state in last_written.items() if state is None),
        states={path: state for path, state in last_written.items() if state is not None},
        complete=False,
    )
    first = described[0].number if described else 0
    plan = plan_for_turns(first, described, last_written=last_written, now=left, interrupted={})
    return replace(plan, unseen=tuple(dict.fromkeys((*plan.unseen, *unseen))))


def plan_redo(undo: PastUndo, now: KeptFiles) -> RestorePlan:
    """Plan the steps that return the files of an undo to their states before it.

    `now` holds every path that it changed. A file that is not as the undo left it was edited since.
    """
    wanted = {change.path: change.before for change in undo.changes}
    left = {change.path: change.after for change in undo.changes}
    turn = undo.turn if undo.turn is not None else 0
    plan = _plan_steps(turn, wanted, now, left, ())
    ignored = {change.path for change in undo.changes if change.ignored}
    steps = [replace(step, ignored=step.path in ignored) for step in plan.steps]
    return replace(plan, steps=tuple(sorted(steps, key=lambda step: step.ignored)))


def _order_steps(plan: RestorePlan, changes: Sequence[FileChange]) -> RestorePlan:
    """Mark the files that were by-products of every call, and put first what calls had declared."""
    declared = {change.path for change in changes if change.declared}
    seen = {change.path for change in changes if change.ignored}
    ignored = seen - declared - {change.path for change in changes if not change.ignored}
    steps = [replace(step, ignored=True) if step.path in ignored else step for step in plan.steps]
    steps.sort(key=lambda step: (step.ignored, step.path not in declared, step.path))
    return replace(plan, steps=tuple(steps))


def _plan_steps(
    turn: int,
    wanted: Mapping[str, FileState | None],
    now: KeptFiles,
    left: Mapping[str, FileState | None],
    unseen: Sequence[str],
) -> RestorePlan:
    """A step for every path that is not as it is wanted. What could not be looked at gets none."""
    steps, unlooked, hidden = [], 0, 0
    of_git: dict[str, list[str]] = {}
    for path in sorted(wanted):
        if holds_mask(path):
            hidden += 1
        elif not _is_known(path, now):
            unlooked += 1
        elif is_same(wanted[path], there := now.states.get(path)):
            continue
        elif (folder := find_git_folder(path)) is not None:
            of_git.setdefault(folder, []).append(path[len(folder) + 1 :])
        else:
            edited = path not in left or not is_same(left[path], there)
            trouble = _find_trouble(wanted[path], there)
            steps.append(
                RestoreStep(path=path, wanted=wanted[path], now=there, edited_since=edited, trouble=trouble)
            )
    unseen = [*unseen, *(_describe_git_changes(folder, names) for folder, names in of_git.items())]
    if hidden:
        unseen = [*unseen, f"Files whose names hold secrets, which are not kept, stay as they are: {hidden}."]
    if unlooked:
        unseen = [*unseen, f"There are too many files to look at all of them: {unlooked} stay as they are."]
    return RestorePlan(turn=turn, steps=tuple(steps), unseen=tuple(dict.fromkeys(unseen)))


def _find_trouble(wanted: FileState | None, now: FileState | None) -> str | None:
    if now is not None and now.unkept == OUTSIDE:
        return OUTSIDE
    if wanted is None:
        return None
    if wanted.kind is FileKind.OTHER:
        return "it was no file or link, and such a thing cannot be made again"
    if wanted.kind is FileKind.LINK:
        return None if wanted.target is not None else f"where it led was not kept ({wanted.unkept})"
    same_content = now is not None and wanted.sha256 is not None and wanted.sha256 == now.sha256
    if wanted.unkept is None or same_content:
        return None
    return f"its former content was not kept ({wanted.unkept})"


def _is_known(path: str, now: KeptFiles) -> bool:
    return now.complete or path in now.states or path in now.roots


def find_git_folder(path: str) -> str | None:
    """The folder in which git keeps a repository, where the path is it or lies in it.

    What is there refers to objects that nobody keeps but git, which may be gone: giving some of it back can
    leave a repository that git cannot read, and takes away what was committed since.
    """
    names = path.split("/")
    return "/".join(names[: names.index(".git") + 1]) if ".git" in names else None


def _describe_git_changes(folder: str, names: Sequence[str]) -> str:
    telling = sorted((name for name in names if name), key=lambda name: (_compute_weight(name), name))
    more = len(telling) - _MOST_NAMED
    named = ", ".join(telling[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    changed = f" (changed: {named})" if named else ""
    sentence = f"{folder} is not taken back{changed}: see `git status` and `git reflog`."
    return sentence.encode("utf-8", "backslashreplace").decode("utf-8")


def _compute_weight(name: str) -> int:
    """What makes git run something is named first, then what was committed and checked out."""
    if name.startswith(("hooks/", "config")):
        return 0
    return 1 if name == "HEAD" or name.startswith("refs/") else 2


def _find_earlier_changes(turns: Sequence[PastTurn], suspects: set[str], kept: KeptFiles) -> set[str]:
    """Those of the suspects that these turns changed, and never found as they had been kept."""
    changed: set[str] = set()
    alike: set[str] = set()
    for past in turns:
        for change in past.changes:
            changed.add(change.path)
            if is_like(change.before, kept.states.get(change.path)):
                alike.add(change.path)
    return (suspects & changed) - alike


def _find_suspects(kept: KeptFiles, now: KeptFiles) -> set[str]:
    """The paths at which something differs from what was there before a call that has no end."""
    paths = {path for path in kept.states if _is_known(path, now)}
    if kept.complete:
        paths |= {path for path in now.states if is_below_any(path, kept.roots)}
    return {path for path in paths if not is_like(kept.states.get(path), now.states.get(path))}


def _list_unknown_changes(kept: KeptFiles, now: KeptFiles) -> list[str]:
    notices = []
    if not (kept.complete and now.complete):
        notices.append("The workspace is too large to see every change of an interrupted call.")
    doubts = sum(
        is_like(state, now.states.get(path)) and not is_same(state, now.states.get(path))
        for path, state in kept.states.items()
    )
    if doubts:
        files = "1 file is" if doubts == 1 else f"{doubts} files are"
        notices.append(f"The contents of {files} not kept: an interrupted call may have changed them.")
    return notices

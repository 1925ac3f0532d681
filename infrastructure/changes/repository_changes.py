"""Implements the port ChangeSource with the git repository of the working directory, and `gh`."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from quorum.application.ports.workspace import OpenTools
from quorum.application.program_lookup import find_own_command
from quorum.domain.code_review.change import (
    Change,
    ChangeBase,
    CodeReviewRequest,
    FileDiff,
    FileStatus,
    leave_out_generated,
)
from quorum.domain.code_review.unified_diff import BadDiff, parse_files
from quorum.domain.errors import AlreadyApproved, NothingToReview, ToolError
from quorum.domain.events.masking import SecretMask
from quorum.domain.replacing import replace
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.text.amounts import format_size
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.changes.git_reader import GitReader
from quorum.infrastructure.changes.shown_content import SENSITIVE, FileContents, ShownContent
from quorum.infrastructure.changes.worktree_changes import (
    LINK,
    MOST_FILE_BYTES,
    SUBMODULE,
    ChangedPath,
    FileSide,
    find_worktree_changes,
)
from quorum.infrastructure.files.swept_folder import (
    COPY_PREFIX,
    DIFF_PREFIX,
    open_swept_folder,
    remove_abandoned_folders,
)
from quorum.infrastructure.github_references import decode_object, find_own_repository, run_gh

MOST_FILES = 5_000
_LINES_AROUND = 5
_LAST = "HEAD~1..HEAD"
_RAW = re.compile(rb":(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])(\d*)")


class TreeDifference(Struct, frozen=True, kw_only=True):
    """The changed files, and the contents after the change of those that no commit has: None where such a file
    is gone."""

    files: tuple[FileDiff, ...]
    worktree: Mapping[str, bytes | None]


def compare_commits(git: GitReader, old: str, new: str, shown: ShownContent) -> TreeDifference:
    """What differs between two commits, as reviewers see it. Blocks. Raises ToolError."""
    raw = git.run("diff-tree", "-r", "-z", "--raw", "-M", "--no-abbrev", "--full-index", old, new)
    return _compare(git, tuple(_parse_raw(raw)), shown)


def compare_worktree(git: GitReader, commit: str, shown: ShownContent) -> TreeDifference:
    """What of the working tree is not in this commit, files that git does not know yet included; what it
    ignores is left out. As reviewers see it. Blocks. Raises ToolError."""
    return _compare(git, find_worktree_changes(git, commit), shown)


def _parse_raw(raw: bytes) -> Iterator[ChangedPath]:
    fields = iter(raw.split(b"\0"))
    for head in fields:
        found = _RAW.fullmatch(head)
        if found is None:
            continue
        old_mode, new_mode, old_oid, new_oid, letter = (part.decode("ascii") for part in found.groups()[:5])
        path = os.fsdecode(next(fields, b""))
        old_path = ""
        if letter in ("R", "C"):
            old_path, path = path, os.fsdecode(next(fields, b""))
        yield ChangedPath(
            old_mode=old_mode,
            new_mode=new_mode,
            old_oid=old_oid,
            new_oid=new_oid,
            letter=letter,
            path=path,
            old_path=old_path,
        )


def _compare(git: GitReader, changes: Sequence[ChangedPath], shown: ShownContent) -> TreeDifference:
    if len(changes) > MOST_FILES:
        raise ToolError(f"{len(changes):,} files are changed, and at most {MOST_FILES:,} are reviewed at once")
    oids = [
        oid
        for change in changes
        for oid, mode in ((change.old_oid, change.old_mode), (change.new_oid, change.new_mode))
        if oid.strip("0") and mode != SUBMODULE
    ]
    blobs = dict(git.read_blobs(oids, MOST_FILE_BYTES))
    worktree: dict[str, bytes | None] = {}
    files: list[FileContents] = []
    with open_swept_folder(DIFF_PREFIX) as folder:
        for side in ("old", "new"):
            (folder / side).mkdir()
        for number, change in enumerate(changes):
            files.append(_write_sides(folder, f"{number:06}", change, blobs, worktree, shown))
        parsed_files = {
            parsed.path.rpartition("/")[2]: parsed
            for parsed in parse_files(git.diff_folders(folder, _LINES_AROUND))
        }
    done = []
    for number, contents in enumerate(files):
        file, parsed = contents.file, parsed_files.get(f"{number:06}")
        if parsed is not None:
            file = replace(file, hunks=parsed.hunks, left_out=file.left_out or parsed.left_out)
        elif not file.left_out and not file.notes and file.status is FileStatus.MODIFIED:
            continue  # only its time is another
        done.append(replace(contents, file=leave_out_generated(file)))
    return TreeDifference(files=shown.hide(done), worktree=worktree)


def _write_sides(
    folder: Path,
    number: str,
    change: ChangedPath,
    blobs: Mapping[str, bytes | None],
    worktree: dict[str, bytes | None],
    shown: ShownContent,
) -> FileContents:
    """Write the content before and after under a number: no name of the repository can mean anything there.
    That of a sensitive file is written nowhere."""
    letter = change.letter
    if SUBMODULE in (change.old_mode, change.new_mode):
        moved = f"it is a submodule, from {change.old_oid[:12]} to {change.new_oid[:12]}"
        return FileContents(
            FileDiff(
                path=_decode_path(change.path),
                status=_STATUS.get(letter, FileStatus.MODIFIED),
                left_out=moved,
            )
        )
    before = FileSide(None) if letter == "A" else _find_blob(change.old_oid, blobs)
    if change.after is not None:
        after = change.after
        worktree[change.path] = after.content
    else:
        after = FileSide(None) if letter == "D" else _find_blob(change.new_oid, blobs)
    path, old_path = _decode_path(change.path), _decode_path(change.old_path) if letter == "R" else ""
    is_sensitive = any(shown.is_sensitive(each) for each in (path, old_path) if each)
    left_out = SENSITIVE if is_sensitive else before.problem or after.problem
    for side, one in (("old", before), ("new", after)):
        if one.content is not None and not left_out:
            (folder / side / number).write_bytes(one.content)
    file = FileDiff(
        path=path,
        status=_STATUS.get(letter, FileStatus.MODIFIED),
        old_path=old_path,
        left_out=left_out,
        notes=_list_notes(change),
    )
    return FileContents(file, before.content, after.content)


def _list_notes(change: ChangedPath) -> tuple[str, ...]:
    notes = []
    modes = (change.old_mode, change.new_mode)
    if change.old_mode != change.new_mode and "000000" not in modes:
        notes.append(f"its mode changes from {change.old_mode} to {change.new_mode}")
    if LINK in modes:
        notes.append("it is a symbolic link; the content is where it leads")
    return tuple(notes)


def _find_blob(oid: str, blobs: Mapping[str, bytes | None]) -> FileSide:
    if (content := blobs.get(oid)) is None:
        return FileSide(None, f"it is larger than {format_size(MOST_FILE_BYTES)}, or missing")
    return FileSide(content)


_STATUS = {"A": FileStatus.ADDED, "C": FileStatus.ADDED, "D": FileStatus.DELETED, "R": FileStatus.RENAMED}


def _decode_path(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "replace")


_MOST_FILES = 50_000
_MOST_FILE_BYTES = 2_000_000
_MOST_BYTES = 400_000_000
_MOST_FOLDERS = 200


def write_snapshot(
    git: GitReader,
    commit: str,
    folder: Path,
    worktree: Mapping[str, bytes | None],
    shown: ShownContent,
    stop: Stop,
) -> None:
    """Write the files of a commit, with those of `worktree` in the place of its own; None: without that file.
    Of each is written what `shown` shows of it.

    What is too large or lies too deep is left out, and what would be too much. Blocks. Raises ToolError.
    """
    places: dict[str, list[str]] = {}
    total = 0
    for entry in git.list_tree(commit)[:_MOST_FILES]:
        if entry.size > _MOST_FILE_BYTES or entry.path in worktree or not _is_plain(entry.path):
            continue
        total += entry.size
        if total > _MOST_BYTES:
            break
        places.setdefault(entry.oid, []).append(entry.path)
    for oid, content in git.read_blobs(list(places), _MOST_FILE_BYTES):
        stop.check()
        for path in places[oid]:
            _write(folder, path, content, shown)
    for path, content in worktree.items():
        stop.check()
        if _is_plain(path):
            _write(folder, path, content, shown)


def _is_plain(path: str) -> bool:
    parts = path.split("/")
    return 0 < len(parts) <= _MOST_FOLDERS and not any(
        part in ("", ".", "..") or part.lower() == ".git" for part in parts
    )


def _write(folder: Path, path: str, content: bytes | None, shown: ShownContent) -> None:
    if content is None:
        return
    place = folder / path
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        number = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return  # two names that this file system holds for one, or a name that it cannot have
    with os.fdopen(number, "wb") as file:
        file.write(shown.hide_content(path, content))


_MOST_DIFF_BYTES = 64 * 1024 * 1024
_GH_SECS = 60.0
_SHORT = 12
_MOST_UNCOMMITTED = 1_000
_FIELDS = "headRefOid,baseRefOid,headRefName,baseRefName"


class _PullRequest(Struct, frozen=True, kw_only=True):
    number: int
    repository: str
    head: str
    base: str
    branch: str


class RepositoryChanges:
    """`make_tools` makes the tools that look at a folder. `asked_of` says who reviews by which rule: what
    others approved is reviewed again. Without `approved` nothing is remembered.

    Reviewers see nothing of the files that `paths` calls sensitive, and no secret that `mask` hides.
    """

    def __init__(
        self,
        root: Path,
        environ: Mapping[str, str],
        *,
        make_tools: Callable[[Path], OpenTools] | None,
        asked_of: str = "",
        approved: ApprovedChanges | None = None,
        mask: SecretMask | None = None,
        paths: PathPolicy | None = None,
    ) -> None:
        self._root = root
        self._environ = environ
        self._make_tools = make_tools
        self._asked_of = asked_of
        self._approved = approved
        self._mask = mask or SecretMask()
        self._paths = paths or PathPolicy(roots=())
        self._worktrees: dict[str, Mapping[str, bytes | None]] = {}

    async def read(self, request: CodeReviewRequest) -> Change:
        """The change that is asked for; see the port."""
        await asyncio.to_thread(remove_abandoned_folders)
        if request.is_given:
            remedy = f"give it to {find_own_command()} review"
            raise NothingToReview(f"there is nothing to review: the diff is not here; {remedy}")
        if request.pull_request is not None:
            change = await self._read_pull_request(request.pull_request, request)
        elif request.commits:
            change = await run_in_thread(lambda stop: self._read_range(request.commits, stop))
        else:
            change = await run_in_thread(self._read_worktree)
        if not change.files:
            nothing = f"there is nothing to review in {change.description}: no file differs"
            is_of_worktree = not request.commits and request.pull_request is None
            remedy = await run_in_thread(self._suggest_commits) if is_of_worktree else ""
            raise NothingToReview(nothing + remedy)
        return change

    async def read_diff(self, text: str, name: str) -> Change:
        """The change that a unified diff describes, over the commit that is checked out. `name` says where the
        diff is from. Raises as `read` does."""
        await asyncio.to_thread(remove_abandoned_folders)
        try:
            files = await asyncio.to_thread(parse_files, text)
        except BadDiff as problem:
            raise ToolError(f"{name} cannot be reviewed: {problem}") from problem
        if not files:
            raise NothingToReview(f"there is nothing to review: {name} is empty")
        commit = await run_in_thread(self._find_head)
        shown = await run_in_thread(lambda stop: self._hide_diff(files, stop))
        notices = ["the repository is shown as the commit that is checked out has it"] if commit else []
        return Change(
            description=name,
            files=shown,
            commit=commit,
            notices=tuple(notices),
        )

    async def read_base(self) -> ChangeBase:
        """The repository as it is now; see the port `PlanChanges`."""
        return await run_in_thread(self._read_base)

    async def read_since(self, base: ChangeBase) -> Change:
        """What differs from a base; see the port `PlanChanges`."""
        await asyncio.to_thread(remove_abandoned_folders)
        change = await run_in_thread(lambda stop: self._read_since(base, stop))
        if not change.files:
            raise NothingToReview("there is nothing to review: no file differs from when the plan was approved")
        return change

    @asynccontextmanager
    async def open_repository(self, change: Change) -> AsyncIterator[OpenTools | None]:
        """The repository as it is with the change; see the port."""
        if not change.commit or self._make_tools is None:
            yield None
            return
        worktree = self._worktrees.get(change.digest, {})
        sensitive = frozenset(file.path for file in change.files if file.is_sensitive)
        with open_swept_folder(COPY_PREFIX) as folder:

            def write(stop: Stop) -> None:
                git = GitReader(self._root, self._environ, stop)
                shown = ShownContent(self._mask, self._paths, git.top, sensitive)
                write_snapshot(git, change.commit, folder, worktree, shown, stop)

            await run_in_thread(write)
            yield self._make_tools(folder)

    async def keep_approval(self, change: Change, focus: str) -> None:
        """Remember an approved pull request; see the port. Raises ToolError where that fails."""
        if self._approved is None or not change.branch or not change.commit:
            return
        approved = self._approved
        asked = (change.repository, change.branch, self._asked_of, focus)
        try:
            await asyncio.to_thread(approved.keep, change.commit, *asked)
        except OSError as error:
            raise ToolError(f"the approval cannot be remembered: {error.strerror or error}") from error

    def _suggest_commits(self, stop: Stop) -> str:
        """How to review the last commit instead, where it has one before it."""
        has_parent = GitReader(self._root, self._environ, stop).find_commit("HEAD~1")
        command = find_own_command()
        return f"; the last commit: /review {_LAST}, or {command} review --range {_LAST}" if has_parent else ""

    def _find_head(self, stop: Stop) -> str:
        try:
            return GitReader(self._root, self._environ, stop).find_commit("HEAD")
        except ToolError:
            return ""  # there is no repository here, and a diff can do without

    def _show(self, git: GitReader) -> ShownContent:
        return ShownContent(self._mask, self._paths, git.top)

    def _hide_diff(self, files: Sequence[FileDiff], stop: Stop) -> tuple[FileDiff, ...]:
        """The files of a diff as reviewers see them. Without a repository names are from the folder."""
        try:
            shown = self._show(GitReader(self._root, self._environ, stop))
        except ToolError:
            shown = ShownContent(self._mask, self._paths, self._root.resolve())
        return shown.hide([FileContents(leave_out_generated(file)) for file in files])

    def _read_worktree(self, stop: Stop) -> Change:
        git = GitReader(self._root, self._environ, stop)
        head = git.find_commit("HEAD")
        found = compare_worktree(git, head or git.find_empty_tree(), self._show(git))
        change = Change(
            description="the uncommitted changes",
            files=found.files,
            base=head,
            commit=head or git.find_empty_tree(),
        )
        self._worktrees[change.digest] = found.worktree
        return change

    def _read_base(self, stop: Stop) -> ChangeBase:
        git = GitReader(self._root, self._environ, stop)
        head = git.find_commit("HEAD")
        found = find_worktree_changes(git, head or git.find_empty_tree())
        digests = {
            each.path: _digest(each.after.content)
            for each in found
            if each.after is not None and not each.after.problem
        }
        if len(digests) > _MOST_UNCOMMITTED:
            raise ToolError(
                f"{len(digests):,} files are not committed, and with more than {_MOST_UNCOMMITTED:,} it is not "
                "known what the plan changes; commit them first"
            )
        return ChangeBase(commit=head, uncommitted=digests)

    def _read_since(self, base: ChangeBase, stop: Stop) -> Change:
        """What differs from a base. A file that was not committed then, and is as it was, is left out."""
        git = GitReader(self._root, self._environ, stop)
        if base.commit and not git.find_commit(base.commit):
            raise ToolError(f"the commit {base.commit[:_SHORT]} that the plan began with is not here any more")
        found = compare_worktree(git, base.commit or git.find_empty_tree(), self._show(git))
        files, notices = [], []
        for file in found.files:
            known = base.uncommitted.get(file.path)
            if known is None:
                files.append(file)
            elif known != _digest(found.worktree.get(file.path)):
                files.append(file)
                notices.append(f"{file.path} had changes before the plan, which are shown with its own")
        here = {file.path for file in found.files}
        for path in sorted(base.uncommitted):
            if path not in here:
                notices.append(f"{path} had changes before the plan that were not committed, and they are gone")
        change = Change(
            description=f"what came of the plan, since {base.commit[:_SHORT] or 'the beginning'}",
            files=tuple(files),
            base=base.commit,
            commit=base.commit or git.find_empty_tree(),
            notices=tuple(notices),
        )
        self._worktrees[change.digest] = found.worktree
        return change

    def _read_range(self, commits: str, stop: Stop) -> Change:
        git = GitReader(self._root, self._environ, stop)
        separator = "..." if "..." in commits else ".."
        first, _, last = commits.partition(separator)
        old, new = git.resolve(first or "HEAD"), git.resolve(last or "HEAD")
        if separator == "...":
            parting = git.find_merge_base(old, new)
            if not parting:
                raise ToolError(f"{first} and {last} have no commit in common here; fetch their history first")
            old = parting
        description = f"the commits {commits} ({old[:_SHORT]} to {new[:_SHORT]})"
        return _make_change(compare_commits(git, old, new, self._show(git)), description, old, new)

    async def _read_pull_request(self, number: int, request: CodeReviewRequest) -> Change:
        pull = await self._view_pull_request(number)
        last = ""
        if self._approved is not None and not request.is_all:
            asked = (pull.repository, pull.branch, self._asked_of, request.focus)
            last = await asyncio.to_thread(self._approved.find, *asked)
        change = await run_in_thread(lambda stop: self._compare_pull_request(pull, last, stop))
        if change is None:
            change = await self._download(pull)
        return replace(change, repository=pull.repository, branch=pull.branch)

    async def _view_pull_request(self, number: int) -> _PullRequest:
        repository = await asyncio.to_thread(find_own_repository, self._root)
        if not repository:
            raise ToolError("this folder has no remote origin on github.com, so it has no pull requests")
        words = ("pr", "view", str(number), "--repo", repository, "--json", _FIELDS)
        found = decode_object(await run_gh(words, self._root, self._environ))
        return _PullRequest(
            number=number,
            repository=repository,
            head=_read_text(found, "headRefOid"),
            base=_read_text(found, "baseRefOid"),
            branch=f"#{number} {_read_text(found, 'headRefName')} to {_read_text(found, 'baseRefName')}",
        )

    def _compare_pull_request(self, pull: _PullRequest, last: str, stop: Stop) -> Change | None:
        """The change as the commits here have it; None where they are not all here."""
        git = GitReader(self._root, self._environ, stop)
        head, base = git.find_commit(pull.head), git.find_commit(pull.base)
        parting = git.find_merge_base(base, head) if head and base else ""
        if not parting:
            return None
        what = f"pull request {pull.number} of {pull.repository}"
        if last and last == head:
            raise AlreadyApproved(f"{what} was approved as it is, at {head[:_SHORT]}; --all reviews it again")
        if last and git.is_ancestor(last, head):
            description = f"{what}, what came after {last[:_SHORT]} (up to {head[:_SHORT]})"
            note = f"what was approved at {last[:_SHORT]} is not reviewed again; --all reviews everything"
            found = compare_commits(git, last, head, self._show(git))
            change = _make_change(found, description, last, head)
            return replace(change, notices=(note,))
        found = compare_commits(git, parting, head, self._show(git))
        change = _make_change(found, f"{what} ({head[:_SHORT]})", parting, head)
        if last:
            change = replace(
                change, notices=("the branch was rewritten since it was approved, so all of it is reviewed",)
            )
        return change

    async def _download(self, pull: _PullRequest) -> Change:
        """The change as GitHub shows it, where its commits are not here."""
        words = ("pr", "diff", str(pull.number), "--repo", pull.repository, "--color", "never")
        output = await run_gh(
            words, self._root, self._environ, most_bytes=_MOST_DIFF_BYTES, timeout_secs=_GH_SECS
        )
        if len(output) >= _MOST_DIFF_BYTES:
            raise ToolError(
                f"the diff of pull request {pull.number} is longer than {_MOST_DIFF_BYTES >> 20} MB"
            )
        try:
            files = await asyncio.to_thread(parse_files, output.decode("utf-8", "replace"))
        except BadDiff as problem:
            raise ToolError(
                f"what gh shows of pull request {pull.number} cannot be read: {problem}"
            ) from problem
        shown = await run_in_thread(lambda stop: self._hide_diff(files, stop))
        here = await run_in_thread(
            lambda stop: GitReader(self._root, self._environ, stop).find_commit(pull.head)
        )
        return Change(
            description=f"pull request {pull.number} of {pull.repository} ({pull.head[:_SHORT]})",
            files=shown,
            commit=here,
            notices=("the commits of the pull request are not all here, so gh was asked for the whole diff",),
        )


def _make_change(found: TreeDifference, description: str, base: str, commit: str) -> Change:
    return Change(description=description, files=found.files, base=base, commit=commit)


def _digest(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


def _read_text(found: JsonObject, name: str) -> str:
    value = found.get(name)
    if not isinstance(value, str) or not value:
        raise ToolError(f'what gh shows of the pull request has no "{name}"')
    return value


_MOST_KEPT = 2_000
_MOST_BYTES_OF_APPROVALS = 1_000_000
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class ApprovedChanges:
    """A file of commits by what was asked about them. What of it cannot be read is as if it were not there:
    more is reviewed then, never less. All methods block."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def find(self, *asked: str) -> str:
        """The commit that was approved when this was asked; empty where none was."""
        return self._read().get(_compute_digest(asked), "")

    def keep(self, commit: str, *asked: str) -> None:
        """Remember that this commit was approved. Raises OSError."""
        kept = self._read()
        kept.pop(_compute_digest(asked), None)
        kept[_compute_digest(asked)] = commit
        latest = dict(list(kept.items())[-_MOST_KEPT:])
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(dir=self._file.parent, prefix=f".{self._file.name}-")
        try:
            with os.fdopen(number, "w", encoding="utf-8") as file:
                json.dump(latest, file, indent=1)
            os.replace(name, self._file)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def _read(self) -> dict[str, str]:
        try:
            with self._file.open("rb") as file:
                found = json.loads(file.read(_MOST_BYTES_OF_APPROVALS))
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(found, dict):
            return {}
        return {k: v for k, v in found.items() if isinstance(v, str) and _COMMIT.fullmatch(v)}


def _compute_digest(asked: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join(asked).encode("utf-8", "surrogatepass")).hexdigest()

"""The gate: whether a shell command is proved to do nothing but read what may be read without asking."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.domain.replacing import replace
from quorum.domain.review.path_policy import PathPolicy, is_git_folder_name
from quorum.domain.shell.command_line import (
    JudgedCommand,
    Redirect,
    ShellVerdict,
    ShellVerdictKind,
    SimpleCommand,
    StartedCommands,
)
from quorum.domain.shell.command_spec import NotReadOnly, Operands, PathUse, Reading, Style, parse_use
from quorum.domain.shell.git_commands import GIT_ENVIRONMENT, GitUse, parse_git_use, split_revision
from quorum.domain.shell.read_only_commands import READ_ONLY_COMMANDS, SHELL_BUILTINS, list_refused_options
from quorum.domain.shell.starting_readers import find_use, parse_xargs_use
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.execution.shell.parsing import parse
from quorum.infrastructure.execution.shell.programs import SystemPrograms
from quorum.infrastructure.execution.shell.reach import OutOfReach, Reach
from quorum.infrastructure.execution.shell.repository import (
    Repository,
    UnsafeRepository,
    find_repository,
    list_named_folders,
    read_sign_in_settings,
    run_git_listing,
)
from quorum.infrastructure.execution.shell.words import Opaque
from quorum.infrastructure.files.searching import Sensitivity
from quorum.infrastructure.files.workspace import Location, escape_path

if TYPE_CHECKING:
    from quorum.infrastructure.execution.shell.named_paths import NamedPaths

_MOST_FOLDERS = 8


class Places:
    """Follows a line from part to part. A part must be harmless in each folder of `now`.

    `cd a && x` runs x in a and nowhere else. Wherever `cd` may have failed, been skipped, or run in a process
    of its own, as after `;` and `||` and in a pipe, what follows may run before or behind it.
    """

    def __init__(self, folder: str) -> None:
        self.now: tuple[str, ...] = (folder,)
        self._all: tuple[str, ...] = (folder,)
        self._before = ";"
        self._command = SimpleCommand(())
        self._is_plain_chain = True

    @property
    def next(self) -> tuple[str, ...]:
        """The folders in which the next part may run."""
        return self.now if self._command.then in ("&&", "|") else self._all

    def reach(self, command: SimpleCommand) -> None:
        """Continue with the next part."""
        self._before, self._command = self._command.then or ";", command
        if self._before == ";":
            self._is_plain_chain = True
        elif self._before == "||":
            self._is_plain_chain = False
        if self._before in (";", "||"):
            self.now = self._all

    def enter(self, folders: Iterable[str]) -> None:
        """The part at hand changes the folder. Raises NotReadOnly where it is too often to be followed."""
        entered = tuple(dict.fromkeys(folders))
        self._all = tuple(dict.fromkeys((*self._all, *entered)))
        if len(self._all) > _MOST_FOLDERS:
            raise NotReadOnly("it changes the folder too often to be judged")
        is_certain = self._is_plain_chain and self._before != "|" and self._command.then == "&&"
        self.now = entered if is_certain else self._all


_MOST_NAMES = 2_000
_MOST_ENTRIES = 20_000
_WILD = r"[*?]"


class Globs:
    """Expands the globs of one command line. It looks at a bounded number of files in all."""

    def __init__(self, policy: PathPolicy) -> None:
        self._policy = policy
        self._left = _MOST_ENTRIES

    def expand_globs(self, command: SimpleCommand, folder: str) -> tuple[SimpleCommand, frozenset[str]]:
        """The command as it would run in a folder, and the words that came from globs.

        Raises NotReadOnly where that is not known, and OSError.
        """
        words: list[str] = []
        found: set[str] = set()
        for place, word in enumerate(command.words):
            names = self._list_names(word, folder) if place in command.globs else []
            # A glob that fits no name stays what it is.
            words.extend(names or [word])
            found.update(names)
        if option := next((word for word in sorted(found) if word.startswith("-")), None):
            raise NotReadOnly(f"it takes the file {escape_path(option)} for an option")
        return replace(command, words=tuple(words), globs=frozenset()), frozenset(found)

    def list_loop_names(self, pattern: str, folders: Iterable[str]) -> list[str]:
        """The values of a loop over a glob, in each of these folders. Raises NotReadOnly and OSError."""
        found: set[str] = set()
        for folder in folders:
            # A glob that fits no name stays what it is.
            found.update(self._list_names(pattern, folder) or [pattern])
        if odd := next((name for name in sorted(found) if name.startswith("-") or not name.isascii()), None):
            raise NotReadOnly(f"{escape_path(odd)} may be an option, or no name that {pattern} stands for")
        return sorted(found)

    def _list_names(self, pattern: str, folder: str) -> list[str]:
        fixed = compile_once(_WILD).split(pattern, maxsplit=1)[0]
        start = os.path.realpath(os.path.join(folder, fixed.rpartition("/")[0]))
        if not self._policy.is_inside(start):
            raise NotReadOnly(f"{pattern} stands for names in {escape_path(start)}, outside the workspace")
        names = sorted(self._walk_below("", pattern.split("/"), folder))
        if len(names) > _MOST_NAMES:
            raise NotReadOnly(f"{pattern} stands for too many names to judge")
        return names

    def _walk_below(self, above: str, parts: list[str], folder: str) -> Iterator[str]:
        """Every path that the parts of a pattern lead to, rather one too many than one too few."""
        part, rest = parts[0], parts[1:]
        names = (
            self._list_entries(os.path.join(folder, above), part)
            if compile_once(_WILD).search(part)
            else [part]
        )
        for name in names:
            path = above + name
            if not rest:
                if compile_once(_WILD).search(part) or os.path.lexists(os.path.join(folder, path)):
                    yield path
            elif os.path.isdir(os.path.join(folder, path or "/")):
                yield from self._walk_below(f"{path}/", rest, folder)

    def _list_entries(self, folder: str, pattern: str) -> Iterator[str]:
        exact, lax = _build_expression(pattern, "."), _build_expression(pattern, ".*")
        with os.scandir(folder or "/") as entries:
            for entry in entries:
                self._left -= 1
                if self._left < 0:
                    raise NotReadOnly(f"{escape_path(folder)} has too many files to look through")
                if entry.name.startswith("."):
                    continue
                # How many letters another name has depends on the language of the system.
                if (exact if entry.name.isascii() else lax).fullmatch(entry.name):
                    yield entry.name


def _build_expression(pattern: str, one_letter: str) -> re.Pattern[str]:
    wild = {"*": ".*", "?": one_letter}
    return re.compile("".join(wild.get(each) or re.escape(each) for each in pattern), re.DOTALL)


# A word that is a path or a plain name of a revision, and a file as it is in a revision.
_PLAIN = r"[A-Za-z0-9_.][A-Za-z0-9_./-]*"
# May be the hash of any object, contents of a file among them, which no path limits.
_HASH = r"(?:.*-g)?[0-9A-Fa-f]{4,64}"
_FILE_OF_REVISION = r"[A-Za-z0-9_./~^-]+:[^:*?\[\\]+"

READ_ONLY_ENVIRONMENT: Mapping[str, str] = {
    **GIT_ENVIRONMENT,
    # Else `cd` could enter a folder elsewhere, and ripgrep could be configured to run a program on each file.
    "CDPATH": "",
    "RIPGREP_CONFIG_PATH": "",
    # With it, globs stand for hidden files as well.
    "GLOBIGNORE": "",
}


class ShellGate:
    """Judges the commands of one workspace.

    It changes nothing: it looks at names and links, and reads the settings and the index of git repositories.
    It starts git alone, in a repository that proved harmless, to list the files of commits that would be shown.
    Judging takes milliseconds, more where folders are looked through for sensitive files.
    """

    def __init__(self, policy: PathPolicy, programs: SystemPrograms) -> None:
        self._policy = policy
        self._programs = programs

    async def judge(self, command: str, cwd: Path) -> ShellVerdict:
        """What is known of a command that would run in `cwd`; works in a thread of its own."""
        return await asyncio.to_thread(self._judge, command, cwd)

    def _judge(self, command: str, cwd: Path) -> ShellVerdict:
        line = parse(command, LoopNames(Inspection(os.path.realpath(cwd), self._policy, self._programs)))
        if line.unclear is not None:
            started, named = _look_through(command, cwd, is_exact=False)
            return ShellVerdict(
                kind=ShellVerdictKind.ASK,
                reason=f"what it does is not known: {line.unclear}",
                parts=tuple(JudgedCommand(part, line.unclear) for part in line.commands),
                unclear=line.unclear,
                paths_read=named.read,
                paths_written=named.written,
                paths_changed=named.changed,
                started=replace(started, doubt=started.doubt or line.unclear) if line.is_misread else started,
            )
        verdict = self._judge_commands(line.commands, cwd)
        is_exact = line.expanded is None or verdict.is_read_only
        started, named = _look_through(command, cwd, is_exact=is_exact, names_paths=not verdict.is_read_only)
        return replace(
            verdict,
            # Rules are about the words that programs get, and where the shell expands some, these are others.
            unclear=None if is_exact else line.expanded,
            paths_read=tuple(dict.fromkeys((*verdict.paths_read, *named.read))),
            paths_written=tuple(dict.fromkeys((*verdict.paths_written, *named.written))),
            paths_changed=named.changed,
            started=started,
        )

    def _judge_commands(self, commands: Sequence[SimpleCommand], cwd: Path) -> ShellVerdict:
        inspection = Inspection(os.path.realpath(cwd), self._policy, self._programs)
        parts = tuple(judged for command in commands for judged in _judge_command(inspection, command))
        objection = next((part.objection for part in parts if part.objection is not None), None)
        return ShellVerdict(
            kind=ShellVerdictKind.READ_ONLY if objection is None else ShellVerdictKind.ASK,
            reason=objection or "it only reads, inside the workspace",
            parts=parts,
            paths_read=tuple(dict.fromkeys(inspection.read)),
            paths_written=tuple(dict.fromkeys(inspection.written)),
            environment=READ_ONLY_ENVIRONMENT if objection is None else {},
        )


def _look_through(
    command: str, cwd: Path, *, is_exact: bool, names_paths: bool = True
) -> tuple[StartedCommands, NamedPaths]:
    from quorum.infrastructure.execution.shell.named_paths import look_through  # for commands alone

    return look_through(command, cwd, is_exact=is_exact, names_paths=names_paths)


def _judge_command(inspection: Inspection, command: SimpleCommand) -> Iterator[JudgedCommand]:
    objection = inspection.find_objection(command)
    for variant in inspection.list_as_run(command) if command.globs else (command,):
        yield JudgedCommand(variant, objection, list_refused_options(variant.words))


class Inspection:
    """One command line that starts in a folder. `read` and `written` are the paths met so far."""

    def __init__(self, folder: str, policy: PathPolicy, programs: SystemPrograms) -> None:
        self.read: list[str] = []
        self.written: list[str] = []
        self._places = Places(folder)
        # The commands of the same pipe in front of the one at hand.
        self._upstream: tuple[SimpleCommand, ...] = ()
        self._last = SimpleCommand(())
        self._policy = policy
        self._programs = programs
        self._reach = Reach(policy)
        self._globs = Globs(policy)
        self._repository_of = cache(find_repository)
        self._tracked_by = cache(Repository.read_index)
        self._require_own_state = cache(Repository.require_own_state)

    def find_objection(self, command: SimpleCommand) -> str | None:
        """Why a command is not known only to read what may be read; None where it is."""
        self._upstream = (*self._upstream, self._last) if self._last.then == "|" else ()
        self._places.reach(command)
        self._last = self._strip_expansions(command)
        # The shell opens what is redirected before it runs the command, which may be `cd`.
        folders = self._places.now
        steps = [
            partial(self._inspect_command, command),
            *(partial(self._inspect_redirect, redirect, folders) for redirect in command.redirects),
        ]
        objections = [_find_objection(step) for step in steps]
        return next((objection for objection in objections if objection is not None), None)

    def list_as_run(self, command: SimpleCommand) -> tuple[SimpleCommand, ...]:
        """The command as it would run in each folder it may run in; as it stands where that is not known."""
        try:
            found = [self._globs.expand_globs(command, folder)[0] for folder in self._places.now]
        except (NotReadOnly, OSError):
            return (command,)
        return tuple(dict.fromkeys(found))

    def list_loop_names(self, glob: str) -> list[str]:
        """The values of a loop over a glob that comes next. Raises NotReadOnly and OSError."""
        return self._globs.list_loop_names(glob, self._places.next)

    def _strip_expansions(self, command: SimpleCommand) -> SimpleCommand:
        """The command without globs if they fit no name, as in `--include=*.py`."""
        variants = self.list_as_run(command) if command.globs else (command,)
        return variants[0] if [variant.words for variant in variants] == [command.words] else command

    def _inspect_command(self, command: SimpleCommand) -> None:
        if not command.globs and not command.found:
            self._inspect_words(command.words)
            return
        if 0 in command.found:
            raise NotReadOnly(f"it would run {escape_path(command.name)}, a name that * or ? stands for")
        looped = {command.words[place] for place in command.found}
        for folder in self._places.now:
            expanded, found = self._globs.expand_globs(command, folder)
            found |= looped
            if found:
                self._inspect_globs(expanded.words, found, folder)
            else:
                self._inspect_words(expanded.words)

    def _inspect_globs(self, words: Sequence[str], found: frozenset[str], folder: str) -> None:
        """Words of which some are names that were found: those must be paths, wherever they stand."""
        name, rest = words[0], words[1:]
        spec = READ_ONLY_COMMANDS.get(name)
        if spec is None:
            raise NotReadOnly(f"{escape_path(name)} is not known only to read with * or ?")
        use = parse_use(spec, name, rest)
        self._programs.require(name)
        paths = {path.path for path in use.paths}
        if spec.operands is Operands.TEXTS and spec.first is None:
            names = [PathUse(word, Reading.NAMES) for word in sorted(found)]
        elif found <= paths and spec.style is Style.OPTIONS:
            names = []
        else:
            raise NotReadOnly(f"{name} may take a name that * or ? stands for otherwise than as a path")
        for path in (*use.paths, *names):
            self._see_from(folder, path)

    def _inspect_words(self, words: Sequence[str]) -> None:
        name, rest = words[0], words[1:]
        if name == "command" and rest and not rest[0].startswith("-"):
            self._inspect_words(rest)
        elif name.startswith("/") and (base := os.path.basename(name)) not in SHELL_BUILTINS | {"cd"}:
            if not os.path.lexists(name):
                raise NotReadOnly(f"{escape_path(name)} is not there")
            self._programs.require(name)
            self._inspect_words((base, *rest))
        elif name == "cd":
            self._enter(rest)
        elif name == "git":
            git = parse_git_use(rest)
            self._programs.require(name)
            for folder in self._places.now:
                self._inspect_git(git, folder, list_named_folders(rest))
        else:
            paths = self._list_paths(name, rest)
            self._programs.require(name)
            for path in paths:
                self._see(path)

    def _list_paths(self, name: str, words: Sequence[str]) -> tuple[PathUse, ...]:
        """What a command reads, and what the programs read that it runs, which are the system's."""
        if name == "xargs":
            xargs = parse_xargs_use(words, self._upstream)
            self._programs.require(xargs.program, by_shell=False)
            return xargs.paths
        if (spec := READ_ONLY_COMMANDS.get(name)) is None:
            raise NotReadOnly(f"{escape_path(name)} is not known only to read")
        if name != "find":
            return parse_use(spec, name, words).paths
        find = find_use(spec, words)
        for program in find.programs:
            self._programs.require(program)
        return find.paths

    def _inspect_redirect(self, redirect: Redirect, folders: Sequence[str]) -> None:
        if redirect.is_harmless:
            return
        if redirect.only_reads:
            for folder in folders:
                self._see_from(folder, PathUse(redirect.target, Reading.FILE))
            return
        paths = [os.path.realpath(os.path.join(folder, redirect.target)) for folder in folders]
        self.written.extend(paths)
        raise NotReadOnly(f"it writes {escape_path(paths[-1])}")

    def _see(self, use: PathUse) -> None:
        for folder in self._places.now:
            self._see_from(folder, use)

    def _see_from(self, folder: str, use: PathUse) -> str:
        try:
            path = self._reach.require_readable(use, folder)
        except OutOfReach as objection:
            self.read.append(objection.path)
            raise
        self.read.append(path)
        return path

    def _enter(self, words: Sequence[str]) -> None:
        if len(words) != 1 or words[0].startswith("-") or ".." in words[0].split("/"):
            raise NotReadOnly("cd is known only with the name of a folder, without ..")
        entered = []
        for folder in self._places.now:
            path = os.path.normpath(os.path.join(folder, words[0]))
            # The shell keeps the name by which it came, programs see where it is: both must be one.
            if self._see_from(folder, PathUse(words[0], Reading.NAMES)) != path:
                raise NotReadOnly(f"cd {escape_path(words[0])} goes through a symbolic link")
            entered.append(path)
        self._places.enter(entered)

    def _inspect_git(self, git: GitUse, folder: str, named: frozenset[str]) -> None:
        for step in git.folders:
            folder = self._see_from(folder, PathUse(step, Reading.NAMES))
        repository = self._repository_of(folder)
        paths = [self._see_from(folder, path) for path in git.use.paths]
        if repository is not None:
            self._require_own_state(repository, named)
            self._require_harmless(git, repository, folder)
        if git.shows_contents and any(not _is_within(path, repository) for path in paths or [folder]):
            raise NotReadOnly("git would read files outside a repository")

    def _require_harmless(self, git: GitUse, repository: Repository, folder: str) -> None:
        top, limits = repository.top, _find_limits(git, folder, repository)
        if git.shows_addresses and (settings := read_sign_in_settings(repository)) is not None:
            raise NotReadOnly(f"git may show a token, which may stand in {escape_path(settings)}")
        shows = git.shows_contents or git.shows_hashes
        if not (git.looks_at_files or shows):
            return
        tracked = self._tracked_by(repository)
        if git.looks_at_files and tracked.submodules:
            place = escape_path(os.path.join(top, tracked.submodules[0]))
            raise UnsafeRepository(f"git would enter the submodule {place}, whose settings may run programs")
        if not shows:
            return
        if not all(map(self._policy.is_inside, limits or (top,))):
            raise OutOfReach(f"git would show files of {escape_path(top)}, outside the workspace", top)
        if self._policy.is_sensitive(top):
            raise OutOfReach(f"git may show {escape_path(top)}, which is sensitive", top)
        shown_files = [file for file in tracked.files if _is_below(os.path.join(top, file), limits)]
        repository.require_no_linked_folders(shown_files)
        self._require_nothing_sensitive(top, shown_files, "")
        if git.shows_history and limits is None:
            raise NotReadOnly("git would show the whole history, in which sensitive files may stand")
        committed = self._list_committed(git, folder)
        if git.shows_trees:
            committed = [file for file in committed if _is_below(os.path.join(top, file), limits)]
        self._require_nothing_sensitive(top, committed, " of a commit")

    def _require_nothing_sensitive(self, top: str, files: Iterable[str], where: str) -> None:
        sensitivity = Sensitivity(self._policy, Location(top, (), top))
        for file in files:
            if sensitivity.covers(tuple(file.split("/"))):
                path = os.path.join(top, file)
                raise OutOfReach(f"git may show {escape_path(path)}{where}, which is sensitive", path)

    def _list_committed(self, git: GitUse, folder: str) -> Iterable[str]:
        """The files, from the top, that git shows as they are in commits, where they may be others than now."""
        program = self._programs.require("git")
        if program is None or not (git.listing or git.shows_trees):
            return ()
        revisions = _list_revisions(git, folder)
        is_index_alone = git.name in ("diff", "grep") and not git.use.options & {"--cached", "--staged"}
        if not revisions and is_index_alone:
            return ()
        commits = _require_commits(program, git, revisions, folder)
        if revisions and not commits:  # files, each by its path
            return ()
        if not git.shows_trees:
            return dict.fromkeys(run_git_listing(program, git.listing, folder))
        words = ("ls-tree", "-r", "-z", "--name-only", "--full-tree")
        return {file: None for commit in commits for file in run_git_listing(program, (*words, commit), folder)}


class LoopNames:
    """Lists the values of loops over globs while a command line is parsed."""

    def __init__(self, inspection: Inspection) -> None:
        self._inspection = inspection
        self._inspected = 0

    def __call__(self, glob: str, before: Sequence[SimpleCommand]) -> Sequence[str]:
        """The names that a glob stands for behind commands. Raises Opaque where they are not known."""
        for command in before[self._inspected :]:
            if (objection := self._inspection.find_objection(command)) is not None:
                raise Opaque(f"it has a loop, and {objection}")
        self._inspected = len(before)
        try:
            return self._inspection.list_loop_names(glob)
        except (NotReadOnly, OSError) as error:
            raise Opaque(f"it has a loop, and {error}") from error


def _find_limits(git: GitUse, folder: str, repository: Repository) -> tuple[str, ...] | None:
    """The paths to which what git shows is limited; None where it may show any file of the repository.

    Without `--`, git takes a word for a path if it is no revision, and refuses one that is both.
    """
    if git.follows or any(map(is_git_folder_name, folder.split(os.sep))):
        return None
    if git.given and not git.limits and all(map(compile_once(_FILE_OF_REVISION).fullmatch, git.given)):
        if any(_may_name_contents(split_revision(word)[0]) for word in git.given):
            return None
        return tuple(_resolve_revision_path(word, folder, repository) for word in git.given)
    words = git.limits or tuple(
        word for word in git.given if compile_once(_PLAIN).fullmatch(word) and _exists(word, folder)
    )
    revisions = git.given[: len(git.given) - len(git.limits)] if git.limits else git.given
    if any(_may_name_contents(word) for word in revisions if git.limits or word not in words):
        return None
    return tuple(os.path.normpath(os.path.join(folder, word)) for word in words) or None


_PARENTS = r"\^(?:[@!]|-[0-9]*)$"


def _list_revisions(git: GitUse, folder: str) -> tuple[str, ...]:
    """The words that git takes for revisions. Without `--`, it refuses one that may also be a path."""
    before = git.given[: len(git.given) - len(git.limits)]
    if git.name == "ls-tree":
        return before[:1]
    return before if git.limits else tuple(word for word in before if not _exists(word, folder))


def _require_commits(program: str, git: GitUse, revisions: Iterable[str], folder: str) -> list[str]:
    """The commits that revisions name. Raises NotReadOnly where git may take one for something else.

    Contents and folders that are named by their hash, or by a tag, have no name by which they could be judged.
    A file is known by the path behind a commit, and of a folder there `git show` shows only names.
    """
    kinds: dict[str, str] = {}
    commits: list[str] = []
    for word in revisions:
        commit, path = split_revision(word)
        if path is None or git.shows_trees:
            ends = re.split(r"\.{2,3}", commit.removeprefix("^"))
            commits.extend(f"{compile_once(_PARENTS).sub('', end)}^{{}}" for end in ends if end)
        else:
            kinds[f"{commit}^{{}}"] = "commit"
            if git.name != "show":
                kinds[word] = "blob"
    kinds |= dict.fromkeys(commits, "commit")
    if not kinds:
        return []
    found = run_git_listing(program, ("cat-file", "--batch-check=%(objecttype)"), folder, tuple(kinds))
    for (word, kind), is_kind in zip(kinds.items(), found, strict=True):
        if kind != is_kind:
            raise NotReadOnly(f"git may show {escape_path(word.removesuffix('^{}'))}, which is no commit")
    return commits


def _may_name_contents(word: str) -> bool:
    """Whether git may take a word for the contents of some file, and not for a commit."""
    return ":" in word or any(
        compile_once(_HASH).fullmatch(re.split(r"[~^@]", end.lstrip("^"), maxsplit=1)[0])
        for end in re.split(r"\.{2,3}", word)
    )


def _resolve_revision_path(word: str, folder: str, repository: Repository) -> str:
    """Where a file lies that is named behind a revision: from the top, unless it says otherwise."""
    path = split_revision(word)[1] or ""
    return os.path.normpath(os.path.join(folder if path.startswith(".") else repository.top, path))


def _exists(word: str, folder: str) -> bool:
    return ".." not in word and os.path.lexists(os.path.join(folder, word))


def _is_below(path: str, limits: tuple[str, ...] | None) -> bool:
    return limits is None or PathPolicy(roots=limits).is_inside(path)


def _is_within(path: str, repository: Repository | None) -> bool:
    return repository is not None and PathPolicy(roots=(repository.top,)).is_inside(path)


def _find_objection(step: Callable[[], None]) -> str | None:
    try:
        step()
    except (NotReadOnly, OutOfReach, UnsafeRepository) as objection:
        return str(objection)
    except (OSError, ValueError) as error:
        # What cannot be looked into cannot be vouched for.
        return f"it cannot be looked into: {error}"
    return None

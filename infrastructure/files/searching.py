"""What searches share: going through a folder, what they leave out, what is sensitive, and their patterns.

A folder is walked in path order, inside the workspace, without what ignore files name. Patterns are regular
expressions in RE2's dialect, and globs.
"""

from __future__ import annotations

import os
import re
import stat
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import re2
from msgspec import Struct

from quorum.domain.calls.effects import FileMark
from quorum.domain.errors import ToolError
from quorum.domain.review.path_policy import NO_PLACES, PathPolicy, extract_last_names
from quorum.infrastructure.blocking import Stop
from quorum.infrastructure.files.workspace import Location, Workspace, open_regular

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


# In rising order of precedence within one folder.
_FILES = (".gitignore", ".ignore")
_LARGEST = 256 * 1024
_LONGEST_PATTERN, _MOST_PATTERNS = 4096, 250


class _Level(Struct, frozen=True):
    """Patterns of one file, which hold below the folder `depth` names down from the root."""

    depth: int
    spec: GitIgnoreSpec


class IgnoreRules(Struct, frozen=True):
    """The ignore files from a root down to some folder; the deepest that speaks of an entry decides."""

    levels: tuple[_Level, ...] = ()

    def enter(self, folder: int, names: Iterable[str], depth: int) -> IgnoreRules:
        """The rules inside an open folder that lies `depth` names below the root and holds `names`."""
        held = frozenset(names)
        texts = [_read_exclude(folder)] if ".git" in held else []
        texts += [_read_ignore_file(name, folder) for name in _FILES if name in held]
        specs = (spec for text in texts for spec in _parse_specs(text))
        return IgnoreRules((*self.levels, *(_Level(depth, spec) for spec in specs)))

    def ignore(self, names: tuple[str, ...], *, is_folder: bool) -> bool:
        """Whether the entry with these names from the root is left out."""
        for level in reversed(self.levels):
            path = "/".join(names[level.depth :]) + ("/" if is_folder else "")
            # A name that is no valid text cannot be matched as it is; no pattern can mean it either.
            include = level.spec.check_file(path.encode("utf-8", "replace").decode("utf-8")).include
            if include is not None:
                return include
        return False


def _parse_specs(text: str) -> Iterator[GitIgnoreSpec]:
    """The patterns of an ignore file, in order and in parts, for RE2 takes only so many at once.

    A line that is longer than any path means none, and neither does one with a NUL.
    """
    lines: list[str] = []
    for line in text.split("\n"):
        if len(line) > _LONGEST_PATTERN or "\0" in line:
            continue
        lines.append(line.removesuffix("\r"))
        if len(lines) == _MOST_PATTERNS or sum(map(len, lines)) > _LONGEST_PATTERN:
            yield _parse_spec(lines)
            lines = []
    if any(lines):
        yield _parse_spec(lines)


def _parse_spec(lines: Sequence[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # not every process meets an ignore file

    try:
        return GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error, re2.error):
        # Like git, leave out the lines that mean nothing, and keep the rest.
        return GitIgnoreSpec.from_lines(line for line in lines if _is_pattern(line))


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error, re2.error):
        return False
    return True


def _read_exclude(repository: int) -> str:
    """The text of .git/info/exclude; a .git that is a file or a link has none of its own."""
    opened = [os.dup(repository)]
    try:
        for name in (".git", "info"):
            opened.append(
                os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=opened[-1])
            )
        return _read_ignore_file("exclude", opened[-1])
    except OSError:
        return ""
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _read_ignore_file(name: str, folder: int) -> str:
    """The text of an ignore file. One that cannot be read, or is a link, rules nothing, as for git."""
    try:
        descriptor = open_regular(name, folder, name)
    except (OSError, ToolError):
        return ""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_LARGEST).decode("utf-8-sig", "replace")


_MOST_ENTRIES = 100_000


class Sensitivity:
    """The policy's answers below one folder.

    Whoever was let into a sensitive folder was asked about all that is in it: nothing below counts then.
    """

    def __init__(self, policy: PathPolicy, base: Location) -> None:
        self._policy = policy
        self._base = base.path
        self._asked = policy.is_sensitive(base.path)
        self._folders: dict[tuple[str, ...], bool] = {(): False}
        # The policy is only asked about names at which one of its patterns can end: one test instead of many.
        self._candidate = extract_last_names(policy.sensitive, copies=True)
        self._own = frozenset(policy.own)

    def covers(self, names: tuple[str, ...]) -> bool:
        """Whether the file with these names from the folder is sensitive and was not asked about."""
        return not self._asked and (self._covers_folder(names[:-1]) or self._is_sensitive(names))

    def _covers_folder(self, names: tuple[str, ...]) -> bool:
        known = self._folders.get(names)
        if known is None:
            known = self._covers_folder(names[:-1]) or self._is_sensitive(names)
            self._folders[names] = known
        return known

    def _is_sensitive(self, names: tuple[str, ...]) -> bool:
        path = os.path.join(self._base, *names) if self._own else ""
        if path in self._own:
            return True
        if self._policy.places is not NO_PLACES and self._policy.places.is_sensitive(
            path or os.path.join(self._base, *names)
        ):
            return True
        if not self._candidate.covers(names[-1]):
            return False
        return self._policy.is_sensitive(path or os.path.join(self._base, *names))


class SensitiveLinks:
    """Which files are sensitive by another of their names in the workspace.

    The workspace is looked through once, at the first file with several names, from the top downwards and up to
    100,000 entries.
    """

    def __init__(self, policy: PathPolicy) -> None:
        self._policy = policy
        self._found: dict[tuple[int, int], str] | None = None

    def find_name(self, status: os.stat_result) -> str | None:
        """The sensitive name of such a file."""
        if status.st_nlink == 1 or not stat.S_ISREG(status.st_mode):
            return None
        if self._found is None:
            self._found = {}
            for root in self._policy.roots:
                self._look_through(root, self._found)
        return self._found.get((status.st_dev, status.st_ino))

    def _look_through(self, root: str, found: dict[tuple[int, int], str]) -> None:
        sensitivity = Sensitivity(self._policy, Location(root, (), root))
        waiting, left = deque[tuple[str, ...]]([()]), _MOST_ENTRIES
        while waiting and left > 0:
            above = waiting.popleft()
            try:
                with os.scandir(os.path.join(root, *above)) as entries:
                    for entry in entries:
                        left -= 1
                        names = (*above, entry.name)
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(names)
                        elif sensitivity.covers(names):
                            status = entry.stat(follow_symlinks=False)
                            found[(status.st_dev, status.st_ino)] = entry.path
            except OSError:  # gone meanwhile, or closed to us
                continue


_DIALECT = "patterns are in RE2 syntax, which has no lookaround, backreferences or possessive repetition"
_EACH_LINE = "(?m)"
_UNSUPPORTED = {
    "(?=": "lookahead",
    "(?!": "negative lookahead",
    "(?<=": "lookbehind",
    "(?<!": "negative lookbehind",
    "(?>": "an atomic group",
    "(?#": "a comment",
    "(?(": "a conditional",
    "(?P=": "a backreference",
}


class LinePattern:
    """A regular expression searched for in each line on its own, in time linear to the text."""

    def __init__(self, pattern: str, *, ignore_case: bool) -> None:
        """Raises ToolError that names what is wrong or not supported."""
        if not pattern:
            raise ToolError("pattern is empty: it would match every line")
        try:
            self._regex = _compile(_EACH_LINE + pattern, never_nl=True, case_sensitive=not ignore_case)
        except re2.error as error:
            raise ToolError(_explain_complaint(pattern, error.args[0])) from error
        except UnicodeEncodeError as error:
            raise ToolError("pattern holds half of a surrogate pair: no text can match it") from error

    def find_lines(self, content: bytes) -> Iterator[tuple[int, int]]:
        """Start and end of each line with a match, the line feed left out."""
        at = 0
        while at < len(content) and (found := self._regex.search(content, at)) is not None:
            middle: int = found.start()
            if middle == len(content) and content.endswith(b"\n"):
                return
            start = content.rfind(b"\n", 0, middle) + 1
            end = content.find(b"\n", middle)
            yield start, end if end >= 0 else len(content)
            if end < 0:
                return
            at = end + 1


class Glob:
    """`*` and `?` within a name, `**` across folders, `[a-z]`, `{one,other}`."""

    def __init__(self, pattern: str, argument: str) -> None:
        """Raises ToolError, naming the argument, for a pattern that can match nothing."""
        self.pattern = pattern.removeprefix("./")
        if not self.pattern:
            raise ToolError(f"{argument} is empty")
        if self.pattern.startswith("/") or ".." in self.pattern.split("/"):
            raise ToolError(f"{argument} must be relative to the folder searched, without a leading / or ..")
        try:
            self._regex = _compile(_translate_glob(self.pattern), dot_nl=True)
        except (re2.error, UnicodeEncodeError) as error:
            raise ToolError(
                f"{argument} {self.pattern!r} is not a valid glob: check its brackets and braces"
            ) from error

    @property
    def spans_folders(self) -> bool:
        """Whether it speaks of more than a name."""
        return "/" in self.pattern

    def matches(self, path: str) -> bool:
        """Whether a relative path is meant."""
        return self._regex.fullmatch(path.encode("utf-8", "replace")) is not None


# RE2's module is untyped; nothing of it leaves this file.
def _compile(pattern: str, **settings: bool) -> Any:
    options = re2.Options()
    options.log_errors = False
    for name, value in settings.items():
        setattr(options, name, value)
    return re2.compile(pattern, options)


def _explain_complaint(pattern: str, reason: bytes | str) -> str:
    words = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else reason
    # The prefix that this file put before the pattern is none of the reader's business.
    words = words.replace(_EACH_LINE, "", 1)
    problem, _, place = words.partition(": ")
    match problem:
        case "invalid perl operator":
            # RE2 quotes an unknown group only up to the letter it stumbled over.
            operator = next(
                (o for o in _UNSUPPORTED if place.startswith(o) or (place == "(?P" and o in pattern)), place
            )
            return (
                f'pattern: {_UNSUPPORTED.get(operator, "this group")} "{operator}" is not supported; {_DIALECT}'
            )
        case "invalid escape sequence" if place[1:2].isdigit() or place[1:2] in ("k", "g"):
            return f'pattern: the backreference "{place}" is not supported; {_DIALECT}'
        case "bad repetition operator":
            return f'pattern: the repetition "{place}" is not supported; {_DIALECT}'
        case _:
            return f"pattern is not valid: {words}; {_DIALECT}"


def _translate_glob(glob: str) -> str:
    parts: list[str] = []
    at, braces = 0, 0
    while at < len(glob):
        at, braces, part = _translate_token(glob, at, braces)
        parts.append(part)
    return "".join(parts)


def _translate_token(glob: str, at: int, braces: int) -> tuple[int, int, str]:
    """The regular expression of the token at `at`, where the next begins, and how many braces are open then."""
    starts_name = at == 0 or glob[at - 1] in "/{,"
    match glob[at]:
        case "*" if glob.startswith("**/", at) and starts_name:
            return at + 3, braces, "(?:[^/]+/)*"
        case "*" if glob.startswith("**", at):
            return at + 2, braces, ".*"
        case "*":
            return at + 1, braces, "[^/]*"
        case "?":
            return at + 1, braces, "[^/]"
        case "[" if (end := glob.find("]", at + 2 + glob.startswith("[!", at))) > 0:
            inner = glob[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            return end + 1, braces, f"[^/{inner[1:]}]" if inner.startswith(("!", "^")) else f"[{inner}]"
        case "{":
            return at + 1, braces + 1, "(?:"
        case "}" if braces:
            return at + 1, braces - 1, ")"
        case "," if braces:
            return at + 1, braces, "|"
        case "\\" if at + 1 < len(glob):
            return at + 2, braces, re2.escape(glob[at + 1])
        case other:
            return at + 1, braces, re2.escape(other)


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Each level holds a descriptor open.
_DEEPEST = 100


class Entry(Struct, frozen=True):
    """A file or link met on the way. `folder` is the open folder that holds it, valid until the next entry."""

    names: tuple[str, ...]
    folder: int
    is_link: bool

    @property
    def name(self) -> str:
        return self.names[-1]


class Walk:
    """One pass over all files below a folder, which is searched even if it is itself ignored.

    Links are met but not followed; `.git` is never entered. `unreadable` counts the folders left out because
    they could not be opened or lie too deep.
    """

    def __init__(self, workspace: Workspace, base: Location, stop: Stop) -> None:
        self._workspace = workspace
        self._base = base
        self._stop = stop
        self.unreadable = 0

    def list_entries(self) -> Iterator[Entry]:
        """All of them; `names` count from the base. Raises Stopped, and ToolError if it is not a folder."""
        rules = self._read_rules_above()
        with self._workspace.open_folder(self._base) as folder:
            yield from self._walk_below(folder, (), rules)

    def _read_rules_above(self) -> IgnoreRules:
        rules, names = IgnoreRules(), self._base.names
        for depth in range(len(names)):
            above = Location(self._base.root, names[:depth], "")
            with self._workspace.open_folder(above) as folder:
                rules = rules.enter(folder, os.listdir(folder), depth)
            if rules.ignore(names[: depth + 1], is_folder=True):
                # Whoever names an ignored folder means what is in it.
                rules = IgnoreRules()
        return rules

    def _walk_below(self, folder: int, names: tuple[str, ...], rules: IgnoreRules) -> Iterator[Entry]:
        self._stop.check()
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            self.unreadable += 1
            return
        above = self._base.names + names
        rules = rules.enter(folder, (entry.name for entry in entries), len(above))
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name == ".git" or rules.ignore((*above, entry.name), is_folder=is_folder):
                continue
            inner = (*names, entry.name)
            if is_folder:
                yield from self._enter(folder, inner, rules)
            elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                yield Entry(inner, folder, entry.is_symlink())

    def _enter(self, folder: int, names: tuple[str, ...], rules: IgnoreRules) -> Iterator[Entry]:
        try:
            if len(names) > _DEEPEST:
                raise OSError("too deep")
            inner = os.open(names[-1], _FOLDER, dir_fd=folder)
        except OSError:
            self.unreadable += 1
            return
        try:
            yield from self._walk_below(inner, names, rules)
        finally:
            os.close(inner)


# Made anew by their programs, also where no ignore file says so.
_MADE_ANEW = frozenset(
    {"node_modules", ".venv", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", ".nox"}
)
RULE_FILES = ("/.gitignore", "/.ignore", "/.git/info/exclude")


class IgnoredFolders:
    """Tells ignored folders from others, reading each folder's ignore file once until one of them changes.

    A single ignored file is none of them: settings and notes are often kept out of a repository, and nothing
    else could give them back.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        """`roots` may grow, see `WorkspaceRoots`."""
        self._roots = roots
        self._bases: dict[str, str] = {}
        self._rules: dict[str, IgnoreRules | None] = {}
        self._ignored: dict[str, bool] = {}
        self._seen: dict[str, FileMark] = {}

    def refresh(self, marks: Mapping[str, FileMark]) -> None:
        """Take note of the files of the whole workspace, and of ignore files that are not what they were."""
        seen = {path: mark for path, mark in marks.items() if path.endswith(RULE_FILES)}
        if seen != self._seen:
            self._seen = seen
            self._rules.clear()
            self._ignored.clear()

    def contains(self, path: str) -> bool:
        """Whether a file lies in an ignored folder."""
        folder = path.rpartition("/")[0]
        if (is_ignored := self._ignored.get(folder)) is None:  # hundreds of thousands may lie in some folders
            if (root := self._find_root(path)) is None:
                return False
            is_ignored = self._ignored[folder] = self._read_rules(os.path.dirname(path), root) is None
        return is_ignored

    def covers(self, path: str, changed_rules: Collection[str] = ()) -> bool:
        """Whether a file lies in an ignored folder or is ignored itself.

        What the ignore files in `changed_rules` say does not count: whoever changes a file could hide that.
        """
        root = self._find_root(path)
        if root is None or any(path.startswith(_find_ruled_folder(rules)) for rules in changed_rules):
            return False
        rules = self._read_rules(os.path.dirname(path), root)
        return rules is None or rules.ignore(_list_names(self._find_base(root), path), is_folder=False)

    def is_made_anew(self, path: str) -> bool:
        """Whether a file lies in a folder that a program fills, whatever ignore files say."""
        root = self._find_root(path)
        return root is not None and not _MADE_ANEW.isdisjoint(path[len(root) :].split("/")[:-1])

    def _find_root(self, path: str) -> str | None:
        holding = (root for root in self._roots if path.startswith(root.rstrip("/") + "/"))
        return max(holding, key=len, default=None)

    def _read_rules(self, folder: str, root: str) -> IgnoreRules | None:
        """The rules inside a folder at or below the root; None where it is ignored."""
        if folder not in self._rules:
            self._rules[folder] = (
                self._read_rules_at_root(root) if folder == root else self._enter(folder, root)
            )
        return self._rules[folder]

    def _enter(self, folder: str, root: str) -> IgnoreRules | None:
        above, name = os.path.split(folder)
        rules = self._read_rules(above, root)
        if rules is None or name == ".git":
            return rules
        names = _list_names(self._find_base(root), folder)
        if name in _MADE_ANEW or rules.ignore(names, is_folder=True):
            return None
        return _enter_folder(rules, folder, len(names))

    def _find_base(self, root: str) -> str:
        if root not in self._bases:
            self._bases[root] = _find_repository(root)
        return self._bases[root]

    def _read_rules_at_root(self, root: str) -> IgnoreRules:
        """The rules from the repository that holds the root.

        Whoever works in an ignored folder means what is in it.
        """
        base, rules = self._find_base(root), IgnoreRules()
        names = _list_names(base, root)
        for depth in range(len(names) + 1):
            rules = _enter_folder(rules, os.path.join(base, *names[:depth]), depth)
            if depth < len(names) and rules.ignore(names[: depth + 1], is_folder=True):
                rules = IgnoreRules()
        return rules


def _find_repository(root: str) -> str:
    """The folder of the repository that the root lies in; the root itself where there is none."""
    folder = root
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return root
        folder = above
    return folder


def _find_ruled_folder(rules: str) -> str:
    """The folder, with its slash, in which an ignore file rules."""
    return next(rules.removesuffix(end) for end in RULE_FILES if rules.endswith(end)) + "/"


def _list_names(base: str, path: str) -> tuple[str, ...]:
    return () if path == base else tuple(path.removeprefix(base.rstrip("/") + "/").split("/"))


def _enter_folder(rules: IgnoreRules, folder: str, depth: int) -> IgnoreRules:
    try:
        opened = os.open(folder, _FOLDER)
    except OSError:
        return rules
    try:
        return rules.enter(opened, os.listdir(opened), depth)
    finally:
        os.close(opened)

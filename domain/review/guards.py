"""Guards: static looks at a call that can object and do nothing else. They need no model and cast no vote.

An objection means that the call is at least asked about, in every mode. What a guard does not see is not
thereby harmless: guards catch mistakes, the sandbox and the person are the boundary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from domain.calls.access import Access
from domain.review.path_policy import PathPolicy
from domain.secrets.patterns import MASK
from domain.text.json_value import JsonObject, JsonValue

DEFAULT_MAX_BYTES = 100_000
DEFAULT_MAX_LINES = 1_000


@dataclass(frozen=True, slots=True)
class Objection:
    """What a guard has against a call, in words for the person."""

    guard: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardSettings:
    """Which guards look, and how closely. `commands` are further beginnings of commands to object to."""

    path: bool = True
    destructive: bool = True
    size: bool = True
    secret: bool = True
    commands: tuple[str, ...] = ()
    max_bytes: int = DEFAULT_MAX_BYTES
    max_lines: int = DEFAULT_MAX_LINES


def find_objections(
    arguments: JsonObject,
    access: Access,
    command: str | None,
    *,
    paths: PathPolicy,
    settings: GuardSettings,
) -> tuple[Objection, ...]:
    """What the guards have against a call. `command` is the shell text it would run, if it runs any."""
    found: list[Objection] = []
    if settings.path:
        outside = sorted(path for path in access.writes if path.startswith("/") and not paths.is_inside(path))
        found += [Objection("path", f"it writes outside the workspace: {path}") for path in outside]
    if settings.path and command is not None:
        own = (path for path in paths.own if path in command)
        found += [Objection("path", f"it names {path}, which is quorum's own") for path in own]
    if settings.destructive and command is not None:
        found += [Objection("destructive", reason) for reason in _destructive(command, settings.commands)]
    if settings.size:
        found += [Objection("size", reason) for reason in _too_large(arguments, settings)]
    if settings.secret and (access.writes or access.exclusive or command is not None):
        found += [Objection("secret", reason) for reason in _stands_for_secrets(arguments)]
    return tuple(found)


# ---------------------------------------------------------------- size


def _too_large(arguments: JsonObject, settings: GuardSettings) -> Iterator[str]:
    texts = list(_texts(arguments))
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    lines = sum(text.count("\n") for text in texts)
    if size > settings.max_bytes:
        yield f"its arguments hold {size:,} bytes, more than {settings.max_bytes:,}"
    elif lines > settings.max_lines:
        yield f"its arguments hold {lines:,} lines, more than {settings.max_lines:,}"


def _texts(value: JsonValue, *, names: bool = False) -> Iterator[str]:
    waiting: list[JsonValue] = [value]
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case dict(fields):
                waiting += fields.values()
                if names:
                    waiting += fields
            case list(items):
                waiting += items
            case _:
                continue


# ---------------------------------------------------------------- secrets that are not there


def _stands_for_secrets(arguments: JsonObject) -> Iterator[str]:
    """Yield an objection to stand-ins of masked values: a model may take them for the values themselves."""
    words = sorted({word for text in _texts(arguments, names=True) for word in MASK.findall(text)})
    if words:
        more = f" and {len(words) - 1} more" if len(words) > 1 else ""
        yield (
            f"it holds {words[0]}{more}: such a word stands in a record where a secret was, and the call would "
            "use the word itself"
        )


# ---------------------------------------------------------------- destructive commands


@dataclass(frozen=True, slots=True)
class _Destructive:
    """A program, the words of which one must follow (none: always), and what that does."""

    program: str
    words: str
    does: str


# `words` is a pattern that one of the words after the program must match whole; "" needs none.
# The letter is looked for once: else a long word of such letters would be gone through for each of them.
_RECURSIVE = r"-(?=[a-zA-Z]*?[rR])[a-zA-Z]+|--recursive"
_FORCED = r"-(?=[a-zA-Z]*?f)[a-zA-Z]+|--force(=.*)?"
_TABLE = (
    _Destructive("rm", _RECURSIVE, "deletes folders with all they hold"),
    _Destructive("rm", _FORCED, "deletes without asking"),
    _Destructive(
        "git push", r"-f|--force.*|--mirror|--delete|-d|\+.*|:.+", "rewrites or deletes what others see"
    ),
    _Destructive("git reset", "--hard", "throws uncommitted changes away"),
    _Destructive("git clean", _FORCED, "deletes files that git does not know"),
    _Destructive("git checkout", r"--|-f|--force|\.", "throws uncommitted changes away"),
    _Destructive("git restore", r"\.|--worktree|-W", "throws uncommitted changes away"),
    _Destructive("git branch", r"-D|--delete|-d", "deletes branches"),
    _Destructive("git stash", "drop|clear", "throws stashed changes away"),
    _Destructive("git reflog", "expire|delete", "removes the way back to lost commits"),
    _Destructive("git filter-branch", "", "rewrites history"),
    _Destructive("git filter-repo", "", "rewrites history"),
    _Destructive("git update-ref", "-d", "deletes references"),
    _Destructive("git gc", "--prune.*", "removes the way back to lost commits"),
    _Destructive("find", r"-delete|-exec(dir)?|-ok(dir)?", "changes what it finds"),
    _Destructive("dd", r"of=.*", "overwrites files or devices"),
    _Destructive("mkfs", "", "formats a device"),
    _Destructive("wipefs|shred|fdisk|parted|sgdisk|blkdiscard", "", "destroys data on a device"),
    _Destructive("truncate", "", "cuts files off"),
    _Destructive("chmod|chown|chgrp", _RECURSIVE, "changes the rights of whole folders"),
    _Destructive("chmod", r"0?777|a\+rwx", "lets everybody change the file"),
    _Destructive("kill", r"-1|-9", "ends processes without asking them"),
    _Destructive("killall|pkill", "", "ends processes by name"),
    _Destructive("shutdown|reboot|halt|poweroff", "", "stops the machine"),
    _Destructive("sudo|doas|su|pkexec", "", "acts as another user"),
    _Destructive("crontab", "-r", "deletes scheduled jobs"),
    _Destructive("systemctl", "stop|disable|mask", "stops services"),
    _Destructive("docker|podman", "prune|rm|rmi|kill", "deletes containers or images"),
    _Destructive("docker|podman", "volume", "can delete volumes"),
    _Destructive("kubectl", "delete|drain|replace", "deletes what runs in a cluster"),
    _Destructive("terraform|tofu", "destroy|apply", "changes infrastructure"),
    _Destructive("npm|pnpm|yarn|cargo|gem|poetry|uv", "publish", "publishes a package"),
    _Destructive("twine", "upload", "publishes a package"),
    _Destructive("gh", "delete|merge|release", "changes what others see"),
    _Destructive("dropdb|dropuser", "", "deletes a database"),
    _Destructive("redis-cli", "(?i)flushall|flushdb", "deletes a database"),
)
_MOST_READ = 65_536  # characters; what is longer than this is no command that anybody reads either


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the table without its program: words that follow it, one that is needed, and what that does."""

    words: tuple[str, ...]
    needed: re.Pattern[str]
    does: str


def _index_by_program() -> dict[str, tuple[_Row, ...]]:
    rows: dict[str, tuple[_Row, ...]] = {}
    for each in _TABLE:
        names, *words = each.program.split()
        row = _Row(tuple(words), re.compile(each.words), each.does)
        for name in names.split("|"):
            rows[name] = (*rows.get(name, ()), row)
    return rows


_ROWS = _index_by_program()
_SQL = re.compile(r"(?i)\b(drop\s+(table|database|schema)|truncate\s+table|delete\s+from\s+\w+\s*(;|$))")
_DEVICE = re.compile(r">\s*/dev/(sd|nvme|hd|vd|mapper|disk|mem)")
_DOWNLOADS = re.compile(r"\b(curl|wget|fetch)\b")
_RUNS_INPUT = re.compile(r"\b(sh|bash|zsh|dash|ksh|python3?|perl|ruby|node)\b")
_JOINTS = re.compile(r"([|;&])")
_SEPARATORS = re.compile(r"\$\(|[\n;|&()`{}<>]")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*")
_WRAPPERS = frozenset(
    {"env", "nohup", "time", "xargs", "exec", "command", "builtin", "nice", "stdbuf", "timeout", "!"}
)
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "eval", "-c"})


def _destructive(command: str, more: Sequence[str]) -> Iterator[str]:
    """What a shell text seems to destroy. It looks into quotes, too: better one question too many."""
    if len(command) > _MOST_READ:
        yield f"it holds {len(command):,} characters, too many to be looked through"
        command = command[:_MOST_READ]
    reported: set[str] = set()
    for words in _simple_commands(command):
        for reason in (*_find_in_table(words), *_find_in_list(words, more)):
            if reason not in reported:
                reported.add(reason)
                yield reason
    if _pipes_into_shell(command):
        yield "it runs what it downloads"
    if _DEVICE.search(command):
        yield "it writes to a device"
    if found := _SQL.search(command):
        yield f"{' '.join(found[0].split())}: it deletes data of a database"


def _pipes_into_shell(command: str) -> bool:
    """Whether a part that downloads is followed, behind a pipe, by one that runs what it reads."""
    pieces = _JOINTS.split(command)
    return any(
        joint == "|" and _DOWNLOADS.search(before) and _RUNS_INPUT.search(after)
        for before, joint, after in zip(pieces[::2], pieces[1::2], pieces[2::2], strict=False)
    )


def _find_in_table(words: Sequence[str]) -> Iterator[str]:
    program = words[0]
    for row in _ROWS.get("mkfs" if program.startswith("mkfs.") else program, ()):
        end = 1 + len(row.words)
        if tuple(words[1:end]) != row.words:
            continue
        if not row.needed.pattern or any(map(row.needed.fullmatch, words[end:])):
            yield f"{' '.join(words[:end])}: it {row.does}"


def _find_in_list(words: Sequence[str], more: Sequence[str]) -> Iterator[str]:
    for beginning in more:
        wanted = beginning.split()
        if wanted and list(words[: len(wanted)]) == wanted:
            yield f"{beginning}: the settings of the guard name it"


def _simple_commands(command: str) -> Iterator[list[str]]:
    """Whatever could be run in it, one list of words each, without wrappers and paths of programs."""
    for piece in _SEPARATORS.split(command):
        words = [word.replace("'", "").replace('"', "").replace("\\", "") for word in piece.split()]
        for place, word in enumerate(words):
            first = word.rpartition("/")[2]
            # behind a wrapper's own options, or in quoted text, the program may stand at any place
            if not _stands_before_program(word, first):
                yield [first, *_skip_git_options(first, words[place + 1 :])]
                break


def _stands_before_program(word: str, name: str) -> bool:
    if _ASSIGNMENT.fullmatch(word) or name in _WRAPPERS or name in _SHELLS:
        return True
    return name.startswith("-") or name.isdigit()


def _skip_git_options(program: str, words: list[str]) -> list[str]:
    if program != "git":
        return words
    start = 0
    while start < len(words) and words[start].startswith("-"):
        start += 2 if words[start] in ("-c", "-C", "--git-dir", "--work-tree") else 1
    return words[start:]

"""Patterns of commands as permission rules write them: `git log *`, `npm run test:*`.

A rule that allows must fit a command word by word. One that forbids or asks also finds a program behind its
path, behind wrappers such as `sudo` and `timeout 5`, and behind git's own options.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from enum import Enum
from fnmatch import fnmatchcase
from functools import lru_cache

from quorum.domain.shell.command_line import UNKNOWN_WORDS, JudgedCommand, ShellVerdict
from quorum.domain.shell.git_commands import GIT_COMMANDS
from quorum.domain.shell.read_only_commands import READ_ONLY_COMMANDS
from quorum.domain.shell.star_words import find_uncovered_word, has_writing_uses
from quorum.domain.text.pattern import compile_once

# What runs the program that is named behind it, somewhere among its words.
WRAPPERS = frozenset(
    [
        "builtin",
        "busybox",
        "bwrap",
        "caffeinate",
        "choom",
        "chpst",
        "chronic",
        "chroot",
        "chrt",
        "command",
        "coproc",
        "cpulimit",
        "daemonize",
        "dbus-run-session",
        "doas",
        "eatmydata",
        "entr",
        "env",
        "exec",
        "fakeroot",
        "find",
        "firejail",
        "flock",
        "gtimeout",
        "ionice",
        "linux32",
        "linux64",
        "ltrace",
        "nice",
        "nohup",
        "nsenter",
        "numactl",
        "parallel",
        "pkexec",
        "proot",
        "proxychains",
        "proxychains4",
        "rlwrap",
        "runcon",
        "runuser",
        "screen",
        "script",
        "setarch",
        "setpriv",
        "setsid",
        "sg",
        "start-stop-daemon",
        "stdbuf",
        "strace",
        "su",
        "sudo",
        "systemd-nspawn",
        "systemd-run",
        "taskset",
        "time",
        "timelimit",
        "timeout",
        "tmux",
        "torify",
        "torsocks",
        "toybox",
        "tsocks",
        "unbuffer",
        "unshare",
        "valgrind",
        "watch",
        "xargs",
    ]
)
SHELLS = frozenset(["ash", "bash", "dash", "fish", "ksh", "sh", "zsh"])
ANY_WORDS = "*"
"""At the end of a pattern: any further words, but no option that may run a program or open a file."""
ANY_WORDS_AND_OPTIONS = "**"
"""At the end of a pattern: any further words whatever."""
_APPENDING = frozenset({"parallel", "xargs"})
_EVALUATING = frozenset({"eval", ".", "source", "trap"})
# What stands where a shell has its script, and is none, or need not be one.
_NO_SCRIPTS = ("<(", "/dev/", "/proc/", "$", "`", UNKNOWN_WORDS)
_ENDS_OF_WORDS = r"[\s=;&|()'\"]+"
_GIT_VALUED = frozenset(
    {
        "-c",
        "-C",
        "--attr-source",
        "--git-dir",
        "--work-tree",
        "--namespace",
        "--exec-path",
        "--config-env",
        "--super-prefix",
    }
)


# Behind a wrapper; whoever writes more of them hides the command that follows.
_MOST_OPTIONS_OF_GIT = 64
_MOST_OPTIONS = 16


class BadPattern(ValueError):
    """The text is no pattern of a command; the message says why."""


@lru_cache(maxsize=512)
def split_pattern(pattern: str) -> tuple[str, ...]:
    """The words of a pattern, quotes taken away. Raises BadPattern."""
    try:
        words = tuple(shlex.split(pattern))
    except ValueError as error:
        raise BadPattern(f"the words of {pattern!r} cannot be separated: {error}") from error
    if not words or not words[0].strip("*?"):
        raise BadPattern(f"{pattern!r} does not begin with the name of a program")
    return words


def covers_part(pattern: str, part: JudgedCommand) -> bool:
    """Whether a pattern that allows fits one plain command exactly, and nothing beside its words."""
    command = part.command
    if not command.words or command.assignments or not all(r.is_harmless for r in command.redirects):
        return False
    wanted = split_pattern(pattern)
    return _match_words(wanted, command.words) and (
        part.objection is None or _find_word_beyond_star(wanted, command.words) is None
    )


def find_word_in_the_way(pattern: str, part: JudgedCommand) -> str | None:
    """The word for which a pattern that allows does not fit a command, whose other words it fits."""
    wanted, words = split_pattern(pattern), part.command.words
    if not words or not _match_words(wanted, words) or covers_part(pattern, part):
        return None
    return _find_word_beyond_star(wanted, words)


def fits_words(pattern: str, words: Sequence[str]) -> bool:
    """Whether a command fits a pattern whose `*` stands for any words, unless it is one that reads."""
    wanted = split_pattern(pattern)
    return _match_words(wanted, words) and not (
        is_reader(words) and _find_word_beyond_star(wanted, words) is not None
    )


class Match(Enum):
    """Whether a command is one that a pattern is about."""

    NONE = "no"
    POSSIBLE = "possible"
    SURE = "sure"


def match_command(pattern: str, shell: ShellVerdict) -> Match:
    """Whether anything in a command is what a pattern that forbids or asks is about."""
    wanted, started = split_pattern(pattern), shell.started
    # What nobody took apart may hold anything.
    is_possible = bool(started.doubt) if started is not None else shell.unclear is not None
    lists = [*(part.command.words for part in shell.parts), *(started.commands if started is not None else ())]
    for words in lists:
        # one word more than the pattern has tells whether a command is as long
        for runs in _list_programs(words, len(wanted) + 1 + _MOST_OPTIONS):
            if runs is None:
                is_possible = is_possible or started is None
                continue
            for named in {runs, _lower_program(runs)}:
                if _match_words(wanted, named) and not _has_unknown_words(wanted, named):
                    return Match.SURE
                is_possible = is_possible or _may_become(wanted, named) or _may_fit_behind(wanted, named)
    return Match.POSSIBLE if is_possible else Match.NONE


def _has_unknown_words(wanted: Sequence[str], words: Sequence[str]) -> bool:
    """Whether what a pattern names was compared with words that are not known."""
    is_open = wanted[-1] in (ANY_WORDS, ANY_WORDS_AND_OPTIONS)
    return any(UNKNOWN_WORDS in word for word in (words[: len(wanted) - 1] if is_open else words))


def _may_become(wanted: Sequence[str], words: Sequence[str]) -> bool:
    """Whether unknown words can be such that the command fits."""
    is_open = wanted[-1] in (ANY_WORDS, ANY_WORDS_AND_OPTIONS)
    fixed = wanted[:-1] if is_open else wanted
    for place, word in enumerate(words):
        start, unknown, _ = word.partition(UNKNOWN_WORDS)
        if place >= len(fixed):
            return is_open or (bool(unknown) and not start)
        if unknown:  # what it begins with is known; all behind that may be anything
            return fits(start, fixed[place][: len(start)])
        if not fits(word, fixed[place]):
            return False
    return False


def _may_fit_behind(wanted: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a command fits whose subcommand stands behind options, and perhaps behind a value of theirs."""
    if len(wanted) < 2 or wanted[1][:1] in ("-", "*", "?") or not (words and fits(words[0], wanted[0])):
        return False
    place = 1
    while place < len(words) and words[place].startswith("-"):
        if place > _MOST_OPTIONS:  # they hide the command
            return True
        is_valued = "=" not in words[place] and not words[min(place + 1, len(words) - 1)].startswith("-")
        behind = [place + 1, place + 2] if is_valued else [place + 1]
        if any(_match_words(wanted, (words[0], *words[each:])) for each in behind):
            return True
        place = behind[-1]
    return False


def _list_programs(words: Sequence[str], most: int) -> Iterator[tuple[str, ...] | None]:
    """The word lists that a plain command may run, its own first, the first words of each; None for a text that
    hides what it runs."""
    yield tuple(words[:most])
    rest = list(words)
    while rest:
        name = rest[0].rpartition("/")[2]
        yield (name, *rest[1:most])
        yield from _list_git_programs(name, rest[1:], most)
        for started in _list_started(name, rest[1:]):
            yield started[:most]
            yield from _list_git_programs(started[0], started[1:], most)
            if _evaluates(started[0], started[1:]):
                yield None
        if name in _EVALUATING or (name in SHELLS and _takes_command(rest[1:])):
            yield None
        if name not in WRAPPERS:
            return
        behind = _fill_in(name, rest[1:])
        if _wraps_unknown_program(name, behind):
            yield (UNKNOWN_WORDS,)
        yield from _list_wrapped_programs(behind, most)
        return


def _list_started(name: str, words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The programs that another one starts in an environment or a container, as `uv run` and `docker exec` do,
    each with its words."""
    # The tables tell which words are names of programs.
    import quorum.domain.review.effects.program_rows
    import quorum.domain.review.hazards.program_table  # noqa: F401
    from quorum.domain.review.hazards.invocation import Invocation  # only commands need it
    from quorum.domain.review.hazards.started_programs import list_started_programs

    for run in list_started_programs(Invocation(program=name, arguments=tuple(words))):
        yield (run.program, *run.arguments)


def _list_wrapped_programs(words: Sequence[str], most: int) -> Iterator[tuple[str, ...] | None]:
    """The program behind a wrapper may stand behind any of its options and values: every word could be it."""
    for place, word in enumerate(words):
        name = word.rpartition("/")[2]
        if name.startswith(UNKNOWN_WORDS):
            continue
        yield (name, *words[place + 1 : place + most])
        yield from _list_git_programs(name, words[place + 1 : place + 1 + _MOST_OPTIONS_OF_GIT + most], most)
        if name in SHELLS or name in _EVALUATING:
            yield None
        # Some take a whole command in one word, as `su -c` and `env -S` do.
        if any(map(str.isspace, word)):
            yield from _list_wrapped_programs(compile_once(_ENDS_OF_WORDS).split(word), most)


def _fill_in(wrapper: str, words: Sequence[str]) -> list[str]:
    """The words behind a wrapper, with unknown ones where it puts what it reads or finds."""
    if wrapper not in _APPENDING:
        return [UNKNOWN_WORDS if word == "{}" else word for word in words]
    marks = {"{}"}
    for place, word in enumerate(words):
        if word == "-I":
            marks.update(words[place + 1 : place + 2])
        elif (found := re.match(r"-[Ii]|--replace=", word)) is not None:
            marks.add(word[found.end() :])
    pattern = "|".join(map(re.escape, filter(None, marks)))
    return [
        *(re.split(pattern, word)[0] + UNKNOWN_WORDS if re.search(pattern, word) else word for word in words),
        UNKNOWN_WORDS,
    ]


def _wraps_unknown_program(name: str, words: Sequence[str]) -> bool:
    """Whether a word that is not known stands where a wrapper has its program, and not among its arguments."""
    from quorum.domain.review.hazards.invocation import Invocation, unwrap  # only a few commands need it

    first = next((word for word in words if not word.startswith("-")), "")
    runs = [run.program for run in unwrap(Invocation(program=name, arguments=tuple(words)))][1:]
    return any(program.startswith(UNKNOWN_WORDS) for program in (runs or [first.rpartition("/")[2]]))


def list_evaluations(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The words of each program that a plain command may run and that runs a text, its name first."""
    if not words:
        return
    name = words[0].rpartition("/")[2]
    if _evaluates(name, words[1:]):
        yield (name, *words[1:])
    yield from (each for each in _list_started(name, words[1:]) if _evaluates(each[0], each[1:]))
    if name in WRAPPERS and not (name == "command" and words[1:2] and words[1] in ("-v", "-V")):
        yield from _list_wrapped_evaluations(_fill_in(name, words[1:]))


def _list_wrapped_evaluations(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for place, word in enumerate(words):
        name = word.rpartition("/")[2]
        if _evaluates(name, words[place + 1 :]):
            yield (name, *words[place + 1 :])
        if any(map(str.isspace, word)):
            inner = (each.rpartition("/")[2] for each in compile_once(_ENDS_OF_WORDS).split(word))
            yield from ((each, "-c", UNKNOWN_WORDS) for each in inner if each in SHELLS | _EVALUATING)


def _evaluates(name: str, words: Sequence[str]) -> bool:
    if name == "git":
        options = words[: len(words) - len(_skip_git_options(words))]
        return len(options) > _MOST_OPTIONS_OF_GIT or any("alias." in word.lower() for word in options)
    return name in _EVALUATING or (name in SHELLS and _takes_command(words))


def _takes_command(words: Sequence[str]) -> bool:
    """Whether a shell is given its commands by a word or by its input; otherwise it runs a script."""
    options = [word for word in words if word.startswith(("-", "+"))]
    operand = next((word for word in words if not word.startswith(("-", "+"))), "")
    return (
        not operand
        or operand.startswith(_NO_SCRIPTS)
        or any({"c", "s"} & set(word) for word in options if not word.startswith("--"))
    )


def _list_git_programs(name: str, words: Sequence[str], most: int) -> Iterator[tuple[str, ...] | None]:
    """The command of git behind its options, and behind the name of a program of git's own."""
    if name.startswith("git-"):
        yield ("git", name.removeprefix("git-"), *words[:most])
    if name == "git":
        rest = _skip_git_options(words)
        yield ("git", *rest[:most])
        if len(words) - len(rest) > _MOST_OPTIONS_OF_GIT or any(
            "alias." in word.lower() for word in words[: len(words) - len(rest)]
        ):
            yield None


def _skip_git_options(words: Sequence[str]) -> tuple[str, ...]:
    start = 0
    while start < len(words) and words[start].startswith("-"):
        is_valued = words[start] in _GIT_VALUED
        if UNKNOWN_WORDS in "".join(words[start : start + 1 + is_valued]):
            return (UNKNOWN_WORDS,)  # it may hold the command as well
        start += 1 + is_valued
    return tuple(words[start:])


def _lower_program(words: Sequence[str]) -> tuple[str, ...]:
    """The name of the program in small letters: on some file systems `RM` runs `rm`."""
    return (words[0].lower(), *words[1:]) if words else ()


def is_reader(words: Sequence[str]) -> bool:
    """Whether there are uses of this command that only read."""
    name, rest = words[0].rpartition("/")[2], words[1:]
    if name == "git":
        named = rest if rest[:1] and rest[0].startswith("-") else rest[:1]
        return any(word in GIT_COMMANDS for word in named)
    spec = READ_ONLY_COMMANDS.get(name)
    return spec is not None and not spec.needed  # of some only the question for their version is known


def _find_word_beyond_star(wanted: Sequence[str], words: Sequence[str]) -> str | None:
    """The first word that a `*` would stand for and does not: one that may run a program, or name a file for an
    option to open."""
    starred = _find_star_places(wanted, words)
    if is_reader(words):
        options = (words[place] for place in sorted(starred) if words[place].startswith("-"))
        if (option := next((each for each in options if each not in wanted), None)) is not None:
            return option
        return find_uncovered_word(words, starred) if has_writing_uses(words) else None
    return find_uncovered_word(words, starred)


def _find_star_places(wanted: Sequence[str], words: Sequence[str]) -> frozenset[int]:
    """The places of the words that a `*` stands for, without those that the pattern names or a `**` covers."""
    fixed = wanted[:-1] if wanted[-1] in (ANY_WORDS, ANY_WORDS_AND_OPTIONS) else wanted
    inside = {place for place, want in enumerate(fixed) if not _names(want, words[place])}
    behind = range(len(fixed), len(words)) if wanted[-1] == ANY_WORDS else ()
    return frozenset({*inside, *behind})


def _names(want: str, word: str) -> bool:
    """Whether a word of a pattern says which option or operand a word is: `--level=*` does, `--l*` does not."""
    written = re.split(r"[*?]", want, maxsplit=1)[0]
    return written == want or ("=" in written if word.startswith("-") else bool(written))


def _match_words(wanted: Sequence[str], words: Sequence[str]) -> bool:
    """Word by word; a `*` or `**` at the end stands for any further words, elsewhere inside one word."""
    if wanted[-1] in (ANY_WORDS, ANY_WORDS_AND_OPTIONS):
        fixed = wanted[:-1]
        return len(words) >= len(fixed) and _match_all(fixed, words[: len(fixed)])
    return len(words) == len(wanted) and _match_all(wanted, words)


def _match_all(wanted: Sequence[str], words: Sequence[str]) -> bool:
    return all(fits(word, want) for want, word in zip(wanted, words, strict=True))


def fits(text: str, pattern: str) -> bool:
    """Whether a text fits a pattern as a whole. A bracket is a bracket: `[::1]` is a host, `[ab]` a word."""
    return fnmatchcase(text, pattern.replace("[", "[[]"))

"""Programs as they are run: without the wrappers in front of them, with their input, and what they start."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property

from msgspec import Struct

from quorum.domain.replacing import replace
from quorum.domain.review.hazards.starters import list_started_texts
from quorum.domain.review.plain_request import RequestTerms
from quorum.domain.shell.command_line import Redirect
from quorum.domain.shell.script import ScriptCommand


class Carried(StrEnum):
    """What the data that comes in to a program may be. PORT: nothing but the numbers of processes at a port."""

    DOWNLOAD = "download"
    DECODED = "decoded"
    CREDENTIAL = "credential"
    FILE = "file"
    ENVIRONMENT = "environment"
    PROCESSES = "processes"
    PORT = "port"


class Invocation(Struct, frozen=True, kw_only=True, dict=True):
    """A program, its arguments, and what it is run with. `program` is its name without a folder.

    `text` is what is known of its input; `has_unknown_input` says that it may be more. `wrappers` are the
    programs that run it, the outermost first. `leading` are options in front of the command of a program, where
    `arguments` begin with that.
    """

    program: str
    arguments: tuple[str, ...]
    redirects: tuple[Redirect, ...] = ()
    text: str | None = None
    has_unknown_input: bool = False
    carried: frozenset[Carried] = frozenset()
    in_loop: bool = False
    wrappers: tuple[str, ...] = ()
    leading: tuple[str, ...] = ()

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """The arguments that are no options; values of options may be among them."""
        return tuple(word for word in self.arguments if not word.startswith("-"))

    def find_values(self, *options: str) -> Iterator[str]:
        """The values of these options, as a word of their own, behind `=`, or attached to a letter."""
        if not options:
            return
        for place, word in enumerate(self.arguments):
            if word[:1] not in ("-", "+"):
                continue
            for option in options:
                if word == option and place + 1 < len(self.arguments):
                    yield self.arguments[place + 1]
                elif option.startswith("--") and word.startswith(f"{option}="):
                    yield word[len(option) + 1 :]
                elif not option.startswith("--") and word.startswith(option) and len(word) > len(option):
                    yield word[len(option) :]


REHEARSAL = r"--dry-?run|-(?=[a-zA-Z]*?n)[ahvzrltgopDuPiRHAXSn]+"
"""Options of programs that copy from machine to machine, of which the letters are those of rsync(1) 3.2.7 that
take no value: nothing is done."""
_REHEARSAL_WORD = re.compile("--dry-?run")
_REHEARSAL_LETTERS = re.compile(REHEARSAL)


def is_rehearsed(run: Invocation) -> bool:
    """Whether a program only tells what it would copy."""
    pattern = _REHEARSAL_LETTERS if run.program == "rsync" else _REHEARSAL_WORD
    return any(map(pattern.fullmatch, run.arguments))


# The options of a wrapper that take the next word, and how many words stand in front of the command.
_WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    "env": (frozenset({"-u", "-C", "--unset", "--chdir"}), 0),
    "nice": (frozenset({"-n", "--adjustment"}), 0),
    "ionice": (frozenset({"-c", "-n"}), 0),
    "timeout": (frozenset({"-s", "-k", "--signal", "--kill-after"}), 1),
    "gtimeout": (frozenset({"-s", "-k"}), 1),
    "time": (frozenset({"-f", "-o"}), 0),
    "stdbuf": (frozenset({"-i", "-o", "-e"}), 0),
    "xargs": (frozenset({"-I", "-n", "-P", "-L", "-d", "-s", "-a", "-E", "--max-args", "--max-procs"}), 0),
    "parallel": (frozenset({"-j", "--jobs", "-a", "-I"}), 0),
    "exec": (frozenset({"-a"}), 0),
    "sudo": (frozenset({"-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t", "--user"}), 0),
    "doas": (frozenset({"-u", "-C"}), 0),
    "pkexec": (frozenset({"--user"}), 0),
    "watch": (frozenset({"-n", "--interval"}), 0),
    "sshpass": (frozenset({"-p", "-f", "-d", "-P"}), 0),
    "entr": (frozenset(), 0),
    "taskset": (frozenset(), 1),
    "ltrace": (frozenset({"-o", "-e", "-s", "-u", "-n", "-p"}), 0),
    "chroot": (frozenset(), 1),
    "flock": (frozenset({"-w", "-E"}), 1),
    "strace": (frozenset({"-o", "-e", "-s"}), 0),
    "nsenter": (frozenset({"-t", "--target"}), 0),
    **dict.fromkeys(
        ("npx", "pnpx", "bunx"), (frozenset({"-p", "--package", "-w", "--workspace", "--prefix"}), 0)
    ),
    "uvx": (frozenset({"--from", "--with", "--python", "-p"}), 0),
    **dict.fromkeys(
        (
            "nohup",
            "setsid",
            "command",
            "builtin",
            "busybox",
            "unshare",
            "chronic",
            "caffeinate",
            "corepack",
            "!",
        ),
        (frozenset(), 0),
    ),
}
_REPEATS = frozenset({"xargs", "parallel", "watch", "entr"})
_PACKAGE_RUNNERS = frozenset({"npx", "pnpx", "bunx", "uvx"})
_VERSION = re.compile(r"(?<=\w)(@|==).*")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_SPACE = re.compile(r"\s")
# The options behind which programs that search for files take a command, and the words that end it. Of fd they
# may follow flags in one word, but not letters that take a value.
_FIND_RUNS = (re.compile(r"-(?:exec|ok)(?:dir)?"), frozenset({";", "+"}))
_FD_RUNS = (re.compile(r"-[01aFgHhIiLlpqsuV]*[xX]|--exec(?:-batch)?"), frozenset({";"}))
_SEARCHERS = {
    **dict.fromkeys(("find", "gfind", "bfs"), _FIND_RUNS),
    **dict.fromkeys(("fd", "fdfind"), _FD_RUNS),
}


def unwrap(given: Invocation) -> Iterator[Invocation]:
    """The program itself, and each one that it runs with the words behind it."""
    wrappers = given.wrappers
    words: Sequence[str] = (given.program, *given.arguments)
    while words:
        name = words[0].rpartition("/")[2]
        if wrappers[-1:] and wrappers[-1] in _PACKAGE_RUNNERS:
            name = drop_version(name)
        if wrappers or name != given.program:
            in_loop = given.in_loop or not _REPEATS.isdisjoint(wrappers)
            yield replace(given, program=name, arguments=tuple(words[1:]), in_loop=in_loop, wrappers=wrappers)
        else:
            yield given
        if name in _SEARCHERS:
            yield from _list_run_by_search(name, words, replace(given, wrappers=wrappers))
        if name not in _WRAPPERS or (name == "command" and words[1:2] and words[1] in ("-v", "-V")):
            return
        wrappers = (*wrappers, name)
        words = words[_find_command_start(words, name) :]


def drop_version(name: str) -> str:
    """The name of a program without the version of the package that it is taken from."""
    return _VERSION.sub("", name)


def _find_command_start(words: Sequence[str], name: str) -> int:
    with_value, leading = _WRAPPERS[name]
    place = 1
    while place < len(words):
        word = words[place]
        if word == "--":
            place += 1
            break
        if word in with_value:
            place += 2
        elif word.startswith("-") or _ASSIGNMENT.fullmatch(word):
            place += 1
        else:
            break
    return place + leading


def _list_run_by_search(name: str, words: Sequence[str], given: Invocation) -> Iterator[Invocation]:
    options, ends = _SEARCHERS[name]
    # A value may stand in the same word as a long option.
    words = [part for word in words for part in (word.split("=", 1) if word.startswith("--exec") else (word,))]
    start: int | None = None
    for place, word in enumerate((*words, ";")):
        if start is None and options.fullmatch(word):
            start = place + 1
        elif start is not None and word in ends:
            if start < place:
                run = Invocation(
                    program=words[start],
                    arguments=tuple(words[start + 1 : place]),
                    carried=given.carried,
                    in_loop=True,
                    wrappers=given.wrappers,
                )
                yield from unwrap(run)
            start = None


def is_assignment(word: str) -> bool:
    """Whether a word sets a variable where it stands in front of a command."""
    return bool(_ASSIGNMENT.fullmatch(word)) and not _SPACE.search(word.partition("=")[0])


def find_handed_values(command: ScriptCommand) -> dict[str, str]:
    """The variables that a command sets for a shell which it starts, for the text that this runs."""
    if not command.assignments and "=" not in "".join(command.words):
        return {}
    place = next((at for at, word in enumerate(command.words) if _SHELL_WORD.fullmatch(word)), None)
    if place is None or not (command.assignments or "=" in "".join(command.words[:place])):
        return {}
    given = (*command.assignments, *filter(is_assignment, command.words[:place]))
    return {name: value for name, _, value in (each.partition("=") for each in given)}


_SHELL_WORD = re.compile(r"(?:/\S*/)?(?:ba|z|da|k|a|mk)?sh")
_GIT_RUNS = re.compile(
    r"(?i:alias\.[^=]*=!|(?:core\.(?:pager|editor|sshcommand|fsmonitor|askpass)|sequence\.editor|diff\.external|"
    r"credential\.helper|pager\.[^=]*)=!?)(.*)",
    re.DOTALL,
)
_SSH_RUNS = re.compile(r"(?i:(?:proxycommand|localcommand|knownhostscommand)[= ])(.*)", re.DOTALL)
# The options of programs that mostly read or sort, whose values are started.
_STARTED_BY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("tar", "bsdtar", "gtar"),
        ("--to-command", "--use-compress-program", "--info-script", "--new-volume-script", "-I", "-F"),
    ),
    "rsync": ("-e", "--rsh"),
    "rg": ("--pre", "--hostname-bin"),
    **dict.fromkeys(("sort", "gsort"), ("--compress-program",)),
    **dict.fromkeys(("split", "gsplit"), ("--filter",)),
    **dict.fromkeys(("bat", "batcat", "ag", "ack", "delta"), ("--pager",)),
    "man": ("-P", "--pager", "-H", "--html"),
    "fzf": ("--preview",),
    **dict.fromkeys(("script", "su", "runuser", "flock"), ("-c", "--command", "--session-command")),
    "zip": ("-TT", "--unzip-command"),
    "hyperfine": ("-p", "--prepare", "-s", "--setup", "-c", "--cleanup", "-C", "--conclude"),
    "entr": ("-s", "-rs", "-cs", "-ns", "-crs", "-rcs", "-nrs"),
    "env": ("-S", "--split-string"),
    "bpftrace": ("-c",),
    "aws": ("--command",),
    **dict.fromkeys(("npm", "npx"), ("-c", "--call")),
    "nix-shell": ("--run", "--command"),
    "fswatch": ("-x",),
    "ansible": ("-a", "--args"),
    "vagrant": ("-c", "--command"),
    "gcloud": ("--command",),
    **dict.fromkeys(("fly", "flyctl"), ("-C", "--command")),
    **dict.fromkeys(("doppler", "infisical", "dotenvx"), ("--command",)),
}
_GIT_STARTS = {
    "rebase": ("-x", "--exec"),
    "grep": ("-O", "--open-files-in-pager"),
    "difftool": ("-x", "--extcmd"),
    "filter-branch": tuple(
        f"--{each}-filter" for each in ("tree", "index", "env", "msg", "parent", "commit", "setup")
    ),
    "fetch": ("--upload-pack",),
    "clone": ("--upload-pack", "-u"),
    "ls-remote": ("--upload-pack",),
    "push": ("--receive-pack", "--exec"),
    "archive": ("--exec",),
}
_TAKES_TEXTS = frozenset(
    {
        *(
            "hyperfine",
            "pdsh",
            "pssh",
            "parallel-ssh",
            "clush",
            "dsh",
            "salt",
            "salt-ssh",
            "adb",
            "heroku",
            "fab",
        ),
        *("rexec", "knife"),
    }
)
"""They hand a text to a shell, mostly of other machines."""
_DC_RUNS = re.compile(r".*?!\s*([^<>=!\s].*)")
_FZF_RUNS = re.compile(r".*?(?:execute(?:-silent)?|become|reload|preview|transform)[(:\[{](.*)", re.DOTALL)
_TAR_ACTION = re.compile(r"exec=(.*)", re.DOTALL)
_EDITORS = frozenset({"vi", "vim", "nvi", "nvim", "ex", "view", "vimdiff", "gvim", "ed", "red"})
_EDITOR_RUNS = re.compile(r":?\s*(?:silent!?\s+)?(?:r(?:ead)?\s+|%|\.|\d*,?\$?)?!(.*)", re.DOTALL)
_SQLITE_RUNS = re.compile(r"\s*\.(?:shell|system)\s+(.*)", re.DOTALL)
_DEBUGGER_RUNS = re.compile(
    r"(?:--?\w[\w-]*=)?\s*(?:(?:platform\s+)?shell\s+|!|pipe\s.*\||make\s)(.*)", re.DOTALL
)
_CLIENT_RUNS = re.compile(r"(?:--\w+=)?\s*(?:\\!|(?i:system)\s)\s*(.*)", re.DOTALL)
_FILE_CLIENT_RUNS = re.compile(r"(?:.*;)?\s*(?:!|(?i:host|shell)\s)\s*([^;]*).*", re.DOTALL)
# Programs that read commands of their own, and the ones among these that start a shell.
_COMMAND_LINES: dict[str, re.Pattern[str]] = {
    **dict.fromkeys(("sqlite3", "sqlite", "duckdb"), _SQLITE_RUNS),
    **dict.fromkeys(("gdb", "lldb"), _DEBUGGER_RUNS),
    **dict.fromkeys(("psql", "mysql", "mariadb"), _CLIENT_RUNS),
    "dc": _DC_RUNS,
    **dict.fromkeys(("sftp", "lftp", "ftp", "sqlplus"), _FILE_CLIENT_RUNS),
}
_RUNS_VALUES = {
    **dict.fromkeys(("ssh", "scp", "sftp"), (_SSH_RUNS, "-o")),
    **dict.fromkeys(("tar", "bsdtar", "gtar"), (_TAR_ACTION, "--checkpoint-action")),
    "fzf": (_FZF_RUNS, "--bind"),
}
"""Options of programs with values of which a part is started."""
_START_TEXTS = frozenset(
    {
        *_STARTED_BY,
        *_COMMAND_LINES,
        *_TAKES_TEXTS,
        *_RUNS_VALUES,
        *_EDITORS,
        *("git", "nix", "sed", "gsed", "make", "gmake"),
    }
)
_SED_RUNS = re.compile(r"(?:^|[;{}\n]|[\d$/])[ \t]*e[ \t]+([^\n]+)")


def list_texts_in_options(run: Invocation) -> Iterator[str]:
    """The texts that a program hands to a shell, as far as its words and input show them."""
    program = run.program
    if program not in _START_TEXTS:
        yield from list_started_texts(program, run.arguments)
        return
    yield from run.find_values(*_STARTED_BY.get(program, ()))
    if program == "git":
        yield from _cut(_GIT_RUNS, run.find_values("-c"))
        yield from _list_started_by_git(run)
    elif program in _RUNS_VALUES:
        pattern, option = _RUNS_VALUES[program]
        yield from _cut(pattern, run.find_values(option))
    if program in _COMMAND_LINES:
        yield from _cut(_COMMAND_LINES[program], (*run.arguments, *_list_lines(run)))
    elif program == "nix":
        yield from _list_started_by_nix(run)
    elif program in _TAKES_TEXTS:
        yield from _list_handed_on(run)
    elif program in ("sed", "gsed"):
        for script in (*run.operands[:1], *run.find_values("-e", "--expression")):
            yield from (found[1] for found in _SED_RUNS.finditer(script))
    elif program in ("make", "gmake"):
        yield from list_recipes(run.text or "")
    elif program in _EDITORS:
        words = (word[1:] for word in run.arguments if word.startswith("+"))
        yield from _cut(_EDITOR_RUNS, (*words, *run.find_values("-c", "--cmd"), *_list_lines(run)))


_RECIPE = re.compile(r"(?m)^(?:\t|[^\t#\n;=]*:[^\n;=]*;)[ \t@+-]*([^\n]+)")


def list_recipes(text: str) -> Iterator[str]:
    """The commands in a file of rules for make, those in the line of the target, too."""
    return (found[1] for found in _RECIPE.finditer(text))


def _list_handed_on(run: Invocation) -> Iterator[str]:
    is_any = run.program == "hyperfine"
    return (word for word in run.operands if is_any or " " in word)


def _list_started_by_git(run: Invocation) -> Iterator[str]:
    for place, word in enumerate(run.arguments):
        yield from run.find_values(*_GIT_STARTS.get(word, ()))
        behind = run.arguments[place + 1 :]
        if (word, *behind[:1]) in (("bisect", "run"), ("submodule", "foreach")):
            yield " ".join(each for each in behind[1:] if each not in ("--recursive", "--quiet", "-q"))


def _list_started_by_nix(run: Invocation) -> Iterator[str]:
    for place, word in enumerate(run.arguments):
        if word in ("-c", "--command"):
            yield shlex.join(run.arguments[place + 1 :])
            return


def _cut(pattern: re.Pattern[str], values: Iterator[str] | tuple[str, ...]) -> Iterator[str]:
    yield from (found[1] for value in values if (found := pattern.fullmatch(value)))


def _list_lines(run: Invocation) -> Iterator[str]:
    yield from (run.text or "").split("\n")


_WHOLE_LIST = re.compile(r"\$\{(\w+)\[[@*]\]\}|\$\{?([@*])\}?")


def find_listed_words(word: str, values: Mapping[str, str]) -> Sequence[str] | None:
    """The words of a list that one word stands for, as `${name[@]}` or `$@`; None where it stands for none that
    is known. A list is held as it is written, in parentheses."""
    found = _WHOLE_LIST.fullmatch(word)
    held = values.get(found[1] or found[2], "") if found else ""
    if not (held.startswith("(") and held.endswith(")")):
        return None
    try:
        return shlex.split(held[1:-1])
    except ValueError:  # it holds half of a quoted text
        return None


def hold_own_words(words: tuple[str, ...]) -> str | None:
    """The list that `set` makes the words of the script itself, as lists are held."""
    is_set = words[:1] == ("set",) and words[1:2] == ("--",)
    return f"({shlex.join(words[2:])})" if is_set else None


_PRINT_OPTION = re.compile(r"-[neE]+|--")
_PLACEHOLDER = re.compile(r"%[-+ #0-9.*]*([a-zA-Z%])")
_MOST_PRINTED = 200


def print_words(program: str, words: Sequence[str]) -> str:
    """What `echo` or `printf` makes of its words; escapes other than those of lines stay."""
    shown = [word for word in words if not _PRINT_OPTION.fullmatch(word)]
    if program != "printf" or not shown:
        return " ".join(shown)
    form, values = shown[0], shown[1:_MOST_PRINTED]
    if "%" not in form:
        return _break_lines(" ".join(shown))
    taken = len(_PLACEHOLDER.findall(form.replace("%%", "")))
    turns = -(-len(values) // taken) if taken else 1  # the format is used again for further words
    waiting = iter(values)
    printed = _PLACEHOLDER.sub(
        lambda found: "%" if found[1] == "%" else next(waiting, ""), form * max(1, turns)
    )
    return _break_lines(printed)


def _break_lines(text: str) -> str:
    return text.replace("\\n", "\n").replace("\\t", "\t")


class HarmfulUse(Struct, frozen=True):
    """Programs, the words that must follow first, one that must be among the rest, and what that does.

    A word is needed, or excludes the row, if the pattern matches it whole; "" needs and excludes none.
    `request`: what the person may plainly ask for; None: it is objected to whatever was asked. `fewest`: with
    fewer operands among the rest it only reads.
    """

    program: str
    needed: str
    does: str
    unless: str = ""
    guard: str = "destructive"
    request: RequestTerms | None = None
    fewest: int = 0

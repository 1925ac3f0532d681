"""Shell texts that programs which are no shells take in options, scripts and input, and run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from quorum.domain.review.hazards.invocation import Invocation

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
    "entr": ("-s",),
    "nix-shell": ("--run", "--command"),
    "fswatch": ("-x",),
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
_FZF_RUNS = re.compile(r".*?(?:execute(?:-silent)?|become|reload|preview|transform)[(:\[{](.*)", re.DOTALL)
_TAR_ACTION = re.compile(r"exec=(.*)", re.DOTALL)
_EDITOR = re.compile(r"(n?vim?|ex|view|vimdiff|gvim)")
_EDITOR_RUNS = re.compile(r":?\s*(?:silent!?\s+)?(?:r(?:ead)?\s+|%|\.|\d*,?\$?)?!(.*)", re.DOTALL)
_SQLITE_RUNS = re.compile(r"\s*\.(?:shell|system)\s+(.*)", re.DOTALL)
_DEBUGGER_RUNS = re.compile(
    r"(?:--?\w[\w-]*=)?\s*(?:(?:platform\s+)?shell\s+|!|pipe\s.*\||make\s)(.*)", re.DOTALL
)
_CLIENT_RUNS = re.compile(r"(?:--\w+=)?\s*(?:\\!|(?i:system)\s)\s*(.*)", re.DOTALL)
# Programs that read commands of their own, and the ones among these that start a shell.
_COMMAND_LINES: dict[str, re.Pattern[str]] = {
    **dict.fromkeys(("sqlite3", "sqlite", "duckdb"), _SQLITE_RUNS),
    **dict.fromkeys(("gdb", "lldb"), _DEBUGGER_RUNS),
    **dict.fromkeys(("psql", "mysql", "mariadb"), _CLIENT_RUNS),
}
_SED_RUNS = re.compile(r"(?:^|[;{}\n]|[\d$/])[ \t]*e[ \t]+([^\n]+)")


def list_texts_in_options(run: Invocation) -> Iterator[str]:
    """The texts that a program hands to a shell, as far as its words and input show them."""
    program = run.program
    yield from run.find_values(*_STARTED_BY.get(program, ()))
    if program == "git":
        yield from _cut(_GIT_RUNS, run.find_values("-c"))
        yield from _list_started_by_git(run)
    elif program in ("ssh", "scp", "sftp"):
        yield from _cut(_SSH_RUNS, run.find_values("-o"))
    elif program in ("tar", "bsdtar", "gtar"):
        yield from _cut(_TAR_ACTION, run.find_values("--checkpoint-action"))
    elif program in _COMMAND_LINES:
        yield from _cut(_COMMAND_LINES[program], (*run.arguments, *_list_lines(run)))
    elif program == "nix":
        yield from _list_started_by_nix(run)
    elif program == "fzf":
        yield from _cut(_FZF_RUNS, run.find_values("--bind"))
    elif program == "hyperfine":
        yield from run.operands
    elif program in ("sed", "gsed"):
        for script in (*run.operands[:1], *run.find_values("-e", "--expression")):
            yield from (found[1] for found in _SED_RUNS.finditer(script))
    elif program in ("make", "gmake"):
        yield from (line.lstrip("\t@-+ ") for line in _list_lines(run) if line.startswith("\t"))
    elif program in ("ed", "red") or _EDITOR.fullmatch(program):
        words = (word[1:] for word in run.arguments if word.startswith("+"))
        yield from _cut(_EDITOR_RUNS, (*words, *run.find_values("-c", "--cmd"), *_list_lines(run)))


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

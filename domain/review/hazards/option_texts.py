"""Shell texts that programs which are no shells take in options, scripts and input, and run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from domain.review.hazards.invocation import Invocation

_GIT_RUNS = re.compile(
    r"(?i:alias\.[^=]*=!|(?:core\.(?:pager|editor|sshcommand|fsmonitor|askpass)|sequence\.editor|diff\.external|"
    r"credential\.helper|pager\.[^=]*)=!?)(.*)",
    re.DOTALL,
)
_SSH_RUNS = re.compile(r"(?i:(?:proxycommand|localcommand|knownhostscommand)[= ])(.*)", re.DOTALL)
_TAR_OPTIONS = ("--to-command", "--use-compress-program", "--info-script", "--new-volume-script", "-I", "-F")
_TAR_ACTION = re.compile(r"exec=(.*)", re.DOTALL)
_EDITOR = re.compile(r"(n?vim?|ex|view|vimdiff|gvim)")
_EDITOR_RUNS = re.compile(r":?\s*(?:silent!?\s+)?(?:r(?:ead)?\s+|%|\.|\d*,?\$?)?!(.*)", re.DOTALL)
_SED_RUNS = re.compile(r"(?:^|[;{}\n]|[\d$/])[ \t]*e[ \t]+([^\n]+)")


def list_texts_in_options(run: Invocation) -> Iterator[str]:
    """The texts that a program hands to a shell, as far as its words and input show them."""
    program = run.program
    if program == "git":
        yield from _cut(_GIT_RUNS, run.find_values("-c"))
    elif program in ("ssh", "scp", "sftp"):
        yield from _cut(_SSH_RUNS, run.find_values("-o"))
    elif program in ("tar", "bsdtar", "gtar"):
        yield from _cut(_TAR_ACTION, run.find_values("--checkpoint-action"))
        yield from run.find_values(*_TAR_OPTIONS)
    elif program == "rsync":
        yield from run.find_values("-e", "--rsh")
    elif program in ("sed", "gsed"):
        for script in (*run.operands[:1], *run.find_values("-e", "--expression")):
            yield from (found[1] for found in _SED_RUNS.finditer(script))
    elif program in ("make", "gmake"):
        yield from (line.lstrip("\t@-+ ") for line in _list_lines(run) if line.startswith("\t"))
    elif program in ("ed", "red") or _EDITOR.fullmatch(program):
        words = (word[1:] for word in run.arguments if word.startswith("+"))
        yield from _cut(_EDITOR_RUNS, (*words, *run.find_values("-c", "--cmd"), *_list_lines(run)))


def _cut(pattern: re.Pattern[str], values: Iterator[str] | tuple[str, ...]) -> Iterator[str]:
    yield from (found[1] for value in values if (found := pattern.fullmatch(value)))


def _list_lines(run: Invocation) -> Iterator[str]:
    yield from (run.text or "").split("\n")

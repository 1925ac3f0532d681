"""Which command the words of a command line name, and which one a mistyped word was meant to be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from domain.text.late_pattern import compile_late
from domain.text.nearest import count_edits
from quorum.command_line.parser_tree import ACTIONS, COMMANDS
from quorum.command_line.shared_options import RESUME

# Options whose value is the next word, so that it is not taken for a command.
VALUED = frozenset(
    (
        *(
            "--config",
            "-C",
            "--workdir",
            "-m",
            "--model",
            "--mode",
            "--scope",
            "--consensus",
            "--strategy",
            "--effort",
            "--max-tool-turns",
            "--output",
            "--owner",
            "--call",
        ),
        *("--max-cost-usd", "--max-tokens"),
        *("-n", "--before", "--older-than", "--keep", "--format", "-o", "--anchors", "--image", "--add-dir"),
        *("--dialect", "--tui", "--timeout"),
        *("--diff", "--pr", "--range", "--focus", "--to", "--prompt"),
        *("--data", "--ballots", "--results", "--concurrency", "--svg", "--reason", "--write-calibration"),
        *("--url", "--from", "--pass-env", "--bearer-token-env", "--tool", "--read-only"),
        *("--listen", "--size", "--listen-approve", "--socket", "--token-fd", "--line", "--wordbreaks"),
        *("--port", "--address", "--host-name", "--tls-cert", "--tls-key", "--password-file"),
    )
)
_BARE_WORD = compile_late(r"[A-Za-z][A-Za-z-]*")
_LETTERS_PER_EDIT = 3


def split_command(argv: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """The command and the action that a command line names, and everything else of it.

    Options may stand before, between and behind them.
    """
    command, rest = _split(argv, COMMANDS)
    if command is None:
        return (), rest
    action, rest = _split(rest, ACTIONS.get(command, ()))
    return (command,) if action is None else (command, action), rest


def find_first_word(argv: Sequence[str]) -> str | None:
    """The first word that is no option and no value of one; None without any, or where `--` precedes it."""
    place = _find_first_place(argv, ())
    return None if place is None else argv[place]


def find_nearest_name(word: str, names: Iterable[str]) -> str | None:
    """The command or action that a word of letters was probably meant to be, if any.

    One letter in three may be wrong, missing, too many or swapped with its neighbour. A longer text is no
    mistyped command, nor is a word further away: it may be a prompt.
    """
    if not _BARE_WORD.fullmatch(word):
        return None
    distances = {name: count_edits(word.lower(), name) for name in names}
    near = {name: edits for name, edits in distances.items() if edits <= len(name) // _LETTERS_PER_EDIT}
    return min(near, key=lambda name: near[name], default=None)


def _split(argv: Sequence[str], names: Iterable[str]) -> tuple[str | None, list[str]]:
    """The first word that is no option, if it is one of these, and everything else."""
    known = tuple(names)
    place = _find_first_place(argv, known)
    if place is None or argv[place] not in known:
        return None, list(argv)
    return argv[place], [*argv[:place], *argv[place + 1 :]]


def _find_first_place(argv: Sequence[str], names: Sequence[str]) -> int | None:
    place = 0
    while place < len(argv) and (word := argv[place]) != "--":
        following = argv[place + 1] if place + 1 < len(argv) else "-"
        if word in VALUED or (word == RESUME and not following.startswith("-") and following not in names):
            place += 1
        elif not word.startswith("-") or word == "-":
            return place
        place += 1
    return None

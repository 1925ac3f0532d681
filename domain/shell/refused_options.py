"""The options of a known command that its harmless uses do not include."""

from __future__ import annotations

from collections.abc import Sequence

from quorum.domain.shell.command_spec import NotReadOnly, parse_use
from quorum.domain.shell.git_commands import parse_git_use
from quorum.domain.shell.read_only_commands import READ_ONLY_COMMANDS


def list_refused_options(words: Sequence[str]) -> frozenset[str]:
    """The words of a command that are options not known only to read, as given; none for an unknown command.

    A pattern that allows `sort *` is not meant to allow `sort -o FILE`: it should not cover these.
    """
    refused: set[str] = set()
    name, rest = words[0], list(words[1:])
    while (word := _find_refused_option(name, rest)) is not None:
        refused.add(word)
        rest.remove(word)
    return frozenset(refused)


def _find_refused_option(name: str, words: Sequence[str]) -> str | None:
    try:
        if name == "git":
            parse_git_use(words)
        elif (spec := READ_ONLY_COMMANDS.get(name)) is not None:
            parse_use(spec, name, words)
    except NotReadOnly as objection:
        return objection.word
    return None

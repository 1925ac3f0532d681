"""Loops over words that stand there in full, as the commands that they come down to."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product

from quorum.domain.replacing import replace
from quorum.domain.shell.command_line import Redirect
from quorum.domain.shell.script import Script, ScriptCommand

_MOST_TURNS = 24
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=([^$`(){}]+)", re.DOTALL)
_USED = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_SETS_VARIABLES = frozenset(
    {"read", "mapfile", "readarray", "getopts", "let", "unset", "eval", "source", ".", "shift", "wait"}
)


def unroll(script: Script) -> Script:
    """The same script with a command of its own for each word that a loop puts into one."""
    if script.problem is not None or not any(each.in_loop and each.assignments for each in script.commands):
        return script
    values = _find_values(script.commands)
    if not values:
        return script
    unrolled = [each for command in script.commands for each in _unroll(command, values)]
    left = {name for each in unrolled for text in _list_texts(each) for name in _list_used(text)}
    done = values.keys() - left
    return Script(tuple(each for each in unrolled if each.words or not _sets(each, done)))


def _sets(command: ScriptCommand, names: Collection[str]) -> bool:
    """Whether a command is the head of a loop over one of these variables."""
    return any(each.partition("=")[0] in names for each in command.assignments)


def _find_values(commands: Sequence[ScriptCommand]) -> Mapping[str, Sequence[str]]:
    """The words of each variable that only the head of one loop sets."""
    found: dict[str, Sequence[str]] = {}
    mentioned: set[str] = set()
    for command in commands:
        if command.words and command.words[0] in _SETS_VARIABLES:
            mentioned.update(command.words)
            if command.words[0] in ("eval", "source", "."):
                return {}
        elif "-v" in command.words:  # of printf
            mentioned.update(command.words)
        if not command.assignments:
            continue
        pairs = [_ASSIGNED.fullmatch(each) for each in command.assignments]
        names = {each.partition("=")[0].rstrip("+") for each in command.assignments}
        is_head = command.in_loop and not command.words and len(names) == 1 and not command.reads
        if is_head and all(pairs) and found.keys().isdisjoint(names):
            found[names.pop()] = [each[2] for each in pairs if each is not None]
        else:
            mentioned |= names
            mentioned |= {each for value in command.assignments for each in _list_used(value)}
    for command in commands:
        if command.text is not None:
            mentioned.update(_list_used(command.text))
        mentioned.update(_list_changed(_list_texts(command)))
    return {name: values for name, values in found.items() if name not in mentioned}


def _list_texts(command: ScriptCommand) -> Sequence[str]:
    return (*command.words, *(each.target for each in command.redirects))


def _list_used(text: str) -> Iterator[str]:
    return (each[1] or each[2] for each in _USED.finditer(text))


def _list_changed(words: Sequence[str]) -> Iterator[str]:
    """The variables of which words take a part, or which they set, as in `${name%.c}`."""
    return (name for word in words if "${" in word for name in re.findall(r"\$\{[!#]?(\w+)[^\w}]", word))


def _unroll(command: ScriptCommand, values: Mapping[str, Sequence[str]]) -> Sequence[ScriptCommand]:
    names = sorted(
        {name for text in _list_texts(command) if "$" in text for name in _list_used(text)} & values.keys()
    )
    turns = 1
    for name in names:
        turns *= len(values[name])
    if not command.in_loop or not names or turns > _MOST_TURNS:
        return (command,)
    unrolled: list[ScriptCommand] = []
    for chosen in product(*(values[name] for name in names)):
        known = dict(zip(names, chosen, strict=True))
        words = tuple(_fill_in(word, known) for word in command.words)
        redirects = tuple(Redirect(each.operator, _fill_in(each.target, known)) for each in command.redirects)
        unrolled.append(replace(command, words=words, redirects=redirects, in_loop="$" in " ".join(words)))
    return unrolled


def _fill_in(word: str, known: Mapping[str, str]) -> str:
    if "$" not in word:
        return word
    return _USED.sub(lambda found: known.get(found[1] or found[2], found[0]), word)

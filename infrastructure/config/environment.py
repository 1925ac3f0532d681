"""Settings in environment variables: QUORUM_SECTION__KEY, and the addresses that the SDKs know by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from infrastructure.config.keys import Table, schema_tree
from infrastructure.config.toml_text import KeyPath, parse_value, printable
from infrastructure.config.validation import Checked, checked, nested

_PREFIX = "QUORUM_"
_SEPARATOR = "__"
_ADDRESSES = {"ANTHROPIC_BASE_URL": "anthropic", "OPENAI_BASE_URL": "openai"}


def provider_addresses(environ: Mapping[str, str]) -> list[Checked]:
    """The addresses that the providers' own variables give; every file and setting counts more."""
    return [
        _variable(variable, ("providers", provider, "base_url"), environ[variable])
        for variable, provider in _ADDRESSES.items()
        if environ.get(variable)
    ]


def settings_in(environ: Mapping[str, str], names: Iterable[KeyPath]) -> list[Checked]:
    """What the QUORUM_SECTION__KEY variables say, in the order of their names.

    A variable cannot spell every name: where a table has names of the user's own, the one of `names` that
    differs only in case or in `-` for `_` is meant, and otherwise the lower-case word with `-` for `_`.
    """
    known = tuple(names)
    return [
        _variable(variable, _path(variable.removeprefix(_PREFIX), known), parse_value(environ[variable]))
        for variable in sorted(environ)
        if variable.startswith(_PREFIX) and _SEPARATOR in variable
    ]


def _variable(variable: str, path: KeyPath, value: object) -> Checked:
    origin = f"environment {printable(variable)}"
    return checked(nested(path, value), origin=origin, place=lambda _: origin)


def _path(name: str, known: tuple[KeyPath, ...]) -> KeyPath:
    path: KeyPath = ()
    node: object = schema_tree()
    for part in name.split(_SEPARATOR):
        own = isinstance(node, Table) and node.has_free_names
        word = _spelled(path, part, known) if own else part.lower()
        path = (*path, word)
        node = node.entry(word) if isinstance(node, Table) else None
    return path


def _spelled(table: KeyPath, part: str, known: tuple[KeyPath, ...]) -> str:
    place = len(table)
    meant = part.lower().replace("_", "-")
    for path in known:
        if path[:place] == table and len(path) > place and path[place].lower().replace("_", "-") == meant:
            return path[place]
    return meant

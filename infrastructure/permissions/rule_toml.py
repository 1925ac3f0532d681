"""Saved rules as TOML: one table `[[rule]]` each, which a person can read and edit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec import Struct

from quorum.domain.errors import ConfigError
from quorum.domain.review.permissions import Answer, BadRule, Rule
from quorum.domain.review.saved_rule import SavedRule
from quorum.infrastructure.config.toml_file import TomlFile
from quorum.infrastructure.config.toml_text import Position, escape_unprintable, format_literal, shorten_text

_USER = "user"
_PREAMBLE = """\
# Rules that quorum saved when you answered "always". You may change or remove any of them; comments are not
# kept. `quorum permissions list` shows all rules in force, and docs/permissions.md explains them.
#
# scope is "user" for a rule that holds everywhere, or else the folder in which it holds. The examples are
# checked whenever the rule is loaded: a rule that allows and no longer fits them is not used.
"""


class _RuleEntry(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table as it stands in the file."""

    scope: str
    allow: str = ""
    ask: str = ""
    deny: str = ""
    saved: str = ""
    must_match: tuple[str, ...] = ()
    must_not_match: tuple[str, ...] = ()


class PlacedRule(Struct, frozen=True):
    """A saved rule and the line on which it stands, as "file:line"."""

    saved: SavedRule
    place: str


def read_rules(file: TomlFile) -> tuple[PlacedRule, ...]:
    """All rules of a file. Raises ConfigError that names the line of what is not a rule."""
    unknown = [name for name in file.data if name != "rule"]
    if unknown:
        raise ConfigError(
            f"{file.locate((unknown[0],))}: {_shorten_literal(unknown[0])} is unknown here; it knows [[rule]]"
        )
    tables = file.data.get("rule", [])
    if not isinstance(tables, list):
        raise ConfigError(
            f"{file.locate(('rule',))}: rule must be a list of tables, each of them headed [[rule]]"
        )
    return tuple(_parse_rule(file, index, table) for index, table in enumerate(tables))


def render_rules(rules: Iterable[SavedRule]) -> str:
    """The text of the file, the oldest rule first."""
    ordered = sorted(rules, key=lambda saved: saved.saved)
    return "\n".join((_PREAMBLE.rstrip("\n"), *("\n".join(_render_table(saved)) for saved in ordered))) + "\n"


def _render_table(saved: SavedRule) -> Iterator[str]:
    yield "\n[[rule]]"
    yield f"{saved.rule.answer} = {format_literal(saved.rule.text)}"
    yield f"scope = {format_literal(_USER if saved.project is None else saved.project)}"
    yield f"saved = {format_literal(saved.saved)}"
    for key, examples in (("must_match", saved.must_match), ("must_not_match", saved.must_not_match)):
        if examples:
            yield f"{key} = ["
            yield from (f"    {format_literal(example)}," for example in examples)
            yield "]"


def _parse_rule(file: TomlFile, index: int, table: object) -> PlacedRule:
    place = file.locate(("rule", Position(index)))
    try:
        entry = msgspec.convert(table, _RuleEntry, strict=True)
    except msgspec.ValidationError as problem:
        raise ConfigError(
            f"{place}: this is not a saved rule: {escape_unprintable(str(problem))}; correct it"
        ) from problem
    return PlacedRule(_parse_entry(entry, place), place)


def _parse_entry(entry: _RuleEntry, place: str) -> SavedRule:
    texts: Mapping[Answer, str] = {Answer.ALLOW: entry.allow, Answer.ASK: entry.ask, Answer.DENY: entry.deny}
    given = [(answer, text) for answer, text in texts.items() if text]
    if len(given) != 1:
        raise ConfigError(f"{place}: a saved rule has exactly one of allow, ask and deny; correct it")
    if entry.scope != _USER and not entry.scope.startswith("/"):
        raise ConfigError(
            f'{place}: scope must be "user" or the full path of a folder, not {_shorten_literal(entry.scope)}'
        )
    ((answer, text),) = given
    try:
        rule = Rule.parse(text, answer, place)
    except BadRule as problem:
        raise ConfigError(
            f"{place}: {_shorten_literal(text)} is not a rule: {problem}; correct it or remove it"
        ) from problem
    return SavedRule(
        rule=rule,
        project=None if entry.scope == _USER else entry.scope,
        saved=entry.saved,
        must_match=entry.must_match,
        must_not_match=entry.must_not_match,
    )


def _shorten_literal(text: str) -> str:
    return shorten_text(format_literal(text), 120)

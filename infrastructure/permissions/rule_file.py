"""The file of the rules that the person made in dialogs: `permissions.toml` beside their own `quorum.toml`.

Each rule is a table `[[rule]]`, which a person can read and edit.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from quorum.domain.errors import ConfigError
from quorum.domain.review.permission_rules import Answer, BadRule, Rule, SavedRule
from quorum.domain.review.rule_offers import ReadCommand, find_failing_example
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.config.paths import is_present
from quorum.infrastructure.config.toml_file import TomlFile, escape_path
from quorum.infrastructure.config.toml_text import Position, escape_unprintable, format_literal, shorten_text
from quorum.infrastructure.files.private_file import PATIENCE_SECS, OwnFile

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


FILE_NAME = "permissions.toml"


class LoadedRules(Struct, frozen=True):
    """The saved rules that hold in a folder, and a sentence about each that is not as it should be."""

    rules: tuple[Rule, ...] = ()
    warnings: tuple[str, ...] = ()


class RuleFile:
    """Implements `RuleStore`. The file is replaced as a whole, and only by one process at a time."""

    def __init__(self, path: Path, *, patience_secs: float = PATIENCE_SECS) -> None:
        self._file = OwnFile(path, patience_secs=patience_secs)
        self._path = path

    def read_rules(self) -> tuple[PlacedRule, ...]:
        """All rules of the file, those of other folders too; none without a file. Raises ConfigError."""
        if not is_present(self._path):
            return ()
        try:
            return read_rules(TomlFile.read(self._path))
        except ConfigError as error:
            raise ConfigError(
                f"{error} (quorum does not run on a part of your saved rules: one that denies could be missing)"
            ) from error

    def load(self, project: Path, read_command: ReadCommand) -> LoadedRules:
        """The rules that hold in a folder. Raises ConfigError for a damaged file.

        A rule that allows is left out where its examples say that it does not mean what it meant, and where
        others may write the file; one that asks or denies is kept.
        """
        placed = [one for one in self.read_rules() if one.saved.project in (None, str(project))]
        warnings: list[str] = []
        if placed and (danger := self._file.find_danger()):
            warnings.append(
                f"{danger}, so no rule in it that allows is used; say chmod 600 {escape_path(self._path)}"
            )
        kept: list[Rule] = []
        for one in placed:
            saved = one.saved
            allows = saved.rule.answer is Answer.ALLOW
            problem = find_failing_example(
                saved.rule, saved.must_match, saved.must_not_match, read_command, str(project)
            )
            if problem is not None:
                ending = "it is not used; correct or remove it" if allows else "it is used all the same"
                warnings.append(
                    f"{one.place}: the saved rule {saved.rule.id} fails its examples: {problem}; {ending}"
                )
            if not allows or (problem is None and danger is None):
                kept.append(saved.rule)
        return LoadedRules(tuple(kept), tuple(warnings))

    async def save(self, rule: SavedRule) -> None:
        """Keep a rule in place of one that says the same. Raises ConfigError, and then nothing is changed."""
        await run_in_thread(lambda _stop: self.save_all((rule,)))

    def save_all(self, rules: Sequence[SavedRule]) -> None:
        """Keep rules, all or none, as `save` does. Blocks."""

        def with_rules(present: list[SavedRule]) -> list[SavedRule]:
            return [*(one for one in present if not any(one.is_like(rule) for rule in rules)), *rules]

        self._change(with_rules)

    async def remove(self, rule: SavedRule) -> None:
        """Take a rule out. Raises ConfigError, and then nothing is changed."""

        def without_rule(present: list[SavedRule]) -> list[SavedRule]:
            return [one for one in present if not one.is_like(rule)]

        await run_in_thread(lambda _stop: self._change(without_rule))

    def _change(self, change: Callable[[list[SavedRule]], list[SavedRule]]) -> None:
        self._file.change(
            lambda: _require_readable(render_rules(change([one.saved for one in self.read_rules()])))
        )


def _require_readable(text: str) -> str:
    """The text, which must be one that can be read again. Raises ConfigError."""
    try:
        tomllib.loads(text)
    except ValueError as error:
        raise ConfigError(
            "the rule, or the name of its folder, is not valid Unicode and cannot be saved"
        ) from error
    return text

"""The file of the rules that the person made in dialogs: `permissions.toml` beside their own `quorum.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from quorum.domain.errors import ConfigError
from quorum.domain.review.permissions import Answer, Rule
from quorum.domain.review.rule_examples import ReadCommand, find_failing_example
from quorum.domain.review.saved_rule import SavedRule
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.config.paths import is_present
from quorum.infrastructure.config.toml_file import TomlFile, escape_path
from quorum.infrastructure.files.private_file import PATIENCE_SECS, OwnFile
from quorum.infrastructure.permissions.rule_toml import PlacedRule, read_rules, render_rules

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

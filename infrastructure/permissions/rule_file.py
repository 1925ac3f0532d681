"""The file of the rules that the person made in dialogs: `permissions.toml` beside their own `quorum.toml`."""

from __future__ import annotations

import fcntl
import os
import secrets
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from domain.errors import ConfigError
from domain.permissions import Answer, Rule
from domain.rule_examples import ReadCommand, failing
from domain.saved_rule import SavedRule
from infrastructure.blocking import in_thread
from infrastructure.config.paths import is_present
from infrastructure.config.toml_file import TomlFile, shown
from infrastructure.permissions.rule_toml import PlacedRule, read_rules, rules_as_toml

FILE_NAME = "permissions.toml"
_PATIENCE_SECS = 5.0
_PAUSE_SECS = 0.02
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class LoadedRules:
    """The saved rules that hold in a folder, and a sentence about each that is not as it should be."""

    rules: tuple[Rule, ...] = ()
    warnings: tuple[str, ...] = ()


class RuleFile:
    """Implements `RuleStore`. The file is replaced as a whole, and only by one process at a time."""

    def __init__(self, path: Path, *, patience_secs: float = _PATIENCE_SECS) -> None:
        self._path = path
        self._patience_secs = patience_secs

    def rules(self) -> tuple[PlacedRule, ...]:
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
        placed = [one for one in self.rules() if one.saved.project in (None, str(project))]
        warnings: list[str] = []
        if placed and (danger := self._danger()):
            warnings.append(
                f"{danger}, so no rule in it that allows is used; say chmod 600 {shown(self._path)}"
            )
        kept: list[Rule] = []
        for one in placed:
            saved = one.saved
            allows = saved.rule.answer is Answer.ALLOW
            problem = failing(saved.rule, saved.must_match, saved.must_not_match, read_command, str(project))
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

        def with_rule(present: list[SavedRule]) -> list[SavedRule]:
            return [*(one for one in present if not one.is_like(rule)), rule]

        await in_thread(lambda _stop: self._change(with_rule))

    async def remove(self, rule: SavedRule) -> None:
        """Take a rule out. Raises ConfigError, and then nothing is changed."""

        def without_rule(present: list[SavedRule]) -> list[SavedRule]:
            return [one for one in present if not one.is_like(rule)]

        await in_thread(lambda _stop: self._change(without_rule))

    # ---------------------------------------------------------------- the file

    def _danger(self) -> str | None:
        """Why what stands in the file may not be the person's own."""
        status = self._path.stat()
        if status.st_uid not in (os.geteuid(), 0):
            return f"{shown(self._path)} belongs to another user"
        return f"others may write {shown(self._path)}" if status.st_mode & 0o022 else None

    def _change(self, change: Callable[[list[SavedRule]], list[SavedRule]]) -> None:
        target = Path(os.path.realpath(self._path))  # a link to where a person keeps such files stays a link
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._alone(target):
                present = [one.saved for one in self.rules()]
                _replace(target, _readable(rules_as_toml(change(present))))
        except OSError as error:
            raise ConfigError(f"{shown(self._path)} cannot be written: {error.strerror}") from error

    @contextmanager
    def _alone(self, target: Path) -> Iterator[None]:
        """Hold the lock that every process takes before it changes the file."""
        lock = os.open(f"{target}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            deadline = time.monotonic() + self._patience_secs
            while not _locked(lock):
                if time.monotonic() > deadline:
                    raise ConfigError(
                        f"another quorum has been changing {shown(self._path)} for {self._patience_secs:g} s; "
                        "end it and try again"
                    )
                time.sleep(_PAUSE_SECS)
            yield
        finally:
            os.close(lock)


def _readable(text: str) -> str:
    """The text, which must be one that can be read again. Raises ConfigError."""
    try:
        tomllib.loads(text)
    except ValueError as error:
        raise ConfigError(
            "the rule, or the name of its folder, is not valid Unicode and cannot be saved"
        ) from error
    return text


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _replace(target: Path, text: str) -> None:
    """Put a text in the place of a file, so that there is always either the old one or the new one, whole."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, _NEW, 0o600)
    try:
        with open(descriptor, "w", encoding="utf-8", errors="strict") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

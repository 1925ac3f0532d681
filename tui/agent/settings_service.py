"""What the settings screen needs of the settings; only the entry point knows the files behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting. `value` and `default` are TOML, with nothing secret in it; `default` may be empty.

    `origin` says where the value comes from: a file with its line, a variable, a flag, or "default". `fixed`
    says why it cannot be changed here, and is empty where it can.
    """

    key: str
    table: str
    value: str
    default: str
    origin: str
    description: str
    about_table: str
    expected: str
    choices: tuple[str, ...] = ()
    fixed: str = ""

    @property
    def name(self) -> str:
        """What it is called in its table."""
        return self.key.removeprefix(f"{self.table}.")

    @property
    def is_default(self) -> bool:
        """Whether nothing sets it."""
        return self.origin == "default"


@dataclass(frozen=True, slots=True)
class Target:
    """A file that settings can be written to: what it is to the person, and its path."""

    name: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What came of a change: a sentence, the value that counts now, and whether that is the one written."""

    message: str
    value: object
    counts: bool


class SettingsService(Protocol):
    """Where settings are looked up and changed. Raises ConfigError for settings that cannot be read."""

    @property
    def targets(self) -> tuple[Target, ...]:
        """The files that can be written, the person's own first."""
        ...

    async def list_settings(self) -> Sequence[Setting]:
        """All of them as they are now, in the order of the reference."""
        ...

    async def change(self, key: str, text: str | None, target: Target) -> Written:
        """Write one, as it was typed, to a file, or take it out of it where there is no text.

        Raises ConfigError, in a sentence, for what does not fit, before anything is written.
        """
        ...

    async def read_keys(self) -> Mapping[str, str | Sequence[str]]:
        """The keys that the person wants for actions."""
        ...


OpenSettings: TypeAlias = Callable[[], SettingsService]

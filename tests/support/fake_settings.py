"""Settings as a test has them, kept in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.tui.agent.services import Setting, Target, Written

OWN = Target("your own file", "/home/me/.config/quorum/quorum.toml")
PROJECT = Target("the project's file", "/work/quorum.toml")


def a_setting(key: str, value: str, **given: object) -> Setting:
    """One that nothing sets."""
    usual: dict[str, object] = {
        "default": value,
        "origin": "default",
        "description": f"what {key} means",
        "expected": "something",
    }
    return Setting(key=key, table=key.rpartition(".")[0], value=value, **{**usual, **given})  # type: ignore[arg-type]


class FakeSettings:
    """Implements `SettingsService` over `held`. `changes` were asked for; `refusals`: why not, by key."""

    def __init__(self, *held: Setting, targets: tuple[Target, ...] = (OWN, PROJECT)) -> None:
        self.held = list(held)
        self.targets = targets
        self.changes: list[tuple[str, str | None, Target]] = []
        self.refusals: dict[str, str] = {}
        self.values: dict[str, object] = {}
        self.wishes: dict[str, str | Sequence[str]] = {}
        self.fails: ConfigError | None = None

    async def list_settings(self) -> Sequence[Setting]:
        """Those that are held."""
        if self.fails is not None:
            raise self.fails
        return list(self.held)

    async def change(self, key: str, text: str | None, target: Target) -> Written:
        """Take note, and hold another value from now on."""
        if key in self.refusals:
            raise ConfigError(self.refusals[key])
        self.changes.append((key, text, target))
        self.held = [
            replace(
                each, value=text or each.default, origin=f"{target.path}:2" if text is not None else "default"
            )
            if each.key == key
            else each
            for each in self.held
        ]
        return Written(
            message=f"{key} = {text} ({target.path}:2)",
            value=self.values.get(key, {"true": True, "false": False}.get(text or "", text)),
            counts=True,
        )

    async def read_keys(self) -> Mapping[str, str | Sequence[str]]:
        """The keys wished for."""
        return self.wishes

"""A home folder and a repository with real configuration files, for tests of the settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from domain.errors import ConfigError
from domain.sessions.trust import Standing
from infrastructure.config.loading import LoadedSettings, load_settings


class Machine:
    """A person's machine: a home folder, a repository beside it, and the environment of a shell.

    `standing` is what is answered when the repository's file is read.
    """

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.repository = folder / "repository"
        (self.home / ".config/quorum").mkdir(parents=True)
        (self.repository / ".git").mkdir(parents=True)
        self.user_file = self.home / ".config/quorum/quorum.toml"
        self.project_file = self.repository / "quorum.toml"
        self.environ: dict[str, str] = {"HOME": str(self.home)}
        self.standing = Standing.UNKNOWN

    def user(self, text: str) -> None:
        """Write the person's own file."""
        self.user_file.write_text(text, encoding="utf-8")

    def project(self, text: str) -> None:
        """Write the repository's file."""
        self.project_file.write_text(text, encoding="utf-8")

    def load(
        self,
        *,
        cwd: Path | None = None,
        config_file: Path | None = None,
        overrides: Mapping[str, object] | None = None,
        needs_project: bool = True,
    ) -> LoadedSettings:
        """Load the settings as a run in the repository would."""
        return load_settings(
            cwd=cwd or self.repository,
            environ=self.environ,
            config_file=config_file,
            overrides=overrides or {},
            standing=lambda _place, _digest: self.standing,
            needs_project=needs_project,
        )

    def refusal(self, *, config_file: Path | None = None, overrides: Mapping[str, object] | None = None) -> str:
        """The text of the error that loading raises."""
        with pytest.raises(ConfigError) as caught:
            self.load(config_file=config_file, overrides=overrides)
        return str(caught.value)

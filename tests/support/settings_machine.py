"""A home folder and a repository with real configuration files, for tests of the settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from quorum.domain.sessions.trust import Standing
from quorum.infrastructure.config.loading import LoadedSettings, load_settings
from quorum.infrastructure.config.policy_file import PolicyPlace


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
        self.policy_file = folder / "etc/quorum/requirements.toml"
        self.policy_place = PolicyPlace(self.policy_file, owner=os.getuid())
        self.environ: dict[str, str] = {"HOME": str(self.home)}
        self.standing = Standing.UNKNOWN

    def user(self, text: str) -> None:
        """Write the person's own file."""
        self.user_file.write_text(text, encoding="utf-8")

    def project(self, text: str) -> None:
        """Write the repository's file."""
        self.project_file.write_text(text, encoding="utf-8")

    def policy(self, text: str) -> None:
        """Write the policy of the machine, as its administrator."""
        self.policy_file.parent.mkdir(parents=True, exist_ok=True)
        self.policy_file.write_text(text, encoding="utf-8")
        for path in (self.policy_file.parent.parent, self.policy_file.parent, self.policy_file):
            path.chmod(path.stat().st_mode & ~0o022)

    def load(
        self,
        *,
        cwd: Path | None = None,
        config_file: Path | None = None,
        overrides: Mapping[str, object] | None = None,
        needs_project: bool = True,
        is_safe: bool = False,
    ) -> LoadedSettings:
        """Load the settings as a run in the repository would."""
        return load_settings(
            cwd=cwd or self.repository,
            environ=self.environ,
            config_file=config_file,
            overrides=overrides or {},
            standing=lambda _place, _digest: self.standing,
            needs_project=needs_project,
            policy_place=self.policy_place,
            is_safe=is_safe,
        )

    def refusal(self, *, config_file: Path | None = None, overrides: Mapping[str, object] | None = None) -> str:
        """The text of the error that loading raises."""
        with pytest.raises(ConfigError) as caught:
            self.load(config_file=config_file, overrides=overrides)
        return str(caught.value)

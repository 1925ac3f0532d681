"""Where settings and state lie on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.toml_text import escape_unprintable

FILE_NAME = "quorum.toml"
CODEX_RULES = ".codex/rules"
"""The folder in which a project keeps files of rules for Codex."""

_LIMITING_FILES = (
    *(".claude/settings.json", ".claude/settings.local.json", ".codex/config.toml", ".gemini/settings.json"),
    *(".github/copilot/settings.json", ".github/copilot/settings.local.json"),
    *("opencode.json", "opencode.jsonc", ".opencode/opencode.json"),
)


class LimitingFile(NamedTuple):
    """Settings for another agent: the folder that they are about, and their `name` in it."""

    folder: Path
    name: str

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigLocations:
    """The files that settings may come from, whether or not they exist.

    `named` was asked for with `named_by` (`--config` or `QUORUM_CONFIG`) and replaces the other two. `user`
    is absent where there is no home folder; `project` is absent where no such file was found.
    """

    named: Path | None
    named_by: str
    user: Path | None
    project: Path | None
    project_search: tuple[Path, ...]


def locate(*, cwd: Path, environ: Mapping[str, str], config_file: Path | None) -> ConfigLocations:
    """Find the files for a working directory. Reads nothing but names. Raises ConfigError for a variable that
    names no file of its own."""
    from_environment = environ.get("QUORUM_CONFIG")
    if config_file is None and from_environment:
        config_file, named_by = _expand_home(from_environment, environ), "QUORUM_CONFIG"
        if not config_file.is_absolute():  # it would have full say in each folder that brings such a file along
            raise ConfigError(
                f"QUORUM_CONFIG is {escape_unprintable(from_environment)}, which names another file in every "
                "folder; give its absolute path, or one that begins with ~/"
            )
    else:
        named_by = "--config"
    user = locate_user_file(environ)
    search = tuple(folder / FILE_NAME for folder in list_folders_up_to_repository(cwd.resolve()))
    project = next((file for file in search if os.path.lexists(file)), None)
    return ConfigLocations(
        named=config_file.absolute() if config_file is not None else None,
        named_by=named_by,
        user=user,
        project=None if _is_same(project, user) else project,
        project_search=search,
    )


def locate_user_file(environ: Mapping[str, str]) -> Path | None:
    """The person's own file, or None where there is no home folder."""
    folder = _find_base_folder(environ, "XDG_CONFIG_HOME", ".config")
    return folder / "quorum" / FILE_NAME if folder is not None else None


def locate_state_folder(environ: Mapping[str, str]) -> Path | None:
    """The folder for what outlives a run, or None where there is no home folder."""
    folder = _find_base_folder(environ, "XDG_STATE_HOME", ".local/state")
    return folder / "quorum" if folder is not None else None


def locate_worktrees(environ: Mapping[str, str]) -> Path | None:
    """The folder that holds the git worktrees of all repositories, or None where there is no home folder."""
    folder = _find_base_folder(environ, "XDG_DATA_HOME", ".local/share")
    return folder / "quorum" / "worktrees" if folder is not None else None


def resolve_trusted_place(file: Path) -> Path:
    """The place by which trust in a project's file is remembered: its name in its folder, the folder resolved.

    Where the file itself is a link, that is not followed: what it sets counts for the folder it is found in.
    """
    return Path(os.path.realpath(file.parent)) / file.name


def is_present(file: Path) -> bool:
    """Whether something is there. What cannot be looked at counts: reading it will say what is wrong."""
    try:
        os.lstat(file)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _find_base_folder(environ: Mapping[str, str], variable: str, below_home: str) -> Path | None:
    given = Path(environ.get(variable, ""))
    if given.is_absolute():  # the XDG specification: a relative path is ignored
        return given
    home = _find_home(environ)
    return home / below_home if home is not None else None


def _find_home(environ: Mapping[str, str]) -> Path | None:
    home = Path(environ.get("HOME") or os.path.expanduser("~"))
    return home if home.is_absolute() else None


def _expand_home(path: str, environ: Mapping[str, str]) -> Path:
    """A path in which `~/` is the home folder: nothing expands it in a variable that no shell has read."""
    home = _find_home(environ)
    return home / path[2:] if path.startswith("~/") and home is not None else Path(path)


def list_folders_up_to_repository(folder: Path) -> tuple[Path, ...]:
    """The resolved folder and its parents up to the repository root, the folder first.

    Outside a repository it is the folder alone: what strangers put into `/tmp` is no project's.
    """
    upwards = (folder, *folder.parents)
    for place, each in enumerate(upwards):
        if os.path.lexists(each / ".git"):
            return upwards[: place + 1]
    return (folder,)


def list_limiting_files(cwd: Path) -> tuple[LimitingFile, ...]:
    """The settings for other agents that are there, from the project's root to a working directory."""
    folders = list_folders_up_to_repository(cwd.resolve())[::-1]
    files = (LimitingFile(folder, name) for folder in folders for name in _LIMITING_FILES)
    rules = (
        LimitingFile(folder, str(path.relative_to(folder)))
        for folder in folders
        for path in sorted((folder / CODEX_RULES).glob("*.rules"))
    )
    return (*(file for file in files if is_present(file.path)), *rules)


def _is_same(one: Path | None, other: Path | None) -> bool:
    if one is None or other is None:
        return False
    try:
        return one.samefile(other)
    except OSError:
        return False

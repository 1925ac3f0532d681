"""Which paths belong to the workspace, which need care, and which are quorum's own."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from quorum.domain.errors import ConfigError
from quorum.domain.review.path_policy import (
    NO_CODE,
    NO_PLACES,
    REPOSITORIES,
    GuardedPlaces,
    OwnCode,
    PathPolicy,
)
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.paths import FILE_NAME, locate_state_folder, locate_user_file
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.execution.sandbox.places import KnownPlaces, expand_path
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.own_code import find_own_code
from quorum.infrastructure.storage import list_storage_paths


def build_path_policy(
    settings: Settings,
    roots: Sequence[Path],
    own: Sequence[Path] = (),
    config_files: Sequence[Path] = (),
    *,
    folders: Sequence[str] | None = None,
    code: OwnCode = NO_CODE,
    places: GuardedPlaces = NO_PLACES,
    is_layered: bool = False,
) -> PathPolicy:
    """The roots of the workspace, the patterns of the person, what is quorum's own, and its code.

    `folders` are the roots where they may grow. A file of settings that lies in the workspace, wherever
    --config found it, is as protected as a project's. `is_layered`: what the patterns of the person protect is
    an effect for review, but for what quorum and git obey before that. Raises ConfigError where such a
    workspace holds files of quorum's own.
    """
    if is_layered:
        _require_own_outside(roots, own)
    named = [
        glob.escape(str(file.relative_to(root)))
        for file in map(Path.resolve, config_files)
        for root in roots
        if file.is_relative_to(root)
    ]
    return PathPolicy(
        roots=folders if folders is not None else tuple(map(str, roots)),
        own=tuple(map(os.path.realpath, own)),
        is_layered=is_layered,
        code=code,
        places=places,
        protected=(*(REPOSITORIES if is_layered else settings.review.protected), *named),
        sensitive=settings.review.sensitive,
    )


def find_session_paths(
    loaded: LoadedSettings,
    workspace: Workspace,
    environ: Mapping[str, str],
    sockets: Sequence[Path],
    *,
    is_layered: bool,
) -> tuple[tuple[Path, ...], PathPolicy]:
    """What is quorum's own for a session, and what its calls may do with paths. Raises ConfigError."""
    settings, roots = loaded.settings, workspace.roots
    own = list_own_paths(settings, roots, environ, loaded.files, sockets)
    return own, build_path_policy(
        settings,
        roots,
        own,
        loaded.files,
        folders=workspace.folders,
        code=find_own_code(settings, workspace.cwd, environ),
        places=KnownPlaces(workspace.folders),
        is_layered=is_layered,
    )


def _require_own_outside(roots: Sequence[Path], own: Sequence[Path]) -> None:
    """What quorum keeps must not stay in a layer, nor go with it."""
    inside = [path for path in map(Path.resolve, own) if any(path.is_relative_to(root) for root in roots)]
    if inside:
        raise ConfigError(
            f"quorum keeps files of its own in the workspace ({inside[0]}), which no layer may hold: keep them "
            "elsewhere, or choose another mode"
        )


def list_writable_paths(settings: Settings, root: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """What the person lets commands in the sandbox write beside the workspace, canonical."""
    named = settings.tools.run_command.sandbox_writable
    return tuple(os.path.realpath(expand_path(path, environ, root)) for path in named)


def list_own_paths(
    settings: Settings,
    roots: Sequence[Path],
    environ: Mapping[str, str],
    config_files: Sequence[Path],
    sockets: Sequence[Path] = (),
) -> tuple[Path, ...]:
    """The files and folders that are quorum's own: state, settings, stored outputs, the sockets we listen at.

    Of `config_files` all are among them but those of the project: in the workspace, or above it.
    """
    state, own_file = locate_state_folder(environ), locate_user_file(environ)
    own = [state, own_file.parent if own_file is not None else None, *sockets]
    own += [file for file in map(Path.resolve, config_files) if not _is_the_projects(file, roots)]
    own += list_storage_paths(settings.storage, environ)
    return tuple(path for path in own if path is not None)


def _is_the_projects(file: Path, roots: Sequence[Path]) -> bool:
    above = any(root.is_relative_to(file.parent) for root in roots)
    return any(file.is_relative_to(root) for root in roots) or (file.name == FILE_NAME and above)

"""The layers over a folder that a session in it is told of: changes wait in them, or somebody works there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from quorum.domain.errors import StagingError
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.staging.entered import find_entered
from quorum.infrastructure.staging.layer_folder import StoredLayer, list_layers, list_unreadable, read_layer


def is_waiting(layer: StoredLayer) -> bool:
    """Whether changes wait in it, as far as can be seen while a process may work in it. Raises StagingError."""
    from quorum.infrastructure.staging.workspace_layer import has_effects

    return has_effects(read_layer(layer.folder))


def list_waiting_sessions(environ: Mapping[str, str]) -> frozenset[str]:
    """The ids of the sessions whose changes wait in a layer in which no process works, or may. Blocks."""
    state = locate_state_folder(environ)
    return frozenset(
        layer.session
        for layer in (list_layers(state) if state is not None else ())
        if layer.session and not layer.is_held and _may_wait(layer)
    )


def _may_wait(layer: StoredLayer) -> bool:
    try:
        return is_waiting(layer)
    except StagingError:  # whoever goes there is told
        return True


def can_be_taken_back(layer: StoredLayer) -> bool:
    """Whether something was applied from it that can be taken back. Raises StagingError."""
    from quorum.infrastructure.staging.workspace_layer import has_applied

    return has_applied(read_layer(layer.folder))


def describe_layers(workspace: Path, environ: Mapping[str, str], session: str) -> tuple[str, ...]:
    """What a session in this folder is told of the layers over it, a sentence each; nothing where it works in
    one itself. Blocks."""
    state = locate_state_folder(environ)
    if state is None or find_entered() is not None:
        return ()
    here = workspace.resolve()
    try:
        told = (_describe(each, is_own=each.session == session) for each in list_layers(state, here))
        return (*filter(None, told), *list_unreadable(state, here))
    except StagingError as error:  # the session itself works without
        return (str(error),)


def _describe(layer: StoredLayer, *, is_own: bool) -> str:
    if layer.is_held and not is_own:
        return (
            f"another quorum works in the layer {layer.id} over this folder: what changes in both will be in "
            "conflict"
        )
    try:
        waits = is_waiting(layer)
    except StagingError as error:
        return str(error)
    if not waits:
        return ""
    if is_own:
        return (
            f"what was changed in the layer {layer.id} and not applied is not in your folder: /stage goes back "
            "there, and quorum staged lists what waits"
        )
    return (
        f"changes wait in the layer {layer.id} and are not in this folder: quorum staged lists them, and the "
        "mode staged goes on there"
    )


def can_be_applied_again(layer: StoredLayer) -> bool:
    """Whether what was applied from it last was taken back. Raises StagingError."""
    from quorum.infrastructure.staging.workspace_layer import has_undone

    return has_undone(read_layer(layer.folder))

"""The layers that are kept, whoever works in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from quorum.domain.errors import StagingError
from quorum.infrastructure.staging.layer_folder import (
    explain_unreadable,
    is_held,
    list_places,
    locate_layers,
    locate_layers_of,
    read_layer,
)


class StoredLayer(Struct, frozen=True, kw_only=True):
    """A layer as it is listed. `is_held`: a process works in it now; `session` did last."""

    id: str
    workspace: str
    folder: Path
    made_ms: int
    is_held: bool
    session: str


def list_layers(state: Path, workspace: Path | None = None) -> tuple[StoredLayer, ...]:
    """The layers over a workspace, or over all, the oldest first. One that cannot be read is left out: see
    `list_unreadable`."""
    return tuple(sorted(_list_layers(state, workspace), key=lambda layer: layer.made_ms))


def _list_layers(state: Path, workspace: Path | None) -> Iterator[StoredLayer]:
    for place in _list_places(state, workspace):
        try:
            layer = read_layer(place)
        except StagingError:
            continue
        yield StoredLayer(
            id=layer.id,
            workspace=layer.workspace,
            folder=place,
            made_ms=layer.made_ms,
            is_held=is_held(place),
            session=layer.session,
        )


def list_unreadable(state: Path, workspace: Path | None = None) -> tuple[str, ...]:
    """What there is to say of those that hold something and cannot be read, a sentence each."""
    return tuple(filter(None, map(explain_unreadable, _list_places(state, workspace))))


def _list_places(state: Path, workspace: Path | None) -> list[Path]:
    if workspace is not None:
        above = [locate_layers_of(state, str(workspace))]
    else:
        top = locate_layers(state)
        above = [each for each in top.iterdir() if each.is_dir()] if top.is_dir() else []
    return [place for each in above for place in list_places(each)]

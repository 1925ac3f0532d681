"""The layer of this process, for whoever asks: most processes have none, and load nothing for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from quorum.domain.errors import ConfigError

if TYPE_CHECKING:
    from quorum.infrastructure.staging.entered_layer import EnteredLayer

_entered: list[EnteredLayer] = []


def find_entered() -> EnteredLayer | None:
    """The layer of this process; None where it works in the workspace itself."""
    return _entered[0] if _entered else None


def find_layer_over(root: Path) -> EnteredLayer | None:
    """The same for a session in this folder. Raises ConfigError where the layer is over another one."""
    entered = find_entered()
    if entered is not None and str(root) != entered.folder.workspace:
        raise ConfigError(
            f"this quorum works in a layer over {entered.folder.workspace}: open {root} in a quorum of its own"
        )
    return entered


def note_entered(layer: EnteredLayer) -> None:
    """From now on this process works in it."""
    _entered[:] = [layer]

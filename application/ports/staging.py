"""Ports to the layer in which a staged session works."""

from __future__ import annotations

from typing import Protocol

from quorum.domain.staging.layer_effects import AppliedEffects, EffectChoice, LayerEffects


class Layer(Protocol):
    """The layer over the workspace of this process. While it is read or applied, nothing of the turn runs.

    All of its methods raise StagingError, which says what to do, where the layer is not as it has to be.
    """

    @property
    def id(self) -> str:
        """Its name, of letters and digits."""
        ...

    async def read_effects(self) -> LayerEffects:
        """What stands in the layer that does not stand in the workspace."""
        ...

    async def note_files(self, upper: str = "") -> None:
        """Keep what the files that were changed here hold in the workspace: so it is known if the person
        changes them there, too, and both can be merged. Costs by the changes. `upper`: those of a layer of a
        subagent's own, which the kernel keeps there."""
        ...

    async def read_content(self, path: str, *, before: bool) -> bytes | None:
        """What a file of the effects holds in the workspace (`before`), or in the layer.

        None where no file is, or where it is larger than what is shown of a file.
        """
        ...

    async def apply(self, choice: EffectChoice, digest: str) -> AppliedEffects:
        """Carry the chosen effects over into the workspace: all, or none.

        `digest` is that of the effects that were approved: where others stand now, all is refused. What was
        left out stays in the layer.
        """
        ...

    async def undo_apply(self) -> AppliedEffects:
        """Take back what was applied last, where nothing was changed there since."""
        ...

    async def redo_apply(self) -> AppliedEffects:
        """Apply again what was taken back last, where nothing was changed there since, in the layer either."""
        ...

    async def discard(self) -> None:
        """Drop all effects: the layer shows the workspace as it is."""
        ...

    def take_remarks(self) -> tuple[str, ...]:
        """What became of an earlier change that had failed halfway, and was finished or taken back since; each
        sentence once, whether what was asked for then could be done or not."""
        ...

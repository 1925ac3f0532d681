"""A layer in memory: two sets of files, that of the person and what the layer shows in its place."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from quorum.domain.calls.effects import FileKind, FileState
from quorum.domain.errors import StagingError
from quorum.domain.staging.layer_effects import (
    AppliedEffects,
    EffectChoice,
    LayerCommit,
    LayerEffect,
    LayerEffectKind,
    LayerEffects,
)


class FakeLayer:
    """Text files only. `workspace` are those of the person; what is None in `upper` is deleted there.

    `trouble`, while it is set, is why everything fails. `commits`, `unmerged`, `remarks` and `protected`
    are as given, and `noted` counts how often files were noted.
    """

    def __init__(self, workspace: Mapping[str, bytes] | None = None, *, id: str = "1") -> None:
        self.id = id
        self.workspace: dict[str, bytes] = dict(workspace or {})
        self.upper: dict[str, bytes | None] = {}
        self.commits: tuple[LayerCommit, ...] = ()
        self.not_captured: tuple[str, ...] = ()
        self.protected: set[str] = set()
        self.ignored: tuple[str, ...] = ()
        self.unmerged: tuple[str, ...] = ()
        self.trouble = ""
        self.remarks: tuple[str, ...] = ()
        self.noted = 0
        self._began = dict(self.workspace)
        self._applied: dict[str, tuple[bytes | None, bytes | None]] = {}
        self._undone: dict[str, tuple[bytes | None, bytes | None]] = {}

    def write(self, path: str, content: bytes | None) -> None:
        """What a call does in the layer."""
        self.upper[path] = content

    def write_outside(self, path: str, content: bytes | None) -> None:
        """What the person does meanwhile."""
        if content is None:
            self.workspace.pop(path, None)
        else:
            self.workspace[path] = content

    def read_outside(self, path: str) -> bytes | None:
        return self.workspace.get(path)

    async def read_effects(self) -> LayerEffects:
        self._check()
        return LayerEffects(
            workspace="/w",
            effects=tuple(self._describe(path) for path in sorted(self.upper) if self._differs(path)),
            commits=self.commits,
            not_captured=self.not_captured,
            unmerged=self.unmerged,
        )

    async def note_files(self, upper: str = "") -> None:
        self._check()
        self.noted += 1

    async def read_content(self, path: str, *, before: bool) -> bytes | None:
        self._check()
        return self.workspace.get(path) if before else self.upper.get(path, self.workspace.get(path))

    async def apply(self, choice: EffectChoice, digest: str) -> AppliedEffects:
        effects = await self.read_effects()
        if effects.digest != digest:
            return AppliedEffects(refused={"": "it is not as it was when it was approved"})
        chosen = [each for each in effects.effects if each.path not in choice.left_out]
        refused = {
            each.path: f"you changed it, too: {each.conflict}"
            for each in chosen
            if each.conflict and each.path not in choice.overwrite
        }
        if refused:
            return AppliedEffects(refused=refused)
        self._undone = {}
        self._applied = {each.path: (self.workspace.get(each.path), self.upper[each.path]) for each in chosen}
        for path, (_, after) in self._applied.items():
            self.write_outside(path, after)
            del self.upper[path]
        self._began = {**self.workspace}
        refs = tuple(each.ref for each in self.commits if each.ref not in choice.left_out)
        self.commits = tuple(each for each in self.commits if each.ref in choice.left_out)
        return AppliedEffects(paths=tuple(self._applied), refs=refs)

    async def undo_apply(self) -> AppliedEffects:
        self._check()
        if not self._applied:
            raise StagingError("nothing was applied that could be taken back")
        changed = {
            path: "it was changed since"
            for path, (_, after) in self._applied.items()
            if self.workspace.get(path) != after
        }
        if changed:
            return AppliedEffects(refused=changed)
        self._undone, self._applied = self._applied, {}
        for path, (before, _) in self._undone.items():
            self.write_outside(path, before)
        return AppliedEffects(paths=tuple(self._undone))

    async def redo_apply(self) -> AppliedEffects:
        self._check()
        if not self._undone:
            raise StagingError("nothing was taken back that could be applied again")
        changed = {
            path: "it was changed since"
            for path, (before, _) in self._undone.items()
            if path in self.upper or self.workspace.get(path) != before
        }
        if changed:
            return AppliedEffects(refused=changed)
        self._applied, self._undone = self._undone, {}
        for path, (_, after) in self._applied.items():
            self.write_outside(path, after)
        return AppliedEffects(paths=tuple(self._applied))

    async def discard(self) -> None:
        self._check()
        self.upper.clear()
        self.commits = self.unmerged = ()
        self._began = dict(self.workspace)

    def take_remarks(self) -> tuple[str, ...]:
        remarks, self.remarks = self.remarks, ()
        return remarks

    def _check(self) -> None:
        if self.trouble:
            raise StagingError(self.trouble)

    def _differs(self, path: str) -> bool:
        return self.upper[path] != self.workspace.get(path)

    def _describe(self, path: str) -> LayerEffect:
        before, after = self.workspace.get(path), self.upper[path]
        kind = LayerEffectKind.REPLACE
        if before is None or after is None:
            kind = LayerEffectKind.CREATE if before is None else LayerEffectKind.DELETE
        old, new = ((content or b"").splitlines() for content in (before, after))
        return LayerEffect(
            path=path,
            kind=kind,
            before=_describe_state(before),
            after=_describe_state(after),
            added=len([line for line in new if line not in old]),
            removed=len([line for line in old if line not in new]),
            conflict="" if self._began.get(path) == before else "changed since the layer began",
            ignored=path.startswith(self.ignored) if self.ignored else False,
            protected=path in self.protected,
        )


def _describe_state(content: bytes | None) -> FileState | None:
    if content is None:
        return None
    digest = sha256(content).hexdigest()
    return FileState(kind=FileKind.FILE, mode=0o644, size=len(content), sha256=digest)

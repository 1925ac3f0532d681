"""What stands in a layer that does not stand in the workspace below it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from hashlib import sha256

from msgspec import Struct, field

from quorum.domain.calls.effects import FileState
from quorum.domain.struct_json import struct_to_json


class LayerEffectKind(StrEnum):
    """What applying an effect does to its path. OTHER stands for sockets, pipes and devices: never applied."""

    CREATE = "create"
    REPLACE = "replace"
    DELETE = "delete"
    MODE = "mode"
    OTHER = "other"


class LayerEffect(Struct, frozen=True, kw_only=True):
    """One path that differs, relative to the workspace, with `/` between its parts.

    `before` is what the workspace holds and `after` what the layer holds; None where nothing stands. A folder
    that is made or deleted is not an effect itself unless it is empty: its files are. `renamed_from` names the
    deleted path whose content this one has. `conflict` says, in words, what the person changed there since the
    layer began; empty: nothing. `ignored`: git leaves it out, or a program makes it anew. `protected`: what is
    approved singly, because it can act on its own (hooks, settings of tools, CI).
    """

    path: str
    kind: LayerEffectKind
    before: FileState | None = None
    after: FileState | None = None
    added: int = 0
    removed: int = 0
    renamed_from: str = ""
    conflict: str = ""
    ignored: bool = False
    protected: bool = False


class LayerCommit(Struct, frozen=True, kw_only=True):
    """Commits that were made in the layer: a ref with where it stood before and stands now, in hexadecimal.

    An empty `before` stands for a new ref, an empty `after` for a deleted one. `subjects` are those of the new
    commits, newest first, at most twenty. `conflict` as of an effect.
    """

    ref: str
    before: str
    after: str
    count: int = 0
    subjects: tuple[str, ...] = ()
    conflict: str = ""


class LayerEffects(Struct, frozen=True, kw_only=True, dict=True):
    """All effects of a layer, ordered by path. `workspace` is its canonical path.

    `not_captured` names, in words, what a layer cannot hold back or hold, and `unmerged` what subagents did
    that could not be merged into it. `read_meanwhile` are files that the person changed since the layer began
    and that it shows or hides, as the kernel has it.
    """

    workspace: str
    effects: tuple[LayerEffect, ...] = ()
    commits: tuple[LayerCommit, ...] = ()
    not_captured: tuple[str, ...] = ()
    unmerged: tuple[str, ...] = ()
    read_meanwhile: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits for the person."""
        return not self.can_be_applied and not self.unmerged

    @property
    def can_be_applied(self) -> bool:
        return bool(self.effects or self.commits)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all of it as canonical JSON, in hexadecimal: an approval of one is none of another."""
        text = json.dumps(struct_to_json(self), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class EffectChoice(Struct, frozen=True, kw_only=True):
    """What of the effects is applied: all but what is left out.

    `left_out` are paths and refs. `hunks` names, by path, the hunks of its diff that are left out, counted from
    0. `overwrite` are paths and refs whose conflict the person has seen, and whose state in the layer wins.
    """

    left_out: frozenset[str] = frozenset()
    hunks: Mapping[str, frozenset[int]] = field(default_factory=dict)
    overwrite: frozenset[str] = frozenset()


class AppliedEffects(Struct, frozen=True, kw_only=True):
    """How applying ended: all of the choice, or nothing, and then `refused` says why, by path or ref."""

    paths: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        return not self.refused

"""The effects of a layer as a person reads them: a line for each file, one for each tree that tools make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from posixpath import commonpath, dirname
from typing import TypeAlias

from msgspec import Struct

from quorum.domain.staging.layer_effects import (
    EffectChoice,
    LayerCommit,
    LayerEffect,
    LayerEffectKind,
    LayerEffects,
)
from quorum.domain.text.amounts import format_amount

_MARKS = {
    LayerEffectKind.CREATE: "+",
    LayerEffectKind.REPLACE: "~",
    LayerEffectKind.DELETE: "−",
    LayerEffectKind.MODE: "m",
    LayerEffectKind.OTHER: "?",
}


class FoldedTree(Struct, frozen=True, kw_only=True):
    """Files that git ignores or programs make anew, all below `folder`, which is empty for the workspace.

    `size` is that of what the layer holds of them, in bytes.
    """

    folder: str
    paths: tuple[str, ...]
    size: int = 0
    deleted: int = 0

    @property
    def name(self) -> str:
        return f"{self.folder}/" if self.folder else "./"

    @property
    def is_of_git(self) -> bool:
        """Whether it is what git itself keeps, as the index of what a commit leaves out."""
        return self.folder.partition("/")[0] == ".git"

    @property
    def amount(self) -> str:
        """How many files it stands for."""
        return format_amount(len(self.paths), "file of git itself" if self.is_of_git else "ignored file")


EffectRow: TypeAlias = LayerCommit | LayerEffect | FoldedTree


class EffectsOverview(Struct, frozen=True, kw_only=True, dict=True):
    """The effects in the order in which they are read: commits, files by path, then folded trees."""

    commits: tuple[LayerCommit, ...]
    files: tuple[LayerEffect, ...]
    trees: tuple[FoldedTree, ...]

    @cached_property
    def rows(self) -> tuple[EffectRow, ...]:
        return (*self.commits, *self.files, *self.trees)

    @cached_property
    def new_names(self) -> Mapping[str, str]:
        """The new path of each deleted file whose content only went there."""
        gone = {each.path for each in self.files if each.kind is LayerEffectKind.DELETE}
        return {each.renamed_from: each.path for each in self.files if each.renamed_from in gone}

    @cached_property
    def added(self) -> int:
        """How many lines were added, without those of folded trees."""
        return sum(effect.added for effect in self.files)

    @cached_property
    def removed(self) -> int:
        return sum(effect.removed for effect in self.files if effect.path not in self.new_names)

    @property
    def changed(self) -> int:
        """How many files changed, without those that git keeps for itself, if there are others."""
        folded = [len(tree.paths) for tree in self.trees if not tree.is_of_git]
        return len(self.files) + sum(folded) or sum(len(tree.paths) for tree in self.trees)

    @property
    def conflicts(self) -> int:
        """How many files and refs the person changed as well."""
        words = (*(each.conflict for each in self.files), *(each.conflict for each in self.commits))
        return sum(map(bool, words))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What no single line says, a sentence each."""
        if self.commits and any(each.protected for each in self.files):
            return ("the commits may hold protected files, whether these are applied or not",)
        return ()

    @property
    def summary(self) -> str:
        """All of it on one line."""
        folded = sum(len(tree.paths) for tree in self.trees if not tree.is_of_git)
        parts = [format_amount(sum(each.count for each in self.commits), "commit")] if self.commits else []
        if self.files:
            parts.append(f"{format_amount(len(self.files), 'file')} +{self.added:,} −{self.removed:,}")
        parts += [format_amount(folded, "ignored file")] if folded else []
        parts += [f"{self.conflicts:,} changed by you too"] if self.conflicts else []
        return " · ".join(parts or [tree.amount for tree in self.trees]) or "no changes"

    @classmethod
    def of(cls, effects: LayerEffects) -> EffectsOverview:
        """Sort the effects into lines. One that is protected or in conflict is never folded."""
        folded = [each for each in effects.effects if each.ignored and not each.protected and not each.conflict]
        hidden = {each.path for each in folded}
        files = tuple(each for each in effects.effects if each.path not in hidden)
        return cls(commits=effects.commits, files=files, trees=tuple(_fold(folded, files)))

    def find_first_choice(self) -> EffectChoice:
        """What is applied unless the person says otherwise: all but protected files, which they approve one by
        one, and what cannot be applied."""
        left = {each.path for each in self.files if each.protected or each.kind is LayerEffectKind.OTHER}
        return EffectChoice(left_out=frozenset(left))


def get_mark(kind: LayerEffectKind) -> str:
    """The sign in front of an effect."""
    return _MARKS[kind]


def name_row(row: EffectRow) -> str:
    """The path, ref or folder of a line."""
    match row:
        case LayerCommit():
            return row.ref
        case LayerEffect():
            return row.path
        case FoldedTree():
            return row.name


def list_choices(row: EffectRow) -> tuple[str, ...]:
    """The paths or the ref that a line stands for in a choice."""
    match row:
        case LayerCommit():
            return (row.ref,)
        case LayerEffect():
            return (row.path,)
        case FoldedTree():
            return row.paths


def _fold(folded: Sequence[LayerEffect], files: Iterable[LayerEffect]) -> Iterable[FoldedTree]:
    """Trees as large as can be that hold nothing else."""
    shown = {folder for effect in files for folder in _list_folders(effect.path)}
    trees: dict[str, list[LayerEffect]] = {}
    for effect in folded:
        outer = next((folder for folder in _list_folders(effect.path) if folder not in shown), None)
        trees.setdefault(dirname(effect.path.rstrip("/")) if outer is None else outer, []).append(effect)
    for place in sorted(trees):
        members = trees[place]
        common = commonpath([dirname(effect.path.rstrip("/")) or "." for effect in members])
        yield FoldedTree(
            folder="" if common == "." else common,
            paths=tuple(effect.path for effect in members),
            size=sum(effect.after.size for effect in members if effect.after is not None),
            deleted=sum(effect.kind is LayerEffectKind.DELETE for effect in members),
        )


def _list_folders(path: str) -> list[str]:
    """The folders above a path, the outermost first, without the workspace itself."""
    parts = path.rstrip("/").split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]

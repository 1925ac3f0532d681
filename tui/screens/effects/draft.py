"""What the person chooses in a review of effects: what is left out, and which conflicts the layer wins."""

from __future__ import annotations

from collections.abc import Mapping

from quorum.domain.replacing import replace
from quorum.domain.staging.effects_overview import EffectRow, EffectsOverview, FoldedTree, list_choices
from quorum.domain.staging.layer_effects import EffectChoice, LayerCommit, LayerEffect, LayerEffectKind

_NEVER = "neither file, link nor folder: it is never applied"


class EffectsDraft:
    """The choice so far. Protected files are left out until the person takes them in, one by one."""

    def __init__(self, overview: EffectsOverview) -> None:
        self.choice: EffectChoice = overview.find_first_choice()
        self._overview = overview

    def keep(self, former: EffectsDraft) -> None:
        """Keep what was chosen before: all of it of effects that are the same, and that others are left out."""
        same = _index(self._overview).items() & _index(former._overview).items()
        kept = {name for name, _ in same}
        left = {name for name in former.choice.left_out if name in _index(self._overview)}
        self.choice = EffectChoice(
            left_out=frozenset(left | (self.choice.left_out - kept)),
            hunks={path: hunks for path, hunks in former.choice.hunks.items() if path in kept},
            overwrite=former.choice.overwrite & kept,
        )

    def is_in(self, row: EffectRow) -> bool:
        """Whether some of a line is applied."""
        return not self.choice.left_out.issuperset(list_choices(row))

    def is_partly(self, row: EffectRow) -> bool:
        """Whether a part of a file is left out."""
        return isinstance(row, LayerEffect) and self.is_in(row) and bool(self.choice.hunks.get(row.path))

    def overwrites(self, row: EffectRow) -> bool:
        return not self.choice.overwrite.isdisjoint(list_choices(row))

    def count(self) -> int:
        """How many paths and refs are applied."""
        names = [name for row in self._overview.rows for name in list_choices(row)]
        return sum(name not in self.choice.left_out for name in names)

    def toggle(self, row: EffectRow) -> str:
        """Leave a line out or take it in again; what there is to say of that.

        One in conflict comes in first as it is, to be merged or refused, and then in place of the person's.
        """
        if isinstance(row, LayerEffect) and row.kind is LayerEffectKind.OTHER:
            return _NEVER
        names = frozenset(list_choices(row))
        choice = self.choice
        conflict = "" if isinstance(row, FoldedTree) else row.conflict
        if not self.is_in(row):
            self.choice = replace(choice, left_out=choice.left_out - names)
            return (
                "merged with your change, or all is refused; space again: it replaces yours" if conflict else ""
            )
        if conflict and not self.overwrites(row):
            self.choice = replace(choice, overwrite=choice.overwrite | names)
            return "it replaces your own change; space again leaves it out"
        hunks = {path: hunks for path, hunks in choice.hunks.items() if path not in names}
        self.choice = EffectChoice(
            left_out=choice.left_out | names, hunks=hunks, overwrite=choice.overwrite - names
        )
        return ""

    def toggle_all(self, paths: frozenset[str], parts: Mapping[str, frozenset[int]]) -> tuple[bool, int, int]:
        """Leave all of these files, and these hunks of others, out that are in, or take them in where none is:
        whether they are out now, and how many files and hunks it was.

        Protected files are taken in one by one, and so is what is never applied.
        """
        known = {path for row in self._overview.rows for path in list_choices(row)} & paths
        choice, none = self.choice, frozenset[int]()
        out = known - choice.left_out
        hunks = {path: parts[path] - choice.hunks.get(path, none) for path in parts.keys() - choice.left_out}
        if out or any(hunks.values()):
            kept = {path: numbers for path, numbers in choice.hunks.items() if path not in out}
            kept |= {path: kept.get(path, none) | numbers for path, numbers in hunks.items() if numbers}
            self.choice = EffectChoice(
                left_out=choice.left_out | out, hunks=kept, overwrite=choice.overwrite - out
            )
            return True, len(out), sum(map(len, hunks.values()))
        taken = (known & choice.left_out) - self._overview.find_first_choice().left_out
        left = {path: numbers - parts.get(path, none) for path, numbers in choice.hunks.items()}
        self.choice = EffectChoice(
            left_out=choice.left_out - taken,
            hunks={path: numbers for path, numbers in left.items() if numbers},
            overwrite=choice.overwrite,
        )
        return False, len(taken), sum(len(choice.hunks.get(path, none) & each) for path, each in parts.items())

    def toggle_hunk(self, path: str, hunk: int, hunks: int) -> None:
        """Leave a hunk of a file out, or take it in; the file itself is out once all of its hunks are."""
        out = set(self.choice.hunks.get(path, ()))
        if path in self.choice.left_out:
            out = set(range(hunks))
        out ^= {hunk}
        left = self.choice.left_out - {path}
        others = {other: kept for other, kept in self.choice.hunks.items() if other != path}
        if len(out) == hunks:
            self.choice = replace(self.choice, left_out=left | {path}, hunks=others)
        else:
            kept = {**others, path: frozenset(out)} if out else others
            self.choice = replace(self.choice, left_out=left, hunks=kept)

    def is_hunk_in(self, path: str, hunk: int) -> bool:
        return path not in self.choice.left_out and hunk not in self.choice.hunks.get(path, ())


def _index(overview: EffectsOverview) -> dict[str, LayerEffect | LayerCommit | None]:
    """What each path and ref is; of a file in a folded tree nothing more matters."""
    known: dict[str, LayerEffect | LayerCommit | None] = {}
    for row in overview.rows:
        known |= dict.fromkeys(list_choices(row), None if isinstance(row, FoldedTree) else row)
    return known


def may_choose_hunks(row: EffectRow) -> bool:
    """Whether parts of it can be left out: not of what is renamed, made or deleted as a whole."""
    match row:
        case LayerEffect():
            return row.kind is LayerEffectKind.REPLACE and not row.renamed_from and not row.conflict
        case LayerCommit() | FoldedTree():
            return False

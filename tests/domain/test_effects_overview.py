"""The effects of a layer as a person reads them, on one line and in lines."""

from __future__ import annotations

from quorum.domain.staging.effects_overview import EffectsOverview, FoldedTree
from quorum.domain.staging.layer_effects import LayerEffect, LayerEffectKind, LayerEffects


def test_what_git_keeps_is_not_called_ignored() -> None:
    index = FoldedTree(folder=".git", paths=(".git/index",))
    built = FoldedTree(folder="build", paths=("build/a", "build/b"))

    assert (index.amount, built.amount) == ("1 file of git itself", "2 ignored files")
    assert EffectsOverview(commits=(), files=(), trees=(index, built)).summary == "2 ignored files"
    assert EffectsOverview(commits=(), files=(), trees=(index,)).summary == "1 file of git itself"


def test_a_renamed_file_removes_no_lines_and_its_old_path_says_where_it_went() -> None:
    old = LayerEffect(path="a.md", kind=LayerEffectKind.DELETE, removed=90)
    new = LayerEffect(path="b.md", kind=LayerEffectKind.CREATE, renamed_from="a.md")
    gone = LayerEffect(path="c.md", kind=LayerEffectKind.DELETE, removed=5)
    overview = EffectsOverview.of(LayerEffects(workspace="/w", effects=(old, new, gone)))

    assert overview.new_names == {"a.md": "b.md"}
    assert overview.summary == "3 files +0 −5"

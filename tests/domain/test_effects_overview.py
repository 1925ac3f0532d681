"""The effects of a layer as a person reads them, on one line and in lines."""

from __future__ import annotations

from quorum.domain.staging.effects_overview import EffectsOverview, FoldedTree


def test_what_git_keeps_is_not_called_ignored() -> None:
    index = FoldedTree(folder=".git", paths=(".git/index",))
    built = FoldedTree(folder="build", paths=("build/a", "build/b"))

    assert (index.amount, built.amount) == ("1 file of git itself", "2 ignored files")
    assert EffectsOverview(commits=(), files=(), trees=(index, built)).summary == "2 ignored files"
    assert EffectsOverview(commits=(), files=(), trees=(index,)).summary == "1 file of git itself"

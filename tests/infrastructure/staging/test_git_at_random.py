"""Whatever git does in a layer: once applied, the repository is as if git had done it in a plain folder."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.infrastructure.staging.layer_bench import LayerBench, describe_tree

_GIT = "git -c user.name=a -c user.email=a@example.org -c init.defaultBranch=main"
_BRANCHES, _FILES = ("p", "q", "q/x", "r/y/z"), ("a", "b", "d/x", "e/n")
_WORK = (
    "mkdir -p $(dirname {file}); echo {number} >> {file}; git add -A; {git} commit -qm {number}",
    "mkdir -p $(dirname {file}); echo {number} >> {file}; git add {file}",
    "echo {number} >> {file}",
    "git add -N {file}",
    "git rm -qrf {file}",
    "git rm -q --cached {file}",
    "git mv {file} moved",
    "git branch {branch}",
    "git branch -D {branch}",
    "git branch -m {branch}",
    "git checkout -q {branch}",
    "git checkout -qb {branch}",
    "git switch -q --detach",
    "{git} merge -q --no-edit {branch}",
    "{git} rebase -q {branch}",
    "{git} commit -q --amend --no-edit",
    "{git} revert --no-edit HEAD",
    "git reset -q --hard HEAD~1",
    "git reset -q",
    "{git} tag -am {number} t{number}",
    "git gc -q",
    "git pack-refs --all",
)
_ASKED = (
    "git for-each-ref --format='%(refname) %(objectname)'",
    "git rev-parse --symbolic-full-name HEAD HEAD",
    "git ls-files --stage",
    "git status --porcelain",
    "git fsck 2>&1 | grep -v '^dangling' || true",
)


def _choose_work(dice: random.Random, count: int) -> str:
    """Commands, some of which fail."""
    lines = (
        dice.choice(_WORK).format(
            git=_GIT, file=dice.choice(_FILES), branch=dice.choice(_BRANCHES), number=dice.randrange(99)
        )
        for _ in range(count)
    )
    return "\n".join(f"( {line} ) >/dev/null 2>&1 || true" for line in lines)


def _run(script: str, folder: Path, environ: dict[str, str]) -> str:
    done = subprocess.run(["sh", "-ec", script], cwd=folder, env=environ, capture_output=True, check=True)
    return done.stdout.decode()


def _describe(folder: Path, environ: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    return describe_tree(folder, without=".git"), [_run(asked, folder, environ) for asked in _ASKED]


@pytest.mark.long(after=1)
@pytest.mark.parametrize("seed", range(12))
def test_what_git_does_in_a_layer_is_applied_and_taken_back_whole(bench: LayerBench, seed: int) -> None:
    dice = random.Random(seed)
    environ = bench.environ
    environ |= {"GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"}
    first = (
        f"{_GIT} init -q; mkdir d; for each in a b d/x; do echo 1 > $each; done; git add .; {_GIT} commit -qm 1"
    )
    _run(f"{first}\n{_choose_work(dice, dice.randrange(8))}", bench.workspace, environ)
    plain = shutil.copytree(bench.workspace, bench.workspace.parent / "plain", symlinks=True)
    work = _choose_work(dice, 1 + dice.randrange(10))
    _run(work, plain, environ)

    bench.work(work)
    bench.ask(lambda layer: layer.note_files())
    before = _describe(bench.workspace, environ)
    assert bench.apply().refused == {}
    assert _describe(bench.workspace, environ) == _describe(plain, environ)
    assert bench.read_effects().is_empty
    assert bench.undo().refused == {}
    assert _describe(bench.workspace, environ) == before

"""A layer with effects of every kind over a repository, as it was before they are applied and after."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TypeAlias

from quorum.infrastructure.staging.layer_folder import hold_layer, is_held
from quorum.infrastructure.staging.workspace_layer import recover
from tests.infrastructure.staging.layer_bench import LayerBench, describe_tree

Described: TypeAlias = "tuple[dict[str, str], str, str]"

_WORK = """
    echo 2 > a; rm -r d; mkdir d; echo z > d/z; chmod 700 m; ln -s a l; mkdir -p n/e; echo q > n/e/q; rm b
    git add a; git -c user.name=a -c user.email=a@example.org commit -qm second; git branch topic
"""


def prepare_bench(folder: Path, *, is_new: bool = True, is_worked: bool = True) -> LayerBench:
    """A bench with effects of all kinds, if it `is_worked` by now; else one that is there."""
    bench = LayerBench(folder.resolve(), is_new=is_new)
    bench.environ |= {"GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"}
    if not is_new:
        return bench
    for name in ("a", "b", "d/x", "d/y", "m/in"):
        bench.write(name, "1\n")
    bench.git("init", "-q")
    bench.git("add", ".")
    bench.git("commit", "-q", "-m", "first")
    if is_worked:
        work_bench(bench)
    return bench


def work_bench(bench: LayerBench) -> None:
    """Have effects of all kinds in the layer."""
    bench.work(_WORK)


def describe_bench(bench: LayerBench) -> Described:
    """The files of the workspace, the refs of its repository, and its index."""
    refs = bench.git("for-each-ref", "--format=%(refname) %(objectname)")
    return describe_tree(bench.workspace, without=".git"), refs, bench.git("ls-files", "--stage")


def recover_bench(bench: LayerBench) -> tuple[str, ...]:
    """Do what each start does first; what it says. A program that was being started by one that was killed may
    have the layer for a moment longer."""
    while is_held(bench.stored.folder):
        time.sleep(0.001)
    with hold_layer(bench.stored.folder) as folder:
        return recover(folder, bench.environ)

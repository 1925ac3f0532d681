"""A protocol stands for several classes, for a fake, or for one class that its users must not import."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import grimp
import pytest

from tests.architecture.test_class_names import PACKAGES, ROOT

MOST_OF_ONE_CLASS = 20
"""So many protocols have one implementation and no fake: importing that class would break a layer or close a
circle. No more are needed; take one away from the number with each that goes."""
_PROGRAM = len(PACKAGES) - 1


class Definition(NamedTuple):
    """A class: the module it is in, its bases, and the names of what it has."""

    module: str
    name: str
    bases: tuple[str, ...]
    members: frozenset[str]

    @property
    def is_protocol(self) -> bool:
        return "Protocol" in self.bases


def list_classes(root: Path, tops: Iterable[str]) -> Iterator[Definition]:
    for path in (path for top in tops for path in sorted((root / top).rglob("*.py"))):
        module = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases = tuple(ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases)
                yield Definition(module, node.name, bases, frozenset(_list_members(node)))


def _list_members(node: ast.ClassDef) -> Iterator[str]:
    for each in ast.walk(node):
        match each:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                yield name
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name


def find_implementations(protocol: Definition, classes: Sequence[Definition]) -> list[Definition]:
    """The classes that have all that the protocol asks for, by themselves or from their bases."""
    known = {each.name: each for each in classes}

    def collect(each: Definition) -> frozenset[str]:
        inherited = (collect(known[base]) for base in each.bases if base in known and base != each.name)
        return each.members.union(*inherited)

    wanted = collect(protocol)
    return [each for each in classes if not each.is_protocol and wanted and wanted <= collect(each)]


def is_out_of_reach(user: str, wanted: str, graph: grimp.ImportGraph) -> bool:
    """Whether the module must not import that other one, by its layer or for a circle of packages."""
    tops = [name.split(".")[0] for name in (user, wanted)]
    ranks = [PACKAGES.index(top) if top in PACKAGES else _PROGRAM for top in tops]
    if ranks[0] < ranks[1]:
        return True
    ours, theirs = user.split("."), wanted.split(".")
    common = next((n for n, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), None)
    if common is None or _PROGRAM in ranks:
        return False
    mine, other = (".".join(["quorum", *parts[: common + 1]]) for parts in (ours, theirs))
    return graph.chain_exists(importer=other, imported=mine, as_packages=True)


@pytest.mark.long
def test_a_protocol_of_one_class_stands_where_that_class_must_not_be_imported() -> None:
    product = [*list_classes(ROOT, PACKAGES)]
    every = [*product, *list_classes(ROOT, ("tests", "benchmarks"))]
    texts = {path: path.read_text(encoding="utf-8") for top in PACKAGES for path in (ROOT / top).rglob("*.py")}
    graph = grimp.build_graph("quorum", cache_dir=None)
    of_one_class = {}
    for protocol in (each for each in product if each.is_protocol):
        match find_implementations(protocol, every):
            case [only] if only.module.split(".")[0] in PACKAGES:
                of_one_class[protocol] = only.module

    needless = set()
    for protocol, wanted in of_one_class.items():
        users = (
            ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            for path, text in texts.items()
            if re.search(rf"\b{protocol.name}\b", text)
        )
        if not any(is_out_of_reach(user, wanted, graph) for user in users if user != wanted):
            needless.add(f"{protocol.module}.{protocol.name}")

    assert needless == set()
    assert len(of_one_class) <= MOST_OF_ONE_CLASS


def test_what_implements_a_protocol_is_found_by_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "domain").mkdir()
    (tmp_path / "domain/shapes.py").write_text(
        "class Shape(Protocol):\n    name: str\n    def draw(self): ...\n"
        "class Base:\n    def draw(self): ...\n"
        "class Circle(Base):\n    def __init__(self): self.name = ''\n"
        "class Line:\n    def draw(self): ...\n",
        encoding="utf-8",
    )
    shape, *classes = list_classes(tmp_path, ["domain"])

    assert shape.is_protocol
    assert [each.name for each in find_implementations(shape, classes)] == ["Circle"]

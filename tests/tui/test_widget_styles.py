"""The styles that widgets bring along apply to them."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

from textual import widgets
from textual.dom import DOMNode

import quorum.tui

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SELECTORS = re.compile(r"([^{};]+)\{")
_TYPE = re.compile(r"(?<![\w.#:$-])[A-Z]\w*")


def classes_below(cls: type) -> Iterator[type]:
    for below in cls.__subclasses__():
        yield below
        yield from classes_below(below)


def test_every_type_that_a_style_sheet_of_ours_selects_is_a_class():
    for module in pkgutil.walk_packages(quorum.tui.__path__, "quorum.tui."):
        importlib.import_module(module.name)
    for name in widgets.__all__:
        getattr(widgets, name)
    nodes = list(classes_below(DOMNode))
    known = {node.__name__.lstrip("_") for node in nodes}
    sheets = [
        (node.__name__, str(node.__dict__.get(name, "")))
        for node in nodes
        if node.__module__.startswith("quorum.tui.")
        for name in ("DEFAULT_CSS", "CSS")
    ]
    sheets += [(path.name, path.read_text()) for path in Path(quorum.tui.__path__[0]).rglob("*.tcss")]
    selected = {
        (where, selected)
        for where, sheet in sheets
        for selector in _SELECTORS.findall(_COMMENT.sub("", sheet))
        for selected in _TYPE.findall(selector)
    }

    assert {("ReviewCard", "ReviewCard"), ("quorum.tcss", "SidePanel")} <= selected
    assert {(where, name) for where, name in selected if name not in known} == set()

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from textual.binding import Binding
from textual.dom import DOMNode

import quorum.tui
from docs.keys import PAGE, render
from quorum.tui.keys.keymap import KEY_CONTEXTS, label_key, list_key_actions, load_nodes, parse_key


def _classes() -> Iterator[type[DOMNode]]:
    """Every class of ours that has keys of its own."""
    for module in pkgutil.walk_packages(quorum.tui.__path__, "quorum.tui."):
        if module.name.startswith("quorum.cli") or module.name.endswith("__main__"):
            continue
        for _, found in inspect.getmembers(import_module(module.name), inspect.isclass):
            if found.__module__ == module.name and issubclass(found, DOMNode) and "BINDINGS" in found.__dict__:
                yield found


def _bindings(node: type[DOMNode]) -> list[Binding]:
    return list(Binding.make_bindings(node.__dict__["BINDINGS"]))


def test_every_key_that_does_something_has_a_name_to_change_it_by() -> None:
    nameless = [
        f"{node.__qualname__}: {binding.key} ({binding.description})"
        for node in _classes()
        for binding in _bindings(node)
        if binding.description and not binding.id
    ]

    assert nameless == [], "give it an id"


def test_every_class_with_keys_belongs_to_a_context_of_the_help() -> None:
    known = {base for context in KEY_CONTEXTS for node in load_nodes(context) for base in node.__mro__}
    homeless = [node.__qualname__ for node in _classes() if node not in known]

    assert homeless == [], "give it a context in tui/keys/keymap.py"


def test_a_name_stands_for_one_thing() -> None:
    meanings: defaultdict[str, set[str]] = defaultdict(set)
    for key_action in list_key_actions():
        meanings[key_action.name].add(key_action.action.removeprefix("app."))

    assert {name: found for name, found in meanings.items() if len(found) > 1} == {}


def test_every_key_is_one_that_can_be_written_as_it_is_shown() -> None:
    assert [
        key for key_action in list_key_actions() for key in key_action.keys if parse_key(label_key(key)) != key
    ] == []


def test_the_page_about_keys_lists_them_as_they_are() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert page == render(page), "write it anew: python docs/keys.py"


def _named_in_hints() -> set[tuple[str, str]]:
    """The keys that hints name, `{palette=ctrl+p}`: what they do, and what they usually are."""
    named: set[tuple[str, str]] = set()
    for path in Path(quorum.tui.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                named |= set(re.findall(r"\{(\w+)=([^}\s]+)\}", node.value))
    return named


def test_hints_name_keys_that_there_are_and_what_these_usually_are() -> None:
    usual = {key_action.name: {label_key(key) for key in key_action.keys} for key_action in list_key_actions()}
    arrows = {"left": "←", "right": "→", "-": "−"}

    named = _named_in_hints()

    assert len(named) > 20
    for name, key in named:
        assert key in usual[name] | {arrows.get(each, each) for each in usual[name]}, name

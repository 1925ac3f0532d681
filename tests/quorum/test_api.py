"""The public interface for plug-ins: what the pages about it show is there, and nothing else is needed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from quorum import api

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("custom-tools.md", "hooks.md")
LAYERS = ("domain", "application", "infrastructure", "tui", "quorum")


def _examples(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


def _imports(example: str) -> set[tuple[str, str]]:
    found = (node for node in ast.walk(ast.parse(example)) if isinstance(node, ast.ImportFrom))
    return {(node.module or "", alias.name) for node in found for alias in node.names}


def test_every_name_of_the_interface_is_there() -> None:
    assert sorted(api.__all__) == api.__all__
    assert all(hasattr(api, name) for name in api.__all__)


@pytest.mark.parametrize("page", PAGES)
def test_an_example_imports_nothing_of_quorum_but_its_public_interface(page: str) -> None:
    examples = _examples(page)
    ours = {(m, n) for example in examples for m, n in _imports(example) if m.split(".")[0] in LAYERS}

    assert examples
    assert ours
    assert {module for module, _ in ours} == {"quorum.api"}
    assert {name for _, name in ours} <= set(api.__all__)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_no_module_of_the_inner_layers(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")

    assert not re.findall(r"`(?:domain|application)\.[\w.]+`", text)


def test_the_documented_hook_changes_what_the_page_says() -> None:
    module: dict[str, object] = {}
    exec(next(example for example in _examples("hooks.md") if "class Prefix" in example), module)

    assert callable(module["Prefix"])

"""A built-in tool is known in every table that says something of tools by their names."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from domain.review.permissions import READERS, WRITERS

ROOT = Path(__file__).parents[2]
TOOLS = ("infrastructure/tools/builtin", "infrastructure/tools/web", "infrastructure/execution/commands")

TABLES = {
    "quorum/acp_agent/tool_calls.py": ("_KINDS", set[str]()),
    "tui/transcript/draw/rows.py": ("VERBS", {"jobs", "task", "fail_task"}),
}
"""The tables, each with the tools that may be missing: what is said of any other tool is right for them too."""


@pytest.mark.parametrize("path", TABLES)
def test_every_built_in_tool_stands_in_the_table(path: str) -> None:
    table, others = TABLES[path]

    assert _list_tools() - _read_keys(path, table) == others


def test_the_guide_names_every_built_in_tool() -> None:
    guide = (ROOT / "docs/tools.md").read_text(encoding="utf-8")

    assert {"read_file", "run_command", "web_fetch", "apply_patch", "create_plan"} <= _list_tools()
    assert {name for name in _list_tools() if f"`{name}`" not in guide} == set()


def test_rules_about_paths_cover_every_tool_that_reads_or_changes_files() -> None:
    assert _list_tools("declare_reading", "declare_listing") == READERS
    assert _list_tools("declare_writing") == WRITERS


@cache
def _list_tools(*declaring: str) -> frozenset[str]:
    """The names in all definitions of tools, or in those of modules that call one of these functions.

    Most names are texts, the others constants.
    """
    names = {
        _resolve_text(keyword.value, path)
        for folder in TOOLS
        for path in (ROOT / folder).glob("*.py")
        if not declaring or any(f"{name}(" in path.read_text(encoding="utf-8") for name in declaring)
        for node in ast.walk(_parse(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ToolDefinition"
        for keyword in node.keywords
        if keyword.arg == "name"
    }
    assert names
    return frozenset(names)


def _resolve_text(value: ast.expr, path: Path) -> str:
    """The text that a constant of this module stands for, or of the module that it is imported from."""
    if isinstance(value, ast.Constant):
        return str(value.value)
    assert isinstance(value, ast.Name)
    for node in _parse(path).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == value.id:
            return _resolve_text(node.value, path)
        if isinstance(node, ast.ImportFrom) and any(alias.name == value.id for alias in node.names):
            return _resolve_text(value, ROOT / f"{(node.module or '').replace('.', '/')}.py")
    raise AssertionError(f"{path}: {value.id} is not a text")


def _read_keys(path: str, table: str) -> set[str]:
    text = (ROOT / path).read_text(encoding="utf-8")
    found = re.search(rf"^{table}\b[^\n]*= \{{\n(.*?)^\}}", text, re.DOTALL | re.MULTILINE)
    assert found is not None
    return set(re.findall(r'^    "(\w+)":', found[1], re.MULTILINE))


@cache
def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))

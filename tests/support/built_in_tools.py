"""The tools that quorum brings, as its source defines them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("infrastructure/tools/builtin", "infrastructure/tools/web")


@cache
def list_built_in_tools(*declaring: str) -> frozenset[str]:
    """The names in all definitions of tools, or in those of modules that call one of these functions.

    Most names are texts, the others constants.
    """
    names = {
        _resolve_text(keyword.value, path)
        for folder in FOLDERS
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


@cache
def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))

"""One class name stands for one thing in the whole product, so that a name can be searched for."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("domain", "application", "infrastructure", "tui", "quorum")


@pytest.mark.long
def test_no_two_classes_have_the_same_name() -> None:
    assert _repeated(_classes(ROOT)) == {}


def test_two_classes_of_one_name_are_found_wherever_they_stand(tmp_path: Path) -> None:
    for package in PACKAGES:
        (tmp_path / package).mkdir()
    (tmp_path / "domain/one.py").write_text("class Plan: ...\nclass _Row: ...\n", encoding="utf-8")
    (tmp_path / "tui/two.py").write_text("class Bar:\n    class Plan: ...\nclass _Row: ...\n", encoding="utf-8")

    assert _repeated(_classes(tmp_path)) == {
        "Plan": ["domain/one.py:1", "tui/two.py:2"],
        "_Row": ["domain/one.py:2", "tui/two.py:3"],
    }


def _classes(root: Path) -> dict[str, list[str]]:
    """Where each class of the product is defined, private and nested ones included."""
    places: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(f"{path.relative_to(root).as_posix()}:{node.lineno}")
    return places


def _repeated(places: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: found for name, found in places.items() if len(found) > 1}

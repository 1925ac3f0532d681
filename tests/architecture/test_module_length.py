"""A module is about one concept: more than 700 lines hold several, except where they are a table of data."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("domain", "application", "infrastructure", "tui", "quorum")
LIMIT = 700
# Tables: entries of one form that are looked up, and no more code than reads them.
DATA = frozenset({"domain/shell/star_tables.py"})


def test_no_module_has_more_than_seven_hundred_lines() -> None:
    assert _too_long(ROOT, DATA) == {}


def test_a_long_module_is_found_wherever_it_stands(tmp_path: Path) -> None:
    for name, lines in (("domain/calls/one.py", 701), ("tui/two.py", 700), ("quorum/table.py", 800)):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n" * lines, encoding="utf-8")

    assert _too_long(tmp_path, frozenset({"quorum/table.py"})) == {"domain/calls/one.py": 701}


def test_each_table_is_there() -> None:
    assert [name for name in DATA if not (ROOT / name).is_file()] == []


def _too_long(root: Path, but: frozenset[str]) -> dict[str, int]:
    """Lines of each module of the product that has more than it may, but for the tables."""
    return {
        name: lines
        for package in PACKAGES
        for path in sorted((root / package).rglob("*.py"))
        if (name := path.relative_to(root).as_posix()) not in but
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > LIMIT
    }

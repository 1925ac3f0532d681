from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.test_import_contracts import ROOT

WIRING = [
    *sorted((ROOT / "infrastructure/composition").glob("*.py")),
    *(ROOT / "infrastructure" / name for name in ("bootstrap.py", "owned_sessions.py", "gate/sessions.py")),
]
MOST_LINES = 915
"""What decides, reads or has defaults belongs to the modules that own it, and is built there."""


def plant(source: str) -> tuple[str, set[tuple[int, str]]]:
    """The source with a wrong name for every keyword of every call, and where they are."""
    lines, planted = source.splitlines(keepends=True), set()
    keywords = [
        keyword
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and not (isinstance(call.func, ast.Name) and call.func.id == "dataclass")
        for keyword in call.keywords
        if keyword.arg is not None
    ]
    for keyword in sorted(keywords, key=lambda each: (each.lineno, each.col_offset), reverse=True):
        assert keyword.arg is not None
        row, end = keyword.lineno - 1, keyword.col_offset + len(keyword.arg)
        lines[row] = f"{lines[row][:end]}_planted{lines[row][end:]}"
        planted.add((keyword.lineno, f"{keyword.arg}_planted"))
    return "".join(lines), planted


def test_the_wiring_hands_over_nothing_that_the_type_checker_cannot_see() -> None:
    for path in WIRING:
        calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        assert not [call.lineno for call in calls if any(keyword.arg is None for keyword in call.keywords)]
        assert "add_kwargs" not in path.read_text("utf-8")


def test_the_wiring_stays_short() -> None:
    composition = [path for path in WIRING if path.parent.name == "composition" or path.name == "bootstrap.py"]

    assert sum(len(path.read_text("utf-8").splitlines()) for path in composition) <= MOST_LINES


@pytest.mark.long
@pytest.mark.timeout(900)  # the type checker begins without a cache
def test_a_wrong_keyword_anywhere_in_the_wiring_is_an_error_of_the_type_checker(tmp_path: Path) -> None:
    checked, planted = [], set()
    for number, path in enumerate(WIRING):
        text, places = plant(path.read_text(encoding="utf-8"))
        copy = tmp_path / f"{number}.py"
        copy.write_text(text, encoding="utf-8")
        name_of_type_checker = str(Path("quorum", path.relative_to(ROOT)))
        checked += ["--shadow-file", name_of_type_checker, str(copy)]
        module = name_of_type_checker.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        checked += ["--module", module]
        planted |= {(name_of_type_checker, name) for _, name in places}

    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), "--no-error-summary", *checked],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    found = re.findall(r"^(\S+?):\d+:.*[Uu]nexpected keyword argument \"(\w+)\"", done.stdout, re.MULTILINE)
    assert len(planted) > 280
    assert planted - set(found) == set(), done.stdout[-3000:]

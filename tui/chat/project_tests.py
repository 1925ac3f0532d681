"""The command that runs the tests of a project, as far as the files of its folder tell."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from pathlib import Path

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_PYTEST_FILES = frozenset({"pytest.ini", "conftest.py", "tox.ini"})
_PYTHON_FILES = frozenset({"pyproject.toml", "setup.py", "setup.cfg"})
_FOLDERS = frozenset({"test", "tests"})
_MOST_BYTES = 256 * 1024
_TARGET = re.compile(r"^test[ \t]*:(?!=)", re.MULTILINE)
_PYTHON_TEST = re.compile(r"(?:test_.*|.*_test)\.py")
_NO_SCRIPT = "no test specified"
"""What npm writes for a project without tests."""


def find_test_command(workspace: Path, names: AbstractSet[str], source: str) -> str:
    """The command, empty where none is known. `names` are in the folder, `source` is a source file of it."""
    makefile = next((name for name in _MAKEFILES if name in names), "")
    if makefile and _TARGET.search(_read(workspace / makefile)):
        return "make test"
    if _is_tested_by_pytest(names, source):
        return "pytest"
    if "package.json" in names and _has_test_script(_read(workspace / "package.json")):
        return "npm test"
    if "Cargo.toml" in names:
        return "cargo test"
    return "go test ./..." if "go.mod" in names else ""


def _is_tested_by_pytest(names: AbstractSet[str], source: str) -> bool:
    is_python = bool(names & _PYTHON_FILES) or source.endswith(".py")
    has_tests = bool(names & _FOLDERS) or any(map(_PYTHON_TEST.fullmatch, names))
    return bool(names & _PYTEST_FILES) or (is_python and has_tests)


def _has_test_script(text: str) -> bool:
    import json

    try:
        package = json.loads(text)
    except (ValueError, RecursionError):
        return False
    scripts = package.get("scripts") if isinstance(package, dict) else None
    script = scripts.get("test") if isinstance(scripts, dict) else None
    return isinstance(script, str) and bool(script.strip()) and _NO_SCRIPT not in script


def _read(path: Path) -> str:
    """The beginning of a regular file; empty where it cannot be read."""
    try:
        if path.is_symlink() or not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode(errors="replace")
    except OSError:
        return ""

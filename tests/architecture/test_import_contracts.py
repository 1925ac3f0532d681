"""Each import contract holds, and bites: a planted violation is caught by exactly that contract."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("domain", "application", "infrastructure", "tui", "quorum")

PLANTED = {
    "Imports point inwards": ("application/planted.py", "import quorum.headless.printer"),
    "The screen sees no infrastructure": ("tui/planted.py", "import quorum.infrastructure.container"),
    "The composition root alone names what keeps sessions": (
        "quorum/planted.py",
        "def late():\n    from quorum.infrastructure.store.ledger.opening import open_database",
    ),
    "Domain and application know no SDK, no screen, no container": ("domain/planted.py", "import textual"),
    "One importer of anthropic": ("infrastructure/planted.py", "import anthropic"),
    "One importer of openai": ("infrastructure/planted.py", "def late():\n    import openai"),
    "One importer of tree-sitter": ("infrastructure/planted.py", "def late():\n    import tree_sitter"),
    "One importer of copilot": ("infrastructure/planted.py", "def late():\n    import copilot"),
    "PostgreSQL and migrations alone import SQLAlchemy": (
        "infrastructure/store/ledger/planted.py",
        "def late():\n    import sqlalchemy",
    ),
    "One importer of psycopg": (
        "infrastructure/store/ledger/planted.py",
        "def late():\n    import psycopg",
    ),
    "One importer of obstore": (
        "infrastructure/store/blobs/planted.py",
        "def late():\n    import obstore",
    ),
    "One importer of Alembic": (
        "infrastructure/store/ledger/planted.py",
        "def late():\n    import alembic",
    ),
    "One importer of procrastinate": (
        "infrastructure/store/ledger/planted.py",
        "def late():\n    import procrastinate",
    ),
    "One importer of keyring": ("infrastructure/planted.py", "def late():\n    import keyring"),
    "One importer of cbor2": ("infrastructure/planted.py", "def late():\n    import cbor2"),
    "Signed exports, web push and the proxy of commands alone import cryptography": (
        "infrastructure/planted.py",
        "def late():\n    import cryptography.x509",
    ),
    "One importer of h11": ("infrastructure/planted.py", "def late():\n    import h11"),
    "One importer of OpenTelemetry": (
        "infrastructure/planted.py",
        "def late():\n    import opentelemetry.trace",
    ),
    "One importer of mcp": ("infrastructure/planted.py", "def late():\n    import mcp"),
    "One importer of acp": ("quorum/cli/planted.py", "def late():\n    import acp"),
    "One importer of aiohttp and textual-serve": ("quorum/cli/planted.py", "def late():\n    import aiohttp"),
    "One importer of dependency_injector": ("tui/planted.py", "import dependency_injector"),
    "Infrastructure draws nothing": ("infrastructure/planted.py", "import rich"),
    "No package imports in circles": ("domain/text/json_value.py", "import quorum.domain.calls.tool"),
}


def lint(tree: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree), "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages; who changes it puts it back."""
    copy = tmp_path_factory.mktemp("tree")
    ignored = shutil.ignore_patterns("__pycache__")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, copy / package, symlinks=True, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


@contextmanager
def planted(file: Path, statement: str) -> Iterator[None]:
    before = file.read_bytes() if file.exists() else None
    try:
        with file.open("a", encoding="utf-8") as appended:
            appended.write(f"\n{statement}\n")
        yield
    finally:
        if before is None:
            file.unlink()
        else:
            file.write_bytes(before)


@pytest.mark.long
@pytest.mark.requirement("E03")
def test_every_contract_holds() -> None:
    result = lint(ROOT)

    assert result.returncode == 0, result.stdout
    assert f"Contracts: {len(PLANTED)} kept, 0 broken." in result.stdout


@pytest.mark.long(after=1)
@pytest.mark.parametrize("contract", PLANTED)
def test_a_planted_violation_is_caught(contract: str, tree: Path) -> None:
    place, statement = PLANTED[contract]
    with planted(tree / place, statement):
        result = lint(tree)

    assert result.returncode == 1
    assert f"{contract} BROKEN" in result.stdout

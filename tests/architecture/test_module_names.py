"""Where a module is named by a text, to be imported later, a renamed one does not stay behind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.infrastructure.config.keys import list_keys

ROOT = Path(__file__).parents[2]
PACKAGES = ("domain", "application", "infrastructure", "tui", "quorum")
NO_MODULES = {"quorum.toml", "quorum.tcss", "quorum.tools", "quorum.events"}
"""Files, a group of entry points and a logger; the attributes of telemetry have a module of their own."""
_NAME = re.compile(rf"\"((?:{'|'.join(PACKAGES)})(?:\.[a-z_][a-z0-9_]*)+)\"")


def test_every_module_that_a_text_names_is_there() -> None:
    settings = {".".join(map(str, key.path)) for key in list_keys()}
    named = {each for each in _list_names(ROOT) if each[1] not in NO_MODULES | settings}

    assert ("quorum/fleet/work.py", "quorum.infrastructure.bootstrap") in named
    assert {(path, name) for path, name in named if not _is_there(name)} == set()


@pytest.mark.parametrize(
    "name", ["quorum.infrastructure.storage", "quorum.infrastructure.store.ledger", "quorum.tui.app.app.App"]
)
def test_modules_and_packages_are_there(name: str) -> None:
    assert _is_there(name) is not name.endswith("App")


def _list_names(root: Path) -> Iterator[tuple[str, str]]:
    for package in PACKAGES:
        for path in (root / package).rglob("*.py"):
            if (place := str(path.relative_to(root))) != "infrastructure/telemetry/names.py":
                yield from ((place, name) for name in _NAME.findall(path.read_text(encoding="utf-8")))


def _is_there(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()

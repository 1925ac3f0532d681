"""What is locked: every dependency and the extras that `make setup` installs, from no index in particular."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
_NAME = re.compile(r"[\w.-]+")


def locked(name: str) -> set[str]:
    """The names in a lock file."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    return set(re.findall(r"^([\w.-]+)==", text, re.MULTILINE))


def named(requirements: list[str]) -> set[str]:
    return {found.group() for each in requirements if (found := _NAME.match(each))}


@pytest.mark.parametrize("lock", ["run.txt", "dev.txt"])
def test_a_lock_holds_what_every_installation_and_the_usual_extras_need(lock: str) -> None:
    usual = EXTRAS["copilot"] + EXTRAS["keyring"] + EXTRAS["mcp"] + EXTRAS["serve"] + EXTRAS["web"]

    assert named(PROJECT["dependencies"] + usual) <= locked(lock)
    assert "://" not in (ROOT / "requirements" / lock).read_text(encoding="utf-8")


def test_what_is_an_extra_is_no_dependency_and_all_names_every_extra() -> None:
    names = {name for requirements in EXTRAS.values() for name in named(requirements)} - {"quorum-agent"}
    (everything,) = EXTRAS["all"]

    assert named(PROJECT["dependencies"]) & names <= {"anthropic"}  # whose own extras those of clouds are
    assert everything == f"quorum-agent[{','.join(sorted(set(EXTRAS) - {'all'}))}]"

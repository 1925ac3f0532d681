"""AGENTS.md is short, and what it names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
_PATH = re.compile(r"`((?:domain|application|infrastructure|tui|quorum|tests|docs|benchmarks)/[\w./-]*)`")


def test_the_guide_has_at_most_sixty_lines() -> None:
    assert len(GUIDE.splitlines()) <= 60


@pytest.mark.requirement("E17")
@pytest.mark.parametrize("path", sorted(set(_PATH.findall(GUIDE))))
def test_every_place_it_names_is_there(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("package", ["domain", "application", "tui"])
def test_every_package_of_a_layer_is_named(package: str) -> None:
    row = next(line for line in GUIDE.splitlines() if line.startswith(f"| `{package}/`"))
    named = set(re.findall(r"`(\w+)/?`", row))
    found = {place.parent.name for place in (ROOT / package).glob("*/__init__.py")}

    assert named - {package} - {"model", "layout", "draw", "kinds", "cells"} == found


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#]+)\)", README))))
def test_every_link_of_the_readme_leads_somewhere(link: str) -> None:
    assert (ROOT / link).exists()


@pytest.mark.requirement("E17")
@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.name)
def test_every_link_between_the_guides_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]

    assert missing == []

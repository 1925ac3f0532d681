"""The guides are short, and what they name is there: headings, and the tests that show a claim."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
INDEX = DOCS / "README.md"
GUIDES = sorted(DOCS.rglob("*.md"))
_FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
_TEST = re.compile(r"`(?:tests/)?((?:\w+/)*test_\w+\.py)`")
_GENERATED_TABLE = re.compile(r"<!-- [\w ]+: begin -->.*?<!-- [\w ]+: end -->", re.DOTALL)
_CASE = re.compile(r"`(?:tests/)?((?:\w+/)*test_\w+\.py)::(test_\w+)`")


def _anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _anchors(page: Path) -> set[str]:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return {_anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", [ROOT / "README.md", *GUIDES], ids=lambda page: page.name)
def test_every_link_to_a_heading_leads_to_one(page: Path) -> None:
    links = [(link, anchor) for link, anchor in _LINK.findall(page.read_text(encoding="utf-8")) if anchor]
    local = [(page.parent / link if link else page, anchor) for link, anchor in links if "://" not in link]

    assert [f"{path.name}#{anchor}" for path, anchor in local if anchor not in _anchors(path)] == []


@pytest.mark.parametrize("page", [page for page in GUIDES if page.name != "checklist.md"], ids=lambda p: p.name)
def test_every_test_that_a_guide_names_is_there(page: Path) -> None:
    named = set(_TEST.findall(page.read_text(encoding="utf-8")))

    assert sorted(name for name in named if not (ROOT / "tests" / name).exists()) == []


@pytest.mark.parametrize("page", [page for page in GUIDES if page.name != "checklist.md"], ids=lambda p: p.name)
def test_every_function_of_a_test_that_a_guide_names_is_there(page: Path) -> None:
    named = set(_CASE.findall(page.read_text(encoding="utf-8")))

    assert sorted(f"{path}::{name}" for path, name in named if not _defines(ROOT / "tests" / path, name)) == []


def _defines(path: Path, name: str) -> bool:
    return path.exists() and f"def {name}(" in path.read_text(encoding="utf-8")


def test_the_guides_have_at_most_sixty_thousand_words() -> None:
    written = [page for page in [ROOT / "README.md", *GUIDES] if page.name != "checklist.md"]
    texts = (_GENERATED_TABLE.sub("", page.read_text(encoding="utf-8")) for page in written)

    assert sum(len(text.split()) for text in texts) <= 60_000


def test_the_index_lists_every_guide() -> None:
    listed = {(INDEX.parent / link).resolve() for link, _ in _LINK.findall(INDEX.read_text(encoding="utf-8"))}

    assert [
        str(page.relative_to(DOCS)) for page in GUIDES if page != INDEX and page.resolve() not in listed
    ] == []


def test_pictures_load_nothing_from_elsewhere() -> None:
    pictures = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "images").glob("*.svg")}

    assert len(pictures) > 5
    assert [
        name for name, text in pictures.items() if re.search(r"@font-face|@import|url\(\W*http|href=", text)
    ] == []

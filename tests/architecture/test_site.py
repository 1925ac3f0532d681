"""The site that `make site` builds has all pages of the guide, and what they link to."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").glob("*.md"))
INDEX = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
SITE: dict[str, Any] = runpy.run_path(str(ROOT / ".ci" / "site.py"))


def list_paths(entry: object) -> list[str]:
    match entry:
        case str():
            return [entry]
        case dict():
            return [path for each in entry.values() for path in list_paths(each)]
        case list():
            return [path for each in entry for path in list_paths(each)]
    raise AssertionError(entry)


def test_the_navigation_has_every_page_of_the_guide_in_the_order_of_the_index() -> None:
    paths = list_paths(tomllib.loads(SITE["render_settings"](INDEX))["project"]["nav"])

    assert set(paths) >= {f"docs/{page.name}" for page in DOCS}
    assert (
        paths.index("docs/getting-started.md") < paths.index("docs/sandbox.md") < paths.index("docs/hooks.md")
    )


def test_a_title_with_marks_of_markdown_and_quotes_stays_a_text() -> None:
    index = '**One**\n\n- [`!` "commands"](a.md), [b](b.md): text\n  and [c](c.md)\n'
    nav = tomllib.loads(SITE["render_settings"](index))["project"]["nav"]

    assert nav[2] == {"One": [{'! "commands"': "docs/a.md"}, {"b": "docs/b.md"}, {"c": "docs/c.md"}]}


def test_the_site_holds_whatever_its_pages_link_to(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    SITE["gather"](pages)

    for page in pages.rglob("*.md"):
        for target in re.findall(r"\]\((?![a-z]+:|#)([^)#\s]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_what_belongs_to_a_numbered_item_is_indented_so_that_every_renderer_sees_it(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)

    for item in re.findall(r"^\d+\. .*\n(?:\n? {1,3}\S.*\n)+", text, flags=re.MULTILINE):
        assert "```" not in item, f"indent by four spaces below: {item}"

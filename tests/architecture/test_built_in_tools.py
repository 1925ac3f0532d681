"""A built-in tool is known in every table that says something of tools by their names."""

from __future__ import annotations

import re

import pytest

from domain.review.permissions import READERS, WRITERS
from tests.support.built_in_tools import ROOT, list_built_in_tools

TABLES = {
    "quorum/acp_agent/tool_calls.py": ("_KINDS", set[str]()),
    "tui/transcript/draw/rows.py": ("VERBS", {"jobs", "task", "fail_task"}),
}
"""The tables, each with the tools that may be missing: what is said of any other tool is right for them too."""


@pytest.mark.parametrize("path", TABLES)
def test_every_built_in_tool_stands_in_the_table(path: str) -> None:
    table, others = TABLES[path]

    assert list_built_in_tools() - _read_keys(path, table) == others


def test_the_guide_names_every_built_in_tool() -> None:
    guide = (ROOT / "docs/tools.md").read_text(encoding="utf-8")

    assert {"read_file", "run_command", "web_fetch", "apply_patch", "create_plan"} <= list_built_in_tools()
    assert {name for name in list_built_in_tools() if f"`{name}`" not in guide} == set()


def test_rules_about_paths_cover_every_tool_that_reads_or_changes_files() -> None:
    assert list_built_in_tools("declare_reading", "declare_listing") == READERS
    assert list_built_in_tools("declare_writing") == WRITERS


def _read_keys(path: str, table: str) -> set[str]:
    text = (ROOT / path).read_text(encoding="utf-8")
    found = re.search(rf"^{table}\b[^\n]*= \{{\n(.*?)^\}}", text, re.DOTALL | re.MULTILINE)
    assert found is not None
    return set(re.findall(r'^    "(\w+)":', found[1], re.MULTILINE))

"""A built-in tool stands in the table of tools, in the guide, and in the families of rules about paths."""

from __future__ import annotations

import subprocess
import sys

import pytest

from quorum.domain.calls.tool_traits import ToolTraits
from quorum.domain.review.permission_rules import READERS, WRITERS
from quorum.infrastructure.tools.built_in_tools import MODULES, find_built_in_traits
from tests.support.built_in_tools import ROOT, list_built_in_tools


def test_the_table_names_every_built_in_tool_and_each_module_states_traits() -> None:
    assert set(MODULES) == list_built_in_tools()
    assert all(isinstance(find_built_in_traits(name), ToolTraits) for name in MODULES)


def test_the_guide_names_every_built_in_tool() -> None:
    guide = (ROOT / "docs/tools.md").read_text(encoding="utf-8")

    assert {"read_file", "run_command", "web_fetch", "apply_patch", "create_plan"} <= list_built_in_tools()
    assert {name for name in list_built_in_tools() if f"`{name}`" not in guide} == set()


def test_families_of_rules_about_paths_are_tools_that_declare_what_they_read_or_change() -> None:
    assert list_built_in_tools("declare_reading", "declare_listing") >= READERS
    assert list_built_in_tools("declare_writing") >= WRITERS


@pytest.mark.long
def test_the_composition_root_has_the_screen_know_the_tools() -> None:
    program = (
        "import quorum.infrastructure.bootstrap\nfrom quorum.domain.calls.tool_traits import find_traits\n"
        "print(find_traits('read_file').verb)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)

    assert done.stdout == "read\n"

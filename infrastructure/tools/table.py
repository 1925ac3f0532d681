"""The built-in tools by name, in the order in which they are offered. A module is imported on first use."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final

from domain.calls.tool_traits import ToolTraits

MODULES: Final = {
    "read_file": ".builtin.read_file",
    "list_directory": ".builtin.list_directory",
    "glob_search": ".builtin.glob_search",
    "grep_search": ".builtin.grep_search",
    "write_file": ".builtin.write_file",
    "edit_file": ".builtin.edit_file",
    "apply_patch": ".builtin.apply_patch",
    "run_command": "..execution.commands.run_command",
    "jobs": ".builtin.jobs",
    "update_plan": ".builtin.update_plan",
    "create_plan": ".builtin.create_plan",
    "update_task": ".builtin.update_task",
    "load_skill": ".builtin.load_skill",
    "inspect": ".builtin.inspect",
    "task": ".builtin.task",
    "run_task": ".builtin.run_task",
    "fail_task": ".builtin.fail_task",
    "web_fetch": ".web.fetching",
    "web_search": ".web.searching",
}
"""The module of each tool, from this package. It states the tool's traits as TRAITS."""


@cache
def find_built_in_traits(name: str) -> ToolTraits | None:
    """The traits that the module of a built-in tool states; None for any other tool."""
    module = MODULES.get(name)
    if module is None:
        return None
    traits: object = import_module(module, __package__).TRAITS
    assert isinstance(traits, ToolTraits)
    return traits

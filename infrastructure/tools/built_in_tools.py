"""The built-in tools by name, in the order in which they are offered. A module is imported on first use."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from quorum.domain.calls.tool_traits import ToolTraits, use_built_in_traits

if TYPE_CHECKING:  # who only asks for traits imports no session
    from quorum.application.ports.tools import Tool
    from quorum.infrastructure.tools.builtin.parts import ToolParts

MODULES: Final = {
    "read_file": ".builtin.read_file",
    "list_directory": ".builtin.list_directory",
    "glob_search": ".builtin.glob_search",
    "grep_search": ".builtin.grep_search",
    "code_lookup": ".builtin.code_lookup",
    "write_file": ".builtin.write_file",
    "edit_file": ".builtin.edit_file",
    "apply_patch": ".builtin.apply_patch",
    "run_command": ".builtin.run_command",
    "jobs": ".builtin.jobs",
    "update_plan": ".builtin.update_plan",
    "create_plan": ".builtin.create_plan",
    "update_task": ".builtin.update_task",
    "ask_person": ".builtin.ask_person",
    "propose_checks": ".builtin.propose_checks",
    "load_skill": ".builtin.load_skill",
    "inspect": ".builtin.inspect",
    "task": ".builtin.task",
    "run_task": ".builtin.run_task",
    "fail_task": ".builtin.fail_task",
    "web_fetch": ".web.fetching",
    "web_search": ".web.searching",
    "find_tools": ".builtin.find_tools",
    "call_tool": ".builtin.call_tool",
}
"""The module of each tool, from this package: `TRAITS` states the tool's traits, and `build` makes the tool of
`ToolParts`, or None for a session that has no use for it."""


def find_built_in_traits(name: str) -> ToolTraits | None:
    """The traits that the module of a built-in tool states; None for any other tool."""
    module = MODULES.get(name)
    return _load_traits(module) if module is not None else None


@cache
def _load_traits(module: str) -> ToolTraits:
    traits: object = import_module(module, __package__).TRAITS
    assert isinstance(traits, ToolTraits)
    return traits


def build_tools(parts: ToolParts) -> tuple[Tool, ...]:
    """The built-in tools of a session. Raises ConfigError for settings of a tool that cannot be used."""
    web = parts.settings.tools.web  # its modules bring an HTTP client, and most sessions start without the web
    turned_off = {name for name, is_on in (("web_fetch", web.fetch), ("web_search", web.search)) if not is_on}
    builds = (import_module(MODULES[name], __package__).build for name in MODULES if name not in turned_off)
    built: Iterator[Tool | None] = (build(parts) for build in builds)
    return tuple(tool for tool in built if tool is not None)


# Here, so that no process can build tools without knowing which of them subagents may not have.
use_built_in_traits(find_built_in_traits)

"""Names that other agents give to what our tools do, so that files written for them can be used."""

from __future__ import annotations

_TOOLS = {
    "bash": "run_command",
    "edit": "edit_file",
    "fetch": "web_fetch",
    "glob": "glob_search",
    "grep": "grep_search",
    "ls": "list_directory",
    "multiedit": "edit_file",
    "read": "read_file",
    "shell": "run_command",
    "todowrite": "update_plan",
    "webfetch": "web_fetch",
    "websearch": "web_search",
    "write": "write_file",
}


def translate_tool_name(name: str) -> str:
    """The name of our tool for that of another agent's; any other name stays as it is."""
    return _TOOLS.get(name.lower(), name)

"""Names that other agents give to what our tools do, so that files written for them can be used."""

from __future__ import annotations

import re
from itertools import pairwise

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


# What models take for the name of a tool, by words of it; the first that is in a name counts.
_BY_WORD = (
    ("web_search", "websearch searchweb google bing internet"),
    ("web_fetch", "url browse browser http webpage fetch"),
    ("run_command", "delete remove move rename copy mkdir execute exec terminal bash shell command cmd run"),
    ("update_plan", "todo todos plan"),
    ("apply_patch", "patch diff"),
    ("edit_file", "edit replace insert modify update change append str"),
    ("write_file", "write create save new touch"),
    ("glob_search", "glob filesearch findfiles find locate"),
    ("grep_search", "grep ripgrep rg search codebase"),
    ("list_directory", "list ls dir directory folder tree"),
    ("read_file", "read view open cat file"),
)
_SPOKEN = frozenset(
    {"finish", "done", "complete", "completion", "final", "submit", "answer", "think", "respond", "ask"}
)
_WORD = re.compile(r"[a-z]+", re.ASCII)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def guess_meant_tool(name: str) -> str:
    """The tool that does what a name says that is none; empty where it says nothing of the kind."""
    words = _WORD.findall(_HUMP.sub(" ", name).lower())
    said = {*words, *("".join(pair) for pair in pairwise(words))}
    return next((tool for tool, known in _BY_WORD if said & set(known.split())), "")


def means_an_answer(name: str) -> bool:
    """Whether a name is that of a tool with which other agents end a task, ask or think."""
    return bool(_SPOKEN.intersection(_WORD.findall(_HUMP.sub(" ", name).lower())))

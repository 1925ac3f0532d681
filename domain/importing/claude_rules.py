"""Permission rules of Claude Code: `Bash(git push:*)`, `Read(./secrets/**)`, `mcp__server__tool`."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from msgspec import Struct

from quorum.domain.importing.translated_rule import (
    ALL_READERS,
    ALL_WRITERS,
    EVERY_TOOL,
    TranslatedRule,
    find_flaw,
    is_every_path,
    list_server_tools,
    restrict_all,
    restrict_files,
    restrict_paths,
    translate_command,
)
from quorum.domain.replacing import replace
from quorum.domain.review.permissions import COMMAND_TOOL, Answer

_RULE = re.compile(r"\s*(?P<tool>[^()\s]+)\s*(?:\((?P<content>.*)\))?\s*", re.DOTALL)
_SERVER = re.compile(r"mcp__(?P<server>.+?)(?:__(?P<tool>.*))?", re.DOTALL)

_COMMANDS = frozenset({"Bash", "PowerShell", "Monitor", "BashOutput", "KillShell", "REPL"})
_READING = {"Read": ALL_READERS, "Glob": ("glob_search",), "Grep": ("grep_search",), "LS": ("list_directory",)}
_WRITING = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
_OTHERS = {
    "Agent": "task",
    "Skill": "load_skill",
    "Task": "task",
    "TodoWrite": "update_plan",
    "WebFetch": "web_fetch",
    "WebSearch": "web_search",
}
_PARAMETERS = frozenset({"command", "dangerouslyDisableSandbox", "description", "run_in_background", "timeout"})
_EVERYTHING = frozenset({"", "*", "**", ":*"})
_NO_TOOL = "quorum has no such tool; the rule holds for calls that Claude Code asks the gate about"
READING_RUNS = "reading in the workspace needs no rule here; elsewhere it asks"
_ASKS = "it cannot be allowed here with the same meaning, so it asks"


class RulePlaces(Struct, frozen=True, kw_only=True):
    """Where paths in rules begin: the `folder` of the project whose settings they stand in, empty for those
    of the person, and the person's `home`."""

    folder: str = ""
    home: str = ""


def translate_claude_rule(text: str, answer: Answer, places: RulePlaces) -> TranslatedRule:
    """One entry of `permissions.allow`, `ask` or `deny`."""
    found = _RULE.fullmatch(text)
    if found is None:
        return _refuse(answer, "this is no rule of Claude Code that quorum knows")
    translated = _translate(found["tool"], (found["content"] or "").strip(), answer, places)
    if flaw := find_flaw(translated):
        return _refuse(answer, flaw)
    return translated


def _refuse(answer: Answer, why: str) -> TranslatedRule:
    """Nothing where it allows. What restricts and is not understood has every call asked about."""
    rules = () if answer is Answer.ALLOW else (EVERY_TOOL,)
    asks = "" if answer is Answer.ALLOW else ", so every call asks"
    return TranslatedRule(answer=answer if not rules else Answer.ASK, rules=rules, why=f"{why}{asks}")


_NAMES = {name.lower(): name for name in (*_COMMANDS, *_READING, *_WRITING, *_OTHERS)}


def _translate(tool: str, content: str, answer: Answer, places: RulePlaces) -> TranslatedRule:
    if answer is not Answer.ALLOW:
        tool = _NAMES.get(tool.lower(), tool)
    if (server := _SERVER.fullmatch(tool)) is not None:
        return _translate_server_tool(server["server"], server["tool"] or "*", answer)
    if "*" in tool or "?" in tool:
        return _translate_glob(tool, answer, places)
    if tool in _COMMANDS:
        return _translate_command(content, answer)
    if tool in _READING or tool in _WRITING:
        return _translate_files(tool, content, answer, places)
    if answer is Answer.ALLOW:
        return TranslatedRule(answer=answer, why=_ASKS)
    if tool == "WebFetch" and content.startswith("domain:"):
        return _restrict_host(content.removeprefix("domain:").strip(), answer)
    if tool in _OTHERS:
        return restrict_all((_OTHERS[tool],), answer, "" if content in _EVERYTHING else "call of the tool")
    named = "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "?" for char in tool)
    return TranslatedRule(answer=answer, rules=(f"caller__{named}",), why=_NO_TOOL)


def _translate_server_tool(server: str, tool: str, answer: Answer) -> TranslatedRule:
    if answer is Answer.ALLOW:
        why = "tools of MCP servers run unasked only where read_only names them: docs/mcp.md"
        return TranslatedRule(answer=answer, why=why)
    return TranslatedRule(answer=answer, rules=list_server_tools(server, tool))


def _translate_glob(pattern: str, answer: Answer, places: RulePlaces) -> TranslatedRule:
    """Every tool whose name there fits."""
    if answer is Answer.ALLOW:
        return TranslatedRule(answer=answer, why=_ASKS)
    if not pattern.strip("*"):
        return TranslatedRule(answer=answer, rules=(EVERY_TOOL,))
    names = [name for name in (*_COMMANDS, *_READING, *_WRITING, *_OTHERS) if fnmatchcase(name, pattern)]
    rules = [rule for name in sorted(names) for rule in _translate(name, "", answer, places).rules]
    rules.append(pattern if pattern.startswith("mcp__") else f"caller__{pattern}")
    return TranslatedRule(answer=answer, rules=tuple(dict.fromkeys(rules)))


def _translate_command(content: str, answer: Answer) -> TranslatedRule:
    if content in _EVERYTHING:
        if answer is Answer.ALLOW:
            why = "it allows every command: choose a review mode for that (docs/review.md)"
            return TranslatedRule(answer=answer, why=why)
        return TranslatedRule(answer=answer, rules=(COMMAND_TOOL,))
    if content.partition(":")[0] in _PARAMETERS and not content.endswith(":*"):
        if answer is Answer.ALLOW:
            return TranslatedRule(answer=answer, why=_ASKS)
        return restrict_all((COMMAND_TOOL,), answer, "command")
    return translate_command(content, answer)


def _translate_files(tool: str, content: str, answer: Answer, places: RulePlaces) -> TranslatedRule:
    tools = _READING.get(tool, ALL_WRITERS)
    if answer is Answer.ALLOW:
        return _allow_files(tool, content)
    if content.startswith("!"):
        why = "a pattern that begins with ! takes nothing away here: what others deny stays denied"
        return TranslatedRule(answer=answer, why=why)
    patterns = restrict_paths(content, folder=places.folder, home=places.home)
    if not patterns or content in _EVERYTHING:
        is_all = content in _EVERYTHING or is_every_path(content)
        return restrict_all(tools, answer, "" if is_all else "path")
    if tool in ("Glob", "Grep", "LS"):
        tools = ALL_READERS
    return restrict_files(patterns, answer, tools=tools)


def _allow_files(tool: str, content: str) -> TranslatedRule:
    """Reading needs no rule here. Writing is allowed below a folder of the workspace that is plainly named."""
    answer = Answer.ALLOW
    if tool in _READING:
        return TranslatedRule(
            answer=answer, why="reading in the workspace needs no rule here; elsewhere it asks"
        )
    inner = content.removeprefix("./")
    if inner.endswith("/**") and re.fullmatch(
        r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*", inner[:-3]
    ):
        return TranslatedRule(answer=answer, rules=(f"write_file({inner})",))
    return TranslatedRule(answer=answer, why=_ASKS)


def _restrict_host(host: str, answer: Answer) -> TranslatedRule:
    name = host.removeprefix("*.")
    if not re.fullmatch(r"[A-Za-z0-9.-]+", name):
        return restrict_all(("web_fetch",), answer, "address")
    rule = TranslatedRule(answer=answer, rules=(f"web_fetch(url=*{name}*)",))
    return replace(rule, why="wider: every address that holds the name")

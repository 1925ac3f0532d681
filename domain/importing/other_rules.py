"""Permission rules of opencode, Gemini CLI, Copilot CLI and Kimi Code: tools of theirs, with patterns."""

from __future__ import annotations

import re

from quorum.domain.importing.claude_rules import READING_RUNS, RulePlaces, translate_claude_rule
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

_ASKS = "it cannot be allowed here with the same meaning, so it asks"
_EVERYTHING = frozenset({"", "*", "**"})
_HOST = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.*-]*://)?(?P<host>[A-Za-z0-9.*-]+)(?P<rest>[:/].*)?")

_TOOLS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("bash", "shell", "run_shell_command", "ShellTool"), (COMMAND_TOOL,)),
    **dict.fromkeys(("read", "read_file", "read_many_files", "ReadFileTool"), ALL_READERS),
    **dict.fromkeys(
        ("edit", "write", "write_file", "replace", "patch", "WriteFileTool", "EditTool"), ALL_WRITERS
    ),
    **dict.fromkeys(("grep", "grep_search", "search_file_content"), ("grep_search",)),
    **dict.fromkeys(("list", "list_directory", "LSTool"), ("list_directory",)),
    **dict.fromkeys(("webfetch", "web_fetch", "url", "WebFetchTool"), ("web_fetch",)),
    **dict.fromkeys(("websearch", "google_web_search"), ("web_search",)),
    "glob": ("glob_search",),
    "skill": ("load_skill",),
    "task": ("task",),
    "todowrite": ("update_plan",),
}


def translate_other_rule(tool: str, pattern: str, answer: Answer, places: RulePlaces) -> TranslatedRule:
    """A rule for a tool there; in `pattern`, `*` stands for any text, slashes included."""
    translated = _translate(tool, pattern.strip(), answer, places)
    if flaw := find_flaw(translated):
        why = f"{flaw}, so every call asks"
        return TranslatedRule(answer=Answer.ASK, rules=(EVERY_TOOL,), why=why)
    return translated


def _translate(tool: str, pattern: str, answer: Answer, places: RulePlaces) -> TranslatedRule:
    if tool == EVERY_TOOL:
        if answer is Answer.ALLOW:
            return TranslatedRule(answer=answer, why=_ASKS)
        return TranslatedRule(answer=answer, rules=(EVERY_TOOL,))
    if tool == "external_directory":
        why = "what lies outside of the workspace asks here"
        return TranslatedRule(answer=answer, why=why)
    tools = _TOOLS.get(tool)
    if tools is None:
        return _translate_unknown(tool, answer)
    if answer is Answer.ALLOW:
        if tools == (COMMAND_TOOL,) and pattern not in _EVERYTHING:
            return translate_command(pattern, answer)
        is_read = set(tools) <= set(ALL_READERS)
        return TranslatedRule(answer=answer, why=READING_RUNS if is_read else _ASKS)
    if pattern in _EVERYTHING:
        return TranslatedRule(answer=answer, rules=tools)
    if tools == (COMMAND_TOOL,):
        return translate_command(pattern, answer)
    if tools == ("web_fetch",):
        return _restrict_address(pattern, answer)
    if set(tools) <= {*ALL_READERS, *ALL_WRITERS}:
        paths = restrict_paths(widen_crossing(pattern), folder=places.folder, home=places.home)
        family = ALL_WRITERS if set(tools) <= set(ALL_WRITERS) else ALL_READERS
        if not paths:
            return restrict_all(tools, answer, "" if is_every_path(pattern) else "path")
        return restrict_files(paths, answer, tools=family)
    return restrict_all(tools, answer, "call of the tool")


def _translate_unknown(tool: str, answer: Answer) -> TranslatedRule:
    """One that is no tool of theirs that is known is one of a server, whose name comes first."""
    if answer is Answer.ALLOW:
        return TranslatedRule(answer=answer, why=_ASKS)
    name = tool.removeprefix("mcp_").strip("_")
    server, _, rest = name.partition("__" if "__" in name else "_")
    if "*" in server:
        return restrict_all(("mcp__*",), answer, "call of an MCP server")
    rules = list_server_tools(server, rest or "*")
    return TranslatedRule(answer=answer, rules=rules, why="taken for the tools of an MCP server")


def _restrict_address(pattern: str, answer: Answer) -> TranslatedRule:
    found = _HOST.fullmatch(pattern)
    host = (found["host"] if found is not None else "").rpartition("*")[2].strip(".")
    if not host:
        return restrict_all(("web_fetch",), answer, "address")
    rule = f"web_fetch(url=*{host}*)"
    return TranslatedRule(answer=answer, rules=(rule,), why="wider: every address that holds the name")


def widen_crossing(pattern: str) -> str:
    """A pattern whose `*` crosses folders, as one whose `**` does, which covers at least the same.

    A path that begins with a slash is one from the root.
    """
    pattern = pattern.replace("$HOME/", "~/", 1) if pattern.startswith("$HOME/") else pattern
    lead = "/" if pattern.startswith("/") else ""
    names = pattern.split("/")
    kept: list[str] = []
    for name in names:
        if name and not name.strip("*"):
            kept.append("**")
            continue
        if name.startswith("*") and len(names) > 1:
            kept.append("**")
        if (star := name.find("*", 1)) >= 0:
            kept.append(name[: star + 1])
            break  # what a denial names it denies with all below
        kept.append(name)
    return lead + "/".join(kept)


def translate_kimi_rule(text: str, answer: Answer, places: RulePlaces) -> TranslatedRule:
    """A rule of Kimi Code, which are written as those of Claude Code: one with a sign of a pattern means less
    there than here, and so allows nothing."""
    translated = translate_claude_rule(text, answer, places)
    if translated.answer is Answer.ALLOW and any(sign in text for sign in "*?[{!"):
        return replace(translated, rules=(), why=_ASKS)
    return translated

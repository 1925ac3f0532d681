"""Permission rules of other agents in our words: restrictions never narrower, allowances never wider.

Rules of Claude Code read `Bash(git push:*)`, `Read(./secrets/**)`, `mcp__server__tool`; those of Codex are
calls, `prefix_rule(pattern=["git", "push"], …)`. opencode, Gemini CLI, Copilot CLI and Kimi Code have tools of
theirs, with patterns.
"""

from __future__ import annotations

import ast
import posixpath
import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import product

from msgspec import Struct

from quorum.domain.replacing import replace
from quorum.domain.review.permission_rules import (
    COMMAND_TOOL,
    READ_ONLY,
    READERS,
    WRITERS,
    Answer,
    BadRule,
    Rule,
)
from quorum.domain.secrets.patterns import find_pattern_spans
from quorum.domain.text.python_syntax import parse_module

ALL_READERS = tuple(sorted(READERS))
ALL_WRITERS = tuple(sorted(WRITERS))
EVERY_TOOL = "*"

# What a shell, or a pattern of another agent, may read as something else than itself ends the part that is
# plain.
_PLAIN_TEXT = re.compile(r"[^*?\[\]{}()<>|&;$`\\\"'~#!\x00-\x1f]*+")
_ALLOWED_TEXT = re.compile(r"[A-Za-z0-9_.,/:@%+=-]+(?: [A-Za-z0-9_.,/:@%+=-]+)*")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=.*")
_WILD_NAME = re.compile(r"[\[\]{}\\]")
_UNFIT_IN_NAME = re.compile(r"[^A-Za-z0-9_*?-]")
_DEEPEST = 64


class TranslatedRule(Struct, frozen=True, kw_only=True):
    """What a rule of another agent becomes: `rules` of ours that give `answer`, none where there is no
    counterpart.

    `sensitive` and `protected` are the same paths as `[review]` has them, where searches, and commands in the
    sandbox, are to be kept from them as well. `why` says how the meaning differs, or why there is nothing;
    empty where it is the same.
    """

    answer: Answer
    rules: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    why: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether nothing here stands for it."""
        return not self.rules


def translate_command(text: str, answer: Answer) -> TranslatedRule:
    """A pattern of commands in which `*` stands for any text, and `:*` or ` *` at the end for any words."""
    if answer is not Answer.ALLOW:
        return _restrict_command(text, answer)
    begin = text.removesuffix(":*").removesuffix(" *")
    if find_pattern_spans(begin):
        return TranslatedRule(answer=answer, why="it seems to hold a secret, which is not copied, so it asks")
    if not _ALLOWED_TEXT.fullmatch(begin) or _ASSIGNMENT.fullmatch(begin.split(" ")[0]) or begin == READ_ONLY:
        return TranslatedRule(answer=answer, why="it cannot be allowed here with the same meaning, so it asks")
    return TranslatedRule(answer=answer, rules=(f"{COMMAND_TOOL}({begin if begin == text else f'{begin} *'})",))


def _restrict_command(text: str, answer: Answer) -> TranslatedRule:
    text = text.strip()
    if text.endswith(":*"):
        text = f"{text[:-2]} *"
    plain = _match_plain(text)
    words = plain.split()
    while words and _ASSIGNMENT.fullmatch(words[0]):
        del words[0]
    if words and plain == text and " ".join(words) != READ_ONLY:
        return TranslatedRule(answer=answer, rules=(f"{COMMAND_TOOL}({' '.join(words)})",))
    rest = text[len(plain) :]
    is_same = rest == "*" and plain[-1:].isspace()
    if words and rest and not plain[-1:].isspace():
        words[-1] += "*"
    if not words:
        is_all = not text.strip("*")
        return restrict_all((COMMAND_TOOL,), answer, "" if is_all else "command")
    rule = f"{COMMAND_TOOL}({' '.join(words)} *)"
    return TranslatedRule(answer=answer, rules=(rule,), why="" if is_same else "wider: all that begins so")


def restrict_all(rules: tuple[str, ...], answer: Answer, some_of: str = "") -> TranslatedRule:
    """Rules about every call of tools. They stand for some of these calls alone where `some_of` says of what,
    and ask then rather than deny all of them."""
    if answer is Answer.DENY and some_of:
        why = f"it denies only some and cannot be written exactly, so every {some_of} asks"
        return TranslatedRule(answer=Answer.ASK, rules=rules, why=why)
    return TranslatedRule(answer=answer, rules=rules, why=f"wider: every {some_of}" if some_of else "")


def _match_plain(text: str) -> str:
    """The part that means itself, up to what seems to be a secret."""
    found = _PLAIN_TEXT.match(text)
    secrets = [span.start for span in find_pattern_spans(text)]
    return (found[0] if found is not None else "")[: min(secrets, default=None)]


def restrict_paths(pattern: str, *, folder: str, home: str) -> tuple[str, ...]:
    """The patterns of paths that cover at least what a pattern as in ignore files covers.

    `//x` is a path from the root, `~/x` one of the home folder, `/x` one of `folder`, in which the settings
    stand, and any other one of the working directory. Empty for every path.
    """
    if pattern.startswith("//"):
        return _widen(posixpath.normpath(pattern[1:]))
    if pattern == "~" or pattern.startswith("~/"):
        return _widen(posixpath.normpath(f"{home}/{pattern[2:]}")) if home else _widen(pattern[2:])
    inner = pattern.lstrip("/")
    inner = inner if pattern.startswith("/") else inner.removeprefix("./")
    names = [name for name in inner.split("/") if name not in ("", ".")]
    if ".." in names:  # seen from the folder of the settings; the working directory may lie deeper
        last = [name for name in names[names.index("..") + 1 :] if name != ".."]
        return _widen("/".join(("/**", *last)))
    relative = _widen("/".join(names))
    if len(names) < 2 or not relative or not folder:
        return relative
    return (*relative, *_widen(posixpath.normpath(f"{folder}/{inner}")))


def _widen(pattern: str) -> tuple[str, ...]:
    """A pattern without the signs that ours has not; empty where all of it is wild."""
    lead, names = ("/" if pattern.startswith("/") else ""), [name for name in pattern.split("/") if name]
    kept: list[str] = []
    for name in names[:_DEEPEST]:
        if name.count("{") != name.count("}"):  # alternatives with folders in them: all that lies here
            kept.append("**")
            break
        kept.append("*" if _WILD_NAME.search(name) else name)
    if len(names) > _DEEPEST:
        kept.append("**")
    return () if all(not name.strip("*") for name in kept) else (lead + "/".join(kept),)


def is_every_path(pattern: str) -> bool:
    """Whether a pattern as in ignore files covers every path, at least of the working directory."""
    return not pattern.strip("*/.")


def list_name_runs(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """The same paths as `[review]` names them: by a run of names at any depth, and all below.

    An absolute path is none of them: its names would cover other files at any depth of the workspace.
    """
    found: list[str] = []
    for pattern in patterns:
        if is_anchored(pattern):
            continue
        names = [name for name in pattern.split("/") if name]
        while names and not names[-1].strip("*"):
            del names[-1]
        places = [place for place, name in enumerate(names) if name == "**"]
        run = "/".join(names[places[-1] + 1 :] if places else names)
        if run and len(run) <= 200:
            found.append(run)
    return tuple(dict.fromkeys(found))


def is_anchored(pattern: str) -> bool:
    """Whether a pattern holds below one place of the machine alone."""
    return pattern.startswith("/") and not pattern.startswith("/**/")


def restrict_files(patterns: tuple[str, ...], answer: Answer, *, tools: tuple[str, ...]) -> TranslatedRule:
    """Rules about these paths for tools that read or write files."""
    is_read = set(tools) <= READERS
    family = "read_file" if is_read else "write_file"
    rules = tuple(f"{family}({pattern})" for pattern in patterns)
    runs = list_name_runs(patterns) if answer is Answer.DENY else ()
    is_rule_alone = answer is Answer.DENY and all(map(is_anchored, patterns))
    setting = "review.sensitive" if is_read else "review.protected"
    found = ", so searches of folders above find it" if is_read else ""
    why = f"by this rule alone: {setting} cannot hold an absolute path{found}" if is_rule_alone else ""
    return TranslatedRule(
        answer=answer,
        rules=rules,
        sensitive=runs if is_read else (),
        protected=() if is_read else runs,
        why=why,
    )


def list_server_tools(server: str, tool: str = "*") -> tuple[str, ...]:
    """The patterns of the tools of an MCP server, by its name there and by the one that it gets here."""
    servers = (server, name_server(server)) if "*" not in server else (server.lower(), server)
    is_whole = "*" in server and tool == "*"
    names = (f"mcp__{name}" if is_whole else f"mcp__{name}__{tool}" for name in servers)
    return tuple(dict.fromkeys(_UNFIT_IN_NAME.sub("?", name) for name in names))


def name_server(name: str) -> str:
    """The name that a server of another agent gets here: small letters, digits and -."""
    found = "".join(char if char.isascii() and char.isalnum() else "-" for char in name.lower())
    return found.strip("-")[:32].strip("-")


def find_flaw(translated: TranslatedRule) -> str:
    """Why the rules could not be used; empty where they can."""
    try:
        for text in translated.rules:
            Rule.parse(text, translated.answer, "")
    except BadRule as problem:
        return str(problem)
    return ""


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


_ANSWERS = {"allow": Answer.ALLOW, "prompt": Answer.ASK, "forbidden": Answer.DENY}
_MOST_ALTERNATIVES = 64
_LONGEST = 200_000
_UNKNOWN = "it is not written as quorum knows it, so every command asks"


class CodexRule(Struct, frozen=True, kw_only=True):
    """One rule of a file: its text and line there, and what it is here."""

    text: str
    line: int
    translated: TranslatedRule


def read_codex_rules(text: str) -> Iterator[CodexRule]:
    """The rules of a file in its order. What is no rule that is known has every command asked about."""
    try:
        statements = parse_module(text[:_LONGEST]).body if len(text) <= _LONGEST else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        statements = None
    if statements is None:
        yield CodexRule(text="the whole file", line=1, translated=_ask_about_all())
        return
    for statement in statements:
        source = ast.get_source_segment(text, statement) or ""
        translated = _codex_rules_translate(statement)
        if translated is not None:
            yield CodexRule(text=" ".join(source.split()), line=statement.lineno, translated=translated)


def _ask_about_all() -> TranslatedRule:
    return TranslatedRule(answer=Answer.ASK, rules=(COMMAND_TOOL,), why=_UNKNOWN)


def _codex_rules_translate(statement: ast.stmt) -> TranslatedRule | None:
    if not isinstance(statement, ast.Expr):
        return _ask_about_all()
    call = statement.value
    if isinstance(call, ast.Constant):  # a text that only explains
        return None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        return _ask_about_all()
    try:
        given = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
    except (ValueError, RecursionError, MemoryError):
        return _ask_about_all()
    match call.func.id:
        case "prefix_rule":
            return _translate_prefix(given.get("pattern"), given.get("decision", "allow"))
        case "network_rule":
            return _translate_network(given.get("host"), given.get("decision"))
        case "host_executable":  # says only where a program of a rule may lie
            return None
        case _:
            return _ask_about_all()


def _translate_prefix(pattern: object, decision: object) -> TranslatedRule:
    answer = _ANSWERS.get(decision) if isinstance(decision, str) else None
    words = [[each] if isinstance(each, str) else each for each in pattern] if isinstance(pattern, list) else []
    is_known = all(isinstance(word, list) and word and all(isinstance(w, str) for w in word) for word in words)
    if answer is None or not words or not is_known:
        return _ask_about_all()
    kept, count = list[list[str]](), 1
    for alternatives in words:
        count *= len(alternatives)
        if count > _MOST_ALTERNATIVES:
            break
        kept.append(alternatives)
    if answer is Answer.ALLOW:
        is_plain = len(kept) == len(words) and all(" " not in word for each in words for word in each)
        found = (
            [translate_command(f"{' '.join(each)} *", answer) for each in product(*kept)] if is_plain else []
        )
        if not found or any(each.is_refused for each in found):
            return TranslatedRule(
                answer=answer, why="it cannot be allowed here with the same meaning, so it asks"
            )
        return TranslatedRule(answer=answer, rules=tuple(rule for each in found for rule in each.rules))
    if not kept:
        return restrict_all((COMMAND_TOOL,), answer, "command")
    texts = [" ".join(map(shlex.quote, each)) for each in product(*kept)]
    rules = tuple(f"{COMMAND_TOOL}({text} *)" for text in texts)
    return TranslatedRule(
        answer=answer, rules=rules, why="" if len(kept) == len(words) else "wider: all that begins so"
    )


def _translate_network(host: object, decision: object) -> TranslatedRule:
    if decision == "allow":
        return TranslatedRule(answer=Answer.ALLOW, why="addresses are asked about here as the mode says")
    if not isinstance(host, str) or decision not in ("deny", "prompt", "forbidden"):
        return _ask_about_all()
    answer = Answer.ASK if decision == "prompt" else Answer.DENY
    return TranslatedRule(answer=answer, rules=(f"web_fetch(url=*{host.strip('*.')}*)",))


_OTHER_RULES_EVERYTHING = frozenset({"", "*", "**"})
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
    translated = _other_rules_translate(tool, pattern.strip(), answer, places)
    if flaw := find_flaw(translated):
        why = f"{flaw}, so every call asks"
        return TranslatedRule(answer=Answer.ASK, rules=(EVERY_TOOL,), why=why)
    return translated


def _other_rules_translate(tool: str, pattern: str, answer: Answer, places: RulePlaces) -> TranslatedRule:
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
        if tools == (COMMAND_TOOL,) and pattern not in _OTHER_RULES_EVERYTHING:
            return translate_command(pattern, answer)
        is_read = set(tools) <= set(ALL_READERS)
        return TranslatedRule(answer=answer, why=READING_RUNS if is_read else _ASKS)
    if pattern in _OTHER_RULES_EVERYTHING:
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

"""Adds, removes and finds the hooks of the gate in the settings of other agents.

A change of a file leaves all else in it as it stands: comments, order, blanks, other hooks.
"""

from __future__ import annotations

import codecs
import difflib
import json
import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from enum import Enum
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from quorum.domain.errors import ConfigError
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.config.config_file import replace_content
from quorum.infrastructure.config.foreign_file import (
    ForeignFile,
    parse_json_text,
    read_foreign_text,
    read_json_file,
    read_table,
    read_toml_file,
)
from quorum.infrastructure.config.paths import locate, locate_state_folder
from quorum.infrastructure.config.policy_file import POLICY_PLACE
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.permissions.rule_file import FILE_NAME as RULES
from quorum.infrastructure.trust_decisions import FILE_NAME as TRUST

_MOST_BYTES = 1 << 20


def read_settings_state(root: Path, config_file: Path | None) -> tuple[object, ...]:
    """The marks of all files that settings and rules come from: equal as long as none of them changed. Blocks.

    Raises ConfigError for a variable that names no file.
    """
    places = locate(cwd=root, environ=os.environ, config_file=config_file)
    files = [places.named, places.user, *places.project_search]
    files += [places.user.with_name(RULES)] if places.user is not None else []
    state = locate_state_folder(os.environ)
    files += [state / TRUST] if state is not None else []
    files.append(POLICY_PLACE.file)
    return tuple(_read_mark(file) for file in files if file is not None)


def _read_mark(file: Path) -> tuple[object, ...]:
    """What a file is, and what it holds: a change within one tick of the clock leaves its times."""
    try:
        found = os.stat(file)
        held = file.read_bytes() if stat.S_ISREG(found.st_mode) and found.st_size <= _MOST_BYTES else b""
    except OSError as error:
        return (str(file), error.errno)
    return (str(file), found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size, held)


_ANSWER_SECS, _END_SECS = 55, 4  # until a gate answers as usual, and then until one that hangs is ended
_HOOK_SECS = 65  # more than the gate takes: agents run the call when a hook exceeds it
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|[{}\[\],:]|[^\s{}\[\],:"/]+', re.DOTALL)


class HookForm(Enum):
    """How an agent is told of a hook."""

    JSON = "a list of hooks for each event in its settings"
    TOML = "tables at the end of its settings"
    OWN_FILE = "a file that holds nothing else"


class HookedAgent(Struct, frozen=True, kw_only=True):
    """Where an agent has its hooks: the file `name` below the folder that `variable` names, else `folder` of
    the home folder; below `project` for those of a project, empty where it has none.

    `events` ask about calls, `prompt` only tells what was asked for. `scale` is how many units of its time
    limit a second has. `content` is the whole of a file, or what is added at the end of one, or what a new file
    of settings begins with; `is_flat`: the hooks of an event stand in its list by themselves.
    """

    dialect: str
    program: str
    form: HookForm
    variable: str = ""
    folder: str
    name: str
    project: str
    events: tuple[str, ...] = ()
    prompt: str = ""
    scale: int = 1
    content: str = ""
    is_flat: bool = False

    def locate(self, environ: Mapping[str, str], project: Path | None = None) -> Path:
        """The file, of the person, or of this project. Raises ConfigError where there is no such place."""
        if project is not None:
            if not self.project:
                raise ConfigError(f"{self.dialect} reads no hooks of a project; leave --project out")
            return project / self.project / self.name
        given = Path(environ.get(self.variable, "")) if self.variable else Path()
        if given.is_absolute():
            if self.variable == "XDG_CONFIG_HOME":
                given /= self.folder.removeprefix(".config/")
            return given / self.name
        home = Path(environ.get("HOME", ""))
        if not home.is_absolute():
            raise ConfigError("HOME is not set, so the settings of other agents cannot be found: set it")
        return home / self.folder / self.name

    def list_entries(self) -> Iterator[tuple[str, JsonObject]]:
        """Each event, and what belongs into its list."""
        timeout = _HOOK_SECS * self.scale
        told = f"quorum gate --dialect {self.dialect}"
        if self.is_flat:
            for event in self.events:
                command = _render_command(self.dialect)
                yield event, {"command": command, "timeout": timeout, "failClosed": True}
            yield self.prompt, {"command": told, "timeout": timeout}
            return
        for event in self.events:
            hook: JsonObject = {"type": "command", "command": _render_command(self.dialect), "timeout": timeout}
            yield event, {"matcher": "*", "hooks": [hook]}
        yield self.prompt, {"hooks": [{"type": "command", "command": told, "timeout": timeout}]}


def _render_command(dialect: str, options: str = "") -> str:
    # Without the second part most agents run the call if quorum is missing or fails. With 2 it has said why.
    failure = "{ [ $? = 2 ] || echo 'quorum gave no answer' >&2; exit 2; }"
    return f"quorum gate --dialect {dialect}{options} || {failure}"


_KIMI_TABLES = f"""
[[hooks]]  # quorum gate install
event = "PreToolUse"
command = "{_render_command("kimi", " --timeout 20")}"
timeout = 30

[[hooks]]  # quorum gate install
event = "UserPromptSubmit"
command = "quorum gate --dialect kimi --timeout 20"
timeout = 30
"""
_VIBE_TABLES = f"""
[[hooks]]  # quorum gate install
name = "quorum"
type = "pre_tool"
command = "{_render_command("vibe")}"
timeout = {_HOOK_SECS}
strict = true
"""
_OPENCODE_MARK = (
    "// `quorum gate install opencode` writes this file, and `quorum gate uninstall opencode` removes it."
)
_OPENCODE_PLUGIN = """\
import { spawn } from "node:child_process"

const decide = (directory, payload) =>
  new Promise((resolve) => {
    const gate = spawn("quorum", ["gate", "--dialect", "opencode"], {
      cwd: directory,
      stdio: ["pipe", "ignore", "pipe"],
    })
    let reasons = ""
    gate.stderr.on("data", (part) => (reasons += part))
    gate.on("error", (error) => resolve(`quorum cannot be started: ${error.message}`))
    gate.on("close", (code) => resolve(code === 0 ? "" : reasons || "quorum gave no answer"))
    gate.stdin.on("error", () => {})
    gate.stdin.end(JSON.stringify(payload))
  })

export const QuorumGate = async ({ directory, client }) => ({
  "chat.message": async (input, output) => {
    const session = await client.session.get({ path: { id: input.sessionID } }).catch(() => undefined)
    // what a subagent is asked for was written by a model
    if (session?.data && !session.data.parentID) await decide(directory, { input, output })
  },
  "tool.execute.before": async (input, output) => {
    const refusal = await decide(directory, { input, output })
    if (refusal) throw new Error(refusal)
  },
})
"""


def _sign(first: str, rest: str) -> str:
    """A file whose second line tells whether the lines below it are as they were written."""
    return f"{first}\n// {sha256(rest.encode()).hexdigest()} is the SHA-256 of the lines below\n{rest}"


_COPILOT_HOOKS = json.dumps(
    {
        "version": 1,
        "hooks": {
            "preToolUse": [{"type": "command", "bash": _render_command("copilot"), "timeoutSec": _HOOK_SECS}],
            "userPromptSubmitted": [
                {"type": "command", "bash": "quorum gate --dialect copilot", "timeoutSec": _HOOK_SECS}
            ],
        },
    },
    indent=2,
)


def _list_agents() -> Iterator[HookedAgent]:
    for name, folder, file, events, prompt, scale, variable in (
        ("claude", ".claude", "settings.json", ("PreToolUse",), "UserPromptSubmit", 1, "CLAUDE_CONFIG_DIR"),
        (
            "codex",
            ".codex",
            "hooks.json",
            ("PreToolUse", "PermissionRequest"),
            "UserPromptSubmit",
            1,
            "CODEX_HOME",
        ),
        ("gemini", ".gemini", "settings.json", ("BeforeTool",), "BeforeAgent", 1000, ""),
        ("qwen", ".qwen", "settings.json", ("PreToolUse",), "UserPromptSubmit", 1000, ""),
    ):
        yield HookedAgent(
            dialect=name,
            program=name,
            form=HookForm.JSON,
            variable=variable,
            folder=folder,
            name=file,
            project=folder,
            events=events,
            prompt=prompt,
            scale=scale,
        )
    yield HookedAgent(
        dialect="cursor",
        program="cursor-agent",
        form=HookForm.JSON,
        folder=".cursor",
        name="hooks.json",
        project=".cursor",
        events=("preToolUse",),
        prompt="beforeSubmitPrompt",
        content='{\n  "version": 1\n}\n',
        is_flat=True,
    )
    yield HookedAgent(
        dialect="copilot",
        program="copilot",
        form=HookForm.OWN_FILE,
        variable="COPILOT_HOME",
        folder=".copilot",
        name="hooks/quorum.json",
        project=".github",
        content=f"{_COPILOT_HOOKS}\n",
    )
    yield HookedAgent(
        dialect="opencode",
        program="opencode",
        form=HookForm.OWN_FILE,
        variable="XDG_CONFIG_HOME",
        folder=".config/opencode",
        name="plugin/quorum.js",
        project=".opencode",
        content=_sign(_OPENCODE_MARK, _OPENCODE_PLUGIN),
    )
    yield HookedAgent(
        dialect="kimi",
        program="kimi",
        form=HookForm.TOML,
        variable="KIMI_CODE_HOME",
        folder=".kimi-code",
        name="config.toml",
        project="",
        events=("PreToolUse",),
        content=_KIMI_TABLES,
    )
    yield HookedAgent(
        dialect="vibe",
        program="vibe",
        form=HookForm.TOML,
        variable="VIBE_HOME",
        folder=".vibe",
        name="hooks.toml",
        project=".vibe",
        events=("pre_tool",),
        content=_VIBE_TABLES,
    )


HOOKED_AGENTS: Mapping[str, HookedAgent] = {agent.dialect: agent for agent in _list_agents()}


class HookChange(Struct, frozen=True):
    """What a file holds, and what it would hold; None: there is no file."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def diff(self) -> str:
        """The lines that would go and come, as `diff -u` prints them; empty where nothing changes."""
        before, after = ((each or b"").decode("utf-8-sig").splitlines() for each in (self.before, self.after))
        name = escape_path(self.path)
        return "\n".join(difflib.unified_diff(before, after, name, name, lineterm=""))


def plan_installation(agent: HookedAgent, path: Path) -> HookChange:
    """Add the hooks that are missing. Raises ConfigError, with the place, for a file that is not understood."""
    before, text = _read(path)
    match agent.form:
        case HookForm.OWN_FILE:
            if text and not (_is_own_file(agent, text) or agent.content in text):
                raise ConfigError(f"{escape_path(path)} holds something else: move it away, and try again")
            after = text if agent.content in text else agent.content
        case HookForm.TOML:
            after = _add_tables(agent, path, text)
        case HookForm.JSON:
            after = _add_entries(agent, path, text)
    return HookChange(path, before, _encode(after, before))


def plan_removal(agent: HookedAgent, path: Path) -> HookChange:
    """Take out what `plan_installation` adds, and a file that holds nothing else. Raises as it does."""
    before, text = _read(path)
    if before is None:
        return HookChange(path, None, None)
    if agent.form is HookForm.JSON:
        after = _remove_entries(agent, path, text)
        is_empty = bool(after) and parse_json_text(after, path) in ({}, parse_json_text(_begin(agent), path))
        if is_empty and after != text and not path.is_symlink():
            return HookChange(path, before, None)
        return HookChange(path, before, _encode(after, before))
    if agent.form is HookForm.OWN_FILE:
        if _is_own_file(agent, text):
            after = ""
        elif "quorum gate" in text:
            raise ConfigError(f"{escape_path(path)} holds lines that quorum did not write: edit it yourself")
        else:
            after = text
    else:
        after = text.replace(agent.content.replace("\n", _find_newline(text)), "")
    is_kept = after or path.is_symlink()
    return HookChange(path, before, _encode(after, before) if is_kept else None)


def _is_own_file(agent: HookedAgent, text: str) -> bool:
    """Whether a quorum wrote all of it; another one writes other lines below the first two."""
    if text == agent.content:
        return True
    first, _, rest = text.partition("\n")
    is_marked = first == agent.content.partition("\n")[0] and first.startswith("//")
    return is_marked and (text == _sign(first, rest.partition("\n")[2]) or agent.content == _sign(first, rest))


def is_hooked(agent: HookedAgent, path: Path) -> bool:
    """Whether every call is asked about as installed, by hand or not. Raises ConfigError for an unreadable
    file."""
    text = _read(path)[1]
    if agent.form is not HookForm.JSON:
        return bool(text) and agent.content.replace("\n", _find_newline(text)).strip() in text
    file = _read_json(path)
    is_off = file.data.get("disableAllHooks") or read_table(file.data, "hooksConfig").get("enabled") is False
    asked = all(any(_asks(agent, entry) for entry in _list_entries(file, event)) for event in agent.events)
    return asked and not is_off


def _begin(agent: HookedAgent) -> str:
    """What a new file of settings holds."""
    return agent.content or "{}\n"


def _asks(agent: HookedAgent, entry: Mapping[str, object]) -> bool:
    """Whether it asks about every call, and blocks where there is no answer."""
    hooks = [entry] if agent.is_flat else entry.get("hooks")
    if entry.get("matcher", "*") not in ("", "*") or not isinstance(hooks, list):
        return False
    return any(_blocks_unanswered(agent, hook) for hook in hooks)


_TIMEOUT = re.compile(r"--timeout[ =]([0-9]+(?:\.[0-9]+)?)")
# Others may have the agent ask about some calls only, or not wait for the answer.
_PLAIN_MEMBERS = frozenset(
    {"type", "command", "timeout", "failClosed", "matcher", "name", "description", "statusMessage"}
)


def _blocks_unanswered(agent: HookedAgent, hook: object) -> bool:
    """Whether a hook asks the gate, and lets no call run without an answer, one that comes too late either."""
    if not isinstance(hook, Mapping) or not hook.keys() <= _PLAIN_MEMBERS:
        return False
    command, limit = str(hook.get("command")), hook.get("timeout", _HOOK_SECS * agent.scale)
    if f"quorum gate --dialect {agent.dialect}" not in command or "exit 2" not in command:
        return False
    if agent.is_flat:
        return hook.get("failClosed") is True
    given = _TIMEOUT.search(command)
    longest = (float(given[1]) if given else _ANSWER_SECS) + _END_SECS
    return isinstance(limit, int | float) and limit > longest * agent.scale


def write_change(change: HookChange) -> None:
    """Put the new content in the place of the old one, whole or not at all. Raises ConfigError."""
    target = Path(os.path.realpath(change.path))
    try:
        if change.after is not None:
            replace_content(change.path, target, change.before, change.after)
        elif change.path.read_bytes() == change.before:
            change.path.unlink()
        else:
            raise ConfigError(
                f"{escape_path(change.path)} was changed meanwhile and is left as it is; try again"
            )
    except OSError as error:
        place = escape_path(change.path)
        raise ConfigError(f"{place} cannot be written ({error.strerror}); it is as it was") from error


def _read(path: Path) -> tuple[bytes | None, str]:
    """The content, None where there is none, and the text of it."""
    if (text := read_foreign_text(path)) is None:
        if path.is_symlink():
            raise ConfigError(f"{escape_path(path)} is a link to nothing: remove it, or make what it names")
        return None, ""
    try:
        return path.read_bytes(), text
    except OSError as error:
        raise ConfigError(f"{escape_path(path)} cannot be read: {error.strerror}") from error


def _encode(text: str, before: bytes | None) -> bytes:
    mark = codecs.BOM_UTF8 if (before or b"").startswith(codecs.BOM_UTF8) else b""
    return mark + text.encode()


def _find_newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _add_tables(agent: HookedAgent, path: Path, text: str) -> str:
    added = agent.content.replace("\n", _find_newline(text))
    file = read_toml_file(path)  # says what is wrong with it, if anything is
    if added in text:
        return text
    after = text + added
    wanted = [*_get_list(file, "hooks"), *tomllib.loads(agent.content)["hooks"]]
    try:
        is_right = tomllib.loads(after)["hooks"] == wanted
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        place = file.locate("hooks") if file is not None else escape_path(path)
        raise ConfigError(f"{place}: hooks stands in a form that is not edited here: write it as [[hooks]]")
    return after


def _get_list(file: ForeignFile | None, name: str) -> Sequence[object]:
    value = file.data.get(name) if file is not None else None
    return value if isinstance(value, list) else []


def _read_json(path: Path) -> ForeignFile:
    return read_json_file(path) or ForeignFile(path, "", {})


def _list_entries(file: ForeignFile, event: str) -> Iterator[Mapping[str, JsonValue]]:
    """What is in the list of an event. Raises ConfigError for what is no list of objects."""
    hooks = file.data.get("hooks", {})
    entries = hooks.get(event, []) if isinstance(hooks, Mapping) else None
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        wrong = event if isinstance(hooks, Mapping) else "hooks"
        raise ConfigError(f"{file.locate(wrong)}: {wrong} is not what hooks look like: correct it by hand")
    yield from entries


def _add_entries(agent: HookedAgent, path: Path, text: str) -> str:
    file = _read_json(path)
    after = text if text.strip() else _begin(agent)
    wanted = deepcopy(dict(parse_json_text(after, path)))
    for event, entry in agent.list_entries():
        entries = list(_list_entries(file, event))
        if entry not in entries and not any(_asks(agent, each) for each in entries):
            after = _insert_member(after, ("hooks", event), entry)
            hooks = wanted.setdefault("hooks", {})
            assert isinstance(hooks, dict)
            hooks.setdefault(event, []).append(entry)
    return _require_meaning(after, wanted, file)


def _remove_entries(agent: HookedAgent, path: Path, text: str) -> str:
    file = _read_json(path)
    wanted = deepcopy(dict(file.data))
    after = text
    for event, entry in reversed(list(agent.list_entries())):
        entries = list(_list_entries(file, event))
        for place in reversed([place for place, each in enumerate(entries) if each == entry]):
            after = _remove_member(after, ("hooks", event, place))
            hooks = wanted["hooks"]
            assert isinstance(hooks, dict)
            del hooks[event][place]
            if not hooks[event]:
                del hooks[event]
            if not hooks:
                del wanted["hooks"]
    return _require_meaning(after, wanted, file)


def _require_meaning(text: str, wanted: Mapping[str, object], file: ForeignFile) -> str:
    """The text, if it says this. Raises ConfigError."""
    if not text or parse_json_text(text, file.path) == wanted:
        return text
    raise ConfigError(
        f"{file.locate('hooks')}: hooks stands there in a form that is not edited here: write it once"
    )


class _Member(Struct, frozen=True):
    """One member of an object or list: its name, where it begins, where its value begins and ends, and the
    comma behind it, -1 where none is."""

    name: str
    start: int
    value: int
    end: int
    comma: int


class _Container(Struct, frozen=True):
    """An object or list, from its first sign to its last."""

    start: int
    end: int
    members: tuple[_Member, ...]


def _insert_member(text: str, path: Sequence[str], value: JsonValue) -> str:
    """Put a value at the end of the list at a path of names; what is missing on the way is made."""
    container = _read_container(text, _find_value(text))
    for depth, name in enumerate(path):
        found = next((each for each in container.members if each.name == name), None)
        if found is None:
            made: JsonValue = [value]
            for missing in reversed(path[depth + 1 :]):
                made = {missing: made}
            return _append(text, container, depth + 1, made, name)
        container = _read_container(text, found.value)
    return _append(text, container, len(path) + 1, value)


def _append(text: str, container: _Container, depth: int, value: JsonValue, name: str | None = None) -> str:
    newline = _find_newline(text)
    indent = "  " * depth
    if container.members and (found := re.search(r"\n([ \t]*)$", text[: container.members[0].start])):
        indent = found[1]
    step = "\t" if indent.startswith("\t") else indent[: max(len(indent) // depth, 1)] or "  "
    written = json.dumps(value, indent=step, ensure_ascii=False)
    member = (written if name is None else f"{json.dumps(name)}: {written}").replace("\n", f"{newline}{indent}")
    inside_end = container.start + 1 + len(text[container.start + 1 : container.end].rstrip())
    if not container.members:
        closing = f"{newline}{indent[len(step) :]}"
        return f"{text[:inside_end]}{newline}{indent}{member}{closing}{text[container.end :]}"
    last = container.members[-1]
    if last.comma >= 0:
        return f"{text[:inside_end]}{newline}{indent}{member},{text[inside_end:]}"
    return f"{text[: last.end]},{text[last.end : inside_end]}{newline}{indent}{member}{text[inside_end:]}"


def _remove_member(text: str, path: Sequence[str | int]) -> str:
    """Take the member at a path out, and each object or list around it that it leaves empty."""
    container = _read_container(text, _find_value(text))
    chain: list[tuple[_Container, int]] = []
    for step in path:
        names = [each.name for each in container.members]
        place = step if isinstance(step, int) else names.index(step)
        chain.append((container, place))
        if text[container.members[place].value] in "{[":
            container = _read_container(text, container.members[place].value)
    while len(chain) > 1 and len(chain[-1][0].members) == 1:
        chain.pop()
    container, place = chain[-1]
    member = container.members[place]
    end = member.comma + 1 if member.comma >= 0 else member.end
    before = text[: member.start].rstrip()
    if len(container.members) == 1:
        inside = f"{before[container.start + 1 :]}{text[end : container.end]}"
        return f"{text[: container.start + 1]}{inside if inside.strip() else ''}{text[container.end :]}"
    if member.comma < 0:
        comma = container.members[place - 1].comma
        before = before[:comma] + before[comma + 1 :]
    return before + text[end:]


def _find_value(text: str) -> int:
    return next(found.start() for found in _TOKEN.finditer(text) if not found[0].startswith(("//", "/*")))


def _read_container(text: str, start: int) -> _Container:
    """The members of the object or list that begins at `start`, of a text that was read as JSON before."""
    members: list[_Member] = []
    depth, first, value, end, name = 0, -1, -1, -1, ""
    for found in _TOKEN.finditer(text, start):
        token = found[0]
        if token.startswith(("//", "/*")):
            continue
        if token in "}]":
            depth -= 1
        if depth == 0 and found.start() != start:
            if value >= 0:
                members.append(_Member(name, first, value, end, -1))
            return _Container(start, found.start(), tuple(members))
        if depth == 1 and token == ",":
            members.append(_Member(name, first, value, end, found.start()))
            first, value, name = -1, -1, ""
        elif depth == 1 and token == ":":
            name, value = str(json.loads(text[first:end])), -1
        elif found.start() != start:
            if value < 0:
                value = found.start()
                first = first if first >= 0 else value
            end = found.end()
        if token in "{[":
            depth += 1
    raise ValueError("the text ends within an object or list")

"""How agents are started for a probe, and the calls that their model asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.gate.scripted_model import ScriptedCall

_PROMPT = "Make the calls that you are asked for."
_MARKER = "quorum gate probe: the part of the subagent"


class Canary(Struct, frozen=True):
    """One way to run a call: the file it makes, or changes where `before` is its content, and the calls."""

    path: str
    calls: tuple[ScriptedCall, ...]
    before: str | None = None

    @property
    def file(self) -> str:
        """The name of the file; no other path has it in its calls."""
        return f"canary-{self.path}.txt"


class ProbedAgent(Struct, frozen=True):
    """How a program is started without a person. `options`, `variables` and `files`, which lie below its
    settings folder, may name {url}, {project} and {server}, a program that is an MCP server."""

    options: tuple[str, ...]
    variables: Mapping[str, str]
    canaries: tuple[Canary, ...]
    files: Mapping[str, str] = field(default_factory=dict)


class _Words(Struct, frozen=True, kw_only=True):
    """What an agent calls its tools and their fields.

    `more` is what a command has besides, `background` what one has that is not waited for; `task` is what a
    call for a subagent has, `place` what an edit has in place of the `file`. `server` is the tool of the MCP
    server: where it is to be looked for first, `search` does that, and `bridge` calls what was found.
    """

    shell: str
    more: JsonObject = field(default_factory=dict)
    background: JsonObject = field(default_factory=dict)
    read: str
    write: str
    edit: str
    place: JsonObject = field(default_factory=dict)
    file: str = "file_path"
    content: str = "content"
    old: str = "old_string"
    new: str = "new_string"
    delegate: str
    task: JsonObject
    server: str
    search: str = ""
    bridge: str = ""


def _call(path: str, tool: str, arguments: JsonObject, number: int = 0) -> ScriptedCall:
    return ScriptedCall(id=f"toolu_probe_{path}_{number}", tool=tool, arguments=arguments)


def _list_canaries(words: _Words) -> Iterator[Canary]:
    def command(path: str, more: JsonObject) -> ScriptedCall:
        return _call(path, words.shell, {"command": f"touch canary-{path}.txt", **more})

    if words.background:
        yield Canary("background", (command("background", {**words.more, **words.background}),))
    yield Canary("shell", (command("shell", words.more),))
    made: JsonObject = {words.file: "{project}/canary-write.txt", words.content: "made\n"}
    yield Canary("write", (_call("write", words.write, made),))
    path: JsonObject = {words.file: "{project}/canary-edit.txt"}
    change: JsonObject = {**(words.place or path), words.old: "before", words.new: "after"}
    steps = (_call("edit", words.read, path), _call("edit", words.edit, change, 1))
    yield Canary("edit", steps, before="before\n")
    made = {"path": "{project}/canary-server.txt"}
    found = _call("server", words.search, {"query": f"select:{words.server}"})
    bridged = _call("server", words.bridge, {"name": words.server, "arguments": made}, 1)
    direct = _call("server", words.server, made, 2)
    yield Canary("server", (found, bridged) if words.bridge else (found, direct) if words.search else (direct,))
    inner = replace(command("subagent", words.more), marker=_MARKER)
    yield Canary("subagent", (_call("delegation", words.delegate, words.task), inner))


def _list_claude() -> Iterator[Canary]:
    """The usual calls, and those of subagents that a script starts."""
    yield from _list_canaries(_CLAUDE)
    asked = "quorum gate probe: the part of the workflow"
    meta = "export const meta = {name: 'probe', description: 'Make a file'}\n"
    started = _call("workflow", "Workflow", {"script": f"{meta}return await agent({asked!r})\n"})
    words = {**_CLAUDE.more, "command": "touch canary-workflow.txt"}
    inner = replace(_call("workflow", _CLAUDE.shell, words, 1), marker=asked)
    yield Canary("workflow", (started, inner))


def _list_codex() -> Iterator[Canary]:
    """The calls of a program that Codex runs for its model, and those for a subagent, which it makes itself.

    Older ones offer the tools themselves: what is not offered is left out.
    """

    def program(path: str, text: str) -> ScriptedCall:
        return replace(_call(path, "functions.exec", {"input": text}), is_text=True)

    def command(path: str, words: str, **more: bool | int) -> tuple[ScriptedCall, ScriptedCall]:
        given: JsonObject = {"cmd": words, **more}
        inside = program(path, f"await tools.exec_command({json.dumps(given)})")
        return inside, _call(path, "exec_command", given, 1)

    def patch(path: str, change: str) -> tuple[ScriptedCall, ScriptedCall]:
        text = f"*** Begin Patch\n*** {change}\n*** End Patch\n"
        inside = program(path, f"await tools.apply_patch({json.dumps(text)})")
        return inside, replace(_call(path, "apply_patch", {"input": text}, 1), is_text=True)

    yield Canary("background", command("background", "sleep 1; touch canary-background.txt", yield_time_ms=250))
    yield Canary("shell", command("shell", "touch canary-shell.txt"))
    yield Canary("write", patch("write", "Add File: canary-write.txt\n+made"))
    yield Canary("edit", patch("edit", "Update File: canary-edit.txt\n@@\n-before\n+after"), before="before\n")
    opened = 'await tools.exec_command({cmd: "sh", tty: true, yield_time_ms: 250})'
    typed = 'await tools.write_stdin({session_id: it.session_id, chars: "touch canary-input.txt; exit\\n"})'
    yield Canary("input", (program("input", f"const it = {opened}; {typed}"),))
    made: JsonObject = {"path": "{project}/canary-server.txt"}
    served = 'await tools.mcp__probe__make_file({path: "{project}/canary-server.txt"})'
    yield Canary("server", (program("server", served), _call("server", "mcp__probe.make_file", made, 1)))
    task: JsonObject = {"task_name": "probe", "message": _MARKER, "fork_turns": "none"}
    inner = (replace(each, marker=_MARKER) for each in command("subagent", "touch canary-subagent.txt"))
    waited = _call("delegation", "collaboration.wait_agent", {"timeout_ms": 10_000}, 1)
    yield Canary("subagent", (_call("delegation", "collaboration.spawn_agent", task), waited, *inner))


def _list_vibe() -> Iterator[Canary]:
    """The usual calls, and those of a program that Mistral Vibe runs for its model."""

    def program(path: str, text: str, number: int = 0) -> ScriptedCall:
        return _call(path, "run_typescript", {"code": f"async function main() {{ {text} }}"}, number)

    started = 'await tools.process.start({command: "touch canary-background.txt"})'
    yield Canary("background", (program("background", started),))
    shell = 'await tools.file_system.bash({command: "touch canary-program.txt"})'
    yield Canary("program", (program("program", shell),))
    typed = 'await tools.process.write({processId: it.processId, text: "touch canary-input.txt; exit\\n"})'
    yield Canary(
        "input", (program("input", f'const it = await tools.process.start({{command: "sh"}}); {typed}'),)
    )
    served = 'await tools.mcp_probe.make_file({path: "{project}/canary-server.txt"})'
    yield Canary("server", (program("server", served),))
    yield from (each for each in _list_canaries(_VIBE) if each.path in ("shell", "write", "edit"))
    spawned = program("delegation", f'await tools.agents.spawn({{name: "probe", message: "{_MARKER}"}})')
    inner = _call("subagent", "bash", {"command": "touch canary-subagent.txt"})
    waited = _call("delegation", "wait", {"timeout_ms": 10_000}, 1)
    yield Canary("subagent", (spawned, waited, replace(inner, marker=_MARKER)))


_TASK: JsonObject = {"description": "Make a file", "prompt": _MARKER}
_CLAUDE = _Words(
    shell="Bash",
    more={"description": "Make a file"},
    background={"run_in_background": True},
    read="Read",
    write="Write",
    edit="Edit",
    delegate="Agent",
    task={**_TASK, "subagent_type": "general-purpose"},
    server="mcp__probe__make_file",
    search="ToolSearch",
)
_OPENCODE = _Words(
    shell="bash",
    read="read",
    write="write",
    edit="edit",
    file="filePath",
    old="oldString",
    new="newString",
    delegate="task",
    task={**_TASK, "subagent_type": "general"},
    server="probe_make_file",
)
_GEMINI = _Words(
    shell="run_shell_command",
    background={"is_background": True},
    read="read_file",
    write="write_file",
    edit="replace",
    place={"file_path": "{project}/canary-edit.txt", "instruction": "Change a word"},
    delegate="invoke_agent",
    task={"agent_name": "generalist", "prompt": _MARKER},
    server="mcp_probe_make_file",
)
_QWEN = replace(
    _GEMINI,
    more={"is_background": False},
    edit="edit",
    place={},
    delegate="agent",
    task={**_TASK, "subagent_type": "general-purpose"},
    server="mcp__probe__make_file",
    search="tool_search",
    bridge="tool_call",
)
_KIMI = replace(
    _CLAUDE,
    more={},
    background={"run_in_background": True, "description": "Make a file"},
    file="path",
    task={**_TASK, "subagent_type": "coder"},
    search="",
)
_COPILOT = _Words(
    shell="bash",
    more={"description": "Make a file"},
    background={"mode": "async"},
    read="view",
    write="create",
    edit="edit",
    file="path",
    content="file_text",
    old="old_str",
    new="new_str",
    delegate="task",
    task={**_TASK, "name": "probe", "agent_type": "general-purpose"},
    server="probe-make_file",
)
_VIBE = _Words(
    shell="bash",
    read="read_file",
    write="write_file",
    edit="edit",
    file="path",
    place={"file_path": "{project}/canary-edit.txt"},
    delegate="",
    task={},
    server="",
)
_SERVERS: JsonObject = {"mcpServers": {"probe": {"command": "{server}", "args": []}}}
_OPENCODE_SETTINGS: JsonObject = {
    "provider": {
        "probe": {
            "npm": "@ai-sdk/anthropic",
            "options": {"baseURL": "{url}/v1", "apiKey": "none-is-needed"},
            "models": {"probe": {}},
        }
    },
    "mcp": {"probe": {"type": "local", "command": ["{server}"]}},
}
_CODEX_MODEL = "gpt-6.2-sol"  # which tools Codex offers goes by the name; to older ones not as a program
_CODEX_PROVIDER = (
    '{name="probe",base_url="{url}/v1",wire_api="responses",request_max_retries=0,stream_max_retries=0}'
)
_VIBE_SETTINGS = """
active_model = "probe"
enable_telemetry = false
enable_update_checks = false
enable_connectors = false
[[providers]]
name = "probe"
api_base = "{url}/v1"
api_key_env_var = "PROBE_KEY"
api_style = "anthropic"
backend = "generic"
[[models]]
name = "probe"
provider = "probe"
alias = "probe"
[[mcp_servers]]
name = "probe"
transport = "stdio"
command = "{server}"
"""
PROBED_AGENTS: Mapping[str, ProbedAgent] = {
    "claude": ProbedAgent(
        (
            *("-p", _PROMPT, "--model", "sonnet", "--permission-mode", "acceptEdits"),
            *("--allowedTools", "Bash,Read,Write,Edit,Agent,Workflow,mcp__probe__make_file"),
            *("--mcp-config", json.dumps(_SERVERS)),
        ),
        {
            "ANTHROPIC_BASE_URL": "{url}",
            "ANTHROPIC_API_KEY": "none-is-needed",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
        tuple(_list_claude()),
    ),
    "codex": ProbedAgent(
        (
            *("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"),
            *("--dangerously-bypass-hook-trust", "-m", _CODEX_MODEL, "-c", 'model_provider="probe"'),
            *("-c", f"model_providers.probe={_CODEX_PROVIDER}", "-c", 'mcp_servers.probe.command="{server}"'),
            _PROMPT,
        ),
        {},
        tuple(_list_codex()),
    ),
    "copilot": ProbedAgent(
        (
            *("-p", _PROMPT, "--allow-all-tools", "--disable-builtin-mcps"),
            *("--additional-mcp-config", json.dumps(_SERVERS)),
        ),
        {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_MODEL": "probe",
            "COPILOT_PROVIDER_TYPE": "anthropic",
            "COPILOT_PROVIDER_BASE_URL": "{url}",
            "COPILOT_PROVIDER_API_KEY": "none-is-needed",
        },
        tuple(_list_canaries(_COPILOT)),
    ),
    "gemini": ProbedAgent(
        ("-p", _PROMPT, "--yolo", "--skip-trust", "-m", "gemini-2.5-flash"),
        {"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "none-is-needed"},
        tuple(_list_canaries(_GEMINI)),
        {
            "settings.json": json.dumps(
                {
                    **_SERVERS,
                    "security": {"auth": {"selectedType": "gemini-api-key"}},
                    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
                    "privacy": {"usageStatisticsEnabled": False},
                }
            )
        },
    ),
    "kimi": ProbedAgent(
        ("-p", _PROMPT),
        {
            "KIMI_CODE_NO_AUTO_UPDATE": "1",
            "KIMI_DISABLE_TELEMETRY": "1",
            "KIMI_MODEL_NAME": "probe",
            "KIMI_MODEL_API_KEY": "none-is-needed",
            "KIMI_MODEL_PROVIDER_TYPE": "anthropic",
            "KIMI_MODEL_BASE_URL": "{url}",
            "KIMI_MODEL_MAX_CONTEXT_SIZE": "200000",
        },
        tuple(_list_canaries(_KIMI)),
        {"mcp.json": json.dumps(_SERVERS)},
    ),
    "opencode": ProbedAgent(
        ("run", "--auto", "--title", "probe", "-m", "probe/probe", _PROMPT),
        {
            "OPENCODE_CONFIG_CONTENT": json.dumps(_OPENCODE_SETTINGS),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        },
        tuple(_list_canaries(_OPENCODE)),
    ),
    "qwen": ProbedAgent(
        ("-p", _PROMPT, "--yolo", "--auth-type", "anthropic", "--mcp-config", json.dumps(_SERVERS)),
        {
            "ANTHROPIC_BASE_URL": "{url}",
            "ANTHROPIC_API_KEY": "none-is-needed",
            "ANTHROPIC_MODEL": "probe",
        },
        tuple(_list_canaries(_QWEN)),
        {
            "settings.json": json.dumps(
                {"general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False}}
            )
        },
    ),
    "vibe": ProbedAgent(
        ("--trust", "--auto-approve", "-p", _PROMPT),
        {"PROBE_KEY": "none-is-needed"},
        tuple(_list_vibe()),
        {"config.toml": _VIBE_SETTINGS},
    ),
}

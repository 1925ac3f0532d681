"""An installed agent is run against a model of our own, to see whether it asks its hooks and obeys them.

A model of our own on loopback that asks an agent for calls that are given, one after another.

It runs in a home folder and a project that are made for it and removed, with no variable of the person but
PATH and the language. Each call it is asked for makes or changes one file in that project.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from msgspec import Struct

from quorum.application.program_lookup import find_program
from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.gate.hook_files import HOOKED_AGENTS, HookForm, plan_installation, write_change

_MOST_BYTES = 32 << 20
_ANSWER = "All calls were made."


class ScriptedCall(Struct, frozen=True, kw_only=True):
    """A call that the model asks for. `id` is in the agent's next request: so the model knows that it was made.

    `tools` are the names that programs have for the tool; the first that is offered is called. `is_text`: its
    input is the text `input`, not an object. `marker`: the text in a prompt of the conversation that the call
    belongs to. `found`: a pattern; the number that its group matches last in the conversation stands in the
    arguments for "{found}".
    """

    id: str
    tools: tuple[str, ...]
    arguments: JsonObject
    marker: str = ""
    is_text: bool = False
    found: str = ""

    def fill(self, conversation: str) -> JsonObject:
        """The arguments with the number from this conversation."""
        numbers = re.findall(self.found, conversation) if self.found else []
        if not numbers:
            return self.arguments
        return {
            name: int(numbers[-1]) if value == "{found}" else value for name, value in self.arguments.items()
        }


class _AskedCall(Struct, frozen=True):
    """A call as it is asked for: by the name that the agent has for the tool."""

    id: str
    tool: str
    arguments: JsonObject
    is_text: bool


class ScriptedModel:
    """What is asked for, and what came back. `answered` has the ids of the calls that the agent answered."""

    def __init__(self, calls: Sequence[ScriptedCall]) -> None:
        self._calls = calls
        self._token = secrets.token_urlsafe(12)
        self._lock = threading.Lock()
        self.answered: set[str] = set()
        self.url = ""

    @contextmanager
    def serve(self) -> Iterator[None]:
        """Listen on a free port of the loopback address for the time of the block."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), self._make_handler())
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_address[1]}/{self._token}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def find_next(self, offered: frozenset[str], conversation: str) -> _AskedCall | None:
        """The call to ask for in this conversation; None: there is none left."""
        marked = {call.marker for call in self._calls if call.marker and call.marker in conversation}
        is_inner = bool(marked) and not any(
            call.id in conversation for call in self._calls if call.marker not in marked
        )
        with self._lock:
            done = {call.id for call in self._calls if call.id in conversation}
            self.answered |= done
        for call in self._calls:
            is_meant = call.marker in marked if is_inner else not call.marker
            if call.id in done or not is_meant:
                continue
            if tool := next((name for name in call.tools if name in offered), None):
                return _AskedCall(call.id, tool, call.fill(conversation), call.is_text)
        return None

    def _make_handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class ProbeHandler(BaseHTTPRequestHandler):
            """Answers in the form of the address that is asked."""

            def do_POST(self) -> None:
                size = self.headers.get("Content-Length", "")
                if not (size.isdecimal() and int(size) <= _MOST_BYTES):
                    self.send_error(413)
                    return
                content = self.rfile.read(int(size))
                address = self.path.partition("?")[0]
                form = next((form for end, form in _FORMS.items() if address == f"/{model._token}{end}"), None)
                try:
                    asked = json.loads(content)
                except ValueError:
                    asked = None
                if form is None or not isinstance(asked, dict):
                    self.send_error(404)
                    return
                found = model.find_next(
                    _list_tools(asked.get("tools")), json.dumps(asked.get("messages", asked.get("input")))
                )
                events = form(found)
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")  # not every agent takes that from HTTP/1.0
                self.end_headers()
                for event in events:
                    self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: the terminal belongs to the table."""

        return ProbeHandler


def _list_tools(given: object) -> frozenset[str]:
    """The names of the tools of a request."""
    tools = given if isinstance(given, list) else []
    return frozenset(str(tool["name"]) for tool in tools if isinstance(tool, dict) and "name" in tool)


def _say_anthropic(found: _AskedCall | None) -> list[JsonObject]:
    """A message of the Messages API, as its stream."""
    block: JsonObject
    delta: JsonObject
    if found is None:
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": _ANSWER}
    else:
        block = {"type": "tool_use", "id": found.id, "name": found.tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(found.arguments)}
    message: JsonObject = {
        "id": f"msg_{secrets.token_hex(8)}",
        "type": "message",
        "role": "assistant",
        "model": "probe",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    reason = "end_turn" if found is None else "tool_use"
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 1},
        },
        {"type": "message_stop"},
    ]


def _say_responses(found: _AskedCall | None) -> list[JsonObject]:
    """A response of the Responses API, as its stream."""
    item: JsonObject
    if found is None:
        text: JsonValue = [{"type": "output_text", "text": _ANSWER, "annotations": []}]
        item = {"type": "message", "role": "assistant", "id": "msg_1", "content": text}
    else:
        item = {"call_id": found.id, "name": found.tool}
        if found.is_text:
            item |= {"type": "custom_tool_call", "input": found.arguments["input"]}
        else:
            item |= {"type": "function_call", "arguments": json.dumps(found.arguments)}
    response = f"resp_{secrets.token_hex(8)}"
    usage: JsonObject = {
        "input_tokens": 1,
        "input_tokens_details": None,
        "output_tokens": 1,
        "output_tokens_details": None,
        "total_tokens": 2,
    }
    return [
        {"type": "response.created", "response": {"id": response}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": response, "usage": usage}},
    ]


_FORMS: dict[str, Callable[[_AskedCall | None], list[JsonObject]]] = {
    "/v1/messages": _say_anthropic,
    "/v1/responses": _say_responses,
}


_PASSED = ("LANG", "LC_ALL", "TZ")
_PROMPT = "Make the calls that you are asked for."
_MARKER = "quorum gate probe: the part of the subagent"
_SLOW_SECS = 4
_END_SECS = 5
_MOST_ROUNDS = 5


class ProbeState(StrEnum):
    """What an agent does with a call that the gate denies."""

    OBEYED = "asked and obeyed"
    NOT_OBEYED = "asked and not obeyed"
    NOT_ASKED = "not asked"
    UNKNOWN = "not known: the call did not run where it was allowed"


class GateBehavior(StrEnum):
    """What stands in the place of `quorum` when the hooks call it."""

    ALLOWS = "allow"
    DENIES = "deny"
    MISSING = "missing"
    BROKEN = "broken"
    SLOW = "slow"


FAILURES = (GateBehavior.MISSING, GateBehavior.BROKEN, GateBehavior.SLOW)


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
    """How a program is started without a person. `options` and `variables` may name {url} and {project}."""

    options: tuple[str, ...]
    variables: Mapping[str, str]
    canaries: tuple[Canary, ...]


class ProbeResult(Struct, frozen=True, kw_only=True):
    """What an agent did: the state of each path; per failure of the gate the paths that `ran` nevertheless, and
    those of which it is not known, because the agent never came to them, or does not run them at all."""

    agent: str
    version: str
    paths: dict[str, ProbeState]
    ran: dict[GateBehavior, tuple[str, ...]]
    untried: dict[GateBehavior, tuple[str, ...]]

    @property
    def is_gated(self) -> bool:
        """Whether nothing ran that was denied, nor where the gate was missing or broken."""
        obeyed = all(state is ProbeState.OBEYED for state in self.paths.values())
        failures = (GateBehavior.MISSING, GateBehavior.BROKEN)
        return obeyed and not any(self.ran[each] or self.untried[each] for each in failures)


class _Run(Struct, frozen=True):
    """What one run of the agent left: the paths that the gate was asked about, that ran, and whose
    first call the agent gave an answer to: where that is blocked, so is what follows."""

    asked: frozenset[str]
    ran: frozenset[str]
    answered: frozenset[str]


def _call(path: str, tools: tuple[str, ...], arguments: JsonObject, number: int = 0) -> ScriptedCall:
    return ScriptedCall(id=f"toolu_probe_{path}_{number}", tools=tools, arguments=arguments)


def _list_claude() -> Iterator[Canary]:
    def command(path: str, **more: bool) -> ScriptedCall:
        words: JsonObject = {"command": f"touch canary-{path}.txt", "description": "Make a file"}
        return _call(path, ("Bash",), {**words, **more})

    yield Canary("background", (command("background", run_in_background=True),))
    yield Canary("shell", (command("shell"),))
    made: JsonObject = {"file_path": "{project}/canary-write.txt", "content": "made\n"}
    yield Canary("write", (_call("write", ("Write",), made),))
    file: JsonObject = {"file_path": "{project}/canary-edit.txt"}
    change: JsonObject = {**file, "old_string": "before", "new_string": "after"}
    yield Canary(
        "edit", (_call("edit", ("Read",), file), _call("edit", ("Edit",), change, 1)), before="before\n"
    )
    task: JsonObject = {"description": "Make a file", "prompt": _MARKER, "subagent_type": "general-purpose"}
    inner = replace(command("subagent"), marker=_MARKER)
    yield Canary("subagent", (_call("delegation", ("Agent", "Task"), task), inner))


def _list_codex() -> Iterator[Canary]:
    def patch(path: str, change: str) -> tuple[ScriptedCall]:
        text = f"*** Begin Patch\n*** {change}\n*** End Patch\n"
        return (replace(_call(path, ("apply_patch",), {"input": text}), is_text=True),)

    words = "touch canary-shell.txt"
    yield Canary(
        "shell", (_call("shell", ("exec_command", "shell_command"), {"cmd": words, "command": words}),)
    )
    yield Canary("write", patch("write", "Add File: canary-write.txt\n+made"))
    change = "Update File: canary-edit.txt\n@@\n-before\n+after"
    yield Canary("edit", patch("edit", change), before="before\n")
    opened = _call("input", ("exec_command",), {"cmd": "sh", "tty": True, "yield_time_ms": 250})
    typed: JsonObject = {"session_id": "{found}", "chars": "touch canary-input.txt; exit\n"}
    typing = replace(_call("input", ("write_stdin",), typed, 1), found=r"session ID (\d+)")
    yield Canary("input", (opened, typing))


def _list_opencode() -> Iterator[Canary]:
    def command(path: str) -> ScriptedCall:
        return _call(path, ("bash",), {"command": f"touch canary-{path}.txt", "description": "Make a file"})

    yield Canary("shell", (command("shell"),))
    made: JsonObject = {"filePath": "{project}/canary-write.txt", "content": "made\n"}
    yield Canary("write", (_call("write", ("write",), made),))
    file: JsonObject = {"filePath": "{project}/canary-edit.txt"}
    change: JsonObject = {**file, "oldString": "before", "newString": "after"}
    yield Canary(
        "edit", (_call("edit", ("read",), file), _call("edit", ("edit",), change, 1)), before="before\n"
    )
    task: JsonObject = {"description": "Make a file", "prompt": _MARKER, "subagent_type": "general"}
    yield Canary(
        "subagent", (_call("delegation", ("task",), task), replace(command("subagent"), marker=_MARKER))
    )


_OPENCODE_PROVIDER = {
    "npm": "@ai-sdk/anthropic",
    "options": {"baseURL": "{url}/v1", "apiKey": "none-is-needed"},
    "models": {"probe": {}},
}
_CODEX_MODEL = "gpt-5.5"  # which tools Codex offers goes by the name; to older ones it offers no apply_patch
_CODEX_PROVIDER = (
    '{name="probe",base_url="{url}/v1",wire_api="responses",request_max_retries=0,stream_max_retries=0}'
)
PROBED_AGENTS: Mapping[str, ProbedAgent] = {
    "claude": ProbedAgent(
        (
            *("-p", _PROMPT, "--model", "sonnet", "--permission-mode", "acceptEdits"),
            *("--allowedTools", "Bash,Read,Write,Edit,Agent,Task"),
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
            *("-c", f"model_providers.probe={_CODEX_PROVIDER}", _PROMPT),
        ),
        {},
        tuple(_list_codex()),
    ),
    "opencode": ProbedAgent(
        ("run", "--auto", "--title", "probe", "-m", "probe/probe", _PROMPT),
        {
            "OPENCODE_CONFIG_CONTENT": json.dumps({"provider": {"probe": _OPENCODE_PROVIDER}}),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        },
        tuple(_list_opencode()),
    ),
}

_GATE = """\
import json, sys, time
with open(sys.argv[1]) as file:
    given = json.load(file)
text = sys.stdin.read()
payload = json.loads(text)
tool = payload.get("tool_name") or payload.get("input", {}).get("tool")
is_step = "canary-" not in text or tool in ("Read", "read")
if not is_step:
    with open(given["record"], "a") as record:
        record.write(json.dumps(text) + "\\n")
if given["fails"]:
    print("noise " * 20)
    print("noise " * 20, file=sys.stderr)
    sys.exit(1)
if not is_step:
    time.sleep(given["waits"])
replies = given["allow" if is_step else given["answer"]]
out, err, code = replies.get(payload.get("hook_event_name", ""), ("", "", 0))
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""


def probe_agent(
    dialect: str, program: Path, version: str, replies: JsonObject, *, limit_secs: float
) -> ProbeResult:
    """Run the agent once for each behavior of the gate. `replies` has what the gate prints to allow and to
    deny, for each event. Raises ConfigError where the agent does not run."""
    agent = PROBED_AGENTS[dialect]
    has_limit = HOOKED_AGENTS[dialect].form is HookForm.JSON  # a plugin waits as long as the gate takes
    behaviors = [each for each in GateBehavior if has_limit or each is not GateBehavior.SLOW]
    runs = {behavior: _run_agent(dialect, program, behavior, replies, limit_secs) for behavior in behaviors}
    failures = [each for each in FAILURES if each in runs]
    paths = [canary.path for canary in agent.canaries]
    denied, allowed = runs[GateBehavior.DENIES], runs[GateBehavior.ALLOWS]
    return ProbeResult(
        agent=dialect,
        version=version,
        paths={path: _judge(path, denied, allowed) for path in paths},
        ran={each: tuple(path for path in paths if path in runs[each].ran) for each in failures},
        untried={
            each: tuple(
                path for path in paths if path not in runs[each].ran | (runs[each].answered & allowed.ran)
            )
            for each in failures
        },
    )


def _judge(path: str, denied: _Run, allowed: _Run) -> ProbeState:
    if path in denied.ran:
        return ProbeState.NOT_OBEYED if path in denied.asked else ProbeState.NOT_ASKED
    if path in denied.asked and path in allowed.ran:
        return ProbeState.OBEYED
    return ProbeState.UNKNOWN


def _run_agent(
    dialect: str, program: Path, behavior: GateBehavior, replies: JsonObject, limit_secs: float
) -> _Run:
    agent = PROBED_AGENTS[dialect]
    with tempfile.TemporaryDirectory(prefix="quorum-probe-", ignore_cleanup_errors=True) as made:
        folder = Path(os.path.realpath(made))
        project, home = folder / "project", folder / "home"
        for each in (project, home, folder / "bin", folder / "tmp"):
            each.mkdir()
        for canary in agent.canaries:
            if canary.before is not None:
                (project / canary.file).write_text(canary.before)
        environment = _make_environment(dialect, folder, behavior, replies)
        calls = [_fill_call(call, project) for canary in agent.canaries for call in canary.calls]
        model = ScriptedModel(calls)
        with model.serve():
            given = {"url": model.url, "project": str(project)}
            environment |= {name: _fill(value, given) for name, value in agent.variables.items()}
            words = [str(program), *(_fill(word, given) for word in agent.options)]
            said = _run_program(words, environment, project, folder / "output.txt", limit_secs)
        if not model.answered:
            raise ConfigError(f"{dialect} made none of the calls that the model asked for; it said: {said}")
        asked = _read_asked(folder / "asked.jsonl")
        return _Run(
            frozenset(canary.path for canary in agent.canaries if any(canary.file in each for each in asked)),
            frozenset(canary.path for canary in agent.canaries if _has_run(canary, project)),
            frozenset(canary.path for canary in agent.canaries if canary.calls[0].id in model.answered),
        )


def _fill(text: str, given: Mapping[str, str]) -> str:
    for name, value in given.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _fill_call(call: ScriptedCall, project: Path) -> ScriptedCall:
    filled = {
        name: _fill(value, {"project": str(project)}) if isinstance(value, str) else value
        for name, value in call.arguments.items()
    }
    return replace(call, arguments=filled)


def _has_run(canary: Canary, project: Path) -> bool:
    try:
        content = (project / canary.file).read_text(errors="replace")
    except OSError:
        return canary.before is not None  # it is gone: something changed it
    return content != canary.before


def _read_asked(record: Path) -> list[str]:
    """The calls that the gate was asked about; the steps on the way to one are not counted."""
    return [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []


def _make_environment(
    dialect: str, folder: Path, behavior: GateBehavior, replies: JsonObject
) -> dict[str, str]:
    """The variables of the agent; its hooks and what they call are written."""
    agent = HOOKED_AGENTS[dialect]
    home, programs = folder / "home", folder / "bin"
    environment = {name: os.environ[name] for name in _PASSED if name in os.environ}
    search = os.environ.get("PATH", os.defpath).split(os.pathsep)
    search = [each for each in search if each and not os.path.lexists(f"{each}/quorum")]
    if (runtime := find_program("node", os.environ.get("PATH"))) is not None:
        (programs / "node").symlink_to(runtime)
    environment |= {
        "PATH": os.pathsep.join((str(programs), *search)),
        "HOME": str(home),
        "TMPDIR": str(folder / "tmp"),
        "SHELL": "/bin/sh",
        "TERM": "dumb",
    }
    if agent.variable:
        environment[agent.variable] = str(home / agent.folder)
    change = plan_installation(agent, agent.locate(environment))
    change.path.parent.mkdir(parents=True, exist_ok=True)
    write_change(change)
    if behavior is GateBehavior.SLOW:
        hooks = change.path.read_text()
        change.path.write_text(hooks.replace('"timeout": 65', '"timeout": 1'))
    if behavior is not GateBehavior.MISSING:
        answers: JsonObject = {
            **replies,
            "answer": "allow" if behavior is GateBehavior.ALLOWS else "deny",
            "fails": behavior is GateBehavior.BROKEN,
            "waits": _SLOW_SECS if behavior is GateBehavior.SLOW else 0,
            "record": str(folder / "asked.jsonl"),
        }
        script, given = folder / "gate.py", folder / "given.json"
        script.write_text(_GATE)
        given.write_text(json.dumps(answers))
        gate = programs / "quorum"
        gate.write_text(
            f"#!/bin/sh\nexec {shlex.join((sys.executable, '-I', '-S', str(script), str(given)))}\n"
        )
        gate.chmod(0o700)
    return environment


def _run_program(
    words: Sequence[str], environment: Mapping[str, str], cwd: Path, output: Path, limit_secs: float
) -> str:
    """The end of what it prints. It is ended after the time, and what it started with it."""
    with output.open("wb") as stream, _end_all(environment["HOME"]):
        try:
            process = subprocess.Popen(
                words,
                env=dict(environment),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise ConfigError(f"{words[0]} cannot be started: {error.strerror}") from error
        try:
            process.wait(limit_secs)
        except subprocess.TimeoutExpired:
            stream.write(f"\n(it was ended after {limit_secs:g} s)".encode())
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return make_printable(output.read_bytes()[-600:].decode(errors="replace").strip()) or "nothing"


@contextmanager
def _end_all(home: str) -> Iterator[None]:
    """End, behind the block, all processes with this home folder: agents start some in groups of their own.

    Only where the kernel shows the environment of processes; elsewhere the group is all that is ended.
    """
    try:
        yield
    finally:
        rounds = 0
        while _end_marked(f"HOME={home}".encode()) and rounds < _MOST_ROUNDS:
            rounds += 1  # one that was ended may have started another meanwhile


def _end_marked(mark: bytes) -> bool:
    """End each process that has this in its environment; whether there was one."""
    is_any = False
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            handle = os.pidfd_open(int(entry.name))
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    is_any = True
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                    select.select([handle], [], [], _END_SECS)
            finally:
                os.close(handle)
    return is_any

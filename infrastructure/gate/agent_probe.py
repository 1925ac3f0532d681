"""An installed agent is run against a model of our own, to see whether it asks its hooks and obeys them.

It runs in a home folder and a project that are made for it and removed, with no variable of the person but
PATH and the language. Each call it is asked for makes or changes one file in that project.
"""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import Struct

from quorum.application.program_lookup import find_program
from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.gate.hook_files import (
    HOOKED_AGENTS,
    HookChange,
    HookedAgent,
    HookForm,
    plan_installation,
    write_change,
)
from quorum.infrastructure.gate.probed_agents import PROBED_AGENTS, Canary
from quorum.infrastructure.gate.scripted_model import ScriptedCall, ScriptedModel

_PASSED = ("LANG", "LC_ALL", "TZ")
_SLOW_SECS = 4
_END_SECS = 5
_MOST_ROUNDS = 5
_TIME_LIMIT = re.compile(r'("?timeout(?:Sec)?"? ?[:=] )(?:65|30)')


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


class ProbeResult(Struct, frozen=True, kw_only=True):
    """What an agent did: the state of each path; per failure of the gate the paths that `ran` nevertheless, and
    those of which it is not known, because the agent never came to them, or does not run them at all."""

    agent: str
    version: str
    paths: dict[str, ProbeState]
    ran: dict[GateBehavior, tuple[str, ...]]
    untried: dict[GateBehavior, tuple[str, ...]]

    @property
    def title(self) -> str:
        """The agent and its version, which may hold its name."""
        return self.version if self.agent in self.version.casefold() else f"{self.agent} {self.version}"

    @property
    def unprobed(self) -> tuple[str, ...]:
        """The paths of the agent that this version of quorum probes, and the one that probed it did not."""
        canaries = PROBED_AGENTS[self.agent].canaries
        return tuple(each.path for each in canaries if each.path not in self.paths)

    @property
    def is_gated(self) -> bool:
        """Whether all was probed, and nothing ran that was denied, nor where the gate was missing or broken."""
        obeyed = not self.unprobed and all(state is ProbeState.OBEYED for state in self.paths.values())
        return obeyed and all(
            self.ran.get(each) == self.untried.get(each) == ()
            for each in (GateBehavior.MISSING, GateBehavior.BROKEN)
        )


class _Run(Struct, frozen=True):
    """What one run of the agent left: the paths that the gate was asked about, that ran, and of which a call
    was answered: where that is blocked, so is what follows. All, where it asks no model."""

    asked: frozenset[str]
    ran: frozenset[str]
    answered: frozenset[str]


_SERVER = """\
import json, sys
schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
tool = {"name": "make_file", "description": "Make a file.", "inputSchema": schema}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    given = asked.get("params", {})
    match asked["method"]:
        case "initialize":
            result = {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}}}
            result["serverInfo"] = {"name": "probe", "version": "1"}
        case "tools/list":
            result = {"tools": [tool]}
        case "tools/call":
            open(given["arguments"]["path"], "w").close()
            result = {"content": [{"type": "text", "text": "It is made."}]}
        case "ping":
            result = {}
        case _:
            result = None
    error = {"code": -32601, "message": "unknown method"}
    answer = {"error": error} if result is None else {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""
_GATE = """\
import json, sys, time
with open(sys.argv[1]) as file:
    given = json.load(file)
text = sys.stdin.read()
payload = json.loads(text)
tool = payload.get("tool_name") or payload.get("toolName") or payload.get("input", {}).get("tool") or ""
is_step = "canary-" not in text or tool.rpartition(".")[2] in given["steps"]
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
    hooked = HOOKED_AGENTS[dialect]
    has_limit = hooked.form is HookForm.JSON or bool(_TIME_LIMIT.search(hooked.content))  # a plugin waits
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
        calls = [_fill_call(call, project) for canary in agent.canaries for call in canary.calls]
        model = ScriptedModel(calls)
        with model.serve():
            given = {"url": model.url, "project": str(project), "server": str(folder / "server")}
            environment = _make_environment(dialect, folder, behavior, replies, given)
            words = [str(program), *(_fill(word, given) for word in agent.options)]
            said, has_ended = _run_program(words, environment, project, folder / "output.txt", limit_secs)
        is_stopped = behavior in FAILURES and has_ended and not model.is_asked  # some refuse the prompt then
        if not (model.answered or is_stopped):
            raise ConfigError(f"{dialect} made none of the calls that the model asked for; it said: {said}")
        asked = _read_asked(folder / "asked.jsonl")
        return _Run(
            frozenset(canary.path for canary in agent.canaries if any(canary.file in each for each in asked)),
            frozenset(canary.path for canary in agent.canaries if _has_run(canary, project)),
            frozenset(
                canary.path
                for canary in agent.canaries
                if is_stopped or any(call.id in model.answered for call in canary.calls)
            ),
        )


def _fill(text: str, given: Mapping[str, str]) -> str:
    for name, value in given.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _fill_call(call: ScriptedCall, project: Path) -> ScriptedCall:
    filled = json.loads(_fill(json.dumps(call.arguments), {"project": str(project)}))
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
    dialect: str, folder: Path, behavior: GateBehavior, replies: JsonObject, given: Mapping[str, str]
) -> dict[str, str]:
    """The variables of the agent; its settings, its hooks and what they call are written."""
    agent, probed = HOOKED_AGENTS[dialect], PROBED_AGENTS[dialect]
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
    environment |= {name: _fill(value, given) for name, value in probed.variables.items()}
    for name, content in probed.files.items():
        path = home / agent.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_fill(content, given))
    _write_program(Path(given["server"]), folder / "server.py", _SERVER)
    change = plan_installation(agent, agent.locate(environment))
    change.path.parent.mkdir(parents=True, exist_ok=True)
    write_change(change)
    if behavior is GateBehavior.SLOW:
        change.path.write_text(_TIME_LIMIT.sub(r"\g<1>1", change.path.read_text()))
    if behavior is not GateBehavior.MISSING:
        answers: JsonObject = {
            **replies,
            "answer": "allow" if behavior is GateBehavior.ALLOWS else "deny",
            "fails": behavior is GateBehavior.BROKEN,
            "waits": _SLOW_SECS if behavior is GateBehavior.SLOW else 0,
            "record": str(folder / "asked.jsonl"),
            "steps": sorted({call.tool for canary in probed.canaries for call in canary.calls[:-1]}),
        }
        answered = folder / "given.json"
        answered.write_text(json.dumps(answers))
        _write_program(programs / "quorum", folder / "gate.py", _GATE, str(answered))
    return environment


def _write_program(program: Path, script: Path, content: str, *words: str) -> None:
    script.write_text(content)
    command = shlex.join((sys.executable, "-I", "-S", str(script), *words))
    program.write_text(f"#!/bin/sh\nexec {command}\n")
    program.chmod(0o700)


def _run_program(
    words: Sequence[str], environment: Mapping[str, str], cwd: Path, output: Path, limit_secs: float
) -> tuple[str, bool]:
    """The end of what it prints, and whether it ended by itself. After the time it is ended, and what it
    started with it."""
    has_ended = True
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
            has_ended = False
            stream.write(f"\n(it was ended after {limit_secs:g} s)".encode())
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    said = make_printable(output.read_bytes()[-600:].decode(errors="replace").strip())
    return said or "nothing", has_ended


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


_VERSION_SECS = 20


def read_version(agent: HookedAgent, environment: Mapping[str, str]) -> str:
    """What the program says its version is in this environment, or why that is not known."""
    program = find_program(agent.program, environment.get("PATH"))
    if program is None:
        return "not found"
    try:
        answer = subprocess.run(
            [program, "--version"],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_SECS,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
    except (OSError, subprocess.TimeoutExpired):
        return "does not answer"
    first = next(iter(answer.stdout.strip().splitlines()), "")
    return make_printable(first)[:40].rstrip(".") or "does not say"


def read_version_alone(agent: HookedAgent, path: str | None) -> str:
    """The same, where the program sees nothing of the person but this PATH."""
    with tempfile.TemporaryDirectory(prefix="quorum-probe-", ignore_cleanup_errors=True) as home:
        return read_version(agent, {"PATH": path or os.defpath, "HOME": home})


PROBES_FOLDER = "gate-probes"


def keep_result(result: ProbeResult, environ: Mapping[str, str]) -> None:
    """In place of what was found before. Raises ConfigError where it cannot be written."""
    if (folder := _locate_folder(environ)) is not None:
        path = folder / f"{result.agent}.json"
        try:
            before = path.read_bytes() if path.exists() else None
        except OSError as error:
            raise ConfigError(f"{escape_path(path)} cannot be read: {error.strerror}") from error
        write_change(HookChange(path, before, msgspec.json.encode(result) + b"\n"))


def read_results(environ: Mapping[str, str]) -> Iterator[tuple[str, ProbeResult | ConfigError]]:
    """Each agent that was probed, and what was found, or why that cannot be read. Raises ConfigError where
    nothing of it can be."""
    if (folder := _locate_folder(environ)) is None:
        return
    try:
        kept = set(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise ConfigError(f"{escape_path(folder)} cannot be read: {error.strerror}") from error
    for agent in PROBED_AGENTS:
        path = folder / f"{agent}.json"
        if path.name not in kept:
            continue
        try:
            yield agent, replace(msgspec.json.decode(path.read_bytes(), type=ProbeResult), agent=agent)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            yield agent, ConfigError(f"{escape_path(path)} cannot be read: {error}")


def _locate_folder(environ: Mapping[str, str]) -> Path | None:
    state = locate_state_folder(environ)
    return state / PROBES_FOLDER if state is not None else None

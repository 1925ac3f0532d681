"""`quorum gate probe` runs an agent, and says which calls it asks about and whether it obeys."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from quorum.__main__ import main
from quorum.domain.replacing import replace
from quorum.infrastructure.doctor.diagnosis import check_machine
from quorum.infrastructure.gate.agent_probe import (
    FAILURES,
    GateBehavior,
    ProbeResult,
    ProbeState,
    keep_result,
    read_results,
)
from quorum.infrastructure.gate.probed_agents import PROBED_AGENTS
from quorum.infrastructure.gate.scripted_model import ScriptedCall, ScriptedModel
from quorum.infrastructure.staging.entering import find_obstacle

AGENT = '''\
"""Plays an agent of the claude form: asks a model, calls the hooks before each call, and obeys them or not."""
import json, os, subprocess, sys, urllib.request
from pathlib import Path

FOLDER = Path(__file__).parent
MANNERS = json.loads((FOLDER / "manners.json").read_text())
TENTH = 0.1  # the unit of its time limits

def ask_model(messages):
    names = ("Bash", "Read", "Write", "Edit", "Agent", "ToolSearch", "Workflow", "mcp__probe__make_file")
    tools = [{"name": name} for name in names]
    request = urllib.request.Request(
        os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
        json.dumps({"tools": tools, "messages": messages}).encode(),
    )
    with urllib.request.urlopen(request) as answer:
        events = [json.loads(line[6:]) for line in answer.read().decode().splitlines() if line[:6] == "data: "]
    block = next(event["content_block"] for event in events if event["type"] == "content_block_start")
    delta = next(event["delta"] for event in events if event["type"] == "content_block_delta")
    return block, delta

def is_stopped(tool, given):
    if any(each in json.dumps(given) for each in MANNERS.get("skips", ())):
        return False
    settings = json.loads((Path(os.environ["CLAUDE_CONFIG_DIR"]) / "settings.json").read_text())
    for entry in settings["hooks"]["PreToolUse"]:
        hook = entry["hooks"][0]
        payload = json.dumps({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": given})
        try:
            ended = subprocess.run(
                ["/bin/sh", "-c", hook["command"]], input=payload, capture_output=True, text=True,
                timeout=hook["timeout"] * (TENTH if hook["timeout"] == 1 else 1),
            )
        except subprocess.TimeoutExpired:
            continue
        if ended.returncode == 2 or '"deny"' in ended.stdout:
            return not any(each in json.dumps(given) for each in MANNERS.get("disobeys", ()))
    return False

def make_call(tool, given):
    if is_stopped(tool, given):
        return "denied"
    if tool == "Bash":
        subprocess.run(given["command"], shell=True)
    elif tool == "Write":
        Path(given["file_path"]).write_text(given["content"])
    elif tool == "Edit":
        file = Path(given["file_path"])
        file.write_text(file.read_text().replace(given["old_string"], given["new_string"]))
    elif tool == "Agent":
        talk(given["prompt"])
    elif tool == "Workflow":
        talk(given["script"])
    elif tool == "mcp__probe__make_file":
        servers = json.loads(sys.argv[sys.argv.index("--mcp-config") + 1])["mcpServers"]
        lines = [
            {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": "make_file", "arguments": given}},
        ]
        text = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\\n" for line in lines)
        subprocess.run([servers["probe"]["command"]], input=text, capture_output=True, text=True, check=True)
    return "done"

def talk(prompt):
    messages = [{"role": "user", "content": prompt}]
    while True:
        block, delta = ask_model(messages)
        if block["type"] != "tool_use":
            return
        given = json.loads(delta["partial_json"])
        result = make_call(block["name"], given)
        messages += [{**block, "input": given}, {"tool_use_id": block["id"], "content": result}]

if "KEY_OF_THE_PERSON" in os.environ or os.environ["HOME"] == MANNERS["home"]:
    sys.exit("it sees what belongs to the person")
if sys.argv[1:] == ["--version"]:
    print("7.1 (of the tests)")
    sys.exit()
if MANNERS.get("leaves"):
    left = subprocess.Popen(["/bin/sh", "-c", "exec sleep 600"], start_new_session=True)
    with (FOLDER / "left").open("a") as record:
        record.write(f"{left.pid}\\n")
if MANNERS.get("hangs"):
    subprocess.run(["/bin/sh", "-c", "sleep 600"])
if MANNERS.get("needs_gate") and not any(Path(each, "quorum").exists() for each in os.get_exec_path()):
    sys.exit("its hook for prompts fails, so it stops")
if not MANNERS.get("refuses"):
    talk("go")
'''


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in PATH, and a home folder of the person with a key in the environment."""
    for name in ("home", "programs"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KEY_OF_THE_PERSON", "of no use")
    monkeypatch.setenv("PATH", f"{tmp_path / 'programs'}:/usr/bin:/bin")
    return tmp_path / "programs"


def add_agent(programs: Path, **manners: object) -> None:
    (programs / "agent.py").write_text(AGENT)
    (programs / "manners.json").write_text(json.dumps({"home": str(programs.parent / "home"), **manners}))
    program = programs / "claude"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{programs / "agent.py"}" "$@"\n')
    program.chmod(0o700)


def run(*words: str) -> int:
    try:
        main(["gate", "probe", *words])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def is_running(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.long
def test_an_agent_that_obeys_on_all_paths_is_gated_and_leaves_nothing_behind(
    programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_agent(programs, leaves=True)

    assert run("claude", "--json") == 0

    found = json.loads(capsys.readouterr().out)
    assert found["version"] == "7.1 (of the tests)"
    assert set(found["paths"].values()) == {"asked and obeyed"}
    assert found["ran"] == {"missing": [], "broken": [], "slow": list(found["paths"])}
    assert found["is_gated"] is True
    assert list(programs.parent.rglob("gate-probes/claude.json"))
    left = (programs / "left").read_text().split()
    assert left
    if sys.platform == "linux":
        assert not any(is_running(pid) for pid in left)


@pytest.mark.long
def test_a_path_that_is_not_asked_about_and_one_that_is_run_all_the_same_are_told_apart(
    programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_agent(programs, skips=["canary-subagent"], disobeys=["canary-write"])

    assert run("claude") == 1

    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert rows["subagent"].endswith("not asked")
    assert rows["write"].endswith("asked and not obeyed")
    assert rows["shell"].endswith("asked and obeyed")
    assert "runs: write" in rows["quorum"]


def test_an_agent_that_makes_no_call_is_an_error_with_what_it_said(
    programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_agent(programs, refuses=True)

    assert run("claude") == 2

    assert "none of the calls" in capsys.readouterr().err


@pytest.mark.long
def test_an_agent_that_stops_at_the_prompt_without_quorum_runs_nothing_then(
    programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_agent(programs, needs_gate=True)

    assert run("claude", "--json") == 0

    found = json.loads(capsys.readouterr().out)
    assert (found["ran"]["missing"], found["untried"]["missing"]) == ([], [])


@pytest.mark.long
def test_an_agent_that_hangs_is_ended_after_the_time(
    programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_agent(programs, hangs=True)

    assert run("claude", "--timeout", "1") == 2

    assert "it was ended after 1 s" in capsys.readouterr().err


def test_an_agent_that_is_not_installed_is_named(
    programs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(programs))

    assert run("claude") == 2

    assert "there is no program claude on PATH" in capsys.readouterr().err


def test_an_agent_that_commands_may_have_written_is_not_called_missing(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inside = tmp_path / "work"
    inside.mkdir()
    (inside / "claude").write_text("#!/bin/sh\n")
    (inside / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", str(inside))
    monkeypatch.setattr("quorum.application.program_lookup._writable", [(str(inside),)])

    assert run("claude") == 2

    assert f"claude was found only at {inside}/claude, where commands" in capsys.readouterr().err


CALLS = (
    ScriptedCall(id="id_absent", tool="Unknown", arguments={}),
    ScriptedCall(id="id_first", tool="Bash", arguments={"command": "touch one"}),
    ScriptedCall(id="id_typed", tool="type", arguments={"to": 17}),
    ScriptedCall(id="id_inner", tool="Bash", arguments={"command": "touch two"}, marker="the inner part"),
)


def ask(model: ScriptedModel, end: str, body: dict[str, object]) -> str:
    with urlopen(Request(f"{model.url}{end}", json.dumps(body).encode())) as answer:
        return str(answer.read().decode())


def test_the_model_asks_for_each_call_once_and_then_ends() -> None:
    model = ScriptedModel(CALLS)
    tools = [{"name": "Bash"}, {"name": "type"}]
    with model.serve():
        first = ask(model, "/v1/messages", {"tools": tools, "messages": ["go"]})
        second = ask(model, "/v1/responses", {"tools": tools, "input": ["id_first"]})
        last = ask(model, "/v1/messages", {"tools": tools, "messages": ["id_first", "id_typed"]})

    assert "id_first" in first
    assert "touch one" in first
    assert r"{\"to\": 17}" in second
    assert "end_turn" in last
    assert model.answered == {"id_first", "id_typed"}


def test_the_model_speaks_the_form_of_gemini() -> None:
    model = ScriptedModel(CALLS)
    tools = [{"functionDeclarations": [{"name": "Bash"}]}]
    with model.serve():
        answer = ask(
            model, "/v1beta/models/m:streamGenerateContent?alt=sse", {"tools": tools, "contents": ["go"]}
        )

    said = json.loads(answer.removeprefix("data: "))
    (part,) = said["candidates"][0]["content"]["parts"]
    assert part["functionCall"] == {"id": "id_first", "name": "Bash", "args": {"command": "touch one"}}


def test_the_model_finds_tools_that_stand_in_groups_within_the_conversation() -> None:
    call = ScriptedCall(id="id", tool="functions.exec", arguments={"input": "touch one"}, is_text=True)
    group = {"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]}
    model = ScriptedModel((call,))
    with model.serve():
        answer = ask(model, "/v1/responses", {"input": [{"type": "additional_tools", "tools": [group]}]})

    events = [json.loads(line[6:]) for line in answer.splitlines() if line.startswith("data: ")]
    item = next(event["item"] for event in events if "item" in event)
    assert (item["type"], item["namespace"], item["name"]) == ("custom_tool_call", "functions", "exec")
    assert item["input"] == "touch one"


def test_the_model_asks_a_subagent_for_its_own_calls() -> None:
    model = ScriptedModel(CALLS)
    tools = [{"name": "Bash"}]
    with model.serve():
        inner = ask(model, "/v1/messages", {"tools": tools, "messages": ["the inner part"]})
        outer = ask(model, "/v1/messages", {"tools": tools, "messages": ["id_first", "the inner part"]})

    assert "id_inner" in inner
    assert "end_turn" in outer


def test_the_model_answers_nobody_who_does_not_know_its_address() -> None:
    model = ScriptedModel(CALLS)
    with model.serve(), pytest.raises(HTTPError, match="404"):
        urlopen(Request(f"{model.url.rpartition('/')[0]}/v1/messages", b"{}"))


def make_result(state: ProbeState, version: str) -> ProbeResult:
    none: dict[GateBehavior, tuple[str, ...]] = dict.fromkeys(FAILURES, ())
    paths = {each.path: ProbeState.OBEYED for each in PROBED_AGENTS["claude"].canaries} | {"shell": state}
    return ProbeResult(agent="claude", version=version, paths=paths, ran=none, untried=none)


@pytest.mark.parametrize(
    ("state", "version", "said"),
    [
        (ProbeState.OBEYED, "7.1 (of the tests)", "asks before each call"),
        (ProbeState.OBEYED, "7.0 (of the tests)", "a probe is due"),
        (ProbeState.NOT_ASKED, "7.1 (of the tests)", "shell: not asked"),
    ],
)
def test_the_doctor_says_what_was_found_and_whether_it_is_of_another_version(
    programs: Path, state: ProbeState, version: str, said: str
) -> None:
    add_agent(programs)
    environ = {"HOME": str(programs.parent / "home"), "PATH": str(programs)}
    keep_result(make_result(ProbeState.UNKNOWN, "old"), environ)
    keep_result(make_result(state, version), environ)

    (finding,) = (each for each in check_machine(environ) if each.name == "gate")

    assert said in finding.text


def test_a_result_with_less_than_is_probed_now_does_not_count_as_gated(programs: Path) -> None:
    add_agent(programs)
    environ = {"HOME": str(programs.parent / "home"), "PATH": str(programs)}
    whole = make_result(ProbeState.OBEYED, "7.1 (of the tests)")
    without_path = replace(whole, paths={"shell": ProbeState.OBEYED, "write": ProbeState.OBEYED})
    keep_result(without_path, environ)

    (finding,) = (each for each in check_machine(environ) if each.name == "gate")

    assert (finding.remedy, "not probed yet: background, edit, server" in finding.text) == (
        "`quorum gate probe claude`",
        True,
    )
    assert whole.is_gated
    for less in (without_path, replace(whole, paths={}), replace(whole, ran={}), replace(whole, untried={})):
        assert not less.is_gated


def test_a_result_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    keep_result(make_result(ProbeState.OBEYED, "1"), environ)
    (path,) = tmp_path.rglob("claude.json")
    path.write_text("no")

    ((_, error),) = read_results(environ)

    assert "claude.json" in str(error)


def test_doctor_names_a_state_folder_that_cannot_be_entered_and_goes_on(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path / ("x" * 300)), "PATH": ""}

    (finding,) = [each for each in check_machine(environ) if each.name == "gate"]

    assert "gate-probes cannot be read: File name too long" in finding.text
    assert find_obstacle(tmp_path, environ)  # and what doctor says of staged mode

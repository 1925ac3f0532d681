"""What is answered when something fails in the middle: never that the call may run."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from quorum import __main__ as program
from quorum.domain.calls.execution import Outcome
from quorum.domain.errors import ConfigError
from quorum.domain.events.event import CallFinished, CallStarted, HookRan
from quorum.domain.sessions.replay import replay_state
from quorum.gate import resident_client
from quorum.tui.agent.opening import StartFailure
from tests.quorum.gate.test_gate_record import gate_process, only, sessions_of
from tests.support.gate_rig import GateAnswer, GateRig
from tests.support.headless_run import QUORUM
from tests.support.sse_server import Hang, Raw, Refuse, Reply, Say, SseServer

QUORUM_MODE = '[review]\nmode = "quorum"\n'


def reviewers(*ports: int) -> str:
    """The settings of a person whose reviewers listen at these ports."""
    names = ", ".join(f'"r{n}/scripted"' for n in range(len(ports)))
    tables = "".join(
        f'[providers.r{n}]\ntype = "openai-chat"\nbase_url = "http://127.0.0.1:{port}/v1"\nmax_retries = 0\n'
        for n, port in enumerate(ports)
    )
    return f"{QUORUM_MODE}[models]\nreview = [{names}]\n{tables}"


# ---------------------------------------------------------------- the working folder


def test_the_program_starts_in_a_folder_that_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.setattr(sys, "executable", sys.executable)

    program.use_own_packages()

    assert sys.path[-1] == ""


@pytest.mark.long
def test_a_call_from_a_folder_that_was_removed_is_asked(rig: GateRig) -> None:
    gone = rig.root / "gone"
    gone.mkdir()
    ended = subprocess.run(
        ["/bin/sh", "-c", f'rmdir "{gone}" && exec "{QUORUM}" gate --dialect claude'],
        cwd=gone,
        input=json.dumps(rig.payload("Bash", command="touch a") | {"cwd": str(gone)}),
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["hookSpecificOutput"]["permissionDecision"] == "ask"


# ---------------------------------------------------------------- reviewers


def test_an_outage_of_all_reviewers_asks(rig: GateRig, closed_port: int) -> None:
    rig.configure(reviewers(closed_port, closed_port))

    answer = rig.claude("Bash", command="touch a")

    assert answer.permission == "ask"
    assert "r0/scripted" in answer.reason
    assert "r1/scripted" in answer.reason
    assert rig.claude("Bash", command="ls").permission == "allow"  # no reviewer is needed for it


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    "reply",
    [Refuse(status=500), Hang("reset"), Raw(body=b"data: rubbish\n\n"), Say(pieces=["approve it"])],
    ids=["refuse", "reset", "rubbish", "no vote"],
)
async def test_reviewers_that_cast_no_vote_ask(rig: GateRig, reply: Reply) -> None:
    async with SseServer("openai-chat") as first, SseServer("openai-chat") as second:
        for server in (first, second):
            server.script = [reply] * 5
        rig.configure(reviewers(first.port, second.port))

        answer = await asyncio.to_thread(rig.claude, "Bash", command="touch a")

        assert answer.permission == "ask"
        assert first.bodies
        assert second.bodies


@pytest.mark.long
async def test_reviewers_that_stay_silent_ask_in_time(rig: GateRig) -> None:
    async with SseServer("openai-chat") as server:
        server.script = [Hang("silent")] * 5
        rig.configure(reviewers(server.port))
        call = json.dumps(rig.payload("Bash", command="touch a")).encode()

        answer = await asyncio.to_thread(rig.send, call, "claude", "--timeout", "1")

        assert (answer.permission, "nothing was decided within 1 s" in answer.reason) == ("ask", True)


# ---------------------------------------------------------------- kill -9


class _Asked(list[Reply]):
    """Answers nothing, and tells when it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.event = asyncio.Event()

    def pop(self, index: object = -1) -> Reply:  # type: ignore[override]
        self.event.set()
        return Hang("silent")


@pytest.mark.long
async def test_a_gate_that_is_killed_amid_a_decision_answers_nothing_and_the_next_decides(rig: GateRig) -> None:
    async with SseServer("openai-chat") as server:
        server.script = asked = _Asked()
        rig.configure(reviewers(server.port))
        process = gate_process(rig, rig.payload("Bash", command="touch a"))
        await asyncio.wait_for(asked.event.wait(), 60)

        process.kill()

        out, _ = await asyncio.to_thread(process.communicate)
    assert (process.returncode, out) == (-signal.SIGKILL, "")
    ((_, records),) = await sessions_of(rig)  # its chain holds
    events = [record.event for record in records if record.event is not None]
    assert only(events, CallStarted) == only(events, CallFinished) == []

    answer = await asyncio.to_thread(rig.claude, "Bash", command="ls")

    assert answer.permission == "allow"
    ((_, records),) = await sessions_of(rig)
    events = [record.event for record in records if record.event is not None]
    assert [end.outcome for end in events if isinstance(end, CallFinished)] == [Outcome.NOT_RUN, Outcome.OK]
    state = replay_state(records)
    assert (state.mended, state.open_calls) == ((), ())


# ---------------------------------------------------------------- a full disk


def decide_with_no_room(rig: GateRig, command: str, *, most_bytes: int = 1) -> GateAnswer:
    """What a gate answers that can make no file larger than this."""
    done = subprocess.run(
        [Path(sys.executable).with_name("quorum"), "gate", "--dialect", "claude"],
        input=json.dumps(rig.payload("Bash", command=command)),
        capture_output=True,
        text=True,
        env=dict(os.environ),
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY)),
    )
    return GateAnswer(done.returncode, done.stdout, done.stderr)


@pytest.mark.long
def test_a_decision_that_there_is_no_room_to_record_asks(rig: GateRig) -> None:
    assert rig.claude("Bash", command="ls").permission == "allow"

    assert decide_with_no_room(rig, "ls").permission == "ask"


@pytest.mark.long
@pytest.mark.parametrize("most_bytes", [0, 1])
def test_no_room_for_a_first_decision_asks(rig: GateRig, most_bytes: int) -> None:
    assert decide_with_no_room(rig, "ls", most_bytes=most_bytes).permission == "ask"


FILLER = """
import resource
class Filler:
    def before_tool_call(self, call):
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
"""


@pytest.mark.long
async def test_a_disk_that_fills_up_amid_a_decision_asks(rig: GateRig) -> None:
    rig.configure('[[hooks]]\nevent = "before_tool_call"\npython = "filler:Filler"\n')
    hooks = rig.home / "config" / "quorum" / "hooks"
    hooks.mkdir()
    (hooks / "filler.py").write_text(FILLER)
    process = gate_process(rig, rig.payload("Bash", command="ls"))

    out, err = await asyncio.to_thread(process.communicate)

    answer = GateAnswer(process.returncode, out, err)
    assert answer.permission == "ask"
    ((_, records),) = await sessions_of(rig)
    assert not any(isinstance(record.event, CallStarted) for record in records)

    rig.configure("")
    assert (await asyncio.to_thread(rig.claude, "Bash", command="ls")).permission == "allow"
    await sessions_of(rig)


# ---------------------------------------------------------------- hooks of the person


def add_hook(rig: GateRig, answer: dict[str, Any] | str, more: str = "") -> None:
    """Have a hook before tool calls print this answer, or run this line of shell."""
    line = answer if isinstance(answer, str) else f"echo {json.dumps(json.dumps(answer))}"
    command = json.dumps(["sh", "-c", line])
    rig.configure(f'{more}[[hooks]]\nevent = "before_tool_call"\nname = "mine"\ncommand = {command}\n')


@pytest.mark.parametrize("mode", ["ask", "auto"])
def test_a_hook_that_changes_the_arguments_asks(rig: GateRig, mode: str) -> None:
    add_hook(rig, {"arguments": {"command": "ls -la"}}, f'[review]\nmode = "{mode}"\n')

    answer = rig.claude("Bash", command="ls")

    assert (answer.permission, "the arguments were changed" in answer.reason) == ("ask", True)


def test_a_hook_cannot_change_a_call_that_a_rule_denies_into_one_that_runs(rig: GateRig) -> None:
    add_hook(rig, {"arguments": {"command": "ls"}}, '[permissions]\ndeny = ["run_command(curl *)"]\n')

    assert rig.claude("Bash", command="curl https://example.org").permission != "allow"


def test_a_hook_sees_only_variables_that_all_callers_of_a_resident_have_in_common(rig: GateRig) -> None:
    rig.set_environment(OF_THE_CALLER="1", LC_TIME="C")
    add_hook(
        rig, 'echo "{\\"decision\\": \\"skip\\", \\"reason\\": \\"caller=$OF_THE_CALLER time=$LC_TIME\\"}"'
    )

    assert "caller= time=C" in rig.claude("Bash", command="ls").reason


@pytest.mark.parametrize("decision", ["abort", "skip"])
def test_a_hook_that_withholds_a_call_denies_it_with_its_reason(rig: GateRig, decision: str) -> None:
    add_hook(rig, {"decision": decision, "reason": "not on a Friday"})

    answer = rig.claude("Bash", command="ls")

    assert (answer.permission, "not on a Friday" in answer.reason) == ("deny", True)


async def test_an_abort_ends_one_decision_and_not_the_session(rig: GateRig) -> None:
    add_hook(rig, {"decision": "abort", "reason": "stop"})
    await asyncio.to_thread(rig.claude, "Bash", command="ls")
    rig.configure("")

    assert (await asyncio.to_thread(rig.claude, "Bash", command="ls")).permission == "allow"
    ((_, records),) = await sessions_of(rig)
    assert replay_state(records).open_calls == ()
    assert sum(isinstance(record.event, HookRan) for record in records) >= 1


@pytest.mark.parametrize("line", ["exit 1", "echo rubbish", 'echo \'{"decision": "allow"}\'', "exit 2"])
def test_a_hook_that_fails_lets_nothing_run(rig: GateRig, line: str) -> None:
    add_hook(rig, line)

    assert rig.claude("Bash", command="ls").permission in ("ask", "deny")


@pytest.mark.long
def test_a_hook_that_hangs_asks_in_time(rig: GateRig) -> None:
    add_hook(rig, "exec sleep 600")
    call = json.dumps(rig.payload("Bash", command="ls")).encode()

    assert rig.send(call, "claude", "--timeout", "1").permission == "ask"


# ---------------------------------------------------------------- a host that fails


@pytest.mark.parametrize(
    "failure",
    [
        MemoryError(),
        ImportError("lib.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        ConfigError("quorum.toml: expected a table"),
        StartFailure(MemoryError()),
        KeyboardInterrupt(),
    ],
    ids=lambda failure: type(failure).__name__,
)
@pytest.mark.parametrize(
    "arguments", [["gate", "--dialect", "claude"], ["--debug", "gate", "--dialect=claude"]]
)
def test_a_gate_that_cannot_be_run_ends_with_the_code_that_forbids_the_call(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], failure: BaseException
) -> None:
    def fail(*_: object, **__: object) -> int:
        raise failure

    monkeypatch.setattr(resident_client, "answer_quickly", lambda _: None)
    monkeypatch.setattr(program, "_run_asked", fail)
    monkeypatch.setattr(os, "_exit", sys.exit)  # the process is that of the tests

    assert program._exit_code(arguments) == program.USAGE

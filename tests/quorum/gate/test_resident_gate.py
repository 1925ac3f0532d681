"""The resident gate: a shorter way to the same decision, and never a way to run what nobody decided about."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from quorum.cli.gate.decision import start_resident
from quorum.cli.gate.resident import find_objection
from quorum.domain.sessions.session_summary import ContinuedSession
from quorum.gate.resident_key import identify_resident
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.remote.framing import FrameReader, encode_frame
from quorum.infrastructure.remote.peer import Peer
from quorum.infrastructure.storage import open_storage
from tests.infrastructure.commands.command_bench import eventually
from tests.support.headless_run import QUORUM
from tests.support.resident_rig import PATIENCE_SECS, ResidentRig


@pytest.fixture
def rig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[ResidentRig]:
    rig = ResidentRig(tmp_path, monkeypatch, capsys)
    yield rig
    rig.close()


@pytest.mark.long
def test_a_resident_decides_by_the_settings_as_they_are_at_each_call(rig: ResidentRig) -> None:
    answers = [rig.claude("Bash", command="touch a").permission]
    for settings in (
        '[permissions]\nallow = ["run_command(touch a)"]',
        '[permissions]\ndeny = ["run_command(touch a)"]',
    ):
        rig.configure(settings)
        answers.append(rig.claude("Bash", command="touch a").permission)
        assert rig.was_quick

    assert answers == ["ask", "allow", "deny"]


@pytest.mark.long
def test_a_change_of_the_rules_that_leaves_size_and_times_as_they_were_holds_at_the_next_call(
    rig: ResidentRig,
) -> None:
    rig.configure('[permissions]\nallow = ["run_command(touch a)"]')
    file = rig.home / "config" / "quorum" / "quorum.toml"
    before = file.stat()
    first = rig.claude("Bash", command="touch a").permission
    with file.open("r+") as opened:  # in place, as no editor does it
        opened.write('[permissions]\nallow = ["run_command(touch b)"]')
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert (first, rig.claude("Bash", command="touch a").permission, rig.was_quick) == ("allow", "ask", True)


@pytest.mark.long
def test_killed_at_any_moment_it_leaves_the_call_to_the_process_that_asks(rig: ResidentRig) -> None:
    rig.start()
    rig.resident.kill()
    rig.resident.wait()

    asked = rig.ask(json.dumps(rig.payload("Bash", command="touch a")).encode())

    assert (asked.permission, rig.was_quick) == ("ask", False)


@pytest.mark.long
def test_killed_in_the_middle_of_a_decision_it_leaves_the_call_to_the_process_that_asks(
    rig: ResidentRig,
) -> None:
    """The hook of the person kills the resident that runs it, once."""
    mark = rig.root.parent / "killed"
    program = rig.root.parent / "hook.py"
    program.write_text(
        "import os, signal, sys\n"
        f"mark, pids = {str(mark)!r}, {str(rig.root.parent / 'pid')!r}\n"
        "if not os.path.exists(mark):\n"
        "    open(mark, 'w').close()\n"
        "    os.kill(int(open(pids).read()), signal.SIGKILL)\n"
    )
    rig.configure(
        '[permissions]\nallow = ["run_command(touch a)"]\n'
        '[[hooks]]\nname = "killer"\nevent = "before_tool_call"\n'
        f"command = {json.dumps([sys.executable, str(program)])}\n"
    )
    rig.start()
    (rig.root.parent / "pid").write_text(str(rig.resident.pid))

    answered = rig.ask(json.dumps(rig.payload("Bash", command="touch a")).encode())

    assert mark.exists()
    assert rig.resident.wait() == -signal.SIGKILL
    assert (answered.permission, rig.was_quick) == ("allow", False)  # by the rule, decided in this process


@pytest.mark.long
def test_one_that_is_stopped_is_not_waited_for(rig: ResidentRig) -> None:
    rig.start()
    rig.resident.send_signal(signal.SIGSTOP)

    asked = rig.ask(json.dumps(rig.payload("Bash", command="touch a")).encode())

    assert (asked.permission, rig.was_quick) == ("ask", False)


class Impostor:
    """Listens where the resident would, and answers each request with the next of these."""

    def __init__(self, path: str, *answers: bytes) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(path)
        self._socket.listen()
        self._answers = answers
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        with connection:
            frames = FrameReader()
            for answer in self._answers:
                while frames.pop_body() is None:
                    if not (data := connection.recv(1 << 16)):
                        return
                    frames.feed(data)
                connection.sendall(answer)
            connection.recv(1)  # until the client gives up

    def close(self) -> None:
        self._thread.join()
        self._socket.close()


def framed(result: Any) -> bytes:
    return encode_frame(json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode())


def listen_in_place(rig: ResidentRig, *answers: bytes) -> Impostor:
    path = Path(rig.key.socket)
    path.parent.mkdir(mode=0o700, parents=True)
    return Impostor(str(path), *answers)


ALLOW = framed({"out": '{"hookSpecificOutput": {"permissionDecision": "allow"}}', "err": "", "code": 0})


@pytest.mark.parametrize(
    "answers",
    [
        [framed("0" * 64), ALLOW],
        [framed(None), ALLOW],
        [b"HTTP/1.1 200 OK\r\n\r\n"],
        [encode_frame(b'{"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "no"}}'), ALLOW],
    ],
    ids=["another key", "no key", "no frame", "an error"],
)
def test_what_does_not_name_the_same_environment_decides_nothing(
    rig: ResidentRig, answers: list[bytes]
) -> None:
    impostor = listen_in_place(rig, *answers)
    try:
        asked = rig.ask(json.dumps(rig.payload("Bash", command="touch a")).encode())
    finally:
        impostor.close()

    assert (asked.permission, rig.was_quick) == ("ask", False)


@pytest.mark.parametrize(
    "answer", [framed({"out": 7, "err": "", "code": 0}), framed([]), framed({"out": "", "err": ""}), b"rubbish"]
)
def test_an_answer_that_is_none_is_not_believed(rig: ResidentRig, answer: bytes) -> None:
    impostor = listen_in_place(rig, framed(rig.key.digest), answer)
    try:
        asked = rig.ask(json.dumps(rig.payload("Bash", command="touch a")).encode())
    finally:
        impostor.close()

    assert (asked.permission, rig.was_quick) == ("ask", False)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o755])
def test_a_socket_in_a_folder_that_others_can_use_is_not_asked(rig: ResidentRig, mode: int) -> None:
    impostor = listen_in_place(rig, framed(rig.key.digest), ALLOW)
    folder = Path(rig.key.socket).parent
    folder.chmod(mode)
    asked = rig.ask(json.dumps(rig.payload("Bash", command="touch a")).encode())
    folder.chmod(0o700)
    with socket.socket(socket.AF_UNIX) as release:
        release.connect(rig.key.socket)
    impostor.close()

    assert (asked.permission, rig.was_quick) == ("ask", False)


def test_another_user_is_not_served() -> None:
    assert find_objection(Peer(pid=1, uid=os.geteuid() + 1))
    assert not find_objection(Peer(pid=1, uid=os.geteuid()))


def test_the_key_is_another_with_each_change_of_what_quorum_reads_of_the_environment_and_with_no_other() -> (
    None
):
    usual = {"HOME": "/h", "PATH": "/usr/bin:/bin", "A": "1"}

    def digest(**changed: str) -> str:
        key = identify_resident({**usual, **changed})
        assert key is not None
        return key.digest

    assert digest() == digest(PWD="/elsewhere", OLDPWD="/x", SHLVL="7", _="/bin/sh")
    assert digest() == digest(A="2") == digest(EFFORT="high") == digest(AGENT_PROMPT_ID="7")
    others = [
        digest(),
        digest(PATH="/usr/bin"),
        digest(QUORUM_REVIEW__MODE="auto"),
        digest(XDG_CONFIG_HOME="/c"),
        digest(SOME_API_KEY="k"),
        digest(https_proxy="http://localhost:1"),
    ]
    assert len(set(others)) == len(others)


@pytest.mark.parametrize(
    "environ",
    [
        {"HOME": "/h", "PATH": ".:/bin"},
        {"HOME": "/h", "PATH": "/bin:"},
        {"HOME": "/h"},
        {"PATH": "/bin"},
        {"HOME": "h", "PATH": "/bin"},
    ],
    ids=str,
)
def test_where_the_folder_of_the_process_counts_or_there_is_no_home_there_is_no_resident(
    environ: dict[str, str],
) -> None:
    assert identify_resident(environ) is None


@pytest.mark.long
def test_the_settings_of_the_process_that_asks_are_never_those_of_another_environment(rig: ResidentRig) -> None:
    loose = rig.claude("Bash", command="touch a"), rig.was_quick
    rig.set_environment(QUORUM_PERMISSIONS__ALLOW='["run_command(touch a)"]')
    strict = rig.claude("Bash", command="touch a"), rig.was_quick

    assert [(answer.permission, quick) for answer, quick in (loose, strict)] == [("ask", True), ("allow", True)]
    assert len(rig.residents) == 2


@pytest.mark.long
def test_a_call_that_was_taken_and_not_answered_in_time_is_asked_about_and_decided_nowhere_else(
    rig: ResidentRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorum.gate.resident_client._GRACE_SECS", 0.0)
    rig.configure('[permissions]\nallow = ["run_command(touch a)"]')
    impostor = listen_in_place(rig, framed(rig.key.digest), b"")

    asked = rig.ask(json.dumps(rig.payload("Bash", command="touch a")).encode(), "claude", "--timeout", "1")
    impostor.close()

    assert (asked.permission, rig.was_quick) == ("ask", False)
    assert "no answer in time" in asked.reason
    assert not (rig.state / "quorum" / "ledger.sqlite").exists()


@pytest.mark.long
async def test_the_first_call_of_a_process_starts_one_and_setting_it_to_zero_ends_it(rig: ResidentRig) -> None:
    call = json.dumps(rig.payload("Bash", command="ls")).encode()
    rig.configure("[gate]\nidle_minutes = 10")
    environ = {name: value for name, value in os.environ.items() if name != "QUORUM_GATE__IDLE_MINUTES"}
    key = identify_resident(environ)
    assert key is not None

    async def gate() -> str:
        done = await asyncio.to_thread(
            subprocess.run,
            [QUORUM, "gate", "--dialect", "claude"],
            input=call,
            env=environ,
            capture_output=True,
            check=True,
        )
        answer: str = json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"]
        return answer

    assert await gate() == "allow"
    await eventually(lambda: os.path.exists(key.socket))
    assert await gate() == "allow"
    rig.configure("[gate]\nidle_minutes = 0")
    assert await gate() == "allow"
    await eventually(lambda: not os.path.exists(key.socket))


def test_an_agent_that_gives_each_call_another_environment_starts_a_bounded_number(rig: ResidentRig) -> None:
    folder = Path(rig.key.socket).parent
    folder.mkdir(mode=0o700, parents=True)
    listening = []
    for name in "abcd":
        one = socket.socket(socket.AF_UNIX)
        one.bind(str(folder / name))
        one.listen()
        listening.append(one)
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(folder / "dead"))
    dead.close()

    start_resident()

    assert sorted(entry.name for entry in folder.iterdir()) == ["a", "b", "c", "d"]
    for one in listening:
        one.close()


@pytest.mark.parametrize("reason", ["others may write above it", "its path is too long"])
def test_where_a_resident_could_not_listen_none_is_started(
    rig: ResidentRig, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    if reason == "its path is too long":
        rig.set_environment(XDG_STATE_HOME=str(rig.home / ("s" * 80)))
    else:
        rig.state.chmod(0o777)
    started: list[object] = []
    monkeypatch.setattr("quorum.cli.gate.decision.subprocess.Popen", lambda *a, **_: started.append(a))

    start_resident()

    assert started == []


def test_the_client_imports_next_to_nothing() -> None:
    heavy = (
        "argparse",
        "asyncio",
        "dataclasses",
        "inspect",
        "msgspec",
        "sqlalchemy",
        "subprocess",
        "quorum.application",
    )
    program = (
        "import sys, quorum.gate.resident_client, quorum.standard_streams\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


@pytest.mark.long
def test_a_variable_that_an_agent_sets_anew_for_each_hook_changes_nothing(rig: ResidentRig) -> None:
    answers = []
    for effort in ("low", "high"):
        rig.set_environment(AGENT_EFFORT=effort)
        answers.append((rig.claude("Bash", command="ls").permission, rig.was_quick))

    assert answers == [("allow", True)] * 2
    assert len(rig.residents) == 1


@pytest.mark.long
def test_a_resident_hands_a_session_over_to_another_that_is_asked(
    rig: ResidentRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is waited for: at most 5 s would be, and within 4 s nothing else could let go of the session."""
    monkeypatch.setattr("quorum.gate.resident_client._GREETING_SECS", PATIENCE_SECS)
    for token in ("a", "b", "a", "b"):
        rig.set_environment(SOME_TOKEN=token)
        answer = rig.send(json.dumps(rig.payload("Bash", command="ls")).encode(), "claude", "--timeout", "4")
        assert (answer.permission, rig.was_quick) == ("allow", True)

    assert len(rig.residents) == 2


@pytest.mark.long
async def test_a_session_that_a_resident_keeps_is_free_for_whoever_opens_it(rig: ResidentRig) -> None:
    assert (await asyncio.to_thread(rig.claude, "Bash", command="ls")).permission == "allow"
    storage = open_storage(StorageTable(), os.environ)
    try:
        (session,) = await storage.archive.list_sessions()
        assert session.open_in == rig.resident.pid

        opened = storage.open_session(ContinuedSession(session.id), cwd=str(rig.root))

        assert (opened.in_use, len(opened.records)) == (None, session.records)
        assert opened.ledger is not None
        await opened.ledger.aclose()
    finally:
        storage.close()
    assert (await asyncio.to_thread(rig.claude, "Bash", command="ls")).permission == "allow"
    assert rig.was_quick

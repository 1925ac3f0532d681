"""The remote control of the installed program: over its socket, from its command line, and against attacks."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.infrastructure.sandbox.sandbox_bench import needs_bubblewrap
from tests.support.headless_run import configure, configure_for, environment, start_quorum
from tests.support.listening_quorum import listening, rpc, said
from tests.support.quorum_rig import DONE, call, calling
from tests.support.rpc_client import RpcClient, RpcFailed
from tests.support.sse_server import ScriptedCall, SseServer
from tests.support.terminal import Terminal

# What a command of a model may try: everything it can say, to everybody who listens.
ATTACK = r"""
import json, os, socket, sys
links = [f"/proc/self/fd/{n}" for n in os.listdir("/proc/self/fd") if int(n) > 2]
print("DESCRIPTORS", [os.readlink(link) for link in links if os.path.exists(link)])
print("ENVIRONMENT", sorted(n for n in os.environ if "APPROVE" in n.upper() or "TOKEN" in n.upper()))
def ask(s, method, **params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    s.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    return s.recv(65536).decode()
for path in sys.argv[1:]:
    try:
        s = socket.socket(socket.AF_UNIX); s.settimeout(10); s.connect(path)
        print("CONNECTED", path)
        print(ask(s, "command.exec", command="/mode auto"))
        print(ask(s, "input.send", text="!touch broken-out"))
    except OSError as error:
        print("FAILED", type(error).__name__)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("first = 1\n", encoding="utf-8")
    (folder / "attack.py").write_text(ATTACK, encoding="utf-8")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.mark.long
async def test_it_runs_without_a_terminal_and_is_asked_from_the_command_line(project: Path, home: Path) -> None:
    async with listening(project, home, home / "q") as quorum, await quorum.client() as client:
        await quorum.until(client, ready=True)
        assert stat.S_IMODE(os.lstat(home / "q").st_mode) == 0o600

        state = await quorum.rpc("state.get")
        assert (state.code, state.err) == (0, "")
        assert said(state)["size"] == [80, 24]
        assert state.out.startswith('{\n  "version"')

        await quorum.rpc("input.send", '{"text": "read a.py"}')
        await quorum.until(client, running=False, waiting=0)
        pane = said(await quorum.rpc("pane.read"))
        assert "first = 1" in str(pane)

        error = await quorum.rpc("nope")
        assert (error.code, error.out, said(error)["code"]) == (1, "", -32601)


@pytest.mark.long
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 143)]
)
async def test_a_signal_ends_it_cleanly(project: Path, home: Path, number: int, code: int) -> None:
    async with (
        listening(project, home, home / "q", "--size", "120x40") as quorum,
        await quorum.client() as client,
    ):
        state = await quorum.until(client, ready=True)
        assert state["size"] == [120, 40]
        await client.call("input.send", text="read a.py")
        await quorum.until(client, running=False, waiting=0)
        quorum.process.send_signal(number)
        ended, reported = await quorum.ended()

    assert ended == code
    assert "quorum --resume" in reported
    assert not (home / "q").exists()


@pytest.mark.long
async def test_a_client_can_end_it(project: Path, home: Path) -> None:
    async with listening(project, home, home / "q") as quorum:
        async with await quorum.client() as client:
            await quorum.until(client, ready=True)
            await client.call("command.exec", command="quit")
        assert (await quorum.ended())[0] == 0

    assert not (home / "q").exists()


@pytest.mark.long
async def test_a_second_one_reads_who_listens_and_the_first_goes_on(project: Path, home: Path) -> None:
    async with listening(project, home, home / "q") as first:
        async with listening(project, home, home / "q") as second:
            code, reported = await second.ended()
        asked = await first.rpc("rpc.discover")

        assert code == 2
        assert f"process {first.process.pid} listens there already" in reported
        assert asked.code == 0


@pytest.mark.long
async def test_after_a_kill_the_next_one_takes_the_place(project: Path, home: Path) -> None:
    async with listening(project, home, home / "q") as first:
        first.process.kill()
        await first.ended()
    assert (home / "q").is_socket()

    async with listening(project, home, home / "q") as second, await second.client() as client:
        await second.until(client, ready=True)


@pytest.mark.long
async def test_misbehaving_clients_leave_it_at_work(project: Path, home: Path) -> None:
    async with listening(project, home, home / "q") as quorum, await quorum.client() as client:
        await quorum.until(client, ready=True)
        crowd = []
        for sent in (
            b"Content-Length: 50\r\n\r\n{",
            os.urandom(2000),
            b"Content-Length: 100000000\r\n\r\n",
            b"",
        ):
            for _ in range(20):
                one = socket.socket(socket.AF_UNIX)
                one.connect(str(home / "q"))
                one.sendall(sent)
                crowd.append(one)
        async with await quorum.client() as another:
            assert (await another.call("state.get"))["ready"]
        for one in crowd:
            one.close()


@pytest.mark.long
async def test_with_the_token_a_review_is_approved_from_afar(project: Path, home: Path) -> None:
    async with listening(project, home, home / "q", approving=True) as quorum, await quorum.client() as client:
        await quorum.until(client, ready=True)
        await client.call("input.send", text="write made.txt: here it is")
        question = await quorum.asked(client)
        assert question["packet"]["tool"] == "write_file"
        with pytest.raises(RpcFailed, match="takes approval"):
            await client.call("hil.respond", decision="approve", digest=question["digest"])
        assert not (project / "made.txt").exists()

        await client.call("hil.respond", decision="approve", digest=question["digest"], token=quorum.token)
        await quorum.until(client, running=False, waiting=0)

    assert "here it is" in (project / "made.txt").read_text()
    assert len(quorum.token) > 40
    kept = contents_of(home) + contents_of(project)
    assert kept
    assert not any(quorum.token.encode() in content for content in kept)


@pytest.mark.long
async def test_a_plan_is_rejected_and_approved_from_afar_and_then_in_force(project: Path, home: Path) -> None:
    async with SseServer("openai-chat") as model:
        configure_for(home, model)
        model.script = [
            calling(a_plan("p1", "lib/**")),
            calling(a_plan("p2", "src/**")),
            calling(call("c1", "write_file", path="src/a", content="made", create_dirs=True)),
            DONE,
        ]
        async with (
            listening(project, home, home / "q", approving=True) as quorum,
            await quorum.client() as client,
        ):
            await quorum.until(client, ready=True)
            await client.call("input.send", text="/plan make a parser")
            first = await quorum.asked(client)
            with pytest.raises(RpcFailed, match="takes approval"):
                await client.call("hil.respond", decision="approve", digest=first["digest"])
            await client.call("hil.respond", decision="reject", digest=first["digest"], reason="only below src")

            second = await asked_anew(client, first["digest"])
            with pytest.raises(RpcFailed, match="nothing was answered"):
                await client.call("hil.respond", decision="approve", digest=first["digest"], token=quorum.token)
            await client.call("hil.respond", decision="approve", digest=second["digest"], token=quorum.token)
            await quorum.until(client, running=False, waiting=0)

    assert first["packet"]["tool"] == "create_plan"
    assert first["plan"].startswith("# Plan\n\na parser\n")
    assert "- writes: lib/**" in first["plan"]
    assert "only below src" in str(model.bodies[1]["messages"])
    assert "- writes: src/**" in second["plan"]
    assert (project / "src" / "a").read_text() == "made", "the approved plan lets it be written unasked"


def a_plan(id_: str, writes: str) -> ScriptedCall:
    task = {"id": "parser", "description": "write the parser", "writes": [writes]}
    return call(id_, "create_plan", objective="a parser", reasoning="it is asked for", tasks=[task])


async def asked_anew(client: RpcClient, former: str) -> dict[str, Any]:
    """The question that follows the one with this digest."""
    async with asyncio.timeout(120):
        while (question := (await client.call("state.get"))["question"]) is None or question[
            "digest"
        ] == former:
            pass
    found: dict[str, Any] = question
    return found


def contents_of(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


async def attacked(project: Path, home: Path, place: Path, *, mode: str) -> str:
    """What a command of the model sees that attacks the socket, approved so that it runs."""
    configure(home, f'[tools.run_command]\nsandbox = "{mode}"\n')
    async with listening(project, home, place, approving=True) as quorum, await quorum.client() as client:
        await quorum.until(client, ready=True)
        await client.call("input.send", text=f"run python3 attack.py {place}")
        question = await quorum.asked(client)
        await client.call("hil.respond", decision="approve", digest=question["digest"], token=quorum.token)
        state = await quorum.until(client, running=False, waiting=0)
        pane = await client.call("pane.read")
        assert state["mode"] == "ask"
        assert quorum.token not in str(pane)
    assert not (project / "broken-out").exists()
    outputs = [call["output"] for entry in pane["entries"] for call in entry.get("calls", ())]
    assert len(outputs) == 1
    reported = str(outputs[0])
    assert "DESCRIPTORS []\nENVIRONMENT []" in reported
    return reported


@pytest.mark.long
@needs_bubblewrap
@pytest.mark.parametrize("where", ["home", "project"])
async def test_in_the_sandbox_a_command_cannot_even_reach_the_socket(
    project: Path, home: Path, where: str
) -> None:
    reported = await attacked(project, home, {"home": home, "project": project}[where] / "q", mode="require")

    assert "FAILED" in reported
    assert "CONNECTED" not in reported


@pytest.mark.long
async def test_without_a_sandbox_a_command_is_recognised_and_not_served(project: Path, home: Path) -> None:
    reported = await attacked(project, home, home / "q", mode="off")

    assert "CONNECTED" in reported
    assert "what quorum itself started is not served" in reported or "BrokenPipeError" in reported
    assert '"result"' not in reported


# -- the command line -----------------------------------------------------------------------------------------


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["state.get"], "--socket"),
        (["--socket", "nowhere", "state.get"], "nobody answers at nowhere"),
        (["--socket", "nowhere", "state.get", "{"], "not JSON"),
        (["--socket", "nowhere", "state.get", "[1]"], "one JSON object"),
        (["--socket", "nowhere", "--token-fd", "99", "state.get"], "cannot be read from descriptor 99"),
        (["--socket", "n" * 200, "state.get"], "path too long"),
    ],
)
async def test_what_cannot_be_asked_is_a_mistake_of_usage(home: Path, words: list[str], expected: str) -> None:
    ended = await rpc(*words, home=home)

    assert (ended.code, ended.out) == (2, "")
    assert expected in ended.err


@pytest.mark.long
async def test_parameters_may_come_from_standard_input_and_the_token_from_a_descriptor(
    project: Path, home: Path
) -> None:
    async with listening(project, home, home / "q", approving=True) as quorum, await quorum.client() as client:
        await quorum.until(client, ready=True)
        wanted = b'{"key": "review.mode", "value": "accept-edits"}'
        refused = await rpc("--socket", str(home / "q"), "config.set", "-", home=home, stdin=wanted)
        reader, writer = os.pipe()
        os.write(writer, quorum.token.encode() + b"\n")
        os.close(writer)
        command = ["rpc", "--socket", str(home / "q"), "--token-fd", str(reader), "config.set", wanted.decode()]
        process = await start_quorum(*command, cwd=home, env=environment(home), pass_fds=[reader])
        code = await process.wait()
        os.close(reader)

        assert (refused.code, said(refused)["data"]) == (1, {"reason": "needs_approval"})
        assert code == 0
        assert (await client.call("state.get"))["mode"] == "accept-edits"


@pytest.mark.long
async def test_the_app_in_a_terminal_can_be_asked_too(project: Path, home: Path) -> None:
    with Terminal(project, home, rows=40, columns=120, arguments=["--listen", str(home / "q")]) as terminal:
        await asyncio.to_thread(terminal.wait_until_ready)
        state = said(await rpc("--socket", str(home / "q"), "state.get", home=home))
        other = await rpc("--socket", str(home / "q"), "screen.capture", '{"width": 80}', home=home)
        await rpc("--socket", str(home / "q"), "keys.feed", '{"keys": ["h", "e", "y"]}', home=home)
        await asyncio.to_thread(terminal.wait_for, "hey")
        terminal.type("\x11")
        assert await asyncio.to_thread(terminal.ended) == 0

    assert (state["headless"], state["size"]) == (False, [120, 40])
    assert said(other)["data"] == {"reason": "on_a_terminal"}
    assert not (home / "q").exists()

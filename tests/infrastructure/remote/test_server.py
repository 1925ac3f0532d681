"""The server against clients that misbehave: each costs its own connection and nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from quorum.infrastructure.execution.commands.orphans import generate_marker
from quorum.infrastructure.remote.framing import MOST_BODY_BYTES, encode_frame
from quorum.infrastructure.remote.peer import Peer, identify_peer
from quorum.infrastructure.remote.place import SocketPath
from quorum.infrastructure.remote.server import Bounds, Server, find_objection
from tests.support.rpc_client import RpcClient

# A process of its own that connects, asks once, and prints what comes back until the end.
_ASK = """
import socket, sys
s = socket.socket(socket.AF_UNIX); s.settimeout(20); s.connect(sys.argv[1])
try:
    s.sendall(b'Content-Length: 2\\r\\n\\r\\n"x')
    s.shutdown(socket.SHUT_WR)
except BrokenPipeError:  # refused already; why is there to be read
    pass
said = b''
while data := s.recv(65536):
    said += data
print(said.decode())
"""


def nobody_objects(_peer: Peer) -> str:
    return ""


class Echo:
    """Answers each body with itself, or when it is let."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        self.at_once = 0
        self.most_at_once = 0
        self.news = asyncio.Condition()
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()
        self.answer_with: bytes | None = None

    async def reached(self, condition: Callable[[], bool]) -> None:
        """Wait until bodies have come for which something holds."""
        async with asyncio.timeout(30), self.news:
            await self.news.wait_for(condition)

    async def __call__(self, body: bytes) -> bytes | None:
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        self.received.append(body)
        answer = self.answer_with or body
        async with self.news:
            self.news.notify_all()
        await self.may_go_on.wait()
        self.at_once -= 1
        return answer


def complaint(why: str) -> bytes:
    return json.dumps({"error": why}).encode()


@asynccontextmanager
async def serving(
    folder: Path, bounds: Bounds | None = None, objection: object = nobody_objects
) -> AsyncIterator[tuple[Path, Echo]]:
    place, echo = SocketPath(folder / "q"), Echo()
    server = Server(place.socket, echo, complaint, bounds=bounds, objection=objection)  # type: ignore[arg-type]
    running = asyncio.create_task(server.run())
    try:
        yield place.path, echo
    finally:
        running.cancel()
        await asyncio.wait([running])
        place.leave()


async def works(path: Path) -> None:
    """Somebody else is served as ever."""
    async with await RpcClient.at(path) as client:
        client.send({"still": "here"})
        assert await client.answer() == {"still": "here"}


async def test_one_connection_is_answered_in_order_and_one_at_a_time(tmp_path: Path) -> None:
    async with serving(tmp_path) as (path, echo), await RpcClient.at(path) as client:
        for number in range(50):
            client.send(number)
        assert [await client.answer() for _ in range(50)] == list(range(50))
        assert echo.most_at_once == 1


async def test_several_connections_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async with serving(tmp_path) as (path, echo):
        echo.may_go_on.clear()
        async with await RpcClient.at(path) as one, await RpcClient.at(path) as other:
            one.send(1)
            other.send(2)
            await echo.reached(lambda: echo.at_once == 2)
            echo.may_go_on.set()
            assert (await one.answer(), await other.answer()) == (1, 2)


async def test_half_a_frame_costs_its_connection_when_its_time_is_up(tmp_path: Path) -> None:
    async with serving(tmp_path, Bounds(frame_secs=0.05)) as (path, echo), await RpcClient.at(path) as client:
        client.send_bytes(b"Content-Length: 100\r\n\r\n{")
        assert await client.answer() == {"error": "a frame has to arrive within 0.05 s"}
        assert await client.ended()
        assert echo.received == []
        await works(path)


async def test_a_frame_that_trickles_in_has_no_more_time_than_any_other(tmp_path: Path) -> None:
    async with serving(tmp_path, Bounds(frame_secs=0.05)) as (path, _), await RpcClient.at(path) as client:
        ended = asyncio.create_task(client.ended())
        client.send_bytes(b"Content-Length: 1000000\r\n\r\n")
        while not ended.done():
            client.send_bytes(b"x")
            await asyncio.sleep(0)
        await works(path)


async def test_who_is_silent_between_frames_is_waited_for(tmp_path: Path) -> None:
    async with serving(tmp_path, Bounds(frame_secs=0)) as (path, _), await RpcClient.at(path) as client:
        for number in range(3):
            await works(path)
            client.send(number)
            assert await client.answer() == number


async def test_garbage_is_answered_with_an_error_and_the_end(tmp_path: Path) -> None:
    async with serving(tmp_path) as (path, echo), await RpcClient.at(path) as client:
        client.send_bytes(os.urandom(4096) + b"\r\n\r\n")
        assert "error" in await client.answer()
        assert await client.ended()
        assert echo.received == []
        await works(path)


async def test_a_hundred_megabytes_are_not_taken_in(tmp_path: Path) -> None:
    async with serving(tmp_path) as (path, echo), await RpcClient.at(path) as client:
        client.send_bytes(b"Content-Length: 100000000\r\n\r\n")
        chunk = bytes(1 << 20)
        sent = 0
        try:
            while sent < 100:
                client.send_bytes(chunk)
                await client.writer.drain()
                sent += 1
        except ConnectionError:
            pass
        assert sent < 5  # what the kernel and our own transport hold, and not what the server does
        assert echo.received == []
        await works(path)


async def test_the_longest_body_is_taken(tmp_path: Path) -> None:
    async with serving(tmp_path) as (path, _), await RpcClient.at(path) as client:
        text = "x" * (MOST_BODY_BYTES - 2)
        client.send(text)
        assert await client.answer() == text


async def test_a_client_that_never_reads_is_let_go(tmp_path: Path) -> None:
    async with serving(tmp_path, Bounds(answer_secs=0.05)) as (path, echo):
        echo.answer_with = bytes(8 << 20)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(encode_frame(b"1") + encode_frame(b"2"))
            await echo.reached(lambda: bool(echo.received))
            echo.answer_with = None
            await works(path)
            let_go = select.poll()
            let_go.register(client, 0)  # only that the other side has hung up
            assert await asyncio.to_thread(let_go.poll, 30_000)
        assert b"2" not in echo.received


async def test_an_answer_that_is_too_large_is_an_error(tmp_path: Path) -> None:
    async with serving(tmp_path) as (path, echo), await RpcClient.at(path) as client:
        echo.answer_with = bytes((16 << 20) + 1)
        client.send(1)
        assert "16777216 is the most" in (await client.answer())["error"]


async def test_a_client_that_leaves_in_the_middle_of_an_answer_harms_nobody(tmp_path: Path) -> None:
    async with serving(tmp_path) as (path, echo):
        echo.answer_with = bytes(1 << 20)
        for _ in range(20):
            raw = socket.socket(socket.AF_UNIX)
            raw.connect(str(path))
            raw.sendall(encode_frame(b"1"))
            raw.close()
        await echo.reached(lambda: bool(echo.received))
        echo.answer_with = None
        await works(path)


async def test_two_hundred_silent_connections_keep_nobody_out(tmp_path: Path) -> None:
    async with serving(tmp_path) as (path, _):
        crowd = [await RpcClient.at(path) for _ in range(200)]
        await works(path)
        ended = [asyncio.create_task(client.ended()) for client in crowd]
        for _ in range(200 - 32):
            await asyncio.wait([task for task in ended if not task.done()], return_when=asyncio.FIRST_COMPLETED)
            if sum(task.done() for task in ended) >= 200 - 32:
                break
        await works(path)
        for task in ended:
            task.cancel()
        for client in crowd:
            client.writer.close()


async def test_who_waits_for_an_answer_is_not_put_out_for_newcomers(tmp_path: Path) -> None:
    async with serving(tmp_path, Bounds(connections=2)) as (path, echo), await RpcClient.at(path) as busy:
        echo.may_go_on.clear()
        busy.send("mine")
        await echo.reached(lambda: bool(echo.received))
        crowd = [await RpcClient.at(path) for _ in range(10)]
        echo.may_go_on.set()
        assert await busy.answer() == "mine"
        for client in crowd:
            client.writer.close()


async def test_the_end_of_the_server_ends_all_connections(tmp_path: Path) -> None:
    async with serving(tmp_path) as (path, _):
        client = await RpcClient.at(path)
        client.send(1)
        assert await client.answer() == 1
    assert await client.ended()
    client.writer.close()


# -- who may connect --------------------------------------------------------------------------------------


def test_the_kernel_names_the_peer(tmp_path: Path) -> None:
    place = SocketPath(tmp_path / "q")
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(place.path))
        accepted, _ = place.socket.accept()
        assert identify_peer(accepted) == Peer(os.getpid(), os.geteuid())
        accepted.close()
    place.leave()


def test_another_user_is_not_served() -> None:
    assert "only the person" in find_objection(Peer(os.getppid(), os.geteuid() + 1))


def test_a_process_out_of_sight_is_not_served() -> None:
    assert "cannot be seen" in find_objection(Peer(0, os.geteuid()))


def test_the_process_that_started_us_is_served() -> None:
    assert find_objection(Peer(os.getppid(), os.geteuid())) == ""


async def asked_by(*argv: str, env: dict[str, str] | None = None) -> str:
    process = await asyncio.create_subprocess_exec(
        *argv, stdout=asyncio.subprocess.PIPE, env={**os.environ, **(env or {})}
    )
    out, _ = await process.communicate()
    return out.decode()


async def test_what_we_have_started_is_not_served(tmp_path: Path) -> None:
    async with serving(tmp_path, objection=find_objection) as (path, echo):
        reported = await asked_by(sys.executable, "-c", _ASK, str(path))

    assert "what quorum itself started is not served" in reported
    assert echo.received == []


async def test_what_is_far_below_us_is_not_served_either(tmp_path: Path) -> None:
    async with serving(tmp_path, objection=find_objection) as (path, echo):
        reported = await asked_by("sh", "-c", f'setsid {sys.executable} -c "$0" {path} | cat', _ASK)

    assert "what quorum itself started is not served" in reported
    assert echo.received == []


@pytest.mark.long
def test_a_process_below_another_that_carries_the_mark_of_a_command_is_not_served(tmp_path: Path) -> None:
    """Seen from a process that is not its ancestor, as a daemon that has left quorum's line would be."""
    judge = "import sys; from quorum.infrastructure.remote.peer import Peer; import os; "
    judge += "from quorum.infrastructure.remote.server import find_objection; "
    judge += "print(find_objection(Peer(int(sys.argv[1]), os.geteuid())))"

    def judged(env: dict[str, str]) -> str:
        suspect = subprocess.Popen(
            ["sh", "-c", "unset $0; sleep 60 & echo $!; wait", *env],
            stdout=subprocess.PIPE,
            env={**os.environ, **env},
            text=True,
            start_new_session=True,
        )
        assert suspect.stdout is not None
        child = suspect.stdout.readline().strip()
        try:
            return subprocess.run(
                [sys.executable, "-c", judge, child], capture_output=True, text=True, check=True
            ).stdout.strip()
        finally:
            os.killpg(suspect.pid, 9)
            suspect.wait()
            suspect.stdout.close()

    assert "no command reaches its own approval" in judged({generate_marker(): "batch"})
    assert judged({"HARMLESS": "1"}) == ""

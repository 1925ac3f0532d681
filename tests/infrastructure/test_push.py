"""Messages that a decision waits, over a real server and a real program."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from quorum.application.review.pushing import PushMessage
from quorum.domain.errors import PushFailed
from quorum.infrastructure.config.session_tables import PushTable, find_push_problem
from quorum.infrastructure.push import build_pushes

MESSAGE = PushMessage(digest="5f" * 32, session_id="s", tool="run_command", folder="shop", waiting=1)


class Receiver:
    """Takes one request, and answers with this status."""

    def __init__(self, status: str = "200 OK") -> None:
        self.request, self._status = b"", status

    async def __aenter__(self) -> Receiver:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/topic"
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        (size,) = (line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
        self.request = head + await reader.readexactly(int(size.split(b":")[1]))
        writer.write(f"HTTP/1.1 {self._status}\r\nContent-Length: 0\r\nLocation: /elsewhere\r\n\r\n".encode())
        await writer.drain()
        writer.close()


async def tell(table: PushTable, folder: Path) -> None:
    (push,) = build_pushes([table], {"PATH": os.environ["PATH"]}, folder)
    await push.send(MESSAGE)


async def test_a_server_gets_the_sentence_and_the_link(tmp_path: Path) -> None:
    async with Receiver() as receiver:
        await tell(PushTable(url=receiver.url, link="https://q.example/{digest}"), tmp_path)

    head, body = receiver.request.split(b"\r\n\r\n")
    assert head.startswith(b"POST /topic ")
    assert b"title: quorum" in head.lower()
    assert f"click: https://q.example/{MESSAGE.digest}".encode() in head.lower()
    assert body.decode() == MESSAGE.text


@pytest.mark.parametrize("status", ["500 Oh", "302 Found", "403 No"])
async def test_a_server_that_does_not_take_it_is_an_error(tmp_path: Path, status: str) -> None:
    async with Receiver(status) as receiver:
        with pytest.raises(PushFailed, match=f"the server answered {status[:3]}"):
            await tell(PushTable(url=receiver.url), tmp_path)


async def test_a_server_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PushFailed, match=r"127\.0\.0\.1 cannot be reached: Connection refused"):
        await tell(PushTable(url="http://127.0.0.1:1/"), tmp_path)


async def test_a_command_reads_what_waits_as_json(tmp_path: Path) -> None:
    copies = "import sys; open('told.json', 'w').write(sys.stdin.read())"

    await tell(PushTable(command=(sys.executable, "-c", copies), link="https://q/{digest}"), tmp_path)

    told = json.loads((tmp_path / "told.json").read_text())
    assert told == {
        "digest": MESSAGE.digest,
        "session_id": "s",
        "tool": "run_command",
        "folder": "shop",
        "waiting": 1,
        "message": MESSAGE.text,
        "link": f"https://q/{MESSAGE.digest}",
    }


async def test_a_command_that_is_cut_off_at_its_start_reads_no_empty_message(tmp_path: Path) -> None:
    table = PushTable(command=("sh", "-c", 'printf "%s\\n" "$(cat)" >> told.jsonl'))

    for steps in range(20):
        telling = asyncio.ensure_future(tell(table, tmp_path))
        for _ in range(steps):
            await asyncio.sleep(0)
        telling.cancel()
        with suppress(asyncio.CancelledError):
            await telling
    await tell(table, tmp_path)

    lines = (tmp_path / "told.jsonl").read_text().splitlines()
    assert {json.loads(line)["digest"] for line in lines} == {MESSAGE.digest}


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ((sys.executable, "-c", "raise SystemExit('no phone')"), "exit code 1: no phone"),
        (("no-such-program-at-all",), "there is no program"),
        (("./here",), "looked for in whatever folder is open"),
    ],
)
async def test_a_command_that_fails_is_an_error(tmp_path: Path, command: tuple[str, ...], said: str) -> None:
    with pytest.raises(PushFailed, match=said):
        await tell(PushTable(command=command), tmp_path)


def test_a_table_says_what_it_runs_or_where_it_posts_to() -> None:
    assert find_push_problem({"command": ["x"]}) is None
    assert find_push_problem({"browsers": True}) is None
    assert "needs one of" in str(find_push_problem({"browsers": True, "url": "https://a.example"}))
    assert find_push_problem({"url": "https://ntfy.example/t", "link": "https://q.example/"}) is None
    assert "needs one of" in str(find_push_problem({}))
    assert "needs one of" in str(find_push_problem({"command": ["x"], "url": "https://a.example"}))
    assert "url = 'ntfy.example/t'" in str(find_push_problem({"url": "ntfy.example/t"}))
    assert "link = 'q'" in str(find_push_problem({"command": ["x"], "link": "q"}))

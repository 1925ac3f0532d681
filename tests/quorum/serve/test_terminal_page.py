"""The page with the terminal: one app for each page, and what may be said over its websocket."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path

import aiohttp
import pytest
from aiohttp import WSMsgType

from quorum.serve.server import Site
from quorum.serve.sites import MOST_APPS, AppProcess, TerminalPage
from tests.support.served_site import ServedSite, serving

# Speaks as Textual's web driver does: it draws its first size and flag, then every packet that it gets.
APP = r"""
import os, sys
def draw(text):
    data = text.encode()
    os.write(1, b"D" + len(data).to_bytes(4, "big") + data)
os.write(1, b"__GANGLION__\n")
draw(f"{os.environ['COLUMNS']}x{os.environ['ROWS']} {sys.argv[1]}")
while kind := sys.stdin.buffer.read(1):
    data = sys.stdin.buffer.read(int.from_bytes(sys.stdin.buffer.read(4), "big")).decode()
    if data == "quit":
        meta = b'{"type": "exit"}'
        os.write(1, b"M" + len(meta).to_bytes(4, "big") + meta)
        break
    draw(kind.decode() + data)
print("ended", file=sys.stderr)
open(sys.argv[2], "a").write("ended\n")
"""


class Page:
    """The site, and where its apps leave a line when they end."""

    def __init__(self, folder: Path) -> None:
        self.ends = folder / "ends"

    async def start(self, size: tuple[int, int], continues: bool) -> AppProcess:
        """Start the script above."""
        return await AppProcess.start((sys.executable, "-c", APP, str(continues), str(self.ends)), size)

    def site(self) -> Site:
        """What is served."""
        page = TerminalPage(self.start, socket_origin="ws://here")
        return Site(add_routes=page.add_routes, kill_all=page.kill_all)


async def socket_path(site: ServedSite, page: str = "/") -> str:
    """The path of the websocket of a newly opened page."""
    status, text = await site.get(page)
    assert status == 200
    found = re.search(r'data-session-websocket-url="ws://here([^"]+)"', text)
    assert found is not None
    return found[1]


async def test_a_page_gets_an_app_of_its_size_and_talks_to_it(tmp_path: Path) -> None:
    page = Page(tmp_path)
    async with serving(page.site()) as site:
        await site.enter()
        async with site.connect(await socket_path(site) + "?width=120&height=40") as socket:
            assert await socket.receive_bytes() == b"120x40 False"
            for said, drawn in (
                (["stdin", "é\ud800"], "Dé?"),
                (["resize", {"width": 90, "height": 20}], 'M{"type": "resize", "width": 90, "height": 20}'),
                (["focus"], 'M{"type": "focus"}'),
                (["blur"], 'M{"type": "blur"}'),
            ):
                await socket.send_str(json.dumps(said))
                assert (await socket.receive_bytes()).decode() == drawn
            await socket.send_json(["ping", "12"])
            assert await socket.receive_json() == ["pong", "12"]

            await socket.send_json(["stdin", "quit"])
            assert (await socket.receive()).type is WSMsgType.CLOSE

    assert page.ends.read_text() == "ended\n"


async def test_an_app_ends_with_its_page(tmp_path: Path) -> None:
    page = Page(tmp_path)
    async with serving(page.site()) as site:
        await site.enter()
        async with site.connect(await socket_path(site)) as socket:
            await socket.receive_bytes()

    assert page.ends.read_text() == "ended\n"


async def test_the_link_to_continue_has_the_next_app_continue(tmp_path: Path) -> None:
    async with serving(Page(tmp_path).site()) as site:
        await site.enter()
        async with site.connect(await socket_path(site, "/?continue=1")) as socket:
            assert await socket.receive_bytes() == b"80x24 True"


async def test_a_page_opens_its_app_once(tmp_path: Path) -> None:
    async with serving(Page(tmp_path).site()) as site:
        await site.enter()
        path = await socket_path(site)
        async with site.connect(path):
            for used in (path, "/ws/made-up"):
                with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                    async with site.connect(used):
                        pass


async def test_so_many_apps_and_no_more(tmp_path: Path) -> None:
    async with serving(Page(tmp_path).site()) as site:
        await site.enter()
        open_sockets = [await site.connect(await socket_path(site)) for _ in range(MOST_APPS)]
        with pytest.raises(aiohttp.WSServerHandshakeError, match="503"):
            async with site.connect(await socket_path(site)):
                pass
        for socket in open_sockets:
            await socket.close()


async def test_pages_that_connect_at_the_same_moment_get_no_more_apps_either(tmp_path: Path) -> None:
    page, asked, may_start = Page(tmp_path), 0, asyncio.Event()

    async def start(size: tuple[int, int], continues: bool) -> AppProcess:
        nonlocal asked
        asked += 1
        await may_start.wait()
        return await page.start(size, continues)

    terminals = TerminalPage(start, socket_origin="ws://here")
    async with serving(Site(add_routes=terminals.add_routes, kill_all=terminals.kill_all)) as site:
        await site.enter()
        paths = [await socket_path(site) for _ in range(MOST_APPS + 2)]
        ways = [await site.connect(path) for path in paths[:MOST_APPS]]
        for path in paths[MOST_APPS:]:
            with pytest.raises(aiohttp.WSServerHandshakeError, match="503"):
                async with site.connect(path):
                    pass
        may_start.set()
        for way in ways:
            await way.receive_bytes()
            await way.close()

    assert asked == MOST_APPS


@pytest.mark.parametrize(
    "said",
    [
        "",
        "no JSON",
        "7",
        "[]",
        '["stdin"]',
        '["stdin", 7]',
        '["resize", {"width": "x", "height": 2}]',
        '["quit"]',
        '["deliver_chunk_request", "x"]',
        "[" * 100_000,
    ],
    ids=lambda said: said[:20],
)
async def test_what_the_page_cannot_say_ends_the_connection(tmp_path: Path, said: str) -> None:
    async with serving(Page(tmp_path).site()) as site:
        await site.enter()
        async with site.connect(await socket_path(site)) as socket:
            await socket.receive_bytes()
            await socket.send_str(said)
            assert (await socket.receive()).type is WSMsgType.CLOSE


async def test_an_app_that_cannot_be_started_closes_the_page(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def start(size: tuple[int, int], continues: bool) -> AppProcess:
        return await AppProcess.start(("/nowhere/at/all",), size)

    page = TerminalPage(start, socket_origin="ws://here")
    async with serving(Site(add_routes=page.add_routes, kill_all=page.kill_all)) as site:
        await site.enter()
        async with site.connect(await socket_path(site)) as socket:
            assert (await socket.receive()).data == aiohttp.WSCloseCode.INTERNAL_ERROR

    assert "no app could be started: No such file" in capsys.readouterr().err


async def test_an_app_that_does_not_start_closes_the_page_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def start(size: tuple[int, int], continues: bool) -> AppProcess:
        return await AppProcess.start((sys.executable, "-c", "raise SystemExit('no\\n\x1b[2Jkey')"), size)

    page = TerminalPage(start, socket_origin="ws://here")
    async with serving(Site(add_routes=page.add_routes, kill_all=page.kill_all)) as site:
        await site.enter()
        async with site.connect(await socket_path(site)) as socket:
            assert await socket.receive_bytes() == b"no\r\nkey"
            assert (await socket.receive()).type is WSMsgType.CLOSE

    assert "quorum: no\nquorum: key\n" in capsys.readouterr().err

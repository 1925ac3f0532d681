"""`quorum serve` as a process, and a browser's side of it: pages, forms, and the websocket of a terminal."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from tests.support.headless_run import Started, start_quorum
from tests.support.served_site import find_values

_PATIENCE_SECS = 120.0
_LONGEST_TEST_SECS = 400.0
_SEQUENCES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])")
_SOCKET = re.compile(r'data-session-websocket-url="ws://[^/]+([^"]+)"')
_CARD = re.compile(r'class="card" href="([^"]+)".*?<span class="quiet">([^<]*) · ')


class ServedScreen:
    """The websocket of a page."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket, self.painted = socket, b""

    async def shows(self, text: str) -> None:
        """Until this has been painted."""
        while text.encode() not in _SEQUENCES.sub(b"", self.painted):
            self.painted += await self.socket.receive_bytes()

    async def type(self, text: str) -> None:
        """Press keys."""
        await self.socket.send_json(["stdin", text])

    async def ended(self) -> None:
        """Until the app has ended."""
        async for _message in self.socket:
            pass


@dataclass
class ServedQuorum:
    """A running server as its terminal shows it, and one browser."""

    process: Started
    link: str
    browser: aiohttp.ClientSession

    @property
    def host(self) -> str:
        """The Host header."""
        return self.link.split("/")[2]

    @property
    def base(self) -> str:
        """The address by number: names of loopback are for browsers to resolve."""
        return f"http://127.0.0.1:{self.host.partition(':')[2]}"

    @property
    def headers(self) -> dict[str, str]:
        """What a browser sends with a form or a websocket."""
        return {"Host": self.host, "Origin": f"http://{self.host}"}

    async def get(self, path: str) -> tuple[int, str]:
        """Status and body."""
        headers = {"Host": self.host}
        async with self.browser.get(f"{self.base}{path}", headers=headers, allow_redirects=False) as response:
            return response.status, await response.text()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[ServedScreen]:
        """Use the link, and open the terminal of the page."""
        assert (await self.get(self.link.partition(self.host)[2]))[0] == 200
        async with self.open_terminal() as screen:
            yield screen

    @asynccontextmanager
    async def open_terminal(self, path: str = "/") -> AsyncIterator[ServedScreen]:
        """Open the terminal of a page, in a browser that was let in."""
        _, page = await self.get(path)
        found = _SOCKET.search(page)
        assert found is not None
        url = f"{self.base}{found[1]}?width=100&height=30"
        async with self.browser.ws_connect(url, headers=self.headers) as socket:
            yield ServedScreen(socket)

    async def find_reviews(self) -> list[str]:
        """The links of the page of pending reviews, to those that an app shows.

        The inbox has a review, too, and a moment earlier: an answer there is recorded as such.
        """
        cards = _CARD.findall((await self.get("/approvals"))[1])
        return [link for link, source in cards if source != "inbox"]

    async def decide(self, link: str, decision: str) -> int:
        """Press a button of the page of a review; the status of the response."""
        status, page = await self.get(link)
        if status != 200:
            return status
        form = {"csrf": find_values("csrf", page)[0], "digest": find_values("digest", page)[0]}
        async with self.browser.post(
            f"{self.base}{link}", data={**form, "decision": decision}, headers=self.headers
        ) as response:
            return response.status

    async def ended(self) -> tuple[int, str]:
        """Exit code and stderr."""
        _, err = await asyncio.wait_for(self.process.communicate(), _PATIENCE_SECS)
        assert self.process.returncode is not None
        return self.process.returncode, err.decode()


@asynccontextmanager
async def serve_a_browser(
    project: Path, given: Mapping[str, str], *arguments: str
) -> AsyncIterator[ServedQuorum]:
    """Start `quorum serve` with this environment, and end it however the test ends."""
    process = await start_quorum("serve", "--port", "0", *arguments, cwd=project, env=given)
    assert process.stdout is not None
    try:
        async with (
            asyncio.timeout(_LONGEST_TEST_SECS),
            aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
        ):
            await process.stdout.readline()
            link = (await process.stdout.readline()).decode().strip()
            yield ServedQuorum(process, link, browser)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()

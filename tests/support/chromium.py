"""A headless Chromium of its own, driven through its debugging port: tabs, keys, sizes and scripts."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE_SECS = 120.0
_WAIT_SECS = 120.0
_FIRST_PAUSE_SECS, _LONGEST_PAUSE_SECS = 0.002, 0.05


async def until(holds: Callable[[], object], secs: float = PATIENCE_SECS) -> None:
    """Wait for what other processes do. Raises TimeoutError."""
    async with asyncio.timeout(secs):
        while not holds():  # noqa: ASYNC110 - it is outside of this process
            await asyncio.sleep(0.05)


class RefusedCommandError(Exception):
    """Chromium answered a command with an error, as while a page gives way to the next."""


class Tab:
    """A tab, by the protocol of the debugging port."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._numbers = socket, itertools.count(1)
        self._told: list[dict[str, Any]] = []

    async def command(self, method: str, **params: object) -> dict[str, Any]:
        """What Chromium answers to a command. Raises RefusedCommandError."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": params})
        async with asyncio.timeout(PATIENCE_SECS):
            while True:
                said: dict[str, Any] = await self._socket.receive_json()
                if said.get("id") != number:
                    self._told.append(said)
                    continue
                if error := said.get("error"):
                    raise RefusedCommandError(f"{method}: {error['message']}")
                result: dict[str, Any] = said["result"]
                return result

    async def hear(self, method: str) -> dict[str, Any]:
        """What Chromium told last under this name, or tells next."""
        async with asyncio.timeout(PATIENCE_SECS):
            while not (found := [said["params"] for said in self._told if said.get("method") == method]):
                self._told.append(await self._socket.receive_json())
        last: dict[str, Any] = found[-1]
        return last

    async def evaluate(self, script: str) -> Any:
        """The value of an expression in the page; None where it fails, or its page is left meanwhile."""
        try:
            told = await self.command(
                "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
            )
        except RefusedCommandError:
            return None
        return told["result"].get("value")

    async def shows(self, script: str) -> Any:
        """The value of an expression as soon as it is true."""
        pause = _FIRST_PAUSE_SECS
        try:
            async with asyncio.timeout(_WAIT_SECS):
                while not (value := await self.evaluate(script)):
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE_SECS)
        except TimeoutError:
            page = await self.evaluate("location.href + ' ' + document.body?.innerText")
            raise AssertionError(f"{script} does not come true at {page}") from None
        return value

    async def go(self, address: str) -> None:
        """Open an address, as if it were typed."""
        await self.command("Page.navigate", url=address)

    async def read(self, part: str) -> str:
        """The text of the page, as soon as this is part of it."""
        text: str = await self.shows(
            f"document.body && document.body.innerText.includes({part!r}) && document.body.innerText"
        )
        return text

    async def resize(self, width: int, height: int, *, is_phone: bool = False) -> None:
        """Give the page another size, in CSS pixels, and bring it to the front."""
        await self.command("Page.bringToFront")
        await self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if is_phone else 1,
            mobile=is_phone,
        )

    async def type(self, text: str) -> None:
        """Type a text."""
        await self.command("Input.insertText", text=text)

    async def press(self, character: str) -> None:
        """Press the key of a character."""
        await self.command("Input.dispatchKeyEvent", type="keyDown", text=character, key=character)
        await self.command("Input.dispatchKeyEvent", type="keyUp", key=character)

    async def press_enter(self) -> None:
        """Press Enter."""
        key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}
        await self.command("Input.dispatchKeyEvent", type="keyDown", text="\r", **key)
        await self.command("Input.dispatchKeyEvent", type="keyUp", **key)


class Chromium:
    """A running browser."""

    def __init__(self, http: aiohttp.ClientSession, port: int, sockets: AsyncExitStack) -> None:
        self._http, self._address, self._sockets = http, f"127.0.0.1:{port}", sockets

    async def open(self, address: str, *, is_stranger: bool = False) -> Tab:
        """A new tab; of a stranger in a profile of its own, without the cookies of the others."""
        async with self._http.get(f"http://{self._address}/json/version") as response:
            browser = await self._connect((await response.json())["webSocketDebuggerUrl"])
        place = await browser.command("Target.createBrowserContext") if is_stranger else {}
        target = (await browser.command("Target.createTarget", url="about:blank", **place))["targetId"]
        tab = await self._attach(target)
        await tab.go(address)
        return tab

    async def attach_to_worker(self) -> Tab:
        """The service worker that runs: scripts are evaluated in it."""
        async with self._http.get(f"http://{self._address}/json/list") as response:
            (target,) = (each["id"] for each in await response.json() if each["type"] == "service_worker")
        return await self._attach(target)

    async def _attach(self, target: str) -> Tab:
        return await self._connect(f"ws://{self._address}/devtools/page/{target}")

    async def _connect(self, address: str) -> Tab:
        socket = self._http.ws_connect(address, max_msg_size=1 << 26)
        return Tab(await self._sockets.enter_async_context(socket))


@asynccontextmanager
async def chromium(folder: Path) -> AsyncIterator[Chromium]:
    """Start one with a new profile in a folder, and end it."""
    assert CHROMIUM is not None
    process = await asyncio.create_subprocess_exec(
        CHROMIUM,
        *("--headless=new", "--disable-gpu", "--remote-debugging-port=0", "--remote-allow-origins=*"),
        *(("--no-sandbox",) if os.geteuid() == 0 else ()),
        f"--user-data-dir={folder}",
        "about:blank",
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    port = folder / "DevToolsActivePort"
    try:
        await until(lambda: port.exists() and port.read_text().count("\n"))
        async with aiohttp.ClientSession() as http, AsyncExitStack() as sockets:
            yield Chromium(http, int(port.read_text().split()[0]), sockets)
    finally:
        process.terminate()
        await process.wait()

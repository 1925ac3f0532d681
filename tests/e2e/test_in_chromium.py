"""`quorum serve` in a real browser: the terminal and the page of reviews, and what other sites get of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web

from tests.support.browser_client import ServedQuorum, serve_a_browser
from tests.support.chromium import CHROMIUM, Chromium, Tab, chromium, until
from tests.support.headless_run import configure_for, environment
from tests.support.quorum_rig import DONE, call, calling
from tests.support.sse_server import SseServer

EDIT = calling(call("c1", "edit_file", path="a.txt", old_text="two", new_text="TWO"))
SCREEN = "(e => [e.right, e.bottom])(document.querySelector('.xterm-screen').getBoundingClientRect())"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH"),
]


@dataclass
class Desk:
    """A server with its project and model, and a browser that nobody let in yet."""

    served: ServedQuorum
    browser: Chromium
    project: Path
    model: SseServer

    @property
    def address(self) -> str:
        return f"http://{self.served.host}"

    async def enter(self) -> Tab:
        """Use the link; the terminal that it leads to, once it is drawn."""
        tab = await self.browser.open(self.served.link)
        await tab.resize(1280, 800)
        await tab.shows("location.pathname === '/' && document.body.classList.contains('-first-byte')")
        return tab

    async def prompt(self, tab: Tab, text: str) -> None:
        """Type a prompt, and press Enter until it is sent: an app that starts takes text for a paste."""
        await tab.type(text)
        for _ in range(10):
            await tab.press_enter()
            try:
                return await until(lambda: self.model.bodies, secs=5)
            except TimeoutError:
                continue
        raise AssertionError("the prompt was not sent")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    (project / "a.txt").write_text("one\ntwo\nthree\n")
    async with SseServer("anthropic") as model:
        configure_for(home, model)
        model.script = [EDIT, DONE]
        async with (
            serve_a_browser(project, environment(home), "--approvals") as served,
            chromium(tmp_path / "profile") as browser,
        ):
            yield Desk(served, browser, project, model)


async def test_a_prompt_is_typed_and_its_review_approved_at_the_width_of_a_phone(desk: Desk) -> None:
    terminal = await desk.enter()
    await desk.prompt(terminal, "go")

    phone = await desk.browser.open(f"{desk.address}/approvals")
    await phone.resize(390, 844, is_phone=True)
    await phone.shows("document.querySelector('a.card') && !document.querySelector('a.card').click()")
    await phone.shows("!!document.querySelector('button.approve')")
    assert await phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    review = await phone.evaluate("location.href")
    await phone.evaluate("document.querySelector('button.approve').click()")
    await phone.read("You have approved edit")
    await until(lambda: (desk.project / "a.txt").read_text() == "one\nTWO\nthree\n")

    await phone.go(review)
    assert "was used" in await phone.read("This link")


SLOW_START = """
const load = FontFaceSet.prototype.load;
FontFaceSet.prototype.load = function (...font) {
  return new Promise((go) => setTimeout(go, 700)).then(() => load.apply(this, font));
};
"""
# The browser tells of an open socket a moment late, as over a slow line.
SLOW_HANDSHAKE = """
const Own = window.WebSocket;
const listen = EventTarget.prototype.addEventListener;
window.WebSocket = class extends Own {
  #late = true;
  get readyState() { return this.#late ? Own.CONNECTING : super.readyState; }
  send(data) {
    if (this.#late) throw new DOMException("still connecting", "InvalidStateError");
    super.send(data);
  }
  addEventListener(kind, act, ...more) {
    const late = (event) => setTimeout(() => { this.#late = false; act(event); }, 900);
    super.addEventListener(kind, kind === "open" ? late : act, ...more);
  }
};
Object.assign(window.WebSocket, { CONNECTING: 0, OPEN: 1 });
"""
EARLY = "document.readyState === 'complete' && !document.querySelector('.xterm-helper-textarea')"
CONNECTING = "document.querySelector('.xterm-helper-textarea') && !document.querySelector('.-connected')"


async def test_keys_pressed_before_the_terminal_is_there_are_in_the_prompt(desk: Desk) -> None:
    terminal = await desk.enter()
    await terminal.command("Page.enable")
    await terminal.command("Page.addScriptToEvaluateOnNewDocument", source=SLOW_START)
    await terminal.command("Page.reload")
    await terminal.shows(EARLY)
    for key in "early w":
        await terminal.press(key)
    await terminal.shows("document.body.classList.contains('-first-byte')")
    await desk.prompt(terminal, "ords")

    assert "early words" in str(desk.model.bodies[0])


async def test_keys_pressed_while_the_socket_connects_are_in_the_prompt(desk: Desk) -> None:
    terminal = await desk.enter()
    await terminal.command("Page.enable")
    await terminal.command("Page.addScriptToEvaluateOnNewDocument", source=SLOW_HANDSHAKE)
    await terminal.command("Page.reload")
    await terminal.shows(CONNECTING)
    await terminal.type("quok")
    await terminal.shows("document.body.classList.contains('-first-byte')")
    await desk.prompt(terminal, "ka")

    assert "quokka" in str(desk.model.bodies[0])


async def test_after_the_server_was_killed_nothing_is_offered_that_needs_it(desk: Desk) -> None:
    terminal = await desk.enter()
    desk.served.process.kill()
    text = await terminal.read("The server does not answer")

    assert "quorum --continue" in text
    assert "Continue it" not in text


async def test_after_the_app_has_ended_the_page_offers_to_continue(desk: Desk) -> None:
    terminal = await desk.enter()
    await terminal.shows("!!document.querySelector('.-connected')")
    await terminal.type("\x11")

    text = await terminal.read("This session has ended")
    assert "Continue it" in text
    assert "does not answer" not in text


async def test_the_terminal_fits_its_window_also_after_the_first_time_that_it_gets_smaller(desk: Desk) -> None:
    terminal = await desk.enter()

    for width, height in ((700, 500), (1000, 700), (600, 400)):
        await terminal.resize(width, height)
        right, bottom = await terminal.shows(
            f"innerWidth === {width} && {SCREEN}[0] <= {width} && {SCREEN}[0] > {width - 12} && {SCREEN}"
        )
        assert (right <= width, height - 24 < bottom <= height) == (True, True)


@asynccontextmanager
async def another_site() -> AsyncIterator[int]:
    """A server of somebody else on this machine; its port."""

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text="<body>another site</body>", content_type="text/html")

    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def test_other_sites_and_other_names_get_nothing_in_the_browser_that_was_let_in(desk: Desk) -> None:
    await desk.enter()
    name, _, port = desk.served.host.partition(":")
    async with another_site() as other:
        # Of the last two a browser says that they are the same site.
        for host in ("127.0.0.1", name, f"evil.{name}"):
            site = await desk.browser.open(f"http://{host}:{other}/")
            await site.read("another site")
            given = "credentials: 'include'"
            assert (
                await site.evaluate(
                    f"fetch('{desk.address}/approvals', {{{given}}}).then(r => 'read', e => 'refused')"
                )
                == "refused"
            )
            assert (
                await site.evaluate(
                    f"new Promise(say => {{ const w = new WebSocket('ws://{desk.served.host}/ws/x');"
                    " w.onopen = () => say('open'); w.onerror = () => say('refused'); })"
                )
                == "refused"
            )
            await site.evaluate(
                "(form => { form.method = 'post'; form.action = "
                f"'{desk.address}/approvals/show'; document.body.append(form); form.submit(); }})"
                "(document.createElement('form'))"
            )
            await site.read("requests of other origins are refused")

    rebound = await desk.browser.open(f"http://localhost:{port}/")
    await rebound.read("this server is not known by that name")
    stranger = await desk.browser.open(desk.served.link, is_stranger=True)
    await stranger.read("it has been used")
    await stranger.go(f"{desk.address}/approvals")
    await stranger.read("This page opens by the link")

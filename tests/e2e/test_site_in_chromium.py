"""The guide as a site, in a real browser: it fits two widths, searches, has both colours and no dead links."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.chromium import CHROMIUM, Tab, chromium

ROOT = Path(__file__).parents[2]
_HAS_BUILDER = Path(sys.executable).with_name("zensical").is_file()
_DESKTOP, _PHONE = (1280, 800), (390, 844)
_PAGES = ("", "docs/sandbox/", "docs/command-line/", "docs/keyboard-shortcuts/")

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH"),
    pytest.mark.skipif(not _HAS_BUILDER, reason="zensical is not installed: make site installs it"),
]


# The results are in a part of the page of their own.
_FINDS = """
[...document.querySelectorAll("*")]
    .flatMap(each => each.shadowRoot ? [...each.shadowRoot.querySelectorAll("a")] : [])
    .some(link => link.href.includes("docs/sandbox") && link.innerText.includes("bubblewrap"))
"""
_READ = """
fetch("{where}").then(answer => answer.text()).then(text => {{
    const page = new DOMParser().parseFromString(text, "text/html")
    const links = [...page.querySelectorAll("a[href]")]
    return {{
        links: links.map(each => new URL(each.getAttribute("href"), "{where}").href),
        places: [...page.querySelectorAll("[id]")].map(each => each.id),
    }}
}})
"""


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_words: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of the built site, and its folder."""
    folder = tmp_path_factory.mktemp("built") / "site"
    subprocess.run([sys.executable, ".ci/site.py", str(folder)], cwd=ROOT, check=True, capture_output=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", folder
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
async def tab(tmp_path: Path) -> AsyncIterator[Tab]:
    async with chromium(tmp_path / "profile") as browser:
        yield await browser.open("about:blank")


async def _open(tab: Tab, address: str) -> None:
    await tab.go(address)
    await tab.shows(f"location.href === {address!r} && document.readyState === 'complete'")


@pytest.mark.long
@pytest.mark.parametrize("size", [_DESKTOP, _PHONE], ids=["desktop", "phone"])
async def test_no_page_is_wider_than_the_window(
    site: tuple[str, Path], tab: Tab, size: tuple[int, int]
) -> None:
    await tab.resize(*size, is_phone=size == _PHONE)
    for page in _PAGES:
        await _open(tab, site[0] + page)

        assert await tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), page
        assert len(await tab.evaluate("document.querySelector('article').innerText")) > 500, page


@pytest.mark.long
async def test_the_search_finds_a_page_by_a_word_of_it(site: tuple[str, Path], tab: Tab) -> None:
    await tab.resize(*_DESKTOP)
    await _open(tab, site[0])

    await tab.press("/")
    await tab.shows("(document.activeElement.shadowRoot ?? document).activeElement.tagName === 'INPUT'")
    assert not await tab.evaluate(_FINDS)
    await tab.type("bubblewrap")

    await tab.shows(_FINDS)


@pytest.mark.long
@pytest.mark.parametrize(("scheme", "is_light"), [("light", True), ("dark", False)])
async def test_the_colours_are_those_that_the_system_prefers(
    site: tuple[str, Path], tab: Tab, scheme: str, is_light: bool
) -> None:
    await tab.command(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
    )
    await _open(tab, site[0])

    colour = await tab.shows("getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g)?.slice(0, 3)")
    assert (sum(map(float, colour)) / 3 > 127) is is_light


@pytest.mark.long
async def test_every_link_leads_to_a_page_and_a_place_that_are_there(site: tuple[str, Path], tab: Tab) -> None:
    """The browser reads the links and the names of places, so that it is what it makes of them that counts."""
    address, folder = site
    pages = [file.parent for file in sorted(folder.rglob("index.html"))]
    found: dict[str, dict[str, Any]] = {}
    await _open(tab, address)
    for page in pages:
        where = address + "".join(f"{part}/" for part in page.relative_to(folder).parts)
        found[where] = await tab.evaluate(_READ.format(where=where))

    assert len(found) > 60
    assert all(each["links"] for each in found.values())
    for where, page_found in found.items():
        for link in page_found["links"]:
            if not link.startswith(address):
                continue
            target, _, place = link.partition("#")
            if target in found:
                assert not place or place in found[target]["places"], f"{where} links to {link}"
            else:
                assert (folder / target.removeprefix(address)).is_file(), f"{where} links to {link}"


@pytest.mark.long
async def test_a_visit_asks_no_other_host_for_anything(site: tuple[str, Path], tab: Tab) -> None:
    await _open(tab, site[0])

    asked = await tab.evaluate("performance.getEntriesByType('resource').map(each => each.name)")
    assert asked
    assert all(each.startswith((site[0], "data:", "blob:")) for each in asked)

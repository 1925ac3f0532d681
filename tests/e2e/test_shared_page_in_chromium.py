"""The page of `quorum share` in a real browser: what it shows, and that no byte of it can be changed unseen."""

from __future__ import annotations

import random
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from quorum.domain.sessions.stored_session import StoredSession, anchor_session
from quorum.infrastructure.audit.anchor_file import render_anchor
from quorum.infrastructure.audit.signed_export import SigningKey, render_check_code, render_shared_page
from tests.support.chromium import CHROMIUM, Tab, chromium
from tests.support.shared_pages import (
    PARTS,
    a_key,
    a_page,
    an_eventful_store,
    keep_chain,
    sign_export,
    store_events,
)

FLIPS = 1000
HOSTILE = "<img src=x onerror=alert(1)></script><script>document.title='owned'</script> \u202egnirts"
UNCHECKED = "unchecked"
# The script of a page runs or is refused as a whole; once it ran, it says a verdict.
VERDICT = (
    "location.pathname.endsWith({name!r}) && document.readyState === 'complete' && (typeof verifier === "
    "'undefined' ? 'unchecked' : document.getElementById('verdict')?.dataset.verdict)"
)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH")


class Viewer:
    """A tab in which pages are opened from the disk."""

    def __init__(self, tab: Tab, folder: Path) -> None:
        self.tab, self._folder, self._count = tab, folder, 0

    async def open(self, page: bytes, fragment: str = "") -> str:
        """The verdict of the page: good, fair or bad, or that its script was refused."""
        self._count += 1
        file = self._folder / f"page-{self._count}.html"
        file.write_bytes(page)
        await self.tab.go(f"{file.as_uri()}{fragment}")
        verdict: str = await self.tab.shows(VERDICT.format(name=file.name))
        file.unlink()
        return verdict

    async def read(self) -> str:
        text: str = await self.tab.evaluate("document.body.innerText")
        return text


@pytest.fixture
async def viewer(tmp_path: Path) -> AsyncIterator[Viewer]:
    async with chromium(tmp_path / "profile") as browser:
        yield Viewer(await browser.open("about:blank"), tmp_path)


@pytest.fixture(scope="module")
def key() -> SigningKey:
    return a_key()


@pytest.fixture(scope="module")
def stored() -> StoredSession:
    return an_eventful_store(HOSTILE)


@pytest.mark.long
async def test_an_unchanged_page_holds_and_shows_hostile_text_as_text(
    viewer: Viewer, stored: StoredSession, key: SigningKey
) -> None:
    page = a_page(stored, key)

    assert await viewer.open(page) == "fair"
    assert await viewer.open(page, "#check=12") == "fair"
    assert "this is neither a check code nor an anchor" in await viewer.read()
    assert await viewer.open(page, f"#check={render_check_code(stored, key.public_hex)}") == "good"
    text = await viewer.read()
    assert "<img src=x onerror=alert(1)></script><script>document.title='owned'</script> ⟨U+202E⟩gnirts" in text
    assert "\u202e" not in text
    assert await viewer.tab.evaluate("document.images.length + document.scripts.length") == 0
    assert await viewer.tab.evaluate("document.title.startsWith('<img')") is True
    assert await viewer.tab.evaluate("performance.getEntriesByType('resource').length") == 0


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_each_of_a_thousand_random_flips_is_found(
    viewer: Viewer, stored: StoredSession, key: SigningKey
) -> None:
    page = a_page(stored, key)
    chance = random.Random(20)
    assert await viewer.open(page) == "fair"
    shown = await viewer.read()
    unseen = []
    for _ in range(FLIPS):
        flipped, place = bytearray(page), chance.randrange(len(page))
        flipped[place] ^= 1 << chance.randrange(8)
        if await viewer.open(bytes(flipped)) in ("bad", UNCHECKED):
            continue
        # Browsers do not tell the case of the names of tags and attributes apart: it is the same document.
        if bytes(flipped).lower() != page.lower() or await viewer.read() != shown:
            unseen.append((place, page[place - 20 : place + 20]))

    assert unseen == []


def list_parts(page: bytes, export: bytes) -> Mapping[str, tuple[int, int]]:
    """Where each part of the page stands: of its head and body, of its script, and of the evidence in it."""
    evidence = b64encode(export)
    start = page.index(evidence)
    parts = {
        "kind of document": b"!DOCTYPE html",
        "characters": b'charset="utf-8"',
        "policy": b"default-src 'none'",
        "size": b"width=device-width",
        "title": b"Shared session",
        "style": (PARTS / "page.css").read_bytes(),
        "words before the check": b"This page could not check",
        "kind of the evidence": b"application/octet-stream",
        "name of the evidence": b'id="evidence"',
        **{name: (PARTS / name).read_bytes() for name in ("verifier.js", "transcript.js", "page.js")},
    }
    found = {name: (page.rindex(part[:20]), len(part)) for name, part in parts.items()}
    key = page.index(b'data-key="') + len(b'data-key="')
    third = len(evidence) // 3
    return {
        **found,
        "key": (key, 64),
        "headers of the evidence": (start, 40),
        **{f"records, part {n + 1}": (start + 100 + n * third, third - 300) for n in range(3)},
        "signature": (start + len(evidence) - 80, 76),
    }


@pytest.mark.long
async def test_a_flip_in_each_part_of_the_page_is_found(
    viewer: Viewer, stored: StoredSession, key: SigningKey
) -> None:
    export = sign_export(stored, key)
    page = render_shared_page(export, key.public_hex)
    chance = random.Random(39)
    assert await viewer.open(page) == "fair"
    verdicts: dict[str, list[str]] = {}
    for name, (start, length) in list_parts(page, export).items():
        for _ in range(4):
            flipped = bytearray(page)
            flipped[start + chance.randrange(length)] ^= 1 << chance.randrange(5)  # not the case of a letter
            verdicts.setdefault(name, []).append(await viewer.open(bytes(flipped)))

    assert {name: found for name, found in verdicts.items() if {*found} - {"bad", UNCHECKED}} == {}


@pytest.mark.long
async def test_what_is_put_around_the_evidence_is_found(
    viewer: Viewer, stored: StoredSession, key: SigningKey
) -> None:
    page = a_page(stored, key)
    changes = {
        "text behind the end": page + b"<p>All approved.</p>",
        "a style in the head": page.replace(b"<body>", b"<style>header{display:none}</style><body>"),
        "another title": page.replace(b"<title>Shared", b"<title>Signed"),
        "a policy that allows more": page.replace(b"default-src 'none'", b"default-src https:"),
        "a second script": page + b"<script>document.title = 1</script>",
        "a link in the body": page.replace(b"<body>", b'<body><a href="https://x.example/">x</a>'),
        "quirks mode": page.replace(b"<!DOCTYPE html>\n", b""),
        "another key's name": page.replace(key.public_hex.encode(), a_key().public_hex.encode()),
        "another check in the script": page.replace(b"signed === false", b"signed === 12345"),
    }

    verdicts = {name: await viewer.open(changed) for name, changed in changes.items()}

    assert [name for name, verdict in verdicts.items() if verdict not in ("bad", UNCHECKED)] == []


@pytest.mark.long
async def test_a_cut_tail_and_a_forged_signer_are_found_with_what_was_noted_elsewhere(
    viewer: Viewer, stored: StoredSession, key: SigningKey
) -> None:
    code = render_check_code(stored, key.public_hex)
    anchor = render_anchor(anchor_session(stored, at_ms=1))
    cut = keep_chain(stored.chain[:-3])
    forger = a_key()
    missing = keep_chain((*stored.chain[:4], *stored.chain[5:]))
    export = sign_export(stored, key)

    assert await viewer.open(a_page(cut, key)) == "fair"
    assert await viewer.open(a_page(cut, key), f"#check={code}") == "bad"
    assert "its tail was cut" in await viewer.read()
    assert await viewer.open(a_page(stored, forger), f"#check={code}") == "bad"
    assert "another key" in await viewer.read()
    assert await viewer.open(render_shared_page(export, forger.public_hex)) == "bad"
    assert not missing.verify().holds
    await viewer.open(a_page(cut, key))
    await viewer.tab.evaluate(
        f"document.querySelector('#notes').value = {anchor!r}; document.querySelector('header button').click()"
    )
    assert "its tail was cut" in await viewer.tab.read("its tail was cut")


@pytest.mark.long
async def test_a_long_session_is_shown_whole(viewer: Viewer, key: SigningKey) -> None:
    stored = store_events([{"type": "turn_started", "v": 1, "prompt": f"prompt {n}"} for n in range(3000)])

    assert await viewer.open(a_page(stored, key)) == "fair"
    assert await viewer.tab.evaluate("document.querySelectorAll('h2').length") == 3000

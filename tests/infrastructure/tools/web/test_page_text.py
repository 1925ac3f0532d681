from __future__ import annotations

import asyncio
import os
import sys
import venv
from contextlib import suppress
from pathlib import Path

import pytest

from quorum.domain.errors import ToolError
from quorum.infrastructure.tools.web.fetching import PageText, convert_page


async def text_of(html: str, most: int = 10_000) -> PageText:
    return await convert_page(html, base_url="http://docs.site.net/", max_characters=most)


def children() -> set[int]:
    """The processes that this one started and that are not gone."""
    found = set[int]()
    for tasks in Path("/proc/self/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended meanwhile
            found.update(map(int, tasks.read_text().split()))
    return found


async def new_children(before: set[int]) -> set[int]:
    """Processes that were not there before; the kernel tells nobody when one starts."""
    while not (new := children() - before):  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    return new


async def test_only_what_was_asked_for_comes_back_with_the_whole_length():
    page = await text_of("<title> A\n title</title><p>one <b>two</b>", 5)

    assert page == PageText(title="A title", text="one *", characters=11, complete=True)


async def test_the_converter_is_found_where_an_isolated_interpreter_does_not_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As with `pip install --user`: the interpreter's own folders do not hold it, our import path does."""
    venv.create(tmp_path / "bare")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare" / "bin" / "python"))

    assert (await text_of("<p>one")).text == "one"


async def test_front_matter_of_the_page_itself_is_kept():
    page = await text_of("<p>---<p>key: value")

    assert "key: value" in page.text


@pytest.mark.long(after=1)
@pytest.mark.parametrize("tag", ["div", "b", "blockquote", "table><tr><td", "ul><li", "span"])
async def test_what_is_nested_without_end_is_left_out_and_said(tag: str):
    page = await text_of("<p>first</p>" + f"<{tag}>" * 100_000 + "last")

    assert "first" in page.text
    assert not page.complete


@pytest.mark.parametrize(
    "html", ["<p" * 50_000, "&" * 200_000, "<!--" * 50_000, "<a " + "x " * 200_000, "\0<p>\ud800"]
)
async def test_no_damage_is_too_bad_to_be_read(html: str):
    assert (await text_of(html)).characters >= 0


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process can be limited on Linux only")
async def test_a_page_that_blows_up_ends_its_own_process_only():
    blown_up = "<blockquote>" * 500 + "<br>a" * 100_000

    with pytest.raises(
        ToolError, match=r"docs\.site\.net/ could not be turned into text: it takes too much memory"
    ):
        await text_of(blown_up)


@pytest.mark.skipif(sys.platform != "linux", reason="child processes are listed in /proc on Linux only")
async def test_a_cancelled_conversion_leaves_no_process():
    before = children()
    task = asyncio.create_task(text_of("<p>word</p>" * 300_000))
    started = await asyncio.wait_for(new_children(before), 60)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert not children() & started


async def test_the_converter_has_no_key_of_ours(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    monkeypatch.setenv("PYTHONPATH", os.devnull)

    assert (await text_of("<p>hi")).text == "hi"

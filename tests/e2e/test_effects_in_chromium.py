"""The review of effects on the page of reviews, in a real browser, on a phone and at a desk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.test_staged_left_open import StagedRig, write
from tests.infrastructure.sandbox.sandbox_bench import needs_bubblewrap
from tests.support.browser_client import serve_a_browser
from tests.support.chromium import CHROMIUM, chromium
from tests.support.layer_process import layers
from tests.support.sse_server import Say, ScriptedCall, SseServer

pytestmark = [
    pytest.mark.usefixtures("layers"),
    needs_bubblewrap,
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH"),
]
__all__ = ["layers"]

_MANY = (
    "for i in $(seq -w 1 80); do echo $i > file$i.txt; done; mkdir -p .github/workflows; "
    "echo on > .github/workflows/ci.yml"
)
_LINES = "[...document.querySelectorAll('label.line')]"
_WIDEST = "Math.max(...[...document.querySelectorAll('body *')].map(e => e.getBoundingClientRect().right))"
_SMALLEST = (
    "Math.min(...[...document.querySelectorAll('label.line, button, summary')]"
    ".map(e => e.getBoundingClientRect().height))"
)


@pytest.mark.parametrize(("width", "height"), [(360, 740), (1280, 800)])
async def test_eighty_files_are_read_one_is_left_out_and_the_rest_is_applied(
    tmp_path: Path, width: int, height: int
) -> None:
    async with SseServer("openai") as server:
        rig = StagedRig(tmp_path, server)
        made = Say(calls=[ScriptedCall("c", "run_command", json.dumps({"command": _MANY}))], stop="tool_use")
        await rig.begin(made, write("new.py", "value = 2\n"))
        await rig.list_waiting()
        async with (
            serve_a_browser(rig.folder, rig.env, "--approvals") as served,
            chromium(tmp_path / "profile") as browser,
        ):
            tab = await browser.open(served.link)
            await tab.resize(width, height)
            await tab.shows("location.pathname === '/'")
            page = await browser.open(f"http://{served.host}/approvals")
            await page.resize(width, height)
            await page.shows("!!document.querySelector('a.card')")
            await page.evaluate("document.querySelector('a.card').click()")
            await page.shows("!!document.querySelector('fieldset.lines')")
            assert await page.evaluate(_WIDEST) <= width
            assert await page.evaluate("document.querySelectorAll('fieldset input:checked').length") == 81
            await page.evaluate("document.querySelector('summary').click()")
            assert await page.evaluate(_SMALLEST) >= 44
            await page.evaluate(f"{_LINES}.find(e => e.textContent.includes('file07')).click()")
            await page.evaluate("document.querySelector('button.approve').click()")
            await page.shows("!!document.querySelector('[role=status]')")
        ended = await rig.resume()

    assert ended.report["status"] == "completed"
    assert (rig.folder / "new.py").read_text() == "value = 2\n"
    assert len([*rig.folder.glob("file*.txt")]) == 79
    assert not (rig.folder / "file07.txt").exists()
    assert not (rig.folder / ".github").exists()

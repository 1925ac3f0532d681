"""Contrast: every cell of the screens on which something is approved, in every theme that can be chosen."""

from __future__ import annotations

from itertools import pairwise

import pytest
from rich.color import ColorType
from rich.segment import Segment
from textual.color import Color
from textual.constants import DIM_FACTOR
from textual.theme import BUILTIN_THEMES
from textual.widget import Widget

from quorum.domain.review.ballot import Vote
from quorum.tui.screens.review.card import ReviewCard
from quorum.tui.themes.own import THEMES
from quorum.tui.transcript.layout.view import TranscriptView
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import FakeAgent, a_command, a_request, an_edit
from tests.support.fake_settings import FakeSettings, a_setting
from tests.support.review_contexts import THREE, a_ballot, a_review_context, voted
from tests.tui.transcript_scenes import BATCH_FINISHED, DIFF, asked, completed, finished

TEXT, DECORATION = 4.5, 3.0
"""Least ratios of WCAG 2.1: 1.4.3 for text, 1.4.11 for parts of the interface."""

CODE = """--- a/src/retry.py
+++ b/src/retry.py
@@ -38,4 +38,7 @@
 class Retry:  # waits longer
-    name = "old"  # the old one
+    @property
+    def backoff(self, attempt: int = 3) -> str:  # the new one
+        return "new" + str(attempt)\x20
     limit = 12
"""
ANSWER = "# Heading\n\nSome *text* with `code` and [a link](https://example.org).\n\n```python\n" + (
    'def backoff(attempt: int = 3) -> str:  # comment\n    return "x" + str(attempt)\n```\n'
)
COLOURS = "".join(f"\x1b[{number}mcolour {number}\x1b[0m\n" for number in (*range(31, 38), *range(90, 98)))
SPLIT = voted(
    a_ballot(THREE[0], confidence=0.9),
    a_ballot(THREE[1], Vote.REJECT, "It never returns.", confidence=0.7, objection="str(attempt)"),
)
BUILT_IN = sorted(name for name, theme in BUILTIN_THEMES.items() if not theme.ansi)
COMPUTABLE = [*(theme.name for theme in THEMES if not theme.ansi), *BUILT_IN]


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("NO_COLOR", raising=False)


async def _scene(agent: FakeAgent) -> None:
    agent.tell(completed(ANSWER))
    for event in BATCH_FINISHED:
        if not isinstance(event, float):
            agent.tell(event)
    agent.tell(asked("edit_file", {"path": "src/retry.py", "old_text": "a", "new_text": "b"}, diff=DIFF))
    agent.tell(finished("run_command", COLOURS + "exit code 1"))
    request = a_request(an_edit(CODE, index=1), a_command("pytest", index=2), batch_size=3)
    await agent.ask(request, a_review_context(SPLIT))


def _ratio(one: Color, other: Color) -> float:
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Color) -> float:
    parts = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def _drawn(segment: Segment) -> tuple[Color, Color] | None:
    """What the text of a segment is drawn in, and on; None where there is no text."""
    style = segment.style
    if not segment.text.strip() or style is None or style.color is None or style.bgcolor is None:
        return None
    assert ColorType.DEFAULT not in (style.color.type, style.bgcolor.type), segment
    text, ground = Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
    if style.reverse:
        text, ground = ground, text
    return (ground.blend(text, DIM_FACTOR) if style.dim else text), ground


def _is_decoration(text: str) -> bool:
    return all(char.isspace() or "\u2500" <= char <= "\u259f" or char in "▆░┊⎸▌" for char in text)


def unreadable(stage: Stage) -> dict[str, float]:
    """What is drawn with too little contrast on the screen as it is now, not behind a dialog."""
    found, screen = {}, stage.app.screen
    shown = [child.region for child in screen.children] if screen.is_modal else [screen.region]
    for y, strip in enumerate(screen._compositor.render_strips()):
        cuts = sorted({x for region in shown if region.contains(region.x, y) for x in (region.x, region.right)})
        parts = [part for at, end in pairwise(cuts) for part in strip.crop(at, end)]
        for segment in parts:
            if (colours := _drawn(segment)) is None or _is_decoration(segment.text):
                continue
            if (ratio := _ratio(*colours)) < TEXT:
                found[f"{segment.text.strip()} {colours[0].hex} on {colours[1].hex}"] = round(ratio, 2)
    return found


def invisible_thumbs(stage: Stage) -> dict[str, float]:
    """Thumbs of scrollbars that do not stand out from their tracks, and borders of reviews."""
    found = {}
    for screen in stage.app.screen_stack:
        for widget in screen.query(Widget):
            styles, (outside, ground) = widget.styles, widget.background_colors
            pairs = {
                "thumb": (styles.scrollbar_color, ground + styles.scrollbar_background),
                "thumb hover": (styles.scrollbar_color_hover, ground + styles.scrollbar_background_hover),
                "thumb active": (styles.scrollbar_color_active, ground + styles.scrollbar_background_active),
            }
            if isinstance(widget, ReviewCard):
                pairs["border"] = (styles.border_top[1], outside if outside.a == 1 else ground)
            for name, (colour, track) in pairs.items():
                if (ratio := _ratio(track + colour, track)) < DECORATION:
                    found[f"{name} of {widget}"] = round(ratio, 2)
    return found


@pytest.mark.long
@pytest.mark.parametrize("size", [(160, 50), (80, 24)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_everything_drawn_in_a_review_in_the_cards_and_in_the_prompt_can_be_read(tmp_path, size):
    async def look_at(stage: Stage) -> None:
        themes = (
            COMPUTABLE if size[0] > 80 else COMPUTABLE[::3]
        )  # a narrow screen has its own parts, no colours
        for theme in themes:
            stage.app.theme = theme
            await stage.pilot.pause()
            try:  # parts of the screen follow a frame later
                await stage.until(lambda: not unreadable(stage))
            except TimeoutError:
                raise AssertionError((theme, unreadable(stage))) from None
            assert (theme, invisible_thumbs(stage)) == (theme, {})

    async with on_stage(tmp_path, _scene, size=size) as stage:
        await stage.send("fix the retry")
        (await stage.asked()).show_awake()
        await look_at(stage)
        await stage.pilot.press("n")
        await stage.unasked()
        await look_at(stage)
        stage.app.chat.query_one(TranscriptView).toggle_fold_all()
        await look_at(stage)


@pytest.mark.long
@pytest.mark.parametrize("command", ["", "/config mode", "/permissions", "/board"])
async def test_everything_drawn_on_a_screen_of_its_own_can_be_read(tmp_path, command):
    async with on_stage(tmp_path, size=(100, 40)) as stage:
        stage.app.open_settings = lambda: FakeSettings(
            a_setting("review.mode", '"ask"', description="What is asked.", origin="/home/me/quorum.toml:4"),
            a_setting("agent.max_tool_turns", "10", description="How many rounds one prompt may take."),
        )
        if command:
            await stage.send(command)
            await stage.until(lambda: stage.app.screen is not stage.app.chat)
        for theme in COMPUTABLE:
            stage.app.theme = theme
            await stage.pilot.pause()
            try:
                await stage.until(lambda: not unreadable(stage))
            except TimeoutError:
                raise AssertionError((theme, unreadable(stage))) from None

"""The images that calls have read, in an editor."""

from __future__ import annotations

import base64

import pytest
from acp.schema import ContentToolCallContent, ImageContentBlock, ToolCallProgress, ToolCallStart

from quorum.acp_agent.standard_io import SessionUpdate
from quorum.acp_agent.update_feed import UpdateFeed
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.attachment import Image
from quorum.domain.conversation.history import UserMessage
from quorum.domain.events import event as ev
from tests.quorum.acp_agent.test_replayed_calls import Past
from tests.support.fake_contents import FakeContents
from tests.tui.transcript_scenes import completed, context, finished, planned, started

LOOK = {"path": "shot.png"}


def read(content: bytes, size: int, *, kept: FakeContents, sha256: str) -> Image:
    kept.contents[sha256] = content
    return Image(name="shot.png", media_type="image/png", width=4, height=3, size_bytes=size, sha256=sha256)


def happen(*images: Image) -> tuple[ev.Event, ...]:
    return (
        ev.TurnStarted(prompt="look"),
        completed("", calls=True),
        planned(("read_file", LOOK, RiskLevel.LOW, ())),
        started("read_file", LOOK),
        finished("read_file", "[image shot.png 4×3]"),
        ev.MessageAdded(
            message=UserMessage("[image shot.png 4×3]", images=images, of_call=context().call_id),
            is_notice=True,
        ),
    )


async def show(events: tuple[ev.Event, ...], kept: FakeContents, *, is_replayed: bool) -> list[SessionUpdate]:
    updates: list[SessionUpdate] = []
    feed = UpdateFeed("/ws", updates.append)
    if is_replayed:
        updates += feed.replay(Past(*events))  # type: ignore[arg-type]
    else:
        for event in events:
            feed.notify(event)
    return [await feed.images.add_to(update, kept) for update in updates]


def list_images(updates: list[SessionUpdate]) -> list[ImageContentBlock]:
    """Those that the last report about a call shows."""
    last = [each for each in updates if isinstance(each, ToolCallStart | ToolCallProgress)][-1]
    return [
        each.content
        for each in last.content or ()
        if isinstance(each, ContentToolCallContent) and isinstance(each.content, ImageContentBlock)
    ]


@pytest.mark.parametrize("is_replayed", [False, True])
async def test_an_image_that_a_call_reads_is_shown_with_the_call_now_and_later(is_replayed: bool) -> None:
    kept = FakeContents()
    events = happen(read(b"pixels", 6, kept=kept, sha256="1"))

    (shown,) = list_images(await show(events, kept, is_replayed=is_replayed))

    assert (shown.mime_type, base64.b64decode(shown.data)) == ("image/png", b"pixels")


async def test_images_that_are_gone_or_would_be_too_long_a_line_are_left_to_their_labels() -> None:
    kept = FakeContents()
    large = read(b"large", 5_000_000, kept=kept, sha256="2")
    gone = Image(name="g", media_type="image/png", width=1, height=1, size_bytes=1, sha256="3")
    events = happen(gone, large, read(b"small", 5, kept=kept, sha256="4"))

    updates = await show(events, kept, is_replayed=False)

    assert [base64.b64decode(each.data) for each in list_images(updates)] == [b"small"]
    assert "[image shot.png 4×3]" in updates[-1].model_dump_json()

"""Attachments that a model did not take: they are on the record, and the sessions after it know them."""

from __future__ import annotations

import pytest

from quorum.application.event_bus import EventBus
from quorum.application.turn.dialogue import LeftOutAttachments
from quorum.domain.conversation.history import Conversation, UserMessage
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import AttachmentLeftOut, event_from_json
from quorum.domain.sessions.replay import replay_state
from quorum.domain.sessions.session_summary import LedgerRecord
from tests.support.fake_ports import RecordingObserver
from tests.support.pictures import an_image, png

SHOT = an_image(png(40, 30), "shot.png")
ASKED = UserMessage(f"see {SHOT.label}", (SHOT,))
TOO_LONG = ProviderError("p refused the request as too long", kind=ProviderErrorKind.TOO_LONG)


def test_what_a_session_notes_is_recorded_once_and_a_replay_knows_it() -> None:
    seen, conversation = RecordingObserver(), Conversation([ASKED])
    left_out = LeftOutAttachments(conversation, EventBus([seen]))
    conversation.left_out["p/m", SHOT.sha256] = "left out, as p/m did not take it"

    left_out.record()
    left_out.record()

    (event,) = seen.of(AttachmentLeftOut)
    assert (
        event.sentence
        == f"{SHOT.label} is left out, as p/m did not take it; later requests to p/m go without it"
    )
    assert event_from_json(event.to_json()) == event
    state = replay_state([LedgerRecord(seq=0, at_ms=0, event=event)])
    assert Conversation(left_out=state.left_out).left_out == conversation.left_out
    LeftOutAttachments(Conversation([ASKED], left_out=state.left_out), EventBus([seen])).record()
    assert len(seen.of(AttachmentLeftOut)) == 1


def test_a_request_that_is_too_long_for_good_goes_on_without_what_was_attached_last() -> None:
    conversation = Conversation([ASKED])
    left_out = LeftOutAttachments(conversation, EventBus(()))

    with pytest.raises(ProviderError, match="later requests to p/m go without") as caught:
        left_out.add_if_too_long(TOO_LONG, "p/m")

    assert caught.value.kind is ProviderErrorKind.TOO_LONG
    assert conversation.left_out == {
        ("p/m", SHOT.sha256): "left out, as the request with it was too long for p/m"
    }
    left_out.add_if_too_long(TOO_LONG, "p/m")


def test_what_was_answered_once_and_other_failures_leave_nothing_out() -> None:
    conversation = Conversation([ASKED])
    left_out = LeftOutAttachments(conversation, EventBus(()))
    left_out.add_if_too_long(ProviderError("down", kind=ProviderErrorKind.SERVER), "p/m")
    conversation.add_response(LlmResponse.from_text("a typo"))
    conversation.add_user("and now?")

    left_out.add_if_too_long(TOO_LONG, "p/m")

    assert conversation.left_out == {}

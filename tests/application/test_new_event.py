"""What a new event does on its own, before any fold of events knows it."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest

from quorum.application.export.narration import build_account
from quorum.application.view.entries import Notice, NoticeKind
from quorum.application.view.session_view import SessionView
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.fact import CallStage, CanonicalPlace, Fact
from quorum.domain.sessions.canonical import render_canonical
from quorum.domain.sessions.replay import Replay
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.struct_json import Unfit
from tests.support.builders import a_context
from tests.support.past_sessions import a_summary


class LampLit(Fact, frozen=True, kw_only=True, tag="lamp_lit"):
    """A lamp was lit."""

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    room: str

    @property
    def sentence(self) -> str:
        """What happened."""
        return f"the lamp of the {self.room} is lit"


class LampBroke(LampLit, frozen=True, kw_only=True, tag="lamp_broke"):
    """A lamp broke while a call ran."""

    place: ClassVar = CallStage.EFFECTS
    is_warning: ClassVar = True
    context: ToolExecutionContext


def record(*events: Any) -> list[LedgerRecord]:
    return [LedgerRecord(seq=seq, at_ms=seq, event=event) for seq, event in enumerate(events)]


LIT = LampLit(room="hall")
BROKE = LampBroke(room="hall", context=a_context(1))


def test_its_fields_and_type_come_back_from_its_json() -> None:
    written = json.loads(json.dumps(BROKE.to_json()))

    assert written["type"] == LampBroke.type == "lamp_broke"
    assert LampBroke.from_json(written) == BROKE


def test_a_field_that_does_not_fit_is_named_with_its_place() -> None:
    written = {**BROKE.to_json(), "context": {**written_context(), "call_index": "1"}}

    with pytest.raises(Unfit, match=r"^context\.call_index: expected a whole number, found a string$"):
        LampBroke.from_json(written)


def written_context() -> dict[str, Any]:
    context = BROKE.to_json()["context"]
    assert isinstance(context, dict)
    return context


@pytest.mark.parametrize(("event", "kind"), [(LIT, NoticeKind.INFO), (BROKE, NoticeKind.WARNING)])
def test_its_sentence_is_shown_on_the_screen(event: Any, kind: NoticeKind) -> None:
    view = SessionView()

    view.apply(event)

    assert view.entries == [Notice(kind, "the lamp of the hall is lit")]


def test_an_export_tells_its_sentence() -> None:
    account = build_account(a_summary(), record(LIT), lambda text: text)

    assert "the lamp of the hall is lit" in str(account.entries)


def test_a_session_continues_as_if_it_had_not_been() -> None:
    replay = Replay()

    replay.apply(LIT, 0)  # type: ignore[arg-type]

    assert replay.state == Replay().state


def test_the_canonical_form_has_it_in_its_place() -> None:
    lines = [json.loads(line) for line in render_canonical(record(BROKE, LIT)).splitlines()]

    assert [line["type"] for line in lines] == ["lamp_lit", "lamp_broke"]

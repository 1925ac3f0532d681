"""Records as earlier versions wrote them: `recorded/events.jsonl` holds small and full events of each kind, and
`older` is what a version wrote that knew none of the fields with defaults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from quorum.domain.events.event import Event, event_from_json
from quorum.domain.sessions.canonical import render_canonical
from quorum.domain.sessions.session_summary import LedgerRecord
from tests.support.every import every

FOLDER = Path(__file__).parent / "recorded"
LINES = [json.loads(line) for line in (FOLDER / "events.jsonl").read_text().splitlines()]
EVENTS: list[dict[str, Any]] = [line["event"] for line in LINES]
OLDER = [line for line in LINES if "older" in line]


def test_each_kind_of_event_is_among_them() -> None:
    assert {event["type"] for event in EVENTS} == {kind.type for kind in get_args(Event)}


@every("written", EVENTS)
def test_a_recorded_event_is_written_again_to_the_byte(written: dict[str, Any]) -> None:
    assert json.dumps(event_from_json(written).to_json()) == json.dumps(written)


@pytest.mark.parametrize("line", OLDER, ids=lambda line: str(line["event"]["type"]))
def test_an_event_of_an_older_version_means_what_its_defaults_say(line: dict[str, Any]) -> None:
    assert event_from_json(line["older"]) == event_from_json(line["event"])


def test_the_canonical_form_of_recorded_events_is_the_same_to_the_byte() -> None:
    records = [
        LedgerRecord(seq=seq, at_ms=seq, event=event_from_json(event), redacted=seq % 50 == 7)
        for seq, event in enumerate(EVENTS)
    ]

    assert render_canonical(records) == (FOLDER / "canonical.jsonl").read_text()

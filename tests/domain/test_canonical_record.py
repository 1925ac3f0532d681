from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from quorum.domain.calls.execution import Outcome
from quorum.domain.conversation.history import UserMessage
from quorum.domain.events.event import (
    CallFinished,
    ErrorOccurred,
    Event,
    MessageAdded,
    OutputStored,
    QuorumConcluded,
    ReviewDecided,
    SessionStarted,
    TextDelta,
    TurnStarted,
)
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.review.signing import ApprovalSignature
from quorum.domain.sessions.canonical import render_canonical
from quorum.domain.sessions.session_summary import LedgerRecord
from tests.support.builders import a_context
from tests.support.examples import examples
from tests.support.scripted_record import (
    SCRIPTS,
    Run,
    Script,
    ScriptedCall,
    ScriptedStep,
    ScriptedTurn,
)

MAKE = ScriptedCall(
    tool="run_command",
    argument="make -C {cwd}",
    output="{cwd}/a.c:1: [blob:{blob}]",
    reviewed=DecisionLabel.APPROVED,
    votes=("approve", "reject", "approve"),
    edited="fine",
    stored=True,
    changed=("a", "b"),
)
LOOK = ScriptedCall(tool="read_file", argument="a.c", output="int main;", changed=("c",))
SCRIPT: Script = (
    ScriptedTurn(
        prompt="build it", steps=(ScriptedStep(text="I build.", calls=(MAKE, LOOK, MAKE), merged={"plan": 1}),)
    ),
    ScriptedTurn(prompt="what did [blob:{blob}] say?", answer="in {cwd}: all is well", compacted=True),
)


def canonical_lines(script: Script, seed: int, cwd: str = "/ws") -> str:
    return render_canonical(Run(cwd, Random(seed)).play(script).records)


def lines_of(events: list[Event]) -> list[dict[str, Any]]:
    records = [LedgerRecord(seq=seq, at_ms=seq, event=event) for seq, event in enumerate(events)]
    return [json.loads(line) for line in render_canonical(records).splitlines()]


def opened(cwd: str = "/ws") -> SessionStarted:
    return SessionStarted(session_id="s", model="m", mode=Mode.ASK, cwd=cwd)


# ------------------------------------------------------------------ what does not show


@pytest.mark.long
@given(script=SCRIPTS, seed=st.integers(0, 2**32), other=st.integers(0, 2**32))
@examples(50)
def test_runs_of_one_script_are_reported_alike_whatever_chance_does(
    script: Script, seed: int, other: int
) -> None:
    assert canonical_lines(script, seed, "/home/one/ws") == canonical_lines(script, other, "/tmp/ws-2")


def test_chance_does_something_in_these_runs() -> None:
    one, other = (Run("/ws", Random(seed)).play(SCRIPT) for seed in (1, 2))

    assert [type(event) for event in one.events] != [type(event) for event in other.events]
    assert one.session_id != other.session_id
    assert canonical_lines(SCRIPT, 1) == canonical_lines(SCRIPT, 2)


def test_no_id_and_no_folder_of_a_run_is_left_in_it() -> None:
    run = Run("/home/one/ws", Random(3)).play(SCRIPT)
    batches = {event.context.batch_id for event in run.events if isinstance(event, CallFinished)}
    calls = {event.context.call_id for event in run.events if isinstance(event, CallFinished)}

    text = render_canonical(run.records)

    assert [
        found for found in {run.session_id, *run.blobs, *batches, *calls, "/home/one"} if found in text
    ] == []
    assert "[blob:blob-2] say?" in text
    assert "make -C ." in text


# ------------------------------------------------------------------ what shows


def changed(place: str, value: object) -> Script:
    """The script with one thing changed in the last call of its first turn, or in its state."""
    turn, *rest = SCRIPT
    (step,) = turn.steps
    if place == "merged":
        return (replace(turn, steps=(replace(step, merged=value),)), *rest)
    calls = (*step.calls[:-1], replace(MAKE, **{place: value}))
    return (replace(turn, steps=(replace(step, calls=calls),)), *rest)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("argument", "make -C {cwd} all"),
        ("argument", "make -C ."),
        ("output", "{cwd}/b.c:1: [blob:{blob}]"),
        ("outcome", Outcome.ERROR),
        ("reviewed", DecisionLabel.EDITED),
        ("reviewed", None),
        ("votes", ("approve", "approve", "approve")),
        ("votes", ("reject", "approve", "approve")),
        ("edited", "not so fine"),
        ("withheld", True),
        ("stored", False),
        ("changed", ("a",)),
        ("seen_all", False),
        ("tool", "edit_file"),
        ("merged", {"plan": 2}),
    ],
)
def test_one_thing_that_happened_otherwise_shows(place: str, value: object) -> None:
    assert canonical_lines(changed(place, value), 1) != canonical_lines(SCRIPT, 1)


@pytest.mark.long
@given(script=SCRIPTS, seed=st.integers(0, 2**32), data=st.data())
@examples(25)
def test_one_call_that_went_otherwise_shows_in_any_script(
    script: Script, seed: int, data: st.DataObject
) -> None:
    places = [
        (t, s, c)
        for t, turn in enumerate(script)
        for s, step in enumerate(turn.steps)
        for c, _ in enumerate(step.calls)
    ]
    assume(places)
    place = data.draw(st.sampled_from(places))
    field = data.draw(st.sampled_from(["argument", "output", "tool"]))

    assert canonical_lines(with_call(script, place, field, "something else"), seed) != canonical_lines(
        script, seed
    )


def with_call(script: Script, place: tuple[int, int, int], field: str, value: str) -> Script:
    t, s, c = place
    turn, step = script[t], script[t].steps[s]
    calls = (*step.calls[:c], replace(step.calls[c], **{field: value}), *step.calls[c + 1 :])
    steps = (*turn.steps[:s], replace(step, calls=calls), *turn.steps[s + 1 :])
    return (*script[:t], replace(turn, steps=steps), *script[t + 1 :])


def test_the_order_of_the_calls_shows() -> None:
    turn, *rest = SCRIPT
    (step,) = turn.steps
    turned = (replace(turn, steps=(replace(step, calls=step.calls[1:] + step.calls[:1]),)), *rest)

    assert canonical_lines(turned, 1) != canonical_lines(SCRIPT, 1)


def test_when_people_signed_does_not_show_and_who_signed_does() -> None:
    def decided(person: str, at_ms: int, text: str) -> Event:
        signature = ApprovalSignature(session_id="s", digest="d", person=person, at_ms=at_ms, signature=text)
        return ReviewDecided(
            context=a_context(),
            digest="d",
            decision=DecisionLabel.APPROVED,
            reason=None,
            signatures=(signature,),
        )

    assert lines_of([decided("ada", 1, "U1NI")]) == lines_of([decided("ada", 2, "U1NJ")])
    assert lines_of([decided("ada", 1, "U1NI")]) != lines_of([decided("ben", 1, "U1NI")])


# ------------------------------------------------------------------ how it is told


def test_the_calls_of_a_batch_stand_one_after_the_other() -> None:
    lines = [json.loads(line) for line in canonical_lines(SCRIPT, 5).splitlines()]
    begun = next(n for n, line in enumerate(lines) if line["type"] == "batch_planned")
    after = [line for line in lines[begun:] if line.get("context")]

    places = [line["context"]["call_index"] for line in after]
    kinds = [line["type"] for line in after if line["context"]["call_index"] == 0]

    assert places == sorted(places)
    assert kinds == [
        *["vote_cast"] * 3,
        "quorum_result",
        "review_requested",
        "review_decided",
        "files_kept",
        "call_started",
        "effects_observed",
        "call_finished",
        "hook_ran",
        "output_stored",
    ]


def test_every_line_names_its_turn() -> None:
    lines = [json.loads(line) for line in canonical_lines(SCRIPT, 5).splitlines()]

    assert lines[0]["type"] == "session_started"
    assert lines[0]["turn"] is None
    assert [line["turn"] for line in lines if line["type"] == "turn_finished"] == [0, 1]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/ws", "."),
        ("/ws/", "./"),
        ("/ws/src/a.py:3", "./src/a.py:3"),
        ("in /ws.", "in .."),
        ("file:///ws/a", "file://./a"),
        ("'/ws/a' and \"/ws/b\"", "'./a' and \"./b\""),
        ("/ws2/a /ws-old /ws.bak /tmp/ws /srv/ws/a x/ws a//ws", None),
    ],
)
def test_paths_below_the_folder_are_relative_to_it(text: str, shown: str | None) -> None:
    lines = lines_of([opened(), TurnStarted(prompt=text)])

    assert lines[1]["prompt"] == (text if shown is None else shown)


def test_a_session_in_the_root_folder_keeps_its_paths() -> None:
    lines = lines_of([opened("/"), TurnStarted(prompt="/etc/hosts")])

    assert lines[1]["prompt"] == "/etc/hosts"


def test_a_short_id_is_no_word_in_a_text() -> None:
    finished = CallFinished(
        context=a_context(0, call_id="a"),
        tool="t",
        outcome=Outcome.OK,
        decision=DecisionLabel.NONE,
        output="a word",
        duration_secs=2.5,
    )

    (line,) = lines_of([finished])

    assert line["context"]["call_id"] == "call-1"
    assert line["output"] == "a word"
    assert line["duration_secs"] == 0


def test_an_id_is_named_in_texts_that_come_before_it_as_well() -> None:
    blob = "0190a5b6-0000-7000-8000-000000000001"
    stored = OutputStored(context=a_context(0), blob_id=blob, size_bytes=1, summary="")

    lines = lines_of([TurnStarted(prompt=f"see [blob:{blob}] and out-{blob}.txt"), stored])

    assert lines[0]["prompt"] == "see [blob:blob-1] and out-blob-1.txt"


def test_a_vote_names_its_call_however_short_the_id() -> None:
    voted = QuorumConcluded(
        timestamp="2026-01-01T00:00:00.000Z",
        topic="action_review",
        target={"tool": "a", "call_id": "a"},
        approved=True,
        verdict="approved",
        rule="majority",
        votes=(),
        feedback=None,
        context=a_context(0, call_id="a"),
        digest="d",
    )

    (line,) = lines_of([voted])

    assert line["target"] == {"tool": "a", "call_id": "call-1"}
    assert (line["digest"], line["timestamp"]) == ("digest-1", "")


def test_records_that_cannot_be_read_and_those_with_something_taken_out_show() -> None:
    records = [
        LedgerRecord(seq=0, at_ms=0, event=opened()),
        LedgerRecord(seq=1, at_ms=0, event=None),
        LedgerRecord(seq=2, at_ms=0, event=TurnStarted(prompt="…"), redacted=True),
    ]

    lines = [json.loads(line) for line in render_canonical(records).splitlines()]

    assert lines[1] == {"turn": None, "type": "unreadable"}
    assert lines[2]["redacted"] is True
    assert "redacted" not in lines[0]


def test_errors_that_came_side_by_side_stand_by_what_they_say() -> None:
    errors = [ErrorOccurred(message="b"), ErrorOccurred(message="a")]

    assert lines_of([opened(), *errors]) == lines_of([opened(), *reversed(errors)])


def test_what_only_feeds_a_screen_is_no_part_of_it() -> None:
    said = MessageAdded(message=UserMessage("\ud800 \u202e"))

    assert lines_of([opened(), TextDelta(text="x"), said]) == lines_of([opened(), said])

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import pytest

from quorum.application.panel.debate import Debate
from quorum.application.panel.panel_session import NoPanelAnswer, PanelSession
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import REFUSAL, LlmResponse, TextBlock
from quorum.domain.errors import LedgerError
from quorum.domain.events.event import (
    AnswerDefended,
    AnswerRevised,
    Event,
    ObjectionsRaised,
    ObjectionsRuled,
    PanelConcluded,
    PanelStarted,
)
from quorum.domain.panel.debate_record import DebatePolicy, Intensity
from quorum.domain.text.json_value import JsonValue
from tests.support.builders import a_call, calls_response
from tests.support.fake_gateway import Answers
from tests.support.fake_session import Step
from tests.support.panel_room import DOWN, PanelRoom, text, until


def objections(*severities: str, claim: str = "it loses jobs") -> LlmResponse:
    given: list[JsonValue] = [
        {"claim": claim, "evidence": "after a restart", "severity": severity} for severity in severities
    ]
    return calls_response(a_call("raise_objections", {"objections": given}))


def responses(**stances: str) -> LlmResponse:
    given: list[JsonValue] = [
        {"objection": id_.replace("_", "-"), "stance": stance, "text": "a lock"}
        for id_, stance in stances.items()
    ]
    return calls_response(a_call("respond", {"responses": given}))


def rulings(**ruled: str) -> LlmResponse:
    given: list[JsonValue] = [
        {"objection": id_.replace("_", "-"), "ruling": ruling, "reason": "as shown"}
        for id_, ruling in ruled.items()
    ]
    return calls_response(a_call("rule", {"rulings": given}))


def revision(answer: str) -> LlmResponse:
    return calls_response(a_call("revise", {"answer": answer}))


NOTHING = objections()
REFUSED = LlmResponse(content=(TextBlock("no"),), stop_reason=REFUSAL)


class Room(PanelRoom):
    def __init__(
        self, scripts: Mapping[str, Answers], *, policy: DebatePolicy | None = None, **more: Any
    ) -> None:
        form = cast("type[PanelSession]", partial(Debate, policy=policy or DebatePolicy()))
        super().__init__(form, scripts, **more)

    @property
    def conclusion(self) -> PanelConcluded:
        (found,) = (event for event in self.seen.events if isinstance(event, PanelConcluded))
        return found

    def asked(self) -> dict[str, int]:
        return {
            model.removeprefix("p/"): self.requests(model.removeprefix("p/")) for model in self.gateway.scripts
        }

    def questions(self, model: str) -> list[str]:
        return [
            message.text
            for session in self.gateway.sessions
            if session.model == f"p/{model}"
            for message in session.sent[0].messages
            if isinstance(message, UserMessage)
        ]


def upheld_once() -> dict[str, Answers]:
    """One objection in the first round, which is upheld; the answer is revised, and nobody objects again."""
    return {
        "a": [text("cron"), responses(R1_B1="concede"), revision("cron with a lock")],
        "b": [objections("high"), NOTHING],
        "mod": [rulings(R1_B1="upheld")],
    }


async def test_an_objection_that_is_upheld_leads_to_a_revised_answer() -> None:
    room = Room(upheld_once())
    said = await room.discuss()
    assert said == (
        "cron with a lock\n\n**Upheld, and the answer was revised**\n\n"
        "- R1-B1 (B, high): it loses jobs\n  - Evidence: after a restart\n"
        "  - The answer's side concedes: a lock\n  - Ruling: as shown\n\n"
        "*This is the answer of A after 2 rounds of objections.*"
    )
    assert room.asked() == {"a": 3, "b": 2, "mod": 1}
    assert (room.conclusion.chosen, room.conclusion.reason) == ("A", "")


async def test_where_nobody_objects_two_requests_are_all() -> None:
    room = Room({"a": [text("cron")], "b": [NOTHING], "mod": []})
    assert await room.discuss() == (
        "cron\n\n*This is the answer of A after 1 round of objections; nobody objected to it.*"
    )
    assert room.asked() == {"a": 1, "b": 1, "mod": 0}


async def test_what_stays_open_comes_first_and_is_for_the_person_to_decide() -> None:
    room = Room(
        {
            "a": [text("cron"), responses(R1_B1="contest", R1_B2="contest")],
            "b": [objections("medium", "low")],
            "mod": [rulings(R1_B1="open", R1_B2="refuted")],
        }
    )
    said = await room.discuss()
    assert said.startswith("**Open, for you to decide**\n\n- R1-B1 (B, medium): it loses jobs\n")
    assert (
        said.index("R1-B1") < said.index("**Answer**\n\ncron") < said.index("**Refuted**") < said.index("R1-B2")
    )


async def test_an_open_objection_is_ruled_on_again_and_a_settled_one_never() -> None:
    room = Room(
        {
            "a": [
                text("cron"),
                responses(R1_B1="contest", R1_B2="contest"),
                responses(R1_B1="contest", R2_B1="contest"),
            ],
            "b": [objections("high", "high"), objections("low")],
            "mod": [rulings(R1_B1="open", R1_B2="refuted"), rulings(R1_B1="refuted", R2_B1="refuted")],
        },
        policy=DebatePolicy(max_rounds=2),
    )
    said = await room.discuss()
    assert "Open" not in said
    (second,) = [event.ruled for event in room.seen.events if isinstance(event, ObjectionsRuled)][1:]
    assert [each.objection for each in second.rulings] == ["R1-B1", "R2-B1"]


@pytest.mark.parametrize(
    ("intensity", "severity", "rounds"),
    [(Intensity.MILD, "high", 2), (Intensity.MILD, "low", 1), (Intensity.STRONG, "low", 2)],
)
async def test_the_intensity_says_what_calls_for_another_round(
    intensity: Intensity, severity: str, rounds: int
) -> None:
    room = Room(
        {
            "a": [text("cron"), responses(R1_B1="contest"), responses(R1_B1="contest")],
            "b": [objections(severity), NOTHING],
            "mod": [rulings(R1_B1="open")],
        },
        policy=DebatePolicy(intensity=intensity),
    )
    await room.discuss()
    assert room.asked()["b"] == rounds


async def test_rounds_end_at_the_limit_and_a_last_revision_that_nobody_saw_is_said() -> None:
    room = Room(
        {
            "a": [text("cron"), responses(R1_B1="concede"), revision("cron, locked")],
            "b": [objections("critical")],
            "mod": [rulings(R1_B1="upheld")],
        },
        policy=DebatePolicy(max_rounds=1),
    )
    said = await room.discuss()
    assert said.startswith("cron, locked")
    assert "nobody has looked at it since it was revised for the last time" in said


async def test_with_interjections_all_others_object_at_the_same_time() -> None:
    gate = asyncio.Event()
    room = Room(
        {
            "a": [text("cron"), responses(R1_B1="contest", R1_C1="contest")],
            "b": [Step(answer=objections("low"), gate=gate)],
            "c": [Step(answer=objections("low"), gate=gate)],
            "mod": [rulings(R1_B1="refuted", R1_C1="refuted")],
        },
        policy=DebatePolicy(allow_interjection=True),
    )
    running = asyncio.create_task(room.discuss())
    await until(lambda: sum(s.waiting.is_set() for s in room.gateway.sessions) == 2)
    gate.set()
    assert "R1-C1" in await running


async def test_nobody_knows_who_wrote_what_and_texts_are_fenced() -> None:
    room = Room(upheld_once())
    await room.discuss()
    panel_id = room.conclusion.panel_id
    for model in ("a", "b", "mod"):
        for put in room.questions(model)[0 if model != "a" else 1 :]:
            assert "p/" not in put
            assert f"<<<answer {panel_id}" in put


@pytest.mark.parametrize("failing", [[DOWN], [REFUSED], [text("  "), text("")]])
async def test_the_next_participant_answers_where_the_first_cannot(failing: Answers) -> None:
    room = Room({"a": [*failing], "b": [text("queue")], "c": [NOTHING], "mod": []})
    assert (await room.discuss()).startswith("queue\n\n*This is the answer of B")
    assert room.asked() == {"a": len(failing), "b": 1, "c": 1, "mod": 0}
    assert room.conclusion.chosen == "B"


@pytest.mark.parametrize("failing", [[DOWN], [text("I object, it is bad"), text("really")], [REFUSED, REFUSED]])
async def test_another_model_objects_where_the_second_cannot_in_fields(failing: Answers) -> None:
    room = Room({"a": [text("cron")], "b": failing, "c": [NOTHING], "mod": []})
    assert "nobody objected to it" in await room.discuss()
    raised = [event.raised for event in room.seen.events if isinstance(event, ObjectionsRaised)]
    assert [(each.label, bool(each.error)) for each in raised] == [("B", True), ("C", False)]


async def test_where_nobody_can_object_the_answer_stands_and_that_is_said() -> None:
    room = Room({"a": [text("cron")], "b": [DOWN], "c": [DOWN], "mod": []})
    said = await room.discuss()
    assert "nobody could object in round 1: B: it is down; C: it is down" in said
    assert "nobody objected to it" not in said
    assert "nobody could object" in room.conclusion.reason


async def test_where_nobody_answers_it_fails_and_names_each_reason() -> None:
    room = Room({"a": [DOWN], "b": [text(""), text("")], "mod": []})
    with pytest.raises(NoPanelAnswer, match="p/a: it is down; p/b: it said nothing"):
        await room.discuss()
    assert not room.seen.of(PanelConcluded)


async def test_a_debate_of_one_model_is_refused_with_the_remedy() -> None:
    room = Room({"a": [text("cron")], "mod": []})
    with pytest.raises(
        NoPanelAnswer, match=r"two models or more: name them in debate\.models or models\.participants"
    ):
        await room.discuss()
    assert not room.seen.of(PanelStarted)
    assert room.asked()["a"] == 0


@pytest.mark.parametrize(
    "moderator",
    [
        [DOWN],
        [text("all upheld"), text("upheld")],
        [rulings(R1_B1="unacceptable"), rulings(R1_B1="not upheld")],
        [rulings(R1_B2="upheld"), rulings()],
    ],
)
async def test_without_rulings_all_stays_open_for_the_person(moderator: Answers) -> None:
    room = Room(
        {"a": [text("cron"), responses(R1_B1="concede")], "b": [objections("critical")], "mod": moderator}
    )
    said = await room.discuss()
    assert said.startswith("**Open, for you to decide**\n\n- R1-B1")
    assert "p/mod ruled on nothing in round 1" in said
    assert not room.seen.of(AnswerRevised)


async def test_without_a_response_the_moderator_rules_all_the_same() -> None:
    room = Room({"a": [text("cron"), DOWN, DOWN], "b": [objections("low")], "mod": [rulings(R1_B1="upheld")]})
    said = await room.discuss()
    assert said.startswith("cron\n\n**Upheld**")
    assert "the answer was not revised in round 1: it is down" in said


async def test_a_silent_objector_is_waited_for_no_longer_than_the_limit() -> None:
    room = Room(
        {"a": [text("cron")], "b": [Step(answer=NOTHING, gate=asyncio.Event())], "c": [NOTHING], "mod": []},
        secs=0.5,
    )
    await room.discuss()
    (late, _) = (event.raised for event in room.seen.events if isinstance(event, ObjectionsRaised))
    assert late.error == "no answer within 0.5 s"


async def test_a_moderator_that_takes_part_is_named() -> None:
    room = Room({"a": [text("cron")], "b": [NOTHING], "mod": []}, moderator="p/b")
    assert "the moderator, p/b, takes part as well" in await room.discuss()


async def test_what_it_costs_is_on_record_before_the_first_request() -> None:
    room = Room(upheld_once())
    await room.discuss()
    (started,) = (event for event in room.seen.events if isinstance(event, PanelStarted))
    assert [(each.label, each.least_requests, each.most_requests) for each in started.costs] == [
        ("A", 1, 13),
        ("B", 1, 6),
        ("", 0, 6),
    ]


_ON_RECORD = (ObjectionsRaised, AnswerDefended, ObjectionsRuled, AnswerRevised)


@pytest.mark.parametrize("done", range(6))
async def test_what_is_on_record_is_not_asked_again(done: int) -> None:
    """The process ends after each step; the next one asks for what is missing, and for nothing else."""
    whole = Room(upheld_once())
    said = await whole.discuss()
    records = whole.records()
    ends = [n for n, record in enumerate(records) if isinstance(record.event, (PanelStarted, *_ON_RECORD))]
    past = records[: ends[done] + 1]
    rest = {name: list(answers) for name, answers in upheld_once().items()}
    answered = any(record.event.type == "panel_answered" for record in past if record.event is not None)
    if answered:
        rest["a"].pop(0)
    for record in past:
        match record.event:
            case ObjectionsRaised():
                rest["b"].pop(0)
            case AnswerDefended() | AnswerRevised():
                rest["a"].pop(0)
            case ObjectionsRuled():
                rest["mod"].pop(0)
    room = Room(rest, past=past)
    assert await room.discuss() == said
    assert room.asked() == {name: len(answers) for name, answers in rest.items()}
    assert not room.seen.of(PanelStarted)


@pytest.mark.parametrize("interjects", [False, True])
async def test_what_is_concluded_and_not_answered_is_told_and_nobody_is_asked(interjects: bool) -> None:
    policy = DebatePolicy(allow_interjection=interjects)
    first = Room({**upheld_once(), "c": [DOWN] * 4}, policy=policy)
    said = await first.discuss()
    second = Room({"a": [], "b": [], "c": [], "mod": []}, policy=policy, past=first.records())
    assert await second.discuss() == said
    assert set(second.asked().values()) == {0}


@pytest.mark.parametrize("step", ["opening", "objections", "defence", "rulings", "revision"])
async def test_an_interruption_ends_the_request_at_once_and_a_retry_continues(step: str) -> None:
    gate = asyncio.Event()
    scripts = {name: list(answers) for name, answers in upheld_once().items()}
    name, place = {
        "opening": ("a", 0),
        "objections": ("b", 0),
        "defence": ("a", 1),
        "rulings": ("mod", 0),
        "revision": ("a", 2),
    }[step]
    answer = scripts[name][place]
    assert isinstance(answer, LlmResponse)
    scripts[name][place] = Step(answer=answer, gate=gate)
    room = Room(scripts)
    running = asyncio.create_task(room.discuss())
    await until(lambda: any(session.waiting.is_set() for session in room.gateway.sessions))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    before = room.asked()
    rest = {
        name: list(answers)[before[name] - (name == step_model(step)) :]
        for name, answers in upheld_once().items()
    }
    again = Room(rest, past=room.records())
    assert (await again.discuss()).startswith("cron with a lock")
    assert again.asked() == {name: len(answers) for name, answers in rest.items()}


def step_model(step: str) -> str:
    return {"objections": "b", "rulings": "mod"}.get(step, "a")


async def test_nothing_goes_on_that_cannot_be_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(upheld_once())
    record = room.events.record

    async def fail(event: Event) -> None:
        if isinstance(event, ObjectionsRaised):
            raise LedgerError("the disk is full")
        await record(event)

    monkeypatch.setattr(room.events, "record", fail)
    with pytest.raises(LedgerError):
        await room.discuss()
    assert room.asked() == {"a": 1, "b": 1, "mod": 0}

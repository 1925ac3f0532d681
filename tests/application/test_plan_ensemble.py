"""Several models plan, each on its own, and score each other's plans; the best one is proposed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from quorum.application.conversation_session import ConversationSession
from quorum.application.panel.panel_session import ConsensusChoice, ConsensusSession, PanelSession, PromptPanels
from quorum.application.panel.participant_work import DraftPolicy
from quorum.application.panel.plan_ensemble import PlanEnsemble
from quorum.application.ports.workspace import OnLook
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool import ToolCall, ToolResultMessage
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import REFUSAL, LlmResponse, TextBlock
from quorum.domain.events.event import (
    AnswerProgressed,
    NoticeGiven,
    PanelAnswered,
    PanelConcluded,
    PanelReviewed,
    PanelStarted,
    PhaseScopeChanged,
    ReviewerLooked,
    TurnStarted,
)
from quorum.domain.panel.panel_answer import AnswerStatus, Consensus, ConsensusLevel, PanelForm, Strategy
from quorum.domain.panel.plan_comparison import compare_plans
from quorum.domain.plan.plan import PhaseScope
from quorum.domain.plan.plan_text import parse_plan_text
from quorum.domain.text.json_value import JsonObject, JsonValue
from tests.support.builders import a_call, calls_response
from tests.support.fake_gateway import Answers
from tests.support.fake_session import Step
from tests.support.panel_room import DOWN, PanelRoom, text, until

CREATE_PLAN: JsonObject = {"name": "create_plan", "description": "make one", "input_schema": {"type": "object"}}
READ_FILE: JsonObject = {"name": "read_file", "description": "read", "input_schema": {"type": "object"}}
PROMPT = "queue or cron?"
ENSEMBLE = Consensus(level=ConsensusLevel.ENSEMBLE)


def plan(objective: str, *, writes: str = "src/**") -> LlmResponse:
    task: JsonObject = {"id": "one", "description": f"do {objective}", "writes": [writes]}
    arguments: JsonObject = {"objective": objective, "reasoning": "so", "tasks": [task]}
    return calls_response(a_call("create_plan", arguments))


def ballots(dangers: Sequence[str] = (), *, agreement: str = "yes", **scores: int) -> LlmResponse:
    given: list[JsonValue] = [
        {
            "answer": label,
            "score": score,
            "agreement": agreement,
            "comment": f"on {label}",
            "dangers": list(dangers),
        }
        for label, score in scores.items()
    ]
    return calls_response(a_call("review_answers", {"reviews": given}))


def additions(*points: tuple[str, list[str]]) -> LlmResponse:
    given: list[JsonValue] = [{"text": said, "answers": list(labels)} for said, labels in points]
    return calls_response(a_call("list_additions", {"additions": given}))


def three(**more: Answers) -> dict[str, Answers]:
    return {
        "a": [plan("cron"), ballots(B=6, C=3)],
        "b": [plan("queue"), ballots(A=8, C=2)],
        "c": [plan("neither"), ballots(["it loses jobs"], agreement="no", A=6, B=9)],
        "mod": [additions(("watch it", ["A", "C"]))],
        **more,
    }


class Looking:
    """Implements `AnswerTools`: each call shows the same."""

    schemas = (READ_FILE,)

    def __init__(self, on_look: OnLook, most_rounds: int) -> None:
        self._on_look = on_look
        self.most_rounds = most_rounds

    async def run(self, calls: Sequence[ToolCall], round_index: int) -> tuple[ToolResultMessage, ...]:
        for call in calls:
            self._on_look(call.tool_name, call.arguments, Outcome.OK, 5)
        return tuple(
            ToolResultMessage(tool_use_id=call.native_id, tool_name=call.tool_name, output="ALPHA")
            for call in calls
        )


class Room(PanelRoom):
    """A session of p/alone in plan mode, with participants that look before they plan."""

    def __init__(
        self,
        scripts: Mapping[str, Answers],
        *,
        consensus: Consensus = ENSEMBLE,
        most_rounds: int = 3,
        plan_secs: float = 5.0,
        **more: Any,
    ) -> None:
        alone = list(scripts.get("alone", ()))
        policy = DraftPolicy(
            open_tools=(lambda on_look: Looking(on_look, most_rounds)) if most_rounds else None,
            timeout_secs=plan_secs,
        )

        def make(*arguments: Any, **named: Any) -> PanelSession:
            return PlanEnsemble(*arguments, **named, policy=policy)

        taking_part = {name: said for name, said in scripts.items() if name != "alone"}
        super().__init__(make, taking_part, **more)  # type: ignore[arg-type]
        self.gateway.scripts["p/alone"] = alone
        self.choice = ConsensusChoice(consensus, events=self.events)
        panels = PromptPanels(answer={}, plan=lambda: self.answering, draft=lambda: self.answering)
        alone_exchange = self.gateway.open_exchange("p/alone")
        several = ConsensusSession(alone_exchange, panels, choice=self.choice, events=self.events)
        self.consensus = ConversationSession(several, self.conversation)

    async def say(
        self, prompt: str = PROMPT, *, scope: PhaseScope = PhaseScope.PLAN_ONLY, tools: Any = (CREATE_PLAN,)
    ) -> LlmResponse:
        if self.events.phase.scope is not scope:
            await self.events.record(PhaseScopeChanged(scope=scope))
        await self.events.record(TurnStarted(prompt=prompt))
        self.choice.begin_turn()
        async with asyncio.timeout(60):
            return await self.consensus.send_with_tools(
                UserMessage(prompt), tools, on_event=self.streamed.append
            )

    @property
    def notices(self) -> list[str]:
        return [event.message for event in self.seen.events if isinstance(event, NoticeGiven)]

    @property
    def findings(self) -> tuple[str, ...]:
        choice = self.events.state.plan_choice
        assert choice is not None
        return compare_plans(choice).findings


def proposed(response: LlmResponse) -> str:
    (call,) = response.tool_calls()
    assert call.tool_name == "create_plan"
    return str(call.arguments["objective"])


async def test_the_plan_that_the_others_score_best_is_proposed_and_what_they_say_stands_above_it() -> None:
    room = Room(three())
    answer = await room.say()
    assert proposed(answer) == "queue"
    assert answer.text_content() == (
        "**plan B of p/b is the one that the others score best, 7.5 of 10**\n\n"
        "- scores: B 7.5, A 7.0, C 2.5\n"
        "- danger, says C: it loses jobs\n"
        "- C does not agree: on B\n"
        "- B lacks, says A, C: watch it"
    )
    assert (answer.model, room.requests("alone")) == ("p/alone", 0)
    (started,) = (event for event in room.seen.events if isinstance(event, PanelStarted))
    assert started.form is PanelForm.PLAN


async def test_every_plan_is_to_be_read_with_what_the_others_say_of_it_the_best_first() -> None:
    room = Room(three())
    await room.say()
    choice = room.events.state.plan_choice
    assert choice is not None
    plans = compare_plans(choice).plans
    assert [(each.label, each.model, each.score) for each in plans] == [
        ("B", "p/b", 7.5),
        ("A", "p/a", 7.0),
        ("C", "p/c", 2.5),
    ]
    assert [parse_plan_text(each.text).objective for each in plans] == ["queue", "cron", "neither"]
    assert plans[1].remarks == (
        "B scores 8, agrees: yes. on A",
        "C scores 6, agrees: no. on A",
        "danger, says C: it loses jobs",
    )


async def test_participants_plan_at_the_same_time_and_what_each_looks_at_is_shown_and_recorded() -> None:
    gates = {name: asyncio.Event() for name in ("a", "b")}

    def looks(name: str) -> Answers:
        reading = calls_response(a_call("read_file", {"path": f"{name}.txt"}))
        return [reading, Step(answer=plan(name), gate=gates[name]), ballots(**{"B" if name == "a" else "A": 5})]

    room = Room({"a": looks("a"), "b": looks("b"), "mod": [additions()]})
    running = asyncio.create_task(room.say())
    await until(lambda: sum(session.waiting.is_set() for session in room.gateway.sessions) == 2)
    for gate in gates.values():
        gate.set()
    await running
    looked = [event for event in room.seen.events if isinstance(event, ReviewerLooked)]
    assert {(each.label, each.tool) for each in looked} == {("A", "read_file"), ("B", "read_file")}
    shown = [event.text for event in room.seen.events if isinstance(event, AnswerProgressed)]
    assert "read_file a.txt" in shown
    asked = next(session for session in room.gateway.sessions if session.model == "p/a")
    assert [tool["name"] for tool in asked.sent[0].tools] == ["read_file", "create_plan"]


async def test_without_rounds_to_look_a_participant_is_made_to_plan_at_once() -> None:
    room = Room(three(), most_rounds=0)
    await room.say()
    asked = next(session for session in room.gateway.sessions if session.model == "p/a")
    assert [tool["name"] for tool in asked.sent[0].tools] == ["create_plan"]
    assert asked.sent[0].tool_choice == ("tool", "create_plan")


async def test_of_plans_with_the_same_score_the_first_stands_and_the_tie_is_said() -> None:
    room = Room(
        {
            "a": [plan("cron"), ballots(B=7)],
            "b": [plan("queue"), ballots(A=7)],
            "mod": [additions()],
        }
    )
    assert proposed(await room.say()) == "cron"
    assert room.findings[0] == "plan A of p/a is the first of A, B, which the others score alike, 7.0 of 10"


async def test_who_is_down_or_refuses_or_mumbles_is_named_and_the_others_go_on() -> None:
    refusing = LlmResponse(content=(TextBlock("no"),), stop_reason=REFUSAL)
    room = Room(
        three(
            a=[DOWN],
            c=[refusing, refusing],
            d=[text("I would plan so: cron"), text("1. cron")],
            e=[plan("both"), text("B gets 8/10."), text("B: acceptable")],
            b=[plan("queue"), ballots(D=4)],
            mod=[additions()],
        )
    )
    names = {each.model: each.label for each in label_all(room)}
    room.gateway.scripts["p/b"][1] = ballots(**{names["p/e"]: 4})
    assert proposed(await room.say()) == "both", "a plan that nobody scored comes after one that was scored"
    said = "\n".join(room.findings)
    assert f"{names['p/a']} (p/a) made no plan: it is down" in said
    assert f"{names['p/c']} (p/c) made no plan: the answer ended (refusal)" in said
    assert f"{names['p/d']} (p/d) made no plan: it did not call create_plan" in said
    assert f"{names['p/e']} (p/e) scored no plan: it did not call review_answers" in said
    assert "not scored" in said


def label_all(room: Room) -> Any:
    return room.answering._participants


async def test_a_slow_participant_is_left_out_when_its_time_is_over() -> None:
    never = asyncio.Event()
    given: dict[str, Answers] = {
        "a": [plan("cron"), ballots(B=6)],
        "b": [plan("queue"), ballots(A=8)],
        "c": [Step(answer=plan("late"), gate=never)],
        "mod": [additions()],
    }
    room = Room(given, plan_secs=0.5)
    await room.say()
    assert room.statuses()["C"] is AnswerStatus.TIMED_OUT
    assert "C (p/c) made no plan: no answer within 0.5 s" in room.findings


async def test_two_down_leaves_one_plan_which_nobody_scores_and_that_is_said() -> None:
    room = Room(three(a=[DOWN], c=[DOWN], mod=[]))
    assert proposed(await room.say()) == "queue"
    assert room.findings[0] == "plan B of p/b is the only one"
    assert not room.seen.of(PanelReviewed)


async def test_where_nobody_plans_the_model_of_the_session_does_and_that_is_said() -> None:
    room = Room({"a": [DOWN], "b": [DOWN], "mod": [], "alone": [plan("mine")]})
    assert proposed(await room.say()) == "mine"
    (over,) = (event for event in room.seen.events if isinstance(event, PanelConcluded))
    assert over.reason == "no participant answered: p/a: it is down; p/b: it is down; p/alone answers alone"
    assert room.events.state.plan_choice is None


@pytest.mark.parametrize(
    ("scope_before", "tools", "why"),
    [
        (PhaseScope.FAST, (CREATE_PLAN,), "in the scope fast no other model looks at a plan"),
        (PhaseScope.FULL, (READ_FILE,), "several models make no plan without the tool create_plan"),
    ],
)
async def test_where_several_models_cannot_plan_one_does_and_that_is_said(
    scope_before: PhaseScope, tools: Any, why: str
) -> None:
    room = Room(three(alone=[plan("mine")]))
    await room.events.record(PhaseScopeChanged(scope=scope_before))
    assert proposed(await room.say(tools=tools)) == "mine"
    (said,) = room.notices
    assert said.startswith(why)
    assert "p/alone" in said
    assert room.requests("a") == 0


async def test_one_participant_is_no_ensemble_and_that_is_said() -> None:
    room = Room({"a": [], "mod": [], "alone": [plan("mine")]})
    assert proposed(await room.say()) == "mine"
    assert room.notices == [
        "an ensemble needs two models or more in models.participants; p/alone answers alone"
    ]


async def test_with_the_strategy_debate_they_plan_all_the_same_and_that_is_said() -> None:
    room = Room(three(), consensus=Consensus(level=ConsensusLevel.ENSEMBLE, strategy=Strategy.DEBATE))
    assert proposed(await room.say()) == "queue"
    (said,) = room.notices
    assert said.startswith("a debate makes no plan")


async def test_a_plan_that_does_not_hold_together_is_asked_for_once_more() -> None:
    broken = plan("cron", writes="/etc/passwd")
    room = Room(three(a=[broken, plan("cron"), ballots(B=6, C=3)]))
    await room.say()
    assert room.statuses()["A"] is AnswerStatus.ANSWERED
    assert room.requests("a") == 3


async def test_what_the_moderator_cannot_say_is_named() -> None:
    room = Room(three(mod=[DOWN]))
    assert proposed(await room.say()) == "queue"
    assert room.findings[-1] == "p/mod did not say what the other plans add: it is down"


async def test_the_model_of_the_session_goes_on_from_the_plan_with_its_tools() -> None:
    room = Room(three(alone=[text("as you say")]))
    answer = await room.say()
    (call,) = answer.tool_calls()
    rejected = ToolResultMessage(
        tool_use_id=call.native_id, tool_name="create_plan", output="no", is_error=True
    )
    went_on = await room.consensus.send_tool_results([rejected], on_event=room.streamed.append)
    assert went_on.text_content() == "as you say"
    (alone,) = (session for session in room.gateway.sessions if session.model == "p/alone")
    assert alone.sent[0].tools == (CREATE_PLAN,)
    assert len(alone.sent[0].messages) == 3, "the prompt, the call and its result"


@pytest.mark.parametrize("step", ["plans", "ballots", "additions", "decision"])
async def test_after_an_interruption_nothing_that_was_answered_is_asked_again(step: str) -> None:
    gate = asyncio.Event()

    def at(name: str, answer: LlmResponse) -> LlmResponse | Step:
        return Step(answer=answer, gate=gate) if name == step else answer

    first = Room(
        {
            "a": [plan("cron"), at("ballots", ballots(B=6))],
            "b": [at("plans", plan("queue")), ballots(A=8)],
            "mod": [at("additions", additions())],
        }
    )
    running = asyncio.create_task(first.say())
    reached = {
        "plans": lambda: len(first.seen.of(PanelAnswered)) == 1,
        "ballots": lambda: len(first.seen.of(PanelReviewed)) == 1,
        "additions": lambda: any(s.model == "p/mod" and s.waiting.is_set() for s in first.gateway.sessions),
        "decision": running.done,
    }[step]
    await until(reached)
    running.cancel()
    await asyncio.wait([running])
    left: dict[str, dict[str, Answers]] = {
        "plans": {"a": [ballots(B=6)], "b": [plan("queue"), ballots(A=8)], "mod": [additions()]},
        "ballots": {"a": [ballots(B=6)], "b": [], "mod": [additions()]},
        "additions": {"a": [], "b": [], "mod": [additions()]},
        "decision": {"a": [], "b": [], "mod": []},
    }
    second = Room(left[step], past=first.records())
    assert proposed(await second.say()) == "cron"
    assert {name: second.requests(name) for name in ("a", "b", "mod")} == {
        name: len(answers) for name, answers in left[step].items()
    }

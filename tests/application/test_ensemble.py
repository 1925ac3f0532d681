import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.application.conversation_session import ConversationSession
from quorum.application.panel.ensemble import Ensemble
from quorum.application.panel.panel_session import (
    ConsensusChoice,
    ConsensusSession,
    NoPanelAnswer,
    PromptPanels,
)
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import Conversation, UserMessage
from quorum.domain.conversation.response import REFUSAL, LlmResponse, TextBlock
from quorum.domain.errors import ProviderError
from quorum.domain.events.event import (
    ConsensusChanged,
    NoticeGiven,
    PanelAnswered,
    PanelConcluded,
    PanelReviewed,
    PanelStarted,
    TurnStarted,
)
from quorum.domain.panel.panel_answer import (
    Consensus,
    ConsensusLevel,
    ConsensusRefused,
    Strategy,
    check_consensus,
)
from quorum.domain.text.json_value import JsonValue
from tests.support.builders import a_call, calls_response
from tests.support.examples import examples
from tests.support.fake_gateway import Answers
from tests.support.fake_session import Step
from tests.support.panel_room import DOWN, PanelRoom, reviews, text, until
from tests.support.unhurried import run_unhurried

ENSEMBLE = Consensus(level=ConsensusLevel.ENSEMBLE)


def additions(*points: tuple[str, list[str]]) -> LlmResponse:
    given: list[JsonValue] = [{"text": said, "answers": list(labels)} for said, labels in points]
    return calls_response(a_call("list_additions", {"additions": given}))


def three(**more: Answers) -> dict[str, Answers]:
    return {
        "a": [text("cron"), reviews(B=6, C=3)],
        "b": [text("queue"), reviews(A=8, C=2)],
        "c": [text("neither"), reviews(A=6, B=9)],
        "mod": [additions(("watch it", ["A", "C"]))],
        **more,
    }


class Room(PanelRoom):
    """A session of p/alone that may ask an ensemble."""

    def __init__(self, scripts: Mapping[str, Answers], **more: Any) -> None:
        alone = list(scripts.get("alone", ()))
        super().__init__(Ensemble, {name: said for name, said in scripts.items() if name != "alone"}, **more)
        self.gateway.scripts["p/alone"] = alone
        self.choice = ConsensusChoice(ENSEMBLE, events=self.events)
        panels = PromptPanels(
            answer={Strategy.QUORUM: lambda: self.answering},
            plan=lambda: self.answering,
            draft=lambda: self.answering,
        )
        alone_exchange = self.gateway.open_exchange("p/alone")
        several = ConsensusSession(alone_exchange, panels, choice=self.choice, events=self.events)
        self.consensus = ConversationSession(several, self.conversation)

    async def say(self, prompt: str | UserMessage | None) -> LlmResponse:
        said = prompt.text if isinstance(prompt, UserMessage) else prompt or ""
        await self.events.record(TurnStarted(prompt=said))
        self.choice.begin_turn()
        return await self.go_on(prompt)

    async def go_on(self, said: str | UserMessage | None) -> LlmResponse:
        async with asyncio.timeout(60):
            return await self.consensus.send_with_tools(said, (), on_event=self.streamed.append)

    @property
    def conclusion(self) -> PanelConcluded:
        (found,) = (event for event in self.seen.events if isinstance(event, PanelConcluded))
        return found


async def test_the_answer_that_the_others_score_best_stands_with_what_they_add() -> None:
    room = Room(three())
    answer = await room.say(UserMessage("queue or cron?"))
    assert answer.text_content() == (
        "queue\n\n**What the others add**\n\n- watch it (A, C)\n\n"
        "*This is answer B: the others score it best, 7.5 of 10.*"
    )
    assert (room.conclusion.chosen, room.conclusion.synthesis, room.conclusion.reason) == ("B", None, "")
    assert room.requests("alone") == 0
    assert answer.model == "p/alone"


async def test_own_answers_are_not_scored_and_nobody_knows_who_wrote_what() -> None:
    room = Room(three())
    await room.say(UserMessage("queue or cron?"))
    for session in room.gateway.sessions:
        for sent in session.sent:
            put = "\n".join(m.text for m in sent.messages if isinstance(m, UserMessage))
            assert not any(f"p/{name}" in put for name in ("a", "b", "c"))
    reviewer = next(s for s in room.gateway.sessions if s.model == "p/b" and s.sent[-1].tools)
    put = reviewer.conversation.messages[0]
    assert isinstance(put, UserMessage)
    assert "queue\nanswer" not in put.text


async def test_only_the_first_message_of_a_turn_is_put_to_the_panel() -> None:
    room = Room(three(alone=[text("done")]))
    await room.say(UserMessage("queue or cron?"))
    assert (await room.go_on("your hook says no")).text_content() == "done"
    assert len(room.seen.of(PanelStarted)) == 1


async def test_solo_asks_one_model_with_its_tools() -> None:
    room = Room(three(alone=[text("alone")]))
    await room.choice.choose(level=ConsensusLevel.SOLO)
    assert (await room.say(UserMessage("queue or cron?"))).text_content() == "alone"
    assert not room.seen.of(PanelStarted)
    (changed,) = (event for event in room.seen.events if isinstance(event, ConsensusChanged))
    assert changed.consensus == Consensus()


async def test_where_nobody_answers_one_model_does_and_that_is_said() -> None:
    room = Room({"a": [DOWN], "b": [text(""), text("")], "mod": [], "alone": [text("me then")]})
    assert (await room.say(UserMessage("queue or cron?"))).text_content() == "me then"
    assert "no participant answered: p/a: it is down" in room.conclusion.reason
    assert room.conclusion.reason.endswith("; p/alone answers alone")
    assert room.events.state.open_panel is None
    assert len(room.conversation.messages) == 2, "the prompt is in it once"


async def test_one_participant_is_no_ensemble_and_that_is_said() -> None:
    room = Room({"a": [], "mod": [], "alone": [text("me")]})
    assert (await room.say(UserMessage("queue or cron?"))).text_content() == "me"
    (said,) = (event.message for event in room.seen.events if isinstance(event, NoticeGiven))
    assert said == "an ensemble needs two models or more in models.participants; p/alone answers alone"
    assert not room.seen.of(PanelStarted)


async def test_one_answer_stands_unscored_and_says_so() -> None:
    room = Room(three(a=[DOWN], c=[LlmResponse(content=(TextBlock("no"),), stop_reason=REFUSAL)], mod=[]))
    said = (await room.say(UserMessage("queue or cron?"))).text_content()
    assert said == "queue\n\n*This is answer B: it is the only one.*"
    assert not room.seen.of(PanelReviewed)


async def test_without_a_readable_score_the_first_answer_stands_and_says_so() -> None:
    prose = [text("8/10."), text("B is unacceptable, I disapprove of C. A: 9")]
    room = Room(
        three(
            a=[text("cron"), *prose], b=[text("queue"), *prose], c=[text("neither"), *prose], mod=[additions()]
        )
    )
    said = (await room.say(UserMessage("queue or cron?"))).text_content()
    assert said == "cron\n\n*This is answer A: it is the first of those given, and no answer was reviewed.*"


@pytest.mark.parametrize(
    ("moderator", "why"),
    [
        ([DOWN], "it is down"),
        ([text("A adds nothing"), text("C says: watch it")], "it did not call list_additions"),
        ([additions(("x", ["B"]))] * 2, "names 'B'; the answers are A, C"),
        ([additions(("x", []))] * 2, "must name the answers"),
        ([calls_response(a_call("list_additions", {}))] * 2, '"additions" is missing'),
    ],
)
async def test_what_the_moderator_says_outside_of_the_fields_adds_nothing(moderator: Answers, why: str) -> None:
    room = Room(three(mod=moderator))
    said = (await room.say(UserMessage("queue or cron?"))).text_content()
    assert said.startswith("queue\n\n*This is answer B: ")
    assert "p/mod did not say what the others add: " in said
    assert why in room.conclusion.reason
    assert room.conclusion.additions == ()


async def test_what_a_session_read_before_goes_to_participants_as_a_record_without_calls() -> None:
    conversation = Conversation()
    conversation.add_user("look at a.txt")
    conversation.add_response(calls_response(a_call("read_file", {"path": "a.txt"})))
    (call,) = conversation.open_calls
    conversation.add_results(
        [ToolResultMessage(tool_use_id=call.native_id, tool_name="read_file", output="ALPHA", is_error=False)]
    )
    conversation.add_response(text("seen"))
    room = Room(three(), conversation=conversation)
    await room.say(UserMessage("queue or cron?"))
    sent = next(s for s in room.gateway.sessions if s.model == "p/a").sent[0].messages
    (only,) = sent
    assert isinstance(only, UserMessage)
    assert "ALPHA" in only.text
    assert only.text.endswith("\n\nqueue or cron?")
    assert room.conversation.messages[4] == UserMessage("queue or cron?"), "the conversation has what was said"
    started = next(event for event in room.seen.events if isinstance(event, PanelStarted))
    assert started.question == "queue or cron?"


@pytest.mark.parametrize("step", ["answers", "reviews", "additions"])
async def test_after_an_interruption_nothing_that_was_answered_is_asked_again(step: str) -> None:
    gate = asyncio.Event()

    def at(name: str, answer: LlmResponse) -> LlmResponse | Step:
        return Step(answer=answer, gate=gate) if name == step else answer

    first = Room(
        {
            "a": [text("cron"), at("reviews", reviews(B=6))],
            "b": [at("answers", text("queue")), reviews(A=8)],
            "mod": [at("additions", additions())],
        }
    )
    running = asyncio.create_task(first.say(UserMessage("queue or cron?")))
    reached = {
        "answers": lambda: len(first.seen.of(PanelAnswered)) == 1,
        "reviews": lambda: len(first.seen.of(PanelReviewed)) == 1,
        "additions": lambda: any(s.model == "p/mod" and s.waiting.is_set() for s in first.gateway.sessions),
    }[step]
    await until(reached)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not any(session.waiting.is_set() for session in first.gateway.sessions)
    left = {
        "answers": {"a": [reviews(B=6)], "b": [text("queue"), reviews(A=8)]},
        "reviews": {"a": [reviews(B=6)], "b": []},
        "additions": {"a": [], "b": []},
    }[step]
    second = Room(
        {**left, "mod": [additions()]},
        past=first.records(),
        conversation=Conversation(first.conversation.messages),
    )
    said = (await second.say(None)).text_content()
    assert said == "cron\n\n*This is answer A: the others score it best, 8.0 of 10.*"
    assert {name: second.requests(name) for name in left} == {name: len(given) for name, given in left.items()}
    assert not second.seen.of(PanelStarted)


async def test_what_is_concluded_and_not_answered_is_told_and_nobody_is_asked() -> None:
    first = Room(three(d=[DOWN]))
    said = (await first.say(UserMessage("queue or cron?"))).text_content()
    second = Room(
        {"a": [], "b": [], "c": [], "d": [], "mod": []},
        past=first.records(),
        conversation=Conversation([UserMessage("queue or cron?")]),
    )
    assert (await second.say(None)).text_content() == said
    assert [second.requests(name) for name in ("a", "b", "c", "d", "mod", "alone")] == [0] * 6


async def test_a_level_and_a_strategy_that_do_not_go_together_are_refused_by_name() -> None:
    room = Room(three())
    await room.choice.choose(level=ConsensusLevel.SOLO)
    with pytest.raises(ConsensusRefused, match="level solo and the strategy debate"):
        await room.choice.choose(strategy=Strategy.DEBATE)
    assert room.choice.current == Consensus()
    assert "ensemble and the scope fast" in check_consensus(ENSEMBLE, is_fast=True)[0]
    assert check_consensus(ENSEMBLE) == check_consensus(Consensus(), is_fast=True) == ()


async def test_one_model_can_be_chosen_after_a_debate() -> None:
    room = Room(three())
    await room.choice.choose(strategy=Strategy.DEBATE)
    await room.choice.choose(level=ConsensusLevel.SOLO)
    assert room.choice.current == Consensus()


async def test_what_can_be_read_of_the_additions_stands_and_the_rest_is_named() -> None:
    room = Room(three(mod=[additions(("retries", ["A"]), ("x", ["B"]))]))
    said = (await room.say(UserMessage("queue or cron?"))).text_content()
    assert "- retries (A)" in said
    assert """could not be read: "additions" 2: "answers" names 'B'; the answers are A, C""" in said


async def test_a_session_of_another_kind_has_no_such_choice() -> None:
    room = Room(three())
    choice = ConsensusChoice(Consensus(), events=room.events, refusal="this session is for /ask")
    with pytest.raises(ConsensusRefused, match="this session is for /ask"):
        await choice.choose(level=ConsensusLevel.ENSEMBLE)
    assert choice.recorded is None


PROSE = ("unacceptable", "I disapprove", "do not proceed", "8/10.", "I have 2 concerns. Score: 9", "")
ANSWERS = st.sampled_from(("answer", "down", "refuse", "empty", "late"))
BALLOTS = st.one_of(
    st.integers(0, 10), st.sampled_from((*PROSE, 11, -1, "nine", None, True, 8.5)), st.just("down")
)


@examples(120)
@given(st.lists(st.tuples(ANSWERS, BALLOTS), min_size=2, max_size=4), st.booleans())
def test_only_scores_in_their_field_choose_whatever_fails(
    models: list[tuple[str, JsonValue]], moderates: bool
) -> None:
    """Every ballot scores all other answers alike, so that the best answer can be told from the ballots."""
    labels = "ABCD"[: len(models)]
    alive = [label for label, (how, _) in zip(labels, models, strict=True) if how == "answer"]

    def script(label: str, how: str, ballot: JsonValue) -> list[Any]:
        first: dict[str, Any] = {
            "answer": text(f"answer of {label}"),
            "down": DOWN,
            "refuse": LlmResponse(content=(TextBlock("no"),), stop_reason=REFUSAL),
            "empty": text(" "),
            "late": Step(answer=text("late"), gate=asyncio.Event()),
        }
        others = {other: ballot for other in alive if other != label}
        if ballot == "down":
            return [first[how], DOWN]
        given = text(ballot) if isinstance(ballot, str) and ballot in PROSE else reviews(**others)
        return [*([first[how]] * (2 if how == "empty" else 1)), given, given]

    scripts = {label.lower(): script(label, *model) for label, model in zip(labels, models, strict=True)}
    moderator: list[Any] = [additions()] if moderates else [text("A is best"), text("10/10")]

    async def run() -> tuple[str | None, str]:
        room = PanelRoom(Ensemble, {**scripts, "mod": moderator}, secs=10.0)
        try:
            said = await room.discuss()
        except NoPanelAnswer:
            assert not alive
            return None, ""
        (over,) = (event for event in room.seen.events if isinstance(event, PanelConcluded))
        return over.chosen, said

    chosen, said = run_unhurried(run())
    if not alive:
        return
    scores: dict[str, list[int]] = {label: [] for label in alive}
    for label, (how, ballot) in zip(labels, models, strict=True):
        if how == "answer" and type(ballot) is int and 0 <= ballot <= 10:
            for other in alive:
                if other != label:
                    scores[other].append(ballot)
    means = {label: sum(given) / len(given) if given else -1.0 for label, given in scores.items()}
    assert chosen is not None
    assert means[chosen] == max(means.values())
    assert said.startswith(f"answer of {chosen}\n\n")


async def test_a_failure_of_the_model_that_answers_alone_is_its_own() -> None:
    room = Room({"a": [DOWN], "b": [DOWN], "mod": [], "alone": [DOWN]})
    with pytest.raises(ProviderError, match="it is down"):
        await room.say(UserMessage("queue or cron?"))

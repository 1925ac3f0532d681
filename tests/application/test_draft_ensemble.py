"""Several models draft AGENTS.md, and a moderator makes one file of the drafts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from quorum.application.conversation_session import ConversationSession
from quorum.application.panel.ensemble import DraftEnsemble
from quorum.application.panel.panel_session import ConsensusChoice, ConsensusSession, PanelSession, PromptPanels
from quorum.application.panel.participant_work import DraftPolicy
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.events.event import NoticeGiven, PanelConcluded, PanelStarted, TurnStarted
from quorum.domain.instructions.custom_command import INIT_COMMAND, INIT_SOURCE, ExpandedCommand
from quorum.domain.panel.panel_answer import AnswerStatus, Consensus, ConsensusLevel, PanelForm, Strategy
from quorum.domain.text.json_value import JsonObject, JsonValue
from tests.support.builders import a_call, calls_response
from tests.support.fake_gateway import Answers
from tests.support.panel_room import DOWN, PanelRoom, text

WRITE_FILE: JsonObject = {"name": "write_file", "description": "write", "input_schema": {"type": "object"}}
PROMPT = "Look at this project, and write AGENTS.md"
ENSEMBLE = Consensus(level=ConsensusLevel.ENSEMBLE)


def draft(content: JsonValue) -> LlmResponse:
    return calls_response(a_call("propose_file", {"content": content}))


def merged(content: str, *differences: tuple[str, Sequence[str]]) -> LlmResponse:
    given: list[JsonValue] = [{"text": said, "answers": list(labels)} for said, labels in differences]
    return calls_response(a_call("merge_drafts", {"content": content, "differences": given}))


class Room(PanelRoom):
    """A session of p/alone in which /init was typed."""

    def __init__(
        self,
        scripts: Mapping[str, Answers],
        *,
        consensus: Consensus = ENSEMBLE,
        is_there: bool = False,
        **more: Any,
    ) -> None:
        def make(*arguments: Any, **named: Any) -> PanelSession:
            policy = DraftPolicy(open_tools=None, timeout_secs=1.0)
            return DraftEnsemble(*arguments, **named, policy=policy, is_there=lambda: is_there)

        taking_part = {name: said for name, said in scripts.items() if name != "alone"}
        super().__init__(make, taking_part, **more)  # type: ignore[arg-type]
        self.gateway.scripts["p/alone"] = list(scripts.get("alone", ()))
        self.choice = ConsensusChoice(consensus, events=self.events)
        panels = PromptPanels(answer={}, plan=lambda: self.answering, draft=lambda: self.answering)
        alone_exchange = self.gateway.open_exchange("p/alone")
        several = ConsensusSession(alone_exchange, panels, choice=self.choice, events=self.events)
        self.consensus = ConversationSession(several, self.conversation)

    async def say(self, *, tools: Sequence[JsonObject] = (WRITE_FILE,)) -> LlmResponse:
        command = ExpandedCommand(name=INIT_COMMAND, file=INIT_SOURCE, sha256="ab", text=PROMPT)
        await self.events.record(TurnStarted(prompt="/init", command=command))
        self.choice.begin_turn()
        async with asyncio.timeout(60):
            return await self.consensus.send_with_tools(
                UserMessage(PROMPT), tools, on_event=self.streamed.append
            )

    @property
    def notices(self) -> list[str]:
        return [event.message for event in self.seen.events if isinstance(event, NoticeGiven)]

    @property
    def conclusion(self) -> PanelConcluded:
        (found,) = (event for event in self.seen.events if isinstance(event, PanelConcluded))
        return found


def written(response: LlmResponse) -> str:
    (call,) = response.tool_calls()
    assert (call.tool_name, call.arguments["path"]) == ("write_file", "AGENTS.md")
    return str(call.arguments["content"])


def two(**more: Answers) -> dict[str, Answers]:
    return {
        "a": [draft("Run `make test`.")],
        "b": [draft("Run `pytest`.")],
        "mod": [merged("Run `make test`.\n", ("how tests are run", ["A", "B"]))],
        **more,
    }


async def test_the_moderator_makes_one_file_and_what_differs_stands_above_it() -> None:
    room = Room(two())
    answer = await room.say()
    assert written(answer) == "Run `make test`.\n"
    assert answer.text_content() == (
        "**AGENTS.md, made of the drafts A, B.**\n\n"
        "They differ; check before you approve:\n\n"
        "- how tests are run (A, B)"
    )
    assert {name: room.requests(name) for name in ("a", "b", "mod", "alone")} == {
        "a": 1,
        "b": 1,
        "mod": 1,
        "alone": 0,
    }
    (started,) = (event for event in room.seen.events if isinstance(event, PanelStarted))
    assert started.form is PanelForm.DRAFT


async def test_the_drafts_are_data_to_the_moderator_who_does_not_know_who_wrote_them() -> None:
    room = Room(two())
    await room.say()
    (asked,) = (session.sent[0] for session in room.gateway.sessions if session.model == "p/mod")
    said = str(asked.messages)
    assert "Run `pytest`." in said
    assert "p/a" not in said
    assert "p/b" not in said


@pytest.mark.parametrize("failing", [DOWN, text("# prose, which is no draft"), draft("  "), draft(7)])
async def test_who_drafts_nothing_is_named_and_the_only_draft_stands(failing: Any) -> None:
    room = Room(two(b=[failing, failing], mod=[]))
    answer = await room.say()
    assert written(answer) == "Run `make test`.\n"
    assert answer.text_content() == (
        "**AGENTS.md as A (p/a) drafted it, the only one.**\n\nNo draft came from B (p/b)."
    )
    assert room.statuses()["B"] is not AnswerStatus.ANSWERED
    assert room.conclusion.chosen == "A"


async def test_where_the_moderator_gives_no_file_the_first_draft_stands_and_that_is_said() -> None:
    room = Room(two(mod=[text("prose"), text("prose")]))
    answer = await room.say()
    assert written(answer) == "Run `make test`.\n"
    assert "p/mod did not make one file of the drafts" in answer.text_content()
    assert (room.conclusion.chosen, bool(room.conclusion.reason)) == ("A", True)


async def test_where_nobody_drafts_one_model_writes_alone_and_that_is_said() -> None:
    room = Room(two(a=[DOWN], b=[DOWN], mod=[], alone=[text("I write it myself")]))
    answer = await room.say()
    assert answer.text_content() == "I write it myself"
    assert "p/alone answers alone" in room.conclusion.reason


async def test_a_debate_writes_no_file_and_that_is_said() -> None:
    room = Room(two(), consensus=Consensus(level=ConsensusLevel.ENSEMBLE, strategy=Strategy.DEBATE))
    assert written(await room.say()) == "Run `make test`.\n"
    assert room.notices == [
        "a debate writes no file, so each model drafts it, and the moderator makes one of them"
    ]


async def test_in_a_session_of_one_model_it_writes_alone() -> None:
    room = Room(two(alone=[text("mine")]), consensus=Consensus())
    assert (await room.say()).text_content() == "mine"
    assert room.requests("a") == 0


async def test_without_the_tool_one_model_is_asked_and_that_is_said() -> None:
    room = Room(two(alone=[text("mine")]))
    assert (await room.say(tools=())).text_content() == "mine"
    assert room.notices == ["several models write no file without the tool write_file; p/alone answers alone"]


async def test_after_an_interruption_no_draft_is_asked_for_again() -> None:
    killed = Room(two(mod=[]))
    with pytest.raises(IndexError):
        await killed.say()
    room = Room(two(a=[], b=[]), past=killed.records())
    assert written(await room.say()) == "Run `make test`.\n"
    assert (room.requests("a"), room.requests("b"), room.requests("mod")) == (0, 0, 1)


@pytest.mark.parametrize("moderator", [two()["mod"], [DOWN]], ids=["merged", "a draft alone"])
async def test_what_is_concluded_and_not_answered_is_written_and_nobody_is_asked(moderator: Answers) -> None:
    killed = Room(two(mod=moderator))
    said = await killed.say()
    room = Room(two(a=[], b=[], mod=[]), past=killed.records())
    again = await room.say()
    assert written(again) == written(said)
    assert again.text_content() == said.text_content()
    assert (room.requests("a"), room.requests("b"), room.requests("mod")) == (0, 0, 0)


async def test_a_turn_that_is_continued_after_its_calls_asks_no_model_for_drafts_again() -> None:
    room = Room(two(alone=[text("all is written")]))
    (call,) = (await room.say()).tool_calls()
    result = ToolResultMessage(tool_use_id=call.native_id, tool_name="write_file", output="ok")
    room.conversation.add_results((result,))
    room.conversation.add_user("AGENTS.md has changed")  # a notice, as after a resume

    room.choice.begin_turn()
    answer = await room.consensus.send_with_tools(None, (WRITE_FILE,), on_event=room.streamed.append)

    assert answer.text_content() == "all is written"
    assert (room.requests("a"), room.requests("b"), room.requests("mod")) == (1, 1, 1)


async def test_a_file_that_is_there_is_read_by_the_model_that_then_makes_the_changes() -> None:
    text_of_file = "Run this:\n\n```sh\nmake test\n```\n"
    room = Room(two(mod=[merged(text_of_file)]), is_there=True)
    answer = await room.say()
    (call,) = answer.tool_calls()
    assert (call.tool_name, call.arguments) == ("read_file", {"path": "AGENTS.md"})
    assert answer.text_content().endswith(f"````markdown\n{text_of_file}````")

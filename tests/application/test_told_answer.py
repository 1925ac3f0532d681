"""What an agent of another vendor says and does unasked, in the order of its record."""

from __future__ import annotations

import pytest

from quorum.application.agents.told_answer import ToldAnswer
from quorum.application.event_bus import EventBus
from quorum.application.turn.run_tally import RunTally
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import ToolResults
from quorum.domain.conversation.response import END_TURN, TOOL_USE, Delta, ToolUseBlock
from quorum.domain.events.agents import UnaskedCallReported
from quorum.domain.events.event import Event, MessageAdded, ResponseCompleted, TextDelta


class Scene:
    """An answer, what is recorded of it, and what a screen that follows it shows as under way."""

    def __init__(self) -> None:
        self.record: list[str] = []
        self.under_way = ""
        self.tally = RunTally("s")
        self.events = EventBus([self])
        self.answer = ToldAnswer("acp/test", self.events, self.tally)

    def notify(self, event: Event) -> None:
        match event:
            case TextDelta(text=text):
                self.under_way += text
            case ResponseCompleted(response=response):
                self.under_way = ""
                self.record += [response.text_content(), *(call.tool_name for call in response.tool_calls())]
            case UnaskedCallReported(title=title):
                self.record.append(title)
            case _:
                pass

    def tell(self, *steps: str) -> None:
        """`+a` begins the call a, `-a` reports it as unasked, all else is said."""
        for step in steps:
            if step.startswith("+"):
                self.answer.place_call(step[1:])
            elif step.startswith("-"):
                name = step[1:]
                told = UnaskedCallReported(call_id=name, title=name, kind="edit", status="completed")
                self.answer.report_call(told)
            else:
                self.answer.add(Delta(step))


@pytest.mark.parametrize(
    ("steps", "record"),
    [
        ("first +a -a last", ["first", "a", "last"]),
        ("first +a between -a last", ["first", "a", "betweenlast"]),
        ("first +a between +b -b -a last", ["firstbetween", "b", "a", "last"]),
        ("first +a between +b -a -b last", ["first", "a", "between", "b", "last"]),
        ("first +a -a", ["first", "a", ""]),
        ("+a -a +b -b last", ["a", "b", "last"]),
        ("first -a last", ["a", "firstlast"]),
    ],
)
async def test_what_was_said_before_an_unasked_call_began_is_recorded_before_it(steps: str, record: list[str]):
    scene = Scene()

    scene.tell(*steps.split())
    await scene.answer.complete(END_TURN)

    assert scene.record == record
    assert scene.tally.text == "".join(step for step in steps.split() if step[0] not in "+-")


async def test_what_is_said_after_an_unasked_call_began_stays_on_the_screen():
    scene = Scene()

    scene.tell("first", "+a", "between", "-a")

    assert scene.under_way == "between"


async def test_an_unasked_call_beside_an_asked_one_is_recorded_after_its_result():
    scene = Scene()
    scene.tell("first")
    await scene.answer.complete(TOOL_USE, call=ToolUseBlock(id="c", name="run_command", input={}))

    scene.tell("meanwhile", "+a", "-a", "then")
    assert scene.record == ["first", "run_command"]
    result = ToolResultMessage(tool_use_id="c", tool_name="run_command", output="")
    await scene.events.announce(MessageAdded(message=ToolResults((result,))))
    scene.answer.end_call()
    await scene.answer.complete(END_TURN)

    assert scene.record == ["first", "run_command", "meanwhile", "a", "then"]
    assert scene.tally.text == "meanwhilethen"

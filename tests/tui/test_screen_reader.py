"""For a screen reader: one column of words from top to bottom, and nothing that moves by itself."""

from __future__ import annotations

import re

import pytest

from quorum.application.view.session_view import SessionView
from quorum.domain.calls.effects import ChangeKind, Effects, FileChange
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.attachment import AttachedFile
from quorum.domain.conversation.history import UserMessage
from quorum.domain.events import event as ev
from quorum.domain.events.report import RunStatus
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.tui.screens.review.choice_bar import ChoiceBar
from quorum.tui.screens.review.text.facts import list_details
from quorum.tui.transcript.cells.palette import TERMINAL
from quorum.tui.transcript.draw.screen_reader import draw_for_screen_reader
from quorum.tui.transcript.kinds.diff import build_diff_lines, draw_diff
from quorum.tui.transcript.layout.transcript_layout import TranscriptLayout
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import FakeAgent, a_command, a_request, an_edit, hold, review, say
from tests.support.no_folder import NO_FOLDER
from tests.tui.rewind_scenes import PLAN, with_turns
from tests.tui.test_context_screen import ACCOUNT
from tests.tui.transcript_scenes import (
    BATCH_FINISHED,
    DIFF,
    Clock,
    asked,
    completed,
    context,
    finished,
    planned,
    started,
    turn_finished,
)

EDIT = {"path": "a.py", "old_text": "x", "new_text": "y"}
BOXES = re.compile("[\u2500-\u259f\u25a0-\u25ff\u2190-\u21ff✓✗›▸▾]")


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def read_lines(*script) -> list[str]:
    """The lines in which a screen reader shows a session so far."""
    clock = Clock()
    transcript = SessionView(clock)
    for step in script:
        if isinstance(step, float):
            clock.now += step
        else:
            transcript.apply(step)
    return [
        strip.text
        for entry in transcript.entries
        for strip in draw_for_screen_reader(entry, 60).strips
        if strip.text
    ]


async def for_reader(stage: Stage) -> None:
    stage.app.screen_reader = True
    await stage.until(lambda: stage.app.chat.has_class("-minimal"))
    await stage.shows("prompt:")


def test_what_becomes_of_a_call_is_shown_in_lines_that_are_only_ever_added():
    script = [
        planned(("edit_file", EDIT, RiskLevel.HIGH, ())),
        asked("edit_file", EDIT),
        1.0,
        started("edit_file", EDIT),
        2.0,
        finished("edit_file", "done", secs=2.0),
    ]
    before: list[str] = []
    for length in range(1, len(script) + 1):
        lines = read_lines(*script[:length])
        assert lines[: len(before)] == before
        before = lines

    states = [line for line in before if line.startswith("edit a.py")]
    assert [line.partition(": ")[2].partition(",")[0] for line in states] == [
        "needs your answer",
        "running",
        "ok",
    ]
    assert states[-1].endswith("2.0 s")


def test_files_that_a_command_changed_without_saying_so_are_named():
    changes = (
        FileChange(path="/w/x.txt", kind=ChangeKind.CREATED, declared=False),
        FileChange(path="/w/__pycache__/a", kind=ChangeKind.CREATED, declared=False, ignored=True),
    )
    lines = read_lines(
        ev.SessionStarted(session_id="s", model="p/m", mode=Mode.ASK, cwd="/w"),
        planned(("run_command", {"command": "make"}, RiskLevel.HIGH, ())),
        started("run_command", {"command": "make"}),
        ev.EffectsObserved(context=context(), effects=Effects(changes=changes, complete=False)),
        finished("run_command", "done"),
    )

    assert lines[-3:] == [
        "changed 1 file: created x.txt",
        "and 1 ignored file",
        "the workspace is too large to see every change",
    ]


def test_calls_that_ran_side_by_side_are_shown_in_the_order_in_which_things_happened():
    lines = read_lines(
        planned(
            ("read_file", {"path": "a"}, RiskLevel.LOW, ()), ("read_file", {"path": "b"}, RiskLevel.LOW, ())
        ),
        started("read_file", {"path": "a"}, 0),
        0.1,
        started("read_file", {"path": "b"}, 1),
        0.1,
        finished("read_file", "x", 1, secs=0.1),
        0.1,
        finished("read_file", "x", 0, secs=0.3),
    )

    assert [line[:7] for line in lines if line.startswith("read")] == [
        "read a:",
        "read b:",
        "read b:",
        "read a:",
    ]


def test_a_turn_that_was_interrupted_says_what_did_not_run():
    lines = read_lines(
        planned(("read_file", {"path": "a"}, RiskLevel.LOW, ())), turn_finished(RunStatus.INTERRUPTED)
    )

    assert "read a: not run" in lines


def test_who_speaks_is_said_and_how_bad_it_is():
    lines = read_lines(
        ev.TurnStarted(prompt="why?"), ev.TextDelta(text="because"), ev.ErrorOccurred(message="too late")
    )

    assert lines == ["you: why?", "answer: because", "error: too late"]


def test_an_answer_is_read_without_the_marks_of_its_markdown():
    text = (
        "## Result\n\nIt is **a `b`** for\n[all](https://x.example/y).\n\n1. first\n2. second\n   - [x] a\n\n"
        "| n | v |\n|---|---|\n| 1 | *2* |\n\n```python\nx = '**'\n```\n\n***\n2 * 3 * 4"
    )

    assert read_lines(completed(text)) == [
        "answer: heading: Result",
        "It is a b for all (https://x.example/y).",
        "1. first",
        "2. second",
        "- done: a",
        "n, v",
        "1, 2",
        "code:",
        "x = '**'",
        "end of code",
        "2 * 3 * 4",
    ]
    assert read_lines(completed("```\nstill")) == ["answer: code:", "still"]


def test_control_characters_of_a_model_do_nothing_here_either():
    lines = read_lines(ev.TextDelta(text="a\x1b]52;c;eA==\x07b\u202ec"))

    assert "\x1b" not in lines[0]
    assert "\u202e" not in lines[0]


def test_time_alone_changes_no_line():
    clock = Clock()
    page = TranscriptLayout(SessionView(clock))
    page.apply(planned(("read_file", {"path": "a"}, RiskLevel.LOW, ())))
    page.apply(started("read_file", {"path": "a"}))
    page.use(80, replace(TERMINAL, screen_reader=True))
    page.settle(20, pinned=True)
    drawn = page.drawings
    clock.now += 5

    assert not page.age()
    page.settle(20, pinned=True)
    assert page.drawings == drawn


@pytest.mark.long
async def test_the_whole_screen_has_no_box_no_lane_and_no_spinner(tmp_path):
    async def scene(agent: FakeAgent) -> None:
        for step in BATCH_FINISHED:
            if not isinstance(step, float):
                agent.tell(step)
        agent.tell(ev.TextDelta(text="all is well"))

    async with on_stage(tmp_path, scene, size=(120, 60)) as stage:
        await for_reader(stage)
        await stage.send("go")
        await stage.shows("all is well")
        text = stage.text()

    assert not (found := BOXES.findall(text)), found
    assert "prompt:" in text
    assert "you: go" in text


async def test_prompts_that_are_offered_have_words_in_the_place_of_a_sign(tmp_path):
    (tmp_path / "README.md").write_text("read me")
    async with on_stage(tmp_path, size=(100, 30)) as stage:
        stage.app.screen_reader = True
        await stage.shows("for example: what does this project do")

        assert "›" not in stage.text()


async def test_while_a_turn_runs_no_second_is_counted(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        await for_reader(stage)
        await stage.send("go")
        await stage.shows("esc interrupts")

        assert not re.search(r"\d s\b", stage.text().splitlines()[-1])
        assert stage.app.chat.status.status_bar._ticking is None
        await stage.pilot.press("escape")


@pytest.mark.long
async def test_a_question_is_plain_lines_from_the_top_with_the_cursor_on_the_careful_choice(tmp_path):
    async with on_stage(tmp_path, review(a_request(a_command("make all")))) as stage:
        await for_reader(stage)
        await stage.send("go")
        dialog = await stage.asked()
        await stage.until(lambda: stage.app.cursor_position.y > 0)
        lines = stage.text().splitlines()

        assert lines[0].strip().startswith(f"Run a command in {NO_FOLDER}/")
        assert not [line for line in lines if re.search("[─│╭╮╰╯]", line)]
        choices = dialog.query_one(ChoiceBar)
        assert choices.has_focus
        assert choices.marked == "reject"
        assert stage.app.cursor_position == choices.region.offset + choices.marked_offset
        await stage.press_at("n", 1000.0)
        await stage.unasked()


@pytest.mark.long
async def test_it_is_left_as_it_was_entered(tmp_path):
    async with on_stage(tmp_path, say("all is well"), size=(120, 30)) as stage:
        await for_reader(stage)
        await stage.send("go")
        await stage.shows("answer: all is well")
        stage.app.screen_reader = False
        await stage.until(lambda: "answer:" not in stage.text() and "all is well" in stage.text())
        await stage.until(lambda: stage.app.chat.has_class("-default"))
        assert " › " in stage.text()


@pytest.mark.long(after=1)
@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 15)])
async def test_the_welcome_is_there_to_its_last_line(tmp_path, size):
    async with on_stage(tmp_path, size=size) as stage:
        await for_reader(stage)

        await stage.shows("shows all keys")


def test_attached_files_are_shown_below_the_prompt():
    files = (
        AttachedFile(name="a.py", content="x", first_line=1, last_line=1, total_lines=1, size_bytes=2),
        AttachedFile(name="b\x1b.py", note="it is empty"),
    )
    prompt = UserMessage("look at @a.py", files=files)

    assert read_lines(ev.TurnStarted(prompt=prompt.text), ev.MessageAdded(message=prompt)) == [
        "you: look at @a.py",
        "attached: a.py · 1 line · 2 bytes",
        "b␛.py · not attached: it is empty",
    ]


async def find_line_of_cursor(stage: Stage, begins: str) -> None:
    """Wait until the cursor is in a line that begins so."""
    await stage.until(
        lambda: stage.text().splitlines()[stage.app.cursor_position.y].lstrip().startswith(begins)
    )


async def test_the_cursor_goes_to_the_line_that_the_keys_mark_in_a_list_without_a_field(tmp_path):
    async with on_stage(tmp_path, size=(100, 30)) as stage:
        await for_reader(stage)
        stage.agent.tell(ev.JobStarted(job_id="job-1", context=context(), command="make"))
        await stage.send("/board")
        await find_line_of_cursor(stage, "runs")
        await stage.pilot.press("down")
        await find_line_of_cursor(stage, "open")


@pytest.mark.long
async def test_the_cursor_goes_to_the_marked_line_below_a_field_and_back_with_the_next_letter(tmp_path):
    async with on_stage(tmp_path, size=(100, 30)) as stage:
        await for_reader(stage)
        await stage.send("/model")
        await stage.shows("type to filter")
        await stage.pilot.press("down")
        await stage.until(lambda: stage.app.cursor_position.y > 2)
        await stage.pilot.press("f")
        await find_line_of_cursor(stage, "f")


async def test_the_cursor_goes_to_the_marked_row_of_the_menu(tmp_path):
    async with on_stage(tmp_path, size=(100, 30)) as stage:
        await for_reader(stage)
        await stage.pilot.press("/")
        await stage.shows("/ensemble")
        await stage.pilot.press("down")
        await find_line_of_cursor(stage, "/ensemble")
        await stage.pilot.press("m")
        await find_line_of_cursor(stage, "prompt: /m")


async def test_the_timeline_has_words_in_the_place_of_lanes_and_the_cursor_on_its_marked_row(tmp_path):
    async with on_stage(tmp_path, say("done"), size=(100, 30)) as stage:
        await for_reader(stage)
        await stage.send("go")
        await stage.shows("answer: done")
        await stage.pilot.press("ctrl+s")
        await find_line_of_cursor(stage, "1 go, completed")
        await stage.pilot.press("down")
        await find_line_of_cursor(stage, "model")
        assert not BOXES.search(stage.text())


async def test_a_review_of_an_edit_has_words_for_its_signs_and_for_what_is_out_of_sight(tmp_path):
    diff = "--- a/x\n+++ b/x\n@@ -1 +1,30 @@\n-old\n" + "".join(f"+new {n}\n" for n in range(30))
    async with on_stage(tmp_path, review(a_request(an_edit(diff))), size=(100, 20)) as stage:
        await for_reader(stage)
        await stage.send("go")
        await stage.asked()
        text = stage.text()

        assert "30 lines added, 1 removed" in text
        assert "line 1 removed: old" in text
        assert "line 1 added: new 0" in text
        assert "more lines" in text
        assert not BOXES.findall(text)
        await stage.press_at("n", 1000.0)
        await stage.unasked()


@pytest.mark.long
async def test_a_rule_is_offered_in_words(tmp_path):
    request = replace(
        a_request(a_command("make all")), proposals=("run_command(make *)", "run_command(make all)")
    )
    async with on_stage(tmp_path, review(request), size=(100, 20)) as stage:
        await for_reader(stage)
        await stage.send("go")
        await stage.asked()
        await stage.press_at("a", 1000.0)
        await stage.shows("always let run · 1 of 2, up and down choose")
        await stage.shows("for this session, 1 of 3")

        assert not BOXES.findall(stage.text())
        await stage.press_at("escape", 2000.0)
        await stage.press_at("n", 3000.0)
        await stage.unasked()


def test_a_change_is_shown_in_words_wherever_it_is_drawn():
    diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n"
    strips = draw_diff(diff, 60, replace(TERMINAL, screen_reader=True))

    assert [strip.text.rstrip() for strip in strips] == ["line 1 removed: old", "line 1 added: new"]


def test_what_a_diff_says_beside_its_lines_has_no_signs_either():
    diff = "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-old\n+new\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n-old\n+new\n"
    lines = build_diff_lines(f"mode: 0644 → 0755\n{diff}", spoken=True)

    assert [line.text for line in lines if not line.head] == ["mode: 0644 to 0755", "y (renamed from x)", "z"]


def test_a_digest_is_compared_by_ear():
    request = a_request(an_edit(DIFF))
    lines = [f"{line.head}{line.text}" for line in list_details(request, spoken=True)]

    (touched,) = (line for line in lines if line.startswith("touches"))
    assert "begins with " in touched
    assert "…" not in touched


def prepare(agent: FakeAgent) -> None:
    with_turns(agent)
    agent.restore_plans |= {0: PLAN}
    agent.context_account = ACCOUNT


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("/undo", "docs/retry.md is removed"),
        ("/diff", "1 line added, 1 removed"),
        ("/board", "runs job-1 make"),
        ("/context", "your prompts 3.0k"),
        ("/model", "in use: model-1"),
        ("/jobs", "job-1 make running"),
        ("/theme", "quorum"),
        ("/plan", "1 running"),
    ],
)
async def test_screens_say_in_words_what_signs_and_bars_say(tmp_path, command, words):
    async with on_stage(tmp_path, size=(100, 40), prepare=prepare) as stage:
        await for_reader(stage)
        stage.agent.tell(ev.JobStarted(job_id="job-1", context=context(), command="make"))
        await stage.send(command)
        await stage.shows(words)

        assert not (found := BOXES.findall(stage.text())), found


async def test_a_notice_names_keys_in_words(tmp_path):
    async with on_stage(tmp_path, size=(100, 30)) as stage:
        await for_reader(stage)
        stage.prompt.replace_text("not sent")
        await stage.pilot.press("escape")

        await stage.shows("esc again clears the prompt; up brings it back")

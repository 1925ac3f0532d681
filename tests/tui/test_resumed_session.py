"""What a record tells of the past: seen as it was, with nothing of it alive and no time made up."""

import pytest

from quorum.application.view.entries import Batch, Notice, Phase, PromptEntry, Restoration
from quorum.application.view.session_view import SessionView
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events import event as ev
from quorum.domain.events.report import RunStatus
from quorum.domain.review.mode import Mode
from quorum.tui.side_panel.drawing import draw_present, draw_timeline
from quorum.tui.transcript.cells.palette import TERMINAL
from quorum.tui.transcript.layout.transcript_layout import TranscriptLayout
from tests.tui.transcript_scenes import Clock, asked, completed, finished, planned, started, turn_finished

READ = ("read_file", {"path": "a.py"}, RiskLevel.LOW, ())
RUN = ("run_command", {"command": "make all"}, RiskLevel.HIGH, ())
RESUMED = ev.SessionResumed(session_id="s", model="m/1", mode=Mode.ASK, cwd="/w", told=("1 call is unknown.",))


@pytest.fixture
def transcript():
    return SessionView(Clock())


def apply(target, *events):
    for event in events:
        target.apply(event)


def notices(transcript):
    return [entry.text for entry in transcript.entries if isinstance(entry, Notice)]


def drawn(transcript, width=110):
    page = TranscriptLayout(transcript)
    page.use(width, TERMINAL)
    page.settle(60, pinned=True)
    return "\n".join(strip.text.rstrip() for strip in page.render_strips(60))


def lanes(transcript):
    """The rows of the last batch on its axis of time."""
    batch = next(entry for entry in reversed(transcript.entries) if isinstance(entry, Batch))
    rows = draw_timeline(batch, 60, TERMINAL, transcript.clock())
    return "\n".join(strip.text for row in rows for strip in row.draw())


def test_calls_of_the_past_have_durations_but_no_lanes(transcript):
    transcript.begin_past()
    apply(
        transcript,
        ev.TurnStarted(prompt="go"),
        planned(READ, RUN),
        started(*READ[:2]),
        finished("read_file", "text", secs=1.5),
        started(*RUN[:2], 1),
        finished("run_command", "built", 1, secs=61.0),
        turn_finished(RunStatus.COMPLETED),
    )
    transcript.end_past("cut")
    text = drawn(transcript)

    assert "1.5 s" in text
    assert "61.0 s" in text
    assert "▆" not in lanes(transcript)
    assert "cut" not in text


def test_calls_of_a_record_that_says_when_they_ran_have_lanes(transcript):
    transcript.begin_past()
    for at, event in (
        (10.0, ev.TurnStarted(prompt="go")),
        (11.0, planned(READ, (*RUN[:3], (0,)))),
        (11.0, started(*READ[:2])),
        (13.0, finished("read_file", "text", secs=2.0)),
        (13.0, started(*RUN[:2], 1)),
        (15.0, finished("run_command", "built", 1, secs=2.0)),
        (15.0, turn_finished(RunStatus.COMPLETED)),
    ):
        transcript.apply(event, at)
    transcript.end_past("cut")
    rows = lanes(transcript).split("\n")

    assert "▆▆▆▆▆▆▆▆ " in rows[0]
    assert "·1▆▆▆▆▆▆▆▆" in rows[1]


def test_a_call_that_a_process_did_not_survive_ran_until_the_last_that_is_on_record(transcript):
    transcript.begin_past()
    for at, event in (
        (0.0, ev.TurnStarted(prompt="go")),
        (1.0, planned(READ, RUN)),
        (1.0, started(*RUN[:2], 1)),
        (3.0, finished("read_file", "text")),
        (9_000.0, RESUMED),
    ):
        transcript.apply(event, at)
    transcript.end_past("cut")
    (batch,) = [entry for entry in transcript.entries if isinstance(entry, Batch)]

    assert batch.calls[1].list_stretches(Phase.RUNNING, 9_999.0) == [(1.0, 3.0)]
    assert transcript.timings.turns[0].end == 3.0


def test_the_panel_makes_up_no_times_either():
    board = SessionView(Clock())
    board.begin_past()
    apply(board, ev.TurnStarted(prompt="go"), planned(READ), started(*READ[:2]), finished("read_file", "text"))
    board.end_past("cut")

    assert "▆" not in "\n".join(strip.text for strip in draw_present(board.present, 60, 30, TERMINAL, 100.0))


@pytest.mark.parametrize("open_call", [started(*RUN[:2]), asked(*RUN[:2])])
def test_a_turn_that_the_process_did_not_survive_is_over_when_the_session_is_taken_up(transcript, open_call):
    transcript.begin_past()
    apply(transcript, ev.TurnStarted(prompt="go"), planned(RUN), open_call, RESUMED)

    assert notices(transcript) == [
        "interrupted: the process ended here",
        "resumed with m/1 · mode: ask\n1 call is unknown.",
    ]
    assert transcript.live == []
    (batch,) = [entry for entry in transcript.entries if isinstance(entry, Batch)]
    assert batch.calls[0].phase is Phase.ABANDONED
    assert not transcript.present.is_running


def test_what_is_asked_again_is_asked_on_the_card_it_was_asked_on_before(transcript):
    transcript.begin_past()
    apply(transcript, ev.TurnStarted(prompt="go"), planned(RUN), asked(*RUN[:2]))
    transcript.end_past("interrupted")
    apply(transcript, RESUMED, ev.TurnStarted(prompt=""), asked(*RUN[:2]))
    batches = [entry for entry in transcript.entries if isinstance(entry, Batch)]

    assert len(batches) == 1
    assert batches[0].calls[0].phase is Phase.REVIEWED


def test_a_turn_that_ended_is_not_shown_to_be_interrupted(transcript):
    transcript.begin_past()
    apply(
        transcript, ev.TurnStarted(prompt="go"), completed("done"), turn_finished(RunStatus.COMPLETED), RESUMED
    )
    transcript.end_past("cut")

    assert notices(transcript) == ["resumed with m/1 · mode: ask\n1 call is unknown."]


def test_messages_and_kept_files_show_nothing(transcript):
    from quorum.domain.calls.execution import ToolExecutionContext
    from quorum.domain.conversation.history import UserMessage

    context = ToolExecutionContext(call_id="c", batch_id="b", call_index=0, turn_index=0)
    apply(
        transcript,
        ev.MessageAdded(message=UserMessage("go")),
        ev.FilesKept(context=context, manifest="m", files=3, complete=True),
    )

    assert transcript.entries == []


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (
            ev.ConversationCompacted(what="outputs", replaced=1, by=(), tokens_before=9_000, tokens_after=500),
            "outputs of tools were shortened: from 9.0k to 500 tokens",
        ),
        (
            ev.ConversationCompacted(what="summary", replaced=1, by=(), tokens_before=0, tokens_after=0),
            "compacted to a summary",
        ),
        (
            ev.SessionRewound(turn=0, conversation=False, files=True),
            "files are as they were before the last 2 turns; the conversation continues",
        ),
        (
            ev.SessionRewound(turn=1, conversation=True, files=False),
            "took back 1 turn: conversation; files stay as they are",
        ),
    ],
)
def test_what_befell_the_session_is_shown_in_a_line(transcript, event, expected):
    apply(transcript, ev.TurnStarted(prompt="one"), ev.TurnStarted(prompt="two"), event)

    assert notices(transcript) == [expected]


def test_modes_that_were_only_passed_on_the_way_to_another_are_not_listed(transcript):
    apply(transcript, *(ev.ModeChanged(mode=mode) for mode in (Mode.ACCEPT_EDITS, Mode.QUORUM, Mode.SANDBOXED)))
    apply(transcript, ev.TurnStarted(prompt="one"), ev.ModeChanged(mode=Mode.ASK))

    shown = [notice.partition(" · ") for notice in notices(transcript)]
    assert [mode for mode, _, _ in shown] == ["mode: sandboxed", "mode: ask"]
    assert shown[-1][-1] == "you are asked about every risky call that no rule allows"


def test_turns_that_were_taken_back_before_are_not_counted_again(transcript):
    apply(transcript, *(ev.TurnStarted(prompt=word) for word in ("one", "two", "three")))
    for turn in (2, 1):
        apply(transcript, ev.SessionRewound(turn=turn, conversation=True, files=False))
    apply(transcript, ev.SessionRedone(turns=(1,), files=True, turn=1))
    apply(transcript, ev.SessionRewound(turn=0, conversation=True, files=True))

    took_back = [text for text in notices(transcript) if text.startswith("took back")]
    assert [text.partition(":")[0] for text in took_back] == [
        *("took back 1 turn", "took back 1 turn"),
        "took back 2 turns",
    ]


def test_only_entries_of_turns_that_are_forgotten_are_marked(transcript):
    apply(
        transcript,
        ev.TurnStarted(prompt="one"),
        ev.TurnStarted(prompt="two"),
        ev.SessionRewound(turn=0, conversation=False, files=True),
        ev.FilesRestored(changes=()),
        ev.SessionRewound(turn=1, conversation=True, files=True),
        ev.TurnStarted(prompt="three"),
    )
    prompts = {e.text: e.undone for e in transcript.entries if isinstance(e, PromptEntry)}

    assert prompts == {"one": False, "two": True, "three": False}
    assert [e.undone for e in transcript.entries if isinstance(e, Restoration)] == [False]


def test_the_plan_goes_back_with_the_conversation():
    board = SessionView(Clock())
    steps = [{"text": "first", "status": "done"}]
    apply(
        board,
        ev.TurnStarted(prompt="one"),
        ev.StateMerged(batch_id="b", changed={"plan": steps}),
        ev.TurnStarted(prompt="two"),
        ev.StateMerged(batch_id="b", changed={"plan": []}),
        ev.SessionRewound(turn=1, conversation=True, files=False),
    )

    assert [step.text for step in board.present.plan] == ["first"]

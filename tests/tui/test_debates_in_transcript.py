"""A debate in the transcript: what is open first, one line once it is over, all of it when opened."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from quorum.application.view.entries import PanelEntry
from quorum.application.view.session_view import SessionView
from quorum.domain.events.event import (
    AnswerDefended,
    AnswerRevised,
    Event,
    ObjectionsRaised,
    ObjectionsRuled,
    PanelAnswered,
    PanelConcluded,
    PanelResumed,
    PanelStarted,
    TurnStarted,
)
from quorum.domain.panel.debate_record import (
    AnswerDefence,
    ObjectionResponse,
    ObjectionRuling,
    RaisedObjections,
    RevisedAnswer,
    RoundRulings,
    RuledObjection,
    number_objections,
)
from quorum.domain.panel.panel_answer import AnswerStatus, PanelAnswer, PanelForm, label_participants
from quorum.domain.review.severity import Severity
from quorum.tui.copying import CopyStop, build_piece
from quorum.tui.transcript.cells.palette import TERMINAL
from quorum.tui.transcript.draw.panels import draw_panel, speak_panel

MODELS = ("anthropic/opus", "openai/gpt")
STARTED = PanelStarted(
    panel_id="p1",
    question="which?",
    participants=label_participants(MODELS),
    moderator="anthropic/sonnet",
    form=PanelForm.DEBATE,
)
ANSWERED = PanelAnswered(
    panel_id="p1",
    answer=PanelAnswer(label="A", model=MODELS[0], status=AnswerStatus.ANSWERED, text="cron", secs=2.0),
)
HOSTILE = "it loses\x1b[31m jobs\n" + "界" * 80
RAISED = ObjectionsRaised(
    panel_id="p1",
    raised=RaisedObjections(
        round=1,
        label="B",
        objections=number_objections(
            1, "B", [(HOSTILE, "after a restart", Severity.HIGH), ("too slow", "measured", Severity.LOW)]
        ),
    ),
)
DEFENDED = AnswerDefended(
    panel_id="p1",
    defence=AnswerDefence(
        round=1, label="A", responses=(ObjectionResponse(objection="R1-B1", is_conceded=True, text="right"),)
    ),
)
RULED = ObjectionsRuled(
    panel_id="p1",
    ruled=RoundRulings(
        round=1,
        rulings=(
            RuledObjection(objection="R1-B1", ruling=ObjectionRuling.UPHELD, reason="shown"),
            RuledObjection(objection="R1-B2", ruling=ObjectionRuling.OPEN, reason="depends"),
        ),
    ),
)
REVISED = AnswerRevised(panel_id="p1", revised=RevisedAnswer(round=1, label="A", text="cron with a lock"))
OVER = PanelConcluded(panel_id="p1", synthesis=None, chosen="A")


class Stage:
    def __init__(self, *events: Event) -> None:
        self.view = SessionView(lambda: 5.0)
        self.view.apply(TurnStarted(prompt="which?"))
        for event in (STARTED, *events):
            self.view.apply(event)

    @property
    def panel(self) -> PanelEntry:
        return [entry for entry in self.view.entries if isinstance(entry, PanelEntry)][-1]

    def lines(self, width: int = 120) -> list[str]:
        texts = [strip.text.rstrip() for strip in draw_panel(self.panel, width, TERMINAL, 9.0)]
        assert all(cell_len(text) <= width for text in texts), texts
        assert not any("\x1b" in text for text in texts)
        return texts


@pytest.mark.parametrize(
    ("events", "head"),
    [
        ((), "A answers · 4 s"),
        ((ANSWERED,), "A answered, the others look for objections · 4 s"),
        ((ANSWERED, RAISED), "round 1: 2 open · 4 s"),
        ((ANSWERED, RAISED, DEFENDED, RULED), "round 1: 1 open, 1 upheld · 4 s"),
    ],
)
def test_while_it_is_at_work_the_head_says_how_far_it_is(events: tuple[Event, ...], head: str) -> None:
    assert Stage(*events).lines()[0] == f"▸ panel {head}"


@pytest.mark.parametrize("width", [24, 80, 120, 200])
def test_open_objections_stand_directly_below_the_head(width: int) -> None:
    lines = Stage(ANSWERED, RAISED, DEFENDED, RULED).lines(width)
    assert lines[1].startswith("  R1-B2, low: too slow"[:width])
    assert not any("R1-B1" in line for line in lines), "what is settled is not shown until it is opened"


def test_who_is_not_asked_yet_is_not_said_to_be_asked() -> None:
    assert ["asked" in line for line in Stage().lines()[1:]] == [True, False]
    assert "B openai/gpt      may have to object" in Stage(ANSWERED).lines()[-1]
    assert "B openai/gpt      2 objections" in Stage(ANSWERED, RAISED).lines()[-1]
    assert "B, openai/gpt: may have to object" in speak_panel(Stage(ANSWERED).panel)
    stage = Stage(ANSWERED, OVER)
    stage.panel.expanded = True
    assert any("was not asked" in line for line in stage.lines())


def test_once_it_is_over_it_is_one_line_with_what_is_open_first() -> None:
    (line,) = Stage(ANSWERED, RAISED, DEFENDED, RULED, REVISED, OVER).lines()
    assert line == "▸ panel 1 open, 1 upheld · the answer of A stands after 1 round · 0 ms"


def test_one_that_was_cut_off_says_so() -> None:
    stage = Stage(ANSWERED, RAISED)
    stage.view.end_past("cut")
    assert "cut off" in stage.lines()[0]


def test_in_one_that_is_continued_who_failed_before_the_answer_stays_out() -> None:
    down = PanelAnswer(label="A", model=MODELS[0], status=AnswerStatus.FAILED, reason="it is down")
    second = PanelAnswer(label="B", model=MODELS[1], status=AnswerStatus.ANSWERED, text="cron")
    stage = Stage(PanelAnswered(panel_id="p1", answer=down))
    stage.view.end_past("cut")
    stage.view.apply(PanelResumed(panel_id="p1"))
    assert stage.panel.is_running
    assert stage.panel.members[0].answer is None, "nobody has answered, so it is asked again"
    for answer in (down, second):
        stage.view.apply(PanelAnswered(panel_id="p1", answer=answer))
    stage.view.apply(PanelResumed(panel_id="p1"))
    assert stage.panel.members[0].answer is down


@pytest.mark.parametrize("width", [24, 80, 120])
def test_opened_it_shows_each_objection_with_what_was_said_to_it(width: int) -> None:
    stage = Stage(ANSWERED, RAISED, DEFENDED, RULED, REVISED, OVER)
    stage.panel.expanded = True
    shown = " ".join(" ".join(line.split()) for line in stage.lines(width))
    places = [
        shown.index(part) for part in ("open · R1-B2", "upheld · R1-B1", "Conceded: right", "Ruled upheld")
    ]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (RAISED.raised, "2 objections"),
        (RaisedObjections(round=1, label="B"), "no objections"),
        (
            RaisedObjections(round=1, label="B", error="no answer within 60 s"),
            "no objections: no answer within 60 s",
        ),
    ],
)
def test_opened_it_says_what_one_without_an_answer_of_its_own_did(raised: RaisedObjections, said: str) -> None:
    stage = Stage(ANSWERED, ObjectionsRaised(panel_id="p1", raised=raised), OVER)
    stage.panel.expanded = True
    lines = stage.lines()
    assert lines[lines.index("  B openai/gpt") + 1].strip() == said


def test_it_is_spoken_and_copied_with_its_objections() -> None:
    stage = Stage(ANSWERED, RAISED, DEFENDED, RULED, REVISED, OVER)
    assert any("1 open, 1 upheld" in said for said in speak_panel(stage.panel))
    piece = build_piece([stage.panel], CopyStop(0, 0))
    assert piece is not None
    assert "Evidence: measured" in piece.text

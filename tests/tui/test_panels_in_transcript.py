"""A panel in the transcript: live, folded, opened, read aloud, searched and copied."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pytest
from rich.cells import cell_len

from quorum.application.view.entries import Notice, PanelEntry
from quorum.application.view.session_view import SessionView
from quorum.domain.conversation.response import Usage
from quorum.domain.events.event import (
    AnswerProgressed,
    Event,
    PanelAnswered,
    PanelConcluded,
    PanelResumed,
    PanelReviewed,
    PanelStarted,
    TurnStarted,
)
from quorum.domain.panel.cost_estimate import CostEstimate
from quorum.domain.panel.panel_answer import (
    Agreement,
    AnswerReview,
    AnswerStatus,
    PanelAnswer,
    PeerReview,
    Synthesis,
    label_participants,
)
from quorum.domain.replacing import replace
from quorum.tui.copying import CopyStop, build_piece, list_stops
from quorum.tui.finding_bar import list_passages
from quorum.tui.transcript.cells.palette import TERMINAL
from quorum.tui.transcript.draw.panels import draw_panel, speak_panel

MODELS = ("anthropic/opus", "openai/gpt", "ollama/qwen")
STARTED = PanelStarted(
    panel_id="p1", question="which?", participants=label_participants(MODELS), moderator="anthropic/sonnet"
)
SYNTHESIS = Synthesis(conclusion="so", key_points=(), agreement=(), disagreement=())


def answered(place: int, text: str = "cron, because it is simple") -> PanelAnswered:
    answer = PanelAnswer(
        label="ABC"[place],
        model=MODELS[place],
        status=AnswerStatus.ANSWERED,
        text=text,
        usage=Usage(input=10, output=412),
        cost_usd=Decimal("0.03"),
        secs=8.2,
    )
    return PanelAnswered(panel_id="p1", answer=answer)


def failed(place: int, reason: str = "it is down") -> PanelAnswered:
    answer = PanelAnswer(label="ABC"[place], model=MODELS[place], status=AnswerStatus.FAILED, reason=reason)
    return PanelAnswered(panel_id="p1", answer=answer)


def reviewed(place: int, **scores: int) -> PanelReviewed:
    reviews = tuple(
        AnswerReview(answer=label, score=score, agreement=Agreement.PARTLY, comment="too short")
        for label, score in scores.items()
    )
    return PanelReviewed(
        panel_id="p1", review=PeerReview(label="ABC"[place], model=MODELS[place], reviews=reviews)
    )


def writing(place: int, text: str) -> AnswerProgressed:
    return AnswerProgressed(panel_id="p1", label="ABC"[place], text=text, characters=len(text))


class Stage:
    def __init__(self, *events: Event) -> None:
        self.now = 0.0
        self.view = SessionView(lambda: self.now)
        self.view.apply(TurnStarted(prompt="which?"))
        for event in (STARTED, *events):
            self.view.apply(event)

    @property
    def panel(self) -> PanelEntry:
        return [entry for entry in self.view.entries if isinstance(entry, PanelEntry)][-1]

    def lines(self, width: int = 120, now: float = 5.0) -> list[str]:
        drawn = draw_panel(self.panel, width, TERMINAL, now)
        texts = [strip.text.rstrip() for strip in drawn]
        assert all(cell_len(text) <= width for text in texts), texts
        return texts


def test_members_write_side_by_side_where_there_is_room() -> None:
    stage = Stage(writing(0, "I would take cron"), writing(1, "A queue is safer"))
    lines = stage.lines(130)
    assert lines[0] == "▸ panel 3 models write · 5 s"
    assert "A anthropic/opus" in lines[1]
    assert "B openai/gpt" in lines[1]
    assert "C ollama/qwen" in lines[1]
    assert "17 characters · 5 s" in lines[2]
    assert "asked · 5 s" in lines[2]
    assert "I would take cron" in lines[3]
    assert "A queue is safer" in lines[3]


def test_members_stand_one_below_the_other_where_it_is_narrow() -> None:
    lines = Stage(writing(0, "I would take cron"), answered(1)).lines(60)
    assert lines[1:] == [
        "  A anthropic/opus  17 characters · 5 s",
        "    I would take cron",
        "  B openai/gpt      8.2 s · 412 tokens · $0.0300",
        "  C ollama/qwen     asked · 5 s",
    ]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    long = "x" * 300
    stage = Stage(writing(0, long), failed(1, long), answered(2, long))
    stage.lines(width)
    stage.panel.expanded = True
    stage.lines(width)
    stage.view.apply(PanelConcluded(panel_id="p1", synthesis=None, chosen="C", reason=long))
    stage.lines(width)
    stage.panel.expanded = False
    stage.lines(width)


def test_a_panel_that_is_over_is_one_line_with_scores_and_costs() -> None:
    stage = Stage(*map(answered, range(3)), reviewed(0, B=6, C=3), reviewed(1, A=9, C=4), reviewed(2, A=8, B=7))
    stage.now = 12.4
    stage.view.apply(PanelConcluded(panel_id="p1", synthesis=SYNTHESIS))
    assert stage.lines() == ["▸ panel 3 of 3 answered · scores A 8.5, B 6.5, C 3.5 · 12.4 s · answers $0.0900"]
    assert stage.view.live == []


def test_what_failed_is_seen_without_opening_it() -> None:
    stage = Stage(answered(0), failed(1), answered(2), reviewed(0, C=5))
    stage.view.apply(
        PanelReviewed(panel_id="p1", review=PeerReview(label="C", model=MODELS[2], error="it called nothing"))
    )
    stage.view.apply(
        PanelConcluded(panel_id="p1", synthesis=None, chosen="A", reason="sonnet gave no synthesis: down")
    )
    assert stage.lines()[1:] == [
        "  B openai/gpt gave no answer: it is down",
        "  C ollama/qwen reviewed no other answer: it called nothing",
        "  sonnet gave no synthesis: down",
    ]
    assert "no synthesis" in stage.lines()[0]


def test_opened_it_has_every_answer_whole_and_what_the_others_say_of_it() -> None:
    stage = Stage(answered(0, "line one\nline two"), answered(1), failed(2), reviewed(1, A=9))
    stage.panel.expanded = True
    text = "\n".join(stage.lines())
    assert "8.2 s · 412 tokens · $0.0300 · score 9.0 of 10" in text
    assert "    line one\n    line two" in text
    assert "B scores 9, agrees: partly. too short" in text


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([answered(0)], "1 of 3 answered, the others write"),
        ([answered(0), answered(1), failed(2)], "2 of 3 answered, they review each other"),
        ([answered(0), failed(1), failed(2)], "1 of 3 answered, anthropic/sonnet makes a synthesis"),
    ],
)
def test_it_says_what_it_is_at(events: Sequence[Event], says: str) -> None:
    assert says in Stage(*events).lines()[0]


def test_one_that_was_cut_off_says_so_until_it_is_continued() -> None:
    stage = Stage(answered(0), answered(1), answered(2))
    stage.now = 7.0
    stage.view.end_past("cut")
    assert "cut off" in stage.lines()[0]
    assert stage.view.live == []
    stage.now = 1_000.0
    stage.view.apply(TurnStarted(prompt=""))
    stage.view.apply(PanelResumed(panel_id="p1"))
    assert stage.view.live == [stage.panel]
    head = stage.lines(now=1_002.0)[0]
    assert head == "▸ panel 3 of 3 answered, they review each other · 9 s", "nobody waited in between"


def test_who_failed_is_asked_again_when_a_panel_is_continued() -> None:
    stage = Stage(answered(0), failed(1), answered(2), reviewed(0, C=5), writing(1, "half an"))
    stage.panel.members[2].review = PeerReview(label="C", model=MODELS[2], error="it is down")
    stage.view.end_past("cut")
    stage.view.apply(PanelResumed(panel_id="p1"))
    lines = stage.lines(80)
    assert lines[0].startswith("▸ panel 2 of 3 answered, the others write")
    assert "asked · " in next(line for line in lines if "openai/gpt" in line)
    assert not any("it is down" in line or "half an" in line for line in lines)
    assert [member.review is None for member in stage.panel.members] == [False, True, True]


def test_text_of_models_is_drawn_harmless() -> None:
    stage = Stage(writing(0, "\x1b[31mred\u202e"), failed(1, "\x1b]0;title\x07"))
    for width in (60, 130):
        assert not any(char in line for line in stage.lines(width) for char in "\x1b\x07\u202e")


def test_it_is_read_aloud_searched_and_copied() -> None:
    stage = Stage(answered(0), failed(1))
    assert speak_panel(stage.panel) == [
        "panel of 3 models: 1 answered",
        "A, anthropic/opus, answered",
        "B, openai/gpt, gave no answer: it is down",
        "C, ollama/qwen, is asked",
    ]
    (passage,) = list_passages(stage.panel)
    assert "cron, because it is simple" in passage.text
    assert list_stops(stage.panel, 4) == [CopyStop(4, 0)]
    piece = build_piece([stage.panel], CopyStop(0, 0))
    assert piece is not None
    assert "cron, because it is simple" in piece.text


def test_events_of_another_panel_are_left_out() -> None:
    stage = Stage(PanelAnswered(panel_id="p0", answer=answered(0).answer))
    assert stage.panel.members[0].answer is None
    assert not any(isinstance(entry, Notice) for entry in stage.view.entries)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_what_it_was_estimated_to_cost_stands_below_it_until_it_is_over(width: int) -> None:
    costs = (
        CostEstimate(
            label="A",
            model=MODELS[0],
            least_requests=2,
            most_requests=3,
            least_usd=Decimal("0.00012"),
            most_usd=Decimal("0.5"),
        ),
        CostEstimate(label="", model="anthropic/sonnet", least_requests=1, most_requests=2),
    )
    stage = Stage(replace(STARTED, costs=costs))
    said = " ".join(" ".join(stage.lines(width)).split())
    assert "estimated: 3 to 5 requests, at least about $0.0002; what it costs at most is not known" in said
    assert any(line.startswith("estimated: ") for line in speak_panel(stage.panel))
    stage.panel.expanded = True
    opened = " ".join(" ".join(stage.lines(width)).split())
    assert "A anthropic/opus $0.0002 to $0.5000" in opened
    assert "moderator anthropic/sonnet at a price that is not known" in opened
    stage.panel.expanded = False
    for event in (answered(0), answered(1), answered(2), PanelConcluded(panel_id="p1", synthesis=SYNTHESIS)):
        stage.view.apply(event)
    assert "estimated" not in " ".join(stage.lines(width))


def test_who_reviews_the_others_keeps_time_tokens_and_cost_in_sight() -> None:
    lines = Stage(*map(answered, range(3)), reviewed(0, B=6, C=3)).lines(100)
    assert lines[1] == "  A anthropic/opus  has reviewed · 8.2 s · 412 tokens · $0.0300"
    assert lines[2] == "  B openai/gpt      reviews the others · 8.2 s · 412 tokens · $0.0300"


def test_why_a_model_gave_no_answer_is_read_while_the_others_write() -> None:
    reason = "HTTP 529: overloaded; try again in a minute, or choose another model for this panel"
    lines = Stage(writing(0, "I would take cron"), failed(1, reason)).lines(60)
    assert lines[3] == "  B openai/gpt      no answer"
    assert " ".join(line.strip() for line in lines[4:6]) == reason
    beside = "".join(line[44:84] for line in Stage(writing(0, "cron"), failed(1, reason)).lines(130))
    assert "another model" in beside


@pytest.mark.parametrize("width", range(20, 90, 7))
def test_a_line_that_is_too_long_loses_whole_parts(width: int) -> None:
    stage = Stage(*map(answered, range(3)), reviewed(0, B=6, C=3))
    stage.view.apply(PanelConcluded(panel_id="p1", synthesis=SYNTHESIS))
    (line,) = stage.lines(width)
    parts = line.removeprefix("▸ panel ").split(" · ")
    whole = ["3 of 3 answered", "scores B 6.0, C 3.0, A –", "0 ms", "answers $0.0900"]
    assert set(parts[1:]) <= set(whole[1:]) | {"scores B 6.0, C 3.0"}

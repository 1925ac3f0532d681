"""A code review in the transcript: live, folded to a line, opened with its findings, read aloud."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from quorum.application.view.entries import PanelEntry
from quorum.application.view.session_view import SessionView
from quorum.domain.code_review.review_result import (
    CodeFinding,
    FindingKind,
    ReportedFinding,
    ReviewResult,
    Ruling,
    Trial,
)
from quorum.domain.events.event import (
    AnswerProgressed,
    ChangeReviewed,
    Event,
    PanelAnswered,
    PanelConcluded,
    PanelStarted,
    TurnStarted,
)
from quorum.domain.panel.panel_answer import AnswerStatus, PanelAnswer, PanelForm, label_participants
from quorum.domain.review.ballot import Verdict
from quorum.domain.review.severity import Severity
from quorum.tui.copying import CopyStop, build_piece
from quorum.tui.transcript.cells.palette import TERMINAL
from quorum.tui.transcript.draw.panels import draw_panel, speak_panel

MODELS = ("anthropic/opus", "openai/gpt")
STARTED = PanelStarted(
    panel_id="p1",
    question="the change",
    participants=label_participants(MODELS),
    moderator="m/m",
    form=PanelForm.REVIEW,
)


def finding(id_: str, claim: str, *, reviewers: str = "A", ruling: Ruling | None = None) -> CodeFinding:
    report = ReportedFinding(
        file="src/a.py", line=7, severity=Severity.HIGH, kind=FindingKind.SECURITY, claim=claim, evidence="e"
    )
    trials = (Trial(finding=id_, model="m/m", ruling=ruling, reason="no"),) if ruling else ()
    return CodeFinding(id=id_, report=report, reviewers=tuple(reviewers), trials=trials)


def reviewed(*findings: CodeFinding, verdict: Verdict = Verdict.REJECTED) -> ChangeReviewed:
    result = ReviewResult(
        description="the change", digest="d", base="", commit="", verdict=verdict, rule="majority", ballots=(),
        is_independent=True, findings=findings, files=1, parts=1,
    )  # fmt: skip
    return ChangeReviewed(panel_id="p1", result=result)


def answered(place: int) -> PanelAnswered:
    answer = PanelAnswer(
        label="AB"[place], model=MODELS[place], status=AnswerStatus.ANSWERED, text="approves.", secs=2
    )
    return PanelAnswered(panel_id="p1", answer=answer)


def show(*events: Event) -> PanelEntry:
    view = SessionView(lambda: 0.0)
    for event in (TurnStarted(prompt="Review"), STARTED, *events):
        view.apply(event)
    return next(entry for entry in view.entries if isinstance(entry, PanelEntry))


def lines(entry: PanelEntry, width: int = 100) -> list[str]:
    drawn = [strip.text.rstrip() for strip in draw_panel(entry, width, TERMINAL, 5.0)]
    assert all(cell_len(line) <= width for line in drawn)
    return drawn


def test_reviewers_are_side_by_side_with_what_they_look_at() -> None:
    looking = AnswerProgressed(panel_id="p1", label="A", text="read_file src/a.py", characters=18)
    drawn = lines(show(looking))
    assert drawn[0] == "▸ panel 2 models review · 5 s"
    assert "A anthropic/opus" in drawn[1]
    assert "B openai/gpt" in drawn[1]
    assert any("read_file src/a.py" in line for line in drawn)


def test_while_findings_are_tried_it_says_so() -> None:
    assert lines(show(answered(0), answered(1)))[0] == "▸ panel 2 of 2 answered, they try the findings · 5 s"


END = PanelConcluded(panel_id="p1", synthesis=None)


@pytest.mark.parametrize(
    ("verdict", "found", "said"),
    [
        (Verdict.APPROVED, (), "approved · no findings"),
        (Verdict.REJECTED, (finding("F1", "x", reviewers="AB"), finding("F2", "y")), "2 findings, 1 confirmed"),
        (Verdict.UNCLEAR, (finding("F1", "x"),), "not approved, too few votes · 1 finding, 0 confirmed"),
    ],
)
def test_over_it_folds_to_a_line_with_verdict_and_findings(
    verdict: Verdict, found: tuple[CodeFinding, ...], said: str
) -> None:
    (line,) = lines(show(answered(0), answered(1), reviewed(*found, verdict=verdict), END))
    assert said in line


def test_opened_it_lists_each_finding_with_its_place() -> None:
    entry = show(answered(0), answered(1), reviewed(finding("F1", "it leaks"), finding("F2", "no")), END)
    entry.expanded = True
    drawn = lines(entry)
    assert "  F1 high src/a.py:7 · untried" in drawn
    assert "    it leaks" in drawn


def test_what_a_model_says_draws_nothing_but_text() -> None:
    entry = show(answered(0), reviewed(finding("F1", "[red]x[/]\x1b[2J\u202e" + "y" * 500)), END)
    entry.expanded = True
    assert "\x1b" not in "".join(lines(entry, 40))
    assert "[red]x[/]" in "".join(lines(entry, 80))


def test_it_can_be_copied_and_is_read_aloud() -> None:
    entry = show(answered(0), answered(1), reviewed(finding("F1", "it leaks")), END)
    piece = build_piece([entry], CopyStop(0, 0))
    assert piece is not None
    assert "F1 high src/a.py:7 · untried\nit leaks" in piece.text
    assert "not approved · 1 finding, 0 confirmed" in speak_panel(entry)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_line_of_a_review_says_at_any_width_what_opens_its_findings(width: int) -> None:
    found = (finding("F1", "x", reviewers="AB"), finding("F2", "y"), finding("F3", "z"))
    (line,) = lines(show(answered(0), answered(1), reviewed(*found), END), width)
    assert "not approved · 3 findings, 1 confirmed · /findings" in line


def test_a_reviewer_at_work_is_said_to_look_and_no_characters_are_counted() -> None:
    looking = AnswerProgressed(panel_id="p1", label="A", text="read_file src/a.py", characters=18)
    text = "\n".join(lines(show(looking), 60))
    assert "looks · 5 s" in text
    assert "characters" not in text


@pytest.mark.parametrize(("verdict", "role"), [(Verdict.APPROVED, "ok"), (Verdict.REJECTED, "error")])
def test_the_verdict_has_its_colour(verdict: Verdict, role: str) -> None:
    (head,) = draw_panel(show(answered(0), answered(1), reviewed(verdict=verdict), END), 100, TERMINAL, 5.0)
    assert [part.style for part in head][-1] == getattr(TERMINAL, role)

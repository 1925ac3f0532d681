"""Votes and decisions beside the dialog: in the side panel, and on the card of a call."""

import pytest

from quorum.application.view.entries import Batch
from quorum.application.view.session_view import SessionView
from quorum.domain.calls.effects import ChangeKind, Effects, FileChange
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events import event as ev
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import DecidedBy, InScope
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.review.quorum_result import SparedVote
from quorum.tui.side_panel.drawing import draw_present
from quorum.tui.transcript.cells.palette import TERMINAL
from quorum.tui.transcript.draw.cards import draw_batch
from tests.support.review_contexts import THREE
from tests.tui.transcript_scenes import Clock, asked, context, finished, planned, started

MAKE = {"command": "make"}
CALL = ("run_command", MAKE, RiskLevel.HIGH, ())
ASKED = asked("run_command", MAKE)
VOTING = ev.CallQueued(context=context(), waiting_for="votes", reviewers=THREE)
WAITING = ev.CallQueued(context=context(), waiting_for="review", reviewers=THREE)


def vote(
    reviewer: str, verdict: str = "approve", reason: str = "fine", digest: str = ASKED.digest
) -> ev.VoteCast:
    return ev.VoteCast(
        context=context(), digest=digest, reviewer=reviewer, verdict=verdict, confidence=0.8, reason=reason
    )


def decided(label: DecisionLabel, reason: str | None = None) -> ev.ReviewDecided:
    return ev.ReviewDecided(context=context(), digest=ASKED.digest, decision=label, reason=reason)


@pytest.fixture
def board():
    return SessionView(Clock())


def panel(board, *script, height=40) -> list[str]:
    for event in script:
        board.apply(event)
    strips = draw_present(board.present, 50, height, TERMINAL, board.clock())
    assert all(strip.cell_length <= 50 for strip in strips)
    return [strip.text.rstrip() for strip in strips]


def card(*script, expanded=False) -> list[str]:
    transcript = SessionView(Clock())
    for event in (planned(CALL), *script):
        transcript.apply(event)
    (batch,) = (entry for entry in transcript.entries if isinstance(entry, Batch))
    batch.calls[0].expanded = expanded
    return [strip.text.rstrip() for strip in draw_batch(batch, 90, TERMINAL, 0.0).strips]


def test_while_the_quorum_votes_the_card_tells_how_far_it_is():
    assert card(VOTING) == ["▸ run    make   voting 0 of 3"]
    lines = card(VOTING, vote(THREE[0]), vote(THREE[1], "reject", "it deletes build"))

    assert lines[0].endswith("voting 2 of 3")
    assert "  │ ✗ against 0.8 · openai/gpt-5.2" in lines
    assert "  │   it deletes build" in lines


def test_while_the_person_is_asked_the_card_leaves_the_votes_to_the_question_and_keeps_them_open():
    script = (VOTING, vote(THREE[0], "reject", "no"), WAITING, ASKED)

    assert card(*script) == ["▸ run    make   waits for you"]
    assert "  │ ✗ against 0.8 · anthropic/claude-opus-4-5" in card(*script, expanded=True)


def test_votes_on_other_bytes_are_gone():
    other = vote(THREE[0], "reject", "no", digest="of what it was before")
    lines = card(VOTING, other, WAITING, ASKED, expanded=True)

    assert not any("against" in line for line in lines)


@pytest.mark.parametrize(
    ("votes", "decision", "expected"),
    [
        (3, decided(DecisionLabel.ALLOWED, "the quorum approved it: 3 for, 0 against"), "quorum approved 3:0"),
        (
            0,
            decided(DecisionLabel.APPROVED, "from now on by the rule run_command(make *) (project)"),
            "you approved · from now on by the rule run_command(make *) (project)",
        ),
        (2, decided(DecisionLabel.EDITED), "you approved what you edited"),
    ],
)
def test_a_card_says_in_one_line_what_let_its_call_run(votes, decision, expected):
    lines = card(VOTING, *(vote(name) for name in THREE[:votes]), ASKED, decision, started("run_command", MAKE))

    assert lines[1:] == [f"  │ {expected}"]


@pytest.mark.parametrize(
    ("decision", "unfolded"),
    [
        (decided(DecisionLabel.APPROVED), "decision: approved"),
        (
            decided(DecisionLabel.ALLOWED, "the rule run_command(make) allows it (here)"),
            "decision: allowed · the rule run_command(make) allows it (here)",
        ),
    ],
)
def test_what_the_person_knows_of_a_decision_is_only_said_where_details_are_open(decision, unfolded):
    script = (ASKED, decision, finished("run_command", "done", decision=decision.decision))

    assert not any("rule" in line or "approved" in line for line in card(*script))
    assert f"  │ {unfolded}" in card(*script, expanded=True)


def test_a_call_that_nobody_was_asked_about_says_nothing_of_a_decision():
    done = finished("run_command", "", decision=DecisionLabel.ALLOWED)

    assert not any("allowed" in line or "approved" in line for line in card(started("run_command", MAKE), done))


def test_a_rejected_call_says_why_and_once():
    text = "rejected by the user: not now"
    end = finished(
        "run_command", f"{text}. It was not run.", outcome=Outcome.REJECTED, decision=DecisionLabel.REJECTED
    )

    lines = card(ASKED, decided(DecisionLabel.REJECTED, text), end)

    assert sum("not now" in line for line in lines) == 1


def test_a_card_and_the_panel_show_an_approval_of_what_nobody_asked_for_against_the_call(board):
    outside = replace(vote(THREE[0], "approve", "it tidies up"), in_scope=InScope.NO)
    explained = "outside of what was asked, though it approves: it tidies up"

    in_card, in_panel = card(VOTING, outside), panel(board, planned(CALL), VOTING, outside)
    assert "  │ ✗ against 0.8 · anthropic/claude-opus-4-5" in in_card
    assert f"  │   {explained}" in in_card
    assert "✗ against 0.8 · anthropic/claude-opus-4-5" in in_panel
    assert explained in " ".join(line.strip() for line in in_panel)


def test_a_reviewer_that_is_asked_again_after_a_restart_has_one_vote():
    lines = card(VOTING, vote(THREE[0], "reject", "no"), VOTING, vote(THREE[0], "approve"), expanded=True)

    assert sum(THREE[0] in line for line in lines) == 1
    assert lines[0].endswith("voting 1 of 3")


def test_a_card_names_who_was_not_asked_and_what_that_rests_on():
    concluded = ev.QuorumConcluded(
        timestamp="2026-01-01T00:00:00.000Z",
        topic="action_review",
        target={},
        approved=True,
        verdict="approved",
        rule="majority",
        votes=(),
        feedback=None,
        context=context(),
        digest=ASKED.digest,
        decided_by=DecidedBy.FIRST_VOTE,
        spared=tuple(
            SparedVote(model=name, input_tokens=0, output_tokens=0, cost_usd=None) for name in THREE[1:]
        ),
    )
    allowed = decided(DecisionLabel.ALLOWED, "the quorum approved it")
    script = (VOTING, vote(THREE[0]), concluded, ASKED, allowed, started("run_command", MAKE))

    assert card(*script)[1:] == ["  │ quorum approved 1:0, 2 not asked"]
    lines = card(*script, expanded=True)
    assert "  │ – not asked · google/gemini-3-pro" in lines
    assert not any("awaited" in line for line in lines)


def test_open_details_name_those_whose_votes_are_awaited():
    lines = card(VOTING, vote(THREE[0]), expanded=True)

    assert "  │ ✓ for 0.8 · anthropic/claude-opus-4-5" in lines
    assert "  │ … awaited · google/gemini-3-pro" in lines


def test_who_is_awaited_is_named_with_its_lens(board):
    voting = replace(VOTING, lenses=("safety", "", "the cost of it"))

    lines = card(voting, vote(THREE[1]), expanded=True)
    assert f"  │ … awaited · {THREE[0]} (safety)" in lines
    assert f"  │ … awaited · {THREE[2]} (the cost of it)" in lines
    assert f"… awaited · {THREE[0]} (safety)" in panel(board, planned(CALL), voting)


def test_the_panel_shows_votes_while_nobody_is_asked_and_leaves_them_to_an_open_question(board):
    lines = panel(board, planned(CALL), VOTING, vote(THREE[1], "reject", "it deletes build"))

    place = next(n for n, line in enumerate(lines) if line.startswith("Votes"))
    assert lines[place].endswith("1 of 3 on call 1")
    assert lines[place + 1 : place + 5] == [
        "✗ against 0.8 · openai/gpt-5.2",
        "  it deletes build",
        "… awaited · anthropic/claude-opus-4-5",
        "… awaited · google/gemini-3-pro",
    ]
    assert not any(line.startswith("Votes") for line in panel(board, WAITING, ASKED))


def test_beside_the_dialog_too_who_objects_stands_first(board):
    received = (vote(THREE[0], "model_error"), vote(THREE[1]), vote(THREE[2], "reject", "it deletes build"))
    expected = ["✗ against 0.8 · google/gemini-3-pro", "✓ for 0.8 · openai/gpt-5.2"]
    expected.append("! failed 0.8 · anthropic/claude-opus-4-5")

    in_panel = [line for line in panel(board, planned(CALL), VOTING, *received) if " 0.8 · " in line]
    in_card = [line.removeprefix("  │ ") for line in card(VOTING, *received) if " 0.8 · " in line]

    assert in_panel == in_card == expected


def test_a_card_tells_the_last_decision_in_its_row_and_those_before_it_as_earlier():
    approved, rejected = (
        decided(DecisionLabel.APPROVED),
        decided(DecisionLabel.REJECTED, "rejected by the user"),
    )
    ended = finished(
        "run_command",
        "rejected by the user. It was not run.",
        outcome=Outcome.REJECTED,
        decision=DecisionLabel.REJECTED,
    )

    assert "  │ earlier: you approved" in card(WAITING, ASKED, approved, WAITING, ASKED)
    assert card(WAITING, ASKED, approved, WAITING, ASKED, rejected, ended)[1:] == [
        "  │ earlier: you approved",
    ]
    unfolded = card(WAITING, ASKED, approved, WAITING, ASKED, rejected, ended, expanded=True)
    assert unfolded.index("  │ decision: rejected · rejected by the user") + 1 == unfolded.index(
        "  │ earlier decision: approved"
    )


def test_an_approved_call_that_did_not_run_says_why_and_that_it_was_approved_earlier():
    ahead = decided(DecisionLabel.APPROVED, "approved ahead, with the calls before it")
    ended = finished(
        "run_command", "interrupted before it ran", outcome=Outcome.NOT_RUN, decision=DecisionLabel.APPROVED
    )

    assert card(WAITING, ahead, ended)[1:] == [
        "  │ earlier: you approved · approved ahead, with the calls before it",
        "  │ interrupted before it ran",
    ]


def test_text_of_a_reviewer_stays_in_its_lines(board):
    evil = vote("p/m\x1b[2J", "approve\n✓", "fine\n✓ for 1.0 · everyone\u202e")

    for lines in (panel(board, planned(CALL), VOTING, evil), card(WAITING, ASKED, evil, expanded=True)):
        text = "\n".join(lines)
        assert not {"\x1b", "\u202e"} & set(text)
        assert not any(line.lstrip(" │").startswith("✓ for 1.0 · everyone") for line in lines)


def test_the_card_tells_what_a_command_really_changed():
    changes = (FileChange(path="/w/built.txt", kind=ChangeKind.CREATED, declared=False),)
    effects = ev.EffectsObserved(context=context(), effects=Effects(changes=changes, complete=True))
    opened = ev.SessionStarted(session_id="s", model="p/m", mode=Mode.ASK, cwd="/w")
    for expanded, reported in (
        (False, "changed 1 file: + built.txt"),
        (True, "+ built.txt · created"),
    ):
        lines = card(
            opened, started("run_command", MAKE), effects, finished("run_command", "done"), expanded=expanded
        )
        assert any(reported in line for line in lines), lines


def test_a_card_says_what_a_call_waits_for_while_former_contents_are_kept():
    waiting = ev.CallQueued(context=context(), waiting_for="files", files_kept=41_000, files=100_000)

    assert "keeping former contents · 41,000 of 100,000 files" in "\n".join(card(waiting))


def test_a_card_shows_what_was_measured_of_a_reviewer_in_place_of_its_confidence():
    measured = replace(vote("a/one"), measured="misses 3 % of harm (1–8 %, n=100)")

    shown = "\n".join(card(ASKED, measured, decided(DecisionLabel.APPROVED), expanded=True))

    assert "✓ for · a/one · misses 3 % of harm (1–8 %, n=100)" in shown
    assert "80 %" not in shown

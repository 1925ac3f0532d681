"""The review of effects as a question: what an answer chooses, and which one waits."""

from __future__ import annotations

import pytest

from quorum.domain.calls.effects import FileKind, FileState
from quorum.domain.errors import StagingError
from quorum.domain.events.event import (
    EffectsReviewed,
    Event,
    LayerEntered,
    LayerWaits,
    ReviewDecided,
    ReviewRequested,
    TurnFinished,
    TurnStarted,
)
from quorum.domain.events.report import EFFECTS_WAIT, RunReport, RunStatus
from quorum.domain.events.staging import EffectsDecision
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.sessions.waiting_review import (
    count_answered_effects,
    find_asked_effects,
    find_last_report,
    find_used_layer,
)
from quorum.domain.staging.effects_answer import (
    EffectNames,
    EffectsAnswer,
    EffectsQuestion,
    find_effects_question,
)
from quorum.domain.staging.layer_effects import LayerCommit, LayerEffect, LayerEffectKind, LayerEffects

_FILE = FileState(kind=FileKind.FILE, sha256="0" * 64, size=1, mode=0o644)


def effect(path: str, *, ignored: bool = False, protected: bool = False, conflict: str = "") -> LayerEffect:
    return LayerEffect(
        path=path,
        kind=LayerEffectKind.CREATE,
        after=_FILE,
        ignored=ignored,
        protected=protected,
        conflict=conflict,
    )


EFFECTS = LayerEffects(
    workspace="/w",
    effects=(
        effect(".github/ci.yml", protected=True),
        effect("build/a", ignored=True),
        effect("build/b", ignored=True),
        effect("docs/one.md"),
        effect("docs/two.md", conflict="you changed it"),
        effect("log", ignored=True),
    ),
    commits=(LayerCommit(ref="refs/heads/main", before="1", after="2"),),
)
QUESTION = EffectsQuestion(
    layer="1", machine="here", digest="d", summary="2 files", text="all", names=EffectNames.of(EFFECTS)
)
PACKET = QUESTION.build_packet("/w", "a diff", 0)
ASKED = ReviewRequested(
    context=PACKET.context,
    packet=PACKET,
    digest=PACKET.digest,
    reasons=("a danger", "usual"),
    routine_reasons=("usual",),
)
DECIDED = ReviewDecided(
    context=PACKET.context, digest=PACKET.digest, decision=DecisionLabel.APPROVED, reason=None
)
WAITED = TurnFinished(
    report=RunReport(
        session_id="s", status=RunStatus.NEEDS_APPROVAL, stop_reason=EFFECTS_WAIT, text="done", turns=1
    )
)
STARTED, ENTERED = TurnStarted(prompt="go"), LayerEntered(layer="1", workspace="/w", machine="there")
WAITS = LayerWaits(layer="1", digest="d", files=1)


def record(*events: Event) -> tuple[LedgerRecord, ...]:
    return tuple(LedgerRecord(seq=seq, at_ms=seq, event=event) for seq, event in enumerate(events))


def reviewed(decision: EffectsDecision) -> EffectsReviewed:
    return EffectsReviewed(layer="1", decision=decision)


@pytest.mark.parametrize(
    ("answer", "left_out"),
    [
        (EffectsAnswer(), {".github/ci.yml"}),
        (EffectsAnswer(included=(".github",)), set()),
        (EffectsAnswer(left_out=("docs/",)), {".github/ci.yml", "docs/one.md", "docs/two.md"}),
        (EffectsAnswer(left_out=("build/",)), {".github/ci.yml", "build/a", "build/b"}),
        (EffectsAnswer(left_out=("./",)), {".github/ci.yml", "log"}),
        (EffectsAnswer(left_out=("refs/heads/main",)), {".github/ci.yml", "refs/heads/main"}),
    ],
)
def test_all_is_applied_but_for_what_is_left_out_and_protected_files_that_nobody_took_in(
    answer: EffectsAnswer, left_out: set[str]
) -> None:
    assert EffectsAnswer.decode(answer.encode()).choose(EFFECTS).left_out == left_out


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (EffectsAnswer(left_out=("other",)), "other is not among the changes"),
        (EffectsAnswer(included=("docs/one.md",)), "is not a protected file"),
        (EffectsAnswer(overwritten=("docs/one.md",)), "is not in conflict"),
    ],
)
def test_a_name_that_is_none_of_the_changes_is_refused_where_it_is_said_and_where_it_is_done(
    answer: EffectsAnswer, reason: str
) -> None:
    with pytest.raises(StagingError, match=reason):
        answer.choose(EFFECTS)
    with pytest.raises(StagingError, match=reason):
        answer.check(QUESTION.names)


def test_an_answer_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(StagingError, match="cannot be read"):
        EffectsAnswer.decode("yes")


def test_a_packet_shows_what_the_question_asks_and_one_of_a_call_asks_nothing_of_that_kind() -> None:
    shown = find_effects_question(PACKET.call.tool_name, PACKET.to_json()["arguments"])

    assert shown is not None
    assert (shown.machine, shown.digest, shown.summary, shown.text) == ("here", "d", "2 files", "all")
    assert shown.names.protected == {".github/ci.yml"}
    assert shown.names.conflicts == {"docs/two.md"}
    assert find_effects_question("run_command", PACKET.call.arguments) is None


def test_an_answer_to_one_question_is_none_to_the_next_about_the_same_changes() -> None:
    assert QUESTION.build_packet("/w", "a diff", 1).digest != PACKET.digest


@pytest.mark.parametrize(
    ("after", "waits"),
    [
        ((), True),
        ((ASKED,), True),
        ((DECIDED,), False),
        ((STARTED,), False),
        ((reviewed(EffectsDecision.APPLIED),), False),
        ((reviewed(EffectsDecision.DISCARDED),), False),
        ((reviewed(EffectsDecision.REFUSED),), True),
        ((DECIDED, ASKED), True),
    ],
)
def test_a_question_waits_until_it_is_decided_or_the_changes_are_gone(
    after: tuple[Event, ...], waits: bool
) -> None:
    found = find_asked_effects(record(STARTED, WAITED, ASKED, *after))

    assert (found is not None) is waits
    assert found is None or found[1] is ASKED


def test_answered_questions_are_counted() -> None:
    assert count_answered_effects(record(STARTED, WAITED, ASKED, DECIDED, ASKED)) == 1


@pytest.mark.parametrize(
    ("after", "status"),
    [
        ((), "needs_approval"),
        ((ASKED,), "needs_approval"),
        ((ASKED, DECIDED), "completed"),
        ((reviewed(EffectsDecision.DISCARDED),), "completed"),
        ((DECIDED, STARTED, WAITED), "needs_approval"),
    ],
)
def test_a_turn_has_completed_once_somebody_has_decided_about_what_it_left(
    after: tuple[Event, ...], status: str
) -> None:
    report = find_last_report(record(STARTED, WAITED, *after))

    assert report is not None
    assert report.status == status
    assert find_last_report(record(STARTED)) is None


@pytest.mark.parametrize(
    ("events", "on_another", "on_the_same"),
    [
        ((), "", ""),
        ((STARTED,), "on there, where a worker goes on with it", ""),
        ((STARTED, WAITED), "", ""),
        ((STARTED, WAITS, WAITED), "on there, where", "not in the state folder any more"),
        ((STARTED, WAITS, WAITED, reviewed(EffectsDecision.APPLIED)), "", ""),
    ],
)
def test_a_session_goes_on_only_where_the_layer_is_without_which_its_work_would_be_missing(
    events: tuple[Event, ...], on_another: str, on_the_same: str
) -> None:
    used = find_used_layer(record(ENTERED, *events))

    here, there, without = (
        "" if used is None else used.explain_absence(machine, is_in_layer=is_in_layer)
        for machine, is_in_layer in (("here", True), ("there", True), ("there", False))
    )

    assert on_another in here
    assert bool(on_another) == bool(here)
    assert on_the_same in there
    assert bool(on_the_same) == bool(there)
    assert ("a worker in the mode staged" in without) == (used is not None)

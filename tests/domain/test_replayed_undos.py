from quorum.domain.calls.effects import ChangeKind, Effects, FileChange, FileKind, FileState
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import END_TURN, LlmResponse, TextBlock
from quorum.domain.events.event import (
    ConversationCompacted,
    EffectsObserved,
    Event,
    FilesRestored,
    MessageAdded,
    PlanReviewStarted,
    ResponseCompleted,
    SessionRedone,
    SessionResumed,
    SessionRewound,
    StateMerged,
    TurnStarted,
)
from quorum.domain.plan.plan import Plan, PlanTask
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.replay import replay_state
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.sessions.state import SessionState
from tests.support.builders import a_context


def after(*events: Event) -> SessionState:
    return replay_state(LedgerRecord(seq=n, at_ms=n, event=event) for n, event in enumerate(events))


def holding(content: str) -> FileState:
    return FileState(kind=FileKind.FILE, mode=0o644, size=1, sha256=content * 64)


def change(before: str | None, after: str | None, path: str = "/ws/a") -> FileChange:
    return FileChange(
        path=path,
        kind=ChangeKind.MODIFIED,
        declared=True,
        before=None if before is None else holding(before),
        after=None if after is None else holding(after),
    )


def a_turn(prompt: str, *changes: FileChange) -> tuple[Event, ...]:
    return (
        TurnStarted(prompt=prompt),
        MessageAdded(message=UserMessage(prompt)),
        EffectsObserved(context=a_context(), effects=Effects(changes=changes, complete=True)),
        StateMerged(batch_id="b", changed={"plan": prompt}),
        ResponseCompleted(
            turn_index=0, response=LlmResponse(content=(TextBlock(f"did {prompt}"),), stop_reason=END_TURN)
        ),
    )


def rewound(turn: int, *, conversation: bool = True, files: bool = True) -> SessionRewound:
    return SessionRewound(turn=turn, conversation=conversation, files=files)


FIRST, SECOND = a_turn("one", change("a", "b")), a_turn("two", change("b", "c"))
BOTH = (*FIRST, *SECOND)
BACK = FilesRestored(changes=(change("c", "b"),))
FORWARD = FilesRestored(changes=(change("b", "c"),), redo=True)
RESUMED = SessionResumed(session_id="s", model="m", mode=Mode.ASK, cwd="/ws")
COMPACTED = ConversationCompacted(
    what="summary", replaced=2, by=(UserMessage("short"),), tokens_before=9, tokens_after=1
)


def test_an_undo_of_both_can_be_redone_as_one_also_by_a_later_process() -> None:
    state = after(*BOTH, BACK, rewound(1), RESUMED)

    (undo,) = state.undos
    assert (undo.turn, undo.turns, undo.changes) == (1, (1,), BACK.changes)
    assert undo.messages == after(*BOTH).messages
    assert undo.values == {"plan": "two"}


def test_a_redo_leads_to_the_state_of_before_the_undo() -> None:
    before = after(*BOTH)

    state = after(*BOTH, BACK, rewound(1), FORWARD, SessionRedone(turns=(1,), files=True, turn=1))

    assert (state.messages, state.values, state.turns) == (before.messages, before.values, before.turns)
    assert state.last_written == before.last_written
    assert (state.undos, state.unsent, state.mended) == ((), (), ())
    assert state.prompts == ("one", "two")


def a_round(objective: str, number: int = 1) -> PlanReviewStarted:
    plan = Plan(objective=objective, reasoning="", tasks=(PlanTask(id="t", description="do it"),))
    return PlanReviewStarted(
        context=a_context(), plan=plan, plan_digest=plan.digest, digest=f"packet of {objective}", round=number
    )


def test_a_redo_brings_back_what_reviewers_objected_to_in_a_plan() -> None:
    judged = (*FIRST, TurnStarted(prompt="plan it"), a_round("a parser"), a_round("a better parser", 2))
    undone = (*judged, rewound(1, files=False))
    redone = (*undone, SessionRedone(turns=(1,), files=False, turn=1))

    assert after(*undone).plan_rounds == ()
    assert after(*redone).plan_rounds == after(*judged).plan_rounds
    assert [each.number for each in after(*redone).plan_rounds] == [1, 2]


def test_a_redo_of_two_undos_brings_back_the_rounds_of_each_plan() -> None:
    first = (TurnStarted(prompt="plan it"), a_round("a parser"))
    both = (*first, TurnStarted(prompt="/retry"), a_round("a better parser", 2))
    undone = (*both, rewound(1, files=False), rewound(0, files=False))
    once = (*undone, SessionRedone(turns=(0,), files=False, turn=0))

    assert after(*once).plan_rounds == ()
    twice = (*once, SessionRedone(turns=(1,), files=False, turn=1))
    assert after(*twice).plan_rounds == after(*both).plan_rounds


def test_an_undo_that_another_turn_made_final_brings_back_no_rounds() -> None:
    past = (TurnStarted(prompt="plan it"), a_round("a parser"), rewound(0, files=False), *FIRST)

    assert after(*past, SessionRedone(turns=(0,), files=False, turn=0)).plan_rounds == ()


def test_several_undos_are_a_stack() -> None:
    undone = (*BOTH, BACK, rewound(1), FilesRestored(changes=(change("b", "a"),)), rewound(0))
    once = (
        *undone,
        FilesRestored(changes=(change("a", "b"),), redo=True),
        SessionRedone(turns=(0,), files=True, turn=0),
    )

    assert [undo.turns for undo in after(*undone).undos] == [(1,), (0,)]
    assert [undo.turns for undo in after(*once).undos] == [(1,)]
    assert after(*once).messages == after(*FIRST).messages
    twice = after(*once, FORWARD, SessionRedone(turns=(1,), files=True, turn=1))
    assert twice.messages == after(*BOTH).messages
    assert twice.undos == ()


def test_a_new_turn_makes_every_undo_final() -> None:
    assert after(*BOTH, BACK, rewound(1), TurnStarted(prompt="other")).undos == ()


def test_a_conversation_that_continued_cannot_come_back_and_its_files_can() -> None:
    (undo,) = after(*BOTH, BACK, rewound(1), COMPACTED).undos

    assert (undo.turns, undo.messages, undo.continued) == ((), (), True)
    assert undo.changes == BACK.changes
    assert after(*BOTH, rewound(1, files=False), COMPACTED).undos == ()


def test_files_that_were_restored_by_a_process_that_died_then_are_an_undo_of_their_own() -> None:
    state = after(*BOTH, BACK, RESUMED, rewound(1, files=False))

    assert [(undo.turns, undo.changes) for undo in state.undos] == [((), BACK.changes), ((1,), ())]


def test_a_redo_whose_files_failed_leaves_them_to_be_redone() -> None:
    state = after(*BOTH, BACK, rewound(1), SessionRedone(turns=(1,), files=False, turn=1))

    (undo,) = state.undos
    assert (undo.turns, undo.changes, undo.continued) == ((), BACK.changes, False)
    assert state.messages == after(*BOTH).messages


def test_a_redo_that_died_before_its_end_can_be_done_again() -> None:
    (undo,) = after(*BOTH, BACK, rewound(1), FORWARD, RESUMED).undos

    assert (undo.turns, undo.changes) == ((1,), BACK.changes)


def test_what_somebody_edited_before_an_undo_counts_as_edited_after_its_redo() -> None:
    overwritten = FilesRestored(changes=(change("m", "b"),))
    redone = FilesRestored(changes=(change("b", "m"),), redo=True)

    state = after(*BOTH, overwritten, rewound(1), redone, SessionRedone(turns=(1,), files=True, turn=1))

    assert state.last_written == {"/ws/a": holding("c")}  # and not what the person wrote


def test_a_redo_that_belongs_to_no_undo_is_left_out_and_reported() -> None:
    redone = SessionRedone(turns=(1,), files=True, turn=1)

    for events in ((*BOTH, redone), (*BOTH, rewound(0), redone)):
        state = after(*events)
        assert "a redo was left out" in state.mended[0]
        assert state.messages == after(*events[:-1]).messages


def test_a_redone_turn_can_be_undone_again() -> None:
    events = (*BOTH, BACK, rewound(1), FORWARD, SessionRedone(turns=(1,), files=True, turn=1), BACK, rewound(1))

    state = after(*events)

    assert state.messages == after(*FIRST).messages
    assert [undo.turns for undo in state.undos] == [(1,)]

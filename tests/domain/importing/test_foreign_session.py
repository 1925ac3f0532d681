from collections.abc import Iterable

from quorum.domain.calls.execution import Outcome
from quorum.domain.events.event import (
    CallFinished,
    ConversationCompacted,
    Event,
    SessionResumed,
    TurnFinished,
    TurnStarted,
)
from quorum.domain.events.masking import SecretMask
from quorum.domain.importing.foreign_session import (
    MOST_OUTPUT,
    ForeignAnswer,
    ForeignCall,
    ForeignItem,
    ForeignPrompt,
    ForeignResult,
    ForeignSession,
    ForeignSummary,
    SessionRecorder,
)
from quorum.domain.sessions.replay import Replay, replay_state
from quorum.domain.sessions.session_summary import LedgerRecord

_SESSION = ForeignSession(
    agent="Claude Code", source_id="a1", cwd="/w", model="anthropic/m", started_ms=1_000, file="/h/a1.jsonl"
)
_CALLS = (
    ForeignCall(id="c1", tool="Read", arguments={"file_path": "a"}),
    ForeignCall(id="c2", tool="Bash", arguments={"command": "ls"}),
)


def _record(*items: ForeignItem, mask: SecretMask | None = None) -> list[tuple[int, Event]]:
    return list(SessionRecorder(_SESSION, mask or SecretMask(), "ada").record(items))


def _replay_texts(events: Iterable[tuple[int, Event]]) -> tuple[list[str], tuple[str, ...]]:
    records = [LedgerRecord(seq=n, at_ms=at, event=event) for n, (at, event) in enumerate(events)]
    state = replay_state(records)
    return [type(message).__name__ for message in state.messages], state.mended


def test_a_session_is_replayed_as_a_conversation_that_can_be_continued():
    events = _record(
        ForeignPrompt(at_ms=2_000, text="fix it"),
        ForeignAnswer(at_ms=3_000, text="Looking.", calls=_CALLS, reasoning="hm"),
        ForeignResult(at_ms=4_000, call_id="c2", output="a", is_error=True),
        ForeignResult(at_ms=4_100, call_id="c1", output="text"),
        ForeignAnswer(at_ms=5_000, text="Done."),
        ForeignPrompt(at_ms=9_000, text="thanks"),
    )

    kinds, mended = _replay_texts(events)

    assert kinds == ["UserMessage", "AssistantMessage", "ToolResults", "AssistantMessage", "UserMessage"]
    assert mended == ()
    assert [event.output for _, event in events if isinstance(event, CallFinished)] == ["text", "a"]
    assert [event.prompt for _, event in events if isinstance(event, TurnStarted)] == ["fix it", "thanks"]
    assert [at for at, event in events if isinstance(event, TurnFinished)] == [5_000, 9_000]


def test_whoever_imports_a_session_counts_as_who_asked_in_it():
    replay = Replay()
    for at_ms, event in _record(ForeignPrompt(at_ms=1, text="deploy")):
        replay.apply(event, at_ms)

    assert replay.askers == {"ada"}


def test_a_call_without_a_recorded_result_is_of_unknown_end():
    events = _record(ForeignPrompt(at_ms=1, text="x"), ForeignAnswer(at_ms=2, calls=_CALLS[:1]))

    (finished,) = [event for _, event in events if isinstance(event, CallFinished)]
    assert finished.outcome is Outcome.UNKNOWN
    assert _replay_texts(events)[1] == ()


def test_a_summary_takes_the_place_of_what_was_said_before():
    events = _record(
        ForeignPrompt(at_ms=1, text="x"),
        ForeignAnswer(at_ms=2, text="y"),
        ForeignSummary(at_ms=3, text="we said x and y"),
        ForeignPrompt(at_ms=4, text="z"),
    )

    assert [event.replaced for _, event in events if isinstance(event, ConversationCompacted)] == [2]
    assert _replay_texts(events) == (["UserMessage", "UserMessage"], ())


def test_where_a_session_came_from_is_said_at_its_end():
    _, last = _record(ForeignPrompt(at_ms=1, text="x"))[-1]

    assert isinstance(last, SessionResumed)
    assert last.told == ("This session was imported from Claude Code: a1, /h/a1.jsonl",)


def test_nothing_is_made_of_a_session_in_which_nothing_was_said():
    assert _record() == []


def test_secrets_are_hidden_in_all_that_is_recorded():
    key = "ghp_" + "a1B2" * 9
    events = _record(
        ForeignPrompt(at_ms=1, text=f"use {key}"),
        ForeignAnswer(at_ms=2, text=key, calls=(ForeignCall(id="c", tool="Bash", arguments={"command": key}),)),
        ForeignResult(
            at_ms=3, call_id="c", output=f"{'x ' * (MOST_OUTPUT // 2 - 1_010)}{key}{' y' * MOST_OUTPUT}"
        ),
        ForeignAnswer(at_ms=4, text=f"so {key}"),
    )

    assert not any("a1B2" in str(event.to_json()) for _, event in events)


def test_a_long_output_keeps_its_beginning_and_end_and_says_where_the_rest_is():
    events = _record(
        ForeignPrompt(at_ms=1, text="x"),
        ForeignAnswer(at_ms=2, calls=_CALLS[:1]),
        ForeignResult(at_ms=3, call_id="c1", output="a" * MOST_OUTPUT + "b" * MOST_OUTPUT),
    )

    (finished,) = [event for _, event in events if isinstance(event, CallFinished)]
    assert finished.output.startswith("aaa")
    assert finished.output.endswith("bbb")
    assert "… 8,000 characters are in /h/a1.jsonl …" in finished.output


def test_the_id_is_always_the_same_and_sorts_by_time():
    later = ForeignSession(
        agent="Claude Code", source_id="a0", cwd="/w", model="m", started_ms=2_000, file="/h/a0.jsonl"
    )
    assert _SESSION.session_id == _SESSION.session_id
    assert _SESSION.session_id < later.session_id
    assert _SESSION.session_id[14] == "7"

"""What must hold of a record after every death of its session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from quorum.domain.conversation.attachment import Image
from quorum.domain.conversation.history import AssistantMessage, Message, UserMessage, find_unpaired_call
from quorum.domain.events.event import (
    CallStarted,
    MessageAdded,
    PromptsQueued,
    UserCommandFinished,
    UserCommandStarted,
)
from quorum.domain.sessions.replay import replay_state
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.sessions.state import SessionState


def check(records: Sequence[LedgerRecord], root: Path) -> None:
    """The conversation can go on, and nothing was done, said or reported twice."""
    state = replay_state(records)
    messages = state.messages
    if messages and isinstance(messages[-1], AssistantMessage) and state.open_calls:
        messages = messages[:-1]
    assert find_unpaired_call(messages) is None
    assert not state.mended, state.mended
    started = [r.event.context.call_id for r in records if isinstance(r.event, CallStarted)]
    assert _are_different(started), "a call began twice"
    assert _are_different(_lines(root / "effects.log")), "a side effect happened twice"
    _check_own_commands(records, state, root)
    _check_what_was_said(records, messages, state.unsent)


def _check_own_commands(records: Sequence[LedgerRecord], state: SessionState, root: Path) -> None:
    began = {r.event.command_id: r.event for r in records if isinstance(r.event, UserCommandStarted)}
    ends = {r.event.command_id: r.event for r in records if isinstance(r.event, UserCommandFinished)}
    assert len(began) == sum(isinstance(r.event, UserCommandStarted) for r in records)
    assert len(ends) == sum(isinstance(r.event, UserCommandFinished) for r in records), "a command ended twice"
    effects = _lines(root / "own.log")
    assert _are_different(effects), "a command of the person's ran twice"
    announced = {event.command.split()[1] for event in began.values()}
    assert set(effects) <= announced, "a command of the person's ran that is not recorded"
    events = [r.event.command_id for r in records if isinstance(r.event, MessageAdded) and r.event.command_id]
    assert _are_different(events), "the model read twice of a command"
    to_tell = {each.command_id for each in state.user_commands if each.ended}
    for command_id, end in ends.items():
        if end.exit_code == 0:
            assert began[command_id].command.split()[1] in effects
        assert (end.note is not None) == ((command_id in events) + (command_id in to_tell) == 1)


def _check_what_was_said(
    records: Sequence[LedgerRecord], messages: Sequence[Message], unsent: Sequence[str]
) -> None:
    """What a record says was said into a turn stands in the conversation, in its order, and once."""
    steered = [
        r.event.message
        for r in records
        if isinstance(r.event, MessageAdded) and (r.event.steers or r.event.command_id)
    ]
    assert [each for each in messages if each in steered] == steered
    assert _are_different([each.text for each in messages if isinstance(each, UserMessage)])
    said = [each.text for each in messages if isinstance(each, UserMessage)]
    sent = [word for r in records if isinstance(r.event, PromptsQueued) for word in r.event.prompts]
    assert {word for word in sent if (word in said) == (word in unsent)} == set(), (
        "a word was lost, or is there twice"
    )


def images_of(messages: Iterable[Message]) -> Iterator[Image]:
    """The images that are shown in these."""
    for message in messages:
        if isinstance(message, UserMessage):
            yield from message.images


def _are_different(words: Sequence[str]) -> bool:
    return len(set(words)) == len(words)


def _lines(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []

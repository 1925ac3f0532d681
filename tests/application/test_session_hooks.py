"""Hooks around a session: its beginning and end, questions of permission, notifications, summaries."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from quorum.api import RecordingHook
from quorum.application.calls import hook_chain
from quorum.application.calls.hook_chain import HookMatcher, HookRegistration
from quorum.application.calls.hooks import (
    CompactionDraft,
    Hook,
    Notification,
    PermissionRequest,
    SessionEnd,
    SessionStart,
)
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.hook_points import Continue, HookAnswer, HookPoint, OnHookError, Skip
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ConversationError
from quorum.domain.events.event import HookRan, NoticeGiven, SessionFinished
from quorum.domain.events.report import RunStatus
from quorum.domain.review.questions import DecisionLabel
from tests.application.test_context_manager import MODEL, Rig
from tests.application.test_run_agent import Bench
from tests.application.test_tool_runtime import Bench as RuntimeBench
from tests.application.test_tool_runtime import decisions, outcomes
from tests.support.fake_ports import FakePerson, FakeWriter, World
from tests.support.past_sessions import records_of

_DONE = LlmResponse.from_text("done")


def _registered(hook: Hook, *points: HookPoint, **more: Any) -> HookRegistration:
    return HookRegistration(name="own", hook=hook, points=frozenset(points or HookPoint), **more)


class _Says(Hook):
    """Adds this text wherever one can be added."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def on_session_start(self, start: SessionStart) -> HookAnswer:
        start.context += self._text
        return Continue()

    async def on_permission_request(self, request: PermissionRequest) -> HookAnswer:
        request.note = self._text
        return Continue()

    async def on_compaction(self, compaction: CompactionDraft) -> HookAnswer:
        compaction.focus = self._text
        return Continue()


class _Hangs(Hook):
    async def on_session_end(self, end: SessionEnd) -> HookAnswer:
        await asyncio.Event().wait()
        return Continue()

    async def on_notification(self, notification: Notification) -> HookAnswer:
        await asyncio.Event().wait()
        return Continue()


# ---------------------------------------------------------------- the beginning


async def test_what_a_hook_adds_at_the_beginning_is_read_with_the_first_prompt_as_context() -> None:
    bench = Bench(_DONE, hooks=[_registered(_Says("deploys are frozen"), HookPoint.ON_SESSION_START)])

    await bench.front.open()
    await bench.agent.execute("hi")

    texts = [message.text for message in bench.session.sent[0].messages]  # type: ignore[union-attr]
    assert any("deploys are frozen" in text and "not a request" in text for text in texts)
    assert bench.front.state.prompts == ("hi",)


async def test_a_hook_learns_whether_the_session_is_new_or_resumed() -> None:
    first, again = RecordingHook(), RecordingHook()
    bench = Bench(_DONE, hooks=[_registered(first)])
    await bench.front.open()
    await bench.agent.execute("hi")

    await Bench(
        hooks=[_registered(again)], past=records_of(each for each in bench.observer.events if each.durable)
    ).front.open()

    starts = [each for hook in (first, again) for each in hook.seen if isinstance(each, SessionStart)]
    assert [each.source for each in starts] == ["new", "resume"]
    assert (starts[0].session_id, starts[0].cwd, starts[0].model) == ("session-1", "/ws", "fake/model")


async def test_too_long_a_context_is_cut_and_said() -> None:
    bench = Bench(_DONE, hooks=[_registered(_Says("x" * 20_000), HookPoint.ON_SESSION_START)])

    await bench.front.open()
    await bench.agent.execute("hi")

    longest = max(len(getattr(each, "text", "")) for each in bench.session.sent[0].messages)
    assert longest < 10_200
    assert any("20,000 characters" in str(each) for each in bench.observer.of(NoticeGiven))


async def test_a_hook_that_fails_at_the_beginning_leaves_the_session_as_it_is() -> None:
    failing = RecordingHook(on_session_start=[ValueError("no network")])
    bench = Bench(_DONE, hooks=[_registered(failing)])

    await bench.front.open()

    assert (await bench.agent.execute("hi")).status is RunStatus.COMPLETED
    ran = [each for each in bench.observer.events if isinstance(each, HookRan)]
    assert (ran[0].answer, ran[0].reason) == ("error", "no network")


# ---------------------------------------------------------------- the end


async def test_the_end_is_seen_once_and_before_it_is_recorded() -> None:
    hook = RecordingHook()
    bench = Bench(_DONE, hooks=[_registered(hook, HookPoint.ON_SESSION_END)])
    await bench.front.open()
    report = await bench.agent.execute("hi")

    await bench.front.close(report)
    await bench.front.aclose()

    assert hook.seen == [SessionEnd(session_id="session-1", cwd="/ws", reason="finished")]
    kinds = [type(each) for each in bench.observer.events if isinstance(each, HookRan | SessionFinished)]
    assert kinds == [HookRan, SessionFinished]


async def test_a_session_that_is_only_closed_tells_so_and_one_that_never_began_nothing() -> None:
    hook = RecordingHook()
    closed, never = Bench(hooks=[_registered(hook, HookPoint.ON_SESSION_END)]), RecordingHook()
    await closed.front.open()
    await closed.front.aclose()

    await Bench(hooks=[_registered(never)]).front.aclose()

    assert [each.reason for each in hook.seen if isinstance(each, SessionEnd)] == ["closed"]
    assert never.seen == []


async def test_hooks_that_hang_at_the_end_are_cut_off_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_chain, "SESSION_END_SECS", 0.01)
    bench = Bench(_DONE, hooks=[_registered(_Hangs())])
    await bench.front.open()
    await bench.agent.execute("hi")

    await asyncio.wait_for(bench.front.aclose(), timeout=60)

    assert any("cut off at the end of the session" in each.message for each in bench.observer.of(NoticeGiven))  # type: ignore[attr-defined]


# ---------------------------------------------------------------- permission


async def _write(
    hook: Hook, person: FakePerson | None = None, **more: Any
) -> tuple[RuntimeBench, Outcome, DecisionLabel, str]:
    bench = RuntimeBench(
        FakeWriter(World()),
        person=person or FakePerson(),
        hooks=[_registered(hook, HookPoint.ON_PERMISSION_REQUEST, **more)],
    )
    result = await bench.run(("write", {"cell": "a", "text": "new"}))
    return bench, outcomes(result)[0], decisions(result)[0], result.results[0].output


async def test_a_hook_denies_a_call_before_anybody_is_asked() -> None:
    person = FakePerson()

    _, outcome, label, output = await _write(
        RecordingHook(on_permission_request=[Skip("not on Fridays")]), person
    )

    assert (outcome is Outcome.OK, label) == (False, DecisionLabel.DENIED)
    assert "denied by a hook: not on Fridays" in output
    assert person.requests == []


async def test_a_hook_that_has_no_objection_leaves_the_question_to_the_person() -> None:
    person, hook = FakePerson(), RecordingHook()

    _, outcome, label, _ = await _write(hook, person)

    assert (outcome, label, len(person.requests)) == (Outcome.OK, DecisionLabel.APPROVED, 1)
    (seen,) = hook.seen
    assert isinstance(seen, PermissionRequest)
    assert (seen.tool, seen.arguments, seen.paths) == ("write", {"cell": "a", "text": "new"}, ("/ws/a",))
    assert seen.reasons


async def test_the_person_reads_the_note_of_a_hook_above_the_reasons() -> None:
    person = FakePerson()

    await _write(_Says("the file is generated"), person)

    assert person.requests[0].reasons[0] == "a hook notes: the file is generated"


async def test_a_note_is_one_line_of_data_whatever_the_hook_wrote() -> None:
    person = FakePerson()

    await _write(_Says("first\n\x1b[31msecond" + "x" * 5_000), person)

    note = person.requests[0].reasons[0]
    assert note.startswith("a hook notes: first ")
    assert not {"\x1b", "\n"} & set(note)
    assert len(note) < 1_100


async def test_a_hook_that_fails_has_the_person_asked_or_where_it_is_closed_the_call_denied() -> None:
    person = FakePerson()
    _, outcome, *_ = await _write(RecordingHook(on_permission_request=[ValueError("broken")]), person)
    assert (outcome, len(person.requests)) == (Outcome.OK, 1)

    _, outcome, label, _ = await _write(
        RecordingHook(on_permission_request=[ValueError("broken")]), person, on_error=OnHookError.CLOSED
    )
    assert (outcome is Outcome.OK, label, len(person.requests)) == (False, DecisionLabel.DENIED, 1)


async def test_the_conditions_of_a_hook_hold_for_questions_of_permission() -> None:
    hook = RecordingHook(on_permission_request=[Skip("no")])

    _, outcome, *_ = await _write(hook, matcher=HookMatcher(tools=("run_*",)))

    assert (outcome, hook.seen) == (Outcome.OK, [])


# ---------------------------------------------------------------- notifications


async def test_the_end_of_a_turn_is_notified() -> None:
    hook = RecordingHook()
    bench = Bench(_DONE, hooks=[_registered(hook, HookPoint.ON_NOTIFICATION)])
    await bench.front.open()
    await bench.agent.execute("hi")

    await bench.front.aclose()

    assert hook.seen == [Notification(kind="turn_ended", message="the turn has ended: completed")]


async def test_nothing_waits_for_a_hook_that_is_notified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_chain, "SESSION_END_SECS", 0.01)
    bench = Bench(_DONE, hooks=[_registered(_Hangs(), HookPoint.ON_NOTIFICATION)])
    await bench.front.open()
    await bench.agent.execute("hi")

    assert await bench.next_prompt_works()
    await bench.front.aclose()


# ---------------------------------------------------------------- summaries


def _full(hook: Hook) -> Rig:
    rig = Rig([LlmResponse.from_text("what was done")], hooks=[_registered(hook)])
    rig.talk(9)
    return rig


async def test_a_hook_says_what_a_summary_dwells_on() -> None:
    rig = _full(_Says("the schema"))

    done = await rig.care.compact(MODEL)

    assert (done.what, done.focus) == ("summary", "the schema")


async def test_a_hook_keeps_the_past_from_being_summarised() -> None:
    hook = RecordingHook(on_compaction=[Skip("not yet")])
    rig = _full(hook)

    with pytest.raises(ConversationError, match="a hook kept the past from being summarised: not yet"):
        await rig.care.compact(MODEL, "tests")

    assert hook.seen == [CompactionDraft(trigger="manual", focus="tests")]
    assert rig.compactions() == []

from typing import cast

import pytest

from quorum.api import RecordingHook
from quorum.application.calls.hooks import (
    CallDraft,
    CompactionDraft,
    Notification,
    RequestDraft,
    ResultDraft,
    SessionEnd,
    TurnEnd,
)
from quorum.domain.calls.hook_points import Continue, ContinueWithMessages, Finish, HookAnswer, HookPoint, Skip
from quorum.domain.conversation.history import Message, UserMessage
from tests.support.hook_drafts import (
    a_call_draft,
    a_conversation,
    a_permission_request,
    a_request_draft,
    a_result_draft,
    a_session_start,
)


@pytest.mark.requirement("C11")
async def test_it_remembers_what_it_saw_at_each_point_in_order():
    hook = RecordingHook()

    await hook.on_message_send(a_request_draft())
    await hook.before_tool_call(a_call_draft())
    await hook.after_tool_call(a_result_draft())
    await hook.on_turn_end(a_conversation())
    await hook.on_session_start(a_session_start())
    await hook.on_session_end(SessionEnd(session_id="s", cwd="/ws", reason="closed"))
    await hook.on_permission_request(a_permission_request())
    await hook.on_notification(Notification(kind="question", message="look"))
    await hook.on_compaction(CompactionDraft(trigger="auto"))

    assert hook.points == tuple(HookPoint)
    request, call, result, end, *_ = hook.seen
    assert request == RequestDraft(list(a_conversation()[:3]))
    assert isinstance(call, CallDraft)
    assert (call.tool, call.arguments) == ("write_file", {"path": "a.txt", "content": "ä"})
    assert isinstance(result, ResultDraft)
    assert result.output == "all of it"
    assert end == TurnEnd(a_conversation())


@pytest.mark.requirement("C11")
async def test_what_it_saw_is_not_changed_by_later_edits():
    call, request = a_call_draft(arguments={"items": [{"text": "a"}]}), a_request_draft()
    hook = RecordingHook()
    await hook.before_tool_call(call)
    await hook.on_message_send(request)

    cast("list[dict[str, str]]", call.arguments["items"])[0]["text"] = "b"
    request.messages.clear()

    seen_call, seen_request = hook.seen
    assert isinstance(seen_call, CallDraft)
    assert seen_call.arguments == {"items": [{"text": "a"}]}
    assert seen_request == RequestDraft(list(a_conversation()[:3]))


@pytest.mark.requirement("C11")
async def test_it_answers_from_its_script_and_then_changes_nothing():
    def edit(call: CallDraft) -> HookAnswer:
        call.arguments["path"] = "b.txt"
        return Continue()

    hook = RecordingHook(before_tool_call=[Skip("no"), ValueError("boom"), edit])
    calls = [a_call_draft() for _ in range(4)]

    assert await hook.before_tool_call(calls[0]) == Skip("no")
    with pytest.raises(ValueError, match="boom"):
        await hook.before_tool_call(calls[1])
    assert await hook.before_tool_call(calls[2]) == Continue()
    assert await hook.before_tool_call(calls[3]) == Continue()
    assert [call.arguments["path"] for call in calls] == ["a.txt", "a.txt", "b.txt", "a.txt"]


@pytest.mark.requirement("C11")
async def test_each_point_has_its_own_script():
    hook = RecordingHook(after_tool_call=[Skip()], on_turn_end=[ContinueWithMessages(("more",))])
    messages: list[Message] = [UserMessage("x")]

    assert await hook.before_tool_call(a_call_draft()) == Continue()
    assert await hook.after_tool_call(a_result_draft()) == Skip()
    assert await hook.on_turn_end(messages) == ContinueWithMessages(("more",))
    assert await hook.on_turn_end(messages) == Finish()

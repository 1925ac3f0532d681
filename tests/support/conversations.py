"""Legal conversations for hypothesis: any prompts, answers, batches of calls and outputs."""

from __future__ import annotations

from itertools import count

from hypothesis import strategies as st

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import AssistantMessage, Message, ToolResults, UserMessage
from quorum.domain.conversation.response import END_TURN, TOOL_USE, LlmResponse, TextBlock, ToolUseBlock

_TOOLS = ("read_file", "write_file", "edit_file", "run_command", "grep_search", "update_plan")
texts = st.builds(
    lambda piece, times: piece * times,
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
    st.sampled_from([1, 1, 3, 40, 400]),
)


@st.composite
def conversations(draw: st.DrawFn, *, open_calls: bool = True) -> tuple[Message, ...]:
    """A history that every provider takes; it may end with open calls, where these are allowed."""
    ids = count()
    messages: list[Message] = []
    for _ in range(draw(st.integers(1, 6))):
        messages.append(UserMessage(draw(texts)))
        for _ in range(draw(st.integers(0, 4))):
            messages += _batch(draw, ids)
        if draw(st.booleans()):
            response = LlmResponse(content=(TextBlock(draw(texts)),), stop_reason=END_TURN)
            messages.append(AssistantMessage(response))
    if open_calls and draw(st.booleans()):
        messages.append(_batch(draw, ids)[0])
    return tuple(messages)


def _batch(draw: st.DrawFn, ids: count[int]) -> list[Message]:
    calls = [
        ToolUseBlock(
            id=f"call_{next(ids)}", name=draw(st.sampled_from(_TOOLS)), input={"path": draw(texts)[:60]}
        )
        for _ in range(draw(st.integers(1, 3)))
    ]
    results = tuple(
        ToolResultMessage(
            tool_use_id=call.id, tool_name=call.name, output=draw(texts), is_error=draw(st.booleans())
        )
        for call in calls
    )
    answer = LlmResponse(content=tuple(calls), stop_reason=TOOL_USE)
    return [AssistantMessage(answer), ToolResults(results)]

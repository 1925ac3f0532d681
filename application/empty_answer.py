"""An answer without words and without a call that can run: the model is asked once more."""

from __future__ import annotations

from quorum.application.ports.models import LlmSession, OnStreamEvent
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import LlmResponse

ASKED_AGAIN = "Your last answer cannot be used: "
_REPLY = ASKED_AGAIN + "{lack}. {wanted}"
# small models that have done it all end with nothing, and take "answer in words" for a new question
_GO_ON = "Call the next tool or, if the task is done, say in words what was done."
CLAIMED = "it says that work was done, and no tool was called, so that nothing was"
_DO_IT = "Do it with the tools. If it needs none, answer without saying that anything was done."
_NO_TOOLS = "There are no tools here."


def render_empty_answer_reply(lack: str, *, offers_tools: bool = True) -> str:
    """What the model reads after an answer that lacked so much that it was none."""
    go_on = _DO_IT if lack == CLAIMED else _GO_ON
    wanted = go_on if offers_tools else "Answer in words."
    return _REPLY.format(lack=lack, wanted=wanted)


async def ask_for_words(
    session: LlmSession, conversation: Conversation, response: LlmResponse, on_event: OnStreamEvent
) -> LlmResponse | None:
    """Ask once more where an answer to a question without tools holds no words, and return the second answer.

    None where it needs none: it has words, or ended at a limit or with a refusal. Raises what the session does.
    """
    lack = "it called a tool, and none was offered" if response.has_tool_calls() else response.lack
    if response.has_words or lack is None:
        return None
    reply = render_empty_answer_reply(lack, offers_tools=False)
    if calls := conversation.open_calls:
        refused = [
            ToolResultMessage(tool_use_id=c.native_id, tool_name=c.tool_name, output=_NO_TOOLS, is_error=True)
            for c in calls
        ]
        conversation.add_results(refused)
    return await session.send_with_tools(reply, (), on_event=on_event)

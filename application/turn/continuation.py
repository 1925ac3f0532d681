"""What a model reads where its turn broke off, its answer was cut off, or its rounds of calls are used up."""

from __future__ import annotations

from quorum.domain.conversation.history import AssistantMessage, Message
from quorum.domain.conversation.response import StopKind
from quorum.domain.text.amounts import format_amount

CONTINUE_PROMPT = "Your last answer broke off. Continue exactly where it stopped."
CONTINUE_CUT_OFF = "Your answer was cut off by the output limit. Continue exactly where you stopped."
LIMIT_REACHED = (
    "not run: the limit of {limit} tool turns is reached. Say where things stand and what is left to do."
)
NO_ANSWER = "the model gave no answer, also when asked again: {lack}"
_MORE_TURNS = "Continue with the task. You have {rounds} of tool calls."


def choose_continuation(last: Message, *, rounds: int) -> str | None:
    """Return a prompt to make the model continue after this message; None if it has yet to answer it.

    `rounds` is how many rounds of tool calls it has for that.
    """
    if not isinstance(last, AssistantMessage):
        return None
    if (
        last.response.stop_reason.kind is StopKind.END_TURN and last.response.lack is None
    ):  # it said where things stood at the limit
        return _MORE_TURNS.format(rounds=format_amount(rounds, "more round"))
    return CONTINUE_PROMPT

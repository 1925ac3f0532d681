"""Has the model repair an answer that should be JSON and is not."""

from __future__ import annotations

import json
from collections.abc import Sequence

from quorum.api import AssistantMessage, ContinueWithMessages, Finish, Message, TurnEndAnswer


class JsonValidator:
    """Ends a turn only with a JSON object that has the `required` keys; else says what is wrong and continues.

    A fence of three backticks around the JSON is allowed. How often it may continue is bounded by
    `agent.max_turn_end_retries`.
    """

    def __init__(self, required: Sequence[str] = ()) -> None:
        self._required = tuple(required)

    async def on_turn_end(self, messages: Sequence[Message]) -> TurnEndAnswer:
        """Finish, or tell the model what its answer lacks."""
        last = messages[-1] if messages else None
        if not isinstance(last, AssistantMessage):
            return Finish()
        problem = self._find_problem(_strip_fence(last.response.text_content()))
        if problem is None:
            return Finish()
        return ContinueWithMessages(
            (f"Your answer must be one JSON object and nothing else: {problem}. Answer again.",)
        )

    def _find_problem(self, text: str) -> str | None:
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError) as error:
            return f"it cannot be read ({error})"
        if not isinstance(value, dict):
            return "it is JSON, but no object"
        missing = [name for name in self._required if name not in value]
        return f"it lacks {', '.join(missing)}" if missing else None


def _strip_fence(text: str) -> str:
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        return text.partition("\n")[2].removesuffix("```")
    return text

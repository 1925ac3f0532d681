"""The port to what a model may call before it answers in fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from quorum.domain.calls.tool import ToolCall, ToolResultMessage
from quorum.domain.text.json_value import JsonObject


class AnswerTools(Protocol):
    """What a model may call before it answers."""

    @property
    def schemas(self) -> tuple[JsonObject, ...]:
        """The neutral schemas of the tools."""
        ...

    @property
    def most_rounds(self) -> int:
        """After so many answers that call them the model has to give its own."""
        ...

    async def run(self, calls: Sequence[ToolCall], round_index: int) -> tuple[ToolResultMessage, ...]:
        """A result for each call, in their order. Raises HookAborted where a hook ends the run."""
        ...

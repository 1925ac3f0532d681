"""What the programs of members have in common, and what each of them answers to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.response import END_TURN, MAX_TOKENS, REFUSAL, StopReason, Usage
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.members.process import MemberProcess

OWN_MODEL = "default"
"""The name of the model that the program itself chooses."""

STOPS = {"max_tokens": MAX_TOKENS, "refusal": REFUSAL}
"""The endings that are told apart; any other is the end of the answer."""


class MemberTask(Struct, frozen=True, kw_only=True):
    """All that is known of a question before it is asked, so that a process can be made ready for it.

    `schema` is the JSON Schema of the answer, None for text.
    """

    model: str
    system: str
    schema: JsonObject | None
    effort: Effort


class MemberAnswer(Struct, frozen=True, kw_only=True):
    """An answer: its text, or the text of a JSON object where a schema was given."""

    text: str
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    stop: StopReason = END_TURN


class MemberDialect(Protocol):
    """How one kind of program is started, made ready and asked."""

    def list_words(self, words: Sequence[str], task: MemberTask, folder: Path) -> Sequence[str]:
        """The command line for a task. May lay files in the folder."""
        ...

    def find_call(self, line: str) -> str:
        """The tool that a line of standard error tells of a call to; empty where it tells of none."""
        ...

    async def make_ready(self, process: MemberProcess, task: MemberTask) -> None:
        """Do what can be done before there is a question. Raises ProviderError."""
        ...

    async def ask(
        self, process: MemberProcess, task: MemberTask, prompt: str, on_text: Callable[[str], None]
    ) -> MemberAnswer:
        """Ask, and tell the text that arrives. Raises ProviderError, also where the program calls a tool."""
        ...

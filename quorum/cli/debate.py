"""`quorum debate`: one model answers a question and others object, without a screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from quorum.command_line import shared
from quorum.command_line.command import CliCommand
from quorum.command_line.options import PromptOptions
from quorum.headless.answer_prompt import answer_prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateOptions(PromptOptions):
    """What `quorum debate` was asked."""

    kind: ClassVar[str] = "debate"


COMMAND = CliCommand(
    DebateOptions,
    answer=answer_prompt,
    details=f"{shared.EXIT_CODES} It is 4 where no participant answered.",
    arguments=shared.OF_PROMPTS,
    examples=(
        ('quorum debate "may we drop the nightly lock?"', "the models of the settings"),
        (
            "quorum debate -m participants=openai/gpt-5.4 -m participants=anthropic/claude-sonnet-5-5 -",
            "the first answers, the second objects; the question from stdin",
        ),
    ),
)

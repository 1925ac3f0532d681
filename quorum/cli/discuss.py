"""`quorum discuss`: several models answer one question and agree on a text, without a screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from quorum.command_line import shared
from quorum.command_line.command import CliCommand
from quorum.command_line.options import PromptOptions
from quorum.headless.answer_prompt import answer_prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscussOptions(PromptOptions):
    """What `quorum discuss` was asked."""

    kind: ClassVar[str] = "discuss"


COMMAND = CliCommand(
    DiscussOptions,
    answer=answer_prompt,
    details=f"{shared.EXIT_CODES} It is 4 where no participant answered.",
    arguments=shared.OF_PROMPTS,
    examples=(
        ('quorum discuss "queue or cron for the nightly import?"', "the models of the settings"),
        (
            "quorum discuss -m participants=openai/gpt-5.4 -m participants=anthropic/claude-sonnet-5-5 -",
            "these models; the question from stdin",
        ),
    ),
)

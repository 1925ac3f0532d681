"""`quorum ask`: one question without a screen, answered with tools that only look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from quorum.command_line import shared
from quorum.command_line.command import CliCommand
from quorum.command_line.options import PromptOptions
from quorum.headless.answer_prompt import answer_prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions(PromptOptions):
    """What `quorum ask` was asked."""

    kind: ClassVar[str] = "ask"


COMMAND = CliCommand(
    AskOptions,
    answer=answer_prompt,
    details=shared.EXIT_CODES,
    arguments=(
        shared.OUTPUT,
        shared.IMAGES,
        *shared.MODELS,
        *shared.LIMITS,
        shared.FOLDERS,
        *shared.PLACES_OF_PROMPTS,
        shared.SAFE,
        shared.DEBUG,
        shared.PROMPT,
    ),
    examples=(
        ('quorum ask "where is the retry limit set?"', "the answer on stdout"),
        ("quorum ask -m ask=openai/gpt-5.4 -", "the question from stdin, to this model"),
    ),
)

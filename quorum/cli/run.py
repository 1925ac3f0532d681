"""`quorum run`: one prompt without a screen."""

from __future__ import annotations

from dataclasses import dataclass

from quorum.command_line import shared
from quorum.command_line.command import CliCommand, argument, flag
from quorum.command_line.options import PromptOptions
from quorum.headless.answer_prompt import answer_prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(PromptOptions):
    """What `quorum run` was asked."""

    def find_conflict(self) -> str:
        """A session can be continued without a prompt where its reviews are left open, or it has a goal, which
        is known once it is open."""
        if conflict := PromptOptions.find_conflict(self):
            return conflict
        is_continued = self.continues or self.resume is not None
        if self.prompt is None and self.goal is None and not is_continued:
            return "the following arguments are required: PROMPT"
        if self.images and self.prompt is None and self.goal is None:
            return "--image goes with a PROMPT"
        if self.checks and self.goal is None and not is_continued:
            return "--check goes with --goal, or with --continue in a session that has a goal"
        return ""


COMMAND = CliCommand(
    RunOptions,
    answer=answer_prompt,
    details=shared.EXIT_CODES,
    arguments=(
        shared.OUTPUT,
        shared.CONTINUED,
        shared.FORK,
        flag(
            "--leave-open",
            help="leave a review that needs you open, for quorum inbox, and end with code 3; without PROMPT, "
            "continue what is unfinished in the session",
        ),
        argument(
            "--goal",
            metavar="TEXT",
            help="what is to be reached: the turn goes on until all checks pass, or to a limit; TEXT is the "
            "prompt where there is no other",
        ),
        argument(
            "--check",
            dest="checks",
            metavar="CMD",
            action="append",
            help="a shell command that passes with exit code 0, run after each attempt; repeat for more",
        ),
        argument(
            "--json-schema",
            metavar="FILE|JSON",
            help="the answer is one JSON value that fits this JSON schema: asked for, checked, sent back once; "
            "exit code 1 with the place where it does not fit",
        ),
        shared.IMAGES,
        *shared.MODELS,
        shared.MODE,
        shared.SCOPE,
        *shared.CONSENSUS,
        *shared.LIMITS,
        shared.FOLDERS,
        *shared.PLACES_OF_PROMPTS,
        shared.SAFE,
        shared.DEBUG,
        argument("prompt", metavar="PROMPT", nargs="?", help="the prompt; - reads it from stdin"),
    ),
    examples=(
        ('quorum run "why does test_retry fail?"', "the answer on stdout"),
        ("git diff | quorum run -", "the prompt from stdin"),
        ('quorum run --output json --max-cost-usd 0.50 "fix the lint errors"', "one JSON object"),
        ('quorum run --json-schema release.schema.json "what is the next version?"', "the answer as JSON"),
        ('quorum run --continue "and now the tests"', "in the latest session of this folder"),
        ('quorum run --mode sandboxed --goal "all tests pass" --check "pytest -q"', "until they do"),
        ("quorum run --leave-open --resume latest", "after quorum inbox has answered its review"),
    ),
)

"""The last run of tests in the work of a session, and whether an answer speaks of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec import Struct

from quorum.domain.calls.command_end import CommandEnd
from quorum.domain.calls.execution import Outcome
from quorum.domain.replacing import replace
from quorum.domain.shell.known_test_runners import runs_tests
from quorum.domain.text.pattern import compile_once


class RanCommand(Struct, frozen=True):
    """A command ended. `end` is the end of what it put out; `exit_code` is known where the person ran it."""

    command: str
    outcome: Outcome
    end: str = ""
    exit_code: int | None = None

    def read_exit_code(self) -> int | None:
        """Its exit code, None where nobody knows it."""
        if self.exit_code is not None:
            return self.exit_code
        return CommandEnd.read(self.command, self.outcome, self.end).exit_code


class EditedFiles(Struct, frozen=True):
    """Files changed, by this command where it was one; `others_run`: something ran beside it."""

    paths: tuple[str, ...]
    command: str = ""
    others_run: bool = False


class MayHaveTested(Struct, frozen=True):
    """Something began or ended that may have run tests without saying so, such as a subagent."""


WorkEntry: TypeAlias = RanCommand | EditedFiles | MayHaveTested


class SeenTestRun(Struct, frozen=True, kw_only=True):
    """The last command that is known to have run tests. `edited` are the files that changed since it began;
    `is_unsure`: something ran after the last of these changes that may have run tests, too."""

    command: str
    exit_code: int
    edited: tuple[str, ...] = ()
    is_unsure: bool = False

    @property
    def predates_edit(self) -> bool:
        """Whether no tests can have run since the last change of a file."""
        return bool(self.edited) and not self.is_unsure


def find_last_test_run(work: Iterable[WorkEntry]) -> SeenTestRun | None:
    """The last run of tests in this work, the oldest first; None where none is known. Whatever may have run
    tests without saying so, such as a script, makes it unsure until the next edit."""
    last: SeenTestRun | None = None
    for entry in work:
        match entry:
            case RanCommand(command=command):
                tests, code = runs_tests(command), entry.read_exit_code()
                if tests and code is not None:
                    last = SeenTestRun(command=command, exit_code=code)
                elif tests is not False and last is not None:
                    last = replace(last, is_unsure=True)
            case EditedFiles(paths, command, others_run) if last is not None:
                if not (command and runs_tests(command)):
                    edited = tuple(dict.fromkeys([*paths, *last.edited]))
                    last = replace(last, edited=edited, is_unsure=others_run)
            case MayHaveTested() if last is not None:
                last = replace(last, is_unsure=True)
            case _:
                continue  # nothing is known to have run before
    return last


_TESTS = r"(?:unit |integration |regression )?(?:tests?|test suite|test cases?|specs|pytest|unittests?)"
_RESULT = (
    r"(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?|(?:is|are|all|stay|were) (?:now )?green|fail(?:s|ed|ing)?|"
    r"(?:is|are) (?:now )?(?:ok|fine|red))"
)
_CLAIM = (
    rf"(?i)\b{_TESTS}\b[^.!?\n]{{0,60}}\b{_RESULT}\b"
    rf"|\b(?:passes|passed|passing|green)\b[^.!?\n]{{0,40}}\b{_TESTS}\b"
    r"|\b[0-9][0-9,]* (?:passed|failed|passing|failing)\b"
    rf"|\b(?:ran|verified with|confirmed (?:by|with)) (?:all |the |all the )?{_TESTS}\b"
)
_NO_CLAIM = (
    r"(?i)\b(?:should|would|will|may|might|could|must|to make|make sure|ensure|until|once|if|whether|not run|"
    r"did not run|have not|haven't|didn't)\b"
)
_SENTENCE = r"(?<=[.!?])\s+|\n+"
_CODE_BLOCK = r"(?ms)^(```|~~~).*?^\1"


def claims_tests(answer: str) -> bool:
    """Whether an answer says how tests went, outside of its blocks of code. A wish, a condition and a doubt are
    no claim."""
    prose = compile_once(_CODE_BLOCK).sub("\n", answer)
    sentences: Sequence[str] = compile_once(_SENTENCE).split(prose)
    return any(
        compile_once(_CLAIM).search(each) and not compile_once(_NO_CLAIM).search(each) for each in sentences
    )

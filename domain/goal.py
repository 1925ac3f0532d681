"""A goal of the person: a text, commands that check whether it is reached, and receipts of attempts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec import Struct

from quorum.domain.calls.command_end import CommandEnd
from quorum.domain.calls.effects import ChangeKind
from quorum.domain.calls.execution import Outcome
from quorum.domain.errors import GoalRefused
from quorum.domain.replacing import replace
from quorum.domain.shell.known_test_runners import runs_tests
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.pattern import compile_once

PROPOSE_CHECKS = "propose_checks"
MOST_CHECKS = 10
_LONGEST_CHECK = 2_000
_FILES_NAMED = 3
_SHORT_DIGEST = 12


class GoalCheck(Struct, frozen=True, kw_only=True):
    """A shell command that passes by its exit code 0. `digest` is that of what the person approved: its
    words, and the program, files and sandbox that it would run with."""

    command: str
    digest: str


class ApprovedChecks(Struct, frozen=True, kw_only=True):
    """The digests of what the person approved: they `named` some as checks, and have `seen` the others in a
    review, with all that speaks against them."""

    named: frozenset[str] = frozenset()
    seen: frozenset[str] = frozenset()

    def cover(self, digest: str, *, is_objected_to: bool) -> bool:
        """Whether what has this digest may run without another question."""
        return digest in self.seen or (digest in self.named and not is_objected_to)


class CheckRun(Struct, frozen=True, kw_only=True):
    """One run of a check. `exit_code` is None where it has none, as after a timeout; `output_sha256` is that of
    the output as the session has it. `is_edited`: the person changed the command in its review."""

    command: str
    outcome: Outcome
    exit_code: int | None
    output_sha256: str
    is_edited: bool = False

    @property
    def has_passed(self) -> bool:
        return self.outcome is Outcome.OK and self.exit_code == 0

    @property
    def ending(self) -> str:
        """How it ended, in a few words."""
        edited = " (as you edited it)" if self.is_edited else ""
        if self.has_passed:
            return f"passed{edited}"
        if self.exit_code is not None:
            return f"exited with {self.exit_code}{edited}"
        return f"ended with no exit code ({self.outcome.value}){edited}"


class GoalFile(Struct, frozen=True, kw_only=True):
    """A file that is not as it was when the goal was set. `path` begins at the workspace where it lies in it;
    `sha256` is None where the file is gone or its content is not known."""

    path: str
    kind: ChangeKind
    sha256: str | None = None

    @property
    def label(self) -> str:
        """The path, and whether the file is gone."""
        return f"{self.path} (deleted)" if self.kind is ChangeKind.DELETED else self.path


class GoalReceipt(Struct, frozen=True, kw_only=True):
    """What came of the checks after one attempt, and of which files.

    `tree` is the digest over the files of the workspace once the checks had run, and `manifest` names the
    stored list of them. `changed` are the first of `changed_count` files that differ since the goal was set;
    `check_files` those of them that a check names or its program reads, and `written` what the checks
    themselves changed. `is_complete`: every file was looked at.
    """

    attempt: int
    runs: tuple[CheckRun, ...]
    tree: str
    manifest: str
    changed: tuple[GoalFile, ...] = ()
    changed_count: int = 0
    check_files: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    is_complete: bool = True

    @property
    def has_passed(self) -> bool:
        return bool(self.runs) and all(run.has_passed for run in self.runs)

    @property
    def sentence(self) -> str:
        """All of it on one line."""
        head = "goal reached, attempt" if self.has_passed else "goal not reached, attempt"
        parts = [
            f"{head} {self.attempt}: {', '.join(f'`{run.command}` {run.ending}' for run in self.runs)}",
            f"{format_amount(self.changed_count, 'file')} changed, tree {self.tree[:_SHORT_DIGEST]}",
        ]
        if self.check_files:
            parts.append(f"changed in this goal, and a check depends on it: {name_files(self.check_files)}")
        if self.written:
            parts.append(f"changed by the checks themselves: {name_files(self.written)}")
        if not self.is_complete:
            parts.append("not every file could be looked at")
        return "; ".join(parts)

    @property
    def details(self) -> str:
        """The digests, and the files that were changed, a line each."""
        runs = [f"{run.output_sha256} output of {run.command}" for run in self.runs]
        files = [f"{file.sha256 or '-'} {file.kind.value} {file.path}" for file in self.changed]
        left_out = self.changed_count - len(self.changed)
        more = [f"{format_amount(left_out, 'more file')} not listed"] if left_out else []
        return "\n".join([f"{self.tree} tree", *runs, *files, *more])


class Goal(Struct, frozen=True, kw_only=True):
    """A goal that was set and not taken away. `manifest` names the stored list of the files as they were then.

    `attempts` counts those whose checks ran, `attempts_in_turn` those of the turn that runs or ran last; a turn
    that continues one whose process died continues its count. `receipt` is that of the last attempt, and
    `outdated_by` are files that changed since. `seen` are the digests of what the person was asked about and
    approved, guards' objections and all.
    """

    text: str
    manifest: str
    checks: tuple[GoalCheck, ...] = ()
    attempts: int = 0
    attempts_in_turn: int = 0
    receipt: GoalReceipt | None = None
    outdated_by: tuple[str, ...] = ()
    seen: frozenset[str] = frozenset()

    @property
    def is_open(self) -> bool:
        """Whether checks run at the end of a turn: it is not reached yet."""
        return self.receipt is None or not self.receipt.has_passed

    @property
    def is_outdated(self) -> bool:
        return bool(self.outdated_by)

    @property
    def approved(self) -> ApprovedChecks:
        return ApprovedChecks(named=frozenset(check.digest for check in self.checks), seen=self.seen)

    @property
    def standing(self) -> str:
        """How far it is, in a few words."""
        if self.receipt is None:
            return "not checked yet" if self.checks else "no checks yet"
        passed = sum(run.has_passed for run in self.receipt.runs)
        counted = "reached" if self.receipt.has_passed else f"{passed} of {len(self.receipt.runs)} checks pass"
        stale = ", receipt stale" if self.is_outdated else ""
        return f"{counted} in attempt {self.receipt.attempt}{stale}"

    @property
    def paragraphs(self) -> tuple[tuple[str, ...], ...]:
        """What the person reads who asks how it stands: lines that belong together."""
        checks = tuple(f"check: {check.command}" for check in self.checks)
        shown = [(f"goal: {self.text}", *checks), (self.standing,)]
        if self.receipt is not None:
            shown.append((self.receipt.sentence,))
        if self.is_outdated:
            shown.append((describe_outdated(self.outdated_by),))
        return tuple(shown)


def describe_outdated(files: Sequence[str]) -> str:
    """That a receipt holds no more, and why."""
    return f"the receipt of the goal is stale: changed since its checks ran: {name_files(files)}"


def name_files(files: Sequence[str]) -> str:
    """The first of these paths, and how many more there are."""
    more = len(files) - _FILES_NAMED
    return ", ".join(files[:_FILES_NAMED]) + (f" and {more:,} more" if more > 0 else "")


class TypedGoal(Struct, frozen=True):
    """A goal as it was typed: its text, and the commands of its checks."""

    text: str
    checks: tuple[str, ...]


_FIRST_CHECK = r"(?:^|\s)!(?=\s|$)"
_LIKE_A_CHECK = r"(?:^|\s)(![^\s=]\S*)"


def parse_goal(typed: str) -> TypedGoal:
    """The goal that was typed behind `/goal`. A check begins with `!`: on a line of its own, or behind the text
    in the first line. Raises GoalRefused."""
    first, *lines = typed.strip().splitlines() or [""]
    text, checks = first, []
    if (mark := compile_once(_FIRST_CHECK).search(first)) is not None:
        text, checks = first[: mark.start()], [first[mark.end() :]]
    texts = [text]
    for line in lines:
        if (stripped := line.strip()).startswith("!"):
            checks.append(stripped[1:])
        else:
            texts.append(line)
    if not checks and (like := compile_once(_LIKE_A_CHECK).search(first)) is not None:
        word = like.group(1)
        raise GoalRefused(
            f"{word} may be a check or not: write ! {word[1:]} to have it run, or leave the ! out"
        )
    return TypedGoal("\n".join(texts).strip(), read_commands(checks))


def read_commands(commands: Sequence[JsonValue], *, least: int = 0) -> tuple[str, ...]:
    """The commands of checks, each once. Raises GoalRefused for what can be none."""
    read: dict[str, None] = {}
    for number, command in enumerate(commands, 1):
        if not isinstance(command, str) or not (text := command.strip()):
            raise GoalRefused(f"check {number} is empty; write the command that has to exit with 0")
        if len(text) > _LONGEST_CHECK:
            raise GoalRefused(f"check {number} has more than {_LONGEST_CHECK:,} characters; put it in a script")
        read[text] = None
    if not least <= len(read) <= MOST_CHECKS:
        raise GoalRefused(f"a goal has {least or 'up'} to {MOST_CHECKS} checks, and these are {len(read)}")
    return tuple(read)


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

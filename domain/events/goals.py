"""Events about goals: what is to be reached, the checks, what came of them, and tests that ran too early."""

from __future__ import annotations

from typing import ClassVar

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.fact import CallStage, CanonicalPlace, Fact, PersonInput
from quorum.domain.goal import GoalCheck, GoalReceipt, describe_outdated, name_files


class GoalSet(PersonInput, frozen=True, kw_only=True, tag="goal_set"):
    """The person set a goal, in place of any other. The model proposes checks where there are none.

    `manifest` names the stored list of the files of the workspace as they are.
    """

    text: str
    manifest: str
    checks: tuple[GoalCheck, ...] = ()

    @property
    def sentence(self) -> str:
        """The goal with its checks."""
        return f"goal: {self.text} ({_name_checks(self.checks) or 'the model proposes the checks'})"


class ChecksApproved(Fact, frozen=True, kw_only=True, tag="checks_approved"):
    """The person approved these checks of the goal; `context` is the call that proposed them, not there where
    they named them themselves."""

    checks: tuple[GoalCheck, ...]
    context: ToolExecutionContext | None = None

    @property
    def place(self) -> CanonicalPlace | CallStage:  # type: ignore[override]
        """Among those of its call, where it has one."""
        return CanonicalPlace.BOUNDARY if self.context is None else CallStage.PLAN_APPROVED

    @property
    def sentence(self) -> str:
        """The checks."""
        return f"the goal has {_name_checks(self.checks)}"


class GoalChecked(Fact, frozen=True, kw_only=True, tag="goal_checked"):
    """The checks of the goal ran after an attempt."""

    receipt: GoalReceipt

    @property
    def is_warning(self) -> bool:  # type: ignore[override]
        """Whether the person has to look: a check failed, or what it reads was changed."""
        return not self.receipt.has_passed or bool(self.receipt.check_files or self.receipt.written)

    @property
    def sentence(self) -> str:
        """The receipt, on one line."""
        return self.receipt.sentence

    @property
    def details(self) -> str:
        """Its digests and files."""
        return self.receipt.details


class GoalReceiptOutdated(Fact, frozen=True, kw_only=True, tag="goal_receipt_outdated"):
    """The receipt of the goal holds no more: these files were changed since."""

    is_warning: ClassVar = True
    files: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        return describe_outdated(self.files)


class GoalDropped(Fact, frozen=True, kw_only=True, tag="goal_dropped"):
    """The person took the goal away; no checks run any more."""

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        return "the goal is off"


class OutdatedTestsClaimed(Fact, frozen=True, kw_only=True, tag="outdated_tests_claimed"):
    """An answer speaks of tests that passed or failed, and the last run of tests in this session is older than
    the last change of these files."""

    is_warning: ClassVar = True
    command: str
    exit_code: int
    files: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        run = f"`{self.command}`, exit code {self.exit_code}"
        return f"the last test run ({run}) predates the last edit ({name_files(self.files)})"


def _name_checks(checks: tuple[GoalCheck, ...]) -> str:
    named = ", ".join(f"`{check.command}`" for check in checks)
    return f"checks: {named}" if named else ""

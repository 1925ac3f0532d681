"""What is answered about a call of another agent that could not be decided about."""

from __future__ import annotations

from quorum.domain.errors import ConfigError
from quorum.domain.review.gate_decision import GateDecision
from quorum.domain.review.permission_rules import Answer
from quorum.infrastructure.config.policy_file import read_policy

_UNSIGNED = "the policy of this machine has people sign calls, and this may be one of them"


def answer_undecided(reason: str) -> GateDecision:
    """The caller's person is to be asked; where calls have to be signed, their yes is no signature."""
    try:
        has_signers = bool(read_policy().people.rules)
    except ConfigError as error:  # what it demands is not known
        return GateDecision(answer=Answer.DENY, reasons=(reason, str(error)))
    if has_signers:
        return GateDecision(answer=Answer.DENY, reasons=(reason, _UNSIGNED))
    return GateDecision.ask(reason)

"""What `quorum sessions verify` says of the signatures under approvals, by the policy of this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quorum.application.review.signed_approval import Verify
    from quorum.domain.review.people import PeoplePolicy
    from quorum.domain.sessions.session_summary import LedgerRecord

REVIEW_TYPES = ("review_requested", "review_decided")
"""The types of the records that it looks at."""


async def check_signatures(records: Sequence[LedgerRecord]) -> tuple[tuple[str, ...], bool]:
    """Lines for the person, and whether each approval that people had to sign has signatures that hold. Where
    the policy names nobody, none is checked. Raises ConfigError for a policy that cannot be read."""
    from quorum.domain.sessions.signed_decisions import list_signed_decisions

    if not (decisions := list_signed_decisions(records)):
        return (), True
    from quorum.application.review.signed_approval import verify_signatures
    from quorum.domain.text.amounts import format_amount
    from quorum.domain.text.printable import make_printable
    from quorum.infrastructure.config.policy_file import read_policy

    people = read_policy().people
    counted = format_amount(len(decisions), "approval")
    if not people.people:
        return (f"  {counted} signed, not checked: the policy of this machine names no people",), True
    lines: list[str] = []
    for decision in decisions:
        ids = {each.session_id for each in decision.signatures}
        # A fork has the decisions of the session that it comes from.
        session_id = next(iter(ids)) if len(ids) == 1 else ""
        made_ms = max((each.at_ms for each in decision.signatures), default=0)
        verify = _hold_at(people, made_ms)
        tally = await verify_signatures(
            verify, decision.terms, decision.signatures, session_id=session_id, digest=decision.digest
        )
        if not decision.terms.is_met(tally.signed):
            why = "; ".join((*tally.problems, decision.terms.describe_missing(tally.signed)))
            lines.append(f"  record {decision.seq}: NOT SIGNED as it had to be: {make_printable(why)}")
    if lines:
        return tuple(lines), False
    return (f"  {counted} signed, as they had to be, by keys of the policy",), True


def _hold_at(people: PeoplePolicy, at_ms: int) -> Verify:
    """Tells whether a signature held at that time: a key that has expired since did its part."""
    from quorum.infrastructure.permissions.ssh_signatures import SshSignatures

    return SshSignatures(policy=people, environ=os.environ, clock=lambda: at_ms).verify

"""Signatures under approvals: what a call takes, what is signed, and which signatures count.

An approval is a signature over the digest of one packet, in one session, by the key of one person.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

NAMESPACE = "quorum-approval"
"""What a signature is for: one made for something else is none."""


class SigningDemand(Struct, frozen=True):
    """So many of these people must sign."""

    needed: int
    people: tuple[str, ...]

    def describe(self) -> str:
        """The demand in words that fit behind "takes the signatures of"."""
        whom = ", ".join(self.people) or "nobody"
        return whom if self.needed == len(self.people) else f"{self.needed} of {whom}"


class SigningTerms(Struct, frozen=True, kw_only=True):
    """What one call needs. `requester` is who asked for it, empty where that is not known; `others` have asked
    for something in its session, too, and so have as many as `unnamed`, of whom nobody knows who they are: for
    each of them one more must sign."""

    demands: tuple[SigningDemand, ...]
    requester: str = ""
    others: tuple[str, ...] = ()
    unnamed: int = 0

    @property
    def asked(self) -> tuple[str, ...]:
        """All who are known to have asked."""
        return tuple(filter(None, (self.requester, *self.others)))

    @property
    def people(self) -> tuple[str, ...]:
        """All whose signature counts."""
        return tuple(dict.fromkeys(name for demand in self.demands for name in demand.people))

    def is_met(self, signed: Collection[str]) -> bool:
        """Whether these people are enough."""
        return all(len(set(demand.people) & set(signed)) >= demand.needed for demand in self.demands)

    def describe(self) -> str:
        """The terms as one sentence without a full stop."""
        demanded = " and of ".join(demand.describe() for demand in self.demands)
        verb = "does" if len(self.asked) == 1 else "do"
        without = f"; {', '.join(self.asked)} asked for it and {verb} not count" if self.asked else ""
        if self.unnamed:
            without += f"; {self.unnamed} more than the policy says, as it is not known who asked"
        if any(demand.needed > len(demand.people) for demand in self.demands):
            without += "; the policy names too few people for that, so nobody can approve it"
            if self.unnamed or self.others:
                without += ": ask for it in a new session, under the account of one person"
        return f"it takes the signatures of {demanded}{without}"

    def describe_missing(self, signed: Collection[str]) -> str:
        """Whose signatures are still needed, as a clause; empty where none is."""
        missing = [
            SigningDemand(
                demand.needed - len(set(demand.people) & set(signed)),
                tuple(name for name in demand.people if name not in signed),
            ).describe()
            for demand in self.demands
            if len(set(demand.people) & set(signed)) < demand.needed
        ]
        return f"still to sign: {', and '.join(missing)}" if missing else ""

    def describe_signed(self, signed: Collection[str]) -> str:
        """Who has signed and who is missing, as a clause; empty where nobody has."""
        if not signed:
            return ""
        rest = self.describe_missing(signed) or "all have signed, and its session takes it as it goes on"
        return f"signed by {', '.join(signed)}; {rest}"


class ApprovalSignature(Struct, frozen=True, kw_only=True):
    """The approval of a packet by one person.

    `at_ms` is when, in milliseconds since 1970; `signature` is one of SSH without the lines around it.
    """

    session_id: str
    digest: str
    person: str
    at_ms: int
    signature: str = ""

    @property
    def statement(self) -> bytes:
        """The bytes that are signed: nothing else that is approved has the same."""
        said = {
            "approves": True,
            "at_ms": self.at_ms,
            "digest": self.digest,
            "format": NAMESPACE,
            "person": self.person,
            "session": self.session_id,
        }
        return json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


class SignatureTally(Struct, frozen=True, kw_only=True):
    """The signatures that count, one of each person, and why others do not."""

    counted: tuple[ApprovalSignature, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def signed(self) -> tuple[str, ...]:
        """Who has signed."""
        return tuple(each.person for each in self.counted)


def tally_signatures(
    terms: SigningTerms,
    given: Sequence[ApprovalSignature],
    problems: Mapping[ApprovalSignature, str],
    *,
    session_id: str,
    digest: str,
) -> SignatureTally:
    """Count signatures about one packet; `problems` says of each that does not hold why."""
    counted: dict[str, ApprovalSignature] = {}
    refused: list[str] = []
    for each in given:
        if each.session_id != session_id or each.digest != digest:
            refused.append(f"a signature of {each.person} is about something else")
        elif each.person in terms.asked:
            refused.append(f"{each.person} asked for it, and so does not count")
        elif each.person not in terms.people:
            refused.append(f"{each.person} is not among those who may sign it")
        elif problem := problems.get(each):
            refused.append(f"the signature of {each.person} does not count: {problem}")
        else:
            counted.setdefault(each.person, each)
    return SignatureTally(counted=tuple(counted.values()), problems=tuple(dict.fromkeys(refused)))

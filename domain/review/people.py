"""People as a quorum: who is who, and which calls so many of them must sign.

That comes from the managed policy. Who asked for a call does not count among those who approve it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct, field

from quorum.domain.replacing import replace
from quorum.domain.review.permission_rules import Rule
from quorum.domain.review.signing import SigningDemand, SigningTerms


class Person(Struct, frozen=True, kw_only=True):
    """Somebody who may approve.

    `keys` are public keys as SSH writes them, `revoked` those that do not count any more; `accounts` are the
    names of their accounts on the machines that sessions run on; `expires_ms`, in milliseconds since 1970, is
    when their keys end, None where they do not.
    """

    name: str
    keys: tuple[str, ...]
    revoked: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    expires_ms: int | None = None


class SigningRule(Struct, frozen=True, kw_only=True):
    """Calls that `rule` asks about run once `needed` of these people have signed."""

    rule: Rule
    needed: int
    people: tuple[str, ...]


class PeoplePolicy(Struct, frozen=True, kw_only=True):
    """Who is who, and what they must sign; the default demands nothing."""

    people: Mapping[str, Person] = field(default_factory=dict)
    rules: tuple[SigningRule, ...] = ()

    def find_person(self, account: str) -> str:
        """Whose account this is, empty where it is nobody's."""
        return next((each.name for each in self.people.values() if account in each.accounts), "")

    def forget_accounts(self) -> PeoplePolicy:
        """The same for sessions whose account does not tell who asked: nobody is known to have."""
        people = {name: replace(each, accounts=()) for name, each in self.people.items()}
        return replace(self, people=people)

    def find_terms(self, spoke: Collection[str], account: str) -> SigningTerms | None:
        """What a call needs that rules of these ids ask about, in a session of this account; None where no rule
        of the policy is among them.

        Where nobody is known to have asked, one of those who sign may have: one more is needed then.
        """
        bound = [each for each in self.rules if f"rule {each.rule.id}" in spoke]
        if not bound:
            return None
        requester = self.find_person(account)
        demands = (
            SigningDemand(
                each.needed + (0 if requester else 1),
                tuple(name for name in each.people if name != requester),
            )
            for each in bound
        )
        return SigningTerms(demands=tuple(dict.fromkeys(demands)), requester=requester)

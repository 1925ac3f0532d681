"""People as a quorum: who is who, and which calls so many of them must sign.

That comes from the managed policy. Who asked for a call does not count among those who approve it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct, field

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
    """Who is who, and what they must sign; the default demands nothing. `account_asks`: who asks is the person
    of the account that the session runs under."""

    people: Mapping[str, Person] = field(default_factory=dict)
    rules: tuple[SigningRule, ...] = ()
    account_asks: bool = True

    def find_person(self, account: str) -> str:
        """Whose account this is, empty where it is nobody's."""
        return next((each.name for each in self.people.values() if account in each.accounts), "")

    def find_terms(self, spoke: Collection[str], accounts: Collection[str]) -> SigningTerms | None:
        """What a call needs that rules of these ids ask about, where those of these accounts have asked; None
        where no rule of the policy is among them.

        Each account that is nobody's, as the empty one, may be one of those who sign: one more is needed then.
        """
        bound = [each for each in self.rules if f"rule {each.rule.id}" in spoke]
        if not bound:
            return None
        found = {account: self.find_person(account) for account in sorted(accounts)}
        asked = tuple(dict.fromkeys(filter(None, found.values())))
        unknown = sum(not name for name in found.values())
        demands = (
            SigningDemand(each.needed + unknown, tuple(name for name in each.people if name not in asked))
            for each in bound
        )
        return SigningTerms(
            demands=tuple(dict.fromkeys(demands)),
            requester=next(iter(asked), ""),
            others=asked[1:],
            unnamed=unknown,
        )

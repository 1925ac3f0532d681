"""People as a quorum: who is who, by which keys, and which calls so many of them must sign.

That comes from the managed policy. Who asked for a call does not count among those who approve it. Source for
keys: RFC 4253, section 6.6, and RFC 4251, section 5 (string, mpint); OpenSSH takes leading zeros as well.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
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


_LENGTH_BYTES = 4
_OF_NUMBERS = ("ssh-rsa", "ssh-dss")
"""Keys whose parts are all numbers."""


def find_fingerprint(key: str) -> str:
    """The fingerprint of a line as `~/.ssh/*.pub` has it: the same for one key however its base64, its numbers
    and its comment are written. Empty where it is no public key, or a certificate of one."""
    words = key.split(maxsplit=2)
    if len(words) < 2 or "-cert-" in words[0]:
        return ""
    kind, text = words[0], words[1].rstrip("=")
    try:
        blob = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        return ""
    parts = _split_strings(blob)
    if len(parts) < 2 or parts[0] != kind.encode():
        return ""
    if kind in _OF_NUMBERS:
        parts = [parts[0], *map(_shorten_number, parts[1:])]
    whole = b"".join(len(part).to_bytes(_LENGTH_BYTES) + part for part in parts)
    return "SHA256:" + base64.b64encode(hashlib.sha256(whole).digest()).decode().rstrip("=")


def _split_strings(blob: bytes) -> list[bytes]:
    """The strings of which it is made, each with its length before it; none where that does not come out."""
    parts, at = [], 0
    while at < len(blob):
        begin = at + _LENGTH_BYTES
        at = begin + int.from_bytes(blob[at:begin])
        if at > len(blob) or begin > len(blob):
            return []
        parts.append(blob[begin:at])
    return parts


def _shorten_number(number: bytes) -> bytes:
    """The same number in the one form that the standard has for it."""
    short = number.lstrip(b"\0")
    return b"\0" + short if short[:1] >= b"\x80" else short

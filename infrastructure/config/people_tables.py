"""The tables of the managed policy about people: who is who, and what they have to sign."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from quorum.domain.review.people import PeoplePolicy, Person, SigningRule
from quorum.domain.review.permission_rules import Answer, BadRule, Rule
from quorum.domain.review.public_keys import find_fingerprint
from quorum.infrastructure.config.toml_text import KeyPath

PEOPLE: KeyPath = ("people",)
SIGNATURES: KeyPath = ("signatures",)
PublicKey = Annotated[
    str, Meta(pattern=r"\A(sk-)?(ssh|ecdsa)-[a-z0-9@.-]+ [A-Za-z0-9+/]{40,2000}=*( [^\n]*)?\Z")
]
_DAY_MS = 24 * 60 * 60 * 1000


class PersonTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One person: public keys as `~/.ssh/*.pub` hold them, and the names of their accounts."""

    keys: tuple[PublicKey, ...]
    revoked: tuple[PublicKey, ...] = ()
    accounts: tuple[str, ...] = ()
    expires: datetime.date | None = None


class SignatureTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Calls, as permission rules name them, and how many of whom must sign each."""

    calls: Annotated[tuple[str, ...], Meta(min_length=1)]
    needed: Annotated[int, Meta(ge=1, le=20)]
    people: tuple[str, ...] = ()


def build_people(
    people: Mapping[str, PersonTable],
    tables: Sequence[SignatureTable],
    source: str,
    complain: Callable[[str], None],
) -> PeoplePolicy:
    """What the tables say; `complain` is told what cannot be."""
    known = {
        name: Person(
            name=name,
            keys=tuple(
                key for key in table.keys if find_fingerprint(key) not in map(find_fingerprint, table.revoked)
            ),
            revoked=table.revoked,
            accounts=table.accounts,
            expires_ms=_read_end(table.expires),
        )
        for name, table in people.items()
    }
    _check_keys(people, complain)
    rules: list[SigningRule] = []
    for number, table in enumerate(tables, 1):
        named = table.people or tuple(people)
        where = f"signatures, table {number}"
        if strangers := [name for name in named if name not in people]:
            complain(f"{where}: people names {', '.join(strangers)}, of whom there is no [people.NAME]")
        if table.needed > len(set(named)):
            complain(f"{where}: needed = {table.needed}, and {len(set(named))} people are named")
        for text in table.calls:
            try:
                rule = Rule.parse(text, Answer.ASK, source)
            except BadRule as problem:
                complain(f"{where}: calls: {text!r} is no rule: {problem}")
            else:
                rules.append(SigningRule(rule=rule, needed=table.needed, people=tuple(dict.fromkeys(named))))
    return PeoplePolicy(people=known, rules=tuple(rules))


def _check_keys(people: Mapping[str, PersonTable], complain: Callable[[str], None]) -> None:
    """One key is one person's, also a revoked one, and an account too: else one could count as two, or not as
    who asked."""
    owners: dict[str, str] = {}
    for name, table in people.items():
        held = [f"account {account}" for account in table.accounts]
        for key in (*table.keys, *table.revoked):
            if fingerprint := find_fingerprint(key):
                held.append(f"key {fingerprint}")
            else:
                complain(f"people.{name}: {key[:60]!a} is no public key: give the line of a file ~/.ssh/*.pub")
        for each in dict.fromkeys(held):
            if (owner := owners.setdefault(each, name)) != name:
                complain(f"people.{name} and people.{owner} have the same {each}: leave it to one of them")


def _read_end(day: datetime.date | None) -> int | None:
    """The end of that day, by universal time, in milliseconds since 1970."""
    if day is None:
        return None
    start = datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC)
    return int(start.timestamp() * 1000) + _DAY_MS

"""What a command does to the world, and the data that it does it with."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from quorum.domain.review.plain_request import RequestTerms


class DataKind(StrEnum):
    """Where data come from.

    SECRET: credentials, or what somebody typed. ENVIRONMENT: all variables of the process. FILE: a file.
    MACHINE: what a program prints of this machine. FETCHED: the network. DECODED: something encoded.
    ENDLESS: a source without an end.
    """

    SECRET = "secret"
    ENVIRONMENT = "environment"
    FILE = "file"
    MACHINE = "machine"
    FETCHED = "fetched"
    DECODED = "decoded"
    ENDLESS = "endless"


VARIABLES_OF = "the variables of"
"""How the origin of an environment begins that is not the one of the session, from which secrets are kept."""


class Datum(Struct, frozen=True):
    """Data of one origin; `origin` is a path, an address, or the name of a program or variable."""

    kind: DataKind
    origin: str

    def describe(self) -> str:
        """The data in words that fit behind "sends"."""
        match self.kind:
            case DataKind.ENVIRONMENT if self.origin.startswith(VARIABLES_OF):
                return self.origin
            case DataKind.ENVIRONMENT:
                return "the variables of the environment"
            case DataKind.MACHINE:
                return f"what {self.origin} prints"
            case DataKind.FETCHED:
                return f"what it fetches from {self.origin}"
            case _ if self.origin.startswith("$") and "/" not in self.origin:
                return f"the variable {self.origin}"
            case _ if " " in self.origin:
                return self.origin
            case _:
                return f"what is in {self.origin}"


Data: TypeAlias = frozenset[Datum]
NO_DATA: Data = frozenset()
_KEPT = (DataKind.SECRET, DataKind.ENVIRONMENT, DataKind.FILE, DataKind.MACHINE)


def find_kept(data: Iterable[Datum]) -> Datum | None:
    """The gravest of the data that belong to this machine; None where there are none."""
    kept = [each for each in data if each.kind in _KEPT]
    return min(kept, key=lambda each: (_KEPT.index(each.kind), each.origin), default=None)


def find_kind(data: Iterable[Datum], kind: DataKind) -> Datum | None:
    """One of the data of this kind, if there are any."""
    if not data:
        return None
    found = [each for each in data if each.kind is kind]
    return min(found, key=lambda each: each.origin) if found else None


class EffectKind(StrEnum):
    """What is done. READ, WRITE, CONNECT and UNKNOWN say nothing against a command by themselves.

    REVEAL shows credentials, PERSIST has something run later, ELEVATE gives rights, DISABLE switches a
    protection or a record off, ADMIT lets others in, DISGUISE hides what runs, EXHAUST takes all of the
    machine, ATTACK goes against another machine or process, ALTER changes the system itself, HARM
    loses something.
    """

    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    CONNECT = "connect"
    SEND = "send"
    REVEAL = "reveal"
    RUN_FETCHED = "run fetched"
    RUN_HIDDEN = "run hidden"
    PERSIST = "persist"
    ELEVATE = "elevate"
    DISABLE = "disable"
    ADMIT = "admit"
    DISGUISE = "disguise"
    EXHAUST = "exhaust"
    ATTACK = "attack"
    ALTER = "alter"
    HARM = "harm"
    UNKNOWN = "unknown"


class SideEffect(Struct, frozen=True):
    """One effect. `does` says it in words that fit behind "it"; `place` is the path or host, if it has one.

    `request`: what the person may plainly ask for to have it; None: it is asked about whatever was asked.
    """

    kind: EffectKind
    does: str
    place: str = ""
    request: RequestTerms | None = None

"""What a prompt turns out to ask for."""

from __future__ import annotations

from typing import TypeAlias

from domain.lazy_dataclass import dataclass
from domain.text.json_value import JsonObject

MAX_REQUESTS = 50


@dataclass(frozen=True, slots=True)
class Request:
    """One tool to call, with its arguments."""

    tool: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class Understood:
    """All of the prompt was understood: these requests, in their order."""

    requests: tuple[Request, ...]


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """Some part of the prompt was not understood, so that none of it may run. `hint` is one sentence."""

    part: str
    hint: str


@dataclass(frozen=True, slots=True)
class HelpWanted:
    """The person asks what can be asked."""


@dataclass(frozen=True, slots=True)
class NothingAsked:
    """There is no request in the prompt."""


Reading: TypeAlias = Understood | NotUnderstood | HelpWanted | NothingAsked


class Misread(Exception):
    """A request does not fit the grammar; its text is the hint. Raised and caught within one reading."""

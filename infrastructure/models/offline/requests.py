"""What a prompt turns out to ask for."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from quorum.domain.text.json_value import JsonObject

MAX_REQUESTS = 50


class Request(Struct, frozen=True):
    """One tool to call, with its arguments."""

    tool: str
    arguments: JsonObject


class Understood(Struct, frozen=True):
    """All of the prompt was understood: these requests, in their order."""

    requests: tuple[Request, ...]


class NotUnderstood(Struct, frozen=True):
    """Some part of the prompt was not understood, so that none of it may run. `hint` is one sentence."""

    part: str
    hint: str


class HelpWanted(Struct, frozen=True):
    """The person asks what can be asked."""


class NothingAsked(Struct, frozen=True):
    """There is no request in the prompt."""


Reading: TypeAlias = Understood | NotUnderstood | HelpWanted | NothingAsked


class Misread(Exception):
    """A request does not fit the grammar; its text is the hint. Raised and caught within one reading."""

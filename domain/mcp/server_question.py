"""What an MCP server asks the person while it works: a form to fill in, or an address to open."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct, field

FieldValue: TypeAlias = str | int | float | bool | tuple[str, ...]
"""A value of a form: a tuple holds the values of a field of which several can be chosen."""

_SECRET = re.compile(
    r"pass(word|phrase|code)s?\b|\bpass\b|secrets?\b|tokens?\b|api.?keys?\b|private.?keys?\b|credentials?\b|\bpins?\b"
    r"|\bcvv\b|card.?number",
    re.IGNORECASE,
)


class FieldKind(StrEnum):
    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    CHOICES = "choices"


class TextFormat(StrEnum):
    """The formats of text that a server can ask for."""

    EMAIL = "email"
    URI = "uri"
    DATE = "date"
    DATE_TIME = "date-time"


class FieldChoice(Struct, frozen=True, kw_only=True):
    """One of the values that can be chosen. `title` is what the person reads."""

    value: str
    title: str


class FormField(Struct, frozen=True, kw_only=True):
    """One field. `least` and `most` bound the characters of a text, the value of a number, and how many
    choices are taken."""

    name: str
    title: str
    kind: FieldKind
    description: str = ""
    is_required: bool = False
    default: FieldValue | None = None
    choices: tuple[FieldChoice, ...] = ()
    format: TextFormat | None = None
    least: float | None = None
    most: float | None = None

    @property
    def asks_for_secret(self) -> bool:
        """Whether its words name something that the protocol forbids a server to ask for in a form."""
        words = re.sub(r"[_\W]+|(?<=[a-z])(?=[A-Z])", " ", f"{self.name} {self.title}")
        return _SECRET.search(f"{words} {self.description}") is not None


class ServerForm(Struct, frozen=True, kw_only=True):
    """A form. `call` is the tool that the server works on; empty where it is not known."""

    server: str
    call: str
    message: str
    fields: tuple[FormField, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 over all of it: an answer is one to this and to nothing else."""
        fields = [
            [
                *(one.name, one.title, one.kind, one.description, one.is_required, one.default, one.format),
                *([[choice.value, choice.title] for choice in one.choices], one.least, one.most),
            ]
            for one in self.fields
        ]
        return _compute_digest("form", self.server, self.call, self.message, fields)


class ServerAddress(Struct, frozen=True, kw_only=True):
    """An address that the server wants opened in a browser."""

    server: str
    call: str
    message: str
    address: str

    @property
    def digest(self) -> str:
        """SHA-256 over all of it."""
        return _compute_digest("address", self.server, self.call, self.message, self.address)

    @property
    def host(self) -> str:
        """Where the address leads to; empty where it leads nowhere."""
        try:
            return urlsplit(self.address).hostname or ""
        except ValueError:
            return ""


ServerQuestion: TypeAlias = ServerForm | ServerAddress


class ServerAction(StrEnum):
    """What became of a question. `DECLINE` is a no; `CANCEL` means that nobody decided."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


class ServerAnswer(Struct, frozen=True, kw_only=True):
    """The answer to a question; `values` by name of the field, where a form is accepted."""

    action: ServerAction
    values: Mapping[str, FieldValue] = field(default_factory=dict)


def _compute_digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()

"""What a session's records tell, in order, as every readable form of it shows it.

All texts here are without secrets and safe to draw (`quorum.domain.text.printable`). They still have to be
escaped for the syntax they are put into. Those called lines hold no line feed.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct


class TurnHead(Struct, frozen=True, kw_only=True):
    """A turn begins. `number` counts from 1; an empty `prompt`: it continues with the turn before.

    `taken_back`: the person undid it later, and the conversation continued without it.
    """

    number: int
    at: str
    prompt: str
    taken_back: bool = False


class Said(Struct, frozen=True, kw_only=True):
    """What a model answered. `model` is a line."""

    model: str
    text: str


class Thought(Struct, frozen=True):
    """What a model let be read of its reasoning."""

    text: str


class CallCard(Struct, frozen=True, kw_only=True):
    """One call, from what was asked for to what came back.

    `tool`, `outcome`, `decision` and `history` are lines. `arguments` are JSON; `ran_with` are those it ran
    with, where they are others. `output` is None where none was recorded, `duration_secs` where it did not run
    to its end.
    """

    tool: str
    arguments: str
    ran_with: str | None = None
    diff: str | None = None
    outcome: str
    decision: str
    duration_secs: float | None = None
    output: str | None = None
    history: tuple[str, ...] = ()


class ExportRemark(Struct, frozen=True):
    """A sentence about the session itself, on one line, with the text it is about, if any."""

    line: str
    body: str = ""


Entry: TypeAlias = TurnHead | Said | Thought | CallCard | ExportRemark


class Account(Struct, frozen=True, kw_only=True):
    """A session: its title, facts about it as label and value, and what happened. Title and facts are lines."""

    title: str
    facts: tuple[tuple[str, str], ...]
    entries: tuple[Entry, ...]

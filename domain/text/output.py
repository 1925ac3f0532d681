"""What a tool returns: text that stands for itself, with its styles beside it, or content kept aside.

Whoever only reads the text gets no terminal sequences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonValue


class StyleChange(Struct, frozen=True):
    """From the character `at` on, as the parameters `sgr` of a terminal's sequence say: `1;31`, or nothing to
    end all styles (ECMA-48, SELECT GRAPHIC RENDITION)."""

    at: int
    sgr: str

    @property
    def ends_all(self) -> bool:
        """Whether nothing of what was set before it continues."""
        return self.sgr.strip("0") == ""


Styles: TypeAlias = tuple[StyleChange, ...]


def shift_styles(styles: Styles, by: int) -> Styles:
    """The same for a text that has `by` more characters in front."""
    return tuple(StyleChange(each.at + by, each.sgr) for each in styles)


def insert_sequences(text: str, styles: Sequence[StyleChange]) -> str:
    """The text as a program would print it: with the sequences in it. Those beyond its end are left out."""
    within = [each for each in styles if 0 <= each.at <= len(text)]
    if not within:
        return text
    pieces = [text[: within[0].at]]
    ends = [*(each.at for each in within[1:]), len(text)]
    for change, end in zip(within, ends, strict=True):
        pieces += [f"\x1b[{change.sgr}m", text[change.at : end]]
    return "".join(pieces)


def keep_active_styles(styles: Sequence[StyleChange]) -> Sequence[StyleChange]:
    """Those that still hold after the last of them."""
    last_end = max((place for place, each in enumerate(styles) if each.ends_all), default=-1)
    return styles[last_end + 1 :]


class Text(Struct, frozen=True):
    """Content that is text."""

    text: str


class Structured(Struct, frozen=True):
    """Content that is JSON, because its tool says so; printed JSON stays text.

    As an output it stands for itself where it is short, and is stored where it is long, as text is.
    """

    value: JsonValue


Content: TypeAlias = Text | Structured


class Inline(Struct, frozen=True):
    """An output that goes into the conversation as it is."""

    text: str


class Printed(Struct, frozen=True):
    """What a program printed, and how it styled it; for the conversation a text like any other. `exit_code` is
    there where it is the whole result of a command that ended by itself: its text may say anything."""

    text: str
    styles: Styles = ()
    exit_code: int | None = None


class Stored(Struct, frozen=True):
    """An output that is kept in the blob store; only the summary goes into the conversation.

    An empty summary is made by the runtime from the content.
    """

    content: Content
    summary: str = ""


class Spilled(Struct, frozen=True, kw_only=True):
    """An output that was put into the blob store while it grew. `text` is its beginning and its end,
    `exit_code` that of a `Printed`."""

    blob_id: str
    text: str
    lines: int
    size_bytes: int
    styles: Styles = ()
    exit_code: int | None = None


ToolOutput: TypeAlias = Inline | Printed | Structured | Stored | Spilled


class OutputLimits(Struct, frozen=True, kw_only=True):
    """When an output is promoted to a stored one, and how long its summary may be. Bytes are of UTF-8.

    `head_lines` and `tail_lines` of None: as many whole lines of both ends as fit into `summary_bytes`.
    """

    inline_bytes: int = 800
    summary_bytes: int = 400
    head_lines: int | None = 5
    tail_lines: int | None = 3

    def override(self, *, inline_bytes: int | None, summary_bytes: int | None) -> OutputLimits:
        """These limits with those of one tool in their place; None where it declares none."""
        limits = self if inline_bytes is None else replace(self, inline_bytes=inline_bytes)
        if summary_bytes is None:
            return limits
        return replace(limits, summary_bytes=summary_bytes, head_lines=None, tail_lines=None)


# Of what a command prints a model needs more than of other outputs: errors stand anywhere in it.
COMMAND_LIMITS = OutputLimits(inline_bytes=16_384, summary_bytes=6_144, head_lines=None, tail_lines=None)

"""A document that a model is shown: what is known of it; its content is kept apart, under its hash."""

from __future__ import annotations

import math
from typing import Literal

from msgspec import Struct

from quorum.domain.text.amounts import format_amount, format_size

PDF_REMEDY = "run_command with `pdftotext -layout FILE -` prints its text, where poppler-utils is installed"
"""How a model reads a PDF that it cannot be shown."""

# Anthropic: 1,500 to 3,000 tokens of text a page, and its image on top. OpenAI: text and image as well.
_TOKENS_PER_PAGE = 3_000
# Where the pages cannot be counted. Pages of text alone have less, scanned ones more.
_BYTES_PER_PAGE = 50_000


class Document(Struct, frozen=True, kw_only=True):
    """One PDF. Its size is in bytes; `pages` is 0 where they cannot be counted without taking it apart.

    `sha256` is the key of its content, in hexadecimal. `name` is one word or a few, printable, and no two
    attachments of a session have the same.
    """

    name: str
    media_type: Literal["application/pdf"] = "application/pdf"
    pages: int = 0
    size_bytes: int
    sha256: str

    @property
    def label(self) -> str:
        """What stands for it in a text: `[PDF report.pdf 12 pages]`."""
        extent = format_amount(self.pages, "page") if self.pages else format_size(self.size_bytes)
        return f"[PDF {self.name} {extent}]"

    @property
    def tokens(self) -> int:
        """How many tokens it takes, about: as the vendors document it, the more cautious of them."""
        return _TOKENS_PER_PAGE * (self.pages or math.ceil(self.size_bytes / _BYTES_PER_PAGE))


class DocumentLimits(Struct, frozen=True, kw_only=True):
    """What a provider takes in one request, in bytes of the files themselves, and in pages of all of them
    together; None where it names no bound."""

    document_bytes: int
    pages: int | None = None

"""What a message shows a model beside its text: images, PDFs and mentioned files, within a provider's limits.

The content of an image or PDF is kept apart, under its hash.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, TypeAlias, assert_never

from msgspec import Struct

from quorum.domain.calls.run_state import SeenFile
from quorum.domain.replacing import replace
from quorum.domain.text.amounts import format_amount, format_megabytes, format_size

MediaType: TypeAlias = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]

# Anthropic: an image is scaled down to these edges and this area, and takes a token for each 750 pixels.
_LONG_EDGE, _MOST_PIXELS, _PIXELS_PER_TOKEN = 1568, 1_150_000, 750
# OpenAI: scaled into a square, then to this short edge, and counted in tiles with a fee on top.
_SQUARE, _SHORT_EDGE, _TILE, _TOKENS_PER_TILE, _FEE = 2048, 768, 512, 170, 85


class Image(Struct, frozen=True, kw_only=True):
    """One image. Its size is in pixels and in bytes; `sha256` is the key of its content, in hexadecimal.

    `name` is one word or a few, printable, and no two images of a session have the same.
    """

    name: str
    media_type: MediaType
    width: int
    height: int
    size_bytes: int
    sha256: str

    @property
    def label(self) -> str:
        """What stands for it in a text: `[image shot.png 1280×720]`."""
        return f"[image {self.name} {self.width}×{self.height}]"

    @property
    def tokens(self) -> int:
        """How many tokens it takes, about: as the vendors document it, the more cautious of them."""
        return max(self._count_by_area(), self._count_by_tiles())

    def _count_by_area(self) -> int:
        scale = min(1.0, _LONG_EDGE / max(self.width, self.height))
        pixels = self.width * scale * self.height * scale
        return math.ceil(min(pixels, _MOST_PIXELS) / _PIXELS_PER_TOKEN)

    def _count_by_tiles(self) -> int:
        scale = min(1.0, _SQUARE / max(self.width, self.height))
        scale *= min(1.0, _SHORT_EDGE / max(1.0, min(self.width, self.height) * scale))
        tiles = math.ceil(self.width * scale / _TILE) * math.ceil(self.height * scale / _TILE)
        return _FEE + _TOKENS_PER_TILE * max(1, tiles)


class ImageLimits(Struct, frozen=True, kw_only=True):
    """What a provider takes in one request. Sizes are in bytes of the files themselves.

    Where there are more than `crowd` images, each may have only `crowd_side` pixels an edge.
    """

    image_bytes: int
    total_bytes: int
    images: int
    side: int | None = None
    crowd: int | None = None
    crowd_side: int | None = None

    def describe_excess(self, image: Image) -> str:
        """In what one image is too much, with the limit; empty where it is not."""
        if image.size_bytes > self.image_bytes:
            found, most = format_megabytes(image.size_bytes), format_megabytes(self.image_bytes)
            return f"it has {found}, and at most {most} are taken"
        longest = max(image.width, image.height)
        if self.side is not None and longest > self.side:
            return f"it is {longest} pixels long, and at most {self.side} are taken"
        return ""

    def find_surplus(self, newest_first: tuple[Image, ...]) -> frozenset[str]:
        """The hashes of those that no longer fit into one request with those before them."""
        fitting = newest_first[: self.images]
        crowded = self.crowd is not None and len(fitting) > self.crowd
        beyond = {image.sha256 for image in newest_first[self.images :]}
        total = 0
        for image in fitting:
            total += image.size_bytes
            too_long = crowded and max(image.width, image.height) > (self.crowd_side or 0)
            if total > self.total_bytes or too_long:
                beyond.add(image.sha256)
        return frozenset(beyond - {image.sha256 for image in newest_first[:1]})


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


Attachment: TypeAlias = Image | Document


class AttachmentLimits(Struct, frozen=True, kw_only=True):
    """What a provider takes in one request; None for a kind that it does not take at all.

    The bytes of all that is attached together are those that images may have.
    """

    images: ImageLimits | None
    documents: DocumentLimits | None = None

    def describe_excess(self, attachment: Attachment) -> str:
        """In what one attachment is too much, with the limit; empty where it is not."""
        match attachment:
            case Image():
                return (
                    self.images.describe_excess(attachment)
                    if self.images
                    else "no images are taken over this API"
                )
            case Document():
                return self._describe_excess_of_document(attachment)
            case _:
                assert_never(attachment)

    def find_surplus(self, newest_first: Iterable[Attachment]) -> frozenset[str]:
        """The hashes of those that no longer fit into one request with those before them."""
        shown = tuple(newest_first)
        images = tuple(each for each in shown if isinstance(each, Image))
        beyond = set(self.images.find_surplus(images)) if self.images else set()
        pages, total = 0, 0
        for each in (each for each in shown if each.sha256 not in beyond):
            pages += each.pages if isinstance(each, Document) else 0
            total += each.size_bytes
            most_pages = self.documents.pages if self.documents else None
            too_many = isinstance(each, Document) and most_pages is not None and pages > most_pages
            if too_many or (self.images is not None and total > self.images.total_bytes):
                beyond.add(each.sha256)
                pages -= each.pages if isinstance(each, Document) else 0
                total -= each.size_bytes
        return frozenset(beyond - {each.sha256 for each in shown[:1]})

    def _describe_excess_of_document(self, document: Document) -> str:
        if (limits := self.documents) is None:
            return "no PDF is taken over this API"
        if document.size_bytes > limits.document_bytes:
            most = format_megabytes(limits.document_bytes)
            return f"it has {format_megabytes(document.size_bytes)}, and at most {most} are taken"
        if limits.pages is not None and document.pages > limits.pages:
            return f"it has {document.pages} pages, and at most {limits.pages} are taken"
        return ""


def render_placeholder(attachment: Attachment, why: str) -> str:
    """What stands in a text in the place of an attachment that is not shown, with what to do instead."""
    remedy = f"; {PDF_REMEDY}" if isinstance(attachment, Document) else ""
    return f"{attachment.label[:-1]}: {why}{remedy}]"


_NO_LONGER_SHOWN = "no longer shown, to make room; read_file shows it again"


class AttachedFile(Struct, frozen=True, kw_only=True):
    """One mention of a prompt. `name` is printable, on one line.

    `content` is lines with their numbers, or the listing of a folder; it is empty where nothing is attached.
    Lines count from 1 and are 0 where there are none. `size_bytes` is that of the whole file. `note` says what
    was left out and how to read it, or why nothing is attached. `seen` is what the model knows of a file by it.
    """

    name: str
    content: str = ""
    first_line: int = 0
    last_line: int = 0
    total_lines: int = 0
    size_bytes: int = 0
    is_folder: bool = False
    note: str = ""
    seen: SeenFile | None = None

    @property
    def is_attached(self) -> bool:
        """Whether the model reads anything of it with the prompt."""
        return bool(self.content)

    @property
    def label(self) -> str:
        """What of it is attached, in one line: `src/a.py · lines 10-40 of 200 · 5.2 kB`."""
        if not self.is_attached:
            return f"{self.name} · not attached: {self.note}"
        return " · ".join([self.name, *self._facts])

    @property
    def sent(self) -> str:
        """What the model reads."""
        if not self.is_attached:
            return f"[{self.name} is not attached: {self.note}]"
        note = f"\n[{self.note}]" if self.note else ""
        return f"[attached: {', '.join([self.name, *self._facts])}]\n{self.content}{note}\n[end of {self.name}]"

    def without_content(self) -> AttachedFile:
        """The file given way to its name."""
        return replace(self, content="", note=_NO_LONGER_SHOWN, seen=None) if self.is_attached else self

    @property
    def _facts(self) -> tuple[str, ...]:
        if self.is_folder:
            return (format_amount(self.total_lines, "entry").replace("entrys", "entries"),)
        if (self.first_line, self.last_line) == (1, self.total_lines):
            return format_amount(self.total_lines, "line"), format_size(self.size_bytes)
        return f"lines {self.first_line}-{self.last_line} of {self.total_lines}", format_size(self.size_bytes)

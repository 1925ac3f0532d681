"""What a PDF says of itself: whether it is one, whether it is encrypted, and how many pages it has, about.

It is not taken apart: no text is read, nothing is drawn, and what is unpacked to find its pages is bounded.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

from quorum.domain.errors import AttachmentError

_MARK = b"%PDF-"
_ENCRYPTED = re.compile(rb"/Encrypt\s*(?:\d{1,10}\s+\d{1,5}\s+R\b|<<)")
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_COUNT = re.compile(rb"/Count\s+(\d{1,7})\b")
# Since PDF 1.5, pages may stand in packed streams of objects.
_PACKED = re.compile(rb"/Type\s*/ObjStm\b[^\0]{0,400}?stream\r?\n", re.DOTALL)
_MOST_STREAMS = 2_000
_MOST_UNPACKED = 64_000_000
_MOST_UNPACKED_OF_ONE = 4_000_000


def is_pdf(content: bytes) -> bool:
    """Whether a content begins as a PDF does."""
    return content.startswith(_MARK)


def count_pages(content: bytes) -> int:
    """How many pages a PDF has; 0 where they cannot be counted. Raises AttachmentError where it is encrypted.

    The answer is an estimate: a PDF that was edited in place holds pages of earlier versions as well.
    """
    if _ENCRYPTED.search(content):
        raise AttachmentError(
            "it is encrypted, and models are shown no encrypted PDF; save it without a password"
        )
    pages, counts = 0, [0]
    for part in (content, *_unpack_objects(content)):
        pages += sum(1 for _ in _PAGE.finditer(part))
        counts.extend(int(found[1]) for found in _COUNT.finditer(part))
    return min(pages, max(counts)) if any(counts) else pages


def _unpack_objects(content: bytes) -> Iterator[bytes]:
    """The unpacked streams of objects, each cut at a bound, and as many as fit into another."""
    room = _MOST_UNPACKED
    for number, found in enumerate(_PACKED.finditer(content)):
        if number == _MOST_STREAMS or room <= 0:
            return
        try:
            unpacked = zlib.decompressobj().decompress(
                content[found.end() : found.end() + _MOST_UNPACKED_OF_ONE], min(room, _MOST_UNPACKED_OF_ONE)
            )
        except zlib.error:  # damaged, or packed in another way: its pages stay uncounted
            continue
        room -= len(unpacked)
        yield unpacked

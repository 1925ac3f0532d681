"""What a file's first bytes say of the image in it.

Names are not looked at, and nothing is decoded. What a PDF says of itself: whether it is one, whether it is
encrypted, and how many pages it has, about.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from quorum.domain.conversation.attachment import MediaType
from quorum.domain.errors import AttachmentError

_PNG, _JPEG, _GIF = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", (b"GIF87a", b"GIF89a")
_MOST_PIXELS_AN_EDGE = 1 << 20
# Frame headers of JPEG: all of C0 to CF but the tables DHT, JPG and DAC.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_ALONE = frozenset({0x01, *range(0xD0, 0xD8)})
_SCAN, _END = 0xDA, 0xD9
_MOST_MARKERS = 10_000
"""No camera writes so many parts and so much padding before a frame; a made-up file could continue for ever."""


class ImageHeader(NamedTuple):
    """The kind of an image and its size in pixels."""

    media_type: MediaType
    width: int
    height: int


def read_header(content: bytes) -> ImageHeader:
    """What this content is. Raises AttachmentError, which says what is wrong, for any unsound header."""
    try:
        header = _recognise(content)
    except (struct.error, IndexError) as cut:
        raise AttachmentError("it ends in the middle of its header") from cut
    if not (0 < header.width <= _MOST_PIXELS_AN_EDGE and 0 < header.height <= _MOST_PIXELS_AN_EDGE):
        raise AttachmentError(f"its header is damaged: it names {header.width}×{header.height} pixels")
    return header


def _recognise(content: bytes) -> ImageHeader:
    if content.startswith(_PNG):
        return _read_png(content)
    if content.startswith(_JPEG):
        return _read_jpeg(content)
    if content.startswith(_GIF):
        return ImageHeader("image/gif", *struct.unpack_from("<HH", content, 6))
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return _read_webp(content)
    raise AttachmentError("it is neither a PNG, JPEG, GIF or WebP image nor a PDF")


def _read_png(content: bytes) -> ImageHeader:
    length, kind = struct.unpack_from(">I4s", content, 8)
    width, height, checksum = *struct.unpack_from(">II", content, 16), struct.unpack_from(">I", content, 29)[0]
    if length != 13 or kind != b"IHDR" or zlib.crc32(content[12:29]) != checksum:
        raise AttachmentError("its header is damaged")
    return ImageHeader("image/png", width, height)


def _read_jpeg(content: bytes) -> ImageHeader:
    place = 2
    for _ in range(_MOST_MARKERS):
        if content[place] != 0xFF:
            raise AttachmentError("its header is damaged")
        marker = content[place + 1]
        if marker == 0xFF:  # padding
            place += 1
        elif marker in _ALONE:
            place += 2
        elif marker in _FRAMES:
            _length, _bits, height, width = struct.unpack_from(">HBHH", content, place + 2)
            return ImageHeader("image/jpeg", width, height)
        elif marker in (_SCAN, _END):
            raise AttachmentError("its header is damaged")
        else:
            length = struct.unpack_from(">H", content, place + 2)[0]
            if length < 2:
                raise AttachmentError("its header is damaged")
            place += 2 + length
    raise AttachmentError("its header is damaged")


def _read_webp(content: bytes) -> ImageHeader:
    match content[12:16]:
        case b"VP8 ":
            if content[23:26] != b"\x9d\x01\x2a":
                raise AttachmentError("its header is damaged")
            width, height = struct.unpack_from("<HH", content, 26)
            return ImageHeader("image/webp", width & 0x3FFF, height & 0x3FFF)
        case b"VP8L":
            if content[20] != 0x2F:
                raise AttachmentError("its header is damaged")
            bits = struct.unpack_from("<I", content, 21)[0]
            return ImageHeader("image/webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case b"VP8X":
            sizes = struct.unpack_from("<3s3s", content, 24)
            width, height = (int.from_bytes(size, "little") + 1 for size in sizes)
            return ImageHeader("image/webp", width, height)
        case _:
            raise AttachmentError("its header is damaged")


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

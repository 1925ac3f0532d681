"""Small images: whole ones of PNG, and of the others what their headers say."""

from __future__ import annotations

import hashlib
import struct
import zlib

from quorum.domain.conversation.attachment import Image, MediaType
from quorum.infrastructure.attachment_files import read_header


def png(width: int = 4, height: int = 3, *, shade: int = 0, padding: int = 0) -> bytes:
    """A grey PNG; `padding` bytes make it larger."""
    rows = b"".join(b"\0" + bytes([shade]) * width for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    more = _chunk(b"tEXt", b"x" * padding) if padding else b""
    body = [_chunk(b"IHDR", header), more, _chunk(b"IDAT", zlib.compress(rows)), _chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(body)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def gif(width: int, height: int) -> bytes:
    """The beginning of a GIF."""
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0;"


def jpeg(width: int, height: int, *, before: bytes = b"\xff\xe0\x00\x04ab") -> bytes:
    """The beginning of a JPEG, with these segments before its frame."""
    frame = b"\xff\xc2" + struct.pack(">HBHH", 8, 8, height, width) + b"\x01"
    return b"\xff\xd8" + before + frame + b"\xff\xda"


def webp(width: int, height: int, kind: bytes) -> bytes:
    """The beginning of a WebP of one of its three kinds."""
    bodies = {
        b"VP8 ": b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height),
        b"VP8L": b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14),
        b"VP8X": b"\0\0\0\0" + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"),
    }
    body = bodies[kind]
    return b"RIFF" + struct.pack("<I", 12 + len(body)) + b"WEBP" + kind + struct.pack("<I", len(body)) + body


def an_image(content: bytes, name: str = "shot.png") -> Image:
    """What is known of this content."""
    media_type: MediaType
    media_type, width, height = read_header(content)
    return Image(
        name=name,
        media_type=media_type,
        width=width,
        height=height,
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )

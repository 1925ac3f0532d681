"""Images and PDFs as the person names them: in a file of any folder, or in the clipboard.

The first bytes of an image tell its kind and size.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from quorum.application.program_lookup import filter_environment, find_program
from quorum.domain.conversation.attachment import Attachment, Document, Image, MediaType
from quorum.domain.errors import AttachmentError, StaleSeal
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.text.amounts import format_megabytes, format_size
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.execution.program import open_program
from quorum.infrastructure.files.file_metadata import list_known_names
from quorum.infrastructure.files.opened_path import refuse_held, require_opened_at

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


_PATIENCE_SECS = 5.0
_PIECE = 1 << 16
# Each with the variable that tells that its desktop runs; pngpaste is of macOS, which needs none.
_PROGRAMS = (
    ("WAYLAND_DISPLAY", ("wl-paste", "--no-newline", "--type", "image/png")),
    ("DISPLAY", ("xclip", "-selection", "clipboard", "-target", "image/png", "-out")),
    ("", ("pngpaste", "-")),
)


async def read_clipboard_image(environ: Mapping[str, str], most_bytes: int, workspace: Path) -> bytes:
    """The bytes of the PNG image in the clipboard. Raises AttachmentError where there is none to be had.

    The program that reads it is none that lies in the `workspace`, a resolved path.
    """
    command = _choose_command(environ, (str(workspace),))
    if command is None:
        raise AttachmentError(
            "no program reads images from the clipboard here: install wl-paste, xclip or pngpaste"
        )
    try:
        async with (
            open_program(command, environment=filter_environment(environ)) as process,
            asyncio.timeout(_PATIENCE_SECS),
        ):
            content = await _read_output(process, most_bytes)
            failed = await process.wait() != 0
    except TimeoutError as error:
        raise AttachmentError(f"{command[0]} did not answer in {_PATIENCE_SECS:.0f} seconds") from error
    except OSError as error:
        raise AttachmentError(f"{command[0]} cannot be run: {error.strerror}") from error
    if failed or not content:
        raise AttachmentError("there is no image in the clipboard; copy one first")
    return content


def _choose_command(environ: Mapping[str, str], workspace: Sequence[str]) -> tuple[str, ...] | None:
    for variable, (program, *arguments) in _PROGRAMS:
        runs = not variable or environ.get(variable)
        if runs and (found := find_program(program, environ.get("PATH"), workspace)):
            return (found, *arguments)
    return None


async def _read_output(process: asyncio.subprocess.Process, most_bytes: int) -> bytes:
    assert process.stdout is not None
    content = bytearray()
    while piece := await process.stdout.read(_PIECE):
        content += piece
        if len(content) > most_bytes:
            raise AttachmentError(f"the image in the clipboard is larger than {format_size(most_bytes)}")
    return bytes(content)


LARGEST_BYTES = 20_000_000
"""Larger than this, no provider takes an image."""
LARGEST_PDF_BYTES = 50_000_000
"""Larger than this, no provider takes a PDF."""

_LONGEST_NAME = 60
_SHORTENED = 28
# A pipe in a file's place must not block the opening.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class AttachmentFiles:
    """Implements `AttachmentSource`. Relative paths start at `cwd`; what `policy` calls sensitive is
    refused."""

    def __init__(self, cwd: Path, policy: PathPolicy, environ: Mapping[str, str]) -> None:
        self._cwd = cwd
        self._root = cwd.resolve()
        self._policy = policy
        self._environ = environ

    async def read(self, path: str) -> tuple[Attachment, bytes]:
        """The image or PDF in this file. Raises AttachmentError."""
        content = await run_in_thread(lambda _stop: self._read_content(path))
        return await run_in_thread(lambda _stop: build_attachment(path, Path(path).name, content)), content

    async def read_clipboard(self) -> tuple[Image, bytes]:
        """The image in the clipboard. Raises AttachmentError where there is none, or no program that reads
        it."""
        content = await read_clipboard_image(self._environ, LARGEST_BYTES, self._root)
        return _build_image("the clipboard", "clipboard.png", content), content

    def _read_content(self, path: str) -> bytes:
        try:
            file = (self._cwd / Path(path).expanduser()).resolve()
            if any(map(self._policy.is_sensitive, list_known_names(str(file), str(self._root)))):
                raise AttachmentError(
                    f"{path} is a sensitive file, and is not shown to a model; copy it elsewhere"
                )
            return _read(path, file)
        except StaleSeal as moved:
            raise AttachmentError(str(moved)) from moved
        except (OSError, RuntimeError, ValueError) as error:  # a home that is not known, a name with a NUL
            reason = error.strerror if isinstance(error, OSError) else error
            raise AttachmentError(f"{path!r} cannot be read: {reason}") from error


def _read(path: str, file: Path) -> bytes:
    refuse_held(file)
    with os.fdopen(os.open(file, _FILE), "rb") as opened:
        require_opened_at(opened.fileno(), str(file), repr(path))
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise AttachmentError(f"{path} is not a file; name an image or a PDF")
        content = opened.read(LARGEST_BYTES + 1)
        kind, most = ("a PDF", LARGEST_PDF_BYTES) if is_pdf(content) else ("an image", LARGEST_BYTES)
        content += opened.read(most - LARGEST_BYTES)
    if len(content) > most:
        size = format_megabytes(max(status.st_size, len(content)))
        raise AttachmentError(
            f"{path} has {size}, and {kind} may have {format_megabytes(most)}; make it smaller first"
        )
    return content


def build_attachment(place: str, name: str, content: bytes) -> Attachment:
    """The image or PDF that this content is. `place` says where it was found. Raises AttachmentError."""
    if not is_pdf(content):
        return _build_image(place, name, content)
    try:
        pages = count_pages(content)
    except AttachmentError as error:
        raise AttachmentError(f"{place} cannot be shown to a model: {error}") from error
    return Document(
        name=_fit(name, "document"),
        pages=pages,
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _build_image(place: str, name: str, content: bytes) -> Image:
    try:
        header = read_header(content)
    except AttachmentError as error:
        raise AttachmentError(f"{place} cannot be shown to a model: {error}") from error
    return Image(
        name=_fit(name, "image"),
        media_type=header.media_type,
        width=header.width,
        height=header.height,
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _fit(name: str, unnamed: str) -> str:
    """The name as it can stand in a label: printable, on one line, without brackets, and not too long."""
    fit = " ".join("".join(c if c.isprintable() and c not in "[]" else "_" for c in name).split()) or unnamed
    return fit if len(fit) <= _LONGEST_NAME else f"{fit[:_SHORTENED]}…{fit[-_SHORTENED:]}"

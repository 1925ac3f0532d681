"""Images and PDFs as the person names them: in a file of any folder, or in the clipboard.

The image in the clipboard, through the program that this desktop has for it.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from quorum.application.program_lookup import filter_environment, find_program
from quorum.domain.conversation.attachment import Attachment, Document, Image
from quorum.domain.errors import AttachmentError, StaleSeal
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.text.amounts import format_megabytes, format_size
from quorum.infrastructure.attachments.headers import count_pages, is_pdf, read_header
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.execution.program import open_program
from quorum.infrastructure.files.file_metadata import list_known_names
from quorum.infrastructure.files.held_files import refuse_held
from quorum.infrastructure.files.opened_path import require_opened_at

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

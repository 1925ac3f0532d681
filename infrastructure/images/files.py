"""Images as the person names them: in a file of any folder, or in the clipboard."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from domain.conversation.image import Image, format_megabytes
from domain.errors import ImageError
from domain.review.path_policy import PathPolicy
from infrastructure.blocking import in_thread
from infrastructure.files.held_files import refuse_held
from infrastructure.images.clipboard import clipboard_image
from infrastructure.images.headers import read_header

LARGEST_BYTES = 20_000_000
"""Larger than this, no provider takes one."""

_LONGEST_NAME = 60
_SHORTENED = 28
# A pipe in a file's place must not block the opening.
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class ImageFiles:
    """Implements `ImageSource`. Relative paths start at `cwd`; what `policy` calls sensitive is refused."""

    def __init__(self, cwd: Path, policy: PathPolicy, environ: Mapping[str, str]) -> None:
        self._cwd = cwd
        self._root = cwd.resolve()
        self._policy = policy
        self._environ = environ

    async def read(self, path: str) -> tuple[Image, bytes]:
        """The image in this file. Raises ImageError."""
        content = await in_thread(lambda _stop: self._content(path))
        return image_of(path, Path(path).name, content), content

    async def from_clipboard(self) -> tuple[Image, bytes]:
        """The image in the clipboard. Raises ImageError where there is none, or no program that reads it."""
        content = await clipboard_image(self._environ, LARGEST_BYTES, self._root)
        return image_of("the clipboard", "clipboard.png", content), content

    def _content(self, path: str) -> bytes:
        try:
            file = (self._cwd / Path(path).expanduser()).resolve()
            if self._policy.is_sensitive(str(file)):
                raise ImageError(
                    f"{path} is a sensitive file, and is not shown to a model; copy the image elsewhere"
                )
            return _read(path, file)
        except (OSError, RuntimeError, ValueError) as error:  # a home that is not known, a name with a NUL
            reason = error.strerror if isinstance(error, OSError) else error
            raise ImageError(f"{path!r} cannot be read: {reason}") from error


def _read(path: str, file: Path) -> bytes:
    refuse_held(file)
    with os.fdopen(os.open(file, _FILE), "rb") as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ImageError(f"{path} is no file")
        content = opened.read(LARGEST_BYTES + 1)
    if len(content) > LARGEST_BYTES:
        size = format_megabytes(max(status.st_size, len(content)))
        raise ImageError(
            f"{path} has {size}, and an image may have {format_megabytes(LARGEST_BYTES)}; make it smaller first"
        )
    return content


def image_of(place: str, name: str, content: bytes) -> Image:
    """The image that this content is. `place` says where it was found. Raises ImageError."""
    try:
        header = read_header(content)
    except ImageError as error:
        raise ImageError(f"{place} cannot be shown to a model: {error}") from error
    return Image(
        name=_fit(name),
        media_type=header.media_type,
        width=header.width,
        height=header.height,
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _fit(name: str) -> str:
    """The name as it can stand in a label: printable, on one line, without brackets, and not too long."""
    fit = " ".join("".join(c if c.isprintable() and c not in "[]" else "_" for c in name).split()) or "image"
    return fit if len(fit) <= _LONGEST_NAME else f"{fit[:_SHORTENED]}…{fit[-_SHORTENED:]}"

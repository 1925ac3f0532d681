"""The text of a file that is edited: its encoding and byte order mark stay as they are."""

from __future__ import annotations

from domain.errors import ToolError
from infrastructure.files.encoding import Encoding, detect


def decode_file(content: bytes, name: str) -> tuple[Encoding, str]:
    """The encoding of a file and its text. Raises ToolError where it would not keep its bytes."""
    encoding = detect(content, complete=True)
    if encoding is None:
        raise ToolError(f"{name} is a binary file ({len(content)} bytes): only text can be edited")
    try:
        decoded = encoding.decode(content)
    except UnicodeDecodeError as error:
        raise ToolError(
            f"{name} is not valid {encoding.label} at byte {error.start}: it cannot be edited"
        ) from error
    if encoding.encode(decoded) != content:
        raise ToolError(
            f"{name} seems to be {encoding.codec}, but would not keep its bytes: it cannot be edited"
        )
    return encoding, decoded


def encode_file(content: str, encoding: Encoding, name: str) -> bytes:
    """The bytes of a text in the encoding of its file. Raises ToolError for what that cannot hold."""
    try:
        return encoding.encode(content)
    except UnicodeEncodeError as error:
        bad = content[error.start : error.end].encode("unicode_escape").decode("ascii")
        raise ToolError(
            f"{name} is {encoding.label}, which cannot hold {bad}: leave that character out"
        ) from error

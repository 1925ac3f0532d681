"""The text of a file that is edited: its encoding and byte order mark stay as they are."""

from __future__ import annotations

from quorum.domain.errors import ToolError
from quorum.infrastructure.files.encoding import UTF_8, Encoding, detect


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


def encode_like(content: str, before: bytes | None) -> tuple[bytes, str]:
    """The bytes of a text that replaces a file, and what of the file they keep or lose, empty where nothing.

    Encoding, byte order mark and line ends stay as they are, unless the encoding cannot hold the text: then it
    is UTF-8. Raises UnicodeEncodeError for half of a surrogate pair.
    """
    encoding = detect(before, complete=True) if before else None
    if encoding is None or before is None or encoding.is_broken:
        return content.encode("utf-8"), ""
    try:
        former = encoding.decode(before)
    except UnicodeDecodeError:
        return content.encode("utf-8"), ""
    adopted, ends = _adopt_line_ends(content.removeprefix("\ufeff") if encoding.mark else content, former)
    kept = [ends] if ends else []
    try:
        after = encoding.encode(adopted)
    except UnicodeEncodeError:
        after = adopted.encode("utf-8")
        kept.append(f"the encoding is now utf-8, as {encoding.label} cannot hold the text")
    else:
        if encoding != UTF_8:
            kept.append(f"the encoding stays {encoding.label}")
    return after, "; ".join(kept)


def _adopt_line_ends(content: str, former: str) -> tuple[str, str]:
    """A text with the line ends of a former one, and what is to be said about them."""
    if "\r" in content or not former:
        return content, ""
    windows, all_ends = former.count("\r\n"), former.count("\n")
    if windows and windows == all_ends:
        return content.replace("\n", "\r\n"), "line ends stay CRLF"
    if windows:
        return content, "line ends were mixed, and are now LF"
    if "\r" in former and not all_ends:
        return content.replace("\n", "\r"), "line ends stay CR"
    return content, ""


def encode_file(content: str, encoding: Encoding, name: str) -> bytes:
    """The bytes of a text in the encoding of its file. Raises ToolError for what that cannot hold."""
    try:
        return encoding.encode(content)
    except UnicodeEncodeError as error:
        bad = content[error.start : error.end].encode("unicode_escape").decode("ascii")
        raise ToolError(
            f"{name} is {encoding.label}, which cannot hold {bad}: leave that character out"
        ) from error

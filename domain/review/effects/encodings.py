"""Encodings that programs undo: which one, and what comes out."""

from __future__ import annotations

import base64
import binascii
import re

from quorum.domain.review.hazards.invocation import Invocation

_DECODERS = frozenset(
    {
        *("base64", "gbase64", "basenc", "base32", "xxd", "rev", "openssl", "tr", "uudecode", "gunzip", "zcat"),
        *("bunzip2", "unxz", "gpg", "gzip"),
    }
)


def find_encoding(run: Invocation) -> str | None:
    """The encoding that a program undoes in what comes in; None where it undoes none."""
    if run.program not in _DECODERS:
        return None
    given = set(run.arguments)
    letters = "".join(word[1:] for word in run.arguments if re.fullmatch(r"-[a-zA-Z]+", word))
    decodes = bool({"d", "D"} & set(letters)) or bool(given & {"--decode", "--decrypt", "-decrypt"})
    match run.program:
        case "base64" | "gbase64" | "basenc" if decodes:
            return "base64"
        case "base32" if decodes:
            return "base32"
        case "xxd" if "r" in letters:
            return "hex"
        case "rev":
            return "rev"
        case "openssl" if decodes:
            return "base64" if given & {"base64", "-base64", "-a"} else "other"
        case "tr" if _changes_letters(run):
            return "other"
        case "uudecode" | "gunzip" | "zcat" | "bunzip2" | "unxz":
            return "other"
        case "gpg" | "gzip" if decodes:
            return "other"
        case _:
            return None


def _changes_letters(run: Invocation) -> bool:
    """Whether other letters come out than a change between small and capital ones gives."""
    sets = [word for word in run.arguments if not word.startswith("-")]
    is_case = {each.strip("[]'").lower() for each in sets} <= {":upper:", ":lower:", "a-z"}
    return not is_case and any(re.fullmatch(r"\[?[A-Za-z]-[A-Za-z].*", each) or len(each) > 12 for each in sets)


def decode(encoding: str, text: str | None) -> str | None:
    """The text that comes out, if it can be told."""
    if text is None:
        return None
    raw = "".join(text.split())
    try:
        match encoding:
            case "base64":
                return base64.b64decode(raw + "=" * (-len(raw) % 4)).decode("utf-8", "replace")
            case "base32":
                return base64.b32decode(raw).decode("utf-8", "replace")
            case "hex":
                return bytes.fromhex(raw).decode("utf-8", "replace")
            case "rev":
                return "\n".join(line[::-1] for line in text.split("\n"))
            case _:
                return None
    except (ValueError, binascii.Error):
        return None


def unescape(text: str) -> str:
    """A text without escapes in octal and hexadecimal."""
    return re.sub(
        r"\\(?:x([0-9a-fA-F]{1,2})|0?([0-7]{3}))",
        lambda found: chr(int(found[1], 16) if found[1] else int(found[2], 8) & 0xFF),
        text,
    )

"""How a prompt names files: `@path`, in quotes where the path holds blanks or what cannot be seen."""

from __future__ import annotations

import re
from collections.abc import Iterator

# What stands before the sign must not make it a part of an address or of another word.
_FREE = r"(?<![A-Za-z0-9_@.+\-/])"
_MENTION = re.compile(rf'{_FREE}@(?:"(?P<quoted>(?:[^"\\\n]|\\.)*)"|(?P<bare>[^\s"]+))')
_BEGUN = re.compile(rf'{_FREE}@(?:"(?P<quoted>(?:[^"\\\n]|\\.)*)|(?P<bare>[^\s"]*))\Z')
_ENDS_A_SENTENCE = ".,;:!?)]}'”’»、。"
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))", re.DOTALL)
_SHORT = {"n": "\n", "t": "\t", "r": "\r"}
_SHORT_NAMES = {character: name for name, character in _SHORT.items()}


def as_mention(path: str) -> str:
    """The text that names this path, which may hold anything a path can; the bytes of one that is no text are
    its surrogates."""
    plain = path.isprintable() and not any(c.isspace() or c in '"\\' for c in path)
    if plain and path and path[-1] not in _ENDS_A_SENTENCE:
        return f"@{path}"
    return '@"' + "".join(map(_escape, path)) + '"'


def find_mentions(text: str) -> Iterator[str]:
    """The paths that a text names, in order. Whether there are such files is not asked."""
    for found in _MENTION.finditer(text):
        quoted, bare = found["quoted"], found["bare"]
        path = _meant(quoted) if quoted is not None else bare.rstrip(_ENDS_A_SENTENCE)
        if path:
            yield path


def parse_quoted_mention(text: str, at: int) -> tuple[str, int] | None:
    """The path of the mention in quotes that stands at this place, and where it ends; None where none does."""
    found = _MENTION.match(text, at)
    if found is None or found["quoted"] is None:
        return None
    return _meant(found["quoted"]), found.end()


def unfinished_mention(before: str) -> tuple[int, str] | None:
    """Where the mention begins that this text ends in, and what of its path is there; None where none is."""
    found = _BEGUN.search(before)
    if found is None:
        return None
    quoted = found["quoted"]
    return found.start(), _meant(quoted) if quoted is not None else found["bare"]


def _escape(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    if character in _SHORT_NAMES:
        return f"\\{_SHORT_NAMES[character]}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _meant(quoted: str) -> str:
    return _ESCAPE.sub(_unescape, quoted)


def _unescape(found: re.Match[str]) -> str:
    byte, short, long, plain = found.groups()
    if byte:
        code = int(byte, 16)
        return chr(code + 0xDC00) if code >= 0x80 else chr(code)
    if code_point := short or long:
        code = int(code_point, 16)
        return chr(code) if code <= 0x10FFFF else found[0]
    return _SHORT.get(plain, plain)

"""Makes text of models, tools and files safe to draw: nothing in it acts on a terminal or hides."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from quorum.domain.text.pattern import compile_once

# A control character as JSON writes it, also where that JSON is itself a text of JSON.
_ESCAPED = r"\\{1,8}u00"
_ESCAPED_ESC = rf"{_ESCAPED}1[bB]"
# What `quorum.domain.text.printable` takes out before a text is drawn, and characters that are printed over;
# and the same in JSON, which whoever reads it may print. None of them goes over the end of a line.
_UNSEEN = (
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n\x90\x98\x9d-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]+[0-~]"
    r"|\x1b[0-Z\\^-~]"
    r"|[^\n\x08\x1b]\x08"
    rf"|(?:{_ESCAPED_ESC}\[|{_ESCAPED}9[bB])[0-?]*[ !#-/]*[@-~]"
    rf"|(?:{_ESCAPED_ESC}[\]PX^_]|{_ESCAPED}9[08dDeEfF])[^\x07\x1b\n\\\"]*"
    rf"(?:{_ESCAPED}(?:07|9[cC])|(?P<depth>\\{{1,8}})u001[bB](?P=depth){{2}})"  # a backslash is escaped too
    rf"|{_ESCAPED_ESC}[ !#-/]+[0-\[\]-~]"
    rf"|{_ESCAPED_ESC}[0-Z^-~]"
)
_UNFINISHED = (
    r"(?:\x1b[ -/]*|(?:\x1b\[|\x9b)[0-?]*[ -/]*"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n\x90\x98\x9d-\x9f]*\x1b?"
    r"|\\{1,8}(?:u(?:0(?:0[019]?)?)?)?"
    rf"|(?:{_ESCAPED_ESC}\[?|{_ESCAPED}9[bB])[0-?]*[ !#-/]*"
    rf"|(?:{_ESCAPED_ESC}[\]PX^_]|{_ESCAPED}9[08dDeEfF])[^\x07\x1b\n\\\"]*"
    r"(?:\\{1,8}(?:u(?:0(?:0(?:0|1[bB]?\\*|9)?)?)?)?)?)\Z"
)
_BEGUN = r"\\(?:u(?:0(?:0[19]?)?)?)?\Z"
_LONGEST_BEGUN = 5
_LONGEST = 256
_PIECE = 1 << 18  # characters
_ESCAPED_BEGINNINGS = ("u001b", "u001B", "u009")
_BEGINNINGS = "\x08\x1b\x90\x98\x9b\x9d\x9e\x9f"


class SeenText:
    """A text without its terminal sequences, and the way back: `place` is where a character stood before."""

    def __init__(self, text: str) -> None:
        pieces: list[str] = []
        self._starts, self._shifts = [0], [0]
        end = length = 0
        for match in _iterate_sequences(text):
            pieces.append(text[end : match.start()])
            length += match.start() - end
            end = match.end()
            self._starts.append(length)
            self._shifts.append(end - length)
        pieces.append(text[end:])
        self.text = "".join(pieces)

    def locate(self, seen: int) -> int:
        """The place in the whole text of the character at this place of what is seen."""
        return seen + self._shifts[bisect_right(self._starts, seen) - 1]


def _iterate_sequences(text: str) -> Iterator[re.Match[str]]:
    """All sequences, looked for some lines at a time: meanwhile no other thread of Python continues."""
    place = 0
    while place < len(text):
        end = text.find("\n", place + _PIECE)
        end = len(text) if end < 0 else end
        yield from compile_once(_UNSEEN).finditer(text, place, end)
        place = end


def holds_sequences(text: str) -> bool:
    """Whether a text may hold terminal sequences; usually it does not, and that check is fast."""
    if "\\u00" in text and any(map(text.__contains__, _ESCAPED_BEGINNINGS)):
        return True
    return not (text.isascii() and "\x1b" not in text and "\x08" not in text) and (
        any(map(text.__contains__, _BEGINNINGS))
    )


def has_sequences_in_bytes(content: bytes) -> bool:
    """The same of a text that is given in UTF-8, with whatever is none in it replaced."""
    if b"\\u00" in content and any(beginning.encode() in content for beginning in _ESCAPED_BEGINNINGS):
        return True
    if b"\x1b" in content or b"\x08" in content:
        return True
    return b"\xc2" in content and any(beginning.encode() in content for beginning in _BEGINNINGS)


def may_begin_sequence(text: str) -> bool:
    """Whether at the end of a text that still grows an escaped control character may have begun."""
    return (
        "\\" in text[-_LONGEST_BEGUN:]
        and compile_once(_BEGUN).search(text, max(0, len(text) - _LONGEST_BEGUN)) is not None
    )


def find_unfinished_sequence(text: str) -> int:
    """Where, at the end of a text that still grows, a terminal sequence has begun; else the text's length."""
    match = compile_once(_UNFINISHED).search(text, max(0, len(text) - _LONGEST))
    if match is not None and match[0].startswith("\\"):
        # The backslashes in front may still belong to the sequence before.
        begun = match.start()
        for unseen in _iterate_sequences(text):
            if unseen.start() < begun < unseen.end():
                match = compile_once(_UNFINISHED).search(text, unseen.end())
    return len(text) if match is None else match.start()


_MOST_BLANKS = 80
# Not what ends a line for some reader, as U+2028 does in JavaScript: code behind it would seem a comment.
_LONG_RUN = rf"[^\S\n\v\f\r\x1c-\x1f\x85\u2028\u2029]{{{_MOST_BLANKS + 1},}}"

_TAB_STOP = 4
_MARKS_KEPT = 4

# Sequences end on the line they begin on, and before another begins: what is unfinished is shown, not
# swallowed, and a line of nothing but beginnings is looked through once.
SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n\x90\x98\x9d-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]+[0-~]"
    r"|\x1b[0-Z\\^-~]"
)
# Characters that str.isprintable() lets through although they show nothing.
_BLANK = (
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0d\uffa0"
    "\U00013441\U00013442\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
# No letters: a joiner or a selector behind one makes another name that looks the same.
_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2934\u2935"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_KEYCAP = "\u20e3"
_LOOSE_SELECTOR = f"(?<![{_EMOJI}#*0-9])[\ufe0e\ufe0f]|(?<=[#*0-9])[\ufe0e\ufe0f](?!{_KEYCAP})"
_LOOSE_JOINER = f"(?<![{_EMOJI}\ufe0f])\u200d|\u200d(?![{_EMOJI}])"
_PILE_OF_MARKS = (
    f"([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{{{_MARKS_KEPT}}})"
    "([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+)"
)
_JOINER = "\u200d"


def make_printable(text: str, *, newlines: bool = True, strip_ansi: bool = False) -> str:
    """The text with every character that could act or hide replaced by a visible stand-in.

    Controls become their pictures (␛, ␀) or `\\x9b`; bidi, zero-width, private and unassigned characters
    become `⟨U+202E⟩`; tabs become spaces. `strip_ansi` removes whole terminal sequences first and reads a
    lone carriage return as a new line: right for output of programs, wrong for what is being reviewed.
    With `newlines=False` a line feed is shown as `⏎`. Applying it twice changes nothing.
    """
    if _is_plain(text, newlines):
        return text
    if strip_ansi:
        text = SEQUENCE.sub("", text)
    text = text.replace("\r\n", "\n")
    if strip_ansi:
        text = text.replace("\r", "\n")
    if not newlines:
        text = text.replace("\n", "⏎")
    text = text.expandtabs(_TAB_STOP)
    return text if _is_plain(text, newlines) else _escape(text)


def _is_plain(text: str, newlines: bool) -> bool:
    if text.isascii():
        return (text.replace("\n", "") if newlines else text).isprintable()
    return False


def _escape(text: str) -> str:
    table = {ord(char): _replace_character(char) for char in set(text) if _is_bad(char)}
    if table:
        text = text.translate(table)
    text = compile_once(_LOOSE_SELECTOR).sub(_stand_in_of_match, text)
    if _JOINER in text:
        text = compile_once(_LOOSE_JOINER).sub(_stand_in_of_match, text)
    return compile_once(_PILE_OF_MARKS).sub(lambda m: f"{m[1]}⟨{len(m[2])} more marks⟩", text)


def _is_bad(char: str) -> bool:
    if char.isprintable():
        return compile_once(_BLANK).match(char) is not None
    if char in ("\n", _JOINER) or "\U0001f300" <= char <= "\U0001faff":
        return False  # joiners are judged by their neighbours; younger emoji are unknown to older Pythons
    return not char.isspace() or char in _NOT_ONLY_SPACE


# str.isspace() counts these, yet they are controls or break lines.
_NOT_ONLY_SPACE = frozenset("\t\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029")


def _replace_character(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if code < 0xA0:
        return f"\\x{code:02x}"
    return f"⟨U+{code:04X}⟩"


def _stand_in_of_match(match: re.Match[str]) -> str:
    return _replace_character(match[0])


def collapse_blanks(text: str) -> str:
    """The text with every run of more than 80 blanks replaced by how many they are."""
    return compile_once(_LONG_RUN).sub(lambda run: f"⟨{len(run[0]):,} blanks⟩", text)


def put_in_one_line(text: str) -> str:
    """The text with one blank for every run of blanks and ends of lines."""
    return " ".join(text.split())


def has_visible_text(text: str) -> bool:
    """Whether any character of the text leaves a mark: blanks and control characters do not."""
    return any(char.isprintable() and char != " " for char in text)


_PARAGRAPH_END = r"\n\s*\n"
_MARKED = r"`([^`]+)`|\*\*([^*]+)\*\*"


def split_paragraphs(markdown: str) -> list[str]:
    """The paragraphs of a text, each on one line, without the marks of code and of bold words; never none."""
    return [
        compile_once(_MARKED).sub(r"\1\2", " ".join(map(str.strip, paragraph.split("\n"))))
        for paragraph in compile_once(_PARAGRAPH_END).split(markdown.strip())
    ]

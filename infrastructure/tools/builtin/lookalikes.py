"""A passage that differs from a file only in characters that look the same, or cannot be seen."""

from __future__ import annotations

import unicodedata
from difflib import SequenceMatcher

_MOST_DIFFERENCES = 3
_LONGEST = 4_000
# Letters of other scripts, quotes and dashes as they stand for those of ASCII.
_ALIKE = str.maketrans(
    "аеорсухіјѕԁһАВЕКМНОРСТХІЈЅοαΑΒΕΖΗΙΚΜΝΟΡΤΥΧ‘’‚‛′“”„‟″‐‑‒–—―−…",
    "aeopcyxijsdhABEKMHOPCTXIJSoaABEZHIKMNOPTYX'''''\"\"\"\"\"-------.",
)


def describe_lookalike(content: str, old: str) -> str:
    """A sentence about where a passage stands in other characters, and which, with a space before it.

    Empty where it does not.
    """
    folded, places = _fold_text(content)
    wanted, _ = _fold_text(old)
    if not wanted.strip() or (at := folded.find(wanted)) < 0:
        return ""
    first, end = places[at], places[at + len(wanted) - 1] + 1
    while end < len(content) and not _fold(content[end]):
        end += 1
    differences = _list_differences(content[first:end], old)
    if not differences:
        return ""
    line = content.count("\n", 0, first) + 1
    return (
        f" A passage that differs only in characters that look alike or are not seen is at line {line}: "
        f"{'; '.join(differences)}. Copy it exactly as it is there, such characters as \\u escapes of JSON."
    )


def _fold_text(text: str) -> tuple[str, list[int]]:
    """The text without what cannot be told apart, and for each of its characters the place it comes from."""
    folded, places = [], []
    for place, character in enumerate(text):
        for each in character if character.isascii() and character != "\t" else _fold(character):
            folded.append(each)
            places.append(place)
    return "".join(folded), places


def _fold(character: str) -> str:
    if character == "\n":
        return character
    if character == "\t" or unicodedata.category(character) == "Zs":
        return " "
    if unicodedata.category(character) in ("Cf", "Cc"):
        return ""
    return unicodedata.normalize("NFKD", character.translate(_ALIKE)).translate(_ALIKE)


def _list_differences(there: str, old: str) -> list[str]:
    matcher = SequenceMatcher(None, there[:_LONGEST], old[:_LONGEST], autojunk=False)
    found = [
        f"the file has {_name(there[low:high])} where old_text has {_name(old[from_:to])}"
        for tag, low, high, from_, to in matcher.get_opcodes()
        if tag != "equal"
    ]
    more = ["and more"] if len(found) > _MOST_DIFFERENCES else []
    return found[:_MOST_DIFFERENCES] + more


def _name(characters: str) -> str:
    named = [f"U+{ord(each):04X} {unicodedata.name(each, '')}".strip() for each in characters[:4]]
    return " ".join(named) + (" …" if len(characters) > 4 else "") or "nothing"

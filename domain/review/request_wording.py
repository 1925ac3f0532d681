"""How people say which files they mean: by how names begin and end, by what is left out, by kinds of files."""

from __future__ import annotations

import re
from collections.abc import Collection

from quorum.domain.text.pattern import compile_once

_KINDS_BY_ENDING = {
    **dict.fromkeys(("jpg", "jpeg", "png", "gif", "webp", "bmp"), ("image", "images")),
    **dict.fromkeys(("mp4", "mkv", "mov", "avi", "webm"), ("video", "videos")),
    **dict.fromkeys(("zip", "tar", "gz", "tgz", "xz", "bz2", "7z"), ("archive", "archives")),
    **dict.fromkeys(("bak", "orig"), ("backup", "backups")),
    **dict.fromkeys(("tmp", "temp"), ("temp", "temporary")),
    "txt": ("text",),
    "log": ("logs",),
    "md": ("markdown",),
    "py": ("python",),
    "js": ("javascript",),
    "ts": ("typescript",),
    "rb": ("ruby",),
    "rs": ("rust",),
    "pyc": ("bytecode",),
    "o": ("object",),
    "swp": ("swap",),
}
_TOKEN = r"(?:\"(?P<q>[^\"]+)\"|'(?P<s>[^']+)'|`(?P<b>[^`]+)`|(?P<w>[^\s\"'`,;:!?()]+))"
_WHOSE = (
    r"(?:\b(?:that|which|whose|with|have|having)\s+)?(?:(?:the\s+|a\s+)?(?:file\s?)?names?\s+(?:that\s+)?)?"
)
_IN_NAMES = r"\s+in\s+(?:the|their|its)\s+(?:file\s?)?names?\b"
_NAMED = (
    ("{}*", rf"(?i){_WHOSE}\b(?:begin|start)(?:s|ning|ing)?\s+(?:with|in|by)\s+{_TOKEN}"),
    ("*{}", rf"(?i){_WHOSE}\bend(?:s|ing)?\s+(?:with|in)\s+{_TOKEN}"),
    (
        "*{}*",
        rf"(?i)\b(?:(?:that|which)\s+)?(?:with|have|having|contain(?:s|ing)?)\s+(?:the\s+word\s+)?"
        rf"{_TOKEN}{_IN_NAMES}",
    ),
    (
        "*{}*",
        rf"(?i)\b(?:whose|with)\s+(?:file\s?)?names?\s+(?:that\s+)?contain(?:s|ing)?\s+{_TOKEN}",
    ),
    (
        "{}",
        rf"(?i){_WHOSE}\b(?:match(?:es|ing)?|like|called|(?:is|are)(?=\s+[\"'`]))\s+(?:the\s+)?(?:pattern\s+)?"
        rf"{_TOKEN}(?:{_IN_NAMES})?",
    ),
)
"""Ways to say how names look, and the pattern of the shell that says the same."""
_LEFT_OUT = (
    r"(?i),?\s*\b(?:except(?:\s+for)?|but|excluding|apart\s+from|other\s+than)\s+"
    r"(?:(?:the|those|ones|any|all|files?|folders?|directories|named|with|paths?|in|under|below)\s+)*"
    + _TOKEN
    + r"(?:\s+files?\b)?(?!\s*(?:,|and\b|or\b))"
)
_UNASKED = r"(?i),?\s*\bwithout\s+(?:any\s+)?(?:prompt(?:ing|s)?|asking|confirm(?:ing|ation)|questions?)\b,?"
_WORD = r"[^\s\"'`“”«»,;:!?()\[\]]+"
_PLAIN = frozenset(
    {
        *(
            "a",
            "an",
            "the",
            "this",
            "that",
            "these",
            "those",
            "them",
            "it",
            "all",
            "every",
            "each",
            "any",
            "both",
        ),
        *(
            "my",
            "our",
            "your",
            "its",
            "everything",
            "and",
            "or",
            "also",
            "then",
            "please",
            "just",
            "now",
            "simply",
        ),
        *("file", "files", "folder", "folders", "directory", "directories", "dir", "dirs", "subfolder", "tree"),
        *(
            "subfolders",
            "subdirectories",
            "item",
            "items",
            "path",
            "paths",
            "regular",
            "normal",
            "plain",
            "link",
        ),
        *(
            "links",
            "in",
            "inside",
            "within",
            "under",
            "underneath",
            "below",
            "beneath",
            "from",
            "of",
            "at",
            "on",
        ),
        *("here", "there", "current", "project", "repo", "repository", "workspace", "root", "working", "down"),
        *("named", "name", "names", "called", "with", "extension", "extensions", "suffix", "up", "out", "rid"),
        *("recursively", "permanently", "completely", "forcibly", "force", "can", "could", "will", "would"),
        *(
            "you",
            "i",
            "we",
            "want",
            "need",
            "like",
            "to",
            "help",
            "me",
            "let's",
            "lets",
            "find",
            "search",
            "is",
        ),
        *("found", "locate", "look", "for", "go", "ahead", "are", "were", "was", "again", "away", "_"),
        *(
            "owner",
            "owners",
            "ownership",
            "group",
            "user",
            "mode",
            "permission",
            "permissions",
            "rights",
            "set",
        ),
    }
)
"""Words that make a request for a selection of files no narrower."""


_STAGES = {
    **dict.fromkeys(("prod", "production", "live"), "production"),
    **dict.fromkeys(("staging", "stg", "preprod", "uat", "qa"), "staging"),
    **dict.fromkeys(("dev", "development", "sandbox"), "development"),
}
_STAGE = (
    r"(?i)(?<![a-z0-9])(" + "|".join(_STAGES) + r")(?![a-z0-9]|\s+(?:area|servers?|dependenc|tool|package))"
)


def list_stages(text: str) -> frozenset[str]:
    """The stages, such as production, that names in a text are of."""
    return frozenset(_STAGES[found.lower()] for found in compile_once(_STAGE).findall(text))


def list_kinds_of_files(ending: str) -> tuple[str, ...]:
    """The words for files with such an ending, beside the ending itself."""
    return _KINDS_BY_ENDING.get(ending, ())


def restate(text: str, names: Collection[str], left_out: Collection[str]) -> str:
    """The text with each way to say one of these patterns in place of which stands the pattern, and without
    exceptions that are made. What says anything else stays as it is."""
    for form, pattern in _NAMED:
        text = _restate(text, form, pattern, {*names, *left_out})

    def drop(found: re.Match[str]) -> str:
        return " " if _find_token(found).rstrip("/").removeprefix("./") in known else found[0]

    if left_out:
        known = {each.removesuffix("/*").rstrip("/").removeprefix("./") for each in left_out}
        text = compile_once(_LEFT_OUT).sub(drop, text)
    return compile_once(_UNASKED).sub(" ", text)


def _restate(text: str, form: str, pattern: str, known: Collection[str]) -> str:
    def say(found: re.Match[str]) -> str:
        glob = form.format(_find_token(found))
        return f' named "{glob}"' if glob in known else found[0]

    return compile_once(pattern).sub(say, text)


def _find_token(found: re.Match[str]) -> str:
    return next(each for each in (found["q"], found["s"], found["b"], found["w"]) if each).rstrip(".")


def holds_only_plain_words(text: str, known: Collection[str]) -> bool:
    """Whether nothing in a text can make a selection of files smaller than these names of it."""
    words = (word.rstrip(".").casefold() for word in compile_once(_WORD).findall(text))
    return all(
        word in known or word.rstrip("/") in known or _PLAIN.issuperset(word.split("/"))
        for word in words
        if word
    )

"""The two pattern languages of searches: regular expressions in RE2's dialect, and globs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import re2

from quorum.domain.errors import ToolError

_DIALECT = "patterns are in RE2 syntax, which has no lookaround, backreferences or possessive repetition"
_EACH_LINE = "(?m)"
_UNSUPPORTED = {
    "(?=": "lookahead",
    "(?!": "negative lookahead",
    "(?<=": "lookbehind",
    "(?<!": "negative lookbehind",
    "(?>": "an atomic group",
    "(?#": "a comment",
    "(?(": "a conditional",
    "(?P=": "a backreference",
}


class LinePattern:
    """A regular expression searched for in each line on its own, in time linear to the text."""

    def __init__(self, pattern: str, *, ignore_case: bool) -> None:
        """Raises ToolError that names what is wrong or not supported."""
        if not pattern:
            raise ToolError("pattern is empty: it would match every line")
        try:
            self._regex = _compile(_EACH_LINE + pattern, never_nl=True, case_sensitive=not ignore_case)
        except re2.error as error:
            raise ToolError(_explain_complaint(pattern, error.args[0])) from error
        except UnicodeEncodeError as error:
            raise ToolError("pattern holds half of a surrogate pair: no text can match it") from error

    def find_lines(self, content: bytes) -> Iterator[tuple[int, int]]:
        """Start and end of each line with a match, the line feed left out."""
        at = 0
        while at < len(content) and (found := self._regex.search(content, at)) is not None:
            middle: int = found.start()
            if middle == len(content) and content.endswith(b"\n"):
                return
            start = content.rfind(b"\n", 0, middle) + 1
            end = content.find(b"\n", middle)
            yield start, end if end >= 0 else len(content)
            if end < 0:
                return
            at = end + 1


class Glob:
    """`*` and `?` within a name, `**` across folders, `[a-z]`, `{one,other}`."""

    def __init__(self, pattern: str, argument: str) -> None:
        """Raises ToolError, naming the argument, for a pattern that can match nothing."""
        self.pattern = pattern.removeprefix("./")
        if not self.pattern:
            raise ToolError(f"{argument} is empty")
        if self.pattern.startswith("/") or ".." in self.pattern.split("/"):
            raise ToolError(f"{argument} must be relative to the folder searched, without a leading / or ..")
        try:
            self._regex = _compile(_translate_glob(self.pattern), dot_nl=True)
        except (re2.error, UnicodeEncodeError) as error:
            raise ToolError(
                f"{argument} {self.pattern!r} is not a valid glob: check its brackets and braces"
            ) from error

    @property
    def spans_folders(self) -> bool:
        """Whether it speaks of more than a name."""
        return "/" in self.pattern

    def matches(self, path: str) -> bool:
        """Whether a relative path is meant."""
        return self._regex.fullmatch(path.encode("utf-8", "replace")) is not None


# RE2's module is untyped; nothing of it leaves this file.
def _compile(pattern: str, **settings: bool) -> Any:
    options = re2.Options()
    options.log_errors = False
    for name, value in settings.items():
        setattr(options, name, value)
    return re2.compile(pattern, options)


def _explain_complaint(pattern: str, reason: bytes | str) -> str:
    words = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else reason
    # The prefix that this file put before the pattern is none of the reader's business.
    words = words.replace(_EACH_LINE, "", 1)
    problem, _, place = words.partition(": ")
    match problem:
        case "invalid perl operator":
            # RE2 quotes an unknown group only up to the letter it stumbled over.
            operator = next(
                (o for o in _UNSUPPORTED if place.startswith(o) or (place == "(?P" and o in pattern)), place
            )
            return (
                f'pattern: {_UNSUPPORTED.get(operator, "this group")} "{operator}" is not supported; {_DIALECT}'
            )
        case "invalid escape sequence" if place[1:2].isdigit() or place[1:2] in ("k", "g"):
            return f'pattern: the backreference "{place}" is not supported; {_DIALECT}'
        case "bad repetition operator":
            return f'pattern: the repetition "{place}" is not supported; {_DIALECT}'
        case _:
            return f"pattern is not valid: {words}; {_DIALECT}"


def _translate_glob(glob: str) -> str:
    parts: list[str] = []
    at, braces = 0, 0
    while at < len(glob):
        at, braces, part = _translate_token(glob, at, braces)
        parts.append(part)
    return "".join(parts)


def _translate_token(glob: str, at: int, braces: int) -> tuple[int, int, str]:
    """The regular expression of the token at `at`, where the next begins, and how many braces are open then."""
    starts_name = at == 0 or glob[at - 1] in "/{,"
    match glob[at]:
        case "*" if glob.startswith("**/", at) and starts_name:
            return at + 3, braces, "(?:[^/]+/)*"
        case "*" if glob.startswith("**", at):
            return at + 2, braces, ".*"
        case "*":
            return at + 1, braces, "[^/]*"
        case "?":
            return at + 1, braces, "[^/]"
        case "[" if (end := glob.find("]", at + 2 + glob.startswith("[!", at))) > 0:
            inner = glob[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            return end + 1, braces, f"[^/{inner[1:]}]" if inner.startswith(("!", "^")) else f"[{inner}]"
        case "{":
            return at + 1, braces + 1, "(?:"
        case "}" if braces:
            return at + 1, braces - 1, ")"
        case "," if braces:
            return at + 1, braces, "|"
        case "\\" if at + 1 < len(glob):
            return at + 2, braces, re2.escape(glob[at + 1])
        case other:
            return at + 1, braces, re2.escape(other)

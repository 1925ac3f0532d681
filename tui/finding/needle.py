"""What is looked for: typed text, as patterns for text that is shown and for text as it was written."""

from __future__ import annotations

import re

_GAP = r"[^\S\n]+"
_GAP_IN_MARKDOWN = r"(?:[^\S\n]+\n?[^\S\n]*|\n[^\S\n]*)"
_MARKUP = "*_`~\\"
_MAYBE_MARKUP = r"[*_`~\\]*"


class Needle:
    """Text to look for, literally. Capitals count only where there are some in it; a space is any blank.

    `shown` finds it in what is drawn or was drawn as it is, `written` in Markdown: there emphasis may stand
    within it, and a line may end where a space is.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        flags = re.NOFLAG if any(map(str.isupper, text)) else re.IGNORECASE
        words = re.split(r"\s+", text)
        self.shown = re.compile(_GAP.join(map(re.escape, words)), flags)
        # Optional markup between its own characters would be matched in endless ways.
        between = "" if set(text) & set(_MARKUP) else _MAYBE_MARKUP
        loose = [between.join(map(re.escape, word)) for word in words]
        self.written = re.compile(f"{between}{_GAP_IN_MARKDOWN}{between}".join(loose), flags)

    def __bool__(self) -> bool:
        """Whether there is anything to look for."""
        return bool(self.text)

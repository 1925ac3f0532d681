"""What a request says of calls and texts that come from anywhere, in a form that no provider refuses.

A history that a provider refuses is refused for ever after, so none of it may depend on who wrote it.
"""

from __future__ import annotations

import hashlib
import re

from quorum.infrastructure.models.shared.json_fields import replace_surrogates

_LONGEST_ID = 64
_LONGEST_NAME = 64
_ODD_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]")


class SentIds:
    """The ids under which calls are sent: the provider's own where they will do.

    `odd` are the characters that an API does not accept; `anew` tells that it wants no id twice in a request.
    The same history always gives the same ids, so that what is cached of it stays good.
    """

    def __init__(self, *, odd: re.Pattern[str] | None = None, anew: bool = True) -> None:
        self._odd = odd
        self._anew = anew
        self._given: set[str] = set()
        self._of_native: dict[str, str] = {}

    def get_call_id(self, native: str) -> str:
        """The id of the next call of this native id."""
        fit = self._fit(native)
        chosen, number = fit, 1
        while self._anew and chosen in self._given:
            number += 1
            chosen = f"{fit[: _LONGEST_ID - 8]}_{number}"
        self._given.add(chosen)
        self._of_native[native] = chosen
        return chosen

    def get_result_id(self, native: str) -> str:
        """The id of the call that a result belongs to: the last one of this native id."""
        return self._of_native.get(native) or self._fit(native)

    def _fit(self, native: str) -> str:
        fit = self._odd.sub("_", native) if self._odd else replace_surrogates(native)
        if 0 < len(fit) <= _LONGEST_ID:
            return fit
        return f"call_{hashlib.sha256(native.encode(errors='surrogatepass')).hexdigest()[:32]}"


def clean_tool_name(name: str) -> str:
    """A tool's name as every API accepts it: models also call tools of names that no tool may have."""
    return _ODD_IN_NAME.sub("_", name)[:_LONGEST_NAME] or "_"


def fill_empty_prompt(text: str) -> str:
    """What the person said; an empty message would be refused, and to leave it out would join two answers."""
    return replace_surrogates(text) if text.strip() else "(empty message)"


def fill_empty_output(text: str) -> str:
    """What a tool answered, or that it answered nothing."""
    return replace_surrogates(text) if text.strip() else "(no output)"

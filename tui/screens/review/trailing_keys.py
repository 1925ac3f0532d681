"""Keeps a review key that comes after the last question has closed out of the prompt."""

from __future__ import annotations

from tui.screens.review.keys import KEYS

_WINDOW_SECS = 5.0
"""How long after a question has closed a review key may still be meant for it."""
_TYPING_SECS = 0.5
"""The longest pause between two letters of one word: what follows sooner makes the first one text."""
_REPEAT_SECS = 0.4

REVIEW_KEYS = frozenset(
    key for binding in KEYS if not isinstance(binding, tuple) for key in binding.key.split(",") if len(key) == 1
)


class TrailingKeys:
    """Holds a review key back until what follows shows that it was text. Times are seconds of one clock."""

    def __init__(self) -> None:
        self._closed_at = self._held_at = float("-inf")
        self._held = ""

    def closed(self, now: float) -> None:
        """A question has closed."""
        self._closed_at, self._held = now, ""

    def admit(self, key: str, character: str | None, pressed: float) -> str | None:
        """What has to be typed before this key, usually nothing; None where the key is not to be typed."""
        held, self._held = self._held, ""
        is_late = pressed > self._closed_at + _WINDOW_SECS
        if character is None or key == "enter":
            return None if key == "enter" and pressed <= self._closed_at + _REPEAT_SECS else ""
        if held and pressed <= self._held_at + _TYPING_SECS and character != held[-1]:
            self._closed_at = float("-inf")
            return held if len(held) == 1 else ""
        if character not in REVIEW_KEYS or is_late:
            self._closed_at = float("-inf")
            return ""
        self._held = held + character if held and character == held[-1] else character
        self._held_at = pressed
        return None

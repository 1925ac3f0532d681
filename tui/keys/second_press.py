"""Keys that mean something else when they are pressed twice."""

from __future__ import annotations

from collections.abc import Callable

_TWICE_SECS = 1.0


class SecondPress:
    """Tells the second press of a key within a second. `clock` is in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._before: tuple[str, float] = ("", 0.0)
        self._spent: tuple[str, float] = ("", 0.0)

    def register_press(self, key: str) -> bool:
        """Note a press; whether it is the second one. A third one begins anew."""
        now = self._clock()
        if self._is_within(self._spent, key, now):
            return False
        second = self._is_within(self._before, key, now)
        self._before = ("", 0.0) if second else (key, now)
        return second

    def spend(self, key: str) -> None:
        """This press has done something already; those of the next second are more of it and do nothing."""
        self._before, self._spent = ("", 0.0), (key, self._clock())

    @staticmethod
    def _is_within(pressed: tuple[str, float], key: str, now: float) -> bool:
        return pressed[0] == key and now - pressed[1] <= _TWICE_SECS

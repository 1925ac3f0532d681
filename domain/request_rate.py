"""How many requests a provider is sent in a minute: a bucket of tokens, one for each request."""

from __future__ import annotations

from msgspec import Struct

_BURST_SECS = 10.0


class RequestRate(Struct, frozen=True):
    """At most so many requests in a minute, on average. A bucket is full at first, and filled evenly."""

    per_minute: int

    @property
    def per_second(self) -> float:
        """How many tokens come in a second."""
        return self.per_minute / 60

    @property
    def burst(self) -> float:
        """How many tokens a bucket holds: those of ten seconds, and at least one.

        Providers count shorter spans than a minute; a full minute at once would be refused.
        """
        return max(1.0, self.per_second * _BURST_SECS)

    def refill(self, tokens: float, secs: float) -> float:
        """The tokens of a bucket after so many seconds."""
        return min(self.burst, tokens + max(0.0, secs) * self.per_second)

    def compute_wait(self, tokens: float) -> float:
        """Seconds until a request may be sent that left so many tokens: below zero, it waits for its own."""
        return max(0.0, -tokens / self.per_second)

"""What was read from standard input before this process had to decide itself: it can be read only once."""

from __future__ import annotations

from typing import NamedTuple

MOST_BYTES = 4 << 20


class HeldCall(NamedTuple):
    """A call, and what came of it so far.

    `trouble` is why nobody else could be asked, for the person. `verdict` is not empty where it is to be asked
    about, whatever this process would decide: the reason. `spent_secs` are gone of the time for the decision.
    """

    content: bytes
    trouble: str = ""
    verdict: str = ""
    spent_secs: float = 0.0


held: HeldCall | None = None


def hold(content: bytes, *, trouble: str = "", verdict: str = "", spent_secs: float = 0.0) -> None:
    """Keep it for `quorum.cli.gate`."""
    global held
    held = HeldCall(content, trouble, verdict, spent_secs)

"""How often a mode was wrong to let calls run unasked: a sample of them, which the person judges afterwards."""

from __future__ import annotations

import hashlib
import math
from enum import StrEnum

from msgspec import Struct

from quorum.domain.review.mode import Mode
from quorum.domain.review.permission_rules import COMMAND_TOOL, WRITERS

SAMPLED_MODES = frozenset({Mode.AUTO, Mode.QUORUM})
"""The modes that let calls run which neither a person nor a rule allowed, whatever they are."""
_CONFIDENCE = 0.95
_STEPS = 50  # halvings: far below what is shown


class CallKind(StrEnum):
    """What calls have in common of which the error is told together."""

    COMMANDS = "commands"
    EDITS = "edits"
    OTHERS = "other calls"

    @classmethod
    def of(cls, tool: str) -> CallKind:
        """The kind of a tool's calls."""
        return cls.COMMANDS if tool == COMMAND_TOOL else cls.EDITS if tool in WRITERS else cls.OTHERS


class SampledCall(Struct, frozen=True, kw_only=True):
    """A call that a mode let run. `text` is the call in a line, secrets hidden; `at_ms` is when, in
    milliseconds since 1970; `change` is what it was to change in files; `is_right` is the person's verdict,
    None as long as there is none."""

    id: str
    session_id: str
    mode: Mode
    kind: CallKind
    text: str
    at_ms: int
    change: str = ""
    is_right: bool | None = None


class ErrorFigures(Struct, frozen=True, kw_only=True):
    """Of the calls of a kind: how many were judged, how many of them should not have run, how many wait."""

    kind: CallKind
    judged: int = 0
    wrong: int = 0
    waiting: int = 0

    @property
    def bound(self) -> float:
        """The share of wrong calls that is not exceeded, at 95 % confidence."""
        return compute_upper_bound(self.wrong, self.judged)

    @property
    def remark(self) -> str:
        """The bound in a few words."""
        return f"≤ {format_share(self.bound)} of {self.kind} wrong (95 %, n = {self.judged})"

    @property
    def sentence(self) -> str:
        """The bound in words, with the number of judged calls."""
        if not self.judged:
            return f"{self.kind}: none judged"
        return f"{self.kind}: ≤ {format_share(self.bound)} wrong (95 %, n = {self.judged})"

    def exceeds(self, max_error: float) -> bool:
        """Whether something was wrong, and the bound lies above this share."""
        return self.wrong > 0 and self.bound > max_error


def is_sampled(call_id: str, share: float) -> bool:
    """Whether a call is one of so large a share of all, which its id alone decides."""
    number = int.from_bytes(hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    return number < share * 2**64


def compute_upper_bound(count: int, of: int) -> float:
    """The one-sided upper bound of a share, exact (Clopper, Pearson), at 95 % confidence; 1 without cases."""
    if count >= of:
        return 1.0
    low, high = count / of, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _compute_tail(count, of, middle) > 1 - _CONFIDENCE:
            low = middle
        else:
            high = middle
    return high


def _compute_tail(count: int, of: int, share: float) -> float:
    """How likely at most `count` of so many cases are, where each has this share."""
    if not 0 < share < 1:
        return 1.0 if share <= 0 else 0.0
    logs = (
        math.lgamma(of + 1)
        - math.lgamma(each + 1)
        - math.lgamma(of - each + 1)
        + each * math.log(share)
        + (of - each) * math.log1p(-share)
        for each in range(count + 1)
    )
    return math.fsum(map(math.exp, logs))


def format_share(share: float) -> str:
    """A share in percent, rounded up where it is below ten."""
    percent = 100 * share - 1e-9  # what is whole stays whole
    return f"{math.ceil(percent * 10) / 10:g} %" if percent < 10 else f"{math.ceil(percent)} %"

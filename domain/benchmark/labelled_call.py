"""Proposed calls of which it is known whether they are safe, and what reviewers said of them."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from quorum.domain.review.ballot import Vote
from quorum.domain.text.json_value import JsonObject


class CallLabel(StrEnum):
    """Whether a call is one that should run."""

    SAFE = "safe"
    UNSAFE = "unsafe"


class CallGroup(StrEnum):
    """How a call relates to its request. Shares of different groups must not be added up.

    ALONE: the label holds of the call by itself. PAIR: another call of the data differs from it only in the
    request, or in one detail. REQUESTED: the label holds only with the request.
    """

    ALONE = "calls alone"
    PAIR = "pairs and twins"
    REQUESTED = "the rest"


class LabelledCall(Struct, frozen=True, kw_only=True):
    """One call. `tool` and `arguments` are as the tools of quorum have them; `kind` says what it is about.

    `task` is what the person asked for, as reviewers are told. It is empty for a call whose label holds without
    it: having a request gives the label of such calls away.
    """

    id: str
    tool: str
    arguments: JsonObject
    label: CallLabel
    kind: str
    group: CallGroup
    task: str = ""


class RecordedBallot(Struct, frozen=True, kw_only=True):
    """What a model said of the call `id`. A contested label is one that people disagree about.

    `confidence` lies between 0 and 1; times are in seconds, costs in US dollars; None: not recorded.
    """

    model: str
    id: str
    label: CallLabel
    vote: Vote
    confidence: float | None = None
    latency_secs: float | None = None
    cost_usd: float | None = None
    is_contested: bool = False

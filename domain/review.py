"""Who decides that a call may run: the mode, the one decision function, and what a person may answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from domain.access import Access
from domain.json_value import JsonObject
from domain.packet import ReviewPacket
from domain.path_policy import PathPolicy
from domain.tool import RiskLevel


class Mode(StrEnum):
    """How what no rule decided is resolved."""

    READ_ONLY = "read-only"
    ASK = "ask"
    ACCEPT_EDITS = "accept-edits"
    AUTO = "auto"


class Answer(StrEnum):
    """The three answers, from weakest to strictest."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer and why, in words for the person, strictest reason first."""

    answer: Answer
    reasons: tuple[str, ...]


class DecisionLabel(StrEnum):
    """What became of a call's permission, as reports print it."""

    ALLOWED = "allowed"
    APPROVED = "approved"
    EDITED = "edited"
    REJECTED = "rejected"
    DENIED = "denied"
    NEEDS_APPROVAL = "needs_approval"
    NONE = "none"


def decide(*, risk: RiskLevel, access: Access, paths: PathPolicy, mode: Mode) -> Decision:
    """Whether a call may run, must be asked about, or may not run. Pure; the strictest answer wins."""
    spoken = [_by_mode(risk, access, paths, mode), *_by_paths(access, paths)]
    strictest = max(spoken, key=lambda decision: _STRICTNESS[decision.answer]).answer
    spoken.sort(key=lambda decision: -_STRICTNESS[decision.answer])
    reasons = tuple(r for d in spoken if d.answer is strictest for r in d.reasons)
    return Decision(strictest, reasons)


_STRICTNESS = {Answer.ALLOW: 0, Answer.ASK: 1, Answer.DENY: 2}


def _by_mode(risk: RiskLevel, access: Access, paths: PathPolicy, mode: Mode) -> Decision:
    if risk is RiskLevel.LOW:
        return Decision(Answer.ALLOW, ("low risk",))
    match mode:
        case Mode.READ_ONLY:
            return Decision(Answer.DENY, ("the mode is read-only",))
        case Mode.ASK:
            return Decision(Answer.ASK, ("high risk, and the mode is ask",))
        case Mode.ACCEPT_EDITS:
            if _is_edit_inside(access, paths):
                return Decision(Answer.ALLOW, ("an edit inside the workspace, and the mode is accept-edits",))
            return Decision(Answer.ASK, ("high risk, and more than an edit inside the workspace",))
        case Mode.AUTO:
            return Decision(Answer.ALLOW, ("the mode is auto",))


def _is_edit_inside(access: Access, paths: PathPolicy) -> bool:
    return bool(access.writes) and not access.exclusive and all(paths.is_inside(p) for p in access.writes)


def _by_paths(access: Access, paths: PathPolicy) -> list[Decision]:
    protected = sorted(p for p in access.writes if paths.is_protected(p))
    sensitive = sorted(p for p in access.reads | access.writes if paths.is_sensitive(p))
    return [
        *(Decision(Answer.ASK, (f"{path} is a protected path",)) for path in protected),
        *(Decision(Answer.ASK, (f"{path} is a sensitive file",)) for path in sensitive),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRequest:
    """What is put to the person: the packet, why it is asked, and its place among the calls of the batch.

    `following` are the packets of later calls of the batch that would be asked as well; approving the rest
    approves exactly their digests. `stale` is set when an earlier approval of this call no longer fitted.
    """

    packet: ReviewPacket
    reasons: tuple[str, ...]
    batch_size: int
    following: tuple[ReviewPacket, ...] = ()
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Approve:
    """Run what the packet of this digest says."""

    digest: str


@dataclass(frozen=True, slots=True)
class ApproveRest:
    """Run this packet, and the listed later ones of the batch if they are still the same at their turn."""

    digests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reject:
    """Do not run it. The reason, if any, is told to the model."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """Seal the call anew with these arguments and ask again."""

    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class RejectAndInterrupt:
    """Do not run it, and stop the turn."""


@dataclass(frozen=True, slots=True)
class NobodyThere:
    """There is no person to ask: the call is withheld."""


ReviewAnswer: TypeAlias = Approve | ApproveRest | Reject | Edit | RejectAndInterrupt | NobodyThere

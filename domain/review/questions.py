"""What is put to a person about a call, and what they may answer, here or from another process."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.review.ballot import Ballot
from quorum.domain.review.person_question import PersonReply
from quorum.domain.review.plan_terms import PlanComparison
from quorum.domain.review.signing import ApprovalSignature, SigningTerms
from quorum.domain.text.json_value import JsonObject


class DecisionLabel(StrEnum):
    """What became of a call's permission, as reports print it."""

    ALLOWED = "allowed"
    APPROVED = "approved"
    EDITED = "edited"
    REJECTED = "rejected"
    DENIED = "denied"
    NEEDS_APPROVAL = "needs_approval"
    NONE = "none"


REJECTED_WITHOUT_REASON = "rejected by the user"
REJECTED_AND_STOPPED = f"{REJECTED_WITHOUT_REASON}, who stopped the turn"
"""What a call says that the person rejected without a word."""


class RuleOffer(Struct, frozen=True, kw_only=True):
    """Rules, as text, that together would have spared a question which the person has answered before.

    `approvals` is how many approved calls of the session each of them covers at least; `covers` names what else
    they would let run, `families` says what those about families cover and what not.
    """

    rules: tuple[str, ...]
    approvals: int
    covers: tuple[str, ...] = ()
    families: tuple[str, ...] = ()


class ReviewRequest(Struct, frozen=True, kw_only=True):
    """What is put to the person: the packet, why it is asked, and its place among the calls of the batch.

    `following` are the packets of later calls of the batch that would be asked as well; approving the rest
    approves exactly their digests. `stale` is set when an earlier approval of this call no longer fitted.
    `proposals` are rules that would let this call and its like run, the narrowest first.
    `offer` is there where the person has approved such calls before.
    `routine_reasons` are those of the reasons that say no more than that the mode asks about such calls;
    `notices` those that the person has to know of, although they speak of no harm.
    `allowed_by_accept_edits` tells that it would run unasked in the mode `accept-edits`.
    `folder` is the one around all that the call would reach outside the workspace, where it may be added.
    `earlier_plans` are those that reviewers judged before this one, oldest first, where it is about a plan.
    `comparison` is there where several models made plans, and this one stands or was made from it.
    `is_edited`: the person has changed its arguments since the model asked for it; `can_be_edited`: they may.
    `is_elsewhere`: another process asks, so that the answer can only be yes or no.
    `is_recorded_whole`: no part of the packet is masked in the ledger, so that a later process can ask again.
    `preamble` is what the model wrote right before its calls; empty where nothing.
    `signing` is there where people have to sign.
    """

    packet: ReviewPacket
    reasons: tuple[str, ...]
    batch_size: int
    following: tuple[ReviewPacket, ...] = ()
    stale: bool = False
    proposals: tuple[str, ...] = ()
    offer: RuleOffer | None = None
    routine_reasons: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    allowed_by_accept_edits: bool = False
    folder: str | None = None
    earlier_plans: tuple[EarlierPlan, ...] = ()
    comparison: PlanComparison | None = None
    is_edited: bool = False
    can_be_edited: bool = True
    is_elsewhere: bool = False
    is_recorded_whole: bool = True
    preamble: str = ""
    signing: SigningTerms | None = None

    @property
    def can_accept_edits(self) -> bool:
        """Whether this is an edit that the mode alone asks about, and would not in `accept-edits`."""
        return self.allowed_by_accept_edits and not self.dangers

    @property
    def dangers(self) -> tuple[str, ...]:
        """What speaks against this very call, each reason once."""
        return find_dangers(self.reasons, self.routine_reasons)


def find_dangers(reasons: Sequence[str], routine_reasons: Sequence[str]) -> tuple[str, ...]:
    """Those of the reasons for a question that speak against this very call, each once."""
    return tuple(dict.fromkeys(reason for reason in reasons if reason not in routine_reasons))


_GUARD = " (guard "


def omit_guard(reason: str) -> str:
    """A reason without the name of the guard that gave it, which is among the details."""
    said, mark, name = reason.rpartition(_GUARD)
    return (
        said
        if mark and name.endswith(")") and name[:-1].replace("-", " ").replace(" ", "").isalpha()
        else reason
    )


_SIGNED, _ELSEWHERE = "signed by ", "in the inbox, by "


class Approve(Struct, frozen=True):
    """Run what the packet of this digest says. `by` names who said so, where that was in another process;
    `reply` is there where the call is a question to the person, `signatures` where people had to sign."""

    digest: str
    by: str = ""
    reply: PersonReply | None = None
    signatures: tuple[ApprovalSignature, ...] = ()

    @property
    def approvers(self) -> str | None:
        """Who approved it, where that was not the person here alone; `is_by_others` knows such a text."""
        if self.signatures:
            return f"{_SIGNED}{self.by}"
        return f"{_ELSEWHERE}{self.by}" if self.by else None

    @property
    def account(self) -> str:
        """Whose process approved it, where that was another one."""
        return "" if self.signatures else self.by.rpartition("@")[0]


def is_by_others(reason: str | None) -> bool:
    """Whether an approval with this reason was made by signatures or in the inbox, by whomever."""
    return reason is not None and reason.startswith((_SIGNED, _ELSEWHERE))


class ApproveEdits(Struct, frozen=True):
    """Run what the packet of this digest says, and from now on edits inside the workspace without asking."""

    digest: str


class ApproveFolder(Struct, frozen=True):
    """Run what the packet of this digest says, and have this folder belong to the workspace from now on."""

    digest: str
    folder: str


class ApproveRest(Struct, frozen=True):
    """Run this packet, and the listed later ones of the batch if they are still the same at their turn."""

    digests: tuple[str, ...]


class RuleScope(StrEnum):
    """How long and where a saved rule holds: in this session, in this folder, or for this person everywhere."""

    SESSION = "session"
    PROJECT = "project"
    USER = "user"


class ApproveAlways(Struct, frozen=True):
    """Run what the packet of this digest says, and from now on what these rules cover, alone or together."""

    digest: str
    rules: tuple[str, ...]
    scope: RuleScope


class RulePreview(Struct, frozen=True, kw_only=True):
    """What a rule would do. `problem` says why it cannot be saved; `covers` names other calls it would let run.

    `covers_this` tells whether it lets the call in question run; `must_match` and `must_not_match` are the
    examples that are saved with it and checked whenever it is loaded. `family` says what a
    rule about a family of commands covers and what not.
    """

    problem: str | None = None
    covers_this: bool = False
    covers: tuple[str, ...] = ()
    family: str = ""
    must_match: tuple[str, ...] = ()
    must_not_match: tuple[str, ...] = ()


class Reject(Struct, frozen=True):
    """Do not run it. The model reads the reason, if any. `by` names who said so in another process."""

    reason: str | None = None
    by: str = ""


class Edit(Struct, frozen=True):
    """Seal the call anew with these arguments and ask again."""

    arguments: JsonObject


class RejectAndInterrupt(Struct, frozen=True):
    """Do not run it, and stop the turn."""


class NobodyThere(Struct, frozen=True):
    """There is no person to ask: the call is withheld."""


ANY_APPROVAL = (Approve, ApproveEdits, ApproveFolder, ApproveRest, ApproveAlways)
"""All answers by which the call may run that was asked about."""
ReviewAnswer: TypeAlias = (
    Approve
    | ApproveEdits
    | ApproveFolder
    | ApproveRest
    | ApproveAlways
    | Reject
    | Edit
    | RejectAndInterrupt
    | NobodyThere
)


class RemoteAnswer(Struct, frozen=True, kw_only=True):
    """What somebody answered about the packet of this digest, in this session.

    It is no part of the session's events: the process that writes the session reads it, and records the
    decision. `answered_by` names person and machine; `reason` is why it is rejected, if said, or the encoded
    reply to a question that is approved; `at_ms` is the time in milliseconds since 1970.
    """

    session_id: str
    digest: str
    approves: bool
    reason: str | None
    answered_by: str
    at_ms: int

    def to_review_answer(self) -> ReviewAnswer:
        """The answer as the asking process takes it."""
        if self.approves:
            reply = None if self.reason is None else PersonReply.decode(self.reason)
            return Approve(self.digest, by=self.answered_by, reply=reply)
        return Reject(self.reason, by=self.answered_by)


class EarlierPlan(Struct, frozen=True, kw_only=True):
    """The plan of round `number`, as Markdown, and the votes on it."""

    number: int
    text: str
    ballots: tuple[Ballot, ...]

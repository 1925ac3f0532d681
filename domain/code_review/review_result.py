"""What a code review comes to: findings, rulings on them, votes, and whether the change is approved."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from quorum.domain.code_review.change import Change
from quorum.domain.review.ballot import Ballot, Verdict, Vote
from quorum.domain.review.severity import Severity
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.pattern import compile_once

_NEAR_LINES = 3
_SAME = 0.5
_ALIKE = 0.2
_WORD = r"[a-z0-9_]{3,}"


class FindingKind(StrEnum):
    """What kind of defect it is."""

    CORRECTNESS = "correctness"
    SECURITY = "security"
    DATA_LOSS = "data_loss"
    CONCURRENCY = "concurrency"
    ERROR_HANDLING = "error_handling"
    PERFORMANCE = "performance"
    COMPATIBILITY = "compatibility"
    TESTS = "tests"
    OTHER = "other"


class ReportedFinding(Struct, frozen=True, kw_only=True):
    """A finding as one reviewer reports it. `line` is that after the change, 0 where it is about the file."""

    file: str
    line: int
    severity: Severity
    kind: FindingKind
    claim: str
    evidence: str
    suggestion: str = ""


class Ruling(StrEnum):
    """What another model says of a finding that it did not report itself."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNCLEAR = "unclear"


class Trial(Struct, frozen=True, kw_only=True):
    """A model's ruling on the finding of this id."""

    finding: str
    model: str
    ruling: Ruling
    reason: str


class FindingStanding(StrEnum):
    """What is to be held of a finding, the surest first."""

    CONFIRMED = "confirmed"
    UNTRIED = "untried"
    CONTESTED = "contested"
    REFUTED = "refuted"


class CodeFinding(Struct, frozen=True, kw_only=True):
    """One defect, with everything that was said of it.

    `report` is the gravest report, `others` are those that agree with it; `reviewers` are the labels of all who
    reported it. `fingerprint` stays the same where the lines of the file move.
    """

    id: str
    report: ReportedFinding
    reviewers: tuple[str, ...]
    others: tuple[ReportedFinding, ...] = ()
    trials: tuple[Trial, ...] = ()
    fingerprint: str = ""

    @property
    def standing(self) -> FindingStanding:
        """One other model that agrees confirms it; as many against as for leave it contested."""
        agree = len(self.reviewers) - 1 + sum(trial.ruling is Ruling.CONFIRMED for trial in self.trials)
        against = sum(trial.ruling is Ruling.REFUTED for trial in self.trials)
        if agree > against:
            return FindingStanding.CONFIRMED
        if agree == against:
            return FindingStanding.CONTESTED if against else FindingStanding.UNTRIED
        return FindingStanding.REFUTED


def merge_findings(reported: Iterable[tuple[str, ReportedFinding]], change: Change) -> tuple[CodeFinding, ...]:
    """Make one finding of those that several reviewers report alike; each comes with the reviewer's label.

    Findings of one reviewer are two unless they are the same word for word. Sorted by severity, by how many
    report it, and by place; ids are F1, F2, …
    """
    groups: dict[str, list[list[tuple[str, ReportedFinding]]]] = {}
    for label, finding in dict.fromkeys(reported):  # one of several parts may be reported in each
        in_file = groups.setdefault(finding.file, [])
        for group in in_file:
            if _belongs(label, finding, group):
                group.append((label, finding))
                break
        else:
            in_file.append([(label, finding)])
    merged = [_merge(group) for in_file in groups.values() for group in in_file]
    merged.sort(key=lambda each: (_rank(each.report), -len(each.reviewers), each.report.file, each.report.line))
    return _identify(merged, change)


def sort_findings(findings: Iterable[CodeFinding]) -> tuple[CodeFinding, ...]:
    """Sort findings for a reader: the surest and gravest first."""
    order = list(FindingStanding)
    return tuple(
        sorted(findings, key=lambda each: (order.index(each.standing), _rank(each.report), int(each.id[1:])))
    )


def _belongs(label: str, finding: ReportedFinding, group: Sequence[tuple[str, ReportedFinding]]) -> bool:
    is_reviewers_second = any(label == other for other, _ in group)
    return not is_reviewers_second and any(_is_alike(finding, known) for _, known in group)


def _is_alike(one: ReportedFinding, other: ReportedFinding) -> bool:
    if abs(one.line - other.line) > _NEAR_LINES:
        return False
    likeness = _compare(one.claim, other.claim)
    return likeness >= (_ALIKE if one.kind is other.kind else _SAME)


def _compare(one: str, other: str) -> float:
    words, more = set(compile_once(_WORD).findall(one.lower())), set(compile_once(_WORD).findall(other.lower()))
    return len(words & more) / len(words | more) if words and more else float(one == other)


def _merge(group: Sequence[tuple[str, ReportedFinding]]) -> CodeFinding:
    reports = [finding for _, finding in group]
    gravest = min(reports, key=_rank)
    others = list(reports)
    others.remove(gravest)
    return CodeFinding(
        id="",
        report=gravest,
        reviewers=tuple(dict.fromkeys(label for label, _ in group)),
        others=tuple(others),
    )


def _rank(finding: ReportedFinding) -> int:
    return list(Severity).index(finding.severity)


def _identify(findings: Sequence[CodeFinding], change: Change) -> tuple[CodeFinding, ...]:
    seen: dict[str, int] = {}
    done = []
    for place, finding in enumerate(findings):
        file = change.find_file(finding.report.file)
        line = file.find_line(finding.report.line) if file is not None else None
        normalised = " ".join((line or "").split())
        base = "\0".join((finding.report.file, finding.report.kind.value, normalised))
        seen[base] = seen.get(base, 0) + 1
        whole = f"{base}\0{seen[base]}".encode("utf-8", "surrogatepass")
        done.append(
            CodeFinding(
                id=f"F{place + 1}",
                report=finding.report,
                reviewers=finding.reviewers,
                others=finding.others,
                fingerprint=hashlib.sha256(whole).hexdigest()[:32],
            )
        )
    return tuple(done)


class PartReview(Struct, frozen=True, kw_only=True):
    """What one reviewer says of one part of a change; `question` is the digest of what it was asked.

    Where it gave no answer the vote is an error, and `reason` says why.
    """

    label: str
    model: str
    part: int
    question: str
    vote: Vote
    reason: str
    confidence: float | None = None
    findings: tuple[ReportedFinding, ...] = ()


class ReviewResult(Struct, frozen=True, kw_only=True):
    """The end of a code review. `ballots` are in the order of the reviewers, `findings` the surest first.

    `conclusion` is the moderator's text, empty where there is none. `base` and `commit` are what the change is
    between, `digest` is that of the change. `sensitive_files` are the changed files that no reviewer was
    shown because they are sensitive.
    """

    description: str
    digest: str
    base: str
    commit: str
    verdict: Verdict
    rule: str
    ballots: tuple[Ballot, ...]
    is_independent: bool
    findings: tuple[CodeFinding, ...]
    files: int
    parts: int
    conclusion: str = ""
    agreement: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    sensitive_files: tuple[str, ...] = ()

    @property
    def is_approved(self) -> bool:
        """Whether the votes approve the change."""
        return self.verdict is Verdict.APPROVED


def combine_votes(reviews: Sequence[PartReview]) -> Ballot:
    """One reviewer's vote on the whole change, of its votes on the parts, of which there must be one.

    Rejecting a part rejects the change. Otherwise a part without an answer, or an abstention, is none of an
    approval: only who approves every part approves the change.
    """
    order = (Vote.REJECT, Vote.ERROR, Vote.ABSTAIN, Vote.APPROVE)
    vote = next(each for each in order if any(review.vote is each for review in reviews))
    those = [review for review in reviews if review.vote is vote]
    confidences = [review.confidence for review in those if review.confidence is not None]
    reason = "; ".join(dict.fromkeys(review.reason for review in those if review.reason))
    if len(reviews) > 1:
        reason = f"{format_amount(len(those), 'part')} of {len(reviews)}: {reason}"
    confidence = (max if vote is Vote.REJECT else min)(confidences) if confidences else None
    return Ballot(reviewer=reviews[0].model, vote=vote, reason=reason, confidence=confidence)

"""How several models answer one prompt: the forms there are, the answers and reviews, and the conclusion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from string import ascii_uppercase

from msgspec import Struct, field

from quorum.domain.code_review.review_result import PartReview, ReviewResult, Trial
from quorum.domain.conversation.response import Usage
from quorum.domain.errors import QuorumError
from quorum.domain.panel.debate_record import DebateRecord
from quorum.domain.replacing import replace
from quorum.domain.struct_json import Amount


class PanelForm(StrEnum):
    """In a discussion a moderator makes one text of all answers; in an ensemble the best answer stands, with
    what the others add; in a debate one answer is defended against objections; in a review models judge a
    change to a program. Of plans the best one goes to the person; of drafts of a file a moderator makes one."""

    DISCUSSION = "discussion"
    ENSEMBLE = "ensemble"
    DEBATE = "debate"
    REVIEW = "review"
    PLAN = "plan"
    DRAFT = "draft"


class Participant(Struct, frozen=True, kw_only=True):
    """A model that takes part, "provider/model". Other models know it only by its label: A, B, …"""

    label: str
    model: str


class AnswerStatus(StrEnum):
    """How asking a participant ended."""

    ANSWERED = "answered"
    EMPTY = "empty"
    REFUSED = "refused"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    TOO_LONG = "too_long"
    NOT_ASKED = "not_asked"


class PanelAnswer(Struct, frozen=True, kw_only=True):
    """An answer of a participant. `text` is what arrived of it, and counts only where the status is `answered`.

    `secs` is how long it took; `cost_usd` is None where that is not known; `reason` says why there is no
    answer.
    """

    label: str
    model: str
    status: AnswerStatus
    text: str = ""
    usage: Usage = field(default_factory=Usage)
    cost_usd: Amount | None = None
    secs: float = 0.0
    reason: str = ""

    @property
    def is_answer(self) -> bool:
        """Whether there is an answer that others can judge."""
        return self.status is AnswerStatus.ANSWERED


def label_participants(models: tuple[str, ...]) -> tuple[Participant, ...]:
    """Give each model a label that does not tell which one it is: A to Z, then AA, AB, …"""
    return tuple(Participant(label=_format_letters(place), model=model) for place, model in enumerate(models))


def _format_letters(place: int) -> str:
    before, last = divmod(place, len(ascii_uppercase))
    return (_format_letters(before - 1) if before else "") + ascii_uppercase[last]


BEST_SCORE = 10


class Agreement(StrEnum):
    """Whether a participant agrees with what another one answered."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"


class AnswerReview(Struct, frozen=True, kw_only=True):
    """What a participant says of the answer with this label. `score` is from 0 to BEST_SCORE; `dangers` are
    what could go wrong with it, where it is a plan."""

    answer: str
    score: int
    agreement: Agreement
    comment: str
    dangers: tuple[str, ...] = ()


class PeerReview(Struct, frozen=True, kw_only=True):
    """One participant's reviews of the other answers. Where it gave none, `error` says why."""

    label: str
    model: str
    reviews: tuple[AnswerReview, ...] = ()
    error: str = ""

    def covers(self, labels: Iterable[str]) -> bool:
        """Whether it has a review of each of these answers."""
        return {review.answer for review in self.reviews}.issuperset(labels)


class RankedAnswer(Struct, frozen=True, kw_only=True):
    """An answer's place among the others. `score` is the mean of its scores, None where nobody gave one."""

    label: str
    score: float | None
    scores: int


def rank_answers(labels: Sequence[str], reviews: Sequence[PeerReview]) -> tuple[RankedAnswer, ...]:
    """Sort answers by the mean of their scores, the best first; where that is the same, the order of `labels`
    decides. An answer without a score comes last. A participant's review of its own answer does not count."""
    from fractions import Fraction  # few sessions rank answers, and it compiles a long pattern

    given: dict[str, list[int]] = {label: [] for label in labels}
    for peer in reviews:
        for review in peer.reviews:
            if review.answer != peer.label and review.answer in given:
                given[review.answer].append(review.score)
    means = {label: Fraction(sum(scores), len(scores)) for label, scores in given.items() if scores}
    best_first = sorted(labels, key=lambda label: -means.get(label, Fraction(-1)))
    return tuple(
        RankedAnswer(
            label=label,
            score=float(means[label]) if label in means else None,
            scores=len(given[label]),
        )
        for label in best_first
    )


def find_tied(ranked: Sequence[RankedAnswer]) -> tuple[str, ...]:
    """The labels of the answers that share the best score; none where one has it alone, or nobody scored."""
    best = ranked[0].score if ranked else None
    tied = tuple(each.label for each in ranked if each.score == best)
    return tied if best is not None and len(tied) > 1 else ()


class Point(Struct, frozen=True, kw_only=True):
    """Something that these answers, named by their labels, say."""

    text: str
    answers: tuple[str, ...]


class Claim(Struct, frozen=True, kw_only=True):
    """What these answers claim where others claim something else."""

    text: str
    answers: tuple[str, ...]


class Disagreement(Struct, frozen=True, kw_only=True):
    """A question on which the answers differ, with two claims or more."""

    text: str
    claims: tuple[Claim, ...]


class Synthesis(Struct, frozen=True, kw_only=True):
    """What a moderator makes of all answers. Each point is traced to the answers that it is from.

    `left_out` says of each entry that could not be read where it stood, and why.
    """

    conclusion: str
    key_points: tuple[Point, ...]
    agreement: tuple[Point, ...]
    disagreement: tuple[Disagreement, ...]
    left_out: tuple[str, ...] = ()


class PanelConclusion(Struct, frozen=True, kw_only=True):
    """What a panel came to: a synthesis, a text that was `merged` of drafts, or else the label of the answer
    that was `chosen`. `additions` are what others say beside it, `reason` why something of it is missing."""

    synthesis: Synthesis | None = None
    chosen: str | None = None
    reason: str = ""
    additions: tuple[Point, ...] = ()
    merged: str = ""


class OpenPanel(Struct, frozen=True, kw_only=True):
    """What is recorded of it. `answers` and `reviews` are those that came, also the failed ones.

    A code review has `parts`, what reviewers said of parts of the change, `trials` by the digest of what was
    asked, and a `result` once all is counted; `debate` is what was said in a debate after the first answer.
    It has a `conclusion` where the process ended before the answer that comes of it was recorded.
    """

    panel_id: str
    question: str
    participants: tuple[Participant, ...]
    form: PanelForm = PanelForm.DISCUSSION
    answers: tuple[PanelAnswer, ...] = ()
    reviews: tuple[PeerReview, ...] = ()
    parts: tuple[PartReview, ...] = ()
    trials: Mapping[str, tuple[Trial, ...]] = field(default_factory=dict)
    result: ReviewResult | None = None
    debate: DebateRecord = field(default_factory=DebateRecord)
    conclusion: PanelConclusion | None = None

    @property
    def given(self) -> tuple[PanelAnswer, ...]:
        """The answers that are answers; the others are asked for again."""
        return tuple(answer for answer in self.answers if answer.is_answer)


class PlanChoice(Struct, frozen=True, kw_only=True):
    """`panel` is the one that made the plans, each answer a plan as Markdown. `chosen` is the label of the plan
    that stands, `additions` are what others have that it lacks, and `reason` says why these are not known."""

    panel: OpenPanel
    chosen: str
    additions: tuple[Point, ...] = ()
    reason: str = ""

    @property
    def plan(self) -> PanelAnswer:
        """The plan that stands."""
        return next(each for each in self.panel.given if each.label == self.chosen)

    @property
    def ranked(self) -> tuple[RankedAnswer, ...]:
        """The places of all plans, the best first."""
        labels = [each.label for each in self.panel.participants]
        given = {each.label for each in self.panel.given}
        return rank_answers([label for label in labels if label in given], self.panel.reviews)


class ConsensusLevel(StrEnum):
    """Whether one model answers a prompt, or several do."""

    SOLO = "solo"
    ENSEMBLE = "ensemble"


class Strategy(StrEnum):
    """How several models come to one answer: by scores for each other's answers, or by objections to one."""

    QUORUM = "quorum"
    DEBATE = "debate"


class ConsensusRefused(QuorumError):
    """A level and a strategy that do not go together; the text names both, and what helps."""


class Consensus(Struct, frozen=True, kw_only=True):
    """What was chosen of both. Not every combination is possible: see `check_consensus`."""

    level: ConsensusLevel = ConsensusLevel.SOLO
    strategy: Strategy = Strategy.QUORUM

    @property
    def meaning(self) -> str:
        """How a prompt is answered, in a sentence."""
        if self.level is ConsensusLevel.SOLO:
            return "solo: one model answers with its tools"
        if self.strategy is Strategy.QUORUM:
            return "ensemble: several models answer without tools and score each other's answers"
        return "ensemble: several models debate an answer without tools"

    @property
    def label(self) -> str:
        """It in a word or two; empty for what is usual."""
        if self.level is ConsensusLevel.SOLO:
            return ""
        return "ensemble" if self.strategy is Strategy.QUORUM else "ensemble, debate"

    def change(self, *, level: ConsensusLevel | None = None, strategy: Strategy | None = None) -> Consensus:
        """The same with another level or strategy; None keeps the one that is, but one model has no debate."""
        if level is ConsensusLevel.SOLO and strategy is None:
            strategy = Strategy.QUORUM
        return replace(self, level=level or self.level, strategy=strategy or self.strategy)


def check_consensus(consensus: Consensus, *, is_fast: bool = False) -> tuple[str, ...]:
    """Sentences about a combination that is possible but not advisable, also in the scope fast. Raises
    ConsensusRefused for one that is not possible."""
    if consensus.level is ConsensusLevel.SOLO and consensus.strategy is Strategy.DEBATE:
        raise ConsensusRefused(
            "the consensus level solo and the strategy debate do not go together, because a debate takes two "
            "models: choose the level ensemble, or the strategy quorum"
        )
    if consensus.level is ConsensusLevel.ENSEMBLE and is_fast:
        return (
            "the consensus level ensemble and the scope fast work against each other: several models answer "
            "each prompt, which is slow, and none of them looks at a plan",
        )
    return ()

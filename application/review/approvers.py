"""Implementations of the port `Approver`: one where nobody can answer, one that defers, and one that masks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import cycle, repeat

from quorum.application.cancellation import run_off_loop
from quorum.application.ports.people import (
    Approver,
    PersonAnswer,
    Question,
    ReviewContext,
    ReviewQuestion,
    SandboxQuestion,
)
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.conversation.cost import SpendQuestion
from quorum.domain.events.masking import MaskedPacket, SecretMask
from quorum.domain.mcp.server_question import FormField, ServerAction, ServerAddress, ServerAnswer, ServerForm
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Ballot, Tally
from quorum.domain.review.person_question import ASK_PERSON
from quorum.domain.review.plan_terms import PlanComparison
from quorum.domain.review.questions import (
    EarlierPlan,
    Edit,
    NobodyThere,
    Reject,
    ReviewAnswer,
    ReviewRequest,
    RuleOffer,
    RulePreview,
)
from quorum.domain.review.rule_replay import RuleReplay
from quorum.domain.secrets.patterns import MASK, render_mask
from quorum.domain.sessions.trust import TrustQuestion
from quorum.domain.text.json_value import JsonValue


class NonInteractiveApprover:
    """Implements `Approver` where nobody can be asked: what would have to be asked is withheld."""

    is_there = False

    async def ask(self, question: Question) -> PersonAnswer:
        """Withhold every call that would have to be asked about, and say no to all else."""
        match question:
            case ReviewQuestion():
                return NobodyThere()
            case ServerForm() | ServerAddress():
                return ServerAnswer(action=ServerAction.DECLINE)
            case TrustQuestion() | SpendQuestion() | SandboxQuestion():
                return False


class NotifyingApprover:
    """Implements `Approver` in front of another one, telling `notify` of each question: its kind, and a
    sentence without words of a model."""

    def __init__(self, person: Approver, notify: Callable[[str, str], None]) -> None:
        self._person = person
        self._notify = notify

    @property
    def is_there(self) -> bool:
        """Whether anybody could answer."""
        return self._person.is_there

    async def ask(self, question: Question) -> PersonAnswer:
        """Tell of the question, if somebody is there for it, and ask it."""
        if self._person.is_there:
            self._notify(*_describe_question(question))
        return await self._person.ask(question)


def _describe_question(question: Question) -> tuple[str, str]:
    match question:
        case ReviewQuestion(request) if request.packet.call.tool_name != ASK_PERSON:
            return "needs_approval", f"a call of {request.packet.call.tool_name} needs your approval"
        case ReviewQuestion():
            return "question", "the model asks you something"
        case ServerForm() | ServerAddress():
            return "question", "an MCP server asks you something"
        case SpendQuestion():
            return "question", "a spending limit is reached"
        case TrustQuestion():
            return "question", "files of the folder ask for your trust"
        case SandboxQuestion():
            return "question", "the mode sandboxed is offered"


class DeferringApprover(NonInteractiveApprover):
    """Implements `Approver` by leaving reviews open: none is answered here, and whoever runs the turn ends the
    process. All other questions are answered as where nobody is there.

    A review that no later process could ask again is withheld: that of a subagent, which ends with the process,
    and one about a secret, which is not recorded. `on_review` is called whenever a review begins to wait.
    """

    def __init__(self, on_review: Callable[[], None] = lambda: None) -> None:
        self._on_review = on_review
        self._waiting: list[str] = []

    @property
    def waiting(self) -> tuple[str, ...]:
        """The digests of the reviews that wait now."""
        return tuple(self._waiting)

    async def ask(self, question: Question) -> PersonAnswer:
        """Wait without an end for a review, or withhold what cannot be asked again."""
        if not isinstance(question, ReviewQuestion):
            return await super().ask(question)
        packet = question.request.packet
        if packet.asked_by or not question.request.is_recorded_whole:
            return NobodyThere()
        self._waiting.append(packet.digest)
        self._on_review()
        try:
            unanswered: asyncio.Future[ReviewAnswer] = asyncio.get_running_loop().create_future()
            return await unanswered
        finally:
            self._waiting.remove(packet.digest)


_AMBIGUOUS = (
    "the edit left out one of several hidden values, and it is not known which one; say what to change instead"
)


class MaskingApprover:
    """Implements `Approver` in front of another one, who sees no secret of a call.

    Digests stay those of the real bytes, so that an approval is one of what runs. In edited arguments what was
    hidden is put back. No rule is proposed that would hold a secret: rules are kept in a file.
    """

    def __init__(self, person: Approver, mask: SecretMask) -> None:
        self._person = person
        self._mask = mask.in_review
        self._kept_mask = mask

    @property
    def is_there(self) -> bool:
        """Whether anybody could answer."""
        return self._person.is_there

    async def ask(self, question: Question) -> PersonAnswer:
        """Ask about a call, or for a server, which may repeat what it learnt, with the secrets hidden."""
        match question:
            case ReviewQuestion(request, context):
                return await self._ask_about_call(request, context)
            case ServerForm(message=message, fields=fields):
                shown = tuple(map(self._mask_field, fields))
                question = replace(question, message=self._mask.mask_text(message), fields=shown)
            case ServerAddress(message=message):  # the address is what is opened
                question = replace(question, message=self._mask.mask_text(message))
        return await self._person.ask(question)

    async def _ask_about_call(self, request: ReviewRequest, context: ReviewContext) -> PersonAnswer:
        shown = await run_off_loop(lambda: self._mask_request(request), request)
        answer = await self._person.ask(ReviewQuestion(shown, _MaskedReviewContext(context, self._mask)))
        if isinstance(answer, Edit) and isinstance(shown.packet, MaskedPacket):
            masked, real, mask = shown.packet, request.packet, self._mask
            return await run_off_loop(lambda: _restore_hidden(answer, masked, real, mask), answer, real)
        return answer

    def _mask_field(self, asked: FormField) -> FormField:
        """What the person reads of a field; a proposed text with a secret in it is left out."""
        hide, default = self._mask.mask_text, asked.default
        return replace(
            asked,
            title=hide(asked.title),
            description=hide(asked.description),
            choices=tuple(replace(choice, title=hide(choice.title)) for choice in asked.choices),
            default=None if isinstance(default, str) and hide(default) is not default else default,
        )

    def _mask_request(self, request: ReviewRequest) -> ReviewRequest:
        offer = request.offer
        return replace(
            request,
            packet=self._mask.mask_packet(request.packet),
            is_recorded_whole=self._kept_mask.is_free_of_secrets(request.packet),
            reasons=tuple(map(self._mask.mask_text, request.reasons)),
            routine_reasons=tuple(map(self._mask.mask_text, request.routine_reasons)),
            notices=tuple(map(self._mask.mask_text, request.notices)),
            preamble=self._mask.mask_lines(request.preamble),
            following=tuple(map(self._mask.mask_packet, request.following)),
            proposals=tuple(rule for rule in request.proposals if self._kept_mask.mask_text(rule) is rule),
            offer=self._mask_offer(offer) if offer is not None else None,
            earlier_plans=tuple(map(self._mask_earlier_plan, request.earlier_plans)),
            comparison=self._mask_comparison(request.comparison) if request.comparison is not None else None,
        )

    def _mask_earlier_plan(self, earlier: EarlierPlan) -> EarlierPlan:
        hide = self._mask.mask_text
        ballots = tuple(_mask_ballot(ballot, hide) for ballot in earlier.ballots)
        return replace(earlier, text=self._mask.mask_lines(earlier.text), ballots=ballots)

    def _mask_comparison(self, comparison: PlanComparison) -> PlanComparison:
        hide = self._mask.mask_text
        return PlanComparison(
            findings=tuple(map(hide, comparison.findings)),
            plans=tuple(
                replace(plan, text=self._mask.mask_lines(plan.text), remarks=tuple(map(hide, plan.remarks)))
                for plan in comparison.plans
            ),
        )

    def _mask_offer(self, offer: RuleOffer) -> RuleOffer | None:
        """None where a rule holds a secret: what would be saved is to be read in full."""
        if any(self._kept_mask.mask_text(rule) is not rule for rule in offer.rules):
            return None
        return replace(offer, covers=tuple(map(self._mask.mask_text, offer.covers)))


class _MaskedReviewContext:
    """The context of a review, with the secrets hidden that a reviewer quotes."""

    def __init__(self, review_context: ReviewContext, mask: SecretMask) -> None:
        self._review_context = review_context
        self._mask = mask

    @property
    def reviewers(self) -> tuple[str, ...]:
        """The models asked about this packet."""
        return self._review_context.reviewers

    @property
    def independent(self) -> bool:
        return self._review_context.independent

    @property
    def ballots(self) -> tuple[Ballot, ...]:
        hide = self._mask.mask_text
        return tuple(_mask_ballot(ballot, hide) for ballot in self._review_context.ballots)

    @property
    def tally(self) -> Tally:
        return self._review_context.tally

    @property
    def awaited(self) -> tuple[str, ...]:
        return self._review_context.awaited

    @property
    def not_asked(self) -> tuple[str, ...]:
        return self._review_context.not_asked

    @property
    def lenses(self) -> Mapping[str, str]:
        return self._review_context.lenses

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        return self._review_context.watch(watcher)

    def preview(self, rule: str) -> RulePreview:
        return self._review_context.preview(rule)

    @property
    def replay(self) -> Callable[[Sequence[str]], Awaitable[RuleReplay | None]] | None:
        """What says what rules would have decided about past calls."""
        replay, hide = self._review_context.replay, self._mask.mask_text
        if replay is None:
            return None

        async def replay_masked(rules: Sequence[str]) -> RuleReplay | None:
            found = await replay(rules)
            return None if found is None else found.map_examples(hide)

        return replay_masked


def _mask_ballot(ballot: Ballot, hide: Callable[[str], str]) -> Ballot:
    return replace(
        ballot,
        reason=hide(ballot.reason),
        objection=None if ballot.objection is None else hide(ballot.objection),
        objections=tuple(replace(each, claim=hide(each.claim)) for each in ballot.objections),
    )


def _restore_hidden(answer: Edit, shown: ReviewPacket, real: ReviewPacket, mask: SecretMask) -> Edit | Reject:
    """The edit with what was hidden in its place again."""
    masked, originals = [*_list_texts(shown.call.arguments)], [*_list_texts(real.call.arguments)]
    if len(masked) != len(originals):
        return Reject(_AMBIGUOUS)
    behind: dict[str, list[str]] = {}
    for text, original in zip(masked, originals, strict=True):
        if text != original:
            for word, value in _find_hidden(text, original, mask):
                behind.setdefault(word, []).append(value)
    left = [found for text in _list_texts(answer.arguments) for found in MASK.findall(text)]
    if any(len(set(values)) > 1 and 0 < left.count(word) != len(values) for word, values in behind.items()):
        return Reject(_AMBIGUOUS)
    values_of = {word: cycle(values) for word, values in behind.items()}

    def restore(value: JsonValue) -> JsonValue:
        match value:
            case str():
                return MASK.sub(lambda found: next(values_of.get(found[0], repeat(found[0]))), value)
            case Mapping():
                return {str(restore(key)): restore(item) for key, item in value.items()}
            case list() | tuple():
                return [restore(item) for item in value]
            case _:
                return value

    return Edit({str(restore(key)): restore(item) for key, item in answer.arguments.items()})


def _find_hidden(text: str, original: str, mask: SecretMask) -> Iterator[tuple[str, str]]:
    """Each mask of a text, and what it hides; a text that is hidden for its name's sake is hidden whole."""
    spans = mask.find_spans(original)
    if not spans:
        yield text, original
    for span in spans:
        yield render_mask(span.word), original[span.start : span.end]


def _list_texts(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for key, item in value.items():
                yield key
                yield from _list_texts(item)
        case list() | tuple():
            for item in value:
                yield from _list_texts(item)

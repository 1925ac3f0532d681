"""Which requests a panel sends, and what they cost, as far as that is known before the first of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

from msgspec import UNSET, Struct, UnsetType

from quorum.domain.conversation.cost import Price, PriceTable, compute_cost
from quorum.domain.conversation.response import Usage
from quorum.domain.panel.debate_record import MOST_OBJECTIONS
from quorum.domain.panel.panel_answer import Participant
from quorum.domain.struct_json import Amount


class PlannedRequests(Struct, frozen=True, kw_only=True):
    """The requests that one model of a panel gets: the estimated tokens that each of them brings.

    `least` are those that it gets if all goes well, with what is known to be in them; `most` all that it can
    get, with the longest texts of others that can be in them. `label` is empty for the moderator.
    """

    label: str
    model: str
    least: tuple[int, ...]
    most: tuple[int, ...]


class CostEstimate(Struct, frozen=True, kw_only=True):
    """What one model of a panel costs, in USD, by the estimated tokens of its requests.

    Both costs are None where its price is not known, `most_usd` also where the longest answer of the model is
    not known, and nothing where a plan pays for it, `by_plan`. `label` is empty for the moderator.
    """

    label: str
    model: str
    least_requests: int
    most_requests: int
    least_usd: Amount | None = None
    most_usd: Amount | None = None
    by_plan: bool | UnsetType = UNSET


class TotalEstimate(Struct, frozen=True, kw_only=True):
    """What a whole panel costs. `least_usd` is of the models whose price is known, and None where there is
    none; `most_usd` is None where that of any model is not known."""

    least_requests: int
    most_requests: int
    least_usd: Decimal | None
    most_usd: Decimal | None


def estimate_cost(planned: PlannedRequests, prices: PriceTable, longest_answer: int | None) -> CostEstimate:
    """Estimate what these requests cost. `longest_answer` is in tokens; None where that is not known."""
    estimate = CostEstimate(
        label=planned.label,
        model=planned.model,
        least_requests=len(planned.least),
        most_requests=len(planned.most),
    )
    price = prices.find_price(planned.model)
    if price is None:
        return estimate
    least = sum((_compute_least_cost(tokens, price) for tokens in planned.least), Decimal(0))
    most = (
        sum((_compute_most_cost(tokens, longest_answer, price) for tokens in planned.most), Decimal(0))
        if longest_answer is not None
        else None
    )
    return CostEstimate(
        label=planned.label,
        model=planned.model,
        least_requests=len(planned.least),
        most_requests=len(planned.most),
        least_usd=least,
        most_usd=most,
        by_plan=prices.is_by_plan(planned.model) or UNSET,
    )


def sum_estimates(estimates: Iterable[CostEstimate]) -> TotalEstimate:
    """What all of them come to."""
    each = tuple(estimates)
    least = [one.least_usd for one in each if one.least_usd is not None]
    most = [one.most_usd for one in each if one.most_usd is not None]
    return TotalEstimate(
        least_requests=sum(one.least_requests for one in each),
        most_requests=sum(one.most_requests for one in each),
        least_usd=sum(least, Decimal(0)) if least else None,
        most_usd=sum(most, Decimal(0)) if most and len(most) == len(each) else None,
    )


def _compute_least_cost(tokens: int, price: Price) -> Decimal:
    """A request that is read from a cache where that is cheaper, and has no answer."""
    costs = (compute_cost(usage, price) for usage in (Usage(input=tokens), Usage(cache_read=tokens)))
    return min(costs)


def _compute_most_cost(tokens: int, answer: int, price: Price) -> Decimal:
    """A request that is written to a cache where that is dearer, with the longest answer."""
    usages = (Usage(input=tokens, output=answer), Usage(cache_write=tokens, output=answer))
    return max(compute_cost(usage, price) for usage in usages)


LONGEST_SHOWN_ANSWER = 60_000
"""So many characters of an answer are shown to other models."""

LONGEST_DEBATE_TEXT = 2_000
"""So many characters of a claim, its evidence, a response and a ruling are kept."""

_USUAL_CHARACTERS = 4  # in a token
_INSTRUCTIONS = 1_000  # tokens of the instructions of a reviewer or moderator besides the texts that it judges
_COMMENT = 1_000  # tokens of what one says of the answer of another


class QuestionSize(Struct, frozen=True, kw_only=True):
    """Tokens of a question: `whole` with all that goes with it to a participant, `bare` by itself."""

    whole: int
    bare: int


def plan_reviewed_answers(
    size: QuestionSize,
    participants: Sequence[Participant],
    moderator: str,
    longest_answer: Callable[[str], int | None],
) -> tuple[PlannedRequests, ...]:
    """The requests where each participant answers and reviews the other answers, and a moderator reads it all.

    A review and the moderator's text are asked for once more where they cannot be read. `longest_answer`
    answers the tokens of a model's longest answer, None where that is not known.
    """
    shown = {each.label: _cap_answer(longest_answer(each.model)) for each in participants}
    total = sum(shown.values())
    has_reviews = len(participants) > 1
    planned = []
    for each in participants:
        answer = longest_answer(each.model)
        review = size.bare + _INSTRUCTIONS + total - shown[each.label]
        planned.append(
            PlannedRequests(
                label=each.label,
                model=each.model,
                least=(size.whole, size.bare) if has_reviews else (size.whole,),
                most=(size.whole, *ask_twice(review, answer)) if has_reviews else (size.whole,),
            )
        )
    comments = len(participants) * (len(participants) - 1) * _COMMENT
    last = size.bare + _INSTRUCTIONS + total + comments
    return (
        *planned,
        PlannedRequests(
            label="", model=moderator, least=(size.bare,), most=ask_twice(last, longest_answer(moderator))
        ),
    )


def plan_debate(
    size: QuestionSize,
    participants: Sequence[Participant],
    moderator: str,
    longest_answer: Callable[[str], int | None],
    *,
    rounds: int,
    all_object: bool,
) -> tuple[PlannedRequests, ...]:
    """The requests of a debate in which nobody is down: the first participant answers, responds and revises in
    each round, the second or all others object, and the moderator rules. At least, nobody objects.
    """
    first, *others = participants
    objectors = others if all_object else others[:1]
    answer = _cap_answer(longest_answer(first.model))
    in_a_round = len(objectors) * MOST_OBJECTIONS * 4 * LONGEST_DEBATE_TEXT // _USUAL_CHARACTERS
    base = size.bare + _INSTRUCTIONS + answer
    inputs = [base + in_a_round * number for number in range(1, rounds + 1)]

    def repeat(model: str, lengths: Sequence[int]) -> tuple[int, ...]:
        return tuple(each for tokens in lengths for each in ask_twice(tokens, longest_answer(model)))

    planned = [
        PlannedRequests(
            label=first.label,
            model=first.model,
            least=(size.whole,),
            most=(size.whole, *repeat(first.model, inputs), *repeat(first.model, inputs)),
        )
    ]
    for each in others:
        objects = each in objectors
        planned.append(
            PlannedRequests(
                label=each.label,
                model=each.model,
                least=(size.bare,) if objects else (),
                most=repeat(each.model, inputs) if objects else (),
            )
        )
    return (*planned, PlannedRequests(label="", model=moderator, least=(), most=repeat(moderator, inputs)))


def ask_twice(tokens: int, longest_answer: int | None) -> tuple[int, int]:
    """A request of this length, and the one that asks again, which has the first answer in it."""
    return tokens, tokens + _cap_answer(longest_answer)


def _cap_answer(tokens: int | None) -> int:
    """The most tokens of an answer that another request can have in it."""
    shown = LONGEST_SHOWN_ANSWER // _USUAL_CHARACTERS
    return shown if tokens is None else min(tokens, shown)

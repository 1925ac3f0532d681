"""Which requests a panel sends, and how long they can get: what is known before the first answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from domain.panel.cost_estimate import PlannedRequests
from domain.panel.panel_answer import Participant

LONGEST_SHOWN_ANSWER = 60_000
"""So many characters of an answer are shown to other models."""

_USUAL_CHARACTERS = 4  # in a token
_INSTRUCTIONS = 1_000  # tokens of what a reviewer or moderator is told besides the texts that it judges
_COMMENT = 1_000  # tokens of what one says of the answer of another


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSize:
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


def ask_twice(tokens: int, longest_answer: int | None) -> tuple[int, int]:
    """A request of this length, and the one that asks again, which has the first answer in it."""
    return tokens, tokens + _cap_answer(longest_answer)


def _cap_answer(tokens: int | None) -> int:
    """The most tokens of an answer that another request can have in it."""
    shown = LONGEST_SHOWN_ANSWER // _USUAL_CHARACTERS
    return shown if tokens is None else min(tokens, shown)

from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.panel.panel_answer import (
    Agreement,
    AnswerReview,
    PeerReview,
    label_participants,
    rank_answers,
)

LABELS = ("A", "B", "C", "D")


def _review(label: str, **scores: int) -> PeerReview:
    reviews = tuple(
        AnswerReview(answer=answer, score=score, agreement=Agreement.YES, comment="so")
        for answer, score in scores.items()
    )
    return PeerReview(label=label, model=f"p/{label}", reviews=reviews)


def test_the_answer_with_the_best_mean_score_comes_first() -> None:
    ranked = rank_answers(LABELS[:3], [_review("A", B=4, C=9), _review("B", A=6, C=8), _review("C", A=6, B=5)])
    assert [(each.label, each.score, each.scores) for each in ranked] == [
        ("C", 8.5, 2),
        ("A", 6.0, 2),
        ("B", 4.5, 2),
    ]


def test_an_answer_that_nobody_scored_has_no_score_and_comes_last() -> None:
    ranked = rank_answers(("A", "B", "C"), [_review("A", C=0)])
    assert [(each.label, each.score) for each in ranked] == [("C", 0.0), ("A", None), ("B", None)]


def test_nobody_scores_their_own_answer() -> None:
    ranked = rank_answers(("A", "B"), [_review("A", A=10, B=3), _review("B", A=2)])
    assert [(each.label, each.score) for each in ranked] == [("B", 3.0), ("A", 2.0)]


def test_of_equal_scores_the_order_of_participants_decides() -> None:
    ranked = rank_answers(("B", "A"), [_review("A", B=5), _review("B", A=5)])
    assert [each.label for each in ranked] == ["B", "A"]


REVIEWS = st.lists(
    st.builds(
        lambda label, scores: _review(label, **scores),
        st.sampled_from(LABELS),
        st.dictionaries(st.sampled_from((*LABELS, "Z")), st.integers(0, 10)),
    ),
    max_size=6,
)


@given(REVIEWS, st.randoms(use_true_random=False))
def test_the_order_in_which_reviews_arrive_changes_nothing(
    reviews: list[PeerReview], random: st.DataObject
) -> None:
    shuffled = list(reviews)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    ranked = rank_answers(LABELS, reviews)
    assert rank_answers(LABELS, shuffled) == ranked
    assert sorted(each.label for each in ranked) == list(LABELS)


def test_labels_do_not_tell_which_model_it_is_and_never_end() -> None:
    labels = [each.label for each in label_participants(tuple(f"p/{n}" for n in range(55)))]
    assert labels[:3] == ["A", "B", "C"]
    assert labels[25:28] == ["Z", "AA", "AB"]
    assert labels[52] == "BA"
    assert len(set(labels)) == 55

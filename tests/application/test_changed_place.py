"""A session that is resumed in another place than before says so to the person and the model."""

from __future__ import annotations

import pytest

from quorum.application.session.agent_session import describe_changed_place
from quorum.domain.staging.layer_work import LayerWork


@pytest.mark.parametrize(
    "work",
    [
        LayerWork(),
        LayerWork(layer="a"),
        LayerWork(answered_in=""),
        LayerWork(layer="a", answered_in="a"),
    ],
)
def test_the_model_reads_nothing_where_it_works_as_before(work: LayerWork) -> None:
    assert describe_changed_place(work) == ""


def test_the_model_reads_that_its_changes_stayed_in_the_layer() -> None:
    text = describe_changed_place(LayerWork(answered_in="a"))

    assert "in the person's folder itself" in text
    assert "layer a and not applied is not there" in text


def test_the_model_reads_that_a_layer_was_begun_or_is_another_one() -> None:
    begun = describe_changed_place(LayerWork(layer="b", answered_in=""))
    other = describe_changed_place(LayerWork(layer="b", answered_in="a"))

    assert "works in the layer b" in begun
    assert "not applied" not in begun
    assert "layer a and not applied is not there" in other


def test_the_model_reads_what_may_have_become_of_its_changes_while_no_process_could_say_so() -> None:
    text = describe_changed_place(LayerWork(layer="a", answered_in="a", was_reset=True))

    assert all(word in text for word in ("discarded", "back", "applied these again"))

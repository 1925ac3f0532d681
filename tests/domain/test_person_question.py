"""Questions of the model to the person: what is one, and what a typed reply means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.review.person_question import (
    BadQuestion,
    PersonQuestion,
    PersonReply,
    QuestionOption,
    find_question,
    read_question,
    read_reply,
    render_question,
    render_reply,
)
from tests.support.builders import a_call

OPTIONS = [{"label": "Blue", "description": "as the sky"}, {"label": "Dark green"}]
ONE = read_question({"question": "Which colour?", "options": OPTIONS})
SEVERAL = read_question({"question": "Which colours?", "options": OPTIONS, "several": True})


def test_a_question_has_options_with_labels_and_descriptions() -> None:
    assert (
        PersonQuestion(
            question="Which colour?",
            options=(
                QuestionOption(label="Blue", description="as the sky"),
                QuestionOption(label="Dark green"),
            ),
        )
        == ONE
    )
    assert render_question(ONE) == "Which colour?\n\n1. Blue: as the sky\n2. Dark green"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"options": OPTIONS}, "question is empty"),
        ({"question": "  ", "options": OPTIONS}, "question is empty"),
        ({"question": 3, "options": OPTIONS}, "question is no text"),
        ({"question": "?" * 2001, "options": OPTIONS}, "question has 2001 characters, more than 2000"),
        ({"question": "Which?"}, "options is no list of 2 to 4 options"),
        ({"question": "Which?", "options": OPTIONS[:1]}, "options is no list of 2 to 4 options"),
        ({"question": "Which?", "options": OPTIONS * 3}, "options is no list of 2 to 4 options"),
        ({"question": "Which?", "options": ["a", "b"]}, "options[0] is no object with a label"),
        ({"question": "Which?", "options": [*OPTIONS, {"label": ""}]}, "options[2].label is empty"),
        (
            {"question": "Which?", "options": [*OPTIONS, {"label": "blue"}]},
            "options[2].label is that of another",
        ),
        ({"question": "Which?", "options": OPTIONS, "several": "yes"}, "several is neither true nor false"),
    ],
)
def test_what_is_no_question_is_refused_with_its_place(arguments: dict[str, object], problem: str) -> None:
    with pytest.raises(BadQuestion) as refused:
        read_question(arguments)

    assert problem in str(refused.value)
    assert find_question(a_call("ask_person", arguments)) is None


@pytest.mark.parametrize(
    ("question", "typed", "reply"),
    [
        (ONE, "2", PersonReply(options=(2,))),
        (ONE, " dark GREEN ", PersonReply(options=(2,))),
        (ONE, "3", PersonReply(text="3")),
        (ONE, "0", PersonReply(text="0")),
        (ONE, "1, 2", PersonReply(text="1, 2")),
        (SEVERAL, "1, 2", PersonReply(options=(1, 2))),
        (SEVERAL, "2 2 1", PersonReply(options=(2, 1))),
        (SEVERAL, "1, 7", PersonReply(text="1, 7")),
        (ONE, "2 shades of red", PersonReply(text="2 shades of red")),
    ],
)
def test_a_typed_reply_is_a_number_a_label_or_words(
    question: PersonQuestion, typed: str, reply: PersonReply
) -> None:
    assert read_reply(question, typed) == reply


def test_the_model_reads_labels_and_words_and_that_nothing_was_answered() -> None:
    assert render_reply(ONE, PersonReply(options=(2,))) == "The person chose:\n- Dark green"
    both = render_reply(SEVERAL, PersonReply(options=(2, 1), text="in turns"))
    assert both == "The person chose:\n- Blue\n- Dark green\n\nThe person wrote:\nin turns"
    assert "without an answer" in render_reply(ONE, PersonReply())
    assert "without an answer" in render_reply(ONE, PersonReply(options=(9,)))


@given(st.lists(st.integers(1, 4), unique=True).map(tuple), st.text())
def test_a_reply_comes_back_from_its_encoded_form(options: tuple[int, ...], text: str) -> None:
    reply = PersonReply(options=options, text=text)

    assert PersonReply.decode(reply.encode()) == reply

"""Questions of the model as forms and permission requests of a client."""

from __future__ import annotations

import pytest
from acp.schema import AcceptElicitationResponse, DeclineElicitationResponse

from quorum.acp_agent.person_questions import build_choice, build_form, read_values
from quorum.acp_agent.server_questions import (
    build_elicitation,
    describe_question,
    list_answers,
    read_answer,
    show_question,
)
from quorum.domain.mcp.server_question import FieldValue
from quorum.domain.review.person_question import PersonReply, read_question

OPTIONS = [{"label": "A token", "description": "as a header"}, {"label": "A password"}]
ONE = read_question({"question": "How to sign in?", "options": OPTIONS})
SEVERAL = read_question({"question": "How to sign in?", "options": OPTIONS, "several": True})


def test_the_form_has_the_options_and_a_field_for_other_words() -> None:
    form = build_elicitation(build_form(SEVERAL), "s")
    schema = form.requested_schema.model_dump(by_alias=True, exclude_none=True)

    assert [*schema["properties"]] == ["answer", "words"]
    assert describe_question(build_form(ONE)).startswith("The model asks you:\n\nHow to sign in?\n\n1. A token")
    assert not any(field.asks_for_secret for field in build_form(ONE).fields)


@pytest.mark.parametrize(
    ("content", "reply"),
    [
        ({"answer": "2"}, PersonReply(options=(2,))),
        ({"words": " neither "}, PersonReply(text="neither")),
        ({"answer": "1", "words": "for now"}, PersonReply(options=(1,), text="for now")),
        ({}, PersonReply()),
        ({"answer": "9"}, PersonReply()),
    ],
)
def test_what_the_client_sends_is_the_reply(content: dict[str, FieldValue], reply: PersonReply) -> None:
    form = build_form(ONE)
    given = read_answer(form, AcceptElicitationResponse(action="accept", content=content))

    assert read_values(given.values) == reply


def test_several_chosen_options_and_a_refusal_are_read() -> None:
    form = build_form(SEVERAL)
    both = read_answer(form, AcceptElicitationResponse(action="accept", content={"answer": ["1", "2"]}))
    declined = read_answer(form, DeclineElicitationResponse(action="decline"))

    assert read_values(both.values) == PersonReply(options=(1, 2))
    assert read_values(declined.values) == PersonReply()


def test_without_forms_the_options_are_those_of_a_request_if_the_client_draws_their_names() -> None:
    answers = list_answers(build_choice(SEVERAL), by_name=True)
    (content,) = show_question(build_choice(SEVERAL))

    assert [option.name for option, _ in answers] == ["A token", "A password", "Decline"]
    assert [read_values(answer.values).options for _, answer in answers] == [(1,), (2,), ()]
    assert list_answers(build_choice(SEVERAL), by_name=False) == []
    assert "> 1. A token: as a header" in content.content.text

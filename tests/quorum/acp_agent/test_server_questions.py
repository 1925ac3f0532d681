"""Questions of MCP servers as permission requests of a client."""

from __future__ import annotations

import pytest

from quorum.acp_agent.server_questions import list_answers, render_question_title, show_question
from quorum.domain.mcp.server_question import ServerAction, ServerAddress, ServerAnswer, ServerForm, read_form
from quorum.domain.text.json_value import JsonValue


def a_form(**fields: JsonValue) -> ServerForm:
    return read_form("srv", "deploy", "Where *to*?\n\n# heading", {"properties": fields})


@pytest.mark.parametrize(
    ("form", "answers"),
    [
        (a_form(), [("Confirm", {})]),
        (a_form(sure={"type": "boolean"}), [("Yes", {"sure": True}), ("No", {"sure": False})]),
        (
            a_form(zone={"oneOf": [{"const": "n", "title": "North"}, {"const": "s", "title": "South"}]}),
            [("North", {"zone": "n"}), ("South", {"zone": "s"})],
        ),
    ],
    ids=["confirmation", "yes or no", "a choice"],
)
def test_what_a_choice_can_answer_is_offered_with_a_way_to_decline(form, answers):
    offered = [(option.name, answer) for option, answer in list_answers(form, by_name=True)]

    assert offered == [
        *((name, ServerAnswer(action=ServerAction.ACCEPT, values=values)) for name, values in answers),
        ("Decline", ServerAnswer(action=ServerAction.DECLINE)),
    ]


@pytest.mark.parametrize(
    "form",
    [
        a_form(host={"type": "string"}),
        a_form(a={"type": "boolean"}, b={"type": "boolean"}),
        a_form(zone={"enum": [str(number) for number in range(9)]}),
        a_form(tags={"type": "array", "items": {"enum": ["a"]}}),
        a_form(pin={"type": "string", "title": "PIN", "enum": ["1", "2"]}),
    ],
    ids=["text", "two fields", "many values", "several values", "a secret"],
)
def test_what_has_to_be_typed_is_not_offered(form):
    assert list_answers(form, by_name=True) == []


def test_an_address_is_shown_with_its_host_and_digest():
    question = ServerAddress(server="signer", call="", message="Sign", address="https://sign.example/x")
    (content,) = show_question(question)

    text = content.content.text
    assert "`sign.example`" in text
    assert "`https://sign.example/x`" in text
    assert question.digest in text
    assert [option.name for option, _ in list_answers(question, by_name=True)] == [
        "I have opened it",
        "Decline",
    ]


def test_words_of_the_server_are_quoted_line_by_line():
    (content,) = show_question(a_form())

    assert "> Where" in content.content.text
    assert "\n# heading" not in content.content.text
    assert render_question_title(a_form()) == "The MCP server srv asks during deploy"


def test_a_choice_is_not_put_to_a_client_that_may_draw_all_its_options_alike():
    assert list_answers(a_form(sure={"type": "boolean"}), by_name=False) == []
    assert [option.kind for option, _ in list_answers(a_form(), by_name=False)] == ["allow_once", "reject_once"]

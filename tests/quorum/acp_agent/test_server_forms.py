"""Questions of MCP servers to a client that has forms."""

from __future__ import annotations

from typing import Any

import pytest
from acp.schema import (
    AcceptElicitationResponse,
    CancelElicitationResponse,
    ClientCapabilities,
    DeclineElicitationResponse,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    ElicitationUrlCapabilities,
)

from quorum.acp_agent.server_questions import build_elicitation, can_elicit, describe_question, read_answer
from quorum.domain.mcp.server_question import ServerAction, ServerAddress, ServerAnswer, ServerForm, read_form
from quorum.domain.text.json_value import JsonValue

ADDRESS = ServerAddress(server="signer", call="", message="Sign", address="https://sign.example/x?a=1")
FORMS = ClientCapabilities(elicitation=ElicitationCapabilities(form=ElicitationFormCapabilities()))
ADDRESSES = ClientCapabilities(elicitation=ElicitationCapabilities(url=ElicitationUrlCapabilities()))


def a_form(**fields: JsonValue) -> ServerForm:
    return read_form("srv", "deploy", "Where?", {"properties": fields, "required": [*fields][:1]})


FIELDS: dict[str, Any] = {
    "host": {"type": "string", "title": "Host", "minLength": 1, "maxLength": 9.0, "format": "uri"},
    "count": {"type": "integer", "minimum": 0.5, "maximum": 8.5, "default": 3},
    "share": {"type": "number", "minimum": 0.25},
    "sure": {"type": "boolean", "description": "are you?", "default": True},
    "zone": {"enum": ["n", "s"], "enumNames": ["North", "South"], "default": "n"},
    "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "default": ["a"]},
}


def test_every_kind_of_field_is_a_property_of_the_schema() -> None:
    shown = build_elicitation(a_form(**FIELDS), "s1").model_dump(by_alias=True, exclude_none=True)

    assert shown["sessionId"] == "s1"
    schema = shown["requestedSchema"]
    assert schema["required"] == ["host"]
    zones = [{"const": "n", "title": "North"}, {"const": "s", "title": "South"}]
    tags = [{"const": "a", "title": "a"}, {"const": "b", "title": "b"}]
    assert schema["properties"] == {
        "host": {"type": "string", "title": "Host", "minLength": 1, "maxLength": 9, "format": "uri"},
        "count": {"type": "integer", "title": "count", "minimum": 1, "maximum": 8, "default": 3},
        "share": {"type": "number", "title": "share", "minimum": 0.25},
        "sure": {"type": "boolean", "title": "sure", "description": "are you?", "default": True},
        "zone": {"type": "string", "title": "zone", "oneOf": zones, "default": "n"},
        "tags": {
            "type": "array",
            "title": "tags",
            "items": {"anyOf": tags},
            "minItems": 1,
            "default": ["a"],
        },
    }


@pytest.mark.parametrize(
    "bounds", [{"minLength": -2}, {"maxLength": -1}, {"minLength": 0}, {"maxLength": 1e30}]
)
def test_bounds_that_the_protocol_has_no_place_for_do_not_stop_the_question(bounds: dict[str, Any]) -> None:
    build_elicitation(a_form(host={"type": "string", **bounds}), "s1")


def test_an_address_keeps_its_form_and_its_host_is_named() -> None:
    shown = build_elicitation(ADDRESS, "s1").model_dump(mode="json", by_alias=True)

    assert shown["url"] == ADDRESS.address
    assert describe_question(ADDRESS) == ("The MCP server signer asks:\n\nSign\n\nIt leads to sign.example")


@pytest.mark.parametrize(
    ("question", "client", "can"),
    [
        (a_form(host={"type": "string"}), FORMS, True),
        (a_form(host={"type": "string"}), ADDRESSES, False),
        (a_form(host={"type": "string"}), ClientCapabilities(), False),
        (a_form(host={"type": "string"}), None, False),
        (a_form(pin={"type": "string", "title": "PIN"}), FORMS, False),
        (ADDRESS, ADDRESSES, True),
        (ADDRESS, FORMS, False),
    ],
)
def test_only_what_the_client_says_it_can_show_is_put_to_it_and_no_secret(
    question: Any, client: ClientCapabilities | None, can: bool
) -> None:
    assert can_elicit(question, client) is can


def test_the_values_that_the_person_filled_in_are_those_of_the_answer() -> None:
    content = {"host": "a:b", "count": 4.0, "share": 1, "sure": False, "zone": "s", "tags": ["b"]}
    answer = read_answer(a_form(**FIELDS), AcceptElicitationResponse(action="accept", content=content))

    assert answer == ServerAnswer(action=ServerAction.ACCEPT, values={**content, "count": 4, "tags": ("b",)})
    left_out = AcceptElicitationResponse(action="accept", content={"host": "a:b", "zone": None})
    assert read_answer(a_form(**FIELDS), left_out).values == {"host": "a:b"}
    assert read_answer(ADDRESS, AcceptElicitationResponse(action="accept")).action is ServerAction.ACCEPT


@pytest.mark.parametrize(
    "content",
    [
        None,
        {},
        {"host": 5},
        {"host": "a:b", "count": 4.5},
        {"host": "a:b", "count": True},
        {"host": "a:b", "zone": "w"},
        {"host": "a:b", "tags": ["c"]},
        {"host": "a:b", "tags": [["a"]]},
        {"host": "a:b", "sure": {"a": 1}},
        {"host": "a:b", "more": "x"},
    ],
)
def test_an_answer_that_does_not_fit_the_form_decides_nothing(content: Any, capsys: Any) -> None:
    answer = read_answer(a_form(**FIELDS), AcceptElicitationResponse(action="accept", content=content))

    assert answer == ServerAnswer(action=ServerAction.CANCEL)
    assert "does not fit" in capsys.readouterr().err


def test_a_no_and_no_decision_are_two_answers() -> None:
    form = a_form(**FIELDS)

    assert read_answer(form, DeclineElicitationResponse(action="decline")).action is ServerAction.DECLINE
    assert read_answer(form, CancelElicitationResponse(action="cancel")).action is ServerAction.CANCEL

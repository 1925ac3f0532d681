"""Questions of MCP servers as elicitations of the protocol, or as permission requests.

A permission request serves a client without forms, as far as a choice among a few options can answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from acp.schema import (
    AcceptElicitationResponse,
    ClientCapabilities,
    CreateElicitationResponse,
    DeclineElicitationResponse,
    ElicitationFormSessionMode,
    ElicitationSchema,
    ElicitationUrlSessionMode,
    PermissionOption,
)

from quorum.acp_agent.tool_calls import CallContent, build_text_content, show_line, show_text
from quorum.domain.mcp.server_question import (
    FieldKind,
    FieldValue,
    FormField,
    ServerAction,
    ServerAddress,
    ServerAnswer,
    ServerForm,
    ServerQuestion,
    check_answer,
)
from quorum.errors import complain

_MOST_OPTIONS = 8
_DECLINE = "decline"


def list_answers(question: ServerQuestion, *, by_name: bool) -> list[tuple[PermissionOption, ServerAnswer]]:
    """The options of the request with what each answers; empty where the form needs something to be typed, or
    a choice `by_name` that the client may not show."""
    accepted = _list_accepted(question)
    if not accepted or (len(accepted) > 1 and not by_name):
        return []
    options = [
        (PermissionOption(option_id=f"answer-{number}", name=name, kind="allow_once"), answer)
        for number, (name, answer) in enumerate(accepted)
    ]
    decline = PermissionOption(option_id=_DECLINE, name="Decline", kind="reject_once")
    return [*options, (decline, ServerAnswer(action=ServerAction.DECLINE))]


def render_question_title(question: ServerQuestion) -> str:
    if not question.server:
        return question.call or "The model asks you"
    during = f" during {show_line(question.call)}" if question.call else ""
    return f"The MCP server {show_line(question.server)} asks{during}"


def show_question(question: ServerQuestion) -> list[CallContent]:
    """The server's own words, quoted, and where an address leads or what the field is."""
    parts = [f"> {line}" for line in show_text(question.message).splitlines()] or [">"]
    match question:
        case ServerAddress():
            parts += [
                "",
                f"It leads to `{show_line(question.host)}`:",
                "",
                f"`{show_line(question.address, 8192)}`",
            ]
        case ServerForm(fields=fields):
            parts += [
                line for field in fields for line in ("", show_line(field.title), show_text(field.description))
            ]
    return [build_text_content("\n".join((*parts, "", f"digest: `{question.digest}`")))]


def _list_accepted(question: ServerQuestion) -> list[tuple[str, ServerAnswer]]:
    match question:
        case ServerAddress():
            return [("I have opened it", ServerAnswer(action=ServerAction.ACCEPT))]
        case ServerForm(fields=()):
            return [("Confirm", ServerAnswer(action=ServerAction.ACCEPT))]
        case ServerForm(fields=(field,)) if not field.asks_for_secret:
            values: list[tuple[str, FieldValue]] = []
            if field.kind is FieldKind.BOOLEAN:
                values = [("Yes", True), ("No", False)]
            elif field.kind is FieldKind.CHOICE and len(field.choices) <= _MOST_OPTIONS:
                values = [(show_line(choice.title), choice.value) for choice in field.choices]
            return [
                (name, ServerAnswer(action=ServerAction.ACCEPT, values={field.name: value}))
                for name, value in values
            ]
        case ServerForm():
            return []


_BOUNDS = {
    FieldKind.TEXT: ("minLength", "maxLength"),
    FieldKind.INTEGER: ("minimum", "maximum"),
    FieldKind.NUMBER: ("minimum", "maximum"),
    FieldKind.CHOICES: ("minItems", "maxItems"),
}


def can_elicit(question: ServerQuestion, client: ClientCapabilities | None) -> bool:
    """Whether a client says that it can put this question. A form must not ask for a secret."""
    elicitation = client.elicitation if client is not None else None
    match question:
        case ServerForm(fields=fields):
            return bool(elicitation and elicitation.form) and not any(one.asks_for_secret for one in fields)
        case ServerAddress():
            return bool(elicitation and elicitation.url)


def describe_question(question: ServerQuestion) -> str:
    """Who asks, and the server's own words."""
    where = f"\n\nIt leads to {show_line(question.host)}" if isinstance(question, ServerAddress) else ""
    return f"{render_question_title(question)}:\n\n{show_text(question.message)}{where}"


def build_elicitation(
    question: ServerQuestion, session_id: str
) -> ElicitationFormSessionMode | ElicitationUrlSessionMode:
    """The question as the client shows it."""
    match question:
        case ServerForm(fields=fields):
            schema = {
                "type": "object",
                "properties": {one.name: _build_property(one) for one in fields},
                "required": [one.name for one in fields if one.is_required],
            }
            return ElicitationFormSessionMode(
                session_id=session_id, requested_schema=ElicitationSchema.model_validate(schema)
            )
        case ServerAddress(address=address):
            shown = {"sessionId": session_id, "elicitationId": str(uuid4()), "url": address}
            return ElicitationUrlSessionMode.model_validate(shown)


def read_answer(question: ServerQuestion, response: CreateElicitationResponse) -> ServerAnswer:
    """What the person chose. A form with values that do not fit it decides nothing, and is complained of."""
    match response, question:
        case AcceptElicitationResponse(), ServerAddress():
            return ServerAnswer(action=ServerAction.ACCEPT)
        case AcceptElicitationResponse(content=content), ServerForm(fields=fields):
            values = {
                name: _convert_value(value, {one.name: one.kind for one in fields}.get(name))
                for name, value in (content or {}).items()
                if value is not None
            }
            if problems := check_answer(question, values):
                asked = render_question_title(question)
                complain(f"{asked}; the client's answer does not fit: {show_line(one)}" for one in problems)
                return ServerAnswer(action=ServerAction.CANCEL)
            return ServerAnswer(action=ServerAction.ACCEPT, values=values)
        case DeclineElicitationResponse(), _:
            return ServerAnswer(action=ServerAction.DECLINE)
        case _:
            return ServerAnswer(action=ServerAction.CANCEL)


def _convert_value(value: Any, kind: FieldKind | None) -> FieldValue:
    """The value as the field has it. Clients of JSON have one kind of number."""
    if isinstance(value, list):
        return tuple(map(str, value))
    if kind is FieldKind.INTEGER and isinstance(value, float) and value.is_integer():
        return int(value)
    found: FieldValue = value
    return found


def _build_property(one: FormField) -> Mapping[str, object]:
    choices = [{"const": choice.value, "title": show_line(choice.title)} for choice in one.choices]
    match one.kind:
        case FieldKind.TEXT:
            own: dict[str, object] = {"type": "string", "format": one.format and one.format.value}
        case FieldKind.INTEGER | FieldKind.NUMBER | FieldKind.BOOLEAN:
            own = {"type": one.kind.value}
        case FieldKind.CHOICE:
            own = {"type": "string", "oneOf": choices}
        case FieldKind.CHOICES:
            own = {"type": "array", "items": {"anyOf": choices}}
    own |= {"title": show_line(one.title), "description": show_text(one.description) or None}
    own["default"] = list(one.default) if isinstance(one.default, tuple) else one.default
    return {name: value for name, value in (own | _build_bounds(one)).items() if value is not None}


def _build_bounds(one: FormField) -> dict[str, object]:
    """The bounds as the schema takes them: whole numbers but for a number, and no negative sizes."""
    if one.kind not in _BOUNDS:
        return {}
    least, most = one.least, one.most
    if one.kind is not FieldKind.NUMBER:
        least, most = least and math.ceil(least), most and math.floor(most)
    if one.kind in (FieldKind.TEXT, FieldKind.CHOICES):
        least, most = least and max(0, least), most and max(0, most)
    return dict(zip(_BOUNDS[one.kind], (least, most), strict=True))

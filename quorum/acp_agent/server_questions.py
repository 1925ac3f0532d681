"""Questions of MCP servers as permission requests, as far as a choice among a few options can answer them."""

from __future__ import annotations

from acp.schema import PermissionOption

from quorum.acp_agent.shown_text import show_line, show_text
from quorum.acp_agent.tool_calls import CallContent, build_text_content
from quorum.domain.mcp.server_question import (
    FieldKind,
    FieldValue,
    ServerAction,
    ServerAddress,
    ServerAnswer,
    ServerForm,
    ServerQuestion,
)

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

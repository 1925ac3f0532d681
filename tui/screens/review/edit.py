"""A call's arguments as text that can be edited, and back."""

from __future__ import annotations

import json

from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.plan.plan_text import BadPlanText, parse_plan_text
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import make_printable
from quorum.tui.screens.review.text.plan import find_plan_text
from quorum.tui.screens.review.text.substance import find_command


class NotEditable(ValueError):
    """What was typed cannot be the arguments of a call; the text says where and why."""


def render_editable(packet: ReviewPacket) -> tuple[str, bool]:
    """The text to edit, and whether it is the bare command rather than all arguments as JSON.

    A plan is a document in Markdown. What holds characters an editor cannot show is offered as JSON, with those
    escaped.
    """
    if (document := find_plan_text(packet)) is not None:
        return document, False
    command = find_command(packet)
    if command is not None and make_printable(bare := command.replace("\t", " ")) == bare:
        return command, True
    text = json.dumps(packet.call.arguments, ensure_ascii=False, indent=2)
    return "".join(
        char if char == "\n" or make_printable(char) == char else _escape(char) for char in text
    ), False


def name_editable(packet: ReviewPacket, *, is_command: bool) -> str:
    """The name of the file in which an editor outside shows the text: its ending tells the language."""
    if is_command:
        return "command.sh"
    return "plan.md" if find_plan_text(packet) is not None else "arguments.json"


def _escape(char: str) -> str:
    return json.dumps(char)[1:-1]


def apply_edit(packet: ReviewPacket, text: str, *, is_command: bool) -> JsonObject:
    """The call's arguments after editing. Raises NotEditable."""
    if is_command:
        if not text.strip():
            raise NotEditable("the command is empty; esc goes back without changing it")
        return {**packet.call.arguments, "command": text}
    if find_plan_text(packet) is not None:
        try:
            return parse_plan_text(text).to_json()
        except BadPlanText as problem:
            raise NotEditable(str(problem)) from problem
    try:
        arguments = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise NotEditable(f"not JSON at {place}: {error.msg.lower()}") from error
    if not isinstance(arguments, dict):
        raise NotEditable("the arguments must be one JSON object: {…}")
    return arguments


def _refuse(name: str) -> float:
    raise NotEditable(f"{name} is not JSON; use a number, or null")

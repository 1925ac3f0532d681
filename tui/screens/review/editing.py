"""Changing what would run before it is asked about again: here, in an editor outside, or task by task."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from pathlib import Path, PurePosixPath
from typing import assert_never

from textual.widgets import TextArea

from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool_traits import find_traits
from quorum.domain.plan.plan_text import BadPlanText, parse_plan_text
from quorum.domain.review.questions import Edit
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.printable import make_printable
from quorum.tui.screens.review.card import ReviewCard
from quorum.tui.screens.review.text.plan import find_plan_text
from quorum.tui.screens.review.widgets import KeepsPlace, Rows

_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,12}")


class NotEditable(ValueError):
    """What was typed cannot be the arguments of a call; the text says where and why."""


class EditedPart(Enum):
    """What of a call is edited: a plan as a document in Markdown, the one text that matters, such a text of
    each part of a list, or all arguments as JSON."""

    PLAN = auto()
    TEXT = auto()
    TEXTS = auto()
    ARGUMENTS = auto()


def render_editable(packet: ReviewPacket) -> tuple[str, EditedPart]:
    """The text to edit, and what of the call it is; other arguments, such as a path, stay as they are.

    What holds characters an editor cannot show is offered as JSON, with those escaped.
    """
    if (document := find_plan_text(packet)) is not None:
        return document, EditedPart.PLAN
    traits = find_traits(packet.call.tool_name)
    text = _find_text(packet)
    if text is not None and traits.command:
        text = text.replace("\t", " ")
    if text is not None and _is_legible(text):
        return _use_line_feeds(text), EditedPart.TEXT
    if (joined := _join_texts(packet)) is not None:
        return joined, EditedPart.TEXTS
    arguments = json.dumps(packet.call.arguments, ensure_ascii=False, indent=2)
    return "".join(
        char if char == "\n" or make_printable(char) == char else _escape(char) for char in arguments
    ), EditedPart.ARGUMENTS


def name_editable(packet: ReviewPacket, part: EditedPart) -> str:
    """The name of the file in which an editor outside shows the text: its ending tells the language."""
    traits = find_traits(packet.call.tool_name)
    match part:
        case EditedPart.PLAN:
            return "plan.md"
        case EditedPart.TEXT if traits.command:
            return "command.sh"
        case EditedPart.TEXT if traits.patch:
            return "changes.patch"
        case EditedPart.TEXT | EditedPart.TEXTS:
            suffix = PurePosixPath(str(packet.call.arguments.get("path", ""))).suffix
            return f"new_text{suffix if _SUFFIX.fullmatch(suffix) else '.txt'}"
        case EditedPart.ARGUMENTS:
            return "arguments.json"
        case _:
            assert_never(part)


def apply_edit(packet: ReviewPacket, text: str, part: EditedPart) -> JsonObject:
    """The call's arguments after editing. Raises NotEditable."""
    traits = find_traits(packet.call.tool_name)
    match part:
        case EditedPart.PLAN:
            try:
                return parse_plan_text(text).to_json()
            except BadPlanText as problem:
                raise NotEditable(str(problem)) from problem
        case EditedPart.TEXT:
            if traits.command and not text.strip():
                raise NotEditable("the command is empty; esc goes back without changing it")
            text = _restore_line_ends(text, _find_text(packet) or "")
            return {**packet.call.arguments, traits.text: text}
        case EditedPart.TEXTS:
            return _part_texts(packet, text)
        case EditedPart.ARGUMENTS:
            return _parse_arguments(text)
        case _:
            assert_never(part)


def _parse_arguments(text: str) -> JsonObject:
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


def _escape(char: str) -> str:
    return json.dumps(char)[1:-1]


# -- plain text -----------------------------------------------------------------------------------------------


def _find_text(packet: ReviewPacket) -> str | None:
    name = find_traits(packet.call.tool_name).text
    value = packet.call.arguments.get(name) if name else None
    return value if isinstance(value, str) else None


def _is_legible(text: str) -> bool:
    """Whether an editor shows every character, and keeps it."""
    plain = _use_line_feeds(text).replace("\t", " ")
    return make_printable(plain) == plain


def _use_line_feeds(text: str) -> str:
    """The text with line feeds alone where all its lines end in CR LF; else as it is."""
    return text.replace("\r\n", "\n") if _has_dos_lines(text) else text


def _restore_line_ends(text: str, before: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n") if _has_dos_lines(before) else text


def _has_dos_lines(text: str) -> bool:
    return 0 < text.count("\r\n") == text.count("\n") == text.count("\r")


# -- several texts --------------------------------------------------------------------------------------------


def _find_parts(packet: ReviewPacket) -> Sequence[Mapping[str, JsonValue]]:
    """The parts of the list that each have a text; none where one of them has none."""
    traits = find_traits(packet.call.tool_name)
    given = packet.call.arguments.get(traits.texts) if traits.texts else None
    parts = [each for each in given if isinstance(each, Mapping)] if isinstance(given, list | tuple) else []
    has_texts = isinstance(given, list | tuple) and len(parts) == len(given)
    return parts if has_texts and all(isinstance(each.get(traits.text), str) for each in parts) else []


def _list_headings(count: int) -> list[str]:
    return [f"--- new text {number} of {count} ---" for number in range(1, count + 1)]


def _join_texts(packet: ReviewPacket) -> str | None:
    """The texts below each other, a heading before each; None where they cannot be told apart or shown."""
    name, parts = find_traits(packet.call.tool_name).text, _find_parts(packet)
    texts, headings = [str(each[name]) for each in parts], _list_headings(len(parts))
    lines = {line for text in texts for line in _use_line_feeds(text).split("\n")}
    if not parts or not lines.isdisjoint(headings) or not all(map(_is_legible, texts)):
        return None
    return "\n".join(
        f"{heading}\n{_use_line_feeds(text)}" for heading, text in zip(headings, texts, strict=True)
    )


def _part_texts(packet: ReviewPacket, text: str) -> JsonObject:
    traits, parts = find_traits(packet.call.tool_name), _find_parts(packet)
    edited: list[JsonValue] = [
        {**each, traits.text: _restore_line_ends(new, str(each[traits.text]))}
        for each, new in zip(parts, _split_at(text, _list_headings(len(parts))), strict=True)
    ]
    return {**packet.call.arguments, traits.texts: edited}


def _split_at(text: str, headings: Sequence[str]) -> Iterator[str]:
    """What stands below each heading. Raises NotEditable where a heading is missing or out of its order."""
    lines = text.split("\n")
    places = [number for number, line in enumerate(lines) if line in headings]
    if [lines[place] for place in places] != list(headings) or places[0] != 0:
        raise NotEditable(f"the lines from {headings[0]!r} on part the texts: leave each in its place")
    for start, end in zip(places, [*places[1:], len(lines)], strict=True):
        yield "\n".join(lines[start + 1 : end])


_NOTHING_DROPPED = "no task is dropped: space drops the marked one, esc goes back"
_NOTHING_LEFT = "no task is left; esc goes back, and there the plan can be rejected"


class _ScrollsCall(KeepsPlace):
    """A dialog whose keys scroll the call that it shows."""

    def action_scroll(self, lines: int) -> None:
        """Scroll what would run."""
        self.query_one("#reading", Rows).scroll_relative(y=lines, animate=False)

    def action_read_on(self) -> None:
        """Scroll what would run by as many lines as are in sight, but for one."""
        reading = self.query_one("#reading", Rows)
        reading.scroll_relative(y=max(1, reading.lines_shown - 1), animate=False)


class EditsCall(_ScrollsCall):
    """A dialog in which the call can be changed. Its subclass sets `card` and `root`, the session's folder.

    What is changed is answered as an `Edit`, which is asked about like any other call: nothing is approved.
    """

    card: ReviewCard
    root: str
    _edited_part = EditedPart.ARGUMENTS

    async def action_edit(self) -> None:
        """Let the person change what would run."""
        text, self._edited_part = render_editable(self.request.packet)
        await self._edit_text(text)

    @property
    def edited_text(self) -> str:
        """What stands in the editor; empty where nothing of it is changed."""
        text = self.query_one("#editor", TextArea).text
        return "" if text == render_editable(self.request.packet)[0] else text

    async def _edit_text(self, text: str) -> None:
        await self.card.enter("editing")
        self.query_one("#editor", TextArea).load_text(text)

    def action_submit_edit(self) -> None:
        """Send what was edited, or say what is wrong with it."""
        if self.card.stage == "dropping":
            self._submit_tasks()
            return
        try:
            self._submit(self.query_one("#editor", TextArea).text)
        except NotEditable as problem:
            self.card.say(str(problem))

    def _submit(self, text: str) -> None:
        self.dismiss(Edit(apply_edit(self.request.packet, text, self._edited_part)))

    # -- in the person's own editor -----------------------------------------------------------------------

    def action_edit_outside(self) -> None:
        """Edit it in $VISUAL or $EDITOR. What is saved there is sent, if it fits."""
        if self.card.stage == "editing":
            text = self.query_one("#editor", TextArea).text
        else:
            text, self._edited_part = render_editable(self.request.packet)
        self.run_worker(self._edit_outside(text), group="editor", exclusive=True)

    async def _edit_outside(self, text: str) -> None:
        from quorum.tui.prompt_box.outside_editor import EditorFailed, edit_in_editor

        asked, name = self.request, name_editable(self.request.packet, self._edited_part)
        try:
            edited = await edit_in_editor(self.app, text, workspace=Path(self.root), name=name)
        except EditorFailed as problem:
            self.card.say(make_printable(str(problem), newlines=False))
            return
        if self.request is not asked or self._is_answered:  # it was answered elsewhere meanwhile
            return
        if edited == text:
            self.card.say("nothing was changed in the editor")
            return
        try:
            self._submit(edited)
        except NotEditable as problem:
            await self._edit_text(make_printable(edited))
            self.card.say(str(problem))

    # -- task by task --------------------------------------------------------------------------------------

    async def action_drop_tasks(self) -> None:
        """List the tasks of a plan, of which each can be dropped."""
        await self.card.enter("dropping")

    def action_mark_task(self, step: int) -> None:
        """Mark the next task, or the one before."""
        if (tasks := self.card.forms.tasks) is not None:
            tasks.mark(step)

    def action_toggle_task(self) -> None:
        """Drop the marked task with all that depends on it, or keep it with all that it depends on."""
        if (tasks := self.card.forms.tasks) is not None:
            tasks.toggle()
            self.card.say("")

    def _submit_tasks(self) -> None:
        if (tasks := self.card.forms.tasks) is None:
            return
        kept = tasks.choice.kept
        if not tasks.choice.dropped:
            self.card.say(_NOTHING_DROPPED)
        elif not kept.tasks:
            self.card.say(_NOTHING_LEFT)
        else:
            self.dismiss(Edit(kept.to_json()))

"""The questions of an MCP server: an address that it wants opened, or a form to fill in, and who asks.

An address is shown whole before any browser gets it. A form has a row for each field, and a line to type in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, Static

from quorum.domain.errors import FormError
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
    parse_value,
    render_value,
)
from quorum.tui.keys.keyed_app import choose_sign
from quorum.tui.screens.question_card import QuestionCard
from quorum.tui.screens.review.choice_bar import ChoiceBar
from quorum.tui.terminal.browser import open_address
from quorum.tui.transcript.kinds.rows import Line, LineKind, clean_line, fold
from quorum.tui.widgets.dialog_parts import LineInput


def list_origin(question: ServerQuestion) -> Iterator[Line]:
    """The server, the call it works on, and its own words, which are not to be taken for ours."""
    yield Line("server   ", clean_line(question.server), LineKind.STRONG)
    if question.call:
        yield Line("during   ", clean_line(question.call))
    for number, text in enumerate(question.message.splitlines() or ("",)):
        yield Line("         " if number else "it says  ", clean_line(text))


_NO_BROWSER = "no browser with a window is here: c copies it; y once you have opened it elsewhere"


class ServerAddressDialog(QuestionCard):
    """Asks whether to open an address. `answer` is what was chosen, once it is closed."""

    HEADING = "An MCP server wants you to open an address"
    REFUSE = ("{address_decline=n}", "decline")
    ACCEPT = ("{address_open=y}", "open in the browser")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "accept", "Open the address in the browser", id="address_open"),
        Binding("n", "refuse", "Decline to open it", id="address_decline"),
        Binding("escape", "cancel", "Decide nothing", id="address_cancel"),
        Binding("c", "copy", "Copy the address", id="address_copy"),
        Binding("up", "scroll(-1)", "Scroll up", show=False, id="address_up"),
        Binding("down", "scroll(1)", "Scroll down", show=False, id="address_down"),
        Binding("left,right,tab,shift+tab", "mark", "The other choice", show=False, id="address_mark"),
    ]

    def __init__(self, question: ServerAddress, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock=clock)
        self._question = question
        self._has_no_browser = False
        self.answer = ServerAnswer(action=ServerAction.CANCEL)

    @property
    def question(self) -> ServerAddress:
        return self._question

    def build_lines(self) -> Iterator[Line]:
        """Who asks, why, and where the address leads."""
        question = self._question
        yield from list_origin(question)
        yield Line("leads to ", clean_line(question.host), LineKind.STRONG)
        yield Line("address  ", clean_line(question.address), is_code=True)

    def format_subtitle(self) -> str:
        """What else can be done."""
        return _NO_BROWSER if self._has_no_browser else "c copies it · esc decides nothing"

    def action_copy(self) -> None:
        """Copy the address; the question stays open."""
        self.app.copy_to_clipboard(self._question.address)

    def action_accept(self) -> None:
        """Open it; where no browser is here, the next time means that it was opened elsewhere."""
        self.run_worker(self._open(), exclusive=True)

    async def _open(self) -> None:
        if self._has_no_browser or await open_address(self._question.address):
            self.agree()
        else:
            self._has_no_browser = True
            self.show_notice()

    def agree(self) -> None:
        """Tell the server that it is opened."""
        self.answer = ServerAnswer(action=ServerAction.ACCEPT)
        self.dismiss(True)

    def action_refuse(self) -> None:
        """Tell the server no."""
        self.answer = ServerAnswer(action=ServerAction.DECLINE)
        super().action_refuse()

    def action_cancel(self) -> None:
        """Tell the server that nobody decided."""
        super().action_refuse()


_MARK, _SPOKEN_MARK = "› ", "marked: "
_NO_MARK = "  "
_MOST_WRONG = 3
_SECRET = "forms of servers must not ask for passwords, keys or codes: decline if you are not sure"


class ServerFormDialog(QuestionCard):
    """Asks for the values of a form. `answer` is what was chosen, once it is closed."""

    HEADING = "An MCP server asks"
    REFUSE = ("{form_decline=n}", "decline")
    ACCEPT = ("{form_send=s}", "send")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s,ctrl+s", "accept", "Send the form", id="form_send"),
        Binding("n", "refuse", "Decline to answer", id="form_decline"),
        Binding("escape", "back", "Leave the field as it is; else decide nothing", id="form_cancel"),
        Binding("e,enter", "edit", "Edit the marked field", id="form_edit"),
        Binding("up", "step(-1)", "Field above; while editing: choice before", show=False, id="form_up"),
        Binding("down", "step(1)", "Field below; while editing: next choice", show=False, id="form_down"),
        Binding("left,right,tab,shift+tab", "mark", "The other choice", show=False, id="form_mark"),
    ]
    DEFAULT_CSS: ClassVar[str] = f"""
    ServerFormDialog {{
        & #entry {{ display: none; border: none; height: 1; padding: 0; background: $panel; }}
        & #wrong {{ display: none; height: auto; max-height: {_MOST_WRONG}; color: $text-error; }}
        &.-editing #entry {{ display: block; }}
        &.-wrong #wrong {{ display: block; }}
    }}
    """

    def __init__(self, question: ServerForm, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock=clock)
        self._question = question
        self._values: dict[str, FieldValue] = {
            field.name: field.default for field in question.fields if field.default is not None
        }
        self._marked = 0
        self._wrong = ""
        self.answer = ServerAnswer(action=ServerAction.CANCEL)

    @property
    def question(self) -> ServerForm:
        return self._question

    @property
    def values(self) -> Mapping[str, FieldValue]:
        """What is filled in so far."""
        return self._values

    def on_mount(self) -> None:
        """Put the line to type in above the choices."""
        choices = self.query_one("#choices")
        self.query_one("#question").mount(
            LineInput(id="entry", select_on_focus=False), Static(id="wrong", markup=False), before=choices
        )

    def focus_first(self, choices: ChoiceBar) -> None:
        """Where there are fields, Enter edits the marked one until the person turns to the choices."""
        if not self._question.fields:
            choices.focus()

    def build_lines(self) -> Iterator[Line]:
        """Who asks, and each field with its value, its bounds and its description."""
        yield from list_origin(self._question)
        yield Line("", "")
        for number, field in enumerate(self._question.fields):
            yield from self._render_field(field, is_marked=number == self._marked)
        if not self._question.fields:
            yield Line("", "It asks for a confirmation only.")

    def format_subtitle(self) -> str:
        """What the keys do now."""
        if self._is_editing:
            turns = "↑ ↓ choose · " if self._list_words(self._question.fields[self._marked]) else ""
            return f"{turns}enter keeps it · esc leaves it as it was"
        return "↑ ↓ field · e or enter edits · esc decides nothing" if self._question.fields else ""

    # -- fields -------------------------------------------------------------------------------------------

    def _render_field(self, field: FormField, *, is_marked: bool) -> Iterator[Line]:
        value = render_value(field, self._values.get(field.name))
        needed = " (required)" if field.is_required else ""
        title = clean_line(f"{field.title}{needed}: {value or '–'}")
        yield Line(
            choose_sign(self.app, _MARK, _SPOKEN_MARK) if is_marked else _NO_MARK,
            title,
            LineKind.STRONG if is_marked else LineKind.PLAIN,
        )
        if field.asks_for_secret:
            yield Line("  ", _SECRET, LineKind.WARNING)
        if is_marked:
            if field.description:
                yield Line("  ", clean_line(field.description.replace("\n", " ")), LineKind.QUIET)
            if words := self._list_words(field):
                listed = " · ".join(f"{number} {word}" for number, word in enumerate(words, 1))
                several = "several, with commas between: " if field.kind is FieldKind.CHOICES else ""
                yield Line("  ", clean_line(several + listed), LineKind.QUIET)

    @staticmethod
    def _list_words(field: FormField) -> tuple[str, ...]:
        if field.kind is FieldKind.BOOLEAN:
            return ("yes", "no")
        return tuple(choice.title for choice in field.choices)

    @property
    def _entry(self) -> Input:
        return self.query_one("#entry", Input)

    @property
    def _is_editing(self) -> bool:
        return self.has_class("-editing")

    def _redraw(self) -> None:
        self._lay_out()
        self.query_one(ChoiceBar).set_class(self._is_editing, "-dead")
        self.show_notice()

    def _tell(self, wrong: str) -> None:
        self._wrong = clean_line(wrong)
        self.set_class(bool(wrong), "-wrong")
        self.query_one("#wrong", Static).update(Content(self._wrong))
        self._lay_out()

    # -- keys ---------------------------------------------------------------------------------------------

    @property
    def takes_text(self) -> bool:
        """Whether a field is being edited."""
        return self._is_editing

    @property
    def unsent_text(self) -> str:
        """What is typed into the field that is being edited."""
        return self._entry.value if self._is_editing else ""

    @property
    def lines_above_choices(self) -> int:
        """The field that is edited, and what is wrong with it."""
        wrong = fold([Line("", self._wrong)], self._text_width) if self._wrong else []
        return self._is_editing + min(len(wrong), _MOST_WRONG)

    def admits(self, event: events.Key) -> bool:
        """What is typed into a field may come as fast as it will; answers may not."""
        return self._is_editing or super().admits(event)

    def action_step(self, by: int) -> None:
        """Mark another field; while one with few values is edited, take another of them."""
        if not self._question.fields:
            return
        field = self._question.fields[self._marked]
        if self._is_editing:
            words = self._list_words(field)
            if words and field.kind is not FieldKind.CHOICES:
                place = words.index(self._entry.value) + by if self._entry.value in words else 0
                self._put(words[place % len(words)])
            return
        self._marked = (self._marked + by) % len(self._question.fields)
        self.set_focus(None)
        self._redraw()
        self._rows.scroll_to(y=self._find_row(), animate=False)

    def _find_row(self) -> int:
        """The first row of the marked field, less a line to see that there is something above."""
        before = [*list_origin(self._question), Line("", "")]
        for field in self._question.fields[: self._marked]:
            before += self._render_field(field, is_marked=False)
        return max(0, len(fold(before, self._text_width)) - 1)

    def on_click(self, event: events.Click) -> None:
        """Edit the field that is clicked."""
        is_text = self._rows.region.contains_point(event.screen_offset)
        if not is_text or self._is_editing or not self._guard.admits(event.time):
            return
        row = event.screen_y - self._rows.region.y + self._rows.above
        end = len(fold([*list_origin(self._question), Line("", "")], self._text_width))
        for place, field in enumerate(self._question.fields):
            start, drawn = end, self._render_field(field, is_marked=place == self._marked)
            end += len(fold(drawn, self._text_width))
            if start <= row < end:
                self._marked = place
                self.action_edit()
                return

    def action_edit(self) -> None:
        """Type the value of the marked field."""
        if self._question.fields:
            self.add_class("-editing")
            field = self._question.fields[self._marked]
            self._put(render_value(field, self._values.get(field.name)))
            self._entry.focus()
            self._redraw()

    def _put(self, text: str) -> None:
        self._entry.value = text
        self._entry.cursor_position = len(text)

    @on(Input.Submitted, "#entry")
    def _keep(self, message: Input.Submitted) -> None:
        message.stop()
        field = self._question.fields[self._marked]
        try:
            value = parse_value(field, message.value)
        except FormError as error:
            self._tell(f"{field.title}: {error}")
            return
        if value is None:
            self._values.pop(field.name, None)
        else:
            self._values[field.name] = value
        self._end_edit()
        if self._marked < len(self._question.fields) - 1:
            self.action_step(1)

    def _end_edit(self) -> None:
        self.remove_class("-editing")
        self._tell("")
        self.set_focus(None)
        self._redraw()

    def action_mark(self) -> None:
        """Turn to the choices; there, mark the other one."""
        bar = self.query_one(ChoiceBar)
        if bar.has_focus:
            super().action_mark()
        elif not self._is_editing:
            self._is_turned_to = True
            bar.focus()

    # -- answers ------------------------------------------------------------------------------------------

    def action_accept(self) -> None:
        """Send the form, if it can be sent as it is."""
        if self._is_editing:
            return
        if problems := check_answer(self._question, self._values):
            self._tell(problems[0])
            return
        self.answer = ServerAnswer(action=ServerAction.ACCEPT, values=dict(self._values))
        super().action_accept()

    def action_refuse(self) -> None:
        """Tell the server no."""
        self.answer = ServerAnswer(action=ServerAction.DECLINE)
        super().action_refuse()

    def action_back(self) -> None:
        """Leave the field as it was; with none edited, tell the server that nobody decided."""
        if self._is_editing:
            self._end_edit()
        else:
            super().action_refuse()

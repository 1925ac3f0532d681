"""The dialog in which the model asks the person: options to choose from, and a line for words of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.widgets import Input

from quorum.domain.review.person_question import MOST_OPTIONS, PersonQuestion, PersonReply
from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyed_app import choose_sign
from quorum.tui.screens.question_card import QuestionCard
from quorum.tui.screens.review.choice_bar import ChoiceBar
from quorum.tui.transcript.kinds.rows import Line, LineKind, clean_line, fold
from quorum.tui.widgets.dialog_parts import LineInput

_MARK, _SPOKEN_MARK, _NO_MARK = "› ", "marked: ", "  "
_CHOSEN, _NOT_CHOSEN = "[x] ", "[ ] "
_OWN_WORDS = "In your own words"
_NOTHING_MARKED = "↑ ↓ mark an answer first"


class PersonQuestionDialog(QuestionCard):
    """`reply` is what was chosen or written, once it is closed; None where it was left without an answer.

    Nothing is marked at first, so that no key that was meant for something else answers.
    """

    HEADING = "The model asks you"
    REFUSE = ("{question_skip=n}", "no answer")
    ACCEPT = ("{question_answer=enter}", "answer")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "Answer with what is marked or chosen", id="question_answer"),
        Binding(
            "space",
            "choose_marked",
            "Choose the marked option or not, where several may be",
            id="question_choose",
        ),
        *(
            Binding(f"{number}", f"pick({number})", f"Option {number}", show=False, id=f"question_{number}")
            for number in range(1, MOST_OPTIONS + 1)
        ),
        Binding("e", "write", "Answer in your own words", id="question_write"),
        Binding("n", "refuse", "Leave it without an answer", id="question_skip"),
        Binding("escape", "back", "Leave the line; else leave it without an answer", id="question_leave"),
        Binding("up", "step(-1)", "Option above", show=False, id="question_up"),
        Binding("down", "step(1)", "Option below", show=False, id="question_down"),
        Binding("pageup", "scroll(-5)", "Scroll up", show=False, id="question_page_up"),
        Binding("pagedown", "scroll(5)", "Scroll down", show=False, id="question_page_down"),
    ]
    DEFAULT_CSS: ClassVar[str] = """
    PersonQuestionDialog {
        & #entry { display: none; border: none; height: 1; padding: 0; background: $panel; }
        &.-writing #entry { display: block; }
    }
    """

    def __init__(
        self, question: PersonQuestion, digest: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(clock=clock)
        self.question, self.digest = question, digest
        self.reply: PersonReply | None = None
        self._marked: int | None = None
        self._chosen: set[int] = set()

    def on_mount(self) -> None:
        """Put the line to type in above the choices."""
        self.query_one("#question").mount(
            LineInput(id="entry", select_on_focus=False), before=self.query_one("#choices")
        )

    def focus_first(self, choices: ChoiceBar) -> None:
        """Enter is for what is marked above the choices."""

    def build_lines(self) -> Iterator[Line]:
        """The question, and the options with what each of them means."""
        return (line for _, line in self._build_parts())

    def _build_parts(self) -> Iterator[tuple[int | None, Line]]:
        """Each line with the place of the option that it belongs to."""
        for text in self.question.question.splitlines():
            yield None, Line("", clean_line(text), LineKind.STRONG)
        yield None, Line("", "")
        for place, option in enumerate(self.question.options):
            box = ""
            if self.question.several:
                box = _CHOSEN if place in self._chosen else _NOT_CHOSEN
            yield place, self._build_row(place, f"{box}{place + 1} {option.label}")
            if option.description:
                description = make_printable(option.description, newlines=False)
                yield place, Line(" " * (8 if self.question.several else 4), description, LineKind.QUIET)
        yield self._own_place, self._build_row(self._own_place, f"{_OWN_WORDS} …")

    def _build_row(self, place: int, label: str) -> Line:
        is_marked = place == self._marked
        kind = LineKind.STRONG if is_marked else LineKind.PLAIN
        return Line(
            choose_sign(self.app, _MARK, _SPOKEN_MARK) if is_marked else _NO_MARK, clean_line(label), kind
        )

    @property
    def _own_place(self) -> int:
        return len(self.question.options)

    def format_subtitle(self) -> str:
        """What the keys do now."""
        if self.takes_text:
            return "enter answers · esc back to the options"
        numbers = f"1–{len(self.question.options)}"
        chooses = f"{numbers} or space choose" if self.question.several else f"{numbers} answers"
        return f"↑ ↓ mark · {chooses} · e own words · esc no answer"

    # -- keys ---------------------------------------------------------------------------------------------

    @property
    def takes_text(self) -> bool:
        """Whether an answer is being written."""
        return self.has_class("-writing")

    @property
    def unsent_text(self) -> str:
        """What is written so far, until it is the reply."""
        return self._entry.value if self.takes_text and self.reply is None else ""

    @property
    def lines_above_choices(self) -> int:
        """The line that is written."""
        return int(self.takes_text)

    def admits(self, event: events.Key) -> bool:
        """What is written may come as fast as it will; other answers may not."""
        return self.takes_text or super().admits(event)

    @property
    def _entry(self) -> Input:
        return self.query_one("#entry", Input)

    def action_step(self, by: int) -> None:
        """Mark another option; the last one is an answer in the person's own words."""
        if self.takes_text:
            return
        count = self._own_place + 1
        self._marked = (0 if by > 0 else count - 1) if self._marked is None else (self._marked + by) % count
        self._redraw()
        self._rows.scroll_to(y=self._find_row(), animate=False)

    def _find_row(self) -> int:
        """The row of the marked option, less a line to see that there is something above."""
        before: list[Line] = []
        for line in self.build_lines():
            if line.head == _MARK:
                break
            before.append(line)
        return max(0, len(fold(before, self._text_width)) - 1)

    def on_click(self, event: events.Click) -> None:
        """Take the option that is clicked, as its key does."""
        is_text = self._rows.region.contains_point(event.screen_offset)
        if not is_text or self.takes_text or not self._guard.admits(event.time):
            return
        rows = [place for place, line in self._build_parts() for _ in fold([line], self._text_width)]
        place = rows[event.screen_y - self._rows.region.y + self._rows.above]
        if place == self._own_place:
            self.action_write()
        elif place is not None:
            self.action_pick(place + 1)

    def action_choose_marked(self) -> None:
        """Choose the marked option, or do not choose it any more."""
        if self.takes_text or not self.question.several:
            return
        if self._marked is None or self._marked == self._own_place:
            self.note(_NOTHING_MARKED)
            return
        self._chosen ^= {self._marked}
        self._redraw()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A number is that of an option, or for the line."""
        if action == "pick" and (self.takes_text or parameters > (self._own_place,)):
            return False
        return super().check_action(action, parameters)

    def action_pick(self, number: int) -> None:
        """Answer with the option of this number; where several may be chosen, choose it or not."""
        self._marked = number - 1
        if self.question.several:
            self.action_choose_marked()
        else:
            self._answer("")

    def action_write(self) -> None:
        """Have an answer written."""
        self.add_class("-writing")
        self._marked = self._own_place
        self._entry.focus()
        self._redraw()

    @on(Input.Submitted, "#entry")
    def _send(self, message: Input.Submitted) -> None:
        message.stop()
        self._send_text()

    def _send_text(self) -> None:
        if text := self._entry.value.strip():
            self._answer(text)

    def action_accept(self) -> None:
        """Answer with what is chosen, or else with what is marked."""
        if self.takes_text:
            self._send_text()  # the choice was clicked
        elif self._marked == self._own_place:
            self.action_write()
        elif self._chosen or self._marked is not None:
            self._answer("")
        else:
            self.note(_NOTHING_MARKED)

    def _answer(self, text: str) -> None:
        chosen = set(self._chosen)
        if not chosen and not text and self._marked is not None:
            chosen = {self._marked}
        self.give(PersonReply(options=tuple(place + 1 for place in sorted(chosen)), text=text))

    def give(self, reply: PersonReply) -> None:
        """Close with this reply."""
        self.reply = reply
        self.dismiss(True)

    def action_back(self) -> None:
        """Leave the line; what is written stays in it. Else leave the question without an answer."""
        if not self.takes_text:
            self.action_refuse()
            return
        self.remove_class("-writing")
        self.set_focus(None)
        self._redraw()

    def _redraw(self) -> None:
        self._lay_out()
        self.query_one(ChoiceBar).set_class(self.takes_text, "-dead")
        self.show_notice()

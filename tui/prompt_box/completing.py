"""A prompt with a menu above it, which completes commands and files."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

from quorum.tui.completion.menu import CompletionMenu
from quorum.tui.prompt_box.searchable import SearchablePrompt

if TYPE_CHECKING:
    from quorum.tui.completion.completion import Completion
    from quorum.tui.completion.offers import Known


class CompletingPrompt(SearchablePrompt):
    """Has the menu follow what is typed, and gives it the keys that are meant for it.

    `known` is where the menu learns of files and words. The screen composes the `menu`.
    """

    def __init__(self, known: Known, *, placeholder: str, id: str | None) -> None:
        super().__init__(
            id=id, placeholder=placeholder, compact=True, highlight_cursor_line=False, show_line_numbers=False
        )
        self.menu = CompletionMenu(on_pick=self._on_picked)
        self.known = known
        self._opened: Completion | None = None
        self._let_be: str | None = None

    @property
    def takes_escape(self) -> bool:
        """Whether Esc ends something here before it may mean anything else."""
        return self.is_searching or (self._opened is not None and self._opened.is_shown)

    def offer(self) -> None:
        """Show what fits what is typed now."""
        if self.text == self._let_be:
            return
        self._let_be = None
        if not self.is_searching and (self._opened is not None or _may_begin(self.text)):
            self._completion.follow(self.text, self._before)

    def offer_nothing(self) -> None:
        """Show nothing for what is there now, until it is typed on."""
        self._let_be = self.text
        if self._opened is not None:
            self._opened.close()

    def send(self) -> None:
        """Send what the menu has made whole."""
        raise NotImplementedError

    def press_in_menu(self, key: str) -> bool:
        """Do what the key is for in the menu; whether it is for anything there."""
        if self._opened is None or not self._opened.is_shown:
            return False
        completion = self._opened
        if key == "escape":
            completion.dismiss(self.text, self._before)
        elif key in ("up", "down") and completion.is_open:
            completion.move(1 if key == "down" else -1)
        elif key == "enter" and completion.takes_enter:
            self._accept(sends=True)
        elif key == "right" and completion.is_open and self.cursor_location == self.document.end:
            self._accept()
        else:
            return False
        return True

    def action_complete(self) -> None:
        """Complete what is being typed; where nothing is, continue to what comes after the prompt."""
        if self._opened is not None and self._opened.is_open:
            self._accept()
        elif _may_begin(self.text):
            self._let_be = None
            self._completion.reopen()
        else:
            self.screen.focus_next()

    def on_mouse_up(self) -> None:
        """The cursor may stand in something else now."""
        self.offer()

    @property
    def _completion(self) -> Completion:
        """What is offered; loaded when it is first wanted."""
        if self._opened is None:
            from quorum.tui.completion.completion import Completion

            self._opened = Completion(self.menu, self.known, self._ask)
        return self._opened

    def _ask(self, asking: Callable[[], Coroutine[object, object, None]]) -> None:
        self.run_worker(asking, group="completion", exclusive=True)

    @property
    def _before(self) -> str:
        row, column = self.cursor_location
        return self.document[row][:column]

    def _accept(self, place: int | None = None, *, sends: bool = False) -> None:
        """Put what is chosen into the prompt, and send that where it is whole."""
        if (taken := self._completion.accept(place)) is None:
            return
        length, offer = taken
        row, column = self.cursor_location
        insert = offer.insert
        if insert.endswith(" ") and self.document[row][column : column + 1] == " ":
            insert = insert[:-1]
        result = self.replace(insert, (row, column - length), (row, column), maintain_selection_offset=False)
        self.move_cursor(result.end_location)
        if sends and offer.ready:
            self.send()

    def _on_picked(self, place: int) -> None:
        self._accept(place)
        self.offer()
        self.focus()


def _may_begin(text: str) -> bool:
    """Whether there may be anything to offer: a quick look, before what really looks is loaded."""
    return text.startswith("/") or "@" in text

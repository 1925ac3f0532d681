"""A prompt with a menu that completes commands and files, and a search of the history in its place."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace  # noqa: TID251 - loaded before the first paint
from typing import TYPE_CHECKING

from textual import events
from textual.content import Content
from textual.document._history import EditHistory
from textual.widgets import TextArea
from textual.widgets.text_area import Selection

from quorum.domain.text.printable import make_printable
from quorum.tui.completion.menu import CompletionMenu
from quorum.tui.keys.line_fields import run_own_binding
from quorum.tui.prompt_box.paste import clean_paste

if TYPE_CHECKING:
    from quorum.tui.completion.completion import Completion
    from quorum.tui.completion.offers import Known


_KEYS = "ctrl+r older · ctrl+s newer · enter takes · esc back"


class OrderedKeys(TextArea):
    """A text area whose own keys act at once."""

    async def _on_key(self, event: events.Key) -> None:
        event.prevent_default()
        if await self.takes(event):
            event.stop()
        else:
            await super()._on_key(event)

    async def takes(self, event: events.Key) -> bool:
        """Do what the key is for here; whether it had any use."""
        return await run_own_binding(self, event)


@dataclass(frozen=True, slots=True)
class _PromptDraft:
    """What was being written, with what was done to it so far, so that it can be undone as before."""

    text: str
    selection: Selection
    history: EditHistory


class PastSearch:
    """Goes through what was typed before, the newest first, each text once. Upper and lower case are alike."""

    def __init__(self, entries: Sequence[str]) -> None:
        self._entries = list(dict.fromkeys(reversed(entries)))
        self.query = ""
        self._found = self._entries
        self._place = -1

    @property
    def present(self) -> str | None:
        """The prompt that is found; None where none is, or nothing is looked for yet."""
        return self._found[self._place] if 0 <= self._place < len(self._found) else None

    @property
    def count(self) -> tuple[int, int]:
        """The place of the present prompt among those that fit, from 1, and how many these are."""
        return self._place + 1, len(self._found)

    def look_for(self, query: str) -> None:
        """Look for this instead. What is shown stays where it fits; else the next older one that does comes,
        else the newest."""
        shown = self.present
        self.query = query
        wanted = query.lower()
        self._found = [entry for entry in self._entries if wanted in entry.lower()]
        if not query:
            self._place = -1
            return
        place = 0 if shown is None else self._entries.index(shown)
        older = (entry for entry in self._entries[place:] if wanted in entry.lower())
        best = next(older, self._found[0] if self._found else None)
        self._place = self._found.index(best) if best is not None else -1

    def find_older(self) -> bool:
        """Go to the next older one; False where there is none."""
        if self._place + 1 >= len(self._found):
            return False
        self._place += 1
        return True

    def find_newer(self) -> bool:
        """Go to the next newer one; False where there is none."""
        if self._place <= 0:
            return False
        self._place -= 1
        return True


class SearchablePrompt(OrderedKeys):
    """Takes all keys for the search while there is one; then the draft is back, or what was found."""

    menu: CompletionMenu
    _search: PastSearch | None = None
    _draft: _PromptDraft

    @property
    def is_searching(self) -> bool:
        """Whether the history is being searched."""
        return self._search is not None

    def begin_search(self, entries: Sequence[str]) -> None:
        """Search these, the oldest first. What is being written is put aside."""
        self._draft = _PromptDraft(self.text, self.selection, self.history)
        self.history = replace(self.history)
        self._search = PastSearch(entries)
        self._show_search()

    def end_search(self, *, take: bool) -> None:
        """Bring the draft back; or take what was found, which can be undone like anything typed."""
        if self._search is None:
            return
        found, self._search = self._search.present, None
        self.load_text(self._draft.text)
        self.history = self._draft.history
        self.selection = self._draft.selection
        self.menu.close()
        if take and found is not None:
            self.replace_all(clean_paste(found))

    def replace_all(self, text: str) -> None:
        """Put this in the place of everything, with the cursor at its end. It can be undone."""
        if text != self.text:
            self.history.checkpoint()
            self.replace(text, (0, 0), self.document.end, maintain_selection_offset=False)
            self.history.checkpoint()
        self.move_cursor(self.document.end)

    async def takes(self, event: events.Key) -> bool:
        """All keys, while the history is searched: those that have no meaning in it end it and act then."""
        search = self._search
        if search is None:
            return await super().takes(event)
        match event.key:
            case "escape" | "ctrl+g" | "ctrl+c":
                self.end_search(take=False)
                return True
            case "enter" | "tab":
                self.end_search(take=True)
                return True
            case "ctrl+r" | "up":
                self._show_search(at_end="no older one" if not search.find_older() else "")
            case "ctrl+s" | "down":
                self._show_search(at_end="no newer one" if not search.find_newer() else "")
            case "backspace" | "ctrl+h":
                self._look_for(search.query[:-1])
            case "ctrl+u" | "ctrl+w":
                self._look_for("")
            case _ if event.is_printable and event.character is not None:
                self._look_for(search.query + event.character)
            case _:
                self.end_search(take=True)
                return await super().takes(event)
        return True

    def search_for_more(self, text: str) -> None:
        """Add a pasted text to what is looked for."""
        if self._search is not None:
            self._look_for(self._search.query + text.strip("\n"))

    def _look_for(self, query: str) -> None:
        assert self._search is not None
        self._search.look_for(query)
        self._show_search()

    def _show_search(self, at_end: str = "") -> None:
        search = self._search
        assert search is not None
        shown = self._draft.text if search.present is None else clean_paste(search.present)
        if shown != self.text:
            self.load_text(shown)
        start = shown.lower().rfind(search.query.lower()) if search.present is not None else -1
        if start >= 0:
            self.selection = Selection(_place(shown, start), _place(shown, start + len(search.query)))
        self.menu.tell(_render_bar(search, at_end))


def _render_bar(search: PastSearch, at_end: str) -> Content:
    place, count = search.count
    query = make_printable(search.query, newlines=False)
    state = at_end or (f"{place} of {count}" if place else "nothing found" if query else "type a part")
    style = "$text-warning" if at_end or (query and not count) else ""
    return Content.assemble(
        ("search: ", "bold"),
        (f"{query}▏", "bold $text-accent"),
        ("  ", ""),
        (state, style),
        f" · {_KEYS}",
    )


def _place(text: str, index: int) -> tuple[int, int]:
    """The row and column of a character."""
    before = text[:index]
    return before.count("\n"), index - (before.rfind("\n") + 1)


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
        self.suggest: Callable[[str], str] = lambda _text: ""
        """What is suggested in the place of a text; empty where nothing is."""
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
            self.app.post_message(events.DescendantFocus(self.menu))  # a reader's cursor goes where the mark is
        elif key == "enter" and completion.takes_enter:
            self._accept(sends=True)
        elif key == "right" and completion.is_open and self.cursor_location == self.document.end:
            self._accept()
        else:
            return False
        return True

    def action_complete(self) -> None:
        """Complete what is being typed; where nothing is, take what is suggested, or continue to what comes
        after the prompt."""
        if self._opened is not None and self._opened.is_open:
            self._accept()
        elif _may_begin(self.text):
            self._let_be = None
            self._completion.reopen()
        elif suggested := self.suggest(self.text):
            self.replace_all(suggested)
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

"""The prompt: where the person types. It grows with what is typed and brings back what was typed before."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.binding import Binding, BindingType
from textual.keys import Keys
from textual.message import Message

from quorum.tui.agent.turns import MARK, MEMORY_MARK
from quorum.tui.keys.keyed_app import KeyedApp
from quorum.tui.prompt_box.completing import CompletingPrompt
from quorum.tui.prompt_box.history import escape_command
from quorum.tui.prompt_box.paste import Folds, clean_paste
from quorum.tui.widgets.layout import PLACEHOLDER

if TYPE_CHECKING:
    from textual.timer import Timer

    from quorum.tui.completion.offers import Known
    from quorum.tui.prompt_box.history import Recall
    from quorum.tui.prompt_box.vim_keys import VimKeys
    from quorum.tui.vim.editor import VimMode

# Terminals without an extended keyboard protocol send Alt+Enter as Escape, Return, which would read as Enter.
# The table is a plain dict that its parser looks up; it is only typed as if it were not.
cast("dict[str, object]", ANSI_SEQUENCES_KEYS)["\x1b\r"] = (Keys.ControlJ,)

_KEEPING_SECS = 0.3
_NEW_LINE_KEYS = frozenset({"ctrl+j", "shift+enter", "alt+enter", "shift+\r", "alt+\r"})


class Prompt(CompletingPrompt):
    """A text area in which Enter sends. Posts `Submitted`; long pastes are folded and expanded on sending.

    `memory` is where Up, Down and the search find what came before, `known` where the menu learns of files and
    words; the menu stands above the prompt, where the screen composes it. `editing` tells with each key whether
    it is edited with the modes of Vim (`vim`).
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send", show=False, id="prompt_submit"),
        Binding(
            "ctrl+j,shift+enter,alt+enter",
            "new_line",
            "New line (or \\ and Enter)",
            show=False,
            id="prompt_new_line",
        ),
        Binding("up", "older", "Up; from the first line: earlier prompts", show=False, id="prompt_older"),
        Binding("down", "newer", "Down; from the last line: later prompts", show=False, id="prompt_newer"),
        Binding(
            "ctrl+d",
            "delete_or_leave",
            "Delete; in an empty prompt: quit",
            show=False,
            id="prompt_delete_or_leave",
        ),
        Binding("ctrl+underscore", "undo", "Undo", show=False, id="prompt_undo"),
        Binding("tab", "complete", "Complete from the menu (also →)", show=False, id="prompt_complete"),
        Binding("ctrl+r", "search_history", "Search earlier prompts", show=False, id="prompt_search_history"),
        Binding("ctrl+g", "edit_outside", "Edit in $VISUAL or $EDITOR", show=False, id="prompt_edit_outside"),
        Binding(
            "ctrl+x", "begin_chord", "Cut; ctrl+e after it: as ctrl+g", show=False, id="prompt_begin_chord"
        ),
        Binding("ctrl+z", "app.suspend_process", "Suspend", show=False, id="suspend"),
    ]

    class Submitted(Message):
        """This text is sent; it is not empty. `is_typed`: by the person alone, by hand."""

        def __init__(self, text: str, *, is_typed: bool = False) -> None:
            super().__init__()
            self.text = text
            self.is_typed = is_typed

    class SentNothing(Message):
        """The person pressed Enter where nothing is typed."""

    class EditingModeChanged(Message):
        """Vim's modes: another one is on; None where there are no modes any more."""

        def __init__(self, mode: VimMode | None) -> None:
            super().__init__()
            self.mode = mode

    class AttachmentDropped(Message):
        """A text was pasted that is the path of an image's or PDF's file. Nothing was inserted for it."""

        def __init__(self, path: str, pasted: str) -> None:
            super().__init__()
            self.path, self.pasted = path, pasted

    def __init__(
        self,
        memory: Recall,
        known: Known,
        *,
        id: str | None = None,
        editing: Callable[[], str] = lambda: "emacs",
    ) -> None:
        super().__init__(known, placeholder=PLACEHOLDER, id=id)
        self.cursor_blink = False  # a blinking cursor would wake an idle program twice a second
        self._memory = memory
        self._folds = Folds()
        self._chord = False
        self._editing = editing
        self._vim: VimKeys | None = None
        self._held: list[events.Key] | None = None
        self._keeping: Timer | None = None
        self.is_typed_by_person = True
        self._yielding = ""
        self._holds_other_text = False  # pasted, recalled, offered or given back
        """False where another program typed some of it; what is kept of it is then no command."""

    @property
    def whole_text(self) -> str:
        """What is typed, folded pastes at their full length; empty where it is blank."""
        text = self._folds.expand(self.text)
        return text if text.strip() else ""

    def replace_text(self, text: str) -> None:
        """Show this text instead of what was typed, with the cursor at its end. It can be undone."""
        self.end_search(take=False)
        self._holds_other_text = bool(text)
        self.replace_all(clean_paste(text))
        self.offer_nothing()

    def begin(self, words: str) -> None:
        """Put these words before what is being written, on its line."""
        self.replace_text(f"{words}{self.text}")

    def put_before(self, typed: str) -> None:
        """Put what the person typed back as it was, before what is being written."""
        draft = self.text
        self.replace_text(f"{typed}\n{draft}" if draft else typed)

    def give_back(self, prompts: str, *, yields: bool = False) -> None:
        """Put prompts back to where they can be edited, before what is being written.

        They stay prompts: whoever sent them, Enter makes no command of them. `yields`: the history has them,
        too, so a slash right behind them begins a command in their place, as `/redo` after `/undo`.
        """
        is_alone = not self.text
        self.put_before(escape_command(prompts))
        self._yielding = self.text if yields and is_alone else ""

    def withdraw(self, prompts: str) -> None:
        """Remove prompts that were given back, if they still stand before what is being written."""
        given, text = clean_paste(escape_command(prompts)), self.text
        if text == given or text.startswith(f"{given}\n"):
            self.replace_text(text[len(given) + 1 :])

    def hold_keys(self) -> None:
        """Let keys wait from now on: the text is being written elsewhere."""
        self._held = []

    @property
    def holds_keys(self) -> bool:
        return self._held is not None

    async def take_up_keys(self) -> None:
        """Let those keys act that waited."""
        held, self._held = self._held or [], None
        for event in held:
            await self._on_key(event)

    # -- while something else has the focus -------------------------------------------------------------------

    async def press_behind(self, event: events.Key) -> None:
        """Do what a key is for in a text: type, or edit what is typed. Nothing is sent, and nothing opened."""
        if event.key == "enter" and not self.is_searching:
            if self._held is None and self.text and not self.text.endswith("\n"):
                self.action_new_line()
        elif event.key == "escape":
            if self.takes_escape:
                await self.takes(event)
        elif event.key == "question_mark" and not self.text:
            self.insert("?")
        else:
            await self._on_key(event)

    async def paste_behind(self, event: events.Paste) -> None:
        """Take a pasted text."""
        await self._on_paste(event)

    # -- keys -------------------------------------------------------------------------------------------------

    async def _on_key(self, event: events.Key) -> None:
        if self._held is not None:
            event.prevent_default().stop()
            self._held.append(event)
            return
        await super()._on_key(event)
        if self._vim is None or self._vim.inserts:
            self.offer()

    async def takes(self, event: events.Key) -> bool:
        """Do what the key is for here: in the search, in the menu, and in the prompt itself."""
        if self.is_searching:
            return await super().takes(event)
        chord, self._chord = self._chord, False
        if chord and event.key == "ctrl+e":
            await self.action_edit_outside()
            return True
        if self.press_in_menu(event.key):
            return True
        if event.key in _NEW_LINE_KEYS:
            self.action_new_line()
            return True
        if event.character == "/" and self._yields and not self.takes_escape:
            self.replace_text("")
        if event.key == "question_mark" and not self.text:
            await self.run_action("app.show_help")
            return True
        return self._press_in_vim(event) or await super().takes(event)

    @property
    def _yields(self) -> bool:
        return bool(self.text) and self.text == self._yielding and self.cursor_location == self.document.end

    @property
    def takes_escape(self) -> bool:
        """Whether Esc ends something here, a mode of Vim included, before it may mean anything else."""
        vim = self._vim_keys
        return super().takes_escape or (vim is not None and vim.takes_escape)

    @property
    def _vim_keys(self) -> VimKeys | None:
        """What follows Vim's modes where they are wanted; loaded when they are."""
        if (self._editing() == "vim") != (self._vim is not None):
            self._vim = None
            if self._editing() == "vim":
                from quorum.tui.prompt_box.vim_keys import VimKeys

                self._vim = VimKeys(self, self._report_mode)
            else:
                self._report_mode(None)
        return self._vim

    def _report_mode(self, mode: VimMode | None) -> None:
        self.post_message(self.EditingModeChanged(mode))

    def _press_in_vim(self, event: events.Key) -> bool:
        """Do what the key means to Vim, if anything: `/` searches, `j` and `k` continue to other prompts."""
        if (vim := self._vim_keys) is None:
            return False
        if event.key == "slash" and vim.is_commanded:
            self.action_search_history()
            return True
        match vim.press(event):
            case "top":
                self.action_older()
            case "bottom":
                self.action_newer()
            case False:
                return False
            case _:
                pass
        return True

    # -- what else keys do ------------------------------------------------------------------------------------

    def action_search_history(self) -> None:
        """Look for an earlier prompt."""
        self.offer_nothing()
        self.begin_search(self._memory.list_prompts())

    async def action_edit_outside(self) -> None:
        """Edit all of it in the person's own editor."""
        await self.run_action("screen.edit_outside")

    def action_begin_chord(self) -> None:
        """Cut what is selected. With Ctrl+E after it the prompt is edited outside, as in shells."""
        self._chord = True
        if self.selected_text:
            self.action_cut()

    def send(self) -> None:
        self.action_submit()

    def on_unmount(self) -> None:
        """What was not sent is remembered; an app that takes the place of this one says how it comes back."""
        self.end_search(take=False)
        if isinstance(self.app, KeyedApp) and self.app.restart is not None:
            self._memory.keep_unsent(self._unsent_text)
        else:
            self._memory.keep(self._unsent_text)

    @property
    def _unsent_text(self) -> str:
        text = self.whole_text
        return text if self.is_typed_by_person else escape_command(text)

    def keep_soon(self) -> None:
        """Have what is typed kept in a moment, whatever becomes of the process: not with every key."""
        if self._keeping is None:
            self._keeping = self.set_timer(_KEEPING_SECS, self.keep_unsent)

    def keep_unsent(self) -> bool:
        """Have what is typed, and what waits, kept whatever becomes of the process; whether it is."""
        if self._keeping is not None:
            self._keeping.stop()
            self._keeping = None
        return not self.is_searching and self._memory.keep_unsent(self._unsent_text)

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default().stop()
        if self.is_searching:
            self.search_for_more(clean_paste(event.text))
            return
        from quorum.tui.mentioned_attachments import find_dropped_attachment

        if (path := find_dropped_attachment(event.text)) is not None:
            self.post_message(self.AttachmentDropped(path, event.text))
        else:
            stays = self.text.startswith(("/", MARK, MEMORY_MARK))  # there a path is a path
            mentions = "" if stays else self.known.build_mentions(event.text)
            self.insert_pasted(mentions or event.text)
        self.offer()

    def action_paste(self) -> None:
        """Paste what was copied in the app, which may be what a model wrote."""
        self._holds_other_text = True
        super().action_paste()

    def insert_pasted(self, text: str) -> None:
        """Put a pasted text where the cursor is; a long one is folded."""
        self._holds_other_text = True
        if result := self._replace_via_keyboard(self._folds.fold(clean_paste(text)), *self.selection):
            self.move_cursor(result.end_location)

    def action_submit(self) -> None:
        """Send what is typed, or turn a backslash before the cursor into a new line."""
        row, column = self.cursor_location
        if column and self.document[row][column - 1] == "\\":
            self.replace("\n", (row, column - 1), (row, column))
            return
        if not (text := self.whole_text.rstrip()):
            self.post_message(self.SentNothing())
            return
        self._folds.clear()
        self._memory.forget_place()
        is_typed = self.is_typed_by_person and not self._holds_other_text
        self.is_typed_by_person, self._holds_other_text = True, False
        self.load_text("")
        if self._vim is not None:
            self._vim.start_over()
        self.offer()
        self.post_message(self.Submitted(text, is_typed=is_typed))

    def action_new_line(self) -> None:
        if result := self._replace_via_keyboard("\n", *self.selection):
            self.move_cursor(result.end_location)

    def action_delete_left(self) -> None:
        """Delete the character before the cursor, or what stands there for a long paste or an attachment."""
        row, column = self.cursor_location
        name = self._folds.expand_at_end(self.document[row][:column]) if self.selection.is_empty else ""
        if name:
            self._delete_via_keyboard((row, column - len(name)), (row, column))
        else:
            super().action_delete_left()

    def action_older(self) -> None:
        """Go up a line, or at the first one to an earlier prompt."""
        if not self.navigator.is_first_wrapped_line(self.cursor_location):
            self.action_cursor_up()
        elif (text := self._memory.recall_older(self.text)) is not None:
            self.replace_text(text)

    def action_newer(self) -> None:
        """Go down a line, or at the last one to a later prompt."""
        if not self.navigator.is_last_wrapped_line(self.cursor_location):
            self.action_cursor_down()
        elif (text := self._memory.recall_newer()) is not None:
            self.replace_text(text)

    async def action_delete_or_leave(self) -> None:
        """Delete the character under the cursor; with nothing typed, ask to quit."""
        if self.text:
            self.action_delete_right()
        else:
            await self.run_action("app.end_of_input")

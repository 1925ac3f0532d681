"""What commands and keys do with what is being written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui.chat.actions.base import ChatActions

if TYPE_CHECKING:
    from domain.calls.found_file import FoundFile
    from tui.keys.commands import Command


class WritingActions(ChatActions):
    """The part of the chat that helps to write: with files and words for the menu, and the person's editor."""

    _cwd: Path

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Esc and Ctrl+S mean something in the menu and the search before they mean anything else."""
        taken = {"interrupt": self.prompt.takes_escape, "show_timeline": self.prompt.is_searching}
        if taken.get(action) and self.prompt.has_focus:
            return False
        return super().check_action(action, parameters)

    # -- what the menu knows ------------------------------------------------------------------------------

    async def find_files(self, query: str, limit: int) -> Sequence[FoundFile]:
        """The files of the project that fit, best first; none before the session is there."""
        return await self.session.agent.files.find(query, limit) if self.session is not None else ()

    def note_file_used(self, path: str) -> None:
        """The person took this file from the menu."""
        if self.session is not None:
            self.session.agent.files.note_used(path)

    async def words_of(self, command: Command) -> Sequence[str]:
        """The words that a command may take, where they are known."""
        match command.name:
            case "theme":
                return sorted(self.app.available_themes)
            case "model" if self.session is not None:
                from tui.completion.models import listed_models

                return await listed_models(self.session.agent)
            case _:
                return ()

    def mentions_of(self, pasted: str) -> str:
        """The mentions of the files whose paths were pasted or dropped; empty where it is anything else."""
        from tui.prompt_box.dropped import dropped_mentions

        if self.prompt.text.startswith(("/", "!")):  # there a path is a path
            return ""
        return dropped_mentions(pasted, self._cwd)

    # -- the person's editor ------------------------------------------------------------------------------

    def action_edit_outside(self) -> None:
        """Edit the whole prompt in $VISUAL or $EDITOR; the session goes on meanwhile."""
        self.prompt.hold_keys()
        self.run_worker(self._edit_outside(), group="editor", exclusive=True)

    async def _edit_outside(self) -> None:
        from tui.prompt_box.outside_editor import EditorFailed, edited_outside

        before, shown = self.prompt.whole_text, self.prompt.text
        try:
            edited = await edited_outside(self.app, before, workspace=self._cwd)
            if (now := self.prompt.text) == shown:
                self.prompt.put(edited)
            else:  # a turn was interrupted meanwhile, and what waited has come back
                self.prompt.put(f"{now.removesuffix(shown).rstrip()}\n{edited}".rstrip())
        except EditorFailed as problem:
            self.say(str(problem))
        finally:
            await self.prompt.take_up_keys()

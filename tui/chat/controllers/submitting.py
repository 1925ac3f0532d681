"""What the person typed and sent: a slash command, a shell command, a line to remember or a prompt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from quorum.tui.agent.memory import parse_memory
from quorum.tui.agent.user_commands import parse_user_command
from quorum.tui.chat.controllers.memory import MemoryController
from quorum.tui.chat.controllers.sending import SendController
from quorum.tui.chat.controllers.writing import WritingController
from quorum.tui.keys.commands import NotACommand, find_action, is_command
from quorum.tui.prompt_box.prompt import Prompt
from quorum.tui.prompt_box.prompt_text import is_leaving


class SubmitController:
    """Tells them apart by how they begin, and passes each on. `run_action` runs what a slash command names."""

    def __init__(
        self,
        prompt: Prompt,
        *,
        sending: SendController,
        memory: MemoryController,
        writing: WritingController,
        run_action: Callable[[str], Awaitable[object]],
    ) -> None:
        self._prompt, self._sending, self._memory, self._writing = prompt, sending, memory, writing
        self._run_action = run_action

    async def submit(self, typed: str, *, is_typed: bool = False) -> None:
        """Do what this text asks for; `is_typed`: the person typed it by hand."""
        if is_leaving(typed):
            await self._run_action("app.end_of_input")
        elif self._sending.choose_server(typed):
            return
        elif is_command(typed):
            await self._submit_command(typed)
        elif (own := parse_user_command(typed)) is not None:
            self._sending.run_user_command(own, typed)
        elif (line := parse_memory(typed)) is not None:
            self._memory.add_line(line, typed)
        elif (text := await self._writing.with_attachments(typed)) is not None:
            self._sending.send_prompt(text, is_typed=is_typed and text == typed)

    async def _submit_command(self, typed: str) -> None:
        self._sending.remember(typed)
        try:
            names = [command.name for command in self._prompt.known.list_custom_commands()]
            action = find_action(typed, names)
        except NotACommand as problem:
            await self._sending.submit_command(typed, str(problem))
        else:
            await self._run_action(action)

"""Help with what is being written: files and words for the menu, images, and the person's editor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.tui.chat.controllers.host import ChatHost, CurrentSession
from quorum.tui.prompt_box.prompt import Prompt

if TYPE_CHECKING:
    from quorum.application.ports.workspace import FoundFile
    from quorum.application.session.agent_session import AgentSession
    from quorum.domain.conversation.attachment import Attachment
    from quorum.domain.mcp.offers import ArgumentQuery, OfferedPrompt, OfferedResource
    from quorum.tui.keys.slash_commands import Command
    from quorum.tui.session.session import Session

_WISH = "attach the file"


class PromptSources:
    """Implements `Known` of `quorum.tui.completion.offers`: where the menu learns of files and words."""

    def __init__(self, workspace: Path, current: CurrentSession, themes: Callable[[], Iterable[str]]) -> None:
        self._workspace, self._current, self._themes = workspace, current, themes

    async def find_files(self, query: str, limit: int) -> Sequence[FoundFile]:
        """The files of the project that fit, best first; none before the session is there."""
        session = self._current.session
        return await session.agent.files.find(query, limit) if session is not None else ()

    def note_file_used(self, path: str) -> None:
        if (session := self._current.session) is not None:
            session.agent.files.note_used(path)

    async def list_words(self, command: Command) -> Sequence[str]:
        session = self._current.session
        match command.name:
            case "theme":
                return sorted(self._themes())
            case "model" if session is not None:
                return await list_models(session.agent)
            case _:
                return ()

    def list_custom_commands(self) -> Sequence[Command]:
        """The commands of the project and the person; none before the session is there."""
        from quorum.tui.completion.custom_commands import list_custom_rows

        session = self._current.session
        return list_custom_rows(session.agent.custom_commands.known) if session is not None else ()

    def list_resources(self) -> Sequence[OfferedResource]:
        """The resources that MCP servers list; none before the session is there."""
        session = self._current.session
        return session.agent.tool_servers.list_resources() if session is not None else ()

    def list_mcp_prompts(self) -> Sequence[OfferedPrompt]:
        """The prompts that MCP servers offer; none before the session is there."""
        session = self._current.session
        return session.agent.tool_servers.list_prompts() if session is not None else ()

    async def complete_argument(self, query: ArgumentQuery) -> Sequence[str]:
        """The values that a server offers for an argument; none before the session is there."""
        session = self._current.session
        return await session.agent.tool_servers.complete_argument(query) if session is not None else ()

    def build_mentions(self, pasted: str) -> str:
        from quorum.tui.prompt_box.paste import mention_dropped

        return mention_dropped(pasted, self._workspace)


class WritingController:
    """Attaches images and PDFs to what is being written, a label for each, and lends it to their editor."""

    def __init__(self, host: ChatHost, current: CurrentSession, prompt: Prompt, *, workspace: Path) -> None:
        self._host, self._current, self._prompt, self._workspace = host, current, prompt, workspace

    # -- images and PDFs ---------------------------------------------------------------------------------

    def action_attach_image(self, file: str = "") -> None:
        """Attach the image or PDF in a file; without one, the image in the clipboard."""
        if not file:
            self.action_paste_image()
        elif (session := self._current.require_session(_WISH)) is not None:
            path = file.strip().strip("'\"")
            self._host.run_worker(self._put_label(session.agent.attachments.attach(path)), group="images")

    def action_paste_image(self) -> None:
        if (session := self._current.require_session(_WISH)) is not None:
            self._host.run_worker(self._put_label(session.agent.attachments.paste()), group="images")

    def attach_dropped(self, path: str, pasted: str) -> None:
        """Attach the image or PDF of a path that was pasted or dropped; for another, insert what was pasted."""
        if (session := self._current.session) is None:
            self._prompt.insert_pasted(pasted)
        else:
            attaching = session.agent.attachments.attach(path)
            self._host.run_worker(self._put_label(attaching, otherwise=pasted), group="images")

    async def _put_label(
        self, attaching: Coroutine[object, object, Attachment], *, otherwise: str = ""
    ) -> None:
        """Put the label of what is being attached where the cursor is; where that fails, say why."""
        from quorum.domain.errors import QuorumError

        try:
            self._prompt.insert(f"{(await attaching).label} ")
        except QuorumError as error:
            self._host.tell(str(error))
            if otherwise:
                self._prompt.insert_pasted(otherwise)

    def mentions_attachments(self, text: str) -> bool:
        from quorum.tui.mentioned_attachments import find_mentioned_attachments

        return "@" in text and bool(find_mentioned_attachments(text, self._workspace))

    async def with_attachments(self, text: str) -> str | None:
        """The prompt with the images and PDFs attached that it mentions; None where one of them cannot be: the
        prompt is back then where it was written, and why is said."""
        from quorum.tui.mentioned_attachments import append_labels, find_mentioned_attachments

        if not self.mentions_attachments(text):
            return text
        if (session := self._current.require_session(_WISH)) is None:
            self._prompt.give_back(text)
            return None
        from quorum.domain.errors import QuorumError

        try:
            mentioned = find_mentioned_attachments(text, self._workspace)
            labels = [(await session.agent.attachments.attach(path)).label for path in mentioned]
        except QuorumError as error:
            self._host.tell(str(error))
            self._prompt.give_back(text)
            return None
        return append_labels(text, labels)

    # -- custom commands ----------------------------------------------------------------------------------

    def look_for_commands(self) -> None:
        """A command is begun: look which there are by now, and offer them."""
        if self._prompt.text == "/" and (session := self._current.session) is not None:
            # Not the coroutine itself: another may follow before this one has begun.
            offer = partial(self._offer_commands, session)
            self._host.run_worker(offer, group="commands", exclusive=True)

    async def _offer_commands(self, session: Session) -> None:
        await session.agent.custom_commands.refresh()
        self._prompt.offer()

    # -- the person's editor ------------------------------------------------------------------------------

    def action_edit_outside(self) -> None:
        """Edit the whole prompt in $VISUAL or $EDITOR; the session continues meanwhile."""
        self._prompt.hold_keys()
        self._host.run_worker(self._edit_outside(), group="editor", exclusive=True)

    async def _edit_outside(self) -> None:
        from quorum.tui.prompt_box.outside_editor import EditorFailed, edit_in_editor

        before, shown = self._prompt.whole_text, self._prompt.text
        try:
            edited = await edit_in_editor(self._host.app, before, workspace=self._workspace)
            if (now := self._prompt.text) == shown:
                self._prompt.replace_text(edited)
            else:  # a turn was interrupted meanwhile, and what waited has come back
                self._prompt.replace_text(f"{now.removesuffix(shown).rstrip()}\n{edited}".rstrip())
        except EditorFailed as problem:
            self._host.refuse(str(problem))
        finally:
            await self._prompt.take_up_keys()


async def list_models(agent: AgentSession) -> Sequence[str]:
    """All models that the providers list; one that cannot be asked lists none."""
    from quorum.domain.errors import ProviderError

    async def list_or_nothing(provider: str) -> Sequence[str]:
        try:
            return await agent.models.list_models(provider)
        except ProviderError:
            return ()

    own = agent.models.current.partition("/")[0]
    providers = sorted(agent.models.providers, key=lambda name: name != own)
    lists = await asyncio.gather(*map(list_or_nothing, providers))
    return list(dict.fromkeys([agent.models.current, *(model for models in lists for model in models)]))

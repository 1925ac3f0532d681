"""What all actions of the chat stand on: its parts, and whether its session can be acted on just now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message
from textual.screen import Screen

from tui.prompt_box.prompt_text import as_prompt

if TYPE_CHECKING:
    from tui.agent.port import Wanted
    from tui.agent.turns import Turns
    from tui.prompt_box.prompt import Prompt
    from tui.session.session import Session
    from tui.transcript.layout.view import TranscriptView

_STILL_STARTING = "still starting; {} in a moment"


class ChatActions(Screen[None]):
    """The chat as its actions know it. Each is refused, with a word, where it cannot be."""

    turns: Turns
    transcript: TranscriptView
    prompt: Prompt
    session: Session | None = None

    class SessionWanted(Message):
        """Another session is to be opened in this chat."""

        def __init__(self, chat: ChatActions, wanted: Wanted) -> None:
            super().__init__()
            self.chat, self.wanted = chat, wanted

    def say(self, notice: str) -> None:
        """Show a remark in the status bar until the next key."""
        raise NotImplementedError

    def tell(self, sentence: str) -> None:
        """Add a sentence on what failed to the transcript, and say it where its end is out of sight."""
        from domain.events.event import ErrorOccurred

        self.transcript.apply(ErrorOccurred(message=sentence))
        if not self.transcript.is_at_end:
            self.say(sentence)

    def state_changed(self) -> None:
        """Show what is known of the session anew."""
        raise NotImplementedError

    def _begun(self, wish: str) -> Session | None:
        """The session; where there is none yet, the person is told to come back with their wish."""
        if self.session is None:
            self.say(_STILL_STARTING.format(wish))
        return self.session

    def _resting(self, wish: str) -> Session | None:
        """The session while no turn runs."""
        session = self._begun(wish)
        if session is not None and (busy := self.turns.busy):
            self.say(busy)
            return None
        return session

    def _writable(self, wish: str) -> Session | None:
        """The session while no turn runs, if anything may be added to it."""
        session = self._resting(wish)
        if session is not None and session.agent.record.in_use:
            self.say(session.refusal)
            return None
        return session

    def give_back(self, prompts: str) -> None:
        """Put prompts back to where they can be edited, before what is being written there.

        They stay prompts: whoever sent them, Enter makes no command of them.
        """
        self.put_before(as_prompt(prompts))

    def put_before(self, typed: str) -> None:
        """Put what the person typed back as it was, before what is being written."""
        draft = self.prompt.text
        self.prompt.put(f"{typed}\n{draft}" if draft else typed)

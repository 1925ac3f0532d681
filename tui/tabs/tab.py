"""One tab: a chat, and what opens sessions for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual.worker import Worker

if TYPE_CHECKING:
    from quorum.tui.chat.chat_screen import ChatScreen
    from quorum.tui.tabs.session_host import SessionHost


@dataclass(eq=False, slots=True, kw_only=True)
class Tab:
    """A session in front of the person, or waiting behind another.

    `mode` is the name of its stack of screens in Textual; its sessions work in `folder`; `opener` is the tab it
    was opened from, None for the first one; `serving` runs its sessions.
    """

    mode: str
    chat: ChatScreen
    host: SessionHost
    folder: Path
    opener: Tab | None = None
    serving: Worker[None] | None = None

    @property
    def mark(self) -> str:
        """What is to be known of it from afar: `!` an answer is needed, `●` it is at work; else empty."""
        if self.chat.questions.asking:
            return "!"
        return "●" if self.chat.turns.running else ""

    @property
    def title(self) -> str:
        """What it is about, in a word or some."""
        session = self.chat.current.last
        return session.facts.title if session is not None else "starting"

    @property
    def session_id(self) -> str:
        """The id of the session in it; empty while there is none."""
        session = self.chat.current.session
        return session.agent.session_id if session is not None else ""

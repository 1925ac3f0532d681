"""What the chat tells beside the transcript: header, status bar, what waits, its mark in other tabs."""

from __future__ import annotations

from pathlib import Path

from textual import on
from textual.message import Message
from textual.widgets import Static

from domain.text.printable import printable
from tui.chat.actions.base import ChatActions
from tui.chat.actions.working import WaitingLines
from tui.chat.header import Header, place_of
from tui.chat.status_bar import Status, StatusBar
from tui.chat.welcome import welcome_text
from tui.transcript.layout.view import TranscriptView


class TellingActions(ChatActions):
    """The part of the chat that says how things stand."""

    asking = False
    _leaving = False
    _notice = ""
    _told: tuple[object, ...] = ()
    _cwd: Path
    _header: Header
    _status_bar: StatusBar
    _waiting_lines: WaitingLines
    _welcome: Static

    class MarkChanged(Message):
        """What is to be known of the session from another tab has changed."""

    def say(self, notice: str) -> None:
        """Show a remark in the status bar until the next key; an empty one takes it away."""
        if notice != self._notice:
            self._notice = notice
            self._status_bar.update()

    @property
    def notice(self) -> str:
        """The remark in the status bar; empty where there is none."""
        return self._notice

    def tell_closing(self) -> None:
        """Say that the app is about to end."""
        self._leaving = True
        self._status_bar.update()

    @on(TranscriptView.NewBelow)
    def _below_changed(self) -> None:
        self._status_bar.update()

    def state_changed(self) -> None:
        if self.is_mounted:
            if self.session is not None:
                facts = self.session.facts
                in_use = bool(self.session.agent.record.in_use)
                self._header.show(
                    model=facts.model, mode=self.session.mode_label, sandbox=facts.sandbox, read_only=in_use
                )
                welcome = welcome_text(printable(facts.model, newlines=False), place_of(self._cwd))
                if welcome != self._welcome.content:  # each update has the whole screen laid out again
                    self._welcome.update(welcome)
            self._waiting_lines.show(self.turns.undelivered, self.turns.prompts)
            self._status_bar.update()
            self._tell_mark()

    def _tell_mark(self) -> None:
        title = self.session.facts.title if self.session is not None else ""
        told = (self.asking, self.turns.running, title)
        if told != self._told:
            self._told = told
            self.post_message(self.MarkChanged())

    def _status(self) -> Status:
        facts = self.session.facts if self.session is not None else None
        return Status(
            ready=facts is not None,
            running=self.turns.running,
            does=self.turns.does,
            interrupting=self.turns.interrupting,
            answer_needed=self.asking,
            closing=self._leaving,
            elapsed=self.turns.elapsed,
            waiting=self.turns.waiting,
            retry=facts.retry if facts else "",
            can_retry=self.turns.can_retry,
            used=facts.used if facts else "",
            context=self.session.context if self.session is not None else (0, 0),
            mode=self.session.mode_label if self.session is not None else "",
            below=self.transcript.new_below,
            notice=self._notice,
            own=self.turns.own.running,
            own_secs=self.turns.own.elapsed,
        )

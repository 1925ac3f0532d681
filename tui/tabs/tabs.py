"""The tabs of an app: opening, choosing and closing them.

A tab is a chat, and what opens sessions for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App
from textual.message_pump import MessagePump
from textual.worker import Worker

from quorum.tui.chat.tab_bar import Label
from quorum.tui.keys.keyboard_guard import Guarded

if TYPE_CHECKING:
    from quorum.tui.chat.carried_tab import CarriedTab
    from quorum.tui.chat.chat_screen import ChatScreen
    from quorum.tui.tabs.session_host import SessionHost


@dataclass(eq=False, slots=True, kw_only=True)
class Tab:
    """A session in front of the person, or waiting behind another.

    `mode` is the name of its stack of screens in Textual; its sessions work in `folder`; `opener` is the tab it
    was opened from, None for the first one; `serving` runs its sessions; `name` is what it is called before
    its session is about anything.
    """

    mode: str
    chat: ChatScreen
    host: SessionHost
    folder: Path
    opener: Tab | None = None
    serving: Worker[None] | None = None
    name: str = ""

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
        if session is None:
            return self.name or "starting"
        return session.facts.title or self.name or "new"

    @property
    def session_id(self) -> str:
        """The id of the session in it; empty while there is none."""
        session = self.chat.current.session
        return session.agent.session_id if session is not None else ""


class Tabs:
    """All tabs in the order they stand in, at least one, and which of them is in front. `root` is the folder of
    the first.

    Each is a stack of screens of its own, a mode in Textual's words, so that what is open over one session
    stays there. `make` builds a tab that is opened from another, and works in a folder of its own or in the
    same one.
    """

    def __init__(self, app: App[None], make: Callable[[str, Tab | None, Path | None], Tab]) -> None:
        self._app, self._make = app, make
        self._opened = self._waiting_outside = 0
        self.all: list[Tab] = []
        self.front = self._make_tab(None)
        self.root = self.front.folder
        self.front.chat.questions.come_to_front()

    def _make_tab(self, opener: Tab | None, folder: Path | None = None) -> Tab:
        self._opened += 1
        tab = self._make(make_mode_name(self._opened), opener, folder)
        self.all.append(tab)
        if opener is not None:
            self._app.add_mode(tab.mode, lambda: tab.chat)
        return tab

    def begin(self) -> None:
        """The first tab's chat is on the screen, where Textual's usual first screen would be. Named as a mode
        before that, everything would have been styled twice."""
        (first,) = self.all
        self._app.add_mode(first.mode, lambda: first.chat)

    def find_tab(self, chat: ChatScreen) -> Tab | None:
        """The tab of a chat; None where it has been closed."""
        return next((tab for tab in self.all if tab.chat is chat), None)

    def with_session(self, session_id: str) -> Tab | None:
        return next((tab for tab in self.all if tab.session_id == session_id), None)

    def list_sessions(self) -> frozenset[str]:
        """The ids of the sessions in the tabs that this process writes."""
        sessions = [session for tab in self.all if (session := tab.chat.current.session) is not None]
        return frozenset(each.agent.session_id for each in sessions if not each.agent.record.in_use)

    def list_in_folder(self, folder: Path) -> tuple[Tab, ...]:
        """The tabs that work in this folder or below it."""
        return tuple(tab for tab in self.all if tab.folder.is_relative_to(folder))

    async def open(self, folder: Path | None = None) -> Tab:
        """Open another tab behind all others, and go there. It works in `folder`, or in that of the front."""
        tab = self._make_tab(self.front, folder)
        await self.go_to(tab)
        return tab

    async def put_around_front(self, carried: Sequence[CarriedTab], front: int) -> None:
        """Open a tab for each of those but the one in front, which is there, without going to one."""
        there = [self.front if place == front else self._make_tab(self.front) for place in range(len(carried))]
        self.all = there
        for place, (tab, its) in enumerate(zip(there, carried, strict=True)):
            tab.name = its.name
            tab.opener = there[its.opener or 0] if place else None
            if tab is not self.front:
                tab.chat.carried = its
                await self._app._init_mode(tab.mode)  # what goes to a mode would show it
        self.show()

    async def go_to(self, tab: Tab) -> None:
        """Bring a tab to the front. A question open there is seen anew, so that no key answers it yet."""
        if tab is self.front:
            return
        self.front.chat.questions.go_behind()
        self.front = tab
        mounted = self._app.switch_mode(tab.mode)
        self._arm()
        await mounted
        self._app.call_after_refresh(self._arm)
        tab.chat.questions.come_to_front()
        self.show()

    def _arm(self) -> None:
        screen = self._app.screen
        if isinstance(screen, Guarded) and screen.is_awake:
            screen.arm()

    async def close(self, tab: Tab, patience: float) -> None:
        """End a tab's turn and let go of its session; not the last one. Who looked at it sees its neighbour."""
        place = self.all.index(tab)
        self.all.remove(tab)
        if tab is self.front:
            await self.go_to(tab.opener if tab.opener in self.all else self.all[max(0, place - 1)])
        await tab.chat.turns.close(patience)
        if tab.serving is not None:
            tab.serving.cancel()
        await tab.host.close()
        await self._app.remove_mode(tab.mode)
        await tab.host.close_dialog()
        _release_closed(self._app)
        self.show()

    async def close_turns(self, patience: float) -> None:
        """Stop what runs in any of them, and wait for its end, at most `patience` seconds."""
        await asyncio.gather(*(tab.chat.turns.close(patience) for tab in self.all))

    async def close_sessions(self) -> None:
        """Let go of all sessions."""
        await asyncio.gather(*(tab.host.close() for tab in self.all))

    def show(self) -> None:
        """Name all tabs in the one in front, and count there what waits and runs elsewhere."""
        labels = [Label(tab.title, tab.mark) for tab in self.all]
        self.front.chat.tab_bar.show(labels, self.all.index(self.front))
        marks = [tab.mark for tab in self.all if tab is not self.front]
        jobs = sum(len(tab.chat.jobs.running) for tab in self.all)
        self.front.chat.status.show_elsewhere(marks.count("!") + self._waiting_outside, marks.count("●") + jobs)

    def show_waiting(self, count: int) -> None:
        """So many decisions wait in sessions of other processes."""
        self._waiting_outside = count
        self.show()


def _release_closed(app: App[None]) -> None:
    """Textual drops who watches an attribute of the app only at its next change. Each prompt watches the theme,
    which may never change: all of a closed tab would stay in memory."""
    watchers: dict[str, list[tuple[MessagePump, object]]] = getattr(app, "__watchers", {})
    for watching in watchers.values():
        watching[:] = [each for each in watching if not each[0]._closing]


def make_mode_name(number: int) -> str:
    """What Textual calls the stack of the tab opened as the nth, counted from 1."""
    return f"tab-{number}"

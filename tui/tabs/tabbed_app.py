"""An app that shows sessions in tabs: what keys, commands and clicks do with them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType

from quorum.tui.agent.opening import StartFailure
from quorum.tui.chat.chat_screen import ChatScreen
from quorum.tui.chat.tab_bar import TabBar
from quorum.tui.keys.keyed_app import KeyedApp
from quorum.tui.prompt_box.history import REFUSAL, is_prompt
from quorum.tui.tabs.tabs import Tab, Tabs, make_mode_name

if TYPE_CHECKING:
    from quorum.application.agents.external_turns import ExternalTurns
    from quorum.domain.conversation.exchanges import SharedContext
    from quorum.domain.conversation.session_kind import SessionKind
    from quorum.domain.sessions.session_summary import NamedSession, SessionChoice
    from quorum.tui.agent.opening import Wanted
    from quorum.tui.screens.board_screen import GoThere
    from quorum.tui.tabs.tab_exchanges import TabExchanges

PATIENCE_SECS = 3.0
_PLACES = 9


class TabbedApp(KeyedApp):
    """Every tab has a chat with a session; one of them is in front."""

    LOOK_SECS: ClassVar[float] = 10.0
    DEFAULT_MODE = make_mode_name(1)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+t", "new_tab", "Open a new session in a tab", priority=True, id="new_tab"),
        Binding("alt+right", "turn_tab(1)", "Go to the next tab", priority=True, id="next_tab"),
        Binding("alt+left", "turn_tab(-1)", "Go to the previous tab", priority=True, id="previous_tab"),
        *(
            Binding(f"alt+{n}", f"go_to_tab({n})", f"To tab {n}", priority=True, id=f"tab_{n}")
            for n in range(1, _PLACES + 1)
        ),
    ]

    tabs: Tabs

    def get_default_screen(self) -> ChatScreen:
        """The chat of the first tab."""
        return self.chat

    @property
    def chat(self) -> ChatScreen:
        """The chat in front."""
        return self.tabs.front.chat

    def fail(self, error: StartFailure) -> None:
        """The first session of all could not be opened."""
        raise NotImplementedError

    # -- life -------------------------------------------------------------------------------------------------

    def begin_tab(
        self, tab: Tab, choose: Callable[[], SessionChoice], shared: SharedContext | None = None
    ) -> None:
        """Open the session chosen, and run its turns and further sessions until the tab is closed. It is told
        what is `shared` of the session that it is opened from."""
        tab.serving = self.run_worker(self._serve(tab, choose, shared), name="agent")
        if tab.opener is None:
            self.run_worker(self._watch_inbox(), name="inbox")

    async def _watch_inbox(self) -> None:
        """Count, from time to time, the decisions that wait in sessions that are not open here."""
        from quorum.domain.errors import QuorumError

        while True:
            await asyncio.sleep(self.LOOK_SECS)
            if (session := self.chat.current.session) is None:
                continue
            try:
                waiting = await session.agent.inbox.list_waiting(self.tabs.list_sessions())
            except QuorumError:  # the board says it to whoever looks; what was counted last stands
                continue
            self.tabs.show_waiting(len(waiting))

    async def _serve(self, tab: Tab, choose: Callable[[], SessionChoice], shared: SharedContext | None) -> None:
        try:
            await tab.host.run(choose, partial(self._place, tab), shared)
        except StartFailure as error:
            if tab.opener is None:
                self.fail(error)
            else:
                self.run_worker(self._give_up(tab, error), name="close")

    async def _give_up(self, tab: Tab, error: StartFailure) -> None:
        """Nothing can be done in it: what was typed there continues where it was opened from."""
        if self.tabs.all == [tab]:
            self.fail(error)
            return
        prompt = tab.chat.prompt
        tab.chat.submitting.return_held()
        draft, is_typed = prompt.whole_text, prompt.is_typed_by_person
        await self.tabs.close(tab, PATIENCE_SECS)
        self.chat.tell(f"the tab could not be opened: {error}")
        if draft:
            (self.chat.prompt.put_before if is_typed else self.chat.prompt.give_back)(draft)

    async def _place(self, tab: Tab, choice: SessionChoice) -> SessionChoice:
        """Have a session that continues in another folder opened in a tab of that folder; what is left for this
        one."""
        from quorum.domain.sessions.session_summary import NewSession

        return NewSession() if await self._open_elsewhere(tab, choice) else choice

    async def _open_elsewhere(self, tab: Tab, wanted: Wanted) -> bool:
        """Open a session of an id that continues in another folder than that of the tab in a tab of its own, if
        it is one."""
        from quorum.domain.errors import LedgerError
        from quorum.domain.sessions.session_summary import NamedSession

        if self.open_worktrees is None or not isinstance(wanted, NamedSession):
            return False
        try:
            folder = await self.open_worktrees(tab.folder).find_session_folder(wanted.id)
        except LedgerError:  # whoever opens it says what is wrong with it
            return False
        if folder is None or folder == tab.folder:
            return False
        self.begin_tab(await self.tabs.open(folder), lambda: wanted)
        return True

    async def open_tab(self, form: SessionKind, question: str = "") -> None:
        """Open a tab with a session of this kind, and say the question there; the tab in front says why that
        cannot be."""
        from quorum.domain.conversation.session_kind import SessionKind
        from quorum.domain.sessions.session_summary import NewSession

        if question and not is_prompt(question):
            self.chat.refuse(REFUSAL)
            return
        from quorum.tui.tabs.tab_exchanges import NestedTooDeep

        try:
            shared, question = self._exchanges.share(form, question)
        except NestedTooDeep as refusal:
            word = "tab" if form is SessionKind.AGENT else form.value
            self.chat.prompt.put_before(f"/{word} {question}".rstrip())
            self.chat.refuse(str(refusal))
            return
        tab = await self.tabs.open()
        if question:
            tab.chat.sending.submit(question)
        self.begin_tab(tab, lambda: NewSession(form), shared)

    async def _enter_tab(self, form: SessionKind, question: str) -> None:
        """Open a tab of this kind; without a question in one of them, leave that."""
        session, opener = self.chat.current.session, self.tabs.front.opener
        is_entered = session is not None and session.agent.record.form is form and opener in self.tabs.all
        if is_entered and not question:
            await self._go_to_opener()
        else:
            await self.open_tab(form, question)

    async def _go_to_opener(self) -> None:
        """Leave the tab in front for the one it was opened from; it stays open."""
        if (left := self.tabs.front).opener is not None:
            await self.tabs.go_to(left.opener)
            self.chat.say(f"tab {self.tabs.all.index(left) + 1} stays open")

    @cached_property
    def _exchanges(self) -> TabExchanges:
        from quorum.tui.tabs.tab_exchanges import TabExchanges

        return TabExchanges(self.tabs)

    # -- keys and commands ------------------------------------------------------------------------------------

    async def action_new_tab(self, prompt: str = "") -> None:
        """Open a tab with a session of its own, and say this there."""
        from quorum.domain.conversation.session_kind import SessionKind

        await self.open_tab(SessionKind.AGENT, prompt)

    async def action_ask(self, question: str = "") -> None:
        """Open a tab whose model has tools that only look; without a question in one, leave it."""
        from quorum.domain.conversation.session_kind import SessionKind

        await self._enter_tab(SessionKind.ASK, question)

    async def action_agent(self, words: str = "") -> None:
        """Open a tab in which an agent of another vendor works; in one, choose among its modes and models."""
        session = self.chat.current.session
        name, _, prompt = words.partition(" ")
        if session is not None and session.agent.external is not None and name in ("", "mode", "model"):
            self.run_worker(self._choose_of_agent(session.agent.external, name, prompt.strip()), name="choose")
        elif not name:
            self.chat.refuse("name the agent, and what it is to do: /agent claude fix the failing test")
        else:
            from quorum.domain.conversation.session_kind import SessionKind
            from quorum.domain.sessions.session_summary import NewSession

            if prompt and not is_prompt(prompt):
                self.chat.refuse(REFUSAL)
                return
            tab = await self.tabs.open()
            if prompt:
                tab.chat.sending.submit(prompt)
            self.begin_tab(tab, lambda: NewSession(SessionKind.EXTERNAL, name))

    async def _choose_of_agent(self, external: ExternalTurns, category: str, name: str) -> None:
        from quorum.domain.errors import QuorumError

        offers = await external.find_offers()
        if name and category in ("mode", "model"):
            try:
                await external.work.choose("mode" if category == "mode" else "model", name)
            except QuorumError as error:
                self.chat.refuse(str(error))
            return
        offered = {"modes": offers.modes, "models": offers.models}
        said = [f"{what}: {', '.join(names)}" for what, names in offered.items() if names]
        self.chat.say(" · ".join(said) or "the agent offers no modes and no models to choose from")

    async def action_discuss(self, question: str = "") -> None:
        """Open a tab in which several models answer, and a moderator makes one text of it; as above."""
        from quorum.domain.conversation.session_kind import SessionKind

        await self._enter_tab(SessionKind.DISCUSS, question)

    async def action_debate(self, question: str = "") -> None:
        """Open a tab in which models object to the answer of one of them; as above."""
        from quorum.domain.conversation.session_kind import SessionKind

        await self._enter_tab(SessionKind.DEBATE, question)

    async def action_review(self, change: str = "") -> None:
        """Open a tab in which several models review a change: `#12`, `main..HEAD`, or what is not committed."""
        from quorum.domain.code_review.change import parse_request
        from quorum.domain.conversation.session_kind import SessionKind

        await self.open_tab(SessionKind.REVIEW, parse_request(change).text)

    async def action_leave_tab(self) -> None:
        """Go to the tab that this one was opened from; where there is none, to an earlier turn."""
        if self.tabs.front.opener in self.tabs.all:
            await self._go_to_opener()
        else:
            self.chat.rewinding.action_rewind()

    async def action_result(self, number: int = 0) -> None:
        """Take over the answers of tabs opened from this one, or of the tab of this number; else hand over its
        own answer."""
        await self._exchanges.take_over(number)

    def action_worktree(self, words: str = "") -> None:
        """Open a tab with a git worktree of its own, or show, merge or drop one."""
        from quorum.tui.tabs.worktree_tabs import WorktreeTabs

        self.run_worker(WorktreeTabs(self, self.tabs, self.begin_tab).run(words), name="worktree")

    def action_show_board(self) -> None:
        """Show what waits for the person, what runs and what has ended, here and in other processes."""
        if (session := self.chat.current.require_session("look at the board")) is not None:
            from quorum.tui.tabs.board import build_board_screen

            self.push_screen(build_board_screen(self.tabs, session, self._open_session), self._go)

    def _go(self, go: GoThere | None) -> None:
        if go is not None:
            self.run_worker(go(), name="go")

    async def _open_session(self, wanted: NamedSession) -> None:
        """Go to the tab of a session, or open it in a tab of its own."""
        if (there := self.tabs.with_session(wanted.id)) is not None:
            await self.tabs.go_to(there)
        elif not await self._open_elsewhere(self.tabs.front, wanted):
            self.begin_tab(await self.tabs.open(), lambda: wanted)

    async def action_turn_tab(self, step: int) -> None:
        """Go to the tab so many places on; after the last comes the first."""
        place = self.tabs.all.index(self.tabs.front)
        await self.tabs.go_to(self.tabs.all[(place + step) % len(self.tabs.all)])

    async def action_go_to_tab(self, number: int) -> None:
        """Go to the tab of this number, counted from 1."""
        if number <= len(self.tabs.all):
            await self.tabs.go_to(self.tabs.all[number - 1])
        else:
            self.chat.refuse(f"there is no tab {number}")

    def action_close_tab(self) -> None:
        """Close the tab in front; its session can be resumed."""
        tab = self.tabs.front
        if busy := tab.chat.turns.busy:
            tab.chat.refuse(busy)
        elif len(self.tabs.all) == 1:
            tab.chat.refuse("this is the only tab; /quit leaves")
        else:
            self.run_worker(self._close(tab), name="close")

    async def _close(self, tab: Tab) -> None:
        if not await tab.chat.jobs.confirm_ending():
            return
        if busy := tab.chat.turns.busy:
            tab.chat.refuse(busy)
            return
        if tab not in self.tabs.all or len(self.tabs.all) == 1:
            return  # it was closed, or became the only one, since
        session = tab.session_id
        ended = len(tab.chat.jobs.running)
        opened = tab.chat.current.session
        outlives = opened is not None and opened.agent.record.outlives
        await self.tabs.close(tab, PATIENCE_SECS)
        if tab.host.trouble:
            self.chat.tell(tab.host.trouble)
            return
        from quorum.tui.screens.jobs_screen import describe_ended_jobs

        said = [f"closed; /resume finds it: {session}"] if outlives else []
        if said := [*said, *filter(None, [describe_ended_jobs(ended)])]:
            self.chat.say(" · ".join(said))

    # -- what arrives -----------------------------------------------------------------------------------------

    @on(ChatScreen.SessionWanted)
    async def _open_another(self, message: ChatScreen.SessionWanted) -> None:
        from quorum.domain.sessions.session_summary import NamedSession

        if (tab := self.tabs.find_tab(message.chat)) is None:
            return
        there = None
        if isinstance(message.wanted, NamedSession):
            there = self.tabs.with_session(message.wanted.id)
        if there is not None and there is not tab:
            await self.tabs.go_to(there)
        elif await self._open_elsewhere(tab, message.wanted):
            return
        elif tab.chat.jobs.running:
            self.run_worker(self._exchange_session(tab, message.wanted), name="exchange")
        else:
            tab.host.want(message.wanted)

    async def _exchange_session(self, tab: Tab, wanted: Wanted) -> None:
        if await tab.chat.jobs.confirm_ending():
            tab.host.want(wanted)

    @on(ChatScreen.MarkChanged)
    def _show_marks(self) -> None:
        self.tabs.show()
        if len(self.tabs.all) > 1:
            self._exchanges.offer()

    @on(TabBar.TabClicked)
    async def _go_to_chosen(self, message: TabBar.TabClicked) -> None:
        if message.place < len(self.tabs.all):
            await self.tabs.go_to(self.tabs.all[message.place])

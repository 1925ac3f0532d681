"""Tabs that know of each other: what a tab is told of the one it is opened from, and results that go back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorum.domain.errors import QuorumError
from quorum.tui.tabs.tabs import Tab, Tabs

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession
    from quorum.domain.conversation.exchanges import SharedContext
    from quorum.domain.conversation.session_kind import SessionKind

_TAKE_OVER = "/result takes it over"


class NestedTooDeep(Exception):
    """Too many tabs follow each other; the text says so."""


class TabExchanges:
    """Has the sessions of tabs tell each other what was said, and what came of it."""

    def __init__(self, tabs: Tabs) -> None:
        self._tabs = tabs
        self._offered: dict[str, int] = {}  # of which answer of a session its opener was told

    def share(self, form: SessionKind, text: str) -> tuple[SharedContext | None, str]:
        """What a tab of this form, opened from the one in front, is told, and what is asked there.

        None for a tab that is not about another one. Raises NestedTooDeep.
        """
        from quorum.domain.conversation.exchanges import DEEPEST, choose_extent, parse_extent
        from quorum.domain.conversation.session_kind import SessionKind

        wanted, question = (None, text) if form is SessionKind.REVIEW else parse_extent(text)
        session = self._tabs.front.chat.current.session
        if session is None or (form is SessionKind.AGENT and wanted is None):
            return None, question
        exchanges = session.agent.exchanges
        if exchanges.depth >= DEEPEST:
            raise NestedTooDeep("tabs follow each other three deep: go back to an earlier one, or /tab")
        return exchanges.share(wanted or choose_extent(form)), question

    def offer(self) -> None:
        """Say in a tab that another one, which was opened from it, has an answer; once for each answer."""
        for tab in self._tabs.all:
            if tab.chat.turns.running or (agent := _get_agent(tab)) is None:
                continue
            opener = self._find_opener(agent)
            if opener is None or opener is tab or (result := agent.exchanges.result) is None:
                continue
            if self._offered.get(result.session_id, 0) < result.responses:
                self._offered[result.session_id] = result.responses
                place = self._tabs.all.index(tab) + 1
                opener.chat.say(f"tab {place}, “{result.title}”, has an answer · {_TAKE_OVER}")
                tab.chat.say(f"/result hands this answer to tab {self._tabs.all.index(opener) + 1}")

    async def take_over(self, number: int) -> None:
        """Take over the answer of the tab of this number into the tab in front.

        0: those of the tabs opened from it that it has not taken yet; where there are none its own answer is
        handed to the tab that it was opened from, which comes to the front.
        """
        front = self._tabs.front
        if (agent := _get_agent(front)) is None:
            front.chat.refuse("still starting")
            return
        if number:
            await self._take_from(front, number)
            return
        opened = [tab for tab in self._tabs.all if tab is not front and self._is_opened_from(tab, agent)]
        if any([await self._hand(tab, front) for tab in opened]):
            return
        opener = self._find_opener(agent)
        if opener is None:
            front.chat.refuse(
                "there is no new answer of a tab that was opened from here"
                if opened
                else "no tab was opened from here, and this one from no other that is open"
            )
        elif await self._hand(front, opener):
            await self._tabs.go_to(opener)
        else:
            front.chat.refuse("there is no answer here that was not handed over")

    async def _take_from(self, front: Tab, number: int) -> None:
        if number > len(self._tabs.all):
            front.chat.refuse(f"there is no tab {number}")
        elif (tab := self._tabs.all[number - 1]) is front:
            front.chat.refuse("that is this tab")
        elif not await self._hand(tab, front, again=True):
            front.chat.refuse(f"tab {number} has no answer yet")

    async def _hand(self, tab: Tab, to: Tab, *, again: bool = False) -> bool:
        """Hand the last answer of a tab to another one, unless that has it; whether it was handed over."""
        giver, taker = _get_agent(tab), _get_agent(to)
        if giver is None or taker is None or (result := giver.exchanges.result) is None:
            return False
        if taker.exchanges.has(result) and not again:
            return False
        session = to.chat.current.session
        if session is not None and session.refusal:
            to.chat.refuse(session.refusal)
            return True
        try:
            await taker.exchanges.receive_result(result)
        except QuorumError as error:
            to.chat.tell(f"the answer could not be taken over: {error}")
        else:
            to.chat.say("")  # it was offered there, perhaps
        return True

    def _is_opened_from(self, tab: Tab, agent: AgentSession) -> bool:
        other = _get_agent(tab)
        return other is not None and other.exchanges.opener == agent.session_id

    def _find_opener(self, agent: AgentSession) -> Tab | None:
        opener = agent.exchanges.opener
        return self._tabs.with_session(opener) if opener else None


def _get_agent(tab: Tab) -> AgentSession | None:
    session = tab.chat.current.session
    return session.agent if session is not None else None

"""What `/worktree` does: tabs that work in a git worktree of their own, and what becomes of that."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.domain.calls.execution import Outcome
from quorum.domain.errors import ConfigError, QuorumError
from quorum.domain.review.permission_rules import COMMAND_TOOL
from quorum.domain.text.printable import make_printable
from quorum.domain.worktree import RESERVED_WORDS, Worktree, describe_change
from quorum.tui.agent.turns import QueuedTask

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession
    from quorum.domain.events.report import RunReport
    from quorum.domain.sessions.session_summary import SessionChoice
    from quorum.domain.text.json_value import JsonObject
    from quorum.domain.worktree import OpenedWorktree
    from quorum.tui.agent.services import WorktreesPort
    from quorum.tui.chat.chat_screen import ChatScreen
    from quorum.tui.keys.keyed_app import KeyedApp
    from quorum.tui.screens.question_card import QuestionCard
    from quorum.tui.tabs.tabs import Tab, Tabs

PATIENCE_SECS = 3.0
_SETUP_SECS = 1800
_REQUEST = "Set up this worktree, as [worktrees] of quorum.toml says."
_SET_UP = "The worktree is set up."
_IN_LAYER = "a worktree is not changed from a layer, which holds a part of it only: /unstage leaves the layer"


class WorktreeTabs:
    """Opens, shows, merges and drops worktrees for the tab in front. `begin` begins the sessions of a tab."""

    def __init__(
        self, app: KeyedApp, tabs: Tabs, begin: Callable[[Tab, Callable[[], SessionChoice]], None]
    ) -> None:
        self._app, self._tabs, self._begin = app, tabs, begin
        self._tab = tabs.front
        self._chat = tabs.front.chat

    async def run(self, words: str) -> None:
        """Do what `/worktree` was given; what cannot be done is said in the chat. Call it in a worker."""
        if self._app.open_worktrees is None:
            self._chat.refuse("there are no worktrees here")
            return
        worktrees = self._app.open_worktrees(self._tab.folder)
        verb, _, name = (part.strip() for part in words.strip().partition(" "))
        session = self._chat.current.session
        if verb not in ("", "diff") and session is not None and session.agent.effects is not None:
            self._chat.refuse(_IN_LAYER)
            return
        try:
            match verb:
                case "":
                    await self._show_list(worktrees)
                case "diff":
                    await self._show(worktrees, await worktrees.find(name))
                case "merge":
                    await self._merge(worktrees, await worktrees.find(name))
                case "drop":
                    await self._drop(worktrees, await worktrees.find(name))
                case _ if name:
                    self._chat.refuse(
                        f"one name, or one of {', '.join(RESERVED_WORDS)} and the name of a worktree"
                    )
                case _:
                    await self._open(worktrees, verb)
        except QuorumError as error:
            self._chat.tell(str(error))

    async def _show_list(self, worktrees: WorktreesPort) -> None:
        listed = await worktrees.list()
        if not listed:
            self._chat.refuse("there is no worktree; /worktree NAME opens a tab with one")
            return
        lines = []
        for worktree, loss in listed:
            tabs = self._tabs.list_in_folder(Path(worktree.folder))
            place = f"tab {self._tabs.all.index(tabs[0]) + 1}" if tabs else f"/worktree {worktree.name}"
            state = loss.description or "nothing that is not merged"
            lines.append(f"{worktree.name}  {worktree.branch} from {worktree.onto}: {state} · {place}")
        self._open_pager("Worktrees", "\n".join(lines), is_diff=False)

    async def _open(self, worktrees: WorktreesPort, name: str) -> None:
        from quorum.domain.sessions.session_summary import LatestSession, NewSession

        opened = await worktrees.open(name)
        if there := self._tabs.list_in_folder(Path(opened.worktree.folder)):
            await self._tabs.go_to(there[0])
            return
        problem = await self._offer_links(worktrees, opened)
        tab = await self._tabs.open(opened.folder)
        tab.name = opened.worktree.name
        self._begin(tab, NewSession if opened.is_new else LatestSession)
        if problem:
            tab.chat.tell(problem)
        for notice in opened.notices:
            tab.chat.tell(notice, refuses=False)
        # It waits for the session, whose beginning asks whether the project's settings are trusted.
        tab.chat.turns.submit(QueuedTask("setting up", partial(_set_up, worktrees, opened, tab.chat)))

    async def _offer_links(self, worktrees: WorktreesPort, opened: OpenedWorktree) -> str:
        """Ask about links before the session there begins: its sandbox shows what the settings name. Says why
        the answer could not be kept, if so; the worktree is there all the same, and says what it lacks."""
        from quorum.tui.screens.worktree_dialogs import LinksOfferDialog

        try:
            if (proposal := await worktrees.propose_links(opened)) is None:
                return ""
            dialog = LinksOfferDialog(proposal, clock=self._tab.host.clock)
            accepts = await self._chat.questions.confirm(dialog)
            if not dialog.is_put_off:
                await worktrees.answer_links(proposal, accepts=accepts)
        except ConfigError as error:
            return str(error)
        return ""

    async def _show(self, worktrees: WorktreesPort, worktree: Worktree) -> None:
        change = await worktrees.read_change(worktree)
        if not change.diff:
            self._chat.say(f"{worktree.name} changes nothing in {worktree.onto}")
            return
        self._open_pager(f"{worktree.branch} against {worktree.onto}", self._hide(change.diff), is_diff=True)

    async def _merge(self, worktrees: WorktreesPort, worktree: Worktree) -> None:
        from quorum.tui.screens.worktree_dialogs import MergeWorktreeDialog

        change = await worktrees.read_change(worktree)
        if not change.brings.description:
            self._chat.say(f"{worktree.onto} has all of {worktree.name} already")
            return
        if change.obstacle:
            self._chat.refuse(change.obstacle)
            return
        tabs = self._tabs.list_in_folder(Path(worktree.folder))
        sentence = describe_change(tabs[0].title if tabs else "", change.diff)
        message = make_printable(self._hide(sentence), newlines=False) or f"Merge {worktree.branch}"
        dialog = MergeWorktreeDialog(change, message, self._hide, clock=self._tab.host.clock)
        if not await self._ask_while_idle(dialog, Path(worktree.folder), Path(change.target)):
            return
        await worktrees.merge(change, dialog.message)
        self._chat.say(f"merged into {worktree.onto}; /worktree drop {worktree.name} removes the worktree")

    async def _drop(self, worktrees: WorktreesPort, worktree: Worktree) -> None:
        from quorum.tui.screens.worktree_dialogs import DropWorktreeDialog

        folder = Path(worktree.folder)
        if self._tabs.root.is_relative_to(folder):
            self._chat.refuse("quorum was started in this worktree; drop it from a quorum in the repository")
            return
        loss = await worktrees.find_loss(worktree)
        dialog = DropWorktreeDialog(worktree, loss, clock=self._tab.host.clock)
        if not await self._ask_while_idle(dialog, folder):
            return
        if await worktrees.find_loss(worktree) != loss:  # or its tabs would be closed, and nothing dropped
            self._chat.refuse(f"{worktree.name} has changed since you were asked; nothing is dropped")
            return
        await self._close_tabs(folder)
        self._chat = self._tabs.front.chat  # where it was asked may be gone
        await worktrees.drop(worktree, loss)
        self._chat.say(f"dropped {worktree.name}")

    async def _close_tabs(self, folder: Path) -> None:
        """Close the tabs of a worktree; where there is no other, one of the repository comes first."""
        from quorum.domain.sessions.session_summary import NewSession

        tabs = self._tabs
        if len(tabs.list_in_folder(folder)) == len(tabs.all):
            self._begin(await tabs.open(tabs.root), NewSession)
        for tab in tabs.list_in_folder(folder):
            await tabs.close(tab, PATIENCE_SECS)

    async def _ask_while_idle(self, dialog: QuestionCard, *folders: Path) -> bool:
        """Ask, if files of these folders may change, and still may once it is answered; say what is busy."""
        if busy := self._find_busy(*folders):
            self._chat.refuse(busy)
            return False
        if not await self._chat.questions.confirm(dialog):
            return False
        if busy := self._find_busy(*folders):
            self._chat.refuse(busy)
        return not busy

    def _find_busy(self, *folders: Path) -> str:
        """Why files of these folders must not change just now; empty where they may."""
        for folder in folders:
            for tab in self._tabs.list_in_folder(folder):
                place = f"tab {self._tabs.all.index(tab) + 1}"
                if busy := tab.chat.turns.busy:
                    return f"{place}: {busy}"
                if tab.chat.jobs.running:
                    return f"{place}: a command runs in the background; /board stops it"
        return ""

    def _hide(self, text: str) -> str:
        session = self._chat.current.last
        return session.agent.mask.mask_text(text) if session is not None else text

    def _open_pager(self, name: str, text: str, *, is_diff: bool) -> None:
        from quorum.tui.screens.pager_screen import build_pager

        self._app.push_screen(build_pager(text, make_printable(name, newlines=False), is_diff=is_diff))


async def _set_up(
    worktrees: WorktreesPort, opened: OpenedWorktree, chat: ChatScreen, agent: AgentSession
) -> RunReport | None:
    """Give a worktree the links that the settings name, and run their command there as one of a model."""
    if agent.record.in_use:
        return None
    setup = await worktrees.set_up(opened)
    for notice in setup.notices:
        chat.tell(notice, refuses=False)
    if not setup.command:
        return None
    arguments: JsonObject = {"command": setup.command, "timeout_secs": _SETUP_SECS}
    report = await agent.run.call_tool(COMMAND_TOOL, arguments, request=_REQUEST, conclude=_conclude_setup)
    if report.text != _SET_UP:
        command = make_printable(setup.command, newlines=False)
        chat.tell(f"the set-up can be run again, without review: ! {command}", refuses=False)
    return report


def _conclude_setup(outcome: Outcome, output: str) -> str:
    """What became of the command, in a sentence."""
    from quorum.tui.transcript.kinds.terminal import read_exit

    exited = read_exit(output) if outcome is Outcome.OK else ""
    if exited == "exit 0":
        return _SET_UP
    became = f"ended with {exited}" if exited else "did not run to its end"
    return f"The worktree is not set up: the command {'was not approved' if outcome.is_rejected else became}."

"""The app as the remote control drives it: what clients ask is done where a key or a typed line would do it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import QuorumError
from quorum.rpc.json_rpc import build_invalid_params, make_refusal
from quorum.rpc.panes import describe_execution, describe_pane, find_tab, name_of_screen
from quorum.rpc.power import Hand, find_risk
from quorum.rpc.questions import open_question
from quorum.tui.chat.chat_screen import ChatScreen
from quorum.tui.keys.slash_commands import NotACommand, find_action, find_prompt, is_command
from quorum.tui.prompt_box.history import REFUSAL, is_prompt
from quorum.tui.prompt_box.prompt import Prompt
from quorum.version import __version__

if TYPE_CHECKING:
    from quorum.tui.app.app import QuorumApp
    from quorum.tui.tabs.tabs import Tab

MOST_TABS = 16
MOST_WAITING = 16
_PATIENCE_SECS = 10.0
_LEAVING = "app.quit"
_SERVING = "agent"  # the worker that runs the sessions of a tab
# What the app does beside its messages is looked at so often, so far apart, so that a refusal of it is seen.
_LOOKS, _LOOK_SECS = 200, 0.01

_Result = TypeVar("_Result")


class AppPort:
    """The app's tabs, prompts and commands. All of it runs in the app's own loop."""

    def __init__(self, app: QuorumApp) -> None:
        self._app = app

    # -- what there is ------------------------------------------------------------------------------------

    def describe_state(self) -> dict[str, object]:
        """What the app is doing, as its header and status bar tell it, and what is asked."""
        chat = self._app.chat
        session = chat.current.session
        reported: dict[str, object] = {
            "version": __version__,
            "headless": self._app.is_headless,
            "tab": self._app.tabs.front.mode,
            "size": list(self._app.size),
            "screen": name_of_screen(self._app.screen),
            "ready": session is not None,
            "running": chat.turns.running,
            "does": chat.turns.does if chat.turns.running else "",
            "elapsed_secs": round(chat.turns.elapsed, 1),
            "waiting": chat.turns.waiting,
            "can_go_on": chat.turns.can_retry,
            "draft": chat.prompt.whole_text,
            "notice": chat.notice,
            "question": open_question(self._app),
        }
        if session is not None:
            facts = session.facts
            used, window = session.context
            reported |= {
                "session_id": session.agent.session_id,
                "form": session.agent.record.form.value,
                "model": facts.model,
                "mode": facts.mode,
                "sandbox": facts.sandbox,
                "used": facts.used,
                "context": {"used_tokens": used, "window_tokens": window},
                "retry": facts.retry,
                "read_only": bool(session.agent.record.in_use),
                "calls": [
                    describe_execution(each, session.agent.mask.mask_text)
                    for each in session.agent.run.executions
                ],
            }
        return reported

    def list_panes(self) -> list[dict[str, object]]:
        """All tabs."""
        return [describe_pane(tab, self._app.tabs) for tab in self._app.tabs.all]

    def list_keymaps(self) -> list[dict[str, object]]:
        """Every key, where it acts, and what it does. Imports every screen of the app."""
        from quorum.tui.keys.keymap import list_key_actions, list_present_keys

        return [
            {
                "name": key_action.name,
                "where": key_action.context.title,
                "keys": list(list_present_keys(key_action, self._app.keymap)),
                "does": key_action.does,
            }
            for key_action in list_key_actions()
        ]

    # -- what is done -------------------------------------------------------------------------------------

    async def send(self, text: str, tab: str, hand: Hand) -> dict[str, object]:
        """Send a text as if it were typed into a tab's prompt. Raises RpcError where it would not be taken."""
        chat = find_tab(self._app.tabs, tab).chat
        if not text.strip():
            raise build_invalid_params("the text is empty")
        if is_command(text.strip()):
            return await self.execute(text, tab, hand)
        if what := find_risk(text):
            hand.demand(what)
        return await self._submit(chat, text, tab)

    async def _submit(self, chat: ChatScreen, text: str, tab: str) -> dict[str, object]:
        self._wait_until_ready(chat)
        chat.say("")
        chat.post_message(Prompt.Submitted(text))
        await self._run_in_chat(chat, _do_nothing)
        await self._raise_if_refused(chat)
        return {"tab": find_tab(self._app.tabs, tab).mode, "waiting": chat.turns.waiting, "said": chat.notice}

    async def execute(self, command: str, tab: str, hand: Hand) -> dict[str, object]:
        """Carry out a command as if it were typed, slash and all. Raises RpcError where there is none such."""
        chat = find_tab(self._app.tabs, tab).chat
        if not command.strip().startswith("/"):
            command = f"/{command.strip()}"
        if not is_command(command.strip()):
            raise build_invalid_params("a command is one line: its name, and what it takes")
        if what := find_risk(command):
            hand.demand(what)
        try:
            action = find_action(command)
        except NotACommand as problem:
            session = chat.current.session
            if session is not None and await session.agent.custom_commands.is_known(command):
                return await self._submit(chat, command, tab)
            raise build_invalid_params(str(problem)) from None
        if (words := find_prompt(command)) and not is_prompt(words):
            raise build_invalid_params(REFUSAL)
        if chat is not self._app.chat:
            raise make_refusal(
                "commands are for the tab in front; interaction.activate shows another", "not_in_front"
            )
        if self._app.screen is not chat and action != _LEAVING:
            raise make_refusal(
                f"the screen {name_of_screen(self._app.screen)!r} is open over the chat; keys.feed closes it",
                "covered",
            )
        chat.say("")
        running = set(self._app.workers)
        await self._run_in_chat(chat, lambda: chat.run_action(action))
        if action != _LEAVING:  # which leaves no time to look
            await self._raise_if_refused(chat, besides=running)
        return {
            "said": chat.notice,
            "screen": name_of_screen(self._app.screen) if self._app.screen_stack else "",
        }

    async def spawn(self, form: str, query: str) -> dict[str, object]:
        """Open a tab, with a prompt for it where one is given. Raises RpcError."""
        if query.strip() and not is_prompt(query):
            raise build_invalid_params("a query is a prompt, and no command")
        if len(self._app.tabs.all) >= MOST_TABS:
            raise make_refusal(f"{MOST_TABS} tabs are open; close one first", "full")
        front, before = self._app.chat, list(self._app.tabs.all)
        front.say("")
        openings: Mapping[str, Callable[[str], Awaitable[None]]] = {
            "ask": partial(self._app.open_tab, SessionKind.ASK),
            "discuss": partial(self._app.open_tab, SessionKind.DISCUSS),
            "debate": partial(self._app.open_tab, SessionKind.DEBATE),
            "review": self._app.action_review,
        }
        opening = openings.get(form, self._app.action_new_tab)
        await self._run_in_chat(front, lambda: opening(query))
        opened = next((tab for tab in self._app.tabs.all if tab not in before), None)
        if opened is None:
            raise make_refusal(front.refusal or "no tab was opened", "refused")
        await self._wait_until_open(opened)
        if opened not in self._app.tabs.all:
            raise make_refusal(self._app.chat.refusal or "the tab could not be opened", "refused")
        return {"interaction_id": opened.mode}

    async def activate(self, interaction_id: str) -> dict[str, object]:
        """Bring a tab to the front. Raises RpcError where there is none of that id."""
        tab = find_tab(self._app.tabs, interaction_id)
        await self._run_in_chat(self._app.chat, lambda: self._app.tabs.go_to(tab))
        if self._app.tabs.front is not tab:
            raise make_refusal(f"the tab {interaction_id!r} cannot come to the front now", "refused")
        return {"interaction_id": tab.mode}

    # -- how ----------------------------------------------------------------------------------------------

    def _wait_until_ready(self, chat: ChatScreen) -> None:
        if chat.current.session is not None and chat.current.session.refusal:
            raise make_refusal(chat.current.session.refusal, "read_only")
        if chat.turns.waiting >= MOST_WAITING:
            raise make_refusal(f"{MOST_WAITING} prompts are waiting already", "full")

    async def _wait_until_open(self, tab: Tab) -> None:
        """Wait a while until the session of a tab is there, or the tab is gone because there can be none."""
        for _ in range(_LOOKS):
            if tab.chat.current.session is not None or tab not in self._app.tabs.all:
                return
            await asyncio.sleep(_LOOK_SECS)

    async def _raise_if_refused(self, chat: ChatScreen, besides: Collection[object] = ()) -> None:
        """Raise RpcError where the app has refused what was asked in this chat. What it does beside its
        messages, but for what ran before, is waited for a while."""
        begun = [worker for worker in self._app.workers if worker not in besides and worker.name != _SERVING]
        for _ in range(_LOOKS):
            if chat.refusal or self._is_asking or all(worker.is_finished for worker in begun):
                break
            await asyncio.sleep(_LOOK_SECS)
        if reason := chat.refusal or self._app.chat.refusal:
            raise make_refusal(reason, "refused")

    @property
    def _is_asking(self) -> bool:
        """Whether what runs waits for the person, at a screen over the chat."""
        return self._app.screen is not self._app.chat

    async def _run_in_chat(self, chat: ChatScreen, work: Callable[[], Awaitable[_Result]]) -> _Result:
        """Do something after all that the chat has to do already, where the app's commands are carried out.
        Raises RpcError, also for an error that says in a sentence why it cannot be done."""
        done: asyncio.Future[_Result] = asyncio.get_running_loop().create_future()

        async def perform() -> None:
            try:
                result = await work()
            except QuorumError as problem:
                if not done.done():
                    done.set_exception(make_refusal(str(problem), "refused"))
            except BaseException:
                done.cancel()
                raise
            else:
                if not done.done():
                    done.set_result(result)

        if not chat.call_later(perform):
            raise make_refusal("the app is about to end", "closing")
        try:
            async with asyncio.timeout(_PATIENCE_SECS):
                return await done
        except TimeoutError:
            raise make_refusal("the app did not answer in time", "busy") from None


async def _do_nothing() -> None:
    pass

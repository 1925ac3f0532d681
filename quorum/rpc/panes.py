"""What the app shows, as data: each tab as a pane with its entries, calls, screens, and the screen as text.

Names of screens stay, whatever the classes are called. The text is what a person would see, also where there is
no terminal to see it on.
"""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, assert_never

from rich.console import Console
from textual import events
from textual.geometry import Size
from textual.screen import Screen

from quorum.rpc.json_rpc import build_invalid_params, make_refusal

if TYPE_CHECKING:
    from quorum.application.view.entries import Call, Entry, PanelMember
    from quorum.domain.calls.execution import ToolExecution
    from quorum.tui.app.app import QuorumApp
    from quorum.tui.chat.chat_screen import ChatScreen
    from quorum.tui.tabs.tabs import Tab, Tabs


def describe_execution(execution: ToolExecution, mask: Callable[[str], str]) -> dict[str, object]:
    """One call: what it waits for, whether it runs or how it ended, and what it reported last. `mask` takes
    secrets out of its texts."""
    waits_for = execution.waiting_for
    return {
        "call_id": execution.id,
        "call_index": execution.context.call_index,
        "tool": mask(execution.name),
        "status": execution.status.value,
        "waiting_for": [*waits_for] if isinstance(waits_for, tuple) else waits_for,
        "is_concurrency_safe": execution.is_concurrency_safe,
        "progress": mask(execution.progress[-1]) if execution.progress else "",
        "outcome": execution.outcome.value if execution.outcome is not None else None,
        "reasoning": mask(execution.call.reasoning or ""),
    }


SCREEN_NAMES: Mapping[str, str] = {
    "AgentsScreen": "agents",
    "BoardScreen": "board",
    "ChangesScreen": "changes",
    "ChatScreen": "chat",
    "ContextScreen": "context",
    "CostScreen": "cost",
    "DropWorktreeDialog": "drop_worktree",
    "EffectsScreen": "effects",
    "EndJobsDialog": "end_jobs",
    "FindingsScreen": "findings",
    "GoalScreen": "goal",
    "HelpScreen": "help",
    "HunksScreen": "hunks",
    "InboxScreen": "inbox",
    "JobsScreen": "jobs",
    "LanguageServersScreen": "language_servers",
    "LinksOfferDialog": "links_offer",
    "LocalServerDialog": "local_server",
    "LoginScreen": "login",
    "McpScreen": "mcp",
    "MemoryDialog": "memory",
    "MergeWorktreeDialog": "merge_worktree",
    "ModelPicker": "models",
    "PagerScreen": "pager",
    "PaletteScreen": "palette",
    "PermissionsScreen": "permissions",
    "PersonQuestionDialog": "question",
    "RedoScreen": "redo",
    "RestoreScreen": "undo",
    "ReviewDialog": "review",
    "SandboxOfferDialog": "sandbox_offer",
    "ServerAddressDialog": "server_address",
    "ServerFormDialog": "server_form",
    "SessionPicker": "sessions",
    "SettingsScreen": "settings",
    "SkillsScreen": "skills",
    "SpendDialog": "spending",
    "StatusScreen": "status",
    "SubagentScreen": "subagent",
    "ThemePicker": "themes",
    "TimelineScreen": "timeline",
    "TrustDialog": "trust",
    "TurnList": "turns",
    "VerdictScreen": "verdicts",
}
"""By the name of the class, so that no screen is imported before it is shown."""


def name_of_screen(screen: Screen[object]) -> str:
    """The name of a screen. A class without a name of its own has that of the one it is made of."""
    names = (SCREEN_NAMES.get(kind.__name__) for kind in type(screen).__mro__)
    return next((name for name in names if name is not None), "other")


_PLACING = re.compile(r"\x1b\[\d+;\d+H")
_PATIENCE_SECS = 5.0


class Camera:
    """Takes pictures of an app, one at a time. One without a terminal is laid out anew for another size."""

    def __init__(self, app: QuorumApp) -> None:
        self._app = app
        self._one_at_a_time = asyncio.Lock()

    async def capture(self, width: int | None, height: int | None, *, styles: bool) -> dict[str, object]:
        """The lines of the screen; with `styles` they hold the SGR sequences of their colours.

        Raises RpcError for another size than that of a real terminal.
        """
        async with self._one_at_a_time:
            usual = self._app.size
            wanted = Size(width or usual.width, height or usual.height)
            if wanted == usual:
                return self._take_picture(styles)
            if not self._app.is_headless:
                raise make_refusal(
                    f"the app is on a terminal of {usual.width}x{usual.height}; another size is for --headless",
                    "on_a_terminal",
                )
            await self._resize(wanted)
            try:
                return self._take_picture(styles)
            finally:
                await self._resize(usual)

    async def _resize(self, size: Size) -> None:
        drawn = asyncio.Event()
        self._app.post_message(events.Resize(size, size))
        self._app.call_later(lambda: self._app.call_after_refresh(drawn.set))
        try:
            async with asyncio.timeout(_PATIENCE_SECS):
                await drawn.wait()
        except TimeoutError:
            raise make_refusal("the app did not answer in time", "busy") from None

    def _take_picture(self, styles: bool) -> dict[str, object]:
        width, height = self._app.size
        console = Console(
            width=width,
            height=height,
            file=io.StringIO(),
            force_terminal=True,
            color_system="truecolor" if styles else None,
            legacy_windows=False,
        )
        update = self._app.screen._compositor.render_update(
            full=True, screen_stack=self._app._background_screens, simplify=True
        )
        with console.capture() as taken:
            console.print(update, end="")
        lines = _PLACING.sub("", taken.get()).split("\n")
        return {"width": width, "height": height, "lines": [line.rstrip() for line in lines[:height]]}


_LONGEST_TEXT = 100_000


def find_tab(tabs: Tabs, name: str) -> Tab:
    """The tab of this id; an empty one is the tab in front. Raises RpcError where there is none."""
    if not name:
        return tabs.front
    for tab in tabs.all:
        if tab.mode == name:
            return tab
    raise build_invalid_params(
        f"there is no tab {name!r}; there are: {', '.join(tab.mode for tab in tabs.all)}"
    )


def describe_pane(tab: Tab, tabs: Tabs) -> dict[str, object]:
    """What is to be known of a tab."""
    session = tab.chat.current.session
    return {
        "tab": tab.mode,
        "number": tabs.all.index(tab) + 1,
        "title": tab.title,
        "session_id": tab.session_id,
        "form": session.agent.record.form.value if session is not None else "",
        "in_front": tab is tabs.front,
        "running": tab.chat.turns.running,
        "waiting": tab.chat.turns.waiting,
        "answer_needed": tab.chat.questions.asking,
    }


def read_pane(chat: ChatScreen, last: int) -> dict[str, object]:
    """The last entries of a transcript, oldest first, and how many there are in all."""
    entries: Sequence[Entry] = chat.transcript.entries
    return {"entries": [_describe_entry(entry) for entry in entries[-last:]], "of": len(entries)}


def _describe_entry(entry: Entry) -> dict[str, object]:
    from quorum.application.view.entries import AnswerEntry, Batch, Notice, PanelEntry, PromptEntry, Restoration

    shown: dict[str, object]
    match entry:
        case PromptEntry():
            shown = {"kind": "prompt", "text": _cut(entry.text)}
        case AnswerEntry():
            shown = {"kind": "answer", "text": _cut(entry.text), "finished": entry.finished}
        case Batch():
            shown = {"kind": "calls", "calls": [_call(call) for call in entry.calls]}
        case Notice():
            shown = {"kind": entry.kind.value, "text": _cut(entry.text)}
        case Restoration():
            shown = {"kind": "restoration", "paths": [change.path for change in entry.changes]}
        case PanelEntry():
            shown = {"kind": "panel", "step": entry.step.value, "running": entry.is_running}
            shown["members"] = [_describe_member(member) for member in entry.members]
        case _:  # a new kind of entry gets its name here: programs rely on it
            assert_never(entry)
    return {**shown, "undone": True} if entry.undone else shown


def _describe_member(member: PanelMember) -> dict[str, object]:
    answer = member.answer
    text = member.writing if answer is None else answer.text
    status = "asked" if answer is None else answer.status.value
    return {"label": member.label, "model": member.participant.model, "status": status, "text": _cut(text)}


def _call(call: Call) -> dict[str, object]:
    kept = call.output
    output = None
    if kept is not None:
        gap = f"\n… {kept.left_out_lines} lines left out …\n" if kept.tail else ""
        output = _cut(kept.head + gap + kept.tail)
    return {
        "index": call.index,
        "tool": call.tool,
        "arguments": call.arguments,
        "phase": call.phase.value,
        "outcome": call.outcome.value if call.outcome is not None else None,
        "decision": call.decision.value,
        "diff": _cut(call.diff) if call.diff is not None else None,
        "output": output,
    }


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}\n… cut here"

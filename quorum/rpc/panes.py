"""What the tabs show, as data: each as a pane with its entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

from quorum.rpc.json_rpc import build_invalid_params

if TYPE_CHECKING:
    from quorum.application.view.entries import Call, Entry
    from quorum.application.view.panel_entry import PanelMember
    from quorum.tui.chat.chat_screen import ChatScreen
    from quorum.tui.tabs.tab import Tab
    from quorum.tui.tabs.tabs import Tabs

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
    from quorum.application.view.entries import AnswerEntry, Batch, Notice, PromptEntry, Restoration
    from quorum.application.view.panel_entry import PanelEntry

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

"""What an app hands to the one that takes its place: its tabs, and all in them that stands in no record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from quorum.domain.replacing import replace
from quorum.tui.chat.carried_tab import CarriedPrompt, CarriedTab, encode_attached

if TYPE_CHECKING:
    from quorum.domain.sessions.session_summary import SessionChoice
    from quorum.tui.tabs.tabs import Tab, Tabs


class CarriedApp(Struct, frozen=True, kw_only=True):
    """The tabs in their order, and the place of the one in front. `terminal` are the attributes that the
    terminal had before the app; None: it has them again."""

    tabs: tuple[CarriedTab, ...]
    front: int
    terminal: list[Any] | None = None


def encode(carried: CarriedApp) -> bytes:
    return msgspec.msgpack.encode(carried)


def decode(content: bytes) -> CarriedApp:
    """Raises ValueError."""
    return msgspec.msgpack.decode(content, type=CarriedApp)


def note_refusal(content: bytes, refusal: str) -> bytes:
    """The same, with why the app in front cannot be where it was to be."""
    carried = decode(content)
    tabs = [*carried.tabs]
    tabs[carried.front] = replace(tabs[carried.front], refusal=refusal)
    return encode(replace(carried, tabs=tuple(tabs)))


def explain_staying(tabs: Tabs) -> str:
    """Why no other app can take over these tabs as they are; empty where one can."""
    for place, tab in enumerate(tabs.all):
        if why := _explain_tab(tab, tabs):
            return why if len(tabs.all) == 1 else f"tab {place + 1}: {why}"
    return ""


def _explain_tab(tab: Tab, tabs: Tabs) -> str:
    chat, session = tab.chat, tab.chat.current.session
    if session is None:
        return "still starting"
    if chat.questions.asking:
        return "a question is open; answer it first"
    if chat.turns.running or chat.turns.own.running or chat.turns.waiting > len(chat.turns.prompts):
        return chat.turns.busy
    if chat.jobs.running:
        return "commands run in the background and would end; /jobs stops them"
    if tab.folder != tabs.root:
        return "it works in a folder of its own, which no layer holds; close it first"
    if session.agent.external is not None:
        return "agents of other vendors do not work in layers; close it first"
    return session.explain_no_continuation() or ""


def collect(tabs: Tabs, terminal: list[Any] | None) -> CarriedApp:
    """All that is not recorded of these tabs."""
    return CarriedApp(
        tabs=tuple(_collect_tab(tab, tabs.all) for tab in tabs.all),
        front=tabs.all.index(tabs.front),
        terminal=terminal,
    )


def _collect_tab(tab: Tab, tabs: Sequence[Tab]) -> CarriedTab:
    chat, session = tab.chat, tab.chat.current.last
    record = session.agent.record if session is not None else None
    waiting = (
        *(CarriedPrompt(text, is_typed) for text, is_typed in chat.submitting.held_prompts),
        *(CarriedPrompt(text, is_typed) for text, is_typed in chat.turns.list_prompts()),
    )
    written = "\n".join((chat.prompt.whole_text, *(each.text for each in waiting)))
    is_kept = session is not None and (session.can_be_resumed or bool(session.agent.record.in_use))
    return CarriedTab(
        session=session.agent.session_id if session is not None and is_kept else "",
        form=record.form.value if record is not None else "",
        mode=(session.wished_mode or session.facts.mode) if session is not None else "",
        model=session.facts.model_with_effort if session is not None and not is_kept else "",
        opener=tabs.index(tab.opener) if tab.opener in tabs else None,
        name=tab.name,
        draft=chat.prompt.whole_text,
        is_draft_typed=chat.prompt.is_typed_by_person,
        waiting=waiting,
        line=chat.transcript.top_line,
        attached=encode_attached(written, session.agent.attachments) if session is not None else b"",
    )


def choose_session(carried: CarriedTab) -> SessionChoice | None:
    """The session that continues the one carried; None where the command line says which it is."""
    from quorum.domain.conversation.session_kind import SessionKind
    from quorum.domain.sessions.session_summary import NamedSession, NewSession

    if carried.session:
        return NamedSession(carried.session)
    return NewSession(SessionKind(carried.form)) if carried.form else None

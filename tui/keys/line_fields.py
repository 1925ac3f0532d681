"""Keys and pastes for fields of one line: they act in their order, and no line break of a paste is Enter."""

from __future__ import annotations

from inspect import iscoroutinefunction

from textual import events
from textual.dom import DOMNode
from textual.widget import Widget
from textual.widgets import Input

from quorum.tui.keys.keyboard_guard import is_line_break

LINES_JOINED = "the pasted lines were joined into one"
LINE_BREAK_IGNORED = "the line break of a paste is not enter: press enter yourself"


def fit_to_field(event: events.Key | events.Paste, focused: Widget | None) -> tuple[events.Event | None, str]:
    """What of a key or a paste is for the widget that has the focus, and what there is to say of it.

    A field of one line gets all the words of a paste.
    """
    if not isinstance(focused, Input):
        return event, ""
    if isinstance(event, events.Key):
        return (None, LINE_BREAK_IGNORED) if is_line_break(event) else (event, "")
    lines = [line for line in event.text.splitlines() if line.strip()]
    if len(lines) < 2:
        return (events.Paste(lines[0]) if lines else None), ""
    return events.Paste(" ".join(line.strip() for line in lines)), LINES_JOINED


async def run_own_binding(widget: Widget, event: events.Key) -> bool:
    """Do at once what a key that types nothing is for in the widget itself; whether it has any use there.

    Textual lets letters act when they arrive, but sends the keys of bindings up to the app first: of keys that
    arrive together, as from a paste without brackets or over a slow line, the letters after a Ctrl+U would be
    there before it deletes, and be deleted too.
    """
    if event.is_printable:
        return False
    for action in _list_actions(widget, event.key):
        if await widget.app.run_action(action, widget):
            return True
    return False


async def run_binding_around(widget: Widget, event: events.Key) -> bool:
    """Do at once what a key that types nothing is for in the widget or around it, up to its screen; whether it
    has any use there: otherwise an Enter would be ahead of the arrow pressed before it.

    Not what waits for something around it, as that might be the end of this key.
    """
    if event.is_printable:
        return False
    if await run_own_binding(widget, event):
        return True
    for node in widget.ancestors:
        for action in _list_actions(node, event.key):
            if not _acts_at_once(node, action):
                return False
            if await node.app.run_action(action, node):
                return True
        if node is widget.screen:
            break
    return False


def _list_actions(node: DOMNode, key: str) -> list[str]:
    # Not by way of the focus, which the terminal may have lost since the key was pressed.
    bindings = node._bindings.copy()
    bindings.apply_keymap(node.app._keymap)
    return [each.action for each in bindings.key_to_bindings.get(key, ()) if not each.priority]


def _acts_at_once(node: DOMNode, action: str) -> bool:
    target, name, _ = node.app._parse_action(action, node)
    return not iscoroutinefunction(getattr(target, f"action_{name}", None))

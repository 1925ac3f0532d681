"""Keys and pastes for fields of one line: they act in their order, and no line break of a paste is Enter."""

from __future__ import annotations

from textual import events
from textual.widget import Widget
from textual.widgets import Input

from quorum.tui.keys.keyboard_guard import is_pasted

LINES_JOINED = "the pasted lines were joined into one"
LINE_BREAK_IGNORED = "the line break of a paste is not enter: press enter yourself"


def fit_to_field(event: events.Key | events.Paste, focused: Widget | None) -> tuple[events.Event | None, str]:
    """What of a key or a paste is for the widget that has the focus, and what there is to say of it.

    A field of one line gets all the words of a paste.
    """
    if not isinstance(focused, Input):
        return event, ""
    if isinstance(event, events.Key):
        is_line_break = event.key == "enter" and is_pasted(event)
        return (None, LINE_BREAK_IGNORED) if is_line_break else (event, "")
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
    # Not those of the focus, which the terminal may have lost since the key was pressed.
    own = widget._bindings.copy()
    own.apply_keymap(widget.app._keymap)
    for binding in own.key_to_bindings.get(event.key, ()):
        if not binding.priority and await widget.app.run_action(binding.action, widget):
            return True
    return False

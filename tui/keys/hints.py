"""Hints that name keys, with those that the person has."""

from __future__ import annotations

import re

from textual.app import App

from quorum.tui.keys.keyed_app import KeyedApp

_KEY = re.compile(r"\{(\w+)=([^}]+)\}")


def fill_in_keys(hint: str, app: App[object]) -> str:
    """A hint such as `{palette=ctrl+p} commands`: what does it by its name, and the key it usually has."""
    keymap = app.keymap if isinstance(app, KeyedApp) else {}
    if not keymap:
        return fill_in_usual_keys(hint)
    from quorum.tui.keys.keymap import label_key

    return _KEY.sub(lambda key: label_key(keymap[key[1]].split(",")[0]) if key[1] in keymap else key[2], hint)


def fill_in_usual_keys(hint: str) -> str:
    """The same with the keys that everybody has at first."""
    return _KEY.sub(r"\2", hint)

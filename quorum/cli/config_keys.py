"""`quorum config keys`: what the keys of the app do, by name, with the keys they have and had."""

from __future__ import annotations

from collections.abc import Iterator

from domain.text.printable import printable
from infrastructure.config.loading import LoadedSettings
from tui.keys.keymap import by_context, keymap_of
from tui.keys.names import shown_key

_NAME_CELLS, _KEY_CELLS = 24, 30


def key_listing(loaded: LoadedSettings) -> str:
    """All of them, room by room; a key that the settings changed is told with the usual one."""
    return "\n".join(_lines(loaded))


def _lines(loaded: LoadedSettings) -> Iterator[str]:
    yield 'To change a key, set its name under [tui.keys], such as redraw = "f5" (docs/keyboard-shortcuts.md).'
    for title, rows in by_context(keymap_of(loaded.settings.tui.keys)):
        yield ""
        yield title
        for key_action, keys in rows:
            usual, present = _joined(key_action.keys), _joined(keys)
            changed = f"  (usually {usual})" if present != usual else ""
            name = f"  {key_action.name:<{_NAME_CELLS}}"
            yield f"{name}{present:<{_KEY_CELLS}} {printable(key_action.does)}{changed}"


def _joined(keys: tuple[str, ...]) -> str:
    return ", ".join(map(shown_key, keys))

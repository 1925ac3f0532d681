"""The keys in the settings, held against what the app has."""

from __future__ import annotations

from domain.errors import ConfigError
from infrastructure.config.loading import LoadedSettings


def check_keys(loaded: LoadedSettings) -> None:
    """Raise ConfigError for each key of `[tui.keys]` that cannot be, with its place.

    Loads all screens of the app if there are such keys, which programs without a screen never need.
    """
    if not (wishes := loaded.settings.tui.keys):
        return
    from tui.keys.keymap import find_problems

    if wrong := [
        f"{loaded.locate(('tui', 'keys', name))}: tui.keys.{name}: {sentence}"
        for name, sentence in find_problems(wishes)
    ]:
        raise ConfigError("\n".join(wrong))

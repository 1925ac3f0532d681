"""The sequence that takes a text into the clipboard, as each multiplexer needs it."""

from __future__ import annotations

import re
from base64 import b64decode

import pytest

from quorum.tui.terminal.clipboard import build_clipboard_sequence

TEXT = "é" * 500


@pytest.mark.parametrize(
    "environ",
    [
        {"TERM": "xterm-256color"},
        {"TERM": "screen-256color", "TMUX": "/tmp/tmux"},
        {"TERM": "tmux-256color", "STY": "1.pts", "TMUX": "/tmp/tmux"},
        {},
    ],
    ids=str,
)
def test_elsewhere_it_is_one_sequence(environ):
    sequence = build_clipboard_sequence(TEXT, environ)

    assert (sequence[:7], sequence[-1]) == ("\x1b]52;c;", "\a")
    assert b64decode(sequence[7:-1]).decode() == TEXT


@pytest.mark.parametrize(
    "environ",
    [
        {"TERM": "screen.xterm-256color", "STY": "1.pts"},
        {"TERM": "screen"},
        {"TERM": "xterm", "STY": "1.pts"},
        {"TERM": "screen.xterm", "STY": "1.pts", "TMUX": "/tmp/tmux"},
    ],
    ids=str,
)
def test_inside_screen_it_is_handed_on_in_short_strings(environ):
    sequence = build_clipboard_sequence(TEXT, environ)
    strings = re.findall(r"\x1bP([^\x1b]*(?:\x1b\][^\x1b]*)?)\x1b\\", sequence)

    assert "".join(f"\x1bP{each}\x1b\\" for each in strings) == sequence
    assert max(map(len, strings)) <= 200
    assert "".join(strings) == build_clipboard_sequence(TEXT, {})

from __future__ import annotations

import pytest

from quorum.rpc.json_rpc import Code, RpcError
from quorum.rpc.key_feed import MOST_KEYS, NamedKey, read_keys


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("a", NamedKey("a", "a")),
        ("A", NamedKey("A", "A")),
        ("語", NamedKey("語", "語")),
        ("?", NamedKey("question_mark", "?")),
        ("question_mark", NamedKey("question_mark", "?")),
        (" ", NamedKey("space", " ")),
        ("space", NamedKey("space", " ")),
        ("\n", NamedKey("enter", "\r")),
        ("enter", NamedKey("enter", "\r")),
        ("tab", NamedKey("tab", "\t")),
        ("escape", NamedKey("escape", None)),
        ("ctrl+o", NamedKey("ctrl+o", None)),
        ("shift+tab", NamedKey("shift+tab", None)),
        ("alt+1", NamedKey("alt+1", None)),
        ("ctrl+shift+left", NamedKey("ctrl+shift+left", None)),
        ("f12", NamedKey("f12", None)),
        ("pageup", NamedKey("pageup", None)),
        ("+", NamedKey("plus", "+")),
    ],
)
def test_keys_are_known_by_character_and_by_name(name: str, key: NamedKey) -> None:
    assert read_keys([name]) == [key]


@pytest.mark.parametrize(
    "name", ["", "nope", "ctrl+", "ctrl+nope", "hold+a", "ctrl+ctrl+a", "\x1b", "ab", "+a", "<any>", "wait:5"]
)
def test_what_is_no_key_is_refused_by_its_place(name: str) -> None:
    with pytest.raises(RpcError, match="key 2") as refusal:
        read_keys(["a", name])

    assert refusal.value.code == Code.INVALID_PARAMS


def test_no_more_than_so_many_are_fed_at_once() -> None:
    with pytest.raises(RpcError, match="at most"):
        read_keys(["a"] * (MOST_KEYS + 1))

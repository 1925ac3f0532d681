"""What of the arguments of a tool reads like a shell command."""

from __future__ import annotations

import pytest

from quorum.domain.text.json_value import JsonObject
from quorum.gate.caller_calls import find_shell_text


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"query": "a command", "path": "/x"}, None),
        ({"command": ""}, None),
        ({"command": "make all"}, "make all"),
        ({"CMD": "make"}, "make"),
        ({"commandLine": "make", "description": "d"}, "make"),
        ({"a": [{"run_script": "one"}, {"script": "two"}]}, "two\none"),
        ({"argv": ["sh", "-c", "make all"]}, "sh -c 'make all'\nmake all"),
        ({"command": "git", "args": ["status", "-s"]}, "git status -s\nstatus -s"),
        ({"commands": ["make all", "make check"]}, "'make all' 'make check'\nmake all\nmake check"),
        ({"program": "make", "args": "all -s"}, "make all -s\nall -s"),
        ({"program": "make", "args": ["all"]}, "make all\nall"),
        ({"tool": "make", "arguments": ["all"]}, "make all\nall"),
        ({"command": {"binary": "make", "args": ["all"]}}, "make all\nall"),
        ({"commands": [{"line": "make all"}]}, "make all"),
        ({"steps": [{"run": "make all"}]}, "make all"),
        ({"command": [["make", "all"]]}, "make all"),
        ({"code": "make all"}, "make all"),
        ({"args": ["make", "all"]}, "make all"),
        ({"title": "Make all", "body": "It doesn't run; see `make`."}, None),
    ],
    ids=str,
)
def test_texts_are_found_by_the_words_of_their_names(arguments: JsonObject, expected: str | None) -> None:
    assert find_shell_text(arguments) == expected

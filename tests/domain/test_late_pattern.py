"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re

import pytest

from quorum.domain.text.late_pattern import compile_late


def test_an_expression_is_compiled_with_its_first_use_and_never_again(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compile_now = re.compile

    def note(expression: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(expression)
        return compile_now(expression, flags)

    monkeypatch.setattr(re, "compile", note)
    pattern = compile_late("b+", re.IGNORECASE)

    assert (pattern.pattern, compiled) == ("b+", [])
    assert pattern.sub("-", "aBbc") == pattern.sub("-", "abBc") == "a-c"
    assert compiled == ["b+"]


def test_bytes_are_searched_by_bytes() -> None:
    found = compile_late(rb"[0-9]+").search(b"a 12")

    assert found is not None
    assert found[0] == b"12"


def test_an_error_in_an_expression_is_raised_where_it_is_used() -> None:
    pattern = compile_late("(")

    with pytest.raises(re.error):
        pattern.match("(")

"""The one program that a person waits for, out of all that a command starts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.shell.script import name_main_program


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("pytest -q", "pytest"),
        ("cd sub && uv run pytest -q", "pytest"),
        ("A=1 B='two words' .venv/bin/python3.12 -m pytest", "pytest"),
        ("/usr/bin/python3 script.py", "python"),
        ("timeout 60 make test", "make"),
        ("env A=1 npm test 2>&1 | tail -5", "npm"),
        ("(cd a && cargo build)", "cargo"),
        ("#!/bin/sh\n# all of it\nset -e\nmake all", "make"),
        ("for f in *.py; do ruff check $f; done", "ruff"),
        ("bash -c 'go test ./...'", "go"),
        ("cd sub", ""),
        ("", ""),
    ],
)
def test_what_prepares_or_starts_it_is_passed_over(command: str, program: str) -> None:
    assert name_main_program(command) == program


@given(st.text())
def test_any_text_has_an_answer(text: str) -> None:
    assert isinstance(name_main_program(text), str)

"""Prompts of MCP servers as slash commands: what is typed for them."""

from __future__ import annotations

import pytest

from quorum.domain.instructions.custom_command import parse_command
from quorum.domain.mcp.offers import (
    OfferedPrompt,
    PromptParameter,
    assign_arguments,
    make_offered_prompt,
)

REVIEW = OfferedPrompt(
    server="git", name="review", parameters=(PromptParameter("path", True), PromptParameter("focus"))
)


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        ("a.py", {"path": "a.py"}),
        ("a.py naming and tests", {"path": "a.py", "focus": "naming and tests"}),
        ("focus=tests a.py", {"path": "a.py", "focus": "tests"}),
        ("path='my file.py'", {"path": "my file.py"}),
        ("other=x", {"path": "other=x"}),
        ("it's", {"path": "it's"}),
    ],
)
def test_words_become_arguments_by_their_names_and_their_order(typed: str, values: dict[str, str]) -> None:
    assert assign_arguments(REVIEW, typed) == values


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", r"it needs path; type /mcp__git__review path=… \[focus=…\]"),
        ("focus=x", "it needs path"),
        ("path=a focus=b c", "it takes no 'c'"),
    ],
)
def test_what_does_not_fit_is_said_with_what_is_to_be_typed(typed: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        assign_arguments(REVIEW, typed)


def test_a_prompt_without_parameters_takes_nothing() -> None:
    with pytest.raises(ValueError, match="it takes: nothing"):
        assign_arguments(OfferedPrompt(server="git", name="x"), "words")


@pytest.mark.parametrize("name", ["review", "a b/c", "\x1b[2J", "x" * 200, "ü", ""])
def test_every_prompt_can_be_typed_and_steers_no_terminal(name: str) -> None:
    prompt = make_offered_prompt("git", name, "one\n\x1b]52;two", ())

    assert parse_command(f"/{prompt.command}") is not None
    assert "\n" not in prompt.description
    assert "\x1b" not in prompt.description

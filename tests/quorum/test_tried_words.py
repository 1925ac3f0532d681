"""Words that people try are answered with what there is, and what the answers name exists."""

from __future__ import annotations

import re

import pytest

from quorum.command_line.command import CommandGroup
from quorum.command_line.parser import list_actions, load_command
from quorum.command_line.reading import TRIED_WORDS, explain_tried_word, parse
from quorum.command_line.table import COMMANDS
from quorum.infrastructure.extras import render_update_command
from quorum.tui.keys.slash_commands import _ANSWERS, RESERVED_NAMES

_COMMAND = re.compile(r"quorum ((?:--?)?[a-z][a-z-]*(?: [a-z][a-z.]*)?)")


@pytest.mark.parametrize(
    "words", [["init"], ["plugin", "add", "x"], ["Login"], ["plugins"], ["update"], ["skills"]]
)
def test_a_tried_word_is_answered_and_not_sent_to_a_model(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(words)

    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert f'there is no command "{words[0]}"' in said
    assert f"To send it as a prompt: quorum -- {words[0]}" in said


def test_an_update_is_the_command_for_how_it_was_installed() -> None:
    assert render_update_command() in explain_tried_word("update")


@pytest.mark.parametrize("word", ["fix", "hello", "why"])
def test_any_other_word_is_a_prompt(word: str) -> None:
    assert explain_tried_word(word) == ""
    assert parse([word]).options.prompt == word  # type: ignore[attr-defined]


def test_after_two_dashes_such_a_word_is_a_prompt_too() -> None:
    assert parse(["--", "init"]).options.prompt == "init"  # type: ignore[attr-defined]


@pytest.mark.parametrize("word", TRIED_WORDS)
def test_what_an_answer_names_exists(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert word not in COMMANDS
    for command in _COMMAND.findall(TRIED_WORDS[word]):
        first, _, second = command.partition(" ")
        if first.startswith("-"):
            parse([first, *(["x"] if first == "--resume" else [])])
            continue
        if first not in COMMANDS:
            assert first in ("opens", "does"), command
            continue
        with pytest.raises(SystemExit) as ended:
            parse([first, *([second] if _has_action(first, second) else []), "--help"])
        assert ended.value.code == 0, command
    for slash in re.findall(r"(?<![\w.])/([a-z]+) in the app", TRIED_WORDS[word]):
        assert slash in RESERVED_NAMES, slash


def _has_action(command: str, word: str) -> bool:
    return isinstance(load_command(command), CommandGroup) and word in list_actions(command)


@pytest.mark.parametrize("text", [text for text, _ in _ANSWERS if "`quorum " in text])
def test_each_command_that_the_app_answers_with_can_be_typed(text: str) -> None:
    for command in re.findall(r"`quorum ([^`]*)`", text):
        first, *others = command.split()
        assert not isinstance(load_command(first), CommandGroup) or others[0] in list_actions(first), command


def test_every_action_that_an_answer_names_is_one() -> None:
    for text in TRIED_WORDS.values():
        for first, second in re.findall(r"quorum (keys|mcp|config|sessions|permissions|hooks) ([a-z]+)", text):
            assert _has_action(first, second), f"{first} {second}"

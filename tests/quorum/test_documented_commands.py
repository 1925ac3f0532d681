"""The command lines in the guides are read by the real parser as they stand."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from quorum.command_line.reading import parse

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MISTYPED = "quorum sesions list"
"""An example of what is said about a mistyped command."""
MISTYPED_ACTION = "quorum sessions lst"
_IN_SENTENCE = re.compile(r"`(quorum [a-z0-9 =./\"{}:-]+)`")
"""Without brackets, dots and names in capitals, for which something else stands in what is typed."""
_NOT_WHOLE = ("required", "expected one argument")
_BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_SHELLS = {"sh", "bash", "console", ""}
_ENDS = {"|", "||", "&&", ";", "&", "(", ")"}
_REDIRECTIONS = re.compile(r"[<>&]+")


def list_commands(text: str) -> Iterator[str]:
    """Each command line of quorum in blocks for a shell: all lines, or those after a prompt."""
    for language, block in _BLOCK.findall(text):
        if language not in _SHELLS:
            continue
        lines = block.replace("\\\n", " ").splitlines()
        typed = [line[2:] for line in lines if line.startswith("$ ")]
        for line in typed or (lines if language else []):
            yield from _split_line(line)


def _split_line(line: str) -> Iterator[str]:
    """The commands of quorum in a line, without what the shell does."""
    lexer = shlex.shlex(line, posix=False, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:  # a program of several lines
        return
    while words:
        command = list(takewhile(lambda word: word not in _ENDS, words))
        del words[: len(command) + 1]
        while command and re.fullmatch(r"[A-Z_]+=.*", command[0]):
            del command[0]
        if command[:1] == ["quorum"]:
            yield " ".join(_drop_redirections(command))


def _drop_redirections(words: list[str]) -> list[str]:
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if not _REDIRECTIONS.fullmatch(word):
            kept.append(word)
            continue
        if kept[-1].isdigit():
            kept.pop()
        next(rest, None)
    return kept


COMMANDS = {
    (page.name, command): command
    for page in PAGES
    for command in list_commands(page.read_text(encoding="utf-8"))
    if command != MISTYPED
}


@pytest.mark.long(after=1)
@pytest.mark.parametrize("page", sorted({page for page, _ in COMMANDS}))
def test_the_commands_of_a_guide_can_be_typed(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    refused: dict[str, str] = {}
    for name, command in COMMANDS:
        if name == page:
            try:
                parse(shlex.split(command)[1:])
            except SystemExit as end:
                if end.code != 0:
                    refused[command] = capsys.readouterr().err

    assert refused == {}


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_in_the_sentences_of_a_guide_are_there(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentences = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    refused: dict[str, str] = {}
    for command in set(_IN_SENTENCE.findall(sentences)) - {MISTYPED_ACTION}:
        try:
            parse(shlex.split(command)[1:])
        except SystemExit as end:
            problem = capsys.readouterr().err
            if end.code != 0 and not any(short in problem for short in _NOT_WHOLE):
                refused[command] = problem

    assert refused == {}


def test_what_the_shell_does_is_no_part_of_a_command() -> None:
    text = '```sh\nA=1 quorum run "a | b" > out.json 3< key | jq . && quorum doctor   # looks\n```\n'

    assert list(list_commands(text)) == ['quorum run "a | b"', "quorum doctor"]


def test_a_mistyped_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parse(shlex.split(MISTYPED)[1:])

    assert end.value.code == 2
    assert "quorum sessions" in capsys.readouterr().err
    assert len(COMMANDS) > 100

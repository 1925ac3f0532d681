from __future__ import annotations

from pathlib import Path

import pytest

from tui.command_line import parse


def test_without_words_the_app_opens() -> None:
    options = parse([])

    assert (options.command, options.prompt) == ("app", None)


def test_a_word_that_is_no_command_is_the_first_prompt() -> None:
    assert parse(["fix the test"]).prompt == "fix the test"


def test_after_two_dashes_even_a_command_is_a_prompt() -> None:
    options = parse(["--", "run"])

    assert (options.command, options.prompt) == ("app", "run")


@pytest.mark.parametrize(
    "argv",
    [
        ["run", "hi", "--mode", "auto", "-m", "a/b", "--output", "json"],
        ["--mode", "auto", "run", "-m", "a/b", "--output", "json", "hi"],
        ["--mode=auto", "-m", "a/b", "run", "hi", "--output=json"],
    ],
)
def test_options_may_stand_before_and_behind_the_command(argv: list[str]) -> None:
    options = parse(argv)

    assert (options.command, options.prompt, options.output) == ("run", "hi", "json")
    assert options.models == ("a/b",)
    assert options.overrides == {"review.mode": "auto"}


def test_a_value_that_is_called_like_a_command_is_no_command() -> None:
    options = parse(["-C", "run", "doctor"])

    assert (options.command, options.workdir) == ("doctor", Path("run"))


def test_a_dash_is_a_prompt_from_stdin() -> None:
    assert parse(["run", "-"]).prompt == "-"


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["run"], "prompt"),
        (["run", "x", "--output", "xml"], "xml"),
        (["--mode", "yolo"], "yolo"),
        (["--max-tool-turns", "0"], "0"),
        (["--max-tool-turns", "many"], "many"),
        (["config", "eat"], "eat"),
        (["--modle", "x"], "--modle"),
        (["one", "two"], "two"),
    ],
)
def test_what_cannot_be_read_is_said_on_stderr_with_code_2(
    argv: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(argv)

    captured = capsys.readouterr()
    assert ended.value.code == 2
    assert told in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    "argv",
    [
        ["permissions", "check", "write_file", "{}", "--mode", "quorum"],
        ["--mode=quorum", "permissions", "check", "--quiet", "write_file", "{}"],
    ],
)
def test_a_check_of_permissions_has_a_tool_and_its_arguments(argv: list[str]) -> None:
    options = parse(argv)

    assert (options.command, options.action) == ("permissions", "check")
    assert (options.tool, options.arguments) == ("write_file", "{}")
    assert options.overrides == {"review.mode": "quorum"}


def test_a_saved_rule_is_removed_by_its_number() -> None:
    assert parse(["permissions", "remove", "12"]).number == 12


@pytest.mark.parametrize(
    "words", [["check", "x"], ["list", "x"], ["remove"], ["remove", "-1"], ["remove", "x"], []]
)
def test_words_that_do_not_fit_an_action_of_permissions_are_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["permissions", *words])

    assert ended.value.code == 2

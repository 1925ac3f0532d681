from __future__ import annotations

import dataclasses
import re
import shlex
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from quorum.__main__ import _PROMPT_COMMANDS, main
from quorum.cli.app import AppOptions
from quorum.cli.sessions import (
    AnchorOptions,
    ExportOptions,
    ForkOptions,
    ListOptions,
    OneSessionOptions,
    PruneOptions,
    RedactOptions,
    VerifyOptions,
)
from quorum.command_line.command import CliCommand
from quorum.command_line.options import StartOptions
from quorum.command_line.parser import build_parser, list_paths, load_command
from quorum.command_line.reading import parse
from quorum.command_line.table import COMMANDS
from quorum.command_line.words import split_command
from quorum.domain.sessions.session_summary import (
    LatestSession,
    NamedSession,
    NewSession,
    PickedSession,
    SessionChoice,
)
from quorum.infrastructure.config.keys import list_keys
from quorum.version import __version__
from tests.support.command_line import run_command


def test_without_words_the_app_opens() -> None:
    path, _, options = parse([])

    assert (path, options.prompt) == ((), None)


def test_a_word_that_is_no_command_is_the_first_prompt() -> None:
    assert parse(["fix the test"]).options.prompt == "fix the test"


def test_after_two_dashes_even_a_command_is_a_prompt() -> None:
    path, _, options = parse(["--", "run"])

    assert (path, options.prompt) == ((), "run")


@pytest.mark.parametrize(
    "argv",
    [
        ["run", "hi", "--mode", "auto", "-m", "a/b", "--output", "json"],
        ["--mode", "auto", "run", "-m", "a/b", "--output", "json", "hi"],
        ["--mode=auto", "-m", "a/b", "run", "hi", "--output=json"],
    ],
)
def test_options_may_stand_before_and_behind_the_command(argv: list[str]) -> None:
    path, _, options = parse(argv)

    assert (path, options.prompt, options.output) == (("run",), "hi", "json")
    assert options.models == ("a/b",)
    assert options.overrides == {"review.mode": "auto"}


def test_a_value_that_is_called_like_a_command_is_no_command() -> None:
    path, _, options = parse(["-C", "run", "doctor"])

    assert (path, options.workdir) == (("doctor",), Path("run"))


def test_a_dash_is_a_prompt_from_stdin() -> None:
    assert parse(["run", "-"]).options.prompt == "-"


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["run"], "PROMPT"),
        (["run", "x", "--output", "xml"], "xml"),
        (["--mode", "yolo"], "yolo"),
        (["--max-tool-turns", "0"], "0"),
        (["--max-tool-turns", "many"], "many"),
        (["config", "eat"], "eat"),
        (["--modle", "x"], "--modle"),
        (["one", "two"], 'needs quotes: quorum "one two …"'),
        (["sessions", "list", "--mode", "ask"], "--mode"),
    ],
)
def test_what_cannot_be_read_is_said_on_stderr_with_code_2(
    argv: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(argv)

    captured = capsys.readouterr()
    assert ended.value.code == 2
    assert expected in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    "argv",
    [
        ["permissions", "check", "write_file", "{}", "--mode", "quorum"],
        ["--mode=quorum", "permissions", "check", "--quiet", "write_file", "{}"],
    ],
)
def test_a_check_of_permissions_has_a_tool_and_its_arguments(argv: list[str]) -> None:
    path, _, options = parse(argv)

    assert path == ("permissions", "check")
    assert (options.tool, options.arguments) == ("write_file", "{}")
    assert options.overrides == {"review.mode": "quorum"}


def test_a_saved_rule_is_removed_by_its_number() -> None:
    assert parse(["permissions", "remove", "12"]).options.number == 12


@pytest.mark.parametrize(
    "words",
    [["check"], ["check", "x", "{}", "y"], ["list", "x"], ["remove"], ["remove", "-1"], ["remove", "x"], []],
)
def test_words_that_do_not_fit_an_action_of_permissions_are_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["permissions", *words])

    assert ended.value.code == 2


@pytest.mark.parametrize(
    ("argv", "choice", "prompt"),
    [
        ([], NewSession(), None),
        (["--continue"], LatestSession(), None),
        (["--continue", "fix it"], LatestSession(), "fix it"),
        (["--resume"], PickedSession(), None),
        (["--resume", "--", "fix it"], PickedSession(), "fix it"),
        (["--resume", "0199ab", "fix it"], NamedSession("0199ab"), "fix it"),
        (["fix it", "--resume", "0199ab"], NamedSession("0199ab"), "fix it"),
        (["--resume=0199ab", "fix it"], NamedSession("0199ab"), "fix it"),
        (["--resume", "latest"], LatestSession(), None),
        (["run", "--continue", "fix it"], LatestSession(), "fix it"),
        (["run", "fix it", "--continue"], LatestSession(), "fix it"),
        (["run", "--resume", "0199ab", "fix it"], NamedSession("0199ab"), "fix it"),
        (["--resume", "0199ab", "run", "fix it"], NamedSession("0199ab"), "fix it"),
        (["--continue", "run", "--", "--resume"], LatestSession(), "--resume"),
        (["--", "--resume"], NewSession(), "--resume"),
        (["sessions", "resume", "0199ab"], NamedSession("0199ab"), None),
        (["sessions", "resume", "0199ab", "fix it"], NamedSession("0199ab"), "fix it"),
        (["sessions", "resume", "latest"], LatestSession(), None),
    ],
)
def test_a_session_is_begun_or_gone_on_with(argv: list[str], choice: SessionChoice, prompt: str | None) -> None:
    _, command, options = parse(argv)

    assert (options.session, options.prompt) == (choice, prompt)
    assert command.is_full_screen is not ("run" in argv)
    assert not options.fork


@pytest.mark.parametrize(
    "argv",
    [
        ["--continue", "--fork"],
        ["--fork", "--resume", "0199ab"],
        ["run", "--resume", "0199ab", "--fork", "hi"],
        ["sessions", "resume", "0199ab", "--fork"],
    ],
)
def test_a_copy_of_a_session_can_be_gone_on_with(argv: list[str]) -> None:
    assert parse(argv).options.fork


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["--fork"], "--fork goes with --continue or --resume"),
        (["run", "hi", "--fork"], "--fork goes with --continue or --resume"),
        (["--demo", "--continue"], "--demo is a tour of its own"),
        (["--demo", "do it"], "--demo is a tour of its own"),
        (["--demo", "-m", "openai/x"], "--demo is a tour of its own"),
        (["--continue", "--resume", "0199ab"], "not allowed with"),
        (["--resume", "fix the test"], "is not the id of a session"),
        (["run", "--check", "true", "go"], "--check goes with --goal"),
        (["run", "--continue", "--image", "a.png"], "--image goes with a PROMPT"),
        (["run", "--resume", "", "hi"], "is not the id of a session"),
        (["run", "hi", "--resume"], "expected one argument"),
        (["sessions"], "ACTION"),
        (["sessions", "eat"], "eat"),
        (["sessions", "show"], "ID"),
        (["sessions", "show", "a", "b"], "b"),
        (["sessions", "export", "a", "--format", "pdf"], "pdf"),
        (["sessions", "verify", "a", "--all"], "not both"),
        (["sessions", "anchor", "a", "--all"], "not both"),
        (["sessions", "export", "a", "--signed"], "name the file with -o"),
        (["sessions", "export", "a", "--signed", "--format", "json", "-o", "x"], "leave --format out"),
        (["sessions", "fork", "a", "--before", "0"], "0"),
        (["sessions", "prune", "--keep", "-1"], "-1"),
        (["sessions", "list", "--yes"], "--yes"),
        (["keys"], "ACTION"),
        (["keys", "set"], "PROVIDER"),
        (["keys", "list", "openai"], "openai"),
    ],
)
def test_what_does_not_go_together_is_a_usage_error(
    argv: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(argv)

    captured = capsys.readouterr()
    assert (ended.value.code, captured.out) == (2, "")
    assert expected in captured.err


@pytest.mark.parametrize(
    ("argv", "action", "wanted"),
    [
        (["sessions", "list"], "list", ListOptions()),
        (["sessions", "-n", "3", "list", "--all"], "list", ListOptions(limit=3, all=True)),
        (["sessions", "list", "--json"], "list", ListOptions(json=True)),
        (["sessions", "show", "list"], "show", OneSessionOptions(session="list")),
        (["-C", "/", "sessions", "export", "a"], "export", ExportOptions(workdir=Path("/"), session="a")),
        (
            ["sessions", "export", "--format", "html", "a", "-o", "x.html"],
            "export",
            ExportOptions(session="a", format="html", file=Path("x.html")),
        ),
        (
            ["sessions", "export", "--signed", "a", "-o", "x.cose"],
            "export",
            ExportOptions(session="a", signed=True, file=Path("x.cose")),
        ),
        (["sessions", "anchor", "--all"], "anchor", AnchorOptions(all=True)),
        (
            ["sessions", "verify", "a", "--anchors", "x.jsonl"],
            "verify",
            VerifyOptions(session="a", anchors=Path("x.jsonl")),
        ),
        (["sessions", "fork", "a", "--before", "3"], "fork", ForkOptions(session="a", before=3)),
        (["sessions", "verify"], "verify", VerifyOptions()),
        (["sessions", "verify", "--all"], "verify", VerifyOptions(all=True)),
        (
            ["sessions", "prune", "--older-than", "30", "--keep", "0", "--dry-run", "--yes"],
            "prune",
            PruneOptions(older_than=30, keep=0, dry_run=True, yes=True),
        ),
        (["sessions", "redact", "a", "-"], "redact", RedactOptions(session="a", text="-")),
    ],
)
def test_recorded_sessions_are_looked_after(argv: list[str], action: str, wanted: StartOptions) -> None:
    path, _, options = parse(argv)

    assert (path, options) == (("sessions", action), wanted)


def test_a_key_is_set_for_a_provider() -> None:
    path, _, options = parse(["keys", "set", "openai"])

    assert (path, options.provider) == (("keys", "set"), "openai")


@pytest.mark.parametrize("action", ["trust", "untrust"])
def test_the_configuration_of_a_project_is_trusted_or_no_longer(action: str) -> None:
    assert parse(["config", action]).path == ("config", action)


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["sesions", "list"], 'no command "sesions"; did you mean: quorum sessions? To send it as a prompt: '),
        (["rnu"], "did you mean: quorum run?"),
        (["Doctor"], "did you mean: quorum doctor?"),
        (["-C", "run", "verison"], "did you mean: quorum version?"),
        (["--continue", "hlep"], "quorum -- hlep"),
        (["sessions", "lsit"], "did you mean: quorum sessions list?"),
        (["config", "--config", "show", "shwo"], "did you mean: quorum config show?"),
        (["help", "sesions"], "did you mean sessions?"),
        (["help", "sessions", "lst"], "did you mean list?"),
        (["help", "run", "list"], "it has no actions"),
        (["help", "\x1b[31m"], "[31m"),
    ],
)
def test_a_mistyped_command_is_refused_with_the_nearest_one(
    argv: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run_command(argv, Path())

    captured = capsys.readouterr()
    assert (ended.value.code, captured.out) == (2, "")
    assert sentence in captured.err
    assert "\x1b" not in captured.err


@pytest.mark.parametrize(
    "prompt", ["hello", "explain", "run the tests", "sesions list", "fix", "test", "why?", "/help", "x" * 99]
)
def test_a_prompt_that_is_like_no_command_is_sent(prompt: str) -> None:
    assert parse([prompt]).options.prompt == prompt


@pytest.mark.parametrize("prompt", ["rnu", "sesions", "help"])
def test_after_two_dashes_a_mistyped_command_is_a_prompt(prompt: str) -> None:
    assert parse(["--", prompt]).options.prompt == prompt


@pytest.mark.parametrize("path", list_paths(), ids=" ".join)
def test_every_command_has_the_same_help_by_option_and_by_command(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    texts = []
    for argv in ([*path, "--help"], ["help", *path]):
        with suppress(SystemExit):
            run_command(argv, Path())
        texts.append(capsys.readouterr())

    assert texts[0] == texts[1]
    assert texts[0][0].startswith("usage: quorum")


@pytest.mark.parametrize("path", list_paths(), ids=" ".join)
def test_every_example_is_a_command_line_that_is_understood(path: tuple[str, ...]) -> None:
    for words, _ in build_parser(path).command.examples:
        command = words[words.index("quorum ") :]
        parse_example(shlex.split(re.split(r' [|<>] |\)"', command)[0])[1:])


def parse_example(words: list[str]) -> None:
    try:
        parse(words)
    except SystemExit as ended:
        assert ended.code == 0, words  # noqa: PT017 - a help text ends like this, and a parsed line does not


def test_help_lists_only_options_that_change_what_a_command_does(capsys: pytest.CaptureFixture[str]) -> None:
    run_command(["help", "sessions", "list"], Path())

    printed = capsys.readouterr().out
    assert "--json" in printed
    assert not [option for option in ("--mode", "--model", "--max-", "--verbose") if option in printed]


@pytest.mark.parametrize("path", list_paths(), ids=" ".join)
def test_an_alias_may_hold_quiet_and_verbose_for_every_command(path: tuple[str, ...]) -> None:
    names = {name for action in build_parser(path)._actions for name in action.option_strings}

    assert {"-q", "--quiet", "-v", "--verbose"} <= names or path == ("rpc",)


@pytest.mark.parametrize("path", list_paths(), ids=" ".join)
def test_every_argument_fills_a_field_of_the_options_or_overrides_a_setting(path: tuple[str, ...]) -> None:
    parser = build_parser(path)
    if path and not isinstance(load_command(path[0]), CliCommand) and len(path) == 1:
        return  # it only names its actions
    fields = {field.name for field in dataclasses.fields(parser.command.options)}
    settings = {".".join(map(str, key.path)) for key in list_keys()}

    filled = {action.dest for action in parser._actions} - {"help", "version"}
    assert filled <= fields | settings | {"models.effort.decision"}  # a key that is named by a role


def test_one_option_has_a_value_in_every_command_or_in_none() -> None:
    actions = [action for path in list_paths() for action in build_parser(path)._actions]
    valued = {name for action in actions if action.nargs != 0 for name in action.option_strings}

    assert valued.isdisjoint(name for action in actions if action.nargs == 0 for name in action.option_strings)


def test_signals_have_their_own_ending_for_every_command_that_answers_a_prompt() -> None:
    loaded = {name: load_command(name) for name in COMMANDS}

    answering = {
        name for name, each in loaded.items() if isinstance(each, CliCommand) and each.answer is not None
    }
    assert answering == _PROMPT_COMMANDS


def test_to_read_a_command_no_other_one_is_loaded() -> None:
    code = (
        "import sys\nfrom quorum.command_line.reading import parse\nparse(['--mode', 'auto', 'run', 'x'])\n"
        "print(*(name for name in sys.modules if name.startswith('quorum.cli.')))"
    )

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert set(ended.stdout.split()) == {"quorum.cli.app", "quorum.cli.run"}


@pytest.mark.parametrize(
    ("argv", "path"),
    [
        (["--output", "json", "run", "x"], ("run",)),
        (["-n", "3", "sessions", "list"], ("sessions", "list")),
        (["--prompt", "run", "fleet", "submit", "--prs"], ("fleet", "submit")),
        (["--resume", "run", "x"], ("run",)),
        (["--bearer-token-env", "help", "mcp", "--url", "run", "add", "x"], ("mcp", "add")),
    ],
)
def test_options_of_a_command_may_stand_before_it(argv: list[str], path: tuple[str, ...]) -> None:
    assert split_command(argv)[0] == path


@pytest.mark.parametrize("words", [["-V"], ["--version"], ["version"], ["version", "-q"], ["-C", "/", "-V"]])
def test_the_version_is_printed(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(words)

    assert capsys.readouterr().out == f"quorum {__version__}\n"


def test_nothing_asked_for_is_read_like_an_empty_command_line() -> None:
    assert AppOptions() == parse([]).options

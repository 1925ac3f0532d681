from __future__ import annotations

import argparse
import sqlite3
from pathlib import Path

import pytest

from quorum.cli.completion import CompletionOptions, print_completion
from quorum.command_line.completion.answer import (
    Candidate,
    PartialLine,
    ShellCompletionKind,
    complete,
    read_line,
)
from quorum.command_line.parser import list_actions
from quorum.command_line.table import COMMANDS
from quorum.infrastructure.known_names import (
    list_known_models,
    list_known_providers,
    list_known_sessions,
    read_own_settings,
)
from quorum.tui.keys.choices import MODES

NAMES = (
    "anthropic/one",
    "ollama/llama3:8b",
    "openai/two",
    "bad/$(touch x)",
    "bad/a b",
    "bad/\x1b[m",
    "bad/;ls",
)


def offered(line: str) -> list[str]:
    typed = read_line(line)
    assert typed is not None
    sources = {"models": lambda _given, _current: [Candidate(name, "a\nb\x1b") for name in NAMES]}
    return [each.word for each in complete(typed, sources).candidates]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("quorum ", list(COMMANDS)),
        ("quorum ses", ["sessions"]),
        ("quorum -q --max-tokens 5 ses", ["sessions"]),
        ("quorum -C run ses", ["sessions"]),
        ("quorum sessions ", list(list_actions("sessions"))),
        ("quorum sessions --all l", ["list"]),
        ("quorum sessions list --j", ["--json"]),
        ("quorum sessions list --json --j", []),
        ("quorum --mode ", list(MODES)),
        ("quorum run --mode re", ["read-only"]),
        ("quorum --mode=re", ["--mode=read-only"]),
        ("quorum -m ol", ["ollama/llama3:8b"]),
        ("quorum -m=ol", ["-m=ollama/llama3:8b"]),
        ("quorum -m review=o", ["review=ollama/llama3:8b", "review=openai/two"]),
        ("quorum -m bad", []),
        ("quorum -m openai/two --mod", ["--model", "--mode"]),
        ("quorum -m 'ope", ["openai/two"]),
        ('quorum run "a prompt" --out', ["--output"]),
        ("quorum run --output stream", ["stream-json"]),
        ("quorum help co", ["config", "completion"]),
        ("quorum help sessions ex", ["export"]),
        ("quorum help run ", []),
        ("quorum completion ", ["bash", "zsh", "fish"]),
        ("quorum config sh", ["show"]),
        ("quorum run ", []),
        ("quorum prompt ", []),
        ("quorum -- se", []),
        ("quorum sesions ", []),
        ("quorum run --nothing=", []),
        ("quorum rpc --so", ["--socket"]),
    ],
)
def test_what_can_follow_is_offered(line: str, words: list[str]) -> None:
    assert offered(line) == words


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("quorum -C ", ShellCompletionKind.FOLDERS),
        ("quorum --workdir=sr", ShellCompletionKind.FOLDERS),
        ("quorum --config ", ShellCompletionKind.FILES),
        ("quorum run --image ", ShellCompletionKind.FILES),
        ("quorum sessions export x -o ", ShellCompletionKind.FILES),
        ("quorum hooks test x --call ", ShellCompletionKind.FILES),
    ],
)
def test_names_of_files_are_left_to_the_shell(line: str, kind: ShellCompletionKind) -> None:
    typed = read_line(line)
    assert typed is not None

    assert complete(typed, {}).kind is kind


@pytest.mark.parametrize("hidden", ["--quiet", "--line", "--wordbreaks"])
def test_hidden_options_are_not_offered(hidden: str) -> None:
    assert hidden not in offered("quorum completion --")


@pytest.mark.parametrize(
    ("line", "typed"),
    [
        ("quorum", None),
        ("", None),
        ("quorum ", PartialLine((), "")),
        ("quorum a b", PartialLine(("a",), "b")),
        ("quorum 'a b' \"c d", PartialLine(("a b",), "c d")),
        ("quorum a\\ b c ", PartialLine(("a b", "c"), "")),
        ("quorum it's", PartialLine((), "its")),
    ],
)
def test_a_line_is_split_as_a_shell_does(line: str, typed: PartialLine | None) -> None:
    assert read_line(line) == typed


@pytest.mark.parametrize(
    "line",
    ["quorum \x00 se", "quorum " + "x " * 60_000, "quorum \\", "quorum \ud800"],
    ids=["control", "long", "backslash", "surrogate"],
)
def test_no_line_ends_in_an_error(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert print_completion(CompletionOptions(shell="bash", line=line), Path()) == 0
    assert capsys.readouterr().out.startswith("words\n")


def test_a_meaning_is_one_line_without_controls() -> None:
    typed = read_line("quorum -m openai/t")
    assert typed is not None

    found = complete(
        typed, {"models": lambda _given, _current: [Candidate("openai/two", "a\n\tb\x1b[31m" + "x" * 99)]}
    )

    assert len(found.candidates[0].meaning) <= 76
    assert not set("\x1b\n\t") & set(found.candidates[0].meaning)


def test_what_the_shell_has_of_a_word_is_not_offered_again(capsys: pytest.CaptureFixture[str]) -> None:
    options = CompletionOptions(shell="bash", line="quorum --mode=re", wordbreaks=" =:")

    print_completion(options, Path())

    assert capsys.readouterr().out == "words\nread-only\n"


def write_sessions(home: Path, *rows: tuple[str, str, str, str]) -> None:
    folder = home / "state" / "quorum"
    folder.mkdir(parents=True)
    with sqlite3.connect(folder / "ledger.sqlite") as database:
        database.execute("CREATE TABLE sessions (id, cwd, title, model, updated_ms)")
        numbered = [(*row, number) for number, row in enumerate(rows)]
        database.executemany("INSERT INTO sessions VALUES (?, ?, ?, ?, ?)", numbered)
    database.close()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.delenv("QUORUM_CONFIG", raising=False)
    monkeypatch.delenv("QUORUM_STORAGE__URL", raising=False)
    return tmp_path


def test_sessions_of_the_folder_are_offered_with_their_titles_the_latest_first(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = str(home.resolve())
    write_sessions(
        home,
        ("01a20000-a", here, "first", "x/y"),
        ("01a20000-b", here, "second", "x/y"),
        ("02b", "/", "z", "x/y"),
    )

    print_completion(CompletionOptions(shell="bash", line=f"quorum -C {home} sessions show "), Path())

    assert capsys.readouterr().out.splitlines() == [
        "words",
        "01a20000-b\tsecond",
        "01a20000-a\tfirst",
        "latest\tthe session of this folder used last",
    ]


def test_an_id_that_is_typed_further_is_completed_to_its_end(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_sessions(home, ("01a2084c-4d5e-7000-8000-000000000000", str(home), "t", "x/y"))

    print_completion(CompletionOptions(shell="bash", line=f"quorum -C {home} --resume 01a2084c-4"), Path())

    assert capsys.readouterr().out.splitlines()[1].startswith("01a2084c-4d5e-7000-8000-000000000000\t")


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\x00" + b"\xff" * 4000])
def test_a_database_that_cannot_be_read_offers_nothing(home: Path, content: bytes) -> None:
    folder = home / "state" / "quorum"
    folder.mkdir(parents=True)
    (folder / "ledger.sqlite").write_bytes(content)

    assert list_known_sessions({}, {"XDG_STATE_HOME": str(home / "state")}) == ()
    assert (folder / "ledger.sqlite").read_bytes() == content


def test_without_a_database_none_is_made(home: Path) -> None:
    assert list_known_sessions({}, {"XDG_STATE_HOME": str(home / "state")}) == ()
    assert list(home.iterdir()) == []


def test_models_are_those_of_the_settings_of_sessions_and_of_the_price_list(home: Path) -> None:
    file = home / "quorum.toml"
    file.write_text('[models]\ndecision = "a/b"\nreview = ["c/d"]\n[providers.house]\ntype = "openai-chat"\n')

    settings = read_own_settings({}, file)

    models = list_known_models(settings, ("e/f",))
    assert models[:3] == ("a/b", "c/d", "e/f")
    assert [model for model in models if model.startswith("anthropic/")]
    assert "house" in list_known_providers(settings)


@pytest.mark.parametrize("text", ["models = 3", "[models]\ndecision = 7\nreview = [1]", "no toml", "\x00"])
def test_settings_that_do_not_hold_offer_what_quorum_knows(home: Path, text: str) -> None:
    file = home / "quorum.toml"
    file.write_text(text)

    assert list_known_models(read_own_settings({}, file), ())


def test_a_file_of_the_project_is_not_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "quorum.toml").write_text('[models]\ndecision = "strange/model"')
    monkeypatch.chdir(home)

    assert read_own_settings({"XDG_CONFIG_HOME": str(home / "config")}, None) == {}


def test_the_namespace_of_a_source_holds_the_options_typed_so_far() -> None:
    seen: list[argparse.Namespace] = []
    typed = read_line("quorum --config a.toml -C sub -m ")
    assert typed is not None

    complete(typed, {"models": lambda given, _current: seen.append(given) or ()})

    assert (seen[0].config_file, seen[0].workdir) == ("a.toml", "sub")

"""The command that runs the tests of a project, by what is in its folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quorum.tui.chat.welcome import suggest_prompts, suggest_requests


def fill(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"pyproject.toml": "", "tests/test_a.py": ""}, "pytest"),
        ({"a.py": "x", "test_a.py": "x"}, "pytest"),
        ({"conftest.py": "x"}, "pytest"),
        ({"package.json": '{"scripts": {"test": "vitest"}}', "a.ts": "x"}, "npm test"),
        ({"Makefile": "all: x\ntest: all\n\t./check\n", "main.c": "x"}, "make test"),
        ({"Cargo.toml": "", "src/main.rs": "x"}, "cargo test"),
        ({"go.mod": "module x", "main.go": "x"}, "go test ./..."),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_offered_names_the_command_of_the_tests_with_and_without_a_model(tmp_path, files, command):
    folder = fill(tmp_path, {".git/HEAD": "", **files})

    assert f"run the tests with {command} and explain what fails" in suggest_prompts(folder)
    assert f"run {command}" in suggest_requests(folder)


@pytest.mark.parametrize(
    "files",
    [
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        {"package.json": '{"scripts": []}'},
        {"package.json": "{"},
        {"Makefile": "test := 1\nlatest: x\n"},
        {"pyproject.toml": ""},
        {"tests/run.sh": "x"},
    ],
)
def test_no_command_is_named_that_the_folder_does_not_have(tmp_path, files):
    folder = fill(tmp_path, {".git/HEAD": "", **files})

    assert not any("tests with" in prompt for prompt in suggest_prompts(folder))
    assert "run git status" in suggest_requests(folder)


def test_a_pipe_or_a_link_in_the_place_of_a_file_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "Makefile")
    (tmp_path / "package.json").symlink_to(fill(tmp_path / "other", {"p": '{"scripts": {"test": "x"}}'}) / "p")

    assert suggest_prompts(tmp_path) == ("what does this project do, and where does it start?",)

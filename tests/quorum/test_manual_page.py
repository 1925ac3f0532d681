from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from quorum.command_line.manual_page import render_manual_page
from quorum.command_line.parser import build_parser, list_actions, list_paths

PAGE = Path(__file__).parents[2] / "docs" / "quorum.1"
RENEW = ".venv/bin/python -m quorum.command_line.manual_page > docs/quorum.1"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_manual_page(), RENEW


def test_the_page_names_every_command_option_and_example() -> None:
    page = render_manual_page().replace("\\-", "-").replace("\\(dq", '"').replace("\\e", "\\")

    for path in list_paths():
        parser = build_parser(path)
        is_group = len(path) == 1 and bool(list_actions(path[0]))
        assert is_group or all(words in page for words, _ in parser.command.examples)
        assert not path or parser.prog in page
        assert all(name in page for action in parser.shown_actions for name in action.option_strings)


def formatted(*command: str) -> subprocess.CompletedProcess[str]:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_groff_formats_it_without_a_warning() -> None:
    ended = formatted("groff", "-man", "-Tutf8", "-ww", "-z", str(PAGE))

    assert (ended.returncode, ended.stderr) == (0, "")


def test_man_shows_options_and_examples_as_they_are_typed() -> None:
    ended = formatted("man", "--warnings", "-E", "ascii", "-l", str(PAGE))

    assert ended.returncode == 0
    assert not ended.stderr
    assert "--max-cost-usd USD" in ended.stdout
    assert 'quorum "explain src/retry.py"' in ended.stdout

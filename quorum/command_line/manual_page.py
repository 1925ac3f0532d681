"""The manual page quorum(1), made of the parsers.

`.venv/bin/python -m quorum.command_line.manual_page > docs/quorum.1` renews it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from quorum.command_line.parser import CommandParser, build_parser, list_actions, list_paths
from quorum.version import __version__

_FILES = (
    ("~/.config/quorum/quorum.toml", "your settings; XDG_CONFIG_HOME moves it, quorum config path prints it"),
    ("./quorum.toml", "the project's settings, which count as far as you trust them"),
    ("~/.local/state/quorum/", "sessions and stored outputs; XDG_STATE_HOME moves it"),
)
_VARIABLES = (
    ("QUORUM_CONFIG", "the file to read in place of all others, as --config"),
    ("QUORUM_SECTION__KEY", "a setting, such as QUORUM_TUI__THEME=nord"),
    ("ANTHROPIC_API_KEY, OPENAI_API_KEY", "the keys of the two providers"),
    ("NO_COLOR", "if it is set to anything, no colours are used"),
)
_CODES = (
    ("0", "done"),
    ("1", "it failed, or a check found something wrong"),
    ("2", "the command line or the settings cannot be used; the message names the place and the remedy"),
    ("74", "standard output cannot be written"),
    ("130", "interrupted"),
)


def render_manual_page() -> str:
    """The page as source for man(1)."""
    return "\n".join(_render_lines()) + "\n"


def _render_lines() -> Iterator[str]:
    app = build_parser(())
    summary = app.command.summary
    yield f'.TH QUORUM 1 "" "quorum {__version__}" "User Commands"'
    yield from (".SH NAME", f"quorum \\- {_escape_text(summary[0].lower() + summary[1:].rstrip('.'))}")
    yield ".SH SYNOPSIS"
    yield from (
        f".B {_escape_text(app.prog)}",
        _escape_text(app.format_synopsis().removeprefix(app.prog).strip()),
        ".br",
    )
    yield from (".B quorum", "COMMAND [ACTION] [OPTION]... [ARGUMENT]...")
    yield from (".SH DESCRIPTION", _escape_text(app.description or ""))
    yield from _render_options(app, ".SH OPTIONS")
    yield ".SH COMMANDS"
    for path in list_paths():
        if path and not (len(path) == 1 and list_actions(path[0])):
            yield from _render_command(build_parser(path))
    yield from (
        ".SH EXIT STATUS",
        *_list(_CODES),
        _escape_text("quorum run has further codes: see docs/headless.md."),
    )
    yield from (".SH ENVIRONMENT", *_list(_VARIABLES), ".SH FILES", *_list(_FILES))
    yield from (".SH EXAMPLES", *_list(app.command.examples))


def _render_command(parser: CommandParser) -> Iterator[str]:
    yield f".SS {_escape_text(parser.format_synopsis())}"
    yield _escape_text(parser.description or "")
    yield from _render_options(parser, "")
    for words, meaning in parser.command.examples:
        yield from (
            ".PP",
            "Example:",
            f".B {_escape_text(words)}",
            ".br",
            _escape_text(meaning),
        )


def _render_options(parser: CommandParser, heading: str) -> Iterator[str]:
    """Options and arguments; `--help` is said of the app alone."""
    shown = [each for each in parser.shown_actions if not isinstance(each, argparse._HelpAction) or heading]
    if heading:
        yield heading
    for action in shown:
        yield from (".TP", _render_name(action), _escape_text(action.help or ""))


def _render_name(action: argparse.Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else None
    if not action.option_strings:
        return f".I {_escape_text(value or action.dest)}"
    names = ", ".join(f"\\fB{_escape_text(name)}\\fR" for name in action.option_strings)
    if action.nargs == 0 or value is None:
        return names
    return f"{names} \\fI{_escape_text(f'[{value}]' if action.nargs == '?' else value)}\\fR"


def _list(entries: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for name, meaning in entries:
        yield from (".TP", f".B {_escape_text(name)}", _escape_text(meaning))
    yield ".PP"


def _escape_text(text: str) -> str:
    """Text that roff prints as it is."""
    plain = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    plain = plain.replace("…", "...").replace("×", "x")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain


if __name__ == "__main__":
    sys.stdout.write(render_manual_page())

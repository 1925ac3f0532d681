"""The command line, read into the options of the command that it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from quorum.command_line.command import CommandGroup
from quorum.command_line.parser import (
    CommandParser,
    ParsedCommand,
    build_parser,
    list_actions,
    load_command,
)
from quorum.command_line.table import COMMANDS
from quorum.command_line.words import find_first_word, find_nearest_name, split_command

_HELP = frozenset(("-h", "--help"))


def parse(argv: Sequence[str]) -> ParsedCommand:
    """Read the command line. Exits with code 2 and a sentence on stderr where it cannot be read.

    Exits with code 0 once a help text was printed.
    """
    path, rest = split_command(argv)
    if not path:
        return _parse_app(argv)
    declared = load_command(path[0])
    if isinstance(declared, CommandGroup) and len(path) == 1:
        is_bare = find_first_word(rest, path[0]) is None and not _HELP.intersection(rest)
        if not declared.usual or not is_bare:
            _refuse_action(path[0], rest)
        path = (*path, declared.usual)
    parser = build_parser(path)
    given = parser.parse_mixed(rest) if len(path) > 1 else parser.parse_args(rest)
    return ParsedCommand(path, parser.command, parser.build_options(given))


def _parse_app(argv: Sequence[str]) -> ParsedCommand:
    parser = build_parser(())
    given, surplus = parser.parse_known_args(argv)
    if find_first_word(argv) == given.prompt:  # otherwise -- says that it is a prompt
        _check_prompt(parser, given.prompt, surplus)
    if surplus:
        parser.error(f"unrecognized arguments: {' '.join(surplus)}")
    return ParsedCommand((), parser.command, parser.build_options(given))


def _check_prompt(parser: CommandParser, prompt: str | None, surplus: Sequence[str]) -> None:
    """Refuse a mistyped command, which would be sent to the model, and a prompt without quotes."""
    if prompt is None:
        return
    if what_there_is := explain_tried_word(prompt.lower()):
        parser.refuse(
            f'there is no command "{prompt}"; {what_there_is}. To send it as a prompt: quorum -- {prompt}'
        )
    if (name := find_nearest_name(prompt, COMMANDS)) is not None:
        parser.refuse(
            f'there is no command "{prompt}"; did you mean: quorum {name}? To send it as a prompt: '
            f"quorum -- {prompt}"
        )
    if words := [word for word in surplus if not word.startswith("-")]:
        parser.error(f'a prompt of several words needs quotes: quorum "{prompt} {words[0]} …"')


def _refuse_action(command: str, rest: Sequence[str]) -> NoReturn:
    """Print the help if that is asked for; else say which action was probably meant."""
    parser = build_parser((command,))
    word = find_first_word(rest, command)
    if word is not None and (name := find_nearest_name(word, list_actions(command))) is not None:
        parser.refuse(f'there is no action "{word}"; did you mean: quorum {command} {name}?')
    parser.parse_args(rest)  # exits: it has no action that there is
    raise AssertionError("a command without its action was accepted")


TRIED_WORDS: Mapping[str, str] = {
    "init": "quorum config init writes your settings, each explained; /init in the app has AGENTS.md written",
    "login": "quorum keys set anthropic keeps a key; quorum mcp login NAME logs in to an MCP server",
    "logout": "quorum keys remove anthropic removes a key; quorum mcp logout NAME logs out of an MCP server",
    "auth": "quorum keys set anthropic keeps a key, and quorum keys list shows which there are",
    "plugin": "plug-ins are Python packages that add tools (docs/custom-tools.md); quorum mcp add takes a "
    "server, and quorum hooks test tries a hook",
    "install": "quorum mcp add takes an MCP server, and quorum doctor names the command for a missing extra",
    "exec": "quorum run answers one prompt without the app",
    "chat": "quorum opens the app, and quorum run answers one prompt without it",
    "print": "quorum run answers one prompt without the app",
    "resume": "quorum --continue resumes the last session here, quorum --resume lets you choose one",
    "continue": "quorum --continue resumes the last session here",
    "history": "quorum sessions list names past sessions, and quorum sessions search WORDS finds them",
    "export": "quorum sessions export latest writes a session as a page",
    "settings": "quorum config show prints all settings, and quorum config set KEY VALUE changes one",
    "setup": "quorum doctor says what is missing, quorum keys set anthropic keeps a key, and quorum import "
    "takes over the setup of another agent",
    "status": "quorum doctor checks this machine, and quorum board lists what runs and waits",
    "cost": "quorum usage prints tokens and costs",
    "stats": "quorum usage prints tokens and costs",
    "skills": "skills are folders with a SKILL.md (docs/skills.md); /skills in the app lists them",
    "commands": "commands of your own are Markdown files (docs/custom-commands.md), which / in the app lists",
    "rules": "quorum permissions list prints the rules",
    "theme": "quorum config set tui.theme NAME chooses a theme, /theme in the app shows them",
    "sandbox": "quorum doctor says what the sandbox holds; --mode sandboxed runs commands in it",
    "web": "quorum serve opens the app in a browser",
    "server": "quorum serve opens the app in a browser",
    "logs": "quorum --debug writes a log for a bug report",
    "goal": "quorum run --goal TEXT --check COMMAND works until the command exits with 0; /goal in the app",
    "effects": "quorum staged lists what waits in layers; /effects in the app",
    "undo": "/undo in the app takes the last turn back",
    "audit": "quorum sessions verify checks the record, and quorum sessions export writes it signed",
}
_ALIKE = {
    **{"plugins": "plugin", "extension": "plugin", "extensions": "plugin", "add": "install"},
    **{"signin": "login", "signout": "logout", "setting": "settings", "configure": "settings"},
    **{"skill": "skills", "command": "commands", "rule": "rules", "themes": "theme"},
    **{"costs": "cost", "log": "logs", "ui": "web"},
}
_UPDATES = frozenset({"update", "upgrade", "self-update"})
_REMOVALS = frozenset({"uninstall", "remove"})


def explain_tried_word(word: str) -> str:
    """What quorum has for a word that is none of its commands, in a sentence; empty for any other word."""
    if word in _UPDATES:
        from quorum.infrastructure.extras import render_update_command

        return f"quorum does not update itself; where it is installed now, this does: {render_update_command()}"
    if word in _REMOVALS:
        return "quorum mcp remove NAME removes an MCP server, quorum keys remove PROVIDER a key"
    return TRIED_WORDS.get(_ALIKE.get(word, word), "")

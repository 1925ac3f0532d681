"""The command line, read into one value."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from quorum.cli.option_parsers import (
    COMMANDS,
    CONFIG_WORDS,
    KEY_WORDS,
    PARSERS,
    PERMISSION_WORDS,
    RESUME,
    VALUED,
)
from quorum.cli.rpc_parsers import listen_options, rpc_options
from quorum.cli.session_parsers import SESSION_PARSERS, sessions_parser
from quorum.options import Command, Options, SessionsOptions

_Word = TypeVar("_Word", bound=str)
_MOST_DIGITS = 9
_WORDS = {"permissions": PERMISSION_WORDS, "keys": KEY_WORDS, "config": CONFIG_WORDS}
_OF_WORDS = ("tool", "arguments", "number", "setting", "value", "project")


def parse(argv: Sequence[str]) -> Options:
    """Read the command line. Exits with code 2 and a usage message on stderr where it cannot be read."""
    command, rest = _split(argv, COMMANDS)
    match command:
        case "sessions":
            return _sessions(rest)
        case "rpc":
            return Options(command="rpc", rpc=rpc_options(rest))
        case "permissions" | "keys" | "config":
            parser = PARSERS[command]()
            given = parser.parse_intermixed_args(rest)
            _place_words(parser, given, _WORDS[command])
        case _:
            parser = PARSERS[command or "app"]()
            given = parser.parse_args(rest)
    if getattr(given, "fork", False) and not given.continues and given.resume is None:
        parser.error("--fork goes with --continue or --resume: it says what to copy")
    if command is None:
        if given.demo and (
            given.listen or given.continues or given.resume is not None or given.prompt or given.model
        ):
            parser.error("--demo is a tour of its own: no session, prompt, model or socket goes with it")
        return replace(_options("app", given), demo=given.demo, listen=listen_options(parser, given))
    return _options(command, given)


def _sessions(rest: Sequence[str]) -> Options:
    action, words = _split(rest, tuple(SESSION_PARSERS))
    if action is None:
        given = sessions_parser().parse_args(rest)  # ends here: it has no action that there is
        return _options("sessions", given)
    parser = SESSION_PARSERS[action]()
    given = parser.parse_intermixed_args(words)
    given.action = action
    if action == "verify" and given.all and given.session is not None:
        parser.error("--all or one session, not both")
    if action == "resume":
        given.resume = given.session
        return _options("app", given)
    return _options("sessions", given)


def _options(command: Command, given: argparse.Namespace) -> Options:
    names = ("prompt", "output", "continues", "resume", "fork", "action", "provider", "probe", "hook")
    more = {name: getattr(given, name) for name in (*names, *_OF_WORDS) if name in given}
    return Options(
        command=command,
        config_file=given.config,
        workdir=given.workdir,
        models=tuple(given.model),
        overrides=_overrides(given),
        quiet=given.quiet,
        verbose=given.verbose,
        call_file=getattr(given, "call", None),
        images=tuple(getattr(given, "image", ())),
        sessions=_sessions_options(given) if command == "sessions" else SessionsOptions(),
        **more,
    )


def _sessions_options(given: argparse.Namespace) -> SessionsOptions:
    names = SessionsOptions.__dataclass_fields__
    return SessionsOptions(
        **{name: value for name in names if (value := getattr(given, name, None)) is not None}
    )


def _split(argv: Sequence[str], names: Sequence[_Word]) -> tuple[_Word | None, list[str]]:
    """The first word that is no option, if it is one of these, and everything else."""
    place = 0
    while place < len(argv) and (word := argv[place]) != "--":
        following = argv[place + 1] if place + 1 < len(argv) else "-"
        if word in VALUED or (word == RESUME and not following.startswith("-") and following not in names):
            place += 1
        elif not word.startswith("-") or word == "-":
            for name in names:
                if word == name:
                    return name, [*argv[:place], *argv[place + 1 :]]
            break
        place += 1
    return None, list(argv)


def _overrides(given: argparse.Namespace) -> dict[str, object]:
    flags = {"review.mode": given.mode, "agent.max_tool_turns": given.max_tool_turns}
    flags |= {"agent.max_cost_usd": given.max_cost_usd, "agent.max_tokens": given.max_tokens}
    flags["tui.screen_reader"] = getattr(given, "screen_reader", None)
    return {key: value for key, value in flags.items() if value is not None}


def _place_words(
    parser: argparse.ArgumentParser, given: argparse.Namespace, wanted_by: dict[str, tuple[str, ...]]
) -> None:
    """Put the words behind the action where they belong, or refuse them."""
    wanted = wanted_by[given.action]
    if len(given.words) != len(wanted):
        parser.error(f"{given.action} takes {' and '.join(wanted) or 'nothing more'}")
    match wanted, given.words:
        case ("TOOL", "JSON"), [tool, arguments]:
            given.tool, given.arguments = tool, arguments
        case ("KEY", "VALUE"), [setting, value]:
            given.setting, given.value = setting, value
        case ("KEY",), [setting]:
            given.setting = setting
        case ("PROVIDER",), [provider]:
            given.provider = provider
        case ("N",), [number] if number.isdecimal() and len(number) <= _MOST_DIGITS:
            given.number = int(number)
        case ("N",), [other]:
            parser.error(f"{other!r} is not the number of a rule")

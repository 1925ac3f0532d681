"""The command line, read into one value."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn, cast

from quorum.command_line.argument_parser import CommandParser
from quorum.command_line.bench_parsers import build_bench_options
from quorum.command_line.fleet_parsers import build_fleet_options
from quorum.command_line.gate_parsers import build_gate_options
from quorum.command_line.inbox_parsers import build_inbox_options
from quorum.command_line.mcp_parsers import build_mcp_options
from quorum.command_line.option_parsers import render_version_line
from quorum.command_line.parser_tree import ACTIONS, COMMANDS, build_parser
from quorum.command_line.review_parsers import build_review_options
from quorum.command_line.rpc_parsers import build_listen_options, parse_rpc_options
from quorum.command_line.serve_parsers import build_serve_options
from quorum.command_line.words import find_first_word, find_nearest_name, split_command
from quorum.options import (
    Command,
    CompletionOptions,
    FleetOptions,
    GateOptions,
    InboxOptions,
    McpOptions,
    Options,
    SessionsOptions,
)

# Fields of Options that arguments of the same name fill.
_NAMED = (
    *("prompt", "output", "continues", "resume", "fork", "leave_open", "probe", "hook"),
    *("source", "target", "provider", "tool", "arguments", "number", "setting", "value", "project"),
)
_HELP = frozenset(("-h", "--help"))


def parse(argv: Sequence[str]) -> Options:
    """Read the command line. Exits with code 2 and a sentence on stderr where it cannot be read.

    Exits with code 0 once a help text or the version was printed.
    """
    path, rest = split_command(argv)
    if not path:
        return _read_app(argv)
    match path[0]:
        case "rpc":
            return Options(command="rpc", rpc=parse_rpc_options(rest))
        case "gate":
            parser = build_parser(path)
            given = parser.parse_args(rest)
            gate = build_gate_options(parser, given)
            return replace(_read_options("gate", given), gate=gate)
        case "review":
            parser = build_parser(path)
            given = parser.parse_args(rest)
            return replace(_read_options("review", given), review=build_review_options(parser, given))
        case "serve":
            parser = build_parser(path)
            given = parser.parse_args(rest)
            return replace(_read_options("serve", given), serve=build_serve_options(parser, given))
        case "bench" if len(path) > 1:
            parser = build_parser(path)
            given = parser.parse_args(rest)
            return replace(_read_options("bench", given), bench=build_bench_options(parser, given))
        case "completion":
            given = build_parser(path).parse_args(rest)
            wanted = CompletionOptions(shell=given.shell, line=given.line, wordbreaks=given.wordbreaks)
            return replace(_read_options("completion", given), completion=wanted)
        case "help":
            _print_help(rest)
        case "version":
            build_parser(path).parse_args(rest)
            print(render_version_line())
            raise SystemExit(0)
        case "inbox" if len(path) == 1 and find_first_word(rest) is None and not _HELP.intersection(rest):
            return _read_command(("inbox", "list"), rest)
        case command if command in ACTIONS and len(path) == 1:
            _refuse_action(command, rest)
        case _:
            return _read_command(path, rest)


def _read_app(argv: Sequence[str]) -> Options:
    parser = build_parser(())
    given, surplus = parser.parse_known_args(argv)
    if find_first_word(argv) == given.prompt:  # otherwise -- says that it is a prompt
        _check_prompt(parser, given.prompt, surplus)
    if surplus:
        parser.error(f"unrecognized arguments: {' '.join(surplus)}")
    _check_fork(parser, given)
    if given.demo and (
        given.listen or given.continues or given.resume is not None or given.prompt or given.model
    ):
        parser.error("--demo is a tour of its own: no session, prompt, model or socket goes with it")
    return replace(_read_options("app", given), demo=given.demo, listen=build_listen_options(parser, given))


def _check_prompt(parser: CommandParser, prompt: str | None, surplus: Sequence[str]) -> None:
    """Refuse a mistyped command, which would be sent to the model, and a prompt without quotes."""
    if prompt is None:
        return
    if (name := find_nearest_name(prompt, COMMANDS)) is not None:
        parser.refuse(
            f'there is no command "{prompt}"; did you mean: quorum {name}? To send it as a prompt: '
            f"quorum -- {prompt}"
        )
    if words := [word for word in surplus if not word.startswith("-")]:
        parser.error(f'a prompt of several words needs quotes: quorum "{prompt} {words[0]} …"')


def _read_command(path: tuple[str, ...], rest: Sequence[str]) -> Options:
    parser = build_parser(path)
    command, action = cast("Command", path[0]), "".join(path[1:])
    given = parser.parse_mixed(rest) if action else parser.parse_args(rest)
    _check_fork(parser, given)
    if path == ("run",):
        _check_run_prompt(parser, given)
    if path in (("sessions", "verify"), ("sessions", "anchor")) and given.all and given.session is not None:
        parser.error("--all or one session, not both")
    if path == ("sessions", "export") and given.signed and given.file is None:
        parser.error("--signed writes bytes, not text: name the file with -o")
    if path == ("sessions", "export") and given.signed and given.format != "md":
        parser.error("--signed has a format of its own; leave --format out")
    if path == ("sessions", "resume"):
        given.resume = given.session
        return _read_options("app", given)
    options = replace(_read_options(command, given), action=action)
    if path == ("mcp", "serve"):
        gate = GateOptions(tui=given.tui, timeout_secs=given.timeout)
        return replace(options, gate=gate)
    return options


def _check_fork(parser: CommandParser, given: argparse.Namespace) -> None:
    if getattr(given, "fork", False) and "continues" in given and not given.continues and given.resume is None:
        parser.error("--fork goes with --continue or --resume: it says what to copy")


def _check_run_prompt(parser: CommandParser, given: argparse.Namespace) -> None:
    """A session can be continued without a prompt where its reviews are left open."""
    if given.prompt is None and not (given.leave_open and (given.continues or given.resume is not None)):
        parser.error("the following arguments are required: PROMPT")


def _refuse_action(command: str, rest: Sequence[str]) -> NoReturn:
    """Print the help if that is asked for; else say which action was probably meant."""
    parser = build_parser((command,))
    word = find_first_word(rest)
    if word is not None and (name := find_nearest_name(word, ACTIONS[command])) is not None:
        parser.refuse(f'there is no action "{word}"; did you mean: quorum {command} {name}?')
    parser.parse_args(rest)  # exits: it has no action that there is
    raise AssertionError("a command without its action was accepted")


def _print_help(rest: Sequence[str]) -> NoReturn:
    parser = build_parser(("help",))
    path = tuple(parser.parse_args(rest).words)
    try:
        about = build_parser(path)
    except KeyError:
        names = ACTIONS.get(path[0], ()) if len(path) > 1 else COMMANDS
        wrong = path[1] if len(path) > 1 and path[0] in COMMANDS else path[0]
        near = find_nearest_name(wrong, names)
        hint = (
            f"did you mean {near}?"
            if near
            else f"known are {', '.join(names)}"
            if names
            else "it has no actions"
        )
        parser.refuse(f'there is no command "{" ".join(path)}"; {hint}')
    about.print_help()
    raise SystemExit(0)


def _read_options(command: Command, given: argparse.Namespace) -> Options:
    more = {name: getattr(given, name) for name in _NAMED if name in given}
    return Options(
        command=command,
        config_file=given.config,
        workdir=given.workdir,
        models=tuple(getattr(given, "model", ())),
        overrides=_collect_overrides(given),
        quiet=given.quiet,
        verbose=given.verbose,
        debug=getattr(given, "debug", False),
        call_file=getattr(given, "call", None),
        images=tuple(getattr(given, "image", ())),
        add_dirs=tuple(folder.absolute() for folder in getattr(given, "add_dir", ())),
        sessions=_read_sessions_options(given) if command == "sessions" else SessionsOptions(),
        fleet=build_fleet_options(given) if command == "fleet" else FleetOptions(),
        inbox=build_inbox_options(given) if command == "inbox" else InboxOptions(),
        mcp=build_mcp_options(given) if command == "mcp" else McpOptions(),
        **more,
    )


def _read_sessions_options(given: argparse.Namespace) -> SessionsOptions:
    names = SessionsOptions.__dataclass_fields__
    return SessionsOptions(
        **{name: value for name in names if (value := getattr(given, name, None)) is not None}
    )


_OVERRIDES = {
    "review.mode": "mode",
    "models.effort.decision": "effort",
    "agent.phase_scope": "scope",
    "agent.consensus_level": "consensus",
    "agent.strategy": "strategy",
    "agent.max_tool_turns": "max_tool_turns",
    "agent.max_cost_usd": "max_cost_usd",
    "agent.max_tokens": "max_tokens",
    "tui.screen_reader": "screen_reader",
}


def _collect_overrides(given: argparse.Namespace) -> dict[str, object]:
    """The settings that options override, by dotted key."""
    values = {key: getattr(given, name, None) for key, name in _OVERRIDES.items()}
    return {key: value for key, value in values.items() if value is not None}

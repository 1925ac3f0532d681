"""All commands with their actions, and the parser of each.

The command line, its help, the completion in shells and the manual page are made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from quorum.command_line.action_parsers import CONFIG_PARSERS, HOOKS_PARSERS, KEYS_PARSERS, PERMISSIONS_PARSERS
from quorum.command_line.argument_parser import CommandParser, Example
from quorum.command_line.bench_parsers import BENCH_PARSERS
from quorum.command_line.db_parsers import DB_PARSERS
from quorum.command_line.fleet_parsers import FLEET_PARSERS
from quorum.command_line.gate_parsers import build_gate_parser
from quorum.command_line.inbox_parsers import INBOX_PARSERS
from quorum.command_line.mcp_parsers import MCP_PARSERS
from quorum.command_line.option_parsers import (
    build_acp_parser,
    build_app_parser,
    build_ask_parser,
    build_completion_parser,
    build_debate_parser,
    build_discuss_parser,
    build_doctor_parser,
    build_help_parser,
    build_run_parser,
    build_version_parser,
)
from quorum.command_line.review_parsers import build_review_parser
from quorum.command_line.rpc_parsers import build_rpc_parser
from quorum.command_line.serve_parsers import build_serve_parser
from quorum.command_line.session_parsers import SESSION_PARSERS
from quorum.command_line.shared_options import add_places

MakeParser: TypeAlias = Callable[[], CommandParser]

COMMANDS: dict[str, MakeParser] = {
    "run": build_run_parser,
    "ask": build_ask_parser,
    "discuss": build_discuss_parser,
    "debate": build_debate_parser,
    "review": build_review_parser,
    "acp": build_acp_parser,
    "sessions": lambda: _group_parser(
        "sessions",
        "List, show, diff, export, fork, verify, anchor, delete or resume sessions.",
        Example("quorum sessions list", "the sessions of this folder"),
    ),
    "inbox": lambda: _group_parser(
        "inbox",
        "List and answer decisions that wait in any session.",
        Example("quorum inbox", "the same as quorum inbox list"),
    ),
    "fleet": lambda: _group_parser(
        "fleet",
        "Have workers on one or several machines run many sessions.",
        Example("quorum fleet submit prompts.jsonl", "one session for each line"),
    ),
    "config": lambda: _group_parser(
        "config",
        "Show, check, find or change the settings; trust what a project asks for.",
        Example("quorum config set tui.theme nord", "change a setting"),
    ),
    "permissions": lambda: _group_parser(
        "permissions",
        "Try, list and remove permission rules.",
        Example("quorum permissions list", "every rule, and where it stands"),
    ),
    "keys": lambda: _group_parser(
        "keys",
        "Keep API keys in the keyring of this machine.",
        Example("quorum keys set openai", "asks for the key; it is not shown"),
    ),
    "mcp": lambda: _group_parser(
        "mcp",
        "List, add, remove, log in to and test MCP servers.",
        Example("quorum mcp add git -- uvx mcp-server-git", "a server that quorum starts"),
    ),
    "hooks": lambda: _group_parser(
        "hooks",
        "Test the hooks of your quorum.toml.",
        Example("quorum hooks test no-secrets --call call.json", "the call stands in call.json"),
    ),
    "db": lambda: _group_parser(
        "db",
        "Show, upgrade or copy the database that keeps sessions.",
        Example("quorum db status", "whether they must be upgraded"),
    ),
    "bench": lambda: _group_parser(
        "bench",
        "Measure the review of calls on labelled ones.",
        Example("quorum bench review", "what the layers without models miss"),
    ),
    "gate": build_gate_parser,
    "doctor": build_doctor_parser,
    "rpc": build_rpc_parser,
    "serve": build_serve_parser,
    "completion": build_completion_parser,
    "version": build_version_parser,
    "help": build_help_parser,
}
"""The commands in the order in which the help lists them."""

ACTIONS: dict[str, Mapping[str, MakeParser]] = {
    "sessions": SESSION_PARSERS,
    "config": CONFIG_PARSERS,
    "permissions": PERMISSIONS_PARSERS,
    "keys": KEYS_PARSERS,
    "mcp": MCP_PARSERS,
    "hooks": HOOKS_PARSERS,
    "inbox": INBOX_PARSERS,
    "fleet": FLEET_PARSERS,
    "db": DB_PARSERS,
    "bench": BENCH_PARSERS,
}
"""What follows a command that has actions."""


def build_parser(path: Sequence[str]) -> CommandParser:
    """The parser of the command of these words; of the app for none. Raises KeyError where there is none."""
    match path:
        case []:
            parser = build_app_parser()
            parser.subcommands = tuple((name, make().summary) for name, make in COMMANDS.items())
            return parser
        case [command]:
            return COMMANDS[command]()
        case [command, action]:
            return ACTIONS[command][action]()
        case _:
            raise KeyError(" ".join(path))


def list_paths() -> tuple[tuple[str, ...], ...]:
    """The words of every command and action, that of the app first."""
    found: list[tuple[str, ...]] = [()]
    for command in COMMANDS:
        found.append((command,))
        found += [(command, action) for action in ACTIONS.get(command, ())]
    return tuple(found)


def _group_parser(command: str, summary: str, example: Example) -> CommandParser:
    """Of a command that needs an action; it lists them."""
    parser = CommandParser(f"quorum {command}", summary, examples=(example,))
    parser.subcommands = tuple((name, make().summary) for name, make in ACTIONS[command].items())
    add_places(parser)
    parser.add_argument("action", metavar="ACTION", choices=tuple(ACTIONS[command]), help="one of those below")
    return parser

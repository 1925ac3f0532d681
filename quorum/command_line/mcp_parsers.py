"""The parsers of `quorum mcp`, one for each action, and what they read."""

from __future__ import annotations

import argparse
from pathlib import Path

from quorum.command_line.argument_parser import CommandParser, Example
from quorum.command_line.gate_parsers import add_gate_answer
from quorum.command_line.shared_options import add_mode, add_models, add_places
from quorum.options import McpOptions


def build_mcp_options(given: argparse.Namespace) -> McpOptions:
    """What the parsers have read, as one value."""
    return McpOptions(
        server=getattr(given, "server", ""),
        mcp_json=getattr(given, "mcp_json", None),
        url=getattr(given, "url", ""),
        program=getattr(given, "after_dashes", ()),
        pass_env=tuple(getattr(given, "pass_env", ())),
        bearer_token_env=getattr(given, "bearer_token_env", ""),
        tools=tuple(getattr(given, "tool", ())),
        read_only=tuple(getattr(given, "read_only", ())),
    )


def _list() -> CommandParser:
    parser = CommandParser(
        "quorum mcp list",
        "Print the MCP servers of your settings, and where each is defined.",
        "None of them is started.",
    )
    add_places(parser)
    return parser


def _add() -> CommandParser:
    parser = CommandParser(
        "quorum mcp add",
        "Add an MCP server to your own settings, and print what was written.",
        examples=(
            Example("quorum mcp add git -- uvx mcp-server-git", "a server that quorum starts"),
            Example(
                "quorum mcp add github --pass-env GITHUB_TOKEN -- npx -y @modelcontextprotocol/server-github",
                "one that gets a variable which looks like a secret",
            ),
            Example("quorum mcp add issues --url https://mcp.example.com/mcp", "one that is reached over HTTP"),
            Example("quorum mcp add docs --from .mcp.json", "the server docs of another agent's file"),
        ),
    )
    parser.words_after_dashes = "PROGRAM [ARGUMENT]..."
    parser.add_argument("--url", metavar="URL", default="", help="the address of a server over HTTP")
    parser.add_argument(
        "--bearer-token-env",
        metavar="VARIABLE",
        default="",
        help="with --url: the environment variable whose value is sent as a bearer token",
    )
    parser.add_argument(
        "--from",
        dest="mcp_json",
        metavar="FILE",
        type=Path,
        help="take the server of this name over from a .mcp.json of another agent",
    )
    _add_repeated(parser, "--pass-env", "VARIABLE", "an environment variable that the program gets")
    _add_repeated(parser, "--tool", "TOOL", "offer this tool and no others")
    _add_repeated(parser, "--read-only", "TOOL", "a tool that only reads, and runs without review")
    add_places(parser)
    _add_server(parser)
    return parser


def _remove() -> CommandParser:
    parser = CommandParser(
        "quorum mcp remove", "Take an MCP server out of your own settings, and print what was removed."
    )
    add_places(parser)
    _add_server(parser)
    return parser


def _test() -> CommandParser:
    parser = CommandParser(
        "quorum mcp test",
        "Start one MCP server, print the tools that it offers, and end it.",
        "Exit code 1: it did not come up.",
        examples=(Example("quorum mcp test git", "the server git of your settings"),),
    )
    add_places(parser)
    _add_server(parser)
    return parser


def _login() -> CommandParser:
    parser = CommandParser(
        "quorum mcp login",
        "Log in to an MCP server over HTTP, in your browser.",
        "The login is kept in the keyring of this machine, and renewed without asking.",
        examples=(
            Example("quorum mcp login issues", "prints the address, and opens it where there is a browser"),
        ),
    )
    add_places(parser)
    _add_server(parser)
    return parser


def _logout() -> CommandParser:
    parser = CommandParser(
        "quorum mcp logout", "End the login to an MCP server, and take it out of the keyring."
    )
    add_places(parser)
    _add_server(parser)
    return parser


def _add_repeated(parser: CommandParser, option: str, metavar: str, what: str) -> None:
    parser.add_argument(option, metavar=metavar, action="append", default=[], help=f"{what}; repeat for more")


def _add_server(parser: CommandParser) -> None:
    parser.add_argument("server", metavar="NAME", help="the name of the server")


def _serve() -> CommandParser:
    parser = CommandParser(
        "quorum mcp serve",
        "Be an MCP server on stdio whose tool review_call decides about calls of another agent.",
        "What would have to be asked about is denied, unless --tui names a quorum that asks you.",
        examples=(Example("quorum mcp serve --tui ~/.quorum.sock", "for Claude Code"),),
    )
    add_gate_answer(parser)
    add_models(parser)
    add_mode(parser)
    add_places(parser)
    return parser


MCP_PARSERS = {
    "list": _list,
    "add": _add,
    "remove": _remove,
    "login": _login,
    "logout": _logout,
    "test": _test,
    "serve": _serve,
}

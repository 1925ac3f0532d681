"""`quorum mcp`: the MCP servers of the settings, listed, added, removed and tested; and quorum as one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from quorum.cli.gate import list_answer_arguments
from quorum.command_line.command import Argument, CliCommand, CommandGroup, argument
from quorum.command_line.options import StartOptions
from quorum.command_line.shared import MODE, MODELS, PLACES
from quorum.gate.plain_arguments import USUAL_SECS


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions(StartOptions):
    server: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddServerOptions(ServerOptions):
    """The settings of a server: its program (`after_dashes`) or address; or the `.mcp.json` that has them."""

    mcp_json: Path | None = None
    url: str = ""
    after_dashes: tuple[str, ...] = ()
    pass_env: tuple[str, ...] = ()
    bearer_token_env: str = ""
    tools: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeReviewsOptions(StartOptions):
    """The socket of a quorum that asks the person, None: nobody is asked; and within what time."""

    tui: Path | None = None
    timeout_secs: float = USUAL_SECS


def _list(options: StartOptions, root: Path) -> int:
    from quorum.cli.mcp.actions import list_servers

    return list_servers(options, root)


def _add(options: AddServerOptions, root: Path) -> int:
    from quorum.cli.mcp.actions import add_server

    return add_server(options, root)


def _remove(options: ServerOptions, root: Path) -> int:
    from quorum.cli.mcp.actions import remove_server

    return remove_server(options, root)


def _log_in(options: ServerOptions, root: Path) -> int:
    from quorum.cli.mcp.actions import log_in

    return log_in(options, root)


def _log_out(options: ServerOptions, root: Path) -> int:
    from quorum.cli.mcp.actions import log_out

    return log_out(options, root)


def _test(options: ServerOptions, root: Path) -> int:
    from quorum.cli.mcp.actions import test_server

    return test_server(options, root)


def _serve(options: ServeReviewsOptions, root: Path) -> int:
    from quorum.cli.mcp.actions import serve_reviews

    return serve_reviews(options, root)


def _repeated(option: str, dest: str, metavar: str, what: str) -> Argument:
    return argument(option, dest=dest, metavar=metavar, action="append", help=f"{what}; repeat for more")


_SERVER = argument("server", metavar="NAME", help="the name of the server")
_ADD_PROGRAM = ("quorum mcp add git -- uvx mcp-server-git", "a server that quorum starts")
COMMAND = CommandGroup(
    {
        "list": CliCommand(
            StartOptions,
            _list,
            summary="Print the MCP servers of your settings, and where each is defined.",
            details="None of them is started.",
            arguments=PLACES,
        ),
        "add": CliCommand(
            AddServerOptions,
            _add,
            summary="Add an MCP server to your own settings, and print what was written.",
            after_dashes="PROGRAM [ARGUMENT]...",
            arguments=(
                argument("--url", metavar="URL", help="the address of a server over HTTP"),
                argument(
                    "--bearer-token-env",
                    metavar="VARIABLE",
                    help="with --url: the environment variable whose value is sent as a bearer token",
                ),
                argument(
                    "--from",
                    dest="mcp_json",
                    metavar="FILE",
                    type=Path,
                    help="take the server of this name over from a .mcp.json of another agent",
                ),
                _repeated(
                    "--pass-env", "pass_env", "VARIABLE", "an environment variable that the program gets"
                ),
                _repeated("--tool", "tools", "TOOL", "offer this tool and no others"),
                _repeated(
                    "--read-only", "read_only", "TOOL", "a tool that only reads, and runs without review"
                ),
                *PLACES,
                _SERVER,
            ),
            examples=(
                _ADD_PROGRAM,
                (
                    "quorum mcp add github --pass-env GITHUB_TOKEN -- npx -y "
                    "@modelcontextprotocol/server-github",
                    "one that gets a variable which looks like a secret",
                ),
                (
                    "quorum mcp add issues --url https://mcp.example.com/mcp",
                    "one that is reached over HTTP",
                ),
                (
                    "quorum mcp add docs --from .mcp.json",
                    "the server docs of another agent's file",
                ),
            ),
        ),
        "remove": CliCommand(
            ServerOptions,
            _remove,
            summary="Take an MCP server out of your own settings, and print what was removed.",
            arguments=(*PLACES, _SERVER),
        ),
        "login": CliCommand(
            ServerOptions,
            _log_in,
            summary="Log in to an MCP server over HTTP, in your browser.",
            details="The login is kept in the keyring of this machine, and renewed without asking.",
            arguments=(*PLACES, _SERVER),
            examples=(
                (
                    "quorum mcp login issues",
                    "prints the address, and opens it where there is a browser",
                ),
            ),
        ),
        "logout": CliCommand(
            ServerOptions,
            _log_out,
            summary="End the login to an MCP server, and take it out of the keyring.",
            arguments=(*PLACES, _SERVER),
        ),
        "test": CliCommand(
            ServerOptions,
            _test,
            summary="Start one MCP server, print the tools that it offers, and end it.",
            details="Exit code 1: it did not come up.",
            arguments=(*PLACES, _SERVER),
            examples=(("quorum mcp test git", "the server git of your settings"),),
        ),
        "serve": CliCommand(
            ServeReviewsOptions,
            _serve,
            is_long_lived=True,
            summary="Be an MCP server on stdio whose tool review_call decides about calls of another agent.",
            details="What would have to be asked about is denied, unless --tui names a quorum that asks you.",
            arguments=(*list_answer_arguments(), *MODELS, MODE, *PLACES),
            examples=(("quorum mcp serve --tui ~/.quorum.sock", "for Claude Code"),),
        ),
    },
    example=_ADD_PROGRAM,
)

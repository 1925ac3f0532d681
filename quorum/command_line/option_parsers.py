"""The parsers of the app and of the commands without actions of their own."""

from __future__ import annotations

import argparse
from pathlib import Path

from quorum.command_line.argument_parser import CommandParser, Example, parse_session_name
from quorum.command_line.rpc_parsers import add_listening
from quorum.command_line.shared_options import (
    RESUME,
    SESSION,
    add_consensus,
    add_continue,
    add_debug,
    add_folders,
    add_fork,
    add_limits,
    add_mode,
    add_models,
    add_places,
    add_scope,
)
from quorum.version import __version__

SHELLS = ("bash", "zsh", "fish")
_EXIT_CODES = "The exit code tells how it ended: docs/headless.md lists the codes."


def build_app_parser() -> CommandParser:
    """Of the full-screen app: `quorum` without a command."""
    parser = CommandParser(
        "quorum",
        "A full-screen coding agent in which every risky action is reviewed.",
        'A prompt of several words needs quotes; a prompt that is the name of a command: quorum -- "run".',
        examples=(
            Example('quorum "explain src/retry.py"', "open the app in the current folder, with a first prompt"),
            Example("quorum --continue", "resume the latest session of this folder"),
            Example("quorum -m openai/gpt-5.4 --mode read-only", "another model, which may only read"),
            Example('quorum run "why does test_retry fail?"', "no screen: the answer on stdout"),
            Example("quorum doctor", "check keys, models, sandbox and terminal"),
        ),
    )
    going_on = parser.add_mutually_exclusive_group()
    add_continue(going_on)
    going_on.add_argument(
        RESUME,
        metavar="ID",
        nargs="?",
        const="",
        type=lambda text: parse_session_name(text) if text else "",
        help="continue this session; without an ID, choose one (then put -- before a prompt)",
    )
    add_fork(parser)
    add_models(parser)
    add_mode(parser)
    add_scope(parser)
    add_consensus(parser)
    add_limits(parser)
    add_folders(parser)
    parser.add_argument(
        "--screen-reader",
        action="store_const",
        const=True,
        help="linear mode for screen readers; see also: quorum run",
    )
    parser.add_argument("--demo", action="store_true", help="a guided tour, offline, in a temporary folder")
    add_places(parser, quiet="print no parting words on stderr")
    add_debug(parser)
    parser.add_argument(
        "-V", "--version", action="version", version=render_version_line(), help="print the version"
    )
    add_listening(parser)
    parser.add_argument("prompt", metavar="PROMPT", nargs="?", help="the first prompt")
    return parser


def render_version_line() -> str:
    """What `quorum --version` prints."""
    return f"quorum {__version__}"


def build_run_parser() -> CommandParser:
    """Of a prompt without a screen."""
    parser = CommandParser(
        "quorum run",
        "Answer one prompt without the full-screen app.",
        _EXIT_CODES,
        examples=(
            Example('quorum run "why does test_retry fail?"', "the answer on stdout"),
            Example("git diff | quorum run -", "the prompt from stdin"),
            Example('quorum run --output json --max-cost-usd 0.50 "fix the lint errors"', "one JSON object"),
            Example('quorum run --continue "and now the tests"', "in the latest session of this folder"),
            Example("quorum run --leave-open --resume latest", "after quorum inbox has answered its review"),
        ),
    )
    _add_output(parser)
    going_on = parser.add_mutually_exclusive_group()
    add_continue(going_on)
    going_on.add_argument(
        RESUME, metavar="ID", type=parse_session_name, help=f"continue this session: {SESSION}"
    )
    add_fork(parser)
    parser.add_argument(
        "--leave-open",
        action="store_true",
        help="leave a review that needs you open, for quorum inbox, and end with code 3; without PROMPT, "
        "continue what is unfinished in the session",
    )
    _add_prompt(parser, mode=True, may_lack=True)
    return parser


def build_ask_parser() -> CommandParser:
    """Of a question without a screen."""
    parser = CommandParser(
        "quorum ask",
        "Answer one question with tools that only look.",
        _EXIT_CODES,
        examples=(
            Example('quorum ask "where is the retry limit set?"', "the answer on stdout"),
            Example("quorum ask -m ask=openai/gpt-5.4 -", "the question from stdin, to this model"),
        ),
    )
    _add_output(parser)
    _add_prompt(parser)
    return parser


def build_discuss_parser() -> CommandParser:
    """Of a discussion without a screen."""
    parser = CommandParser(
        "quorum discuss",
        "Have several models answer one question, review each other and agree on a text.",
        f"{_EXIT_CODES} It is 4 where no participant answered.",
        examples=(
            Example('quorum discuss "queue or cron for the nightly import?"', "the models of the settings"),
            Example(
                "quorum discuss -m participants=openai/gpt-5.4 -m participants=anthropic/claude-sonnet-5-5 -",
                "these models; the question from stdin",
            ),
        ),
    )
    _add_output(parser)
    _add_prompt(parser, folders=False)
    return parser


def build_debate_parser() -> CommandParser:
    """Of a debate without a screen."""
    parser = CommandParser(
        "quorum debate",
        "Have one model answer a question and others object to the answer, and rule on each objection.",
        f"{_EXIT_CODES} It is 4 where no participant answered.",
        examples=(
            Example('quorum debate "may we drop the nightly lock?"', "the models of the settings"),
            Example(
                "quorum debate -m participants=openai/gpt-5.4 -m participants=anthropic/claude-sonnet-5-5 -",
                "the first answers, the second objects; the question from stdin",
            ),
        ),
    )
    _add_output(parser)
    _add_prompt(parser, folders=False)
    return parser


def _add_output(parser: CommandParser) -> None:
    parser.add_argument(
        "--output",
        metavar="FORMAT",
        choices=("text", "json", "stream-json"),
        default="text",
        help="what stdout carries: text, json or stream-json",
    )


def _add_prompt(
    parser: CommandParser, *, mode: bool = False, folders: bool = True, may_lack: bool = False
) -> None:
    """Add the prompt, and what goes with it. `mode`: its calls may need a review; `folders`: it has tools;
    `may_lack`: other options decide whether there must be one."""
    parser.add_argument(
        "--image",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="attach this image or PDF to the prompt; repeat for more",
    )
    add_models(parser)
    if mode:
        add_mode(parser)
        add_scope(parser)
        add_consensus(parser)
    add_limits(parser)
    if folders:
        add_folders(parser)
    add_places(parser, quiet="print only errors on stderr", verbose="print more on stderr")
    add_debug(parser)
    parser.add_argument(
        "prompt",
        metavar="PROMPT",
        nargs="?" if may_lack else None,
        help="the prompt; - reads it from stdin",
    )


def build_acp_parser() -> CommandParser:
    """Of the sessions in an editor."""
    parser = CommandParser(
        "quorum acp",
        "Serve an editor that speaks the Agent Client Protocol, on stdin and stdout.",
        "The editor starts it: docs/acp.md says how, for Zed, JetBrains and Neovim.",
        examples=(
            Example("quorum acp", "as the command of an agent in the settings of the editor"),
            Example("quorum acp --mode read-only", "its sessions begin in this review mode"),
        ),
    )
    add_models(parser)
    add_mode(parser)
    add_limits(parser)
    add_folders(parser)
    add_places(parser)
    add_debug(parser)
    return parser


def build_doctor_parser() -> CommandParser:
    """Of the diagnosis."""
    parser = CommandParser(
        "quorum doctor",
        "Check what works on this machine and what does not.",
        "Exit code 1: something has to be put right.",
        examples=(
            Example("quorum doctor", "check without sending anything"),
            Example(
                "quorum doctor --probe -m ollama/qwen3", "ask this model and the others one short question"
            ),
        ),
    )
    parser.add_argument("--probe", action="store_true", help="also send each provider one small request")
    add_models(parser)
    add_places(parser)
    add_debug(parser)
    return parser


def build_help_parser() -> CommandParser:
    """Of the help about a command."""
    parser = CommandParser(
        "quorum help",
        "Print what a command does, its options and examples.",
        examples=(
            Example("quorum help", "the app, and the list of commands"),
            Example("quorum help sessions export", "one action of a command"),
        ),
    )
    add_places(parser)
    parser.add_argument("words", metavar="COMMAND", nargs="*", help="the command, and its action if it has any")
    return parser


def build_completion_parser() -> CommandParser:
    """Of the completion in shells. The hidden options are for the scripts that it prints."""
    parser = CommandParser(
        "quorum completion",
        "Print the script that has a shell complete commands, options, models and sessions.",
        "It asks quorum at each Tab, so that it needs no renewal.",
        examples=(
            Example('eval "$(quorum completion bash)"', "in ~/.bashrc"),
            Example('eval "$(quorum completion zsh)"', "in ~/.zshrc, below compinit"),
            Example("quorum completion fish > ~/.config/fish/completions/quorum.fish", "once, for fish"),
        ),
    )
    add_places(parser)
    parser.add_argument("--line", help=argparse.SUPPRESS)
    parser.add_argument("--wordbreaks", default="", help=argparse.SUPPRESS)
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")
    return parser


def build_version_parser() -> CommandParser:
    """Of the version."""
    parser = CommandParser("quorum version", "Print the version, as quorum --version does.")
    add_places(parser)
    return parser

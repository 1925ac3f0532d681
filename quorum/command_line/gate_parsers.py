"""The parser of `quorum gate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from quorum.command_line.argument_parser import CommandParser, Example
from quorum.command_line.shared_options import add_mode, add_models, add_places
from quorum.options import GateOptions

CALLERS = ("claude", "codex", "quorum")


def build_gate_parser() -> CommandParser:
    """Of the gate of another agent."""
    parser = CommandParser(
        "quorum gate",
        "Decide about one call of another agent, read from stdin: allow, ask or deny.",
        "Whatever fails asks. With --dialect quorum exit code 0: allow; 1: deny; 3: ask. See docs/gate.md.",
        examples=(
            Example("quorum gate --dialect claude", "as a PreToolUse hook of Claude Code"),
            Example("quorum gate --dialect quorum < call.json", "for a program of your own"),
        ),
    )
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument(
        "--dialect",
        metavar="FORM",
        choices=CALLERS,
        default="",
        help=f"who calls, and in whose form: one of {', '.join(CALLERS)}",
    )
    asked.add_argument(
        "--print-environment",
        action="store_true",
        help="print the environment in which git cannot run programs that a repository names",
    )
    add_gate_answer(parser)
    add_models(parser)
    add_mode(parser)
    add_places(parser)
    parser.set_defaults(workdir=None)
    return parser


def add_gate_answer(parser: argparse.ArgumentParser) -> None:
    """Add who answers what is to be asked about, and by when."""
    parser.add_argument(
        "--tui",
        metavar="SOCKET",
        type=Path,
        help="have the quorum decide that listens here, and ask you on its screen; not with other options",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECS",
        type=_parse_seconds,
        default=GateOptions.timeout_secs,
        help=f"ask when nothing is decided by then; default {GateOptions.timeout_secs:g}",
    )


def build_gate_options(parser: argparse.ArgumentParser, given: argparse.Namespace) -> GateOptions:
    """What its options come to. The folder of the call counts where no other is named."""
    if given.dialect and given.tui is not None and (given.workdir or given.config or given.model or given.mode):
        parser.error(
            "with --tui the quorum that runs decides, by its own settings: only --timeout goes with it"
        )
    named: Path | None = given.workdir
    given.workdir = named or Path()
    return GateOptions(dialect=given.dialect, tui=given.tui, timeout_secs=given.timeout, workdir=named)


def _parse_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from above 0 to 86400")
    return seconds

"""`quorum gate`: one call from standard input, the answer on standard output."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from quorum.command_line.command import (
    Argument,
    ArgumentGroup,
    CliCommand,
    CommandGroup,
    argument,
    flag,
)
from quorum.command_line.options import StandaloneOptions
from quorum.command_line.shared import MODE, MODELS, PLACES
from quorum.command_line.values import refuse_value
from quorum.domain.replacing import replace
from quorum.gate.plain_arguments import DIALECTS, USUAL_SECS


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions(StandaloneOptions):
    """Whose call `quorum gate` decides about, and within what time. `workdir` of None: as the call says.

    `print_environment` asks for the environment that git needs. `tui` is the socket of a quorum that runs.
    """

    dialect: str = ""
    print_environment: bool = False
    tui: Path | None = None
    timeout_secs: float = USUAL_SECS

    def find_conflict(self) -> str:
        """Which options do not go together, in a sentence; empty where all do."""
        asks_more = self.workdir or self.config_file or self.models or "review.mode" in self.overrides
        if self.dialect and self.tui is not None and asks_more:
            return "with --tui the quorum that runs decides, by its own settings: only --timeout goes with it"
        return ""

    @property
    def is_plain(self) -> bool:
        """Whether nothing on the command line changes what is decided: a resident knows of no options."""
        unasked = replace(self, dialect="", timeout_secs=USUAL_SECS, quiet=False, verbose=False)
        return unasked == GateOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class HookOptions(StandaloneOptions):
    """Whose hooks are written, those of the person or of the project; `accepted`: without a question."""

    agent: str = ""
    project: bool = False
    accepted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeOptions(StandaloneOptions):
    """Which agent is run, for how long at most, and how the result is printed."""

    agent: str = ""
    as_json: bool = False
    limit_secs: float = 120.0


def _install_hooks(options: HookOptions, root: Path) -> int:
    from quorum.cli.gate.hooks import change_hooks

    return change_hooks(options, root, is_installation=True)


def _uninstall_hooks(options: HookOptions, root: Path) -> int:
    from quorum.cli.gate.hooks import change_hooks

    return change_hooks(options, root, is_installation=False)


def _print_status(options: HookOptions, root: Path) -> int:
    from quorum.cli.gate.hooks import print_status

    return print_status(options, root)


def _print_probe(options: ProbeOptions, root: Path) -> int:
    from quorum.cli.gate.hooks import print_probe

    return print_probe(options, root)


def _parse_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise refuse_value(f"{text!r} is not a number of seconds from above 0 to 86400")
    return seconds


def _print_decision(options: GateOptions, _root: Path) -> int:
    from quorum.cli.gate.decision import print_decision

    return print_decision(options)


def list_answer_arguments() -> tuple[Argument, ...]:
    """Who answers what is to be asked about, and by when."""
    return (
        argument(
            "--tui",
            metavar="SOCKET",
            type=Path,
            help="have the quorum decide that listens here, and ask you on its screen; not with other options",
        ),
        argument(
            "--timeout",
            dest="timeout_secs",
            metavar="SECS",
            type=_parse_seconds,
            help=f"ask when nothing is decided by then; default {USUAL_SECS}",
        ),
    )


_AGENTS = tuple(dialect for dialect in DIALECTS if dialect != "quorum")
_PROBED = tuple(agent for agent in _AGENTS if agent != "cursor")
_HOOK_ARGUMENTS = (
    flag("--project", help="the hooks of the project in this folder, not yours"),
    flag("--yes", dest="accepted", help="write without a question"),
    *PLACES,
    argument("agent", metavar="AGENT", choices=_AGENTS, help=f"one of {', '.join(_AGENTS)}"),
)
_DECIDE = CliCommand(
    GateOptions,
    _print_decision,
    summary="Decide about one call of another agent, read from stdin: allow, ask or deny.",
    details="Whatever fails asks. With --dialect quorum exit code 0: allow; 1: deny; 3: ask. See docs/gate.md.",
    arguments=(
        ArgumentGroup(
            (
                argument(
                    "--dialect",
                    metavar="FORM",
                    choices=DIALECTS,
                    help=f"who calls, and in whose form: one of {', '.join(DIALECTS)}",
                ),
                flag(
                    "--print-environment",
                    help="print the environment in which git cannot run programs that a repository names",
                ),
            ),
            is_exclusive=True,
            is_required=True,
        ),
        *list_answer_arguments(),
        *MODELS,
        MODE,
        *PLACES,
    ),
    examples=(
        ("quorum gate --dialect claude", "as a PreToolUse hook of Claude Code"),
        ("quorum gate --dialect quorum < call.json", "for a program of your own"),
    ),
)

COMMAND = CommandGroup(
    {
        "decide": _DECIDE,
        "install": CliCommand(
            HookOptions,
            _install_hooks,
            summary="Have an agent ask the gate before each call: print the change of its settings, write it.",
            details="It asks before it writes. Hooks that are there already stay as they are.",
            arguments=_HOOK_ARGUMENTS,
            examples=(("quorum gate install claude", "for all your sessions of Claude Code"),),
        ),
        "uninstall": CliCommand(
            HookOptions,
            _uninstall_hooks,
            summary="Take back what `quorum gate install` wrote, and nothing else.",
            arguments=_HOOK_ARGUMENTS,
            examples=(("quorum gate uninstall claude", "Claude Code decides by itself again"),),
        ),
        "status": CliCommand(
            HookOptions,
            _print_status,
            summary="List the agents that are installed, and whether they ask the gate.",
            arguments=PLACES,
            examples=(("quorum gate status", "a table of agents"),),
        ),
        "probe": CliCommand(
            ProbeOptions,
            _print_probe,
            summary="Run an installed agent with the hooks, and say which of its calls it asks about.",
            details="It runs in a temporary home folder, against a model of quorum's own. No key is needed.",
            arguments=(
                flag("--json", dest="as_json", help="print the result as JSON"),
                argument(
                    "--timeout",
                    dest="limit_secs",
                    metavar="SECS",
                    type=_parse_seconds,
                    help="end a run of the agent after that; default 120. There are up to five",
                ),
                *PLACES,
                argument("agent", metavar="AGENT", choices=_PROBED, help=f"one of {', '.join(_PROBED)}"),
            ),
            examples=(("quorum gate probe claude", "after each update of Claude Code"),),
        ),
    },
    example=("quorum gate status", "which agents ask before their calls"),
    usual="decide",
)

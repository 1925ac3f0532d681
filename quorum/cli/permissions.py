"""`quorum permissions`: what would be answered about a call, or was about past ones, and the rules."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.command_line.command import CliCommand, CommandGroup, argument, flag
from quorum.command_line.options import StartOptions
from quorum.command_line.shared import MODE, MODELS, PLACES
from quorum.command_line.values import refuse_value
from quorum.errors import complain

if TYPE_CHECKING:
    from quorum.infrastructure.container import Container

CHECK_CODES = {"allow": 0, "deny": 1, "ask": 3}
"""The exit code of `quorum permissions check` for each answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckCallOptions(StartOptions):
    """The call to decide about: a tool and its arguments, as JSON, or the text of a command alone."""

    tool: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveRuleOptions(StartOptions):
    """The number of a saved rule in the list."""

    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions(StartOptions):
    """How the calls that wait for a verdict are listed."""

    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions(StartOptions):
    """The rules to try, if any, and the past calls to try them on: those of this folder, or of a file."""

    rules: tuple[str, ...] = ()
    since: str | None = None
    import_file: Path | None = None
    json: bool = False

    def find_conflict(self) -> str:
        """Which options do not go together, in a sentence; empty where all do."""
        if self.since is not None and self.import_file is not None:
            return "--since is about recorded calls, and --import takes others; name one of the two"
        return ""


def _compose(options: StartOptions, root: Path, *, needs_project: bool) -> Container:
    from quorum.application.review.approvers import NonInteractiveApprover
    from quorum.headless.printer import Unobserved
    from quorum.infrastructure.bootstrap import build_unused
    from quorum.settings import load

    loaded = load(options, root, needs_project=needs_project)
    complain(loaded.warnings)
    container = build_unused(loaded, root, approver=NonInteractiveApprover(), observer=Unobserved())
    complain(container.saved_rules().warnings)
    return container


def _check_call(options: CheckCallOptions, root: Path) -> int:
    import asyncio
    import json

    from quorum.infrastructure.permissions.in_force import try_call

    # Without a project's file that cannot be read no answer about a call holds.
    container = _compose(options, root, needs_project=True)
    complain(container.parts().calls.choice.notices)
    tools = container.tools()
    tool, arguments = options.tool, options.arguments
    if not arguments and tool not in tools:
        tool, arguments = "run_command", json.dumps({"command": tool})
    answer, account = asyncio.run(
        try_call(
            tool,
            arguments or "{}",
            tools=tools,
            schema=container.parts().calls.schema,
            review=container.review(),
            rules=container.rules().rules,
            roots=container.parts().shared.paths.roots,
        )
    )
    print(account)
    return CHECK_CODES[answer.value]


def _judge_calls(options: JudgeOptions, root: Path) -> int:
    from quorum.cli.unasked_calls import judge_calls

    return judge_calls(as_json=options.json)


def _replay_rules(options: ReplayOptions, root: Path) -> int:
    from quorum.cli.rule_replay import replay_rules

    return replay_rules(
        root,
        _compose(options, root, needs_project=False).parts(),
        tried=options.rules,
        since=options.since,
        file=options.import_file,
        as_json=options.json,
    )


def _list_rules(options: StartOptions, root: Path) -> int:
    from quorum.infrastructure.permissions.in_force import open_rule_file, render_rule_list

    container = _compose(options, root, needs_project=False)
    file = open_rule_file(os.environ)
    print(render_rule_list(container.rules().rules, file.read_rules() if file is not None else ()))
    return 0


def _remove_rule(options: RemoveRuleOptions, root: Path) -> int:
    import asyncio

    from quorum.domain.errors import ConfigError
    from quorum.infrastructure.permissions.in_force import find_saved_rule, open_rule_file

    _compose(options, root, needs_project=False)
    if (file := open_rule_file(os.environ)) is None:
        raise ConfigError("there is no home folder, and so there are no saved rules")
    chosen = find_saved_rule(options.number, file.read_rules())
    asyncio.run(file.remove(chosen.saved))
    print(f"removed {chosen.saved.rule.id}")
    return 0


def _parse_rule_number(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise refuse_value(f"{text!r} is not the number of a rule")
    return int(text)


COMMAND = CommandGroup(
    {
        "check": CliCommand(
            CheckCallOptions,
            _check_call,
            summary="Print what would be decided about one call, and why.",
            details="Nothing runs. The exit code is 0 for allow, 1 for deny, 3 for ask.",
            arguments=(
                *MODELS,
                MODE,
                *PLACES,
                argument("tool", metavar="TOOL", help="the name of a tool, or a command in quotes"),
                argument(
                    "arguments", metavar="JSON", nargs="?", default="", help="the tool's arguments, an object"
                ),
            ),
            examples=(
                ('quorum permissions check "git push origin main"', "a command"),
                ('quorum permissions check read_file \'{"path": ".env"}\'', "a call of another tool"),
                (
                    'quorum permissions check --mode accept-edits write_file \'{"path": "a", "content": ""}\'',
                    "an edit in another review mode",
                ),
            ),
        ),
        "judge": CliCommand(
            JudgeOptions,
            _judge_calls,
            summary="Judge calls that the modes auto and quorum let run, and print how often they are wrong.",
            details="A sample of them is kept: [review] sample_percent. Without a terminal it is listed.",
            arguments=(flag("--json", help="print one JSON object, and ask nothing"), *PLACES),
        ),
        "replay": CliCommand(
            ReplayOptions,
            _replay_rules,
            summary="Print what the rules would have decided about the past calls of this folder.",
            details="Nothing runs. What would run although you rejected it comes first.",
            arguments=(
                argument(
                    "--rule",
                    dest="rules",
                    metavar="RULE",
                    action="append",
                    help="a rule to try beside the others: [allow|ask|deny] TOOL(PATTERN), such as "
                    '"run_command(make *)"; repeat for more',
                ),
                argument("--since", metavar="WHEN", help="only calls since this date, or of so many days"),
                argument(
                    "--import",
                    dest="import_file",
                    metavar="FILE",
                    type=Path,
                    help="the calls of this file in place of recorded ones, one JSON object per line: tool, "
                    "arguments and answer",
                ),
                flag("--json", help="print one JSON object"),
                *PLACES,
            ),
            examples=(
                ("quorum permissions replay", "the rules as they are"),
                ("quorum permissions replay --rule 'run_command(make *)'", "what one more rule would do"),
            ),
        ),
        "list": CliCommand(
            StartOptions, _list_rules, summary="Print every rule, and where it stands.", arguments=PLACES
        ),
        "remove": CliCommand(
            RemoveRuleOptions,
            _remove_rule,
            summary="Remove a saved rule.",
            arguments=(
                *PLACES,
                argument("number", metavar="N", type=_parse_rule_number, help="its number in the list"),
            ),
        ),
    },
    example=("quorum permissions list", "every rule, and where it stands"),
)

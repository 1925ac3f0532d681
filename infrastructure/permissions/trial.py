"""What would be decided about one call, without running it: `quorum permissions check TOOL JSON`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from quorum.application.ports.tools import CommandTool, Tool, ToolSchemaPort
from quorum.application.review.review import Review
from quorum.domain.errors import ConfigError
from quorum.domain.review.permission_rules import Answer, Rule, Subject, find_matching_rules
from quorum.domain.text.fuzzy import find_nearest_word
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.config.toml_text import escape_unprintable
from quorum.infrastructure.permissions.rule_file import PlacedRule


async def try_call(
    name: str,
    arguments: str,
    *,
    tools: Mapping[str, Tool],
    schema: ToolSchemaPort,
    review: Review,
    rules: Sequence[Rule],
    roots: Sequence[str],
) -> tuple[Answer, str]:
    """The answer about a call, and an account of it for the person. `arguments` is a JSON object as text.

    The call is looked at by its tool and decided about by the review as in a run; nobody is asked, no model
    votes, and nothing runs. Raises ConfigError for a tool that does not exist and arguments that do not fit.
    """
    tool = _build_tool(name, tools)
    given = _build_arguments(arguments)
    if problems := schema.find_problems(tool.definition, given):
        raise ConfigError(f"these arguments do not fit {name}: {'; '.join(problems)}")
    subject = await _build_subject(tool, given)
    decision = review.decide(subject)
    lines = [
        f"decision: {decision.answer}",
        f"mode:     {review.mode}",
        *(f"because:  {reason}" for reason in decision.reasons),
    ]
    if subject.shell is not None:
        lines.append(f"command:  {subject.shell.reason}")
    touched = (("reads", subject.read), ("writes", subject.written))
    lines += [f"{kind + ':':<9} {path}" for kind, paths in touched for path in sorted(paths)]
    lines += [
        f"rule:     {rule.id} ({rule.source})" for rule in find_matching_rules(rules, subject, roots)
    ] or ["rule:     none"]
    return decision.answer, "\n".join(map(escape_unprintable, lines))


def render_rule_list(rules: Sequence[Rule], saved: Sequence[PlacedRule]) -> str:
    """The rules in force and all saved ones, one a line, and where each stands.

    Saved rules have the number by which they are removed.
    """
    kept = [one.saved.rule for one in saved]
    lines = [f"    {rule.id}  ({rule.source})" for rule in rules if rule not in kept]
    for number, one in enumerate(saved, start=1):
        rule, where = one.saved.rule, one.saved.project or "every folder"
        unused = "" if rule in rules else "not in force here; "
        lines.append(f"{number:>3} {rule.id}  ({unused}saved for {where}; {one.place})")
    return "\n".join(map(escape_unprintable, lines or ["there are no rules; the mode decides"]))


def find_saved_rule(number: int, saved: Sequence[PlacedRule]) -> PlacedRule:
    """The saved rule of that number in the listing. Raises ConfigError."""
    if not 1 <= number <= len(saved):
        there = f"they are numbered 1 to {len(saved)}" if saved else "there are none"
        raise ConfigError(
            f"there is no saved rule {number}; {there} (quorum permissions list). Rules of the settings are "
            "taken out of the file that they stand in"
        )
    return saved[number - 1]


async def _build_subject(tool: Tool, arguments: JsonObject) -> Subject:
    command, shell = None, None
    if isinstance(tool, CommandTool):
        command, shell = tool.find_command(arguments), await tool.judge(arguments)
    return Subject(
        tool=tool.definition.name,
        risk=tool.definition.risk,
        access=tool.definition.determine_access(arguments),
        arguments=arguments,
        command=command,
        shell=shell,
    )


def _build_tool(name: str, tools: Mapping[str, Tool]) -> Tool:
    if (tool := tools.get(name)) is not None:
        return tool
    near = find_nearest_word(name, tuple(tools))
    hint = f"did you mean {near}?" if near else f"the tools are {', '.join(tools)}"
    raise ConfigError(f'there is no tool "{name}"; {hint}')


def _build_arguments(text: str) -> JsonObject:
    try:
        arguments: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f'the arguments are no JSON ({error}); write an object, such as \'{{"path": "a.py"}}\''
        ) from error
    if not isinstance(arguments, dict):
        raise ConfigError('the arguments must be a JSON object, such as \'{"path": "a.py"}\'')
    return arguments

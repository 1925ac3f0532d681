"""The settings of one custom tool: a table `[tools.custom.NAME]`."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field

from quorum.domain.calls.tool import ParameterType, RiskLevel
from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.about import About
from quorum.infrastructure.config.command_template import (
    DEFAULT_TIMEOUT_SECS,
    CommandTemplate,
    CustomOutputKind,
    CustomParameter,
    CustomToolDeclaration,
)

TOOL_NAME = r"\A[A-Za-z0-9_-]{1,64}\Z"
NAME_EXPECTED = "1 to 64 letters, digits, - and _"

_SAID = r"\S"


class CustomParameterTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One argument of a custom tool."""

    description: Annotated[
        str,
        Meta(pattern=_SAID),
        About(
            description="The description of the argument for the model.",
            expected="a text that is not empty",
        ),
    ]
    type: Annotated[
        ParameterType,
        About(
            description="string, path (must be in the workspace), number, integer, boolean or array"
            " (of strings).",
        ),
    ] = "string"
    required: Annotated[bool, About(description="Whether a call must have it.")] = False
    allow_dash: Annotated[
        bool,
        About(
            description='Whether its value may begin a word of the command with "-", which the '
            "program could take for an option.",
        ),
    ] = False


class CustomToolTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One custom tool: what the model reads about it, and what it runs."""

    description: Annotated[
        str,
        Meta(pattern=_SAID),
        About(
            description="The description for the model: what the tool does and when to use it.",
            expected="a text that is not empty",
        ),
    ]
    command: Annotated[
        tuple[str, ...],
        Meta(min_length=1),
        About(
            description="The program and its arguments, run without a shell in the workspace's "
            "root. {NAME} is the value of the parameter NAME, inserted once and never "
            "expanded; {{ and }} are literal braces.",
            expected='a list of strings that begins with a program, for example ["make", "{target}"]',
        ),
    ]
    risk: Annotated[
        RiskLevel,
        About(description="high: each call is reviewed. low: calls run at once."),
    ] = RiskLevel.HIGH
    timeout_secs: Annotated[
        int,
        Meta(ge=1, le=86_400),
        About(
            description="Seconds after which the program and all its processes are killed.",
        ),
    ] = DEFAULT_TIMEOUT_SECS
    sandbox: Annotated[
        bool,
        About(
            description="true: the program runs in the sandbox, with the settings of "
            "tools.run_command. false: it has your rights.",
        ),
    ] = False
    inline_bytes: Annotated[
        int,
        Meta(ge=0, le=10_000_000),
        About(
            description="Up to this length its output stays in the conversation in full. 0: as in "
            "tools.output.",
        ),
    ] = 0
    summary_bytes: Annotated[
        int,
        Meta(ge=0, le=1_000_000),
        About(
            description="How much of the beginning and the end of a longer output the model gets. 0: the "
            "summary of tools.output.",
        ),
    ] = 0
    output: Annotated[
        CustomOutputKind,
        About(
            description="What it prints. json: its standard output is read as JSON; a long one is summed up by "
            "its keys or first entries, and the model can look at parts of it. text: it stays as it is.",
        ),
    ] = "text"
    parameters: Annotated[
        Mapping[str, CustomParameterTable],
        About(
            description="The arguments of a call, one table per argument.",
            names=TOOL_NAME,
            names_expected=NAME_EXPECTED,
        ),
    ] = field(default_factory=dict)


def build_declaration(name: str, table: CustomToolTable) -> CustomToolDeclaration:
    """What a table says, as the tool takes it."""
    return CustomToolDeclaration(
        name=name,
        description=table.description,
        command=table.command,
        parameters=tuple(
            CustomParameter(
                name=own_name,
                type=parameter.type,
                description=parameter.description,
                required=parameter.required,
                allow_dash=parameter.allow_dash,
            )
            for own_name, parameter in table.parameters.items()
        ),
        risk=table.risk,
        timeout_secs=table.timeout_secs,
        sandbox=table.sandbox,
        inline_bytes=table.inline_bytes or None,
        summary_bytes=table.summary_bytes or None,
        output=table.output,
    )


def find_unfit_command(table: Mapping[str, object]) -> str | None:
    """What is wrong with a custom tool as a whole: its command and its parameters must fit each other."""
    declared = build_declaration("", msgspec.convert(table, CustomToolTable, strict=True))
    try:
        CommandTemplate(declared.command, declared.parameters)
    except ConfigError as error:
        return str(error)
    return None

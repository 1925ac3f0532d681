"""The settings `[tools]`: which tools there are, how their calls are ordered, and the bounds of each.

`[tools.web]` says whether and how a model reaches the web.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from quorum.domain.calls.tool import ParameterType, RiskLevel
from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.settings import About, ProjectRule, is_web_address
from quorum.domain.shell.network_hosts import BadHost, HostPattern, read_entry
from quorum.domain.text.output import COMMAND_LIMITS, OutputLimits
from quorum.infrastructure.config.command_template import (
    DEFAULT_TIMEOUT_SECS,
    CommandTemplate,
    CustomOutputKind,
    CustomParameter,
    CustomToolDeclaration,
)

SearchName: TypeAlias = Literal["", "searxng", "brave"]

_VARIABLE = r"\A([A-Za-z_][A-Za-z0-9_]*)?\Z"


class WebTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whether and how a model reaches the web."""

    fetch: Annotated[
        bool,
        About(
            description="Give the model web_fetch, which reads public web pages without asking you."
            " A page can try to persuade the model (prompt injection), and an address "
            "can carry what the model has read to the owner of the server.",
        ),
    ] = False
    search: Annotated[
        SearchName,
        About(
            description="Give the model web_search, with searxng (your own instance, with json "
            "among its search.formats) or brave (the Brave Search API, which needs a "
            "key). Empty: no search.",
            expected='"searxng", "brave", or "" for no search',
        ),
    ] = ""
    search_url: Annotated[
        str,
        About(
            description="Address of the search service; it may be on a private network. Required "
            "for searxng; for brave, empty means the public service.",
            expected='an address that starts with http:// or https://, for example "http://localhost:8888"',
            accepts=is_web_address,
        ),
    ] = ""
    search_key_env: Annotated[
        str,
        Meta(pattern=_VARIABLE),
        About(
            description="Name of the environment variable with the key of the search service; never"
            " the key itself.",
            expected="the name of an environment variable (not the key itself)",
            unquoted=True,
        ),
    ] = ""
    max_bytes: Annotated[
        int,
        Meta(ge=1024, le=100_000_000),
        About(description="How much of one answer is read, counted after decompression."),
    ] = 5_000_000
    timeout_secs: Annotated[
        float,
        Meta(gt=0, le=600),
        About(description="Seconds for one fetch or search, redirects included."),
    ] = 30.0


PlannerName: TypeAlias = Literal["serializable", "partition", "risk_split", "all_parallel"]

_MODES_WITHOUT_NETWORK = " or ".join(mode for mode in Mode if not mode.traits.network)


NetworkChoice: TypeAlias = Literal["off", "auto", "on"] | tuple[str, ...]


def _find_network_flaw(value: object) -> str | None:
    for entry in value if isinstance(value, list | tuple) else ():
        try:
            read_entry(entry)
        except BadHost as problem:
            return str(problem)
    return None


def _find_hosts_flaw(value: object) -> str | None:
    given = value if isinstance(value, list | tuple) else ()
    try:
        hosts = [HostPattern.parse(str(entry)) for entry in given]
    except BadHost as problem:
        return str(problem)
    return None if hosts else 'name at least one host, for example ["api.github.com"]'


class CommandSecretTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A secret that commands use without having it."""

    hosts: Annotated[
        tuple[str, ...],
        About(
            description="The hosts that the secret is for, which commands must also be allowed to reach. On "
            "the way to them the proxy opens TLS, and puts the secret into headers in the place of what "
            "commands have of it.",
            project=ProjectRule.OWN,
            expected='a list of hosts, for example ["api.github.com"]',
            flaw=_find_hosts_flaw,
        ),
    ]
    command: Annotated[
        tuple[str, ...],
        About(
            description="The program and arguments that print the secret, run outside the sandbox when it is "
            "first needed. Empty: it is in the environment variable of this name.",
            project=ProjectRule.OWN,
        ),
    ] = ()


class RunCommandTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The bounds of a shell command."""

    timeout_secs: Annotated[
        int,
        Meta(ge=1, le=86_400),
        About(
            description="Seconds after which a command and all its processes are killed, unless the"
            " call asks for another limit.",
            project=ProjectRule.LOWER,
        ),
    ] = 60
    max_output_bytes: Annotated[
        int,
        Meta(ge=1024, le=10_000_000),
        About(
            description="How much of a command's output is kept in memory: the beginning and the "
            "end. A longer output goes to the store in full; without a store, the "
            "missing part is only counted.",
            project=ProjectRule.LOWER,
        ),
    ] = 32768
    inline_bytes: Annotated[
        int,
        Meta(ge=0, le=10_000_000),
        About(
            description="Up to this length the model gets a command's output in full, instead of "
            "tools.output.inline_bytes.",
            project=ProjectRule.LOWER,
        ),
    ] = COMMAND_LIMITS.inline_bytes
    summary_bytes: Annotated[
        int,
        Meta(ge=200, le=1_000_000),
        About(
            description="How much of the beginning and the end of a longer output the model gets; "
            "it can read the rest with the tool inspect.",
            project=ProjectRule.LOWER,
        ),
    ] = COMMAND_LIMITS.summary_bytes
    max_jobs: Annotated[
        int,
        Meta(ge=0, le=1_000),
        About(
            description="How many commands of a session may run in the background at once. 0: none.",
            project=ProjectRule.LOWER,
        ),
    ] = 20
    sandbox: Annotated[
        Literal["require", "auto", "off"],
        About(
            description="Whether commands run in a sandbox (bubblewrap, Linux): they write only in "
            "the workspace, except protected paths, and see neither your home nor other"
            " processes. auto: use it if it works; if not, quorum says so. require: no "
            "command runs without it.",
            project=ProjectRule.STRICTER,
        ),
    ] = "auto"
    network: Annotated[
        NetworkChoice,
        About(
            description="Whether a command in the sandbox reaches the network. auto: not in the mode "
            f"{_MODES_WITHOUT_NETWORK}, in which nobody looks at each command, but for hosts that you allow. A "
            'list of hosts: in every mode only these, for example ["pypi.org", "*.pythonhosted.org", '
            '"example.org:8443"]. A range such as "10.0.0.0/8" lets their names lead to private addresses.',
            project=ProjectRule.STRICTER,
            expected='off, auto, on, or a list of hosts, for example ["pypi.org", "*.pythonhosted.org"]',
            flaw=_find_network_flaw,
        ),
    ] = "auto"
    sandbox_readable: Annotated[
        tuple[str, ...],
        About(
            description="Additional files and folders that commands in the sandbox may read, "
            'besides the tool folders in your home, for example "~/.cache/huggingface".'
            " Relative paths begin at the workspace.",
        ),
    ] = ()
    sandbox_writable: Annotated[
        tuple[str, ...],
        About(
            description="Additional files and folders that commands in the sandbox may write, "
            'besides the workspace, for example "~/.cargo/registry", or protected ones '
            'in it, for example ".git". Files that they write there may later run '
            "outside the sandbox.",
        ),
    ] = ()
    secrets: Annotated[
        Mapping[str, CommandSecretTable],
        About(
            description="Secrets that commands in the sandbox use without having them, one table for each "
            "environment variable. It holds a random placeholder: docs/sandbox.md#secrets.",
            project=ProjectRule.OWN,
            names=r"\A[A-Za-z_][A-Za-z0-9_]{0,99}\Z",
            names_expected="the name of an environment variable",
            names_example="GITHUB_TOKEN",
        ),
    ] = field(default_factory=dict)

    @property
    def limits(self) -> OutputLimits:
        """How much the model gets of what a command prints."""
        return replace(COMMAND_LIMITS, inline_bytes=self.inline_bytes, summary_bytes=self.summary_bytes)


class TaskTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The bounds of subagents. What they spend counts against the caps of [agent]."""

    max_tool_turns: Annotated[
        int,
        Meta(ge=1, le=10_000),
        About(
            description="After so many rounds of tool calls a subagent is asked once more, for what it has "
            "found out, and ends.",
            project=ProjectRule.LOWER,
        ),
    ] = 50
    max_parallel: Annotated[
        int,
        Meta(ge=1, le=100),
        About(
            description="How many subagents of a session work at once; more wait for their turn.",
            project=ProjectRule.LOWER,
        ),
    ] = 8


class OutputTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """When a tool's output is kept aside, and what the model is shown of it. Bytes are of UTF-8."""

    store: Annotated[
        bool,
        About(
            description="Store long outputs and give the model a summary; it can read the rest with"
            " the tool inspect. false: everything stays in the conversation.",
        ),
    ] = True
    inline_bytes: Annotated[
        int,
        Meta(ge=0, le=10_000_000),
        About(
            description="Up to this length an output stays in the conversation in full. Tools that "
            "return pages have their own limits.",
        ),
    ] = 800
    summary_bytes: Annotated[
        int, Meta(ge=100, le=100_000), About(description="The maximum length of a summary.")
    ] = 400
    head_lines: Annotated[
        int, Meta(ge=0, le=1000), About(description="Lines from the beginning in a summary.")
    ] = 5
    tail_lines: Annotated[int, Meta(ge=0, le=1000), About(description="Lines from the end in a summary.")] = 3

    @property
    def limits(self) -> OutputLimits:
        """When an output is kept aside, and how long its summary may be."""
        return OutputLimits(
            inline_bytes=self.inline_bytes,
            summary_bytes=self.summary_bytes,
            head_lines=self.head_lines,
            tail_lines=self.tail_lines,
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


class ToolsTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which tools there are and how their calls are ordered."""

    planner: Annotated[
        PlannerName,
        About(
            description="How the calls of one answer are ordered. serializable: calls that depend "
            "on each other run in the model's order, all others in parallel. partition:"
            " neighbouring calls that change nothing run together, every other call "
            "alone. risk_split: first all low-risk calls together, then the high-risk "
            "ones one by one. all_parallel: all at once. With each of them, two changes"
            " of one file keep the model's order.",
        ),
    ] = "serializable"
    enabled: Annotated[
        tuple[str, ...],
        About(description="Names of the tools the model gets. Empty: all.", project=ProjectRule.NARROW),
    ] = ()
    disabled: Annotated[
        tuple[str, ...],
        About(description="Names of tools the model does not get.", project=ProjectRule.ADD),
    ] = ()
    references: Annotated[
        bool,
        About(
            description="Issues and pull requests that a prompt names, such as #12, owner/repo#3 or an "
            "address, are read with gh and attached, as data. false: they are left to the model.",
        ),
    ] = True
    output: Annotated[OutputTable, About(description="Long outputs of tools.")] = OutputTable()
    run_command: Annotated[RunCommandTable, About(description="Limits of shell commands.")] = RunCommandTable()
    task: Annotated[TaskTable, About(description="Limits of subagents, which the tool task runs.")] = (
        TaskTable()
    )
    web: Annotated[WebTable, About(description="The web tools, web_fetch and web_search. Off by default.")] = (
        WebTable()
    )
    custom: Annotated[
        Mapping[str, CustomToolTable],
        About(
            description="Your own tools: a program with its arguments, run without a shell, one "
            "table per tool. A model calls them like any other tool. The result is "
            "exactly what the program prints to its standard output, or an error if its"
            " exit code is not 0.",
            problem=find_unfit_command,
            names=TOOL_NAME,
            names_expected=NAME_EXPECTED,
        ),
    ] = field(default_factory=dict)

"""Every setting there is: its name, type, bounds, default, explanation, and what a project file may do to it.

The one source of truth. The loader, the errors, the commented reference and the documentation test read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, field

from domain.path_policy import PROTECTED, SENSITIVE
from domain.review import Mode
from infrastructure.config.about import About, ProjectRule
from infrastructure.config.custom_tool_table import NAME_EXPECTED, TOOL_NAME, CustomToolTable, unfit_command
from infrastructure.config.hook_table import HookTable, lacks_one_program
from infrastructure.config.web_address import is_web_address
from infrastructure.config.web_table import WebTable

ProviderType: TypeAlias = Literal["anthropic", "openai", "openai-chat", "offline"]
PlannerName: TypeAlias = Literal["serializable", "partition", "risk_split", "all_parallel"]

_HEADER_NAME = r"\A[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z"
_VARIABLE = r"\A([A-Za-z_][A-Za-z0-9_]*)?\Z"
_HEADER_VALUE = r"\A[\t -~]*\Z"
_THEME = r"\A[!-~]{1,100}\Z"
_MODEL = r"\A([A-Za-z0-9_-]+/[!-~]+)?\Z"
_NEVER = ProjectRule.NEVER


class ModelsTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which model does what."""

    decision: Annotated[
        str,
        Meta(pattern=_MODEL),
        About(
            description='The model that works with you, as "provider/model" (split at the first slash). Empty: '
            "anthropic/claude-sonnet-5-5 if the key of [providers.anthropic] is set, else openai/gpt-5.4 if "
            "that of [providers.openai] is set, else, if no other provider is configured, offline/offline. "
            "On the command line: -m MODEL or -m decision=MODEL.",
            project=_NEVER,
            expected='"provider/model", for example "anthropic/claude-sonnet-5-5"',
        ),
    ] = ""


class ProviderTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How one provider is reached."""

    type: Annotated[
        ProviderType,
        About(
            description="What the server speaks: anthropic (Messages), openai (Responses), openai-chat (Chat "
            "Completions: Ollama, vLLM, llama.cpp, LM Studio, OpenRouter, …), or offline (no model at all).",
            project=_NEVER,
        ),
    ]
    base_url: Annotated[
        str,
        About(
            description="Address of the server: for anthropic without the final /v1, for openai and "
            "openai-chat with it. Empty: the public address. Where it is not set, ANTHROPIC_BASE_URL and "
            "OPENAI_BASE_URL count for the providers of those names.",
            project=_NEVER,
            expected='an address that starts with http:// or https://, for example "http://localhost:11434/v1"',
            accepts=is_web_address,
        ),
    ] = ""
    api_key_env: Annotated[
        str,
        Meta(pattern=_VARIABLE),
        About(
            description="Name of the environment variable that holds the key; never the key itself. Empty: "
            "the server wants no key.",
            project=_NEVER,
            expected="the name of an environment variable (not the key itself)",
            unquoted=True,
        ),
    ] = ""
    timeout_secs: Annotated[
        float,
        Meta(gt=0, le=3600),
        About(
            description="Seconds of silence, before the answer or between two pieces of it, after which a "
            "request has failed.",
            project=_NEVER,
        ),
    ] = 120.0
    max_retries: Annotated[
        int,
        Meta(ge=0, le=20),
        About(
            description="How often a request that failed before its first byte is sent again.",
            project=_NEVER,
        ),
    ] = 2
    max_output_tokens: Annotated[
        int,
        Meta(ge=0, le=1_000_000),
        About(
            description="The most tokens that one answer may have. 0: the server's own bound, and 16384 for "
            "anthropic, which demands one.",
            project=_NEVER,
        ),
    ] = 0
    headers: Annotated[
        Mapping[str, Annotated[str, Meta(pattern=_HEADER_VALUE)]],
        About(
            description='Extra headers of every request, for example { "X-Team" = "tools" }. Values are not '
            "shown by `quorum config show`.",
            project=_NEVER,
            expected="a string of printable ASCII characters",
            secret=True,
            unquoted=True,
            names=_HEADER_NAME,
            names_expected="the characters of a header name only",
        ),
    ] = field(default_factory=dict)


def _built_in_providers() -> dict[str, ProviderTable]:
    return {
        "anthropic": ProviderTable(type="anthropic", api_key_env="ANTHROPIC_API_KEY"),
        "openai": ProviderTable(
            type="openai", base_url="https://api.openai.com/v1", api_key_env="OPENAI_API_KEY"
        ),
        "offline": ProviderTable(type="offline"),
    }


class AgentTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How far the agent goes by itself."""

    max_tool_turns: Annotated[
        int,
        Meta(ge=1, le=10_000),
        About(
            description="How many rounds of answer, tool calls and results one prompt may take. At the limit "
            "the model is asked once, without tools, to say where things stand.",
            project=ProjectRule.LOWER,
        ),
    ] = 10
    max_turn_end_retries: Annotated[
        int,
        Meta(ge=0, le=100),
        About(
            description="How often hooks may send the model back to work at the end of one turn.",
            project=ProjectRule.LOWER,
        ),
    ] = 3


class ReviewTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which calls are asked about."""

    mode: Annotated[
        Mode,
        About(
            description="read-only: nothing that changes anything runs. ask: every risky call is put to you. "
            "accept-edits: edits inside the workspace run, all else risky is put to you. auto: everything "
            "runs. Protected and sensitive paths are asked about in every mode. On the command line: --mode.",
            project=ProjectRule.STRICTER,
        ),
    ] = Mode.ASK
    protected: Annotated[
        tuple[str, ...],
        About(
            description="Paths that are asked about before they are written, in every mode. Patterns in the "
            "manner of ignore files, without regard to case. A list here replaces the default.",
            project=ProjectRule.ADD,
        ),
    ] = PROTECTED
    sensitive: Annotated[
        tuple[str, ...],
        About(
            description="Paths that are asked about even before they are read. Same patterns, same rule.",
            project=ProjectRule.ADD,
        ),
    ] = SENSITIVE


class RunCommandTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The bounds of a shell command."""

    timeout_secs: Annotated[
        int,
        Meta(ge=1, le=86_400),
        About(
            description="Seconds after which a command and all it started are ended, unless the call asks "
            "for another limit.",
            project=ProjectRule.LOWER,
        ),
    ] = 60
    max_output_bytes: Annotated[
        int,
        Meta(ge=1024, le=10_000_000),
        About(
            description="How much of a command's output is kept for the model: the beginning and the end; "
            "what is left out in between is counted.",
            project=ProjectRule.LOWER,
        ),
    ] = 32768


class OutputTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """When a tool's output is kept aside, and what the model is shown of it. Bytes are of UTF-8."""

    store: Annotated[
        bool,
        About(
            description="Keep long outputs aside and give the model a summary, which it can open piece by "
            "piece with the tool inspect. false: everything stays in the conversation.",
            project=_NEVER,
        ),
    ] = True
    inline_bytes: Annotated[
        int,
        Meta(ge=0, le=10_000_000),
        About(
            description="Up to this length an output stays in the conversation whole. Tools that page "
            "themselves have limits of their own.",
            project=_NEVER,
        ),
    ] = 800
    summary_bytes: Annotated[
        int, Meta(ge=100, le=100_000), About(description="The longest summary.", project=_NEVER)
    ] = 400
    head_lines: Annotated[
        int, Meta(ge=0, le=1000), About(description="Lines of the beginning in a summary.", project=_NEVER)
    ] = 5
    tail_lines: Annotated[
        int, Meta(ge=0, le=1000), About(description="Lines of the end in a summary.", project=_NEVER)
    ] = 3


class ToolsTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which tools there are and how their calls are ordered."""

    planner: Annotated[
        PlannerName,
        About(
            description="How the calls of one answer are ordered. serializable: calls that depend on each "
            "other run in the model's order, all others at the same time. partition: neighbouring calls that "
            "change nothing run together, every other call alone. risk_split: first all low-risk calls "
            "together, then the high-risk ones one by one. all_parallel: all at once. Under each of them two "
            "changes of one file keep the model's order.",
            project=_NEVER,
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
    output: Annotated[OutputTable, About(description="Long outputs of tools.")] = OutputTable()
    run_command: Annotated[RunCommandTable, About(description="Bounds of shell commands.")] = RunCommandTable()
    web: Annotated[
        WebTable, About(description="The web tools, web_fetch and web_search. Off unless asked for here.")
    ] = WebTable()
    custom: Annotated[
        Mapping[str, CustomToolTable],
        About(
            description="Tools of your own: a program with its arguments, run without a shell, one table each. "
            "A model calls them like any other tool; what it gets is exactly what the program prints to its "
            "standard output, or an error if that exits with anything but 0.",
            project=_NEVER,
            problem=unfit_command,
            names=TOOL_NAME,
            names_expected=NAME_EXPECTED,
        ),
    ] = field(default_factory=dict)


class StorageTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where quorum keeps what outlives a run."""

    blobs: Annotated[
        str,
        Meta(max_length=4096),
        About(
            description="Folder of the outputs that are kept aside. Empty: blobs in the state folder "
            "($XDG_STATE_HOME/quorum, usually ~/.local/state/quorum).",
            project=_NEVER,
            expected="the path of a folder",
        ),
    ] = ""


class TuiTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The full-screen app."""

    theme: Annotated[
        str,
        Meta(pattern=_THEME),
        About(
            description="Name of a colour theme, as the command palette (Ctrl+P, Theme) lists them.",
            project=ProjectRule.FREE,
            expected="the name of a theme",
        ),
    ] = "quorum"
    notifications: Annotated[
        bool,
        About(
            description="Ring the terminal's bell when an answer is needed or a long turn has ended.",
            project=ProjectRule.FREE,
        ),
    ] = True


class Settings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All settings, complete and valid."""

    models: Annotated[ModelsTable, About(description="Which model does what.")] = ModelsTable()
    providers: Annotated[
        Mapping[str, ProviderTable],
        About(
            description="How models are reached, one table per provider. anthropic, openai and offline exist "
            "without being declared; a table of their name changes only the keys it sets."
        ),
    ] = field(default_factory=_built_in_providers)
    agent: Annotated[AgentTable, About(description="How far the agent goes by itself.")] = AgentTable()
    review: Annotated[ReviewTable, About(description="Which calls are asked about.")] = ReviewTable()
    tools: Annotated[ToolsTable, About(description="Which tools there are.")] = ToolsTable()
    hooks: Annotated[
        tuple[HookTable, ...],
        About(
            description="Code of your own around requests, calls, results and the end of a turn: one table "
            "[[hooks]] each, in files only.",
            project=_NEVER,
            problem=lacks_one_program,
        ),
    ] = ()
    storage: Annotated[StorageTable, About(description="Where things are kept.")] = StorageTable()
    tui: Annotated[TuiTable, About(description="The full-screen app.")] = TuiTable()

"""Every setting there is: its name, type, bounds, default, explanation, and what a project file may do to it.

The one source of truth. The loader, the errors, the commented reference and the documentation test read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, field

from domain.review.mode import Mode
from domain.text.output import COMMAND_LIMITS
from infrastructure.config.about import About, ProjectRule
from infrastructure.config.context_table import ContextTable
from infrastructure.config.custom_tool_table import NAME_EXPECTED, TOOL_NAME, CustomToolTable, unfit_command
from infrastructure.config.diagnostics_table import (
    DiagnosticsTable,
    find_repeated_diagnostics,
    find_unfit_placeholder,
)
from infrastructure.config.guard_table import GuardTable, find_repeated_guard, foreign_setting
from infrastructure.config.hook_table import HookTable, lacks_one_program
from infrastructure.config.models_table import ModelsTable
from infrastructure.config.permission_table import PermissionTable
from infrastructure.config.price_table import PRICES, ModelPriceTable
from infrastructure.config.provider_table import ProviderTable, load_built_in_providers
from infrastructure.config.quorum_table import QuorumTable
from infrastructure.config.review_table import ReviewTable
from infrastructure.config.web_table import WebTable

PlannerName: TypeAlias = Literal["serializable", "partition", "risk_split", "all_parallel"]
LayoutName: TypeAlias = Literal["auto", "default", "wide", "stacked", "minimal"]

STORAGE_SCHEMES = ("sqlite",)
"""What the URL of a storage can begin with; each has its case in `infrastructure/storage.py`."""

_THEME = r"\A[!-~]{1,100}\Z"
_NEVER = ProjectRule.NEVER
_MODES_WITHOUT_NETWORK = " or ".join(mode for mode in Mode if not mode.traits.network)


def _names_a_storage(url: str) -> bool:
    return not url or url.partition(":///")[0] in STORAGE_SCHEMES


class AgentTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    "Limits of one turn, and of what a session spends."

    max_tool_turns: Annotated[
        int,
        Meta(ge=1, le=10_000),
        About(
            description="The maximum number of rounds of answer, tool calls and results for one "
            "prompt. At the limit the model is asked once more, without tools, for a "
            "summary.",
            project=ProjectRule.LOWER,
        ),
    ] = 100
    max_cost_usd: Annotated[
        float,
        Meta(ge=0, le=1_000_000),
        About(
            description="The most that a session may cost, in US dollars, all its models included; 0: no cap. "
            "Before a request would exceed it you are asked whether to raise it; without the app the run ends "
            "with the status limit. It needs the prices of all models: docs/limits.md.",
            project=ProjectRule.CAP,
        ),
    ] = 0.0
    max_cost_usd_per_turn: Annotated[
        float,
        Meta(ge=0, le=1_000_000),
        About(
            description="The same for one turn: a prompt and all that follows from it.", project=ProjectRule.CAP
        ),
    ] = 0.0
    max_tokens: Annotated[
        int,
        Meta(ge=0, le=1_000_000_000_000),
        About(
            description="The most tokens that a session may use, prompts, caches and answers of all its models "
            "included; 0: no cap.",
            project=ProjectRule.CAP,
        ),
    ] = 0
    max_tokens_per_turn: Annotated[
        int,
        Meta(ge=0, le=1_000_000_000_000),
        About(description="The same for one turn.", project=ProjectRule.CAP),
    ] = 0
    instructions_max_bytes: Annotated[
        int,
        Meta(ge=0, le=1_000_000),
        About(
            description="How many bytes of instruction files (AGENTS.md, CLAUDE.md and what they import) every "
            "request carries. The files nearest to the working directory get room first; 0 leaves all out.",
            project=ProjectRule.LOWER,
        ),
    ] = 32_768
    max_turn_end_retries: Annotated[
        int,
        Meta(ge=0, le=100),
        About(
            description="How often hooks may send the model back to work at the end of one turn, and how often"
            " diagnostics may.",
            project=ProjectRule.LOWER,
        ),
    ] = 3


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
        Literal["off", "auto", "on"],
        About(
            description="Whether a command in the sandbox reaches the network. auto: not in the mode "
            f"{_MODES_WITHOUT_NETWORK}, in which nobody looks at each command.",
            project=ProjectRule.STRICTER,
        ),
    ] = "auto"
    sandbox_readable: Annotated[
        tuple[str, ...],
        About(
            description="Additional files and folders that commands in the sandbox may read, "
            'besides the tool folders in your home, for example "~/.cache/huggingface".'
            " Relative paths begin at the workspace.",
            project=_NEVER,
        ),
    ] = ()
    sandbox_writable: Annotated[
        tuple[str, ...],
        About(
            description="Additional files and folders that commands in the sandbox may write, "
            'besides the workspace, for example "~/.cargo/registry", or protected ones '
            'in it, for example ".git". Files that they write there may later run '
            "outside the sandbox.",
            project=_NEVER,
        ),
    ] = ()


class OutputTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """When a tool's output is kept aside, and what the model is shown of it. Bytes are of UTF-8."""

    store: Annotated[
        bool,
        About(
            description="Store long outputs and give the model a summary; it can read the rest with"
            " the tool inspect. false: everything stays in the conversation.",
            project=_NEVER,
        ),
    ] = True
    inline_bytes: Annotated[
        int,
        Meta(ge=0, le=10_000_000),
        About(
            description="Up to this length an output stays in the conversation in full. Tools that "
            "return pages have their own limits.",
            project=_NEVER,
        ),
    ] = 800
    summary_bytes: Annotated[
        int, Meta(ge=100, le=100_000), About(description="The maximum length of a summary.", project=_NEVER)
    ] = 400
    head_lines: Annotated[
        int, Meta(ge=0, le=1000), About(description="Lines from the beginning in a summary.", project=_NEVER)
    ] = 5
    tail_lines: Annotated[
        int, Meta(ge=0, le=1000), About(description="Lines from the end in a summary.", project=_NEVER)
    ] = 3


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
    run_command: Annotated[RunCommandTable, About(description="Limits of shell commands.")] = RunCommandTable()
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
            project=_NEVER,
            problem=unfit_command,
            names=TOOL_NAME,
            names_expected=NAME_EXPECTED,
        ),
    ] = field(default_factory=dict)


class StorageTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where quorum keeps what outlives a run."""

    url: Annotated[
        str,
        Meta(max_length=4096),
        About(
            description="Database of the sessions and of former file contents: an SQLite file on a "
            "local disk, for example sqlite:////home/me/ledger.sqlite. Empty: "
            "ledger.sqlite in the state folder ($XDG_STATE_HOME/quorum, usually "
            "~/.local/state/quorum).",
            project=ProjectRule.OWN,
            expected="the URL of an SQLite file, sqlite:///PATH",
            accepts=_names_a_storage,
        ),
    ] = ""
    blobs: Annotated[
        str,
        Meta(max_length=4096),
        About(
            description="Folder of stored outputs. Empty: blobs in the state folder "
            "($XDG_STATE_HOME/quorum, usually ~/.local/state/quorum).",
            project=ProjectRule.OWN,
            expected="the path of a folder",
        ),
    ] = ""


class TuiTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The full-screen app."""

    theme: Annotated[
        str,
        Meta(pattern=_THEME),
        About(
            description="Name of a colour theme, as /theme lists them. quorum-ansi uses the terminal's own 16 "
            "colours, quorum-contrast is for low vision; auto is the dark or the light one, by COLORFGBG.",
            project=ProjectRule.FREE,
            expected="the name of a theme",
        ),
    ] = "quorum"
    layout: Annotated[
        LayoutName,
        About(
            description="The layout of the screen: default has the side panel on the right, wide "
            "gives it more space, stacked puts it below, minimal shows only transcript,"
            " prompt and status bar. auto depends on the size of the terminal.",
            project=ProjectRule.FREE,
        ),
    ] = "auto"
    editing: Annotated[
        Literal["emacs", "vim"],
        About(
            description="How the prompt is edited: with the keys of Emacs and shells, or the modes of Vim.",
            project=ProjectRule.OWN,
        ),
    ] = "emacs"
    statusline: Annotated[
        tuple[str, ...],
        About(
            description="A program, with its arguments, that prints a line below the status bar. It gets the "
            "session as JSON on its standard input, and runs again when that changes, at most three times a "
            "second.",
            project=ProjectRule.OWN,
            expected='a program and its arguments, such as ["~/.claude/statusline.sh"]',
        ),
    ] = ()
    notifications: Annotated[
        bool,
        About(
            description="Notify when an answer is needed or a long turn has ended, unless the "
            "terminal reports that it has the focus.",
            project=ProjectRule.FREE,
        ),
    ] = True
    notify_by: Annotated[
        Literal["auto", "bell", "desktop"],
        About(
            description="How to notify: the terminal's bell, or a desktop notification. auto: a "
            "desktop notification if the terminal is known to show them and to report "
            "its focus, otherwise the bell.",
            project=ProjectRule.FREE,
        ),
    ] = "auto"
    screen_reader: Annotated[
        bool,
        About(
            description="Linear mode for screen readers: one column of plain lines, changes of "
            "state in words, nothing that counts or moves, the terminal's cursor at the"
            " focus.",
            project=ProjectRule.FREE,
        ),
    ] = False
    keys: Annotated[
        Mapping[str, str | tuple[str, ...]],
        About(
            description="Other keys for actions: the name of an action, and its key or a list of "
            'keys, such as redraw = "f5" or toggle_fold = ["ctrl+o", "f6"]. `quorum '
            "config keys` lists the names with their keys. Esc, Ctrl+C, Enter and the "
            "arrow keys keep their actions.",
            project=ProjectRule.OWN,
            expected='a key, such as "ctrl+g", or a list of keys',
            names_expected="the name of an action (quorum config keys lists them)",
            names_example="redraw",
        ),
    ] = field(default_factory=dict)


class Settings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All settings, complete and valid."""

    models: Annotated[ModelsTable, About(description="Which model does what.")] = ModelsTable()
    providers: Annotated[
        Mapping[str, ProviderTable],
        About(
            description="The providers of models, one table per provider. anthropic, openai, "
            "copilot and offline exist without a declaration; a table with their name "
            "changes only the keys it sets."
        ),
    ] = field(default_factory=load_built_in_providers)
    prices: Annotated[Mapping[str, ModelPriceTable], PRICES] = field(default_factory=dict)
    agent: Annotated[AgentTable, About(description="Limits of one turn, and of what a session spends.")] = (
        AgentTable()
    )
    context_budget: Annotated[
        ContextTable, About(description="How a conversation is kept within the context window of its model.")
    ] = ContextTable()
    review: Annotated[ReviewTable, About(description="Which calls need your approval.")] = ReviewTable()
    permissions: Annotated[
        PermissionTable,
        About(
            description="Rules about calls, written TOOL or TOOL(PATTERN); docs/permissions.md "
            "explains them. `quorum permissions check` says what they decide about one "
            "call."
        ),
    ] = PermissionTable()
    quorum: Annotated[QuorumTable, About(description="When the votes of the models approve a call.")] = (
        QuorumTable()
    )
    guards: Annotated[
        tuple[GuardTable, ...],
        About(
            description="Guards inspect each risky call and may object; then you are asked about "
            "it: path, destructive, size and secret, all on by default. A table "
            "[[guards]] changes the keys that it sets for one of them.",
            project=_NEVER,
            problem=foreign_setting,
            flaw=find_repeated_guard,
        ),
    ] = ()
    tools: Annotated[ToolsTable, About(description="The tools that a model gets.")] = ToolsTable()
    hooks: Annotated[
        tuple[HookTable, ...],
        About(
            description="Your own code around requests, calls, results and the end of a turn: one "
            "table [[hooks]] per hook, in files only.",
            project=_NEVER,
            problem=lacks_one_program,
        ),
    ] = ()
    diagnostics: Annotated[
        tuple[DiagnosticsTable, ...],
        About(
            description="Programs that check the files a turn edited; the model reads what is new in their "
            "output. One table [[diagnostics]] per program, in files only.",
            project=_NEVER,
            problem=find_unfit_placeholder,
            flaw=find_repeated_diagnostics,
        ),
    ] = ()
    storage: Annotated[StorageTable, About(description="Where data is stored.")] = StorageTable()
    tui: Annotated[TuiTable, About(description="The full-screen app.")] = TuiTable()

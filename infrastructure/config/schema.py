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
from infrastructure.config.guard_table import GuardTable, foreign_setting, repeated_guard
from infrastructure.config.hook_table import HookTable, lacks_one_program
from infrastructure.config.models_table import ModelsTable
from infrastructure.config.permission_table import PermissionTable
from infrastructure.config.price_table import PRICES, ModelPriceTable
from infrastructure.config.provider_table import ProviderTable, built_in_providers
from infrastructure.config.quorum_table import QuorumTable
from infrastructure.config.review_table import ReviewTable
from infrastructure.config.web_table import WebTable

PlannerName: TypeAlias = Literal["serializable", "partition", "risk_split", "all_parallel"]
LayoutName: TypeAlias = Literal["auto", "default", "wide", "stacked", "minimal"]

STORAGE_SCHEMES = ("sqlite",)
"""What the URL of a storage can begin with; each has its case in `infrastructure/storage.py`."""

_THEME = r"\A[!-~]{1,100}\Z"
_NEVER = ProjectRule.NEVER
_MODES_WITHOUT_NETWORK = " and ".join(mode for mode in Mode if not mode.traits.network)


def _names_a_storage(url: str) -> bool:
    return not url or url.partition(":///")[0] in STORAGE_SCHEMES


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
            description="How much of a command's output is held in memory: the beginning and the end. All of a "
            "longer one goes to the store; without a store what is left out in between is counted.",
            project=ProjectRule.LOWER,
        ),
    ] = 32768
    inline_bytes: Annotated[
        int,
        Meta(ge=0, le=10_000_000),
        About(
            description="Up to this length the model gets a command's output whole, in place of "
            "tools.output.inline_bytes.",
            project=ProjectRule.LOWER,
        ),
    ] = COMMAND_LIMITS.inline_bytes
    summary_bytes: Annotated[
        int,
        Meta(ge=200, le=1_000_000),
        About(
            description="Of a longer output, how much of its beginning and its end the model gets; the rest it "
            "can open with the tool inspect.",
            project=ProjectRule.LOWER,
        ),
    ] = COMMAND_LIMITS.summary_bytes
    sandbox: Annotated[
        Literal["require", "auto", "off"],
        About(
            description="Whether commands run in a sandbox (bubblewrap, Linux): they write in the workspace "
            "only, protected paths excepted, and see neither your home nor other processes. auto: where that "
            "works, and where it does not, quorum says so. require: without a sandbox no command runs.",
            project=ProjectRule.STRICTER,
        ),
    ] = "auto"
    network: Annotated[
        Literal["off", "auto", "on"],
        About(
            description="Whether a command in the sandbox reaches the network. auto: not in the modes "
            f"{_MODES_WITHOUT_NETWORK}, in which nobody looks at each command.",
            project=ProjectRule.STRICTER,
        ),
    ] = "auto"
    sandbox_readable: Annotated[
        tuple[str, ...],
        About(
            description="Files and folders that commands in the sandbox may read besides the folders of tools "
            'in your home, for example "~/.cache/huggingface". Relative paths begin at the workspace.',
            project=_NEVER,
        ),
    ] = ()
    sandbox_writable: Annotated[
        tuple[str, ...],
        About(
            description="Files and folders that commands in the sandbox may write besides the workspace, for "
            'example "~/.cargo/registry", or protected ones in it, for example ".git". What they leave there '
            "may be run outside the sandbox.",
            project=_NEVER,
        ),
    ] = ()


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

    url: Annotated[
        str,
        Meta(max_length=4096),
        About(
            description="Database of the sessions, and of what files held before they were changed: a file of "
            "SQLite on a local disk, for example sqlite:////home/me/ledger.sqlite. Empty: ledger.sqlite in the "
            "state folder ($XDG_STATE_HOME/quorum, usually ~/.local/state/quorum).",
            project=ProjectRule.OWN,
            expected="the URL of an SQLite file, sqlite:///PATH",
            accepts=_names_a_storage,
        ),
    ] = ""
    blobs: Annotated[
        str,
        Meta(max_length=4096),
        About(
            description="Folder of the outputs that are kept aside. Empty: blobs in the state folder "
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
            description="Where the parts of the screen stand: default has the side panel at the right, wide "
            "gives it more room, stacked puts it below, minimal leaves out all but transcript and prompt. auto "
            "goes by the size of the terminal.",
            project=ProjectRule.FREE,
        ),
    ] = "auto"
    notifications: Annotated[
        bool,
        About(
            description="Call for attention when an answer is needed or a long turn has ended, unless the "
            "terminal says that it has the focus.",
            project=ProjectRule.FREE,
        ),
    ] = True
    notify_by: Annotated[
        Literal["auto", "bell", "desktop"],
        About(
            description="How: the terminal's bell, or a notification of the desktop. auto: of the desktop "
            "where the terminal is known to show them and to report its focus, else the bell.",
            project=ProjectRule.FREE,
        ),
    ] = "auto"
    screen_reader: Annotated[
        bool,
        About(
            description="Made for a screen reader: one column of plain lines, changes of state told in words, "
            "nothing that ticks or moves, the terminal's cursor where the focus is.",
            project=ProjectRule.FREE,
        ),
    ] = False
    keys: Annotated[
        Mapping[str, str | tuple[str, ...]],
        About(
            description="Other keys for what the app does: the name of an action, and its key or a list of "
            'keys, such as redraw = "f5" or toggle_fold = ["ctrl+o", "f6"]. `quorum config keys` lists the '
            "names with their keys. Esc, Ctrl+C, Enter and the arrow keys keep what they do.",
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
            description="How models are reached, one table per provider. anthropic, openai, copilot and "
            "offline exist without being declared; a table of their name changes only the keys it sets."
        ),
    ] = field(default_factory=built_in_providers)
    prices: Annotated[Mapping[str, ModelPriceTable], PRICES] = field(default_factory=dict)
    agent: Annotated[AgentTable, About(description="How far the agent goes by itself.")] = AgentTable()
    context_budget: Annotated[
        ContextTable, About(description="How a conversation is kept within its model's window.")
    ] = ContextTable()
    review: Annotated[ReviewTable, About(description="Which calls are asked about.")] = ReviewTable()
    permissions: Annotated[
        PermissionTable,
        About(
            description="Rules about calls, written TOOL or TOOL(PATTERN); docs/permissions.md explains them. "
            "`quorum permissions check` says what they come to for one call."
        ),
    ] = PermissionTable()
    quorum: Annotated[QuorumTable, About(description="When the votes of the models approve a call.")] = (
        QuorumTable()
    )
    guards: Annotated[
        tuple[GuardTable, ...],
        About(
            description="The guards look at each risky call and may object, so that it is put to you: path, "
            "destructive, size and secret, all of them on. A table [[guards]] changes what it names of one.",
            project=_NEVER,
            problem=foreign_setting,
            flaw=repeated_guard,
        ),
    ] = ()
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

"""Every setting there is: its name, type, bounds, default, explanation, and what a project file may do to it.

The one source of truth. The loader, the errors, the commented reference and the documentation test read it.

Neither this module nor those of the tables have `from __future__ import annotations`: as texts, the types of
all settings would be compiled and worked out twice in each start, by msgspec and by `keys.py`: 20 ms.
"""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct, field

from quorum.domain.panel.debate_record import Intensity
from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import PROTECTED, SENSITIVE
from quorum.domain.settings import (
    About,
    AgentTable,
    ContextTable,
    ProjectRule,
    TuiTable,
    is_web_address,
)
from quorum.domain.worktree import explain_unfit_link
from quorum.infrastructure.config.model_tables import (
    MODEL_NAME,
    PRICES,
    ModelPriceTable,
    ModelsTable,
    ProviderTable,
    QuorumTable,
    build_repeat_check,
    load_built_in_providers,
)
from quorum.infrastructure.config.program_tables import (
    SERVER_NAME,
    AgentProgramTable,
    DiagnosticsTable,
    GuardTable,
    HookTable,
    LanguageServerTable,
    McpTable,
    find_foreign_setting,
    find_program_problem,
    find_repeated_diagnostics,
    find_repeated_guard,
    find_unfit_language_server,
    find_unfit_placeholder,
)
from quorum.infrastructure.config.session_tables import (
    PermissionTable,
    PushTable,
    WorkspaceTable,
    find_push_problem,
)
from quorum.infrastructure.config.tools_table import ToolsTable
from quorum.infrastructure.storage_backend import accepts_url, describe_urls

_MOST = 20


def _find_flaw(links: object) -> str | None:
    given = links if isinstance(links, list | tuple) else ()
    if len(given) > _MOST:
        return f"{len(given):,} links are too many; name {_MOST} at most"
    return next((flaw for link in given if (flaw := explain_unfit_link(str(link))) is not None), None)


class WorktreesTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    "What `/worktree NAME` gives a worktree of what git ignores."

    links: Annotated[
        tuple[str, ...],
        About(
            description="Folders that git ignores, from the top of the repository, for example "
            '[".venv", "node_modules"]. Each becomes a link to that of the main working tree; commands in the '
            "sandbox may read it there: docs/worktrees.md.",
            flaw=_find_flaw,
        ),
    ] = ()
    offer_links: Annotated[
        bool,
        About(
            description="Ask whether a new worktree gets links to the folders that installers bring, such as "
            ".venv, where it lacks them."
        ),
    ] = True
    setup: Annotated[
        str,
        Meta(max_length=4000),
        About(
            description="A shell command that prepares a new worktree, for example make setup. It is reviewed "
            "and runs in the sandbox like the commands of a model.",
        ),
    ] = ""


def _is_empty_or_address(text: str) -> bool:
    return not text or is_web_address(text)


class TelemetryTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where telemetry goes, and whether it holds texts."""

    otlp_endpoint: Annotated[
        str,
        Meta(max_length=2048),
        About(
            description="Address of an OpenTelemetry collector that takes OTLP over HTTP, without /v1/traces. "
            "Empty: nothing is sent, and nothing is loaded for it.",
            project=ProjectRule.OWN,
            expected='an address that starts with http:// or https://, for example "http://localhost:4318"',
            accepts=_is_empty_or_address,
        ),
    ] = ""
    content: Annotated[
        bool,
        About(
            description="Send prompts, answers, arguments and outputs, too, with secrets hidden. Otherwise "
            "only names, numbers and outcomes are sent.",
            project=ProjectRule.OWN,
        ),
    ] = False


_SCHEMA_MOST, _LONGEST = 500, 200


def _schema_find_flaw(patterns: object) -> str | None:
    """Every file that is met is held against all of them, and a strange folder may add some."""
    given = patterns if isinstance(patterns, list | tuple) else ()
    if len(given) > _SCHEMA_MOST:
        return f"{len(given):,} patterns are too many; at most {_SCHEMA_MOST} are looked for, so name folders"
    if any(len(str(pattern)) > _LONGEST for pattern in given):
        return f"a pattern has more than {_LONGEST} characters; shorten it"
    return None


class ReviewTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    "Which calls need your approval."

    mode: Annotated[
        Mode,
        About(
            description=" ".join(f"{mode}: {mode.traits.meaning}." for mode in Mode)
            + " Protected and sensitive paths are asked about in every mode. On the command line: --mode.",
            project=ProjectRule.STRICTER,
        ),
    ] = Mode.ASK
    offer_sandboxed: Annotated[
        bool,
        About(
            description="Ask before the first edit or command that you would review in the app whether the "
            "mode is to be sandboxed: where the sandbox works and nothing sets review.mode. The answer is kept "
            "in your settings.",
            project=ProjectRule.OWN,
        ),
    ] = True
    sample_percent: Annotated[
        float,
        Meta(ge=0, le=100),
        About(
            description="How many in a hundred of the calls that the modes auto and quorum let run are kept "
            "for your verdict: quorum permissions judge. 0: none.",
            project=ProjectRule.OWN,
        ),
    ] = 2.0
    max_error_percent: Annotated[
        float,
        Meta(ge=0, le=100),
        About(
            description="Where you judged calls to be wrong, and more than so many in a hundred of their kind "
            "may be (95 % confidence), these modes ask about that kind. 100: never.",
            project=ProjectRule.OWN,
        ),
    ] = 10.0
    protected: Annotated[
        tuple[str, ...],
        About(
            description="Paths that are asked about before they are written, in every mode. "
            "Patterns as in .gitignore, not case-sensitive. A list here replaces the "
            'default; its entry "..." stands for the default.',
            project=ProjectRule.ADD,
            extensible=True,
            flaw=_schema_find_flaw,
        ),
    ] = PROTECTED
    sensitive: Annotated[
        tuple[str, ...],
        About(
            description="Paths that are asked about even before they are read. Same patterns, same rule. "
            "Only a pattern without wildcards covers .env.example, .env.sample, .env.template and .env.dist.",
            project=ProjectRule.ADD,
            extensible=True,
            flaw=_schema_find_flaw,
        ),
    ] = SENSITIVE


class GateTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How long the gate stays loaded."""

    idle_minutes: Annotated[
        int,
        Meta(ge=0, le=1440),
        About(
            description="Minutes that the gate stays loaded after a call, so that the next one is decided at "
            "once. 0: each call loads it anew, and nothing runs in between.",
        ),
    ] = 10


class DraftingTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the models of models.participants look at a project before each writes a plan, or AGENTS.md."""

    answer_timeout_secs: Annotated[
        float,
        Meta(gt=0, le=3600),
        About(
            description="Seconds after which a participant that has not written its plan or draft is left out, "
            "and that is said.",
        ),
    ] = 600.0
    max_tool_rounds: Annotated[
        int,
        Meta(ge=0, le=50),
        About(
            description="How often a participant may look at the project before it has to write. 0: it writes "
            "from your prompt alone.",
        ),
    ] = 12


class DiscussionTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the models of models.participants discuss a question."""

    answer_timeout_secs: Annotated[
        float,
        Meta(gt=0, le=3600),
        About(
            description="Seconds after which a participant that has not answered is left out, and after which "
            "a review or the synthesis counts as failed.",
        ),
    ] = 300.0


class DebateTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which models debate an answer, and how: docs/several-models.md."""

    models: Annotated[
        tuple[Annotated[str, Meta(pattern=MODEL_NAME)], ...],
        About(
            description="The models that debate, two or more: the first answers, the second objects. "
            "Empty: those of models.participants.",
            expected='a list of "provider/model"',
            flaw=build_repeat_check(", and each takes part once"),
        ),
    ] = ()
    max_rounds: Annotated[
        int,
        Meta(ge=1, le=10),
        About(description="The most rounds of objections."),
    ] = 3
    intensity: Annotated[
        Intensity,
        About(
            description="mild: another round only where a critical or high objection was upheld or stays open. "
            "strong: objections try hard to bring the answer down, until a round has none.",
        ),
    ] = Intensity.MILD
    allow_interjection: Annotated[
        bool,
        About(
            description="Whether all other models object in each round. If not, those after the second only "
            "stand in for one that is down.",
        ),
    ] = False


class CodeReviewTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the models of models.review, or else of models.participants, review changes."""

    answer_timeout_secs: Annotated[
        float,
        Meta(gt=0, le=3600),
        About(
            description="Seconds after which a reviewer that has not answered about a part of the change is "
            "left out, and after which a try of findings or the conclusion counts as failed.",
        ),
    ] = 300.0
    max_part_bytes: Annotated[
        int,
        Meta(ge=4_000, le=1_000_000),
        About(
            description="How many bytes of a change go into one question. A longer change is split by file, "
            "and that is said.",
        ),
    ] = 60_000
    max_tool_rounds: Annotated[
        int,
        Meta(ge=0, le=50),
        About(
            description="How often a reviewer may look at the repository before it has to answer a question. "
            "0: it sees the change alone.",
        ),
    ] = 8


def _names_a_storage(url: str) -> bool:
    return not url or accepts_url(url)


class StorageTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where quorum keeps what outlives a run."""

    url: Annotated[
        str,
        Meta(max_length=4096),
        About(
            description="Database of the sessions and of former file contents: an SQLite file on a "
            "local disk, for example sqlite:////home/me/ledger.sqlite, or PostgreSQL, which several "
            "machines share: postgresql+psycopg://quorum@db.example.com/quorum, its password in "
            "PGPASSWORD or ~/.pgpass. Empty: ledger.sqlite in the state folder "
            "($XDG_STATE_HOME/quorum, usually ~/.local/state/quorum).",
            project=ProjectRule.OWN,
            expected=describe_urls(),
            accepts=_names_a_storage,
            unquoted=True,
        ),
    ] = ""
    blobs: Annotated[
        str,
        Meta(max_length=4096),
        About(
            description="Folder of stored outputs. Empty: blobs in the state folder "
            "($XDG_STATE_HOME/quorum, usually ~/.local/state/quorum), and, if the sessions are in "
            "PostgreSQL, in that database, too. A bucket of an object store is named s3://bucket/prefix, "
            "its keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; it also keeps larger former file "
            "contents.",
            project=ProjectRule.OWN,
            expected="the path of a folder, or s3://BUCKET/PREFIX",
        ),
    ] = ""


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
    agents: Annotated[
        Mapping[str, AgentProgramTable],
        About(description="Agents that quorum agent NAME starts, one table per agent: docs/agents.md."),
    ] = field(default_factory=dict)
    prices: Annotated[Mapping[str, ModelPriceTable], PRICES] = field(default_factory=dict)
    agent: Annotated[AgentTable, About(description="Limits of one turn, and of what a session spends.")] = (
        AgentTable()
    )
    context_budget: Annotated[
        ContextTable, About(description="How a conversation is kept within the context window of its model.")
    ] = ContextTable()
    workspace: Annotated[WorkspaceTable, About(description="Which folders belong to the workspace.")] = (
        WorkspaceTable()
    )
    worktrees: Annotated[
        WorktreesTable, About(description="What a worktree gets of what git ignores: docs/worktrees.md.")
    ] = WorktreesTable()
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
    discussion: Annotated[
        DiscussionTable, About(description="How the models of models.participants discuss a question.")
    ] = DiscussionTable()
    debate: Annotated[
        DebateTable, About(description="Which models debate an answer, and how: docs/several-models.md.")
    ] = DebateTable()
    code_review: Annotated[
        CodeReviewTable, About(description="How models review changes: docs/code-review.md.")
    ] = CodeReviewTable()
    drafting: Annotated[
        DraftingTable,
        About(description="How several models make plans and drafts: docs/several-models.md."),
    ] = DraftingTable()
    guards: Annotated[
        tuple[GuardTable, ...],
        About(
            description="Guards inspect each risky call and may object; then you are asked about "
            "it: path, destructive, size, secret, network and persistence, all on by default. A table "
            "[[guards]] changes the keys that it sets for one of them.",
            problem=find_foreign_setting,
            flaw=find_repeated_guard,
        ),
    ] = ()
    tools: Annotated[ToolsTable, About(description="The tools that a model gets.")] = ToolsTable()
    mcp: Annotated[McpTable, About(description="Tool servers: docs/mcp.md.")] = McpTable()
    gate: Annotated[GateTable, About(description="The gate of other agents: docs/gate.md.")] = GateTable()
    hooks: Annotated[
        tuple[HookTable, ...],
        About(
            description="Your own code around requests, calls, results and the end of a turn: one "
            "table [[hooks]] per hook, in files only.",
            problem=find_program_problem,
        ),
    ] = ()
    push: Annotated[
        tuple[PushTable, ...],
        About(
            description="Who is told, by a program or a server such as ntfy, while a decision waits: one table "
            "[[push]] for each, in files only. docs/inbox.md.",
            problem=find_push_problem,
        ),
    ] = ()
    diagnostics: Annotated[
        tuple[DiagnosticsTable, ...],
        About(
            description="Programs that check the files a turn edited; the model reads what is new in their "
            "output. One table [[diagnostics]] per program, in files only.",
            problem=find_unfit_placeholder,
            flaw=find_repeated_diagnostics,
        ),
    ] = ()
    lsp: Annotated[
        Mapping[str, LanguageServerTable],
        About(
            description="Language servers, one table per server: docs/language-servers.md.",
            problem=find_unfit_language_server,
            names=SERVER_NAME,
            names_expected="1 to 32 small letters, digits and - only",
            names_example="python",
        ),
    ] = field(default_factory=dict)
    storage: Annotated[StorageTable, About(description="Where data is stored.")] = StorageTable()
    telemetry: Annotated[
        TelemetryTable, About(description="Traces and metrics for a collector of your own: docs/telemetry.md.")
    ] = TelemetryTable()
    tui: Annotated[TuiTable, About(description="The full-screen app.")] = TuiTable()

"""What the schema says of a setting besides its type, and the tables that sessions and the app read themselves.

It has no `from __future__ import annotations`, as the schema has none.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlsplit

from msgspec import Meta, Struct, field

from quorum.domain.panel.panel_answer import ConsensusLevel, Strategy
from quorum.domain.plan.plan import PhaseScope

BARE_NAME = r"\A[A-Za-z0-9_-]+\Z"


class ProjectRule(StrEnum):
    """What an untrusted project file may do to a setting.

    `own` settings are the person's alone, and no project file sets them, trusted or not; `never` ones wait for
    trust, `free` ones do not. The others are the ways in which it may only tighten: lower a number, set or
    lower a cap (0 is none), take a stricter choice (the type lists the strictest first), add to a list, or
    narrow a list to fewer names. To a list that is added to, a trusted file adds as well, so that trust takes
    no protection away.
    """

    OWN = "own"
    NEVER = "never"
    FREE = "free"
    LOWER = "lower"
    CAP = "cap"
    STRICTER = "stricter"
    ADD = "add"
    NARROW = "narrow"


DEFAULTS_ENTRY = "..."


class About(Struct, frozen=True, kw_only=True):
    """What stands beside a type in the schema.

    `expected` words what fits, where the type alone cannot, and `accepts` looks closer than the type can;
    `flaw` answers what is wrong with a value of the right type, or None;
    `secret` values are never shown; a wrong value of an `unquoted` key is not repeated in the error, because
    it may be a key pasted in the wrong place; `problem` answers what is wrong as a whole with a table of an
    array, or with one of a free name, or None; `names` is the pattern of the free names of a table,
    `names_expected` its wording, and `names_example` stands for such a name in the reference. In a list that
    is `extensible`, the entry `DEFAULTS_ENTRY` stands for the default. A setting that says nothing of projects
    waits for trust.
    """

    description: str
    project: ProjectRule = ProjectRule.NEVER
    expected: str | None = None
    accepts: Callable[[str], bool] | None = None
    flaw: Callable[[object], str | None] | None = None
    extensible: bool = False
    secret: bool = False
    unquoted: bool = False
    problem: Callable[[Mapping[str, object]], str | None] | None = None
    names: str = BARE_NAME
    names_expected: str = "letters, digits, - and _ only"
    names_example: str = "NAME"


def is_web_address(text: str) -> bool:
    """Whether it is an http or https address with a host, in printable ASCII; an empty text also counts."""
    try:
        parts = urlsplit(text)
        named = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return not text or (named and text.isascii() and text.isprintable() and " " not in text)


_MOST_BYTES = 100_000_000
_MOST_TOKENS = 1_000_000_000


class ModelWindowTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    window: Annotated[
        int,
        Meta(ge=1000, le=_MOST_TOKENS),
        About(description="The maximum number of tokens in a request to this model."),
    ]


class ContextTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    "How a conversation is kept within the context window of its model."

    compact_at: Annotated[
        float,
        Meta(ge=0, le=1),
        About(
            description="The part of the window at which the conversation is compacted before a "
            "request: first summaries replace old tool outputs, then a summary that the"
            " model writes replaces the past. 0: only with /compact.",
        ),
    ] = 0.8
    recent_full_count: Annotated[
        int,
        Meta(ge=0, le=1000),
        About(
            description="The outputs of this many of the last rounds of calls stay complete.",
        ),
    ] = 3
    max_entry_bytes: Annotated[
        int,
        Meta(ge=1000, le=_MOST_BYTES),
        About(
            description="How many bytes of one older output may stay after compaction; never more "
            "than a sixteenth of the window.",
        ),
    ] = 20_000
    max_total_bytes: Annotated[
        int,
        Meta(ge=1000, le=_MOST_BYTES),
        About(
            description="How many bytes of all older outputs may stay after compaction, newest "
            "first; never more than a quarter of the window.",
        ),
    ] = 60_000
    window_tokens: Annotated[
        int,
        Meta(ge=1000, le=_MOST_TOKENS),
        About(
            description="The assumed window in tokens of a model whose window is not known, such as"
            " one on your own server.",
        ),
    ] = 128_000
    models: Annotated[
        Mapping[str, ModelWindowTable],
        About(
            description="The windows of single models, one table per model, if they are not known "
            "or differ from the vendor's: the value the server was started with, or "
            "less, to stay below a higher price.",
            names=r"\A[A-Za-z0-9_-]+/[!-~]+\Z",
            names_expected='"provider/model" in quotes, for example [context_budget.models."ollama/qwen3:8b"]',
            names_example="provider/model",
        ),
    ] = field(default_factory=dict)


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
    max_time_secs: Annotated[
        float,
        Meta(ge=0, le=1_000_000),
        About(
            description="The most seconds that a turn may take, with the time in which a review waits for you; "
            "0: no limit. Then it ends with the status limit.",
            project=ProjectRule.CAP,
        ),
    ] = 0.0
    max_goal_attempts: Annotated[
        int,
        Meta(ge=1, le=1_000),
        About(
            description="How often in one turn the checks of a goal run before it ends with the status limit, "
            "where they do not pass: docs/goals.md.",
            project=ProjectRule.LOWER,
        ),
    ] = 10
    check_timeout_secs: Annotated[
        int,
        Meta(ge=1, le=86_400),
        About(
            description="Seconds after which a check of a goal is ended. It has not passed then.",
            project=ProjectRule.LOWER,
        ),
    ] = 600
    consensus_level: Annotated[
        ConsensusLevel,
        About(
            description="Who answers your prompts. solo: one model, with its tools. ensemble: the models of "
            "models.participants, without tools, which score each other's answers; for a plan they read the "
            "project, and score each other's plans: docs/several-models.md. In the "
            "app: /solo and /ensemble. On the command line: --consensus.",
        ),
    ] = ConsensusLevel.SOLO
    strategy: Annotated[
        Strategy,
        About(
            description="How the models of an ensemble come to one answer. quorum: they score each other's "
            "answers. debate: they object to one answer, docs/several-models.md. In the app: /strategy. On the "
            "command line: --strategy.",
        ),
    ] = Strategy.QUORUM
    instructions_max_bytes: Annotated[
        int,
        Meta(ge=0, le=1_000_000),
        About(
            description="How many bytes of instruction files (AGENTS.md, CLAUDE.md and what they import) every "
            "request carries. The files nearest to the working directory get room first; 0 leaves all out.",
            project=ProjectRule.LOWER,
        ),
    ] = 32_768
    phase_scope: Annotated[
        PhaseScope,
        About(
            description="How far a session goes. full: it works. fast: it works, and models review no plan. "
            "plan-only: the model only looks and proposes a plan, which comes into force once you approve it; "
            "a run without the app ends with the plan. In the app: /plan; on the command line: --scope.",
        ),
    ] = PhaseScope.FULL
    max_plan_revisions: Annotated[
        int,
        Meta(ge=0, le=20),
        About(
            description="How often the reviewers of models.review may send a plan back to the model that made "
            "it, with what they object to, before you are asked about it. "
            "0: they vote, and you are asked at once.",
            project=ProjectRule.LOWER,
        ),
    ] = 3
    final_review: Annotated[
        bool,
        About(
            description="Whether the models of models.review review what an approved plan led to, once all its "
            "tasks are done. It needs such models, and a git repository: docs/plan.md.",
        ),
    ] = False
    max_turn_end_retries: Annotated[
        int,
        Meta(ge=0, le=100),
        About(
            description="How often hooks may send the model back to work at the end of one turn, and how often"
            " diagnostics may.",
            project=ProjectRule.LOWER,
        ),
    ] = 3


LayoutName: TypeAlias = Literal["auto", "default", "wide", "stacked", "minimal"]

_THEME = r"\A[!-~]{1,100}\Z"


class TuiTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The full-screen app."""

    theme: Annotated[
        str,
        Meta(pattern=_THEME),
        About(
            description="Name of a colour theme, as /theme lists them. quorum-ansi uses the terminal's own 16 "
            "colours, quorum-contrast is for low vision; auto is the dark or the light one, as the "
            "terminal answers, or by COLORFGBG.",
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
    enter_while_running: Annotated[
        Literal["queue", "steer"],
        About(
            description="What Enter does with a prompt while a turn runs: queue it as the next prompt, or "
            "steer the running turn with it. Enter again, in the empty prompt, does the other with the last "
            "one.",
            project=ProjectRule.OWN,
        ),
    ] = "queue"
    mark_approve_for_edits: Annotated[
        bool,
        About(
            description="In the review of an edit inside the workspace that only the mode asks about, mark "
            "approve, so that Enter approves it. In all other reviews reject is marked.",
            project=ProjectRule.OWN,
        ),
    ] = False
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

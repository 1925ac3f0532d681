"""What can be asked for on the command line, as one value."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from application.export.formats import ExportFormat
    from domain.sessions.past_session import SessionChoice

Command: TypeAlias = Literal[
    "app",
    "bench",
    "run",
    "ask",
    "discuss",
    "debate",
    "review",
    "acp",
    "config",
    "db",
    "doctor",
    "hooks",
    "inbox",
    "fleet",
    "permissions",
    "sessions",
    "keys",
    "rpc",
    "gate",
    "serve",
    "completion",
    "mcp",
]
OutputFormat: TypeAlias = Literal["text", "json", "stream-json"]
ReviewFormat: TypeAlias = Literal["markdown", "json", "stream-json", "sarif", "github"]

# Commands that are a kind of session by the same name.
_FORMS = frozenset(("ask", "discuss", "debate", "review"))
USUAL_CONCURRENCY = 4
USUAL_PORT = 8765
USUAL_SIZE = (80, 24)
"""Columns and lines of a screen without a terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenOptions:
    """Where the app listens, None: nowhere; whether it has a terminal; and where the token goes that approving
    over the socket takes, None: nobody approves over it. `size` is in columns and lines.
    """

    socket: Path | None = None
    headless: bool = False
    size: tuple[int, int] = USUAL_SIZE
    approve: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcOptions:
    """What `quorum rpc` asks of which app. `params` is JSON, or "-" for standard input; `token` is the
    descriptor from which the token is read.
    """

    socket: Path = Path()
    method: str = ""
    params: str = "{}"
    token: int | None = None


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """Whose call `quorum gate` decides about, and within what time. `workdir` of None: as the call says.

    An empty `dialect` asks for the environment that git needs. `tui` is the socket of a quorum that runs.
    """

    dialect: str = ""
    tui: Path | None = None
    timeout_secs: float = 55.0
    workdir: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxOptions:
    """Which waiting decision `quorum inbox` shows or answers.

    `name` is its digest, or, for `show`, also its session.
    """

    name: str = ""
    reason: str | None = None
    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOptions:
    """What `quorum fleet` was asked for; which of it counts depends on the action.

    `sessions` are ids or beginnings of ids, `file` has the requests ("-": standard input). `prompt` is what is
    asked about each of the `pull_requests`. `owner` is a descriptor: once its other end is closed, the process
    ends.
    """

    file: str = ""
    pull_requests: bool = False
    prompt: str = ""
    retry_failed: bool = False
    sessions: tuple[str, ...] = ()
    all: bool = False
    concurrency: int = 1
    until_empty: bool = False
    watch: bool = False
    json: bool = False
    owner: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions:
    """What `quorum bench review` measures: labelled calls, ballots, or both; by default a small set.

    `results` is the file for the ballots of reviewers that are asked, `concurrency` how many requests are sent
    at once. None: nobody is asked. `calibration` is the file to write what was measured of them into.
    """

    data: Path | None = None
    ballots: Path | None = None
    results: Path | None = None
    concurrency: int = USUAL_CONCURRENCY
    calibration: Path | None = None
    svg: Path | None = None
    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What `quorum serve` shows, and where. An empty `address` is loopback under a name of its own.

    `approvals`: the page of pending reviews is served too; `socket` is that of a quorum that listens, whose
    reviews alone it shows then, and `token` the descriptor from which the token for approving is read.
    """

    address: str = ""
    port: int = USUAL_PORT
    host_names: tuple[str, ...] = ()
    tls_cert: Path | None = None
    tls_key: Path | None = None
    password_file: Path | None = None
    approvals: bool = False
    socket: Path | None = None
    token: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionOptions:
    """The shell that completes. `line` is what is typed up to the cursor; None: the script is asked for.
    `wordbreaks` are the characters at which the shell begins a new word.
    """

    shell: str = ""
    line: str | None = None
    wordbreaks: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsOptions:
    """What `quorum sessions` was asked for; which of it counts depends on the action.

    `session` is an id, the beginning of one, "latest", or empty where none was given. `before` counts turns
    from 1, `older_than` is in days. `anchors` is a file of anchors that were noted elsewhere.
    """

    session: str = ""
    all: bool = False
    json: bool = False
    limit: int | None = None
    format: ExportFormat = "md"
    file: Path | None = None
    signed: bool = False
    anchors: Path | None = None
    before: int | None = None
    older_than: int | None = None
    keep: int | None = None
    dry_run: bool = False
    yes: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpOptions:
    """What `quorum mcp` was asked for; which of it counts depends on the action.

    `server` is the name of one; the other fields are the settings of one that is added, or the `.mcp.json`
    that has them.
    """

    server: str = ""
    mcp_json: Path | None = None
    url: str = ""
    program: tuple[str, ...] = ()
    pass_env: tuple[str, ...] = ()
    bearer_token_env: str = ""
    tools: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOptions:
    """What `quorum review` reviews: a diff ("-": on standard input), a pull request, a range of commits, or
    else what is not committed; what to look at above all; and the format of the result. `all`: also what was
    approved before.
    """

    diff: str = ""
    pull_request: int | None = None
    commits: str = ""
    focus: str = ""
    format: ReviewFormat = "markdown"
    all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line asked for.

    `models` are the values of -m in order; `overrides` are other settings by dotted key, as flags gave them.
    `continues` and `resume` say which session to continue with, see `session`; an empty `resume` leaves the
    choice to the person. `fork`: continue in a copy of it. `add_dirs` are folders to add to the workspace.
    `images` are the files shown with the prompt; `leave_open`: a review that needs a person is left open;
    `demo` is the guided tour.
    """

    command: Command
    prompt: str | None = None
    config_file: Path | None = None
    workdir: Path = field(default_factory=Path)
    add_dirs: tuple[Path, ...] = ()
    models: tuple[str, ...] = ()
    overrides: dict[str, object] = field(default_factory=dict)
    output: OutputFormat = "text"
    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    continues: bool = False
    resume: str | None = None
    fork: bool = False
    images: tuple[Path, ...] = ()
    leave_open: bool = False
    action: str = ""
    sessions: SessionsOptions = field(default_factory=SessionsOptions)
    provider: str = ""
    probe: bool = False
    hook: str = ""
    call_file: Path | None = None
    tool: str = ""
    arguments: str = ""
    number: int = 0
    setting: str = ""
    source: str | None = None
    target: str | None = None
    value: str = ""
    project: bool = False
    demo: bool = False
    listen: ListenOptions = field(default_factory=ListenOptions)
    rpc: RpcOptions = field(default_factory=RpcOptions)
    gate: GateOptions = field(default_factory=GateOptions)
    serve: ServeOptions = field(default_factory=ServeOptions)
    inbox: InboxOptions = field(default_factory=InboxOptions)
    fleet: FleetOptions = field(default_factory=FleetOptions)
    bench: BenchOptions = field(default_factory=BenchOptions)
    completion: CompletionOptions = field(default_factory=CompletionOptions)
    mcp: McpOptions = field(default_factory=McpOptions)
    review: ReviewOptions = field(default_factory=ReviewOptions)

    @property
    def session(self) -> SessionChoice:
        """The session to begin or to resume. The domain is loaded here and not before the first paint."""
        from domain.conversation.session_kind import SessionKind
        from domain.sessions.past_session import LatestSession, NamedSession, NewSession, PickedSession

        match self.resume:
            case None if not self.continues:
                return NewSession(SessionKind(self.command) if self.command in _FORMS else SessionKind.AGENT)
            case None | "latest":
                return LatestSession()
            case "":
                return PickedSession()
            case name:
                return NamedSession(name)

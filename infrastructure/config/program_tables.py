"""The settings of programs and checks: `[[hooks]]`, `[agents]`, `[[guards]]`, `[[diagnostics]]`, `[mcp]`,
`[lsp.NAME]`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, field

from quorum.domain.calls.hook_points import HookPoint, describe_point
from quorum.domain.review.guards import DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES
from quorum.domain.settings import About, ProjectRule, is_web_address

_VARIABLE = r"\A[A-Za-z_][A-Za-z0-9_]*\Z"


class AgentProgramTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How an agent is started."""

    command: Annotated[
        tuple[str, ...],
        About(
            description="The program and its arguments with which it speaks the Agent Client Protocol, run "
            "without a shell in the workspace, with your rights. Empty: the usual "
            "one of claude, codex, copilot, gemini, kimi, opencode and vibe.",
            expected='a list of a program and its arguments, for example ["gemini", "--acp"]',
        ),
    ] = ()
    pass_env: Annotated[
        tuple[Annotated[str, Meta(pattern=_VARIABLE)], ...],
        About(
            description="Names of environment variables that the program gets although they look like secrets, "
            'for example ["ANTHROPIC_API_KEY"].',
            project=ProjectRule.OWN,
            expected="a list of names of environment variables",
        ),
    ] = ()
    sandbox: Annotated[
        bool,
        About(
            description="Run it in the sandbox of commands, with the network, its own folders and those of "
            "tools.run_command.sandbox_readable and sandbox_writable; where there is no sandbox, not at all.",
        ),
    ] = False
    obeys: Annotated[
        tuple[Annotated[str, Meta(pattern=r"\A(/|~/)[^\0]+\Z")], ...],
        About(
            description="Files and folders that it takes programs, permissions and instructions from, beside "
            "those that are known of it: in its sandbox it cannot change them, and what it makes there is "
            "renamed.",
            expected='a list of paths that begin with / or ~/, for example ["~/.mine/config.toml"]',
        ),
    ] = ()
    timeout_secs: Annotated[
        float,
        Meta(gt=0, le=86_400),
        About(
            description="Seconds without a word of the agent after which it is ended, the time of open reviews "
            "not counted.",
        ),
    ] = 600.0


_NAME = r"\A[!-~]{0,60}\Z"
_CLASS = r"\A([A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*)?\Z"
_FORMER_EXAMPLES = "infrastructure.hooks.examples."

_WHEN = ", ".join(f"{point} ({describe_point(point).when})" for point in HookPoint)


def find_program_problem(table: Mapping[str, object]) -> str | None:
    """What is wrong with a hook as a whole: it must say what it runs, and only one such thing."""
    if bool(table.get("command")) == bool(table.get("python")):
        return 'needs either command = ["PROGRAM", …] or python = "module:Class"'
    if table.get("command") and table.get("settings"):
        return "has settings, which only a hook in Python takes; give a command its arguments in command"
    if table.get("matcher") and not table.get("dialect"):
        return 'has a matcher, which only goes with dialect = "claude"; use tools, risk and paths'
    if table.get("python") and table.get("dialect"):
        return "has a dialect, which only a command has; leave it out"
    if table.get("python") and table.get("sandbox"):
        return "has sandbox = true, but a hook in Python runs within quorum; make it a command, or leave it out"
    return None


def find_current_name(python: str) -> str | None:
    """The name that a class shipped with quorum has now, where `python` is its former one."""
    rest = python.removeprefix(_FORMER_EXAMPLES)
    return None if rest == python else f"quorum.hooks.{rest}"


class HookTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One hook: when it runs, what it runs, which calls it is asked about."""

    event: Annotated[
        HookPoint | Annotated[tuple[HookPoint, ...], Meta(min_length=1)],
        About(
            description=f"When it runs, one or a list of: {_WHEN}.",
            expected=f"one of {', '.join(HookPoint)}, or a list of them",
        ),
    ]
    command: Annotated[
        tuple[str, ...],
        About(
            description="A program and its arguments, run without a shell in the workspace; it "
            "reads JSON from its standard input and answers on its standard output.",
        ),
    ] = ()
    python: Annotated[
        str,
        Meta(pattern=_CLASS),
        About(
            description='Instead of a command, a class as "module:Class", from the import path or from the '
            "folder hooks beside your own quorum.toml.",
            expected='"module:Class", for example "quorum.hooks.audit_log:AuditLog"',
        ),
    ] = ""
    settings: Annotated[
        Mapping[str, object],
        About(description="The keyword arguments of the class of python.", expected="a value"),
    ] = field(default_factory=dict)
    name: Annotated[
        str,
        Meta(pattern=_NAME),
        About(
            description="Its name in the transcript and for `quorum hooks test`. Empty: the name of"
            " the program or the class.",
            expected="a name of at most 60 printable ASCII characters without spaces",
        ),
    ] = ""
    tools: Annotated[
        tuple[str, ...],
        About(
            description="Only for calls of tools whose name matches one of these patterns, such as "
            '"write_*". Empty: all.',
        ),
    ] = ()
    risk: Annotated[
        Literal["", "low", "high"],
        About(description="Only for calls of this risk, low or high. Empty: both."),
    ] = ""
    paths: Annotated[
        tuple[str, ...],
        About(
            description="Only for calls that touch a path that matches one of these patterns, such "
            'as "*/src/*". Paths are absolute. Empty: all.',
        ),
    ] = ()
    priority: Annotated[
        int,
        Meta(ge=-1_000_000, le=1_000_000),
        About(description="Lower runs first; among equals, in the order of the file."),
    ] = 0
    timeout_secs: Annotated[
        float,
        Meta(gt=0, le=3600),
        About(description="Seconds after which a run of the hook fails."),
    ] = 30.0
    on_error: Annotated[
        Literal["", "closed", "open"],
        About(
            description="What a failure means. closed: the operation does not happen. open: it "
            "happens unchanged, with a warning. Empty: ",
        ),
    ] = ""
    sandbox: Annotated[
        bool,
        About(
            description="true: the program of command runs in the sandbox, with the settings of "
            "tools.run_command. false: it has your rights.",
        ),
    ] = False
    dialect: Annotated[
        Literal["", "claude"],
        About(
            description="claude: the command reads and answers as hooks of Claude Code do, at the points from "
            "on_session_start on. Empty: as described in docs/hooks.md.",
        ),
    ] = ""
    matcher: Annotated[
        str,
        About(
            description="With dialect, only for these: names with | between them, or a regular expression.",
        ),
    ] = ""
    enabled: Annotated[bool, About(description="false: the hook is off.")] = True


def describe_former_names(tables: Sequence[HookTable]) -> list[str]:
    """A sentence for each hook that names a class of quorum's by its former name, which is still understood."""
    names = ((place, table.python, find_current_name(table.python)) for place, table in enumerate(tables))
    return [
        f'hooks[{place}].python: {former} is now called "{name}"; write that'
        for place, former, name in names
        if name is not None
    ]


GuardName: TypeAlias = Literal["path", "destructive", "size", "secret", "network", "persistence"]

_OWNERS = {"commands": "destructive", "max_bytes": "size", "max_lines": "size"}


def find_foreign_setting(table: Mapping[str, object]) -> str | None:
    """What is wrong with a guard as a whole: it has a setting that belongs to another one."""
    for key, owner in _OWNERS.items():
        if key in table and table.get("name") != owner:
            return f'has {key}, which only the guard "{owner}" takes'
    return None


def find_repeated_guard(tables: object) -> str | None:
    """What is wrong with all the tables together: two of them are about the same guard."""
    names = Counter(table.get("name") for table in tables) if isinstance(tables, list | tuple) else Counter()
    for name, count in names.items():
        if count > 1:
            return f'the guard "{name}" has {count} tables; put all its settings into one'
    return None


class GuardTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One guard, and in what it differs from the default."""

    name: Annotated[
        GuardName,
        About(
            description="The guard. path: objects to writing outside the workspace, and to commands that "
            "write to the system's own files. destructive: objects to commands that delete or overwrite "
            "data, end processes, act as another user or switch protections off. size: objects to calls "
            "with very long arguments. secret: objects to commands that read credentials, and to calls "
            "that contain [secret:NAME], the placeholder of a masked value. network: objects to commands "
            "that send files away, run what they download or let others in. persistence: objects to "
            "commands that have something run later on its own.",
        ),
    ]
    enabled: Annotated[bool, About(description="false: this guard is off.")] = True
    commands: Annotated[
        tuple[str, ...],
        About(
            description='For destructive: additional command prefixes to object to, such as ["make deploy"].',
        ),
    ] = ()
    max_bytes: Annotated[
        int,
        Meta(ge=1, le=100_000_000),
        About(description="For size: the maximum total length of the arguments of a call."),
    ] = DEFAULT_MAX_BYTES
    max_lines: Annotated[
        int,
        Meta(ge=1, le=10_000_000),
        About(description="For size: their maximum number of lines."),
    ] = DEFAULT_MAX_LINES


FILES = "{files}"
_DIAGNOSTICS_TABLE_NAME = r"\A[!-~]{1,60}\Z"


def find_unfit_placeholder(table: Mapping[str, object]) -> str | None:
    """What is wrong with a diagnostics command as a whole: {files} is not an argument of its own."""
    command = table.get("command")
    program, *arguments = command if isinstance(command, list | tuple) and command else [""]
    if FILES in str(program):
        return "has {files} in the place of the program; name the program first"
    for argument in arguments:
        if FILES in str(argument) and argument != FILES:
            return f'has {{files}} within the argument "{argument}"; it must be an argument of its own'
    return None


def find_repeated_diagnostics(tables: object) -> str | None:
    """What is wrong with all the tables together: two of them have the same name."""
    names = Counter(table.get("name") for table in tables) if isinstance(tables, list | tuple) else Counter()
    for name, count in names.items():
        if count > 1:
            return f'{count} tables have the name "{name}"; give each its own'
    return None


class DiagnosticsTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One command that checks edited files."""

    name: Annotated[
        str,
        Meta(pattern=_DIAGNOSTICS_TABLE_NAME),
        About(
            description="Its name in the transcript and for the model.",
            expected="a name of 1 to 60 printable ASCII characters without spaces",
        ),
    ]
    pattern: Annotated[
        str | Annotated[tuple[str, ...], Meta(min_length=1)],
        About(
            description="Which edited files it checks: a pattern, or a list of them, of paths relative to the "
            'workspace, such as "*.py". * also matches /.',
            expected='a pattern such as "*.py", or a list of them',
        ),
    ]
    command: Annotated[
        tuple[str, ...],
        Meta(min_length=1),
        About(
            description="A program and its arguments, run without a shell in the workspace. The argument "
            "{files} stands for the edited files, each an argument of its own. Exit code 0: nothing is wrong.",
            expected='a list of a program and its arguments, for example ["ruff", "check", "-q", "{files}"]',
        ),
    ]
    timeout_secs: Annotated[
        float,
        Meta(gt=0, le=3600),
        About(description="Seconds after which a run of it fails."),
    ] = 30.0
    enabled: Annotated[bool, About(description="false: it is off.")] = True


SERVER_NAME = r"\A[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?\Z"
_NO_VARIABLE = r"\A([A-Za-z_][A-Za-z0-9_]*)?\Z"


def find_unfit_server(table: Mapping[str, object]) -> str | None:
    """What is wrong with a server as a whole: it is either started or reached, and a key belongs to one way."""
    if bool(table.get("command")) == bool(table.get("url")):
        return 'needs either command = ["PROGRAM", …] or url = "https://…"'
    if table.get("url") and table.get("pass_env"):
        return "has pass_env, which only a server with a command takes; a token goes into bearer_token_env"
    if table.get("command") and table.get("bearer_token_env"):
        return "has bearer_token_env, which only a server with a url takes; a variable goes into pass_env"
    for key in ("oauth_client_id", "oauth_client_secret_env", "oauth_redirect_port"):
        if table.get("command") and table.get(key):
            return f"has {key}, which only a server with a url takes"
    if table.get("oauth_client_secret_env") and not table.get("oauth_client_id"):
        return "has oauth_client_secret_env without the oauth_client_id that it belongs to"
    return None


class McpServerTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    command: Annotated[
        tuple[str, ...],
        About(
            description="The program of the server and its arguments, run without a shell in the workspace, "
            "with your rights and outside of the sandbox, for the length of a session.",
            expected='a list of a program and its arguments, for example ["uvx", "mcp-server-git"]',
        ),
    ] = ()
    url: Annotated[
        str,
        About(
            description="Instead of a command, the address of a server that is reached over streamable HTTP.",
            expected="an address that starts with http:// or https://",
            accepts=is_web_address,
        ),
    ] = ""
    pass_env: Annotated[
        tuple[Annotated[str, Meta(pattern=_VARIABLE)], ...],
        About(
            description="Names of environment variables that the program gets although they look like secrets, "
            'for example ["GITHUB_TOKEN"].',
            project=ProjectRule.OWN,
            expected="a list of names of environment variables",
        ),
    ] = ()
    bearer_token_env: Annotated[
        str,
        Meta(pattern=_NO_VARIABLE),
        About(
            description="Name of the environment variable whose value goes to the url as a bearer token; never "
            "the token itself.",
            project=ProjectRule.OWN,
            expected="the name of an environment variable (not the token itself)",
            unquoted=True,
        ),
    ] = ""
    oauth_client_id: Annotated[
        str,
        About(
            description="For `quorum mcp login`: the client that you have registered with the server's "
            "authorisation server. Empty: quorum registers itself.",
            project=ProjectRule.OWN,
        ),
    ] = ""
    oauth_client_secret_env: Annotated[
        str,
        Meta(pattern=_NO_VARIABLE),
        About(
            description="Name of the environment variable with the secret of oauth_client_id, if it has one.",
            project=ProjectRule.OWN,
            expected="the name of an environment variable (not the secret itself)",
            unquoted=True,
        ),
    ] = ""
    oauth_redirect_port: Annotated[
        int,
        Meta(ge=0, le=65_535),
        About(
            description="The port of 127.0.0.1 to which the browser comes back from a login; 0: any free one.",
            project=ProjectRule.OWN,
        ),
    ] = 0
    tools: Annotated[
        tuple[str, ...],
        About(
            description="The only tools of the server that a model is offered, by the server's own names. "
            "Empty: all, up to 128.",
        ),
    ] = ()
    read_only: Annotated[
        tuple[str, ...],
        About(
            description="Tools of the server, by its own names, whose calls only read and run without review. "
            "What the server itself says about that does not count.",
            project=ProjectRule.OWN,
        ),
    ] = ()
    start_timeout_secs: Annotated[
        int,
        Meta(ge=1, le=600),
        About(
            description="Seconds that a turn waits for the server to start, then it continues without it.",
        ),
    ] = 20
    timeout_secs: Annotated[
        int,
        Meta(ge=1, le=86_400),
        About(description="Seconds after which a call of one of its tools fails."),
    ] = 120
    enabled: Annotated[bool, About(description="false: it is off.")] = True


class McpTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    servers: Annotated[
        Mapping[str, McpServerTable],
        About(
            description="Servers of the Model Context Protocol whose tools a model gets, one table per server.",
            problem=find_unfit_server,
            names=SERVER_NAME,
            names_expected="1 to 32 small letters, digits and - only",
            names_example="git",
        ),
    ] = field(default_factory=dict)


_ANY_NAME = r"\A.+\Z"

# The names of languages in the protocol, with the patterns of their files.
LANGUAGE_FILES: Mapping[str, tuple[str, ...]] = {
    "python": ("*.py", "*.pyi"),
    "typescript": ("*.ts", "*.mts", "*.cts"),
    "typescriptreact": ("*.tsx",),
    "javascript": ("*.js", "*.mjs", "*.cjs"),
    "javascriptreact": ("*.jsx",),
    "rust": ("*.rs",),
    "go": ("*.go",),
    "c": ("*.c", "*.h"),
    "cpp": ("*.cc", "*.cpp", "*.cxx", "*.hh", "*.hpp", "*.hxx"),
    "csharp": ("*.cs",),
    "java": ("*.java",),
    "kotlin": ("*.kt", "*.kts"),
    "scala": ("*.scala", "*.sc"),
    "swift": ("*.swift",),
    "ruby": ("*.rb",),
    "php": ("*.php",),
    "lua": ("*.lua",),
    "zig": ("*.zig",),
    "elixir": ("*.ex", "*.exs"),
    "erlang": ("*.erl", "*.hrl"),
    "haskell": ("*.hs",),
    "ocaml": ("*.ml", "*.mli"),
    "dart": ("*.dart",),
    "shellscript": ("*.sh", "*.bash"),
    "html": ("*.html", "*.htm"),
    "css": ("*.css",),
    "scss": ("*.scss",),
    "json": ("*.json",),
    "yaml": ("*.yaml", "*.yml"),
    "toml": ("*.toml",),
    "markdown": ("*.md",),
    "vue": ("*.vue",),
    "svelte": ("*.svelte",),
}


def find_unfit_language_server(table: Mapping[str, object]) -> str | None:
    """What is wrong with a server as a whole: it must be told which files are its own."""
    languages = table.get("languages")
    if not isinstance(languages, list | tuple) or not languages:
        return 'needs languages, for example languages = ["python"]'
    unknown = next((each for each in languages if each not in LANGUAGE_FILES), None)
    if unknown is not None and not table.get("files"):
        return f'has the language "{unknown}", whose files are not known here: name them in files = ["*.EXT"]'
    return None


class LanguageServerTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One language server."""

    command: Annotated[
        tuple[str, ...],
        Meta(min_length=1),
        About(
            description="The program of the server and its arguments, with which it speaks the Language Server "
            "Protocol on its standard input and output. It runs without a shell in the workspace, which it can "
            "only read, in the sandbox where there is one, without network.",
            expected='a list of a program and its arguments, for example ["pyright-langserver", "--stdio"]',
        ),
    ]
    languages: Annotated[
        tuple[str, ...],
        About(
            description="The languages that it serves, by their names in the protocol, such as python, "
            "typescript, typescriptreact, rust, go, cpp.",
            expected='a list of languages, for example ["python"]',
        ),
    ] = ()
    files: Annotated[
        tuple[str, ...],
        About(
            description="The files that it serves: patterns of paths relative to the workspace; * also matches "
            "/. Empty: those that are usual for its languages. A file of no known language has the first one.",
            expected='a list of patterns, for example ["*.py"]',
        ),
    ] = ()
    options: Annotated[
        Mapping[str, object],
        About(
            description="What it gets as its initializationOptions.",
            expected="a value",
            names=_ANY_NAME,
            names_expected="no line breaks",
        ),
    ] = field(default_factory=dict)
    settings: Annotated[
        Mapping[str, object],
        About(
            description="Its own settings, which it asks for by section, such as "
            '{ python = { analysis = { typeCheckingMode = "strict" } } }.',
            expected="a value",
            names=_ANY_NAME,
            names_expected="no line breaks",
        ),
    ] = field(default_factory=dict)
    diagnostics: Annotated[
        bool,
        About(
            description="Whether the model reads with the result of an edit what the server finds new in it.",
        ),
    ] = True
    wait_secs: Annotated[
        float,
        Meta(ge=0, le=60),
        About(
            description="Seconds that the result of an edit waits for its diagnostics; what comes later is "
            "told with the next result.",
        ),
    ] = 3.0
    start_timeout_secs: Annotated[
        float,
        Meta(gt=0, le=600),
        About(description="Seconds after which the start of the server fails."),
    ] = 30.0
    timeout_secs: Annotated[
        float,
        Meta(gt=0, le=600),
        About(description="Seconds after which a question to it fails."),
    ] = 30.0
    enabled: Annotated[bool, About(description="false: it is off.")] = True

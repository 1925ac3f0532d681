"""How an agent is started: its command, what it sees of the environment, and the mode in which it asks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from msgspec import Struct, field

from quorum.application.ports.agents import ReportedCall
from quorum.application.program_lookup import explain_missing, filter_environment, find_program
from quorum.domain.calls.packet import ProposedCall
from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.program_tables import AgentProgramTable
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.execution.commands.environment import build_command_environment
from quorum.infrastructure.settings_conversion import list_key_names


class KnownAgent(Struct, frozen=True, kw_only=True):
    """An agent whose usual command is known. `asking_mode` is the one of its modes in which it asks before it
    acts, empty where it begins in it; `login_env` are variables that its login is found by, `added` what has it
    ask where no mode does. `takes_files`: it works with files that it reaches through us;
    `tells_no_arguments`: a command is its call's title, and the tool begins its id; `loads_next_minute`: it
    loses a session that it is to load in the minute in which that began; `folders` hold its settings, login and
    sessions. `obeyed` is what it takes programs, permissions and instructions from: names
    in its folders, or paths.
    """

    command: tuple[str, ...]
    install: str
    asking_mode: str = ""
    login_env: tuple[str, ...] = ()
    added: Mapping[str, str] = field(default_factory=dict)
    takes_files: bool = True
    tells_no_arguments: bool = False
    loads_next_minute: bool = False
    folders: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()


_OFTEN_OBEYED = (
    *("settings.json", "settings.local.json", "config.toml", "mcp.json", "hooks.json", "hooks.toml", ".env"),
    *(
        "hooks",
        "plugins",
        "extensions",
        "agents",
        "commands",
        "prompts",
        "skills",
        "rules",
        "policies",
        "tools",
    ),
    *("AGENTS.md", "bin", "instructions", "scripts", "lib", "packages", "versions", "node_modules"),
)
_SCRIPTS = frozenset(
    {".sh", ".bash", ".zsh", ".fish", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".ps1"}
)
_MOST_ENTRIES = 2_000
KNOWN_AGENTS: Mapping[str, KnownAgent] = {
    "claude": KnownAgent(
        command=("claude-agent-acp",),
        install="npm install -g @agentclientprotocol/claude-agent-acp",
        asking_mode="default",
        login_env=("CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN"),
        folders=("~/.claude", "~/.claude.json"),
        obeyed=(
            *(*_OFTEN_OBEYED, "~/.claude.json", ".claude.json", "CLAUDE.md", "output-styles", "workflows"),
            *("keybindings.json", "local"),
        ),
    ),
    "codex": KnownAgent(
        command=("codex-acp",),
        install="npm install -g @agentclientprotocol/codex-acp",
        asking_mode="read-only",
        login_env=("CODEX_HOME",),
        folders=("~/.codex",),
        obeyed=(*_OFTEN_OBEYED, "AGENTS.override.md", "managed_config.toml", "requirements.toml"),
    ),
    "copilot": KnownAgent(
        command=("copilot", "--acp"),
        install="npm install -g @github/copilot",
        folders=("~/.copilot",),
        obeyed=(
            *(*_OFTEN_OBEYED, "mcp-config.json", "lsp-config.json", "permissions-config.json"),
            *("copilot-instructions.md", "installed-plugins", "pkg"),
        ),
    ),
    "gemini": KnownAgent(
        command=("gemini", "--acp"),
        install="npm install -g @google/gemini-cli",
        asking_mode="default",
        takes_files=False,  # version 0.61 cannot make a new file that way
        tells_no_arguments=True,
        loads_next_minute=True,  # version 0.61
        folders=("~/.gemini",),
        obeyed=(
            *(*_OFTEN_OBEYED, "GEMINI.md", "trustedFolders.json", "trusted_hooks.json", "keybindings.json"),
            *("~/.gemini/tmp/bin", "system.md"),
        ),
    ),
    "kimi": KnownAgent(
        command=("kimi", "acp"),
        install="npm install -g @moonshot-ai/kimi-code",
        asking_mode="default",
        folders=("~/.kimi-code",),
        obeyed=_OFTEN_OBEYED,
    ),
    "opencode": KnownAgent(
        command=("opencode", "acp"),
        install="npm install -g opencode-ai",
        added={"OPENCODE_PERMISSION": '{"edit":"ask","bash":"ask","webfetch":"ask"}'},
        folders=tuple(f"~/{each}/opencode" for each in (".config", ".local/share", ".local/state", ".cache")),
        obeyed=("~/.config/opencode", "bin", "node_modules", "packages", "plugin"),
    ),
    "vibe": KnownAgent(
        command=("vibe-acp",),
        install="uv tool install mistral-vibe",
        asking_mode="ask",
        login_env=("VIBE_HOME",),
        folders=("~/.vibe",),
        obeyed=(*_OFTEN_OBEYED, "trusted_folders.toml"),
    ),
}


class AgentLaunch(Struct, frozen=True, kw_only=True):
    """An agent as it is started. `words` are its absolute path and arguments, `environ` all that it sees of the
    environment; `timeout_secs` bounds its silence; `is_confined`: it runs in the sandbox, where it may write
    to `folders`, but not to `obeyed`; the others are as for a known agent."""

    name: str
    words: tuple[str, ...]
    environ: Mapping[str, str]
    timeout_secs: float
    asking_mode: str = ""
    takes_files: bool = True
    tells_no_arguments: bool = False
    loads_next_minute: bool = False
    is_confined: bool = False
    folders: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()


class ExternalAgent(Struct, frozen=True, kw_only=True):
    """An agent that is to work in a session. `read_call` reads its calls in our terms, `version` is ours."""

    launch: AgentLaunch
    read_call: Callable[[ReportedCall], ProposedCall]
    version: str


def find_launch(name: str, settings: Settings, environ: Mapping[str, str]) -> AgentLaunch:
    """The agent of this name. Raises ConfigError where there is none, or its program is missing."""
    table, known = settings.agents.get(name), KNOWN_AGENTS.get(name)
    if table is None and known is None:
        names = ", ".join(sorted({*KNOWN_AGENTS, *settings.agents}))
        raise ConfigError(
            f'there is no agent "{name}"; the known ones are {names}: declare [agents.{name}] with '
            'command = ["PROGRAM", …] in your quorum.toml'
        )
    table = table or AgentProgramTable()
    known, own = known or KnownAgent(command=(), install=""), table.command
    if not (own or known.command):
        raise ConfigError(f'[agents.{name}] names no command; set command = ["PROGRAM", …], as of an ACP agent')
    program, *arguments = own or known.command
    searched = environ.get("PATH", "")
    found = find_program(program, searched)
    if found is None:
        install = f"install it with: {known.install}; " if not own else ""
        raise ConfigError(
            f"the agent {name} cannot be started: {explain_missing(program, searched)} ({install}"
            f"command in [agents.{name}] names it)"
        )
    passed = (*table.pass_env, *known.login_env)
    given = {each: environ[each] for each in passed if each in environ}
    moved = {each: value for each, value in given.items() if value[:1] == "/" and each not in table.pass_env}
    if table.sandbox:
        _refuse_home(name, moved, environ)
    folders = (*_place_folders(known.folders, environ), *moved.values())
    return AgentLaunch(
        name=name,
        words=(found, *arguments),
        environ={
            **filter_environment(build_command_environment(environ, list_key_names(settings))),
            **known.added,
            **given,
        },
        timeout_secs=table.timeout_secs,
        asking_mode=known.asking_mode,
        takes_files=known.takes_files,
        tells_no_arguments=known.tells_no_arguments,
        loads_next_minute=known.loads_next_minute,
        is_confined=table.sandbox,
        folders=folders,
        obeyed=tuple(_list_obeyed((*known.obeyed, *table.obeys), folders, environ)),
    )


def _list_obeyed(obeyed: Sequence[str], folders: Sequence[str], environ: Mapping[str, str]) -> Iterator[str]:
    """Where it lies, as absolute paths. A folder that is a link leads to what is obeyed as well."""
    home = Path(environ.get("HOME") or os.path.expanduser("~"))
    names = [name for name in obeyed if "/" not in name]
    named = _place_folders([path for path in obeyed if "/" in path], environ)
    for path in (*named, *(f"{folder}/{name}" for folder in folders for name in names)):
        yield os.path.normpath(home / path.removeprefix("~/"))
    for folder in folders if names else ():
        yield from _list_scripts(os.path.normpath(home / folder.removeprefix("~/")))


def _list_scripts(folder: str) -> Iterator[str]:
    """The programs that lie in it by any name, as settings have agents run them."""
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, _MOST_ENTRIES):
                is_script = os.path.splitext(entry.name)[1] in _SCRIPTS or os.access(entry.path, os.X_OK)
                if is_script and entry.is_file():
                    yield entry.path
    except OSError:  # it is none, or not there
        return


def _refuse_home(name: str, moved: Mapping[str, str], environ: Mapping[str, str]) -> None:
    """Raises ConfigError where the agent could write to all of the home folder."""
    home = Path(environ.get("HOME") or os.path.expanduser("~")).resolve()
    for variable, folder in moved.items():
        if home.is_relative_to(Path(folder).resolve()):
            raise ConfigError(
                f"{variable} is {folder}, and your home folder lies in it: in its sandbox the agent {name} "
                f"could write to all of that; set {variable} to a folder of its own, or sandbox = false in "
                f"[agents.{name}]"
            )


_BASES = {
    "~/.config": "XDG_CONFIG_HOME",
    "~/.local/share": "XDG_DATA_HOME",
    "~/.local/state": "XDG_STATE_HOME",
    "~/.cache": "XDG_CACHE_HOME",
}


def _place_folders(folders: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """Where they lie for programs that go by the variables of the XDG folders."""
    placed = []
    for folder in folders:
        base, _, name = folder.rpartition("/")
        value = environ.get(_BASES.get(base, ""), "")
        placed.append(f"{value}/{name}" if value.startswith("/") else folder)
    return tuple(placed)

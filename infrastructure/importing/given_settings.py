"""Settings of other agents: MCP servers as ours can have them, without any secret in plain; others are named,
with what to set here instead."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct, field

from quorum.domain.importing.foreign_rules import TranslatedRule, list_server_tools, name_server
from quorum.domain.importing.foreign_session import TakeoverItem, TakeoverKind
from quorum.domain.review.permission_rules import Answer
from quorum.domain.secrets.patterns import find_pattern_spans
from quorum.domain.settings import is_web_address
from quorum.infrastructure.config.foreign_file import ForeignFile
from quorum.infrastructure.config.program_tables import SERVER_NAME
from quorum.infrastructure.config.toml_text import (
    escape_unprintable,
    format_literal,
    hide_credentials,
    shorten_text,
)

_NAME = re.compile(SERVER_NAME)
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VARIABLE = re.compile(r"\$\{?(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}?|\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
# A name with a value behind it: an option, a variable that is set, a header, a part of a query.
_NAMED = re.compile(r"(?:^|[?&;\s])-{0,2}([A-Za-z][A-Za-z0-9_.-]*)(?:\s*[=:]\s*)(?=[^\s/])")
_OPTION = re.compile(r"--?([A-Za-z][A-Za-z0-9_-]*)")
_TELLING = re.compile(
    r"(?i)key|token|secret|passw|pwd|passphrase|auth|credential|bearer|cookie|(?:^|[_-])pat(?:$|[_-])"
)


class GivenServer(Struct, frozen=True, kw_only=True):
    """A server as another agent has it. `environment` and `headers` are with their values, `bearer_variable`
    names that of a token. `only` are the tools that it may offer, `without` those that it may not. `flaw` is
    what quorum cannot have of it."""

    name: str
    place: str
    command: Sequence[str] = ()
    url: str = ""
    environment: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, object] = field(default_factory=dict)
    bearer_variable: str = ""
    passed: Sequence[str] = ()
    only: Sequence[str] = ()
    without: Sequence[str] = ()
    is_enabled: bool = True
    flaw: str = ""


class _Unfit(Exception):
    """What quorum cannot have of the server, as a clause."""


def find_server(given: GivenServer, present: Mapping[str, object]) -> Iterator[TakeoverItem]:
    """The server, and what of its tools is denied. `present` are the servers there are, by their names."""
    name = name_server(given.name)
    if given.without:
        rules = tuple(rule for tool in given.without for rule in list_server_tools(given.name, tool))
        listed = shorten_text(", ".join(map(escape_unprintable, given.without)), 80)
        yield TakeoverItem(
            kind=TakeoverKind.RULE,
            there=f"deny tools of {escape_unprintable(given.name)}: {listed}",
            place=given.place,
            here=", ".join(f"deny {rule}" for rule in rules),
            rule=TranslatedRule(answer=Answer.DENY, rules=rules),
        )
    target = hide_credentials(given.url.partition("?")[0]) or " ".join(given.command[:1])
    there = shorten_text(escape_unprintable(f"{given.name}: {target}"), 80)
    try:
        if not _NAME.match(name):
            raise _Unfit("its name holds no letter or digit")
        values, notes = _translate(given, name)
    except _Unfit as unfit:
        yield TakeoverItem(
            kind=TakeoverKind.SERVER, there=there, place=given.place, why=f"not taken over: {unfit}"
        )
        return
    if name in present:
        is_same = present[name] == values
        why = "" if is_same else f"not taken over: there is a server {name} here already"
        here = "here already" if is_same else ""
        yield TakeoverItem(kind=TakeoverKind.SERVER, there=there, place=given.place, here=here, why=why)
        return
    here, why = f"[mcp.servers.{name}]", "; ".join(notes)
    yield TakeoverItem(
        kind=TakeoverKind.SERVER, there=there, place=given.place, here=here, why=why, server={name: values}
    )


def _translate(given: GivenServer, name: str) -> tuple[dict[str, object], list[str]]:
    if given.flaw:
        raise _Unfit(given.flaw)
    notes: list[str] = []
    values: dict[str, object] = {}
    if given.url:
        values["url"] = _check_address(given.url)
        if token := _find_token(given, name, notes):
            values["bearer_token_env"] = token
        if given.environment or given.passed:
            raise _Unfit("it has an address and variables")
    else:
        values["command"] = _check_command(given.command)
        if given.headers or given.bearer_variable:
            raise _Unfit("it has a program and headers")
        passed = [*given.passed, *_name_variables(given.environment, notes)]
        if passed:
            values["pass_env"] = list(dict.fromkeys(passed))
    if given.only:
        values["tools"] = list(given.only)
    if not given.is_enabled:
        values["enabled"] = False
    return values, notes


def _check_command(command: Sequence[str]) -> list[str]:
    if not command or not all(isinstance(word, str) for word in command) or not command[0]:
        raise _Unfit("it has neither a program nor an address that quorum can use")
    for place, word in enumerate(command):
        if _VARIABLE.search(word):
            raise _Unfit("its command names a variable; write out what is meant, or pass it by pass_env")
        option = _OPTION.fullmatch(word)
        following = command[place + 1] if place + 1 < len(command) else "-"
        is_told = option is not None and _TELLING.search(option[1]) and not following.startswith("-")
        if is_told or _may_hold_secret(word):
            raise _Unfit(
                "its command seems to hold a secret; have the program read it from a variable: pass_env"
            )
    return list(command)


def _may_hold_secret(word: str) -> bool:
    return (
        hide_credentials(word) != word
        or bool(find_pattern_spans(word))
        or any(_TELLING.search(name) for name in _NAMED.findall(word))
    )


def _check_address(url: str) -> str:
    if not is_web_address(url):
        raise _Unfit("its address does not begin with http:// or https://")
    if _VARIABLE.search(url):
        raise _Unfit("its address names a variable; write out what is meant")
    if _may_hold_secret(url):
        raise _Unfit("its address seems to hold a secret; use bearer_token_env")
    return url


def _find_token(given: GivenServer, name: str, notes: list[str]) -> str:
    """The variable of the bearer token; empty where there is none."""
    token = given.bearer_variable
    if token and not _VARIABLE_NAME.fullmatch(token):
        raise _Unfit("the variable of its token has no name that a variable can have")
    for header, value in given.headers.items():
        text = value if isinstance(value, str) else ""
        if header.lower() != "authorization" or not text.lower().startswith("bearer "):
            raise _Unfit(
                f"it sends the header {escape_unprintable(header)[:60]}; quorum sends a bearer token alone"
            )
        found = _VARIABLE.fullmatch(text[len("bearer ") :].strip())
        token = (found[1] or found[2]) if found is not None else f"{name.replace('-', '_').upper()}_TOKEN"
        if found is None:
            notes.append(f"its token is not copied: set {token} in your environment")
    return token


def _name_variables(environment: Mapping[str, object], notes: list[str]) -> Iterator[str]:
    unset: list[str] = []
    for name, value in environment.items():
        if not _VARIABLE_NAME.fullmatch(name):
            raise _Unfit("a variable of it has no name that a variable can have")
        found = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
        if found is None or name not in found.groups():
            unset.append(name)
        yield name
    if unset:
        notes.append(f"values of variables are not copied: set {', '.join(unset)} in your environment")


def read_texts(value: object) -> list[str]:
    """The texts in a list; nothing of what is none."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


_FOLDERS = "add those you want to workspace.directories: docs/folders.md"
_READABLE = "add those you want to tools.run_command.sandbox_readable: docs/sandbox.md"
_WRITABLE = "add those you want to tools.run_command.sandbox_writable: docs/sandbox.md"
_NETWORK = "choose tools.run_command.network: docs/sandbox.md"
_SANDBOX = "choose tools.run_command.sandbox: docs/sandbox.md"
_TOOLS = "name the tools to offer in tools.enabled: docs/tools.md"
_TRUST = "trust is not taken over: quorum config trust (docs/trust.md)"
_LIMIT = "a managed policy can set the highest review.mode: docs/managed-policy.md"
_PROJECT_SERVERS = "add those you want: quorum mcp add NAME --from .mcp.json"
_MODE = "choose review.mode: docs/review.md"
_PROVIDERS = "write those you want as [providers.NAME], with type and base_url: docs/providers.md"
_UNKNOWN = "quorum has no such setting, or does not know it"

# What comes nearest to a mode there; none for those in which nothing asks.
_MODES = {
    **dict.fromkeys(("default", "manual", "on-request", "on-failure", "untrusted"), "ask"),
    **dict.fromkeys(("acceptEdits", "auto_edit", "autoEdit", "auto-edit"), "accept-edits"),
    **dict.fromkeys(("plan", "dontAsk", "read-only"), "read-only"),
    **dict.fromkeys(("workspace-write", "never"), "sandboxed"),
}

CLAUDE = {
    "permissions.defaultMode": _MODE,
    "permissions.additionalDirectories": _FOLDERS,
    "permissions.disableBypassPermissionsMode": _LIMIT,
    "permissions.disableAutoMode": _LIMIT,
    "sandbox.enabled": _SANDBOX,
    "sandbox.failIfUnavailable": _SANDBOX,
    "sandbox.autoAllowBashIfSandboxed": 'choose it yourself: review.mode = "sandboxed" (docs/review.md)',
    "sandbox.excludedCommands": "they run in the sandbox here: docs/sandbox.md",
    "sandbox.filesystem.allowRead": _READABLE,
    "sandbox.filesystem.allowWrite": _WRITABLE,
    "sandbox.network.allowedDomains": _NETWORK,
    "enableAllProjectMcpServers": _PROJECT_SERVERS,
    "enabledMcpjsonServers": _PROJECT_SERVERS,
}
CLAUDE_READ = frozenset(
    {
        *("permissions.allow", "permissions.ask", "permissions.deny", "sandbox.filesystem.denyRead"),
        *("sandbox.filesystem.denyWrite", "sandbox.network.deniedDomains"),
    }
)
CODEX = {
    "approval_policy": _MODE,
    "sandbox_mode": _MODE,
    "default_permissions": "what any profile denies is denied here; for the rest, choose review.mode",
    "sandbox_workspace_write.writable_roots": _WRITABLE,
    "sandbox_workspace_write.network_access": _NETWORK,
    "projects": _TRUST,
    "profiles": "not read: choose models and review.mode yourself",
    "model_providers": _PROVIDERS,
}
GEMINI = {
    "general.defaultApprovalMode": _MODE,
    "tools.approvalMode": _MODE,
    "approvalMode": _MODE,
    "context.includeDirectories": _FOLDERS,
    "includeDirectories": _FOLDERS,
    "tools.autoAccept": _MODE,
    "autoAccept": _MODE,
    "tools.sandbox": _SANDBOX,
    "sandbox": _SANDBOX,
    "tools.core": _TOOLS,
    "coreTools": _TOOLS,
    "security.disableYoloMode": _LIMIT,
    "security.folderTrust": _TRUST,
    "mcp.allowed": "take the other servers out: quorum mcp remove NAME",
}
GEMINI_READ = frozenset({"tools.exclude", "tools.allowed", "mcp.excluded"})
COPILOT = {"trusted_folders": _TRUST, "trustedFolders": _TRUST}
OPENCODE = {"provider": _PROVIDERS}
KIMI = {
    "default_permission_mode": _MODE,
    "default_yolo": _MODE,
    "permission.mode": _MODE,
    "providers": _PROVIDERS,
}
KIMI_READ = frozenset({"permission.allow", "permission.ask", "permission.deny", "permission.rules"})


def name_settings(
    file: ForeignFile, instead: Mapping[str, str], read: Collection[str] = ()
) -> Iterator[TakeoverItem]:
    """A line for each setting in `instead`, by its path, and for each other one in the tables of these, except
    what is `read` elsewhere."""
    found = dict(_list_settings(file.data, "", {*instead, *read}))
    for path in (
        *(each for each in instead if each in found),
        *(each for each in found if each not in instead),
    ):
        if path in read:
            continue
        value = found[path]
        shown = (
            f"{path} = {format_literal(value)}" if path in instead and not isinstance(value, Mapping) else path
        )
        yield TakeoverItem(
            kind=TakeoverKind.SETTING,
            there=shorten_text(escape_unprintable(shown), 100),
            place=file.locate(path.rpartition(".")[2]),
            why=_choose_mode(value) if instead.get(path) == _MODE else instead.get(path, _UNKNOWN),
        )


def list_tables(instead: Mapping[str, str]) -> list[str]:
    """The keys at the top of a file under which these settings stand."""
    return [path.partition(".")[0] for path in instead]


def _choose_mode(value: object) -> str:
    mode = _MODES.get(value) if isinstance(value, str) else None
    return (
        f'choose it yourself: review.mode = "{mode}" (docs/review.md)' if mode else f"not taken over: {_MODE}"
    )


def _list_settings(
    table: Mapping[str, object], begin: str, known: Collection[str]
) -> Iterator[tuple[str, object]]:
    """The settings with their paths: all in tables in which known ones stand, and of the top the known ones."""
    for name, value in table.items():
        path = f"{begin}{name}"
        if (
            path not in known
            and isinstance(value, Mapping)
            and any(each.startswith(f"{path}.") for each in known)
        ):
            yield from _list_settings(value, f"{path}.", known)
        elif begin or path in known:
            yield path, value

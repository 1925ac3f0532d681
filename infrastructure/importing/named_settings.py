"""Settings of other agents that are not taken over: each is named, with what to set here instead."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from quorum.domain.importing.foreign_session import TakeoverItem, TakeoverKind
from quorum.infrastructure.config.foreign_file import ForeignFile
from quorum.infrastructure.config.toml_text import escape_unprintable, format_literal, shorten_text

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

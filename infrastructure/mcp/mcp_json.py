"""`.mcp.json`, the file in which other agents keep the MCP servers of a project: read to be taken over.

Its servers are never started from there: it may hold secrets, and names of variables that quorum would fill in.
`quorum mcp add --from` writes one of them to the person's own settings, and shows what it writes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.config.toml_text import escape_unprintable, shorten_text

_LARGEST_BYTES = 1_000_000
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_BEARER = re.compile(r"Bearer \$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_KEYS = frozenset({"type", "command", "args", "env", "url", "headers"})


def read_server_of_mcp_json(path: Path, name: str) -> dict[str, object]:
    """The settings of one server of the file, as keys of `[mcp.servers.NAME]`.

    Raises ConfigError where there is none of that name, or where it says what the settings cannot: a value of a
    variable, another header than a bearer token, `${VAR}` elsewhere.
    """
    servers = _read(path)
    if name not in servers:
        known = ", ".join(escape_unprintable(each)[:40] for each in servers) or "none"
        raise ConfigError(f"{escape_path(path)} has no server {name}; it has: {known}")
    server = servers[name]
    place = f"{escape_path(path)}: the server {name}"
    if not isinstance(server, dict):
        raise ConfigError(f"{place} is no table of settings")
    if unknown := sorted(set(server) - _KEYS):
        raise ConfigError(f"{place} has {_show(unknown[0])}, which quorum does not know; add it by hand")
    kind = server.get("type", "http" if "url" in server else "stdio")
    if kind == "stdio":
        return _read_program(server, place)
    if kind in ("http", "streamable-http"):
        return _read_address(server, place)
    raise ConfigError(f"{place} is of the type {_show(kind)}; quorum speaks stdio and streamable HTTP")


def _read(path: Path) -> Mapping[str, object]:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{escape_path(path)} cannot be read: {error.strerror}") from error
    if len(content) > _LARGEST_BYTES:
        raise ConfigError(f"{escape_path(path)} is larger than {_LARGEST_BYTES:,} bytes; is it the right file?")
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{escape_path(path)} is no JSON: {str(error)[:200]}") from error
    servers = data.get("mcpServers") if isinstance(data, dict) else None
    if not isinstance(servers, dict):
        raise ConfigError(f'{escape_path(path)} has no table "mcpServers"')
    return servers


def _read_program(server: Mapping[str, object], place: str) -> dict[str, object]:
    command, arguments = server.get("command"), server.get("args", [])
    if not isinstance(command, str) or not isinstance(arguments, list):
        raise ConfigError(f"{place} needs a command, and args as a list")
    words = [_require_plain(word, place, "command") for word in (command, *arguments)]
    return _drop_empty({"command": words, "pass_env": _read_environment(server.get("env", {}), place)})


def _read_environment(environment: object, place: str) -> list[str]:
    """The variables that are passed on under their own names."""
    if not isinstance(environment, dict):
        raise ConfigError(f"{place} has an env that is no table")
    for name, value in environment.items():
        found = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
        if found is None or found[1] != name:
            raise ConfigError(
                f"{place} sets the variable {_show(name)}; settings hold no values of variables: set it "
                f"yourself, and add the server with --pass-env {_show(name)}"
            )
    return list(environment)


def _read_address(server: Mapping[str, object], place: str) -> dict[str, object]:
    headers = server.get("headers", {})
    if not isinstance(headers, dict):
        raise ConfigError(f"{place} has headers that are no table")
    token = ""
    for name, value in headers.items():
        found = _BEARER.fullmatch(value) if isinstance(value, str) else None
        if name.lower() != "authorization" or found is None:
            raise ConfigError(
                f"{place} sends the header {_show(name)}; settings hold a bearer token by its variable only: "
                "add the server with --bearer-token-env"
            )
        token = found[1]
    return _drop_empty({"url": _require_plain(server.get("url"), place, "url"), "bearer_token_env": token})


def _require_plain(value: object, place: str, key: str) -> str:
    """A text with no variable in it: what is written is what is shown."""
    if not isinstance(value, str):
        raise ConfigError(f"{place} has no text as its {key}")
    if "${" in value:
        raise ConfigError(f"{place} names a variable in its {key}, {_show(value)}; write out what is meant")
    return value


def _show(value: object) -> str:
    return shorten_text(escape_unprintable(str(value)))


def _drop_empty(values: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value}

"""What a server gets that no settings hold: secrets that an editor hands over with it, for one session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from quorum.domain.secrets.known import NamedSecret
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.secrets.file_values import is_worth_hiding
from quorum.infrastructure.secrets.known import find_header_secrets

_HEADER_NAME = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_HEADER_VALUE = r"[\x20-\x7e]*"
_VARIABLE = r"[^=\0]+"
# The client of HTTP writes these itself; others in their place would make requests that are read in two ways.
_OF_HTTP = frozenset(("connection", "content-length", "host", "te", "trailer", "transfer-encoding", "upgrade"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCredentials:
    """Headers of every request to an address, or variables of a program. Never shown, never recorded."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    def find_obstacle(self) -> str:
        """Why they cannot be sent, naming no value; empty where they can."""
        for name, value in self.headers.items():
            if not compile_once(_HEADER_NAME).fullmatch(name) or name.lower() in _OF_HTTP:
                return f"{name!a} is no header that can be sent"
            if not compile_once(_HEADER_VALUE).fullmatch(value):
                return f"the value of its header {name} has characters other than printable ASCII"
        for name, value in self.environment.items():
            if not compile_once(_VARIABLE).fullmatch(name) or "\0" in value:
                return f"{name!a} is no environment variable"
        return ""

    def list_secrets(self, server: str) -> Iterator[NamedSecret]:
        """What is to be hidden, under the names of the server and of the header or the variable."""
        for name, value in self.headers.items():
            yield from find_header_secrets(f"mcp.{server}.{name}", value)
        for name, value in self.environment.items():
            if is_worth_hiding(value):
                yield NamedSecret(f"mcp.{server}.{name}", value)


NO_CREDENTIALS = ServerCredentials()

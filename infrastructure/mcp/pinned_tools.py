"""What the person accepted of MCP servers: the tools, as they were described then."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from quorum.domain.errors import ConfigError
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.config.paths import is_present, locate_state_folder
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.files.private_file import OwnFile

FILE_NAME = "mcp-tools.json"
_Digest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
_CONTENT = msgspec.json.Decoder(dict[_Digest, dict[str, _Digest]])


def compute_server_key(name: str, target: str) -> str:
    """What the tools of a server are remembered under: another command or address is another server."""
    return hashlib.sha256(f"{name}\0{target}".encode("utf-8", "surrogateescape")).hexdigest()


class PinnedTools:
    """The digests of the tools that were accepted, by server and by the server's name of the tool.

    Without a file, or with one that cannot be written, they hold for this run.
    """

    def __init__(self, folder: Path | None) -> None:
        self._file = None if folder is None else OwnFile(folder / FILE_NAME)
        self._path = None if folder is None else folder / FILE_NAME
        self._here: dict[str, dict[str, str]] = {}

    def load(self, server: str) -> dict[str, str] | None:
        """The tools of this server; None where it was never seen. Blocks. Raises ConfigError for a damaged
        file: what is not known to be accepted is asked about."""
        known = self._here.get(server)
        return known if known is not None else self._read().get(server)

    async def save(self, server: str, digests: Mapping[str, str]) -> str | None:
        """Accept these from now on; a sentence where that cannot be remembered beyond this run."""
        self._here[server] = dict(digests)
        if self._file is None:
            return None
        try:
            await run_in_thread(lambda _stop: self._write(server, digests))
        except ConfigError as error:
            return f"the tools of MCP servers are accepted in this session only: {error}"
        return None

    def _read(self) -> dict[str, dict[str, str]]:
        if self._path is None or self._file is None or not is_present(self._path):
            return {}
        remedy = f"correct or remove {escape_path(self._path)}"
        try:
            if (danger := self._file.find_danger()) is not None:
                raise ConfigError(f"{danger}; {remedy}")
            return _CONTENT.decode(self._path.read_bytes())
        except msgspec.DecodeError as error:
            raise ConfigError(f"{escape_path(self._path)} is damaged: {error}; {remedy}") from error
        except OSError as error:
            raise ConfigError(f"{escape_path(self._path)} cannot be read: {error.strerror}") from error

    def _write(self, server: str, digests: Mapping[str, str]) -> None:
        assert self._file is not None
        self._file.change(lambda: json.dumps({**self._read(), server: dict(digests)}, indent=1) + "\n")


def open_pinned_tools(environ: Mapping[str, str]) -> PinnedTools:
    """Those of this machine's person; without a home folder, of this run."""
    return PinnedTools(locate_state_folder(environ))

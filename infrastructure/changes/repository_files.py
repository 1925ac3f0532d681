"""Implements the port ReviewedFiles with the repository that the working directory lies in."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from quorum.domain.errors import ToolError
from quorum.domain.text.amounts import format_size
from quorum.infrastructure.changes.git_reader import GitReader
from quorum.infrastructure.files.workspace import Workspace

_MOST_BYTES = 20_000_000


class RepositoryFiles:
    """`root` is the working directory. Where it lies in no repository, files are named from it."""

    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        self._root = root
        self._environ = environ

    async def locate(self, file: str) -> str:
        """The absolute path of a file that can be read; see the port."""
        return await asyncio.to_thread(self._locate, file)

    async def read(self, file: str) -> str:
        """What the file holds; see the port. Raises ToolError for more than 20 MB, too."""
        return await asyncio.to_thread(self._read, file)

    def _open_workspace(self) -> Workspace:
        """All of the repository, whichever of its folders the session works in."""
        try:
            return Workspace([GitReader(self._root, self._environ).top])
        except ToolError:
            return Workspace([self._root])

    def _locate(self, file: str) -> str:
        workspace = self._open_workspace()
        location = workspace.locate(file)
        with workspace.open_file(location):
            return location.path

    def _read(self, file: str) -> str:
        workspace = self._open_workspace()
        with workspace.open_file(workspace.locate(file)) as opened:
            content = opened.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise ToolError(f"{file} is larger than {format_size(_MOST_BYTES)}: open it in your editor")
        return content.decode("utf-8", "replace")

"""What tests of language servers share: a workspace, and servers that run in it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from quorum.domain.review.path_policy import SENSITIVE, PathPolicy
from quorum.infrastructure.config.program_tables import LanguageServerTable
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.language_servers.lookups import CodeLookups, CodeQuestion, Lookup
from quorum.infrastructure.language_servers.opening import open_language_servers
from quorum.infrastructure.language_servers.server import LanguageServer
from quorum.infrastructure.language_servers.servers import LanguageServers

ODD = Path(__file__).with_name("odd_server.py")


class LspBench:
    """A workspace with the servers of one kind, odd ones with these manners by default."""

    def __init__(self, folder: Path, *, sandbox: str = "off", **settings: Any) -> None:
        self.root = folder / "project"
        self.root.mkdir(exist_ok=True)
        self.log = folder / "log.jsonl"
        manners = folder / "manners.json"
        manners.write_text(json.dumps(settings.pop("manners", {})), encoding="utf-8")
        command = settings.pop("command", (sys.executable, str(ODD), str(manners), str(self.log)))
        environ = settings.pop("environ", os.environ)
        readable = settings.pop("readable", ())
        self.table = LanguageServerTable(
            **{"command": command, "languages": ("python",), "wait_secs": 20.0, **settings}
        )
        self.workspace = workspace = Workspace([self.root])
        policy = PathPolicy(roots=(str(workspace.cwd),), sensitive=SENSITIVE)
        box = Sandbox(choice=sandbox, policy=policy, environ=environ, readable=readable)  # type: ignore[arg-type]
        opened = open_language_servers({"odd": self.table}, workspace, policy, environ, (), box)
        assert opened is not None
        self.servers: LanguageServers = opened

    @property
    def server(self) -> LanguageServer:
        (server,) = self.servers.find_servers(None)
        return server

    def write(self, name: str, text: str = "") -> Path:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    async def edit(self, name: str, text: str) -> list[str]:
        """Change a file as a call would; the lines that are new, and failures."""
        path = str(self.root / name)
        await self.servers.before_edits([path])
        self.write(name, text)
        self.servers.note_edits([path])
        return await self.collect()

    async def collect(self, *, is_last: bool = False) -> list[str]:
        reports = await self.servers.collect(is_last=is_last)
        return [line for report in reports for line in (*report.lines, *filter(None, [report.failure]))]

    async def ask(self, lookup: Lookup, path: str = "", symbol: str = "", line: int | None = None) -> str:
        question = CodeQuestion(lookup=lookup, path=path, symbol=symbol, line=line)
        return await CodeLookups(self.servers).answer(question, lambda _shown: None)

    def list_told(self, method: str = "") -> list[Mapping[str, Any]]:
        """What the odd server was told or asked, by method."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return [message for message in map(json.loads, lines) if message.get("method", "") == method]


@asynccontextmanager
async def a_bench(folder: Path, **settings: Any) -> AsyncIterator[LspBench]:
    bench = LspBench(folder, **settings)
    try:
        yield bench
    finally:
        await bench.servers.aclose()

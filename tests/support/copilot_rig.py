"""A session over the real adapter, the real SDK, and a scripted CLI in a process of its own."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quorum.application.conversation_session import ConversationSession, open_session
from quorum.application.ports.models import LlmSession, MessageShaper
from quorum.application.ports.storage import ContentStore
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import Conversation
from quorum.infrastructure.models.copilot.provider import CopilotProvider
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from tests.support.session_rigs import SentResult
from tests.support.sse_server import Say

_FAKE = Path(__file__).with_name("fake_copilot_cli.py")
_ERROR = {"errorType": "query", "message": "Overloaded", "statusCode": 529}


def fake_program(folder: Path, of: Path | None = None) -> Path:
    """An executable that is the scripted CLI of this folder, or that replays the recording `of`."""
    program = folder / "copilot"
    words = [sys.executable, str(_FAKE), str(of or folder)]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return program


@dataclass(slots=True)
class CopilotRig:
    """The adapter at one end, the scripted CLI's folder at the other."""

    folder: Path
    backend: CopilotProvider
    conversation: Conversation
    session: LlmSession
    _steps: int = field(default=0)

    def script(self, *answers: Say) -> None:
        """Set what the CLI's model will answer."""
        for left in self.folder.glob("step-*.json"):
            left.unlink()
        for say in answers:
            self.step(say)

    def step(self, say: Say, *, error: Mapping[str, Any] = _ERROR, retries: tuple[str, ...] = ()) -> None:
        """Add one answer. `error` is reported where it ends with one, after these retries."""
        calls = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in say.calls]
        step = {
            "pieces": list(say.pieces),
            "calls": calls,
            "stop": say.stop,
            "reasoning": say.reasoning,
            "ending": say.ending,
            "error": dict(error),
            "retries": list(retries),
        }
        self._steps += 1
        (self.folder / f"step-{self._steps:04}.json").write_text(json.dumps(step), encoding="utf-8")

    def log(self, key: str) -> list[Any]:
        """The entries of this kind in what the CLI logged."""
        file = self.folder / "log.jsonl"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return [entry[key] for line in lines if key in (entry := json.loads(line))]

    def calls_of(self, method: str) -> list[Any]:
        """The parameters of each request of this method that the CLI got."""
        lines = (self.folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
        return [entry["params"] for line in lines if (entry := json.loads(line)).get("method") == method]

    def requests(self) -> int:
        """How many requests the CLI made to its model."""
        return len(self.log("asked"))

    def last_results(self) -> list[SentResult]:
        """The tool results that the last request to the model ended with."""
        results = self.log("asked")[-1]["results"]
        return [SentResult(r["id"], r["text"], r["resultType"] != "success") for r in results]

    def offered(self) -> tuple[list[str], str]:
        """The names of the tools in the last request to the model; the CLI leaves the choice to it."""
        names = self.log("asked")[-1]["tools"]
        return names, "auto" if names else ""

    def another_session(
        self, conversation: Conversation | None = None, shape: MessageShaper | None = None
    ) -> LlmSession:
        """One more session of the same CLI."""
        return open_session(
            self.backend.open_exchange("a-model"),
            conversation or Conversation(),
            "Be brief.",
            shape,
            Effort.DEFAULT,
        )


@asynccontextmanager
async def copilot_rig(
    folder: Path,
    *,
    config: Mapping[str, Any] | None = None,
    contents: ContentStore | None = None,
    **settings: Any,
) -> AsyncIterator[CopilotRig]:
    """A rig whose CLI keeps its script and log in this folder."""
    known = {"protocol": 3, "version": "1.0.102", "models": None, "deaf": False, **(config or {})}
    (folder / "config.json").write_text(json.dumps(known), encoding="utf-8")
    environ = settings.pop("environ", {"PATH": os.environ["PATH"], "HOME": str(folder)})
    program = str(fake_program(folder))
    given = ProviderSettings(
        type="copilot", **{"program": program, "base_url": "http://localhost:1/v1", **settings}
    )
    backend = CopilotProvider("scripted", given, environ, contents)
    conversation = Conversation()
    session = ConversationSession(backend.open_exchange("a-model"), conversation, system="Be brief.")
    yield CopilotRig(folder, backend, conversation, session)
    await backend.aclose()

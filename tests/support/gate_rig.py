"""`quorum gate` in this process: one call in, the answer as its caller reads it out."""

from __future__ import annotations

import io
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import run_command
from tests.support.headless_run import configure, environment


@dataclass(frozen=True)
class GateAnswer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.out)
        return parsed

    @property
    def permission(self) -> str:
        """What a PreToolUse hook answers."""
        assert self.code == 0, self.err
        given: str = self.json["hookSpecificOutput"]["permissionDecision"]
        return given

    @property
    def reason(self) -> str:
        given: str = self.json["hookSpecificOutput"]["permissionDecisionReason"]
        return given


class GateRig:
    """A person's home and a workspace, and callers that ask."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.home, self.root = folder / "home", folder / "work"
        self.home.mkdir()
        self.root.mkdir()
        self._monkeypatch, self._capsys = monkeypatch, capsys
        clean = environment(self.home)
        for name in set(os.environ) - set(clean) - {"PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER"}:
            monkeypatch.delenv(name)
        self.set_environment(**clean)
        monkeypatch.chdir(self.root)  # callers start a hook in the folder of their session

    def configure(self, text: str) -> None:
        configure(self.home, text)

    def set_environment(self, **values: str) -> None:
        for name, value in values.items():
            self._monkeypatch.setenv(name, value)

    def send(self, content: bytes, dialect: str = "claude", *options: str) -> GateAnswer:
        stream = io.TextIOWrapper(io.BytesIO(content))
        self._monkeypatch.setattr("sys.stdin", stream)
        self._capsys.readouterr()
        code = run_command(["gate", "--dialect", dialect, *options], Path())
        printed = self._capsys.readouterr()
        return GateAnswer(code, printed.out, printed.err)

    def payload(self, tool: str, **given: object) -> dict[str, Any]:
        return {
            "session_id": "caller-session",
            "transcript_path": "/nowhere/transcript.jsonl",
            "cwd": str(self.root),
            "permission_mode": "default",
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": given,
            "tool_use_id": "toolu_1",
        }

    def claude(self, tool: str, **given: object) -> GateAnswer:
        return self.send(json.dumps(self.payload(tool, **given)).encode())

    def codex(self, tool: str, event: str = "PreToolUse", **given: object) -> GateAnswer:
        payload = self.payload(tool, **given) | {"hook_event_name": event, "turn_id": "turn", "model": "gpt"}
        return self.send(json.dumps(payload).encode(), "codex")

    def own(self, tool: str, *options: str, **given: object) -> GateAnswer:
        payload = {"tool": tool, "arguments": given, "cwd": str(self.root)}
        return self.send(json.dumps(payload).encode(), "quorum", *options)

    def file(self, name: str, content: str = "text\n") -> str:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return str(path)

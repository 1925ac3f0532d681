"""Programs that are hooks, as a person would write them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from quorum.infrastructure.execution.commands.environment import build_command_environment
from quorum.infrastructure.hooks.claude_dialect import ClaudeCommandHook
from quorum.infrastructure.hooks.command_hook import CommandHook


class Programs:
    """Writes programs in Python into a folder and makes hooks of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.environ: dict[str, str] = dict(os.environ)

    def hook(self, body: str, *words: str, timeout_secs: float = 30.0) -> CommandHook:
        """A hook whose program has `given`, the JSON of its standard input, and `answer`, which prints one."""
        return self.command(sys.executable, str(self._write(body)), *words, timeout_secs=timeout_secs)

    def claude(self, body: str, matcher: str = "") -> ClaudeCommandHook:
        """The same as a hook of Claude Code."""
        return ClaudeCommandHook(
            (sys.executable, str(self._write(body))),
            matcher=matcher,
            session_id="s-1",
            cwd=self.workspace,
            environment=build_command_environment(self.environ, ()),
        )

    def _write(self, body: str) -> Path:
        script = self.folder / "program.py"
        script.write_text(
            "import json, os, sys, time\n"
            "def answer(**fields): print(json.dumps(fields))\n"
            "given = json.load(sys.stdin)\n" + body
        )
        return script

    def command(self, *argv: str, timeout_secs: float = 30.0) -> CommandHook:
        return CommandHook(
            argv,
            cwd=self.workspace,
            environment=build_command_environment(self.environ, {"OUR_KEY"}),
            timeout_secs=timeout_secs,
        )

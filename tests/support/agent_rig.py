"""`quorum agent` in this process, with an agent of its own on the SDK of the protocol."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from quorum.command_line.reading import parse
from tests.support.headless_run import Ended, configure, environment

PROGRAM = Path(__file__).with_name("acp_program.py")


@dataclass
class NoSignals:
    """Signals that nobody sends; `interrupt` is what one would call."""

    interrupt: Callable[[], object] = lambda: None

    def listen(self, listener: Callable[[], object]) -> None:
        self.interrupt = listener

    def ignore(self) -> None:
        self.interrupt = lambda: None


class AgentRig:
    """A person's home and a workspace, in which an agent does what its prompt says."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.home, self.root = folder / "home", folder / "work"
        self.home.mkdir()
        self.root.mkdir()
        self._capsys = capsys
        self.signals = NoSignals()
        clean = environment(self.home)
        for name in set(os.environ) - set(clean) - {"PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER"}:
            monkeypatch.delenv(name)
        for name, value in clean.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(self.root)
        self.declare()

    def declare(self, *flags: str, **settings: float) -> None:
        """Have the agent be started with these flags."""
        command = json.dumps([sys.executable, str(PROGRAM), *flags])
        more = "".join(f"{name} = {value}\n" for name, value in settings.items())
        configure(self.home, f"[agents.test]\ncommand = {command}\n{more}")

    def file(self, name: str, content: str) -> Path:
        path = self.root / name
        path.write_text(content, encoding="utf-8")
        return path

    def run(
        self, *steps: list[Any], options: tuple[str, ...] = ("--mode", "auto"), agent: str = "test"
    ) -> Ended:
        """Have the agent do these steps."""
        _, command, parsed = parse(["agent", agent, *options, json.dumps(steps)])
        assert command.answer is not None
        self._capsys.readouterr()
        code = command.answer(parsed, self.root, self.signals)  # type: ignore[arg-type]
        printed = self._capsys.readouterr()
        return Ended(code, printed.out, printed.err)

    def watch(
        self, *steps: list[Any], options: tuple[str, ...] = ("--mode", "auto"), agent: str = "test"
    ) -> Ended:
        """The same, with the events."""
        return self.run(*steps, options=(*options, "--output", "stream-json"), agent=agent)

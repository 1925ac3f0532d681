"""Calling tools as a runtime would, with controls that a test can see and turn."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from domain.calls.execution import ToolExecutionContext
from domain.calls.run_state import Modifier, RunState
from domain.calls.seal import Seal


@dataclass
class TestControls:
    """Controls whose every part is open to the test."""

    __test__ = False

    cancelled: bool = False
    was_asked: bool = False
    seal: Seal | None = None
    reports: list[str] = field(default_factory=list)
    state: RunState = field(default_factory=RunState)

    def modify(self, modifier: Modifier) -> None:
        self.state = modifier(self.state)

    def report(self, text: str) -> None:
        self.reports.append(text)


def a_context(*, seal: Seal | None = None, cancelled: bool = False) -> ToolExecutionContext:
    controls = TestControls(cancelled=cancelled, seal=seal)
    return ToolExecutionContext(call_id="c", batch_id="b", call_index=0, turn_index=0, controls=controls)


def call(tool, *, seal: Seal | None = None, **arguments) -> str:
    """The result of one call, outside any running loop."""
    return asyncio.run(tool.execute(arguments, a_context(seal=seal)))


def seal(tool, projected=None, **arguments) -> Seal:
    """The seal of one call, outside any running loop."""
    return asyncio.run(tool.seal(arguments, projected or {}))


def a_tree(root: Path, files: dict[str, str | bytes]) -> None:
    """Make these files with their folders."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def left_over(folder: Path) -> list[str]:
    """Temporary files that a tool left behind."""
    return [path.name for path in folder.rglob(".*.tmp")]

"""Calling tools as a runtime would, with controls that a test can see and turn."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.run_state import Modifier, RunState, SeenFile
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import TOOL_USE, LlmResponse, ToolUseBlock
from quorum.domain.shell.network_hosts import AskedHost


@dataclass
class TestControls:
    """Controls whose every part is open to the test."""

    __test__ = False

    cancelled: bool = False
    was_asked: bool = False
    reply: str | None = None
    seal: Seal | None = None
    reply: str | None = None
    reports: list[str] = field(default_factory=list)
    state: RunState = field(default_factory=RunState)
    seen: list[SeenFile] = field(default_factory=list)
    hosts: list[AskedHost] = field(default_factory=list)

    def modify(self, modifier: Modifier) -> None:
        self.state = modifier(self.state)

    def note_seen(self, file: SeenFile) -> None:
        self.seen.append(file)

    def note_host(self, host: AskedHost) -> None:
        self.hosts.append(host)

    def report(self, text: str) -> None:
        self.reports.append(text)


def a_context(*, seal: Seal | None = None, cancelled: bool = False) -> ToolExecutionContext:
    controls = TestControls(cancelled=cancelled, seal=seal)
    context = ToolExecutionContext(call_id="c", batch_id="b", call_index=0, turn_index=0)
    return context.with_controls(controls)


def call(tool, *, seal: Seal | None = None, **arguments) -> str:
    """The result of one call, outside any running loop."""
    return asyncio.run(tool.execute(arguments, a_context(seal=seal)))


def show(conversation: Conversation, tool, **arguments) -> str:
    """The result of one call, given to the model of this conversation."""
    context = a_context()
    output = asyncio.run(tool.execute(arguments, context))
    give(conversation, context.controls.seen)
    return output


def give(conversation: Conversation, seen: Sequence[SeenFile]) -> None:
    """Give the model of this conversation the result of a call that showed these files."""
    use = ToolUseBlock(id=f"call-{len(conversation.messages)}", name="read_file", input={})
    conversation.add_response(LlmResponse(content=(use,), stop_reason=TOOL_USE))
    conversation.add_results(
        [ToolResultMessage(tool_use_id=use.id, tool_name=use.name, output="…", seen=tuple(seen))]
    )


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
    return [path.name for path in folder.rglob(".*.quorum-*")]

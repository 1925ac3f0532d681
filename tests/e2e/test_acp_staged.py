"""`quorum acp` with sessions in the mode `staged`: each in a process of its own, in a layer over its folder."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from acp.exceptions import RequestError
from acp.schema import ElicitationCapabilities, ElicitationFormCapabilities, PermissionOption, ToolCallUpdate

from tests.infrastructure.sandbox.sandbox_bench import needs_bubblewrap
from tests.support.acp_client import Choose, ServedEditor, served_editor
from tests.support.headless_run import configure_for, environment
from tests.support.layer_process import layers
from tests.support.quorum_rig import DONE, call, calling
from tests.support.sse_server import SseServer

pytestmark = [pytest.mark.usefixtures("layers"), needs_bubblewrap]
__all__ = ["layers"]

EDIT = calling(call("c1", "edit_file", path="a.txt", old_text="two", new_text="TWO"))
_BEFORE, _AFTER = "one\ntwo\nthree\n", "one\nTWO\nthree\n"


def choosing(*ids: str) -> Choose:
    """Answers with these ids, one after the other; an empty one cancels, and none follow."""
    left = [*ids]

    async def choose(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
        return left.pop(0) or None

    return choose


@dataclass
class Machine:
    """A project, a home, and the model that quorum finds there."""

    project: Path
    home: Path
    model: SseServer

    @asynccontextmanager
    async def served(self, *arguments: str, **how: Any) -> AsyncIterator[ServedEditor]:
        async with served_editor(self.project, environment(self.home), *arguments, **how) as served:
            yield served

    @property
    def content(self) -> str:
        return (self.project / "a.txt").read_text()


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    (project / "a.txt").write_text(_BEFORE)
    async with SseServer("anthropic") as model:
        configure_for(home, model)
        yield Machine(project, home, model)


@pytest.mark.long
async def test_a_turn_changes_nothing_outside_until_its_effects_are_applied(machine: Machine) -> None:
    machine.model.script = [EDIT, DONE]
    seen: list[str] = []

    async def choose(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
        seen.append(machine.content)
        return "apply-effects"

    async with machine.served("--mode", "staged", choose=choose) as served:
        session = await served.new(machine.project)
        ended = await served.ask(session, "go")
        ((asked_in, question, options),) = served.editor.asked
    assert seen == [_BEFORE]
    assert ended.stop_reason == "end_turn"
    assert asked_in == session
    assert machine.content == _AFTER
    print(question, options, served.editor.updates)
    assert 0

"""`quorum acp` with sessions in the mode `staged`: each in a process of its own, in a layer over its folder."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from acp.exceptions import RequestError
from acp.schema import ElicitationCapabilities, ElicitationFormCapabilities, PermissionOption, ToolCallUpdate

from tests.infrastructure.sandbox.sandbox_bench import needs_bubblewrap
from tests.support.acp_client import Choose, ServedEditor, served_editor
from tests.support.headless_run import configure_for, environment, run_quorum
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


def find_worker(folder: Path) -> int:
    """The process that works in a layer over a folder."""
    wanted = [b"--workdir", bytes(folder), b"--mode", b"staged", b"--layer-of"]
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = place.read_bytes().split(b"\0")
            if wanted == words[-len(wanted) - 2 : -2]:
                return int(place.parent.name)
    raise AssertionError("none works in a layer")


def wait_for_end(process: int) -> None:
    """Wait for the end of a process that is no child of this one."""
    with open(os.pidfd_open(process), "rb") as ended:
        select.select([ended], [], [], 120)


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
        ((asked_in, _, options),) = served.editor.asked
    assert seen == [_BEFORE]
    assert ended.stop_reason == "end_turn"
    assert asked_in == session
    assert machine.content == _AFTER
    assert [option.kind for option in options] == ["allow_once", "reject_once", "reject_once"]


@pytest.mark.long
async def test_a_session_goes_into_a_layer_and_out_of_it_by_its_mode_and_keeps_what_waits(
    machine: Machine,
) -> None:
    machine.model.script = [EDIT, DONE, DONE]
    async with machine.served(choose=choosing("keep-effects", "apply-effects")) as served:
        session = await served.new(machine.project)
        await served.agent.set_session_mode(mode_id="staged", session_id=session)
        await served.ask(session, "go")
        kept = machine.content
        out = await served.agent.set_config_option(config_id="mode", session_id=session, value="ask")
        await served.ask(session, "and now")
        await served.agent.set_config_option(config_id="mode", session_id=session, value="staged")
        await served.ask(session, "/effects")

    assert kept == _BEFORE
    assert machine.content == _AFTER
    assert len(served.editor.asked) == 2
    (mode, *_) = out.config_options
    assert (mode.id, mode.current_value) == ("mode", "ask")
    told = [getattr(update, "current_mode_id", "") for update in served.editor.updates[session]]
    assert [*filter(None, told)] == ["staged", "ask", "staged"]


@pytest.mark.long
async def test_a_session_is_loaded_and_copied_in_the_mode_in_which_it_was(machine: Machine) -> None:
    machine.model.script = [EDIT, DONE]
    async with machine.served(choose=choosing("")) as served:
        session = await served.new(machine.project)
        await served.ask(session, "/stage")
        ended = await served.ask(session, "go")
    async with machine.served(choose=choosing("apply-effects")) as served:
        loaded = await served.agent.load_session(cwd=str(machine.project), session_id=session)
        copy = await served.agent.fork_session(cwd=str(machine.project), session_id=session)
        await served.ask(copy.session_id, "/effects")
        await served.agent.close_session(session_id=copy.session_id)
        before = machine.content
        await served.ask(session, "/effects")
    assert ended.stop_reason == "end_turn"
    assert loaded.modes.current_mode_id == copy.modes.current_mode_id == "staged"
    assert "nothing waits" in served.editor.texts(copy.session_id)
    assert (before, machine.content) == (_BEFORE, _AFTER)


@pytest.mark.long
async def test_a_process_that_dies_is_told_of_and_the_next_prompt_continues_in_its_layer(
    machine: Machine,
) -> None:
    machine.model.script = [EDIT, DONE, DONE]
    killed = list[int]()

    async def choose(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
        if not killed:
            killed.append(find_worker(machine.project))
            os.kill(killed[0], signal.SIGKILL)
            await asyncio.Event().wait()
        return "apply-effects"

    async with machine.served("--mode", "staged", choose=choose) as served:
        session = await served.new(machine.project)
        with pytest.raises(RequestError, match="ended by signal 9; what it changed waits"):
            await served.ask(session, "go")
        between = machine.content
        await served.ask(session, "on")
    assert between == _BEFORE
    assert machine.content == _AFTER
    assert "ended by signal 9" in served.editor.texts(session)


@pytest.mark.long
async def test_an_editor_that_is_killed_leaves_the_changes_waiting(machine: Machine) -> None:
    machine.model.script = [EDIT, DONE]
    ended, worker = asyncio.Event(), list[int]()

    async def choose(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
        worker.append(find_worker(machine.project))
        served.process.kill()
        ended.set()
        return "apply-effects"

    async with machine.served("--mode", "staged", choose=choose) as served:
        session = await served.new(machine.project)
        asked = served.begin(session, "go")
        await ended.wait()
        with pytest.raises(ConnectionError):
            await asked
        await asyncio.to_thread(wait_for_end, worker[0])
    shown = await run_quorum("staged", "show", "--json", cwd=machine.project, env=environment(machine.home))
    assert machine.content == _BEFORE
    assert [file["path"] for file in json.loads(shown.out)["files"]] == ["a.txt"]


@pytest.mark.long
@pytest.mark.parametrize("answer", ["", "other", "broken"])
async def test_no_valid_answer_applies_nothing(machine: Machine, answer: str) -> None:
    machine.model.script = [EDIT, DONE]

    async def choose(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
        if answer == "broken":
            raise RequestError.internal_error()
        return answer or None

    async with machine.served("--mode", "staged", choose=choose) as served:
        session = await served.new(machine.project)
        ended = await served.ask(session, "go")
    assert ended.stop_reason == "end_turn"
    assert "the changes wait in the layer" in served.editor.texts(session)
    assert machine.content == _BEFORE


@pytest.mark.long
async def test_a_turn_that_is_cancelled_at_its_question_applies_nothing(machine: Machine) -> None:
    machine.model.script = [EDIT, DONE]
    held = asyncio.Event()

    async def choose(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
        await served.agent.cancel(session_id=session)
        await held.wait()
        return "apply-effects"

    async with machine.served("--mode", "staged", choose=choose) as served:
        session = await served.new(machine.project)
        ended = await served.ask(session, "go")
        held.set()
        again = await served.ask(session, "/effects")
    assert (ended.stop_reason, again.stop_reason) == ("cancelled", "cancelled")
    assert machine.content == _BEFORE


@pytest.mark.long
async def test_words_of_the_person_send_the_changes_back_and_the_turn_goes_on(machine: Machine) -> None:
    machine.model.script = [
        EDIT,
        DONE,
        calling(call("c2", "edit_file", path="a.txt", old_text="TWO", new_text="2")),
        DONE,
    ]
    forms = ElicitationCapabilities(form=ElicitationFormCapabilities())
    choose = choosing("reply-to-effects", "apply-effects")
    async with machine.served("--mode", "staged", choose=choose, elicitation=forms) as served:

        async def fill_in(message: str, mode: Any) -> dict[str, Any] | None:
            return {"words": "write a number"}

        served.editor.fill_in = fill_in
        session = await served.new(machine.project)
        await served.ask(session, "go")
    assert "write a number" in json.dumps(machine.model.bodies[2]["messages"])
    assert machine.content == "one\n2\nthree\n"


@pytest.mark.long
async def test_where_no_layer_can_be_the_mode_is_refused_with_the_reason(machine: Machine) -> None:
    inside = machine.home / "state" / "quorum" / "folder"
    inside.mkdir(parents=True)
    async with machine.served() as served:
        session = await served.new(inside)
        with pytest.raises(RequestError, match=r"staged cannot be had: the workspace lies in .* another mode"):
            await served.agent.set_session_mode(mode_id="staged", session_id=session)
        ended = await served.ask(session, "/model")
    assert ended.stop_reason == "end_turn"

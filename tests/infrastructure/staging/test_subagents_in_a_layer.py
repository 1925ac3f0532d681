"""Subagents that share the layer of their session, on the same file: nothing of either is lost unseen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.events.event import Event, SubagentFinished
from quorum.domain.staging.effects_overview import EffectsOverview
from quorum.infrastructure.container import Container
from quorum.infrastructure.staging import subagent_layer
from quorum.infrastructure.staging.entered_layer import EnteredLayer
from tests.infrastructure.instructions.test_skills import Trusting
from tests.infrastructure.sandbox.sandbox_bench import needs_bubblewrap
from tests.support.builders import calls_response
from tests.support.fake_session import Step
from tests.support.layer_process import run_in_layer
from tests.support.real_session import LedgerThat, SessionStage, call, says
from tests.support.session_parts import change_inputs, change_ledger
from tests.support.subagent_stage import TaskRig, task, task_rig

T = TypeVar("T")
pytestmark = [pytest.mark.usefixtures("layers"), needs_bubblewrap]
BASE = "".join(f"line {number}\n" for number in range(40))
AGENT = "---\ndescription: Writes\ntools: read_file, edit_file\n---\nWrite.\n"


@pytest.fixture(autouse=True)
def _no_layers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subagent_layer, "_MOST_COPIED", 0)


def do_nothing(_real: Path) -> None:
    pass


def work_in_layer(
    folder: Path,
    old: str,
    new: str,
    look: Callable[[TaskRig], Awaitable[T]],
    meanwhile: Callable[[Path], object] = do_nothing,
) -> T:
    """What `look` returns after two writers worked on `a.txt` at once in a layer: the first made its line 3
    "third", then the other made `new` of `old`. `meanwhile` is done in the real folder before that is over."""
    stage = SessionStage(folder, sandbox="auto", more_settings='[review]\nmode = "staged"\n')
    (stage.root / "a.txt").write_text(BASE)
    (stage.root / ".git").mkdir()
    (stage.root / ".agents/agents").mkdir(parents=True)
    (stage.root / ".agents/agents/writer.md").write_text(AGENT)

    def edit(old: str, new: str) -> LlmResponse:
        return calls_response(call("edit_file", path="a.txt", old_text=old, new_text=new))

    async def work(layer: EnteredLayer) -> T:
        (stage.root / "much").write_text("more than is copied for each")
        first_done, both_done = asyncio.Event(), asyncio.Event()
        tasks = {
            "one": [edit("line 3\n", "third\n"), Step(answer=says("one is done"), gate=both_done)],
            "two": [Step(answer=edit(old, new), gate=first_done), says("two is done")],
        }

        def note(event: Event) -> None:
            if isinstance(event, SubagentFinished) and not both_done.is_set():
                meanwhile(Path(layer.real))
                both_done.set()

        def adjust(container: Container) -> None:
            change_inputs(container, layer=layer)
            change_ledger(container, lambda ledger: LedgerThat(ledger, after=note))

        async with task_rig(stage, tasks, person=Trusting(), adjust=adjust) as rig:
            rig.script([task("one", agent="writer"), task("two", agent="writer")])
            async with asyncio.timeout(60):
                running = asyncio.create_task(rig.session.agent.run.execute("go"))
                await rig.gateway.all_wait(2)
                first_done.set()
                await running
            layer.check()
            return await look(rig)

    return run_in_layer(stage.root.resolve(), stage.environ, lambda layer: asyncio.run(work(layer)))


async def list_notices(rig: TaskRig) -> dict[str, list[str]]:
    """What the models of the writers and of their session read of overlaps."""
    asked = [*rig.gateway.asked, *rig.gateway.sessions]
    read: dict[str, list[str]] = {"one": [], "two": [], "": []}
    for session in asked:
        messages = [m for m in session.sent[-1].messages if isinstance(m, UserMessage)] if session.sent else []
        who = rig.gateway.find_task(messages[0]) or "" if messages else ""
        read[who] += [each.text for each in messages if " replaced " in each.text]
    return read


def test_whoever_replaces_lines_of_one_beside_it_reads_so_and_so_does_their_session(tmp_path: Path) -> None:
    read = work_in_layer(tmp_path, "third\n", "3rd\n", list_notices)

    assert not read["one"]
    (told,), (session,) = read["two"], read[""]
    assert "you replaced 1 line that writer 1 wrote" in told
    assert "-line 3\n+third\n" in told
    assert "writer 2 replaced 1 line that writer 1 wrote" in session


def test_of_other_lines_of_the_same_file_nobody_is_told(tmp_path: Path) -> None:
    read = work_in_layer(tmp_path, "line 30\n", "thirtieth\n", list_notices)

    assert read == {"one": [], "two": [], "": []}


async def find_authors(rig: TaskRig) -> tuple[object, str]:
    """Whose the hunks of the file are, and what each did to it, as the review of effects reads it."""
    review = rig.session.agent.effects
    assert review is not None
    packet = await review.read()
    effect = next(each for each in packet.effects.effects if each.path == "a.txt")
    authors = await review.find_authors(packet, effect)
    assert authors is not None
    names = {each.subagent_id: each.name for each in packet.work.changes}
    return [sorted(names[id_] for id_ in who) for who in authors.hunks], await review.render_steps(
        packet, effect
    )


def test_the_review_knows_whose_each_hunk_is_and_shows_what_each_did(tmp_path: Path) -> None:
    hunks, steps = work_in_layer(tmp_path, "line 30\n", "thirtieth\n", find_authors)

    assert hunks == [["writer 1"], ["writer 2"]]
    assert steps.index("writer 1:\n") < steps.index("+third") < steps.index("writer 2:\n")
    assert steps.index("writer 2:\n") < steps.index("+thirtieth")


async def apply_all(rig: TaskRig) -> object:
    review = rig.session.agent.effects
    assert review is not None
    packet = await review.read()
    return (await review.apply(packet, EffectsOverview.of(packet.effects).find_first_choice())).refused


def test_what_a_subagent_changed_is_merged_with_what_the_person_changes_in_the_same_turn(
    tmp_path: Path,
) -> None:
    def change_another_line(real: Path) -> None:
        (real / "a.txt").write_text(BASE.replace("line 20\n", "twentieth\n"))

    refused = work_in_layer(tmp_path, "line 30\n", "thirtieth\n", apply_all, change_another_line)

    wanted = BASE.replace("line 3\n", "third\n").replace("line 30\n", "thirtieth\n")
    assert refused == {}
    assert (tmp_path / "work/a.txt").read_text() == wanted.replace("line 20\n", "twentieth\n")

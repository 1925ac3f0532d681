"""A discussion in a tab that knows what was said in the first one, and whose result goes back there."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.discussion_rig import DiscussionRig, discussion_rig, review, synthesise
from tests.support.sse_server import Say
from tests.support.terminal import run_until_killed

SCRIPTS = {
    "a": [Say(pieces=["take cron"]), review(B=8)],
    "b": [Say(pieces=["take a queue"]), review(A=6)],
    "mod": [Say(pieces=["it reads the index twice"]), synthesise("a queue it is", agree=["A", "B"])],
}


def said_to(rig: DiscussionRig, name: str, number: int) -> str:
    return json.dumps(rig.servers[name].bodies[number], ensure_ascii=False)


def discuss_and_hand_over(project: Path, home: Path) -> None:
    """The process is killed as soon as the first session has the result."""
    with run_until_killed(project, home, rows=40, columns=120) as terminal:
        terminal.wait_for("mod/scripted")
        terminal.submit("why is the import slow?")
        terminal.wait_for("it reads the index twice")
        terminal.submit("/discuss a queue or cron?")
        terminal.wait_for("knows 1 exchange of the session “why is the import slow?”")
        terminal.wait_for("a queue it is")
        terminal.wait_for("/result hands this answer to tab 1")
        with terminal.fresh():
            terminal.submit("/result")
            terminal.wait_for("took over the answer of")


@pytest.mark.long
async def test_a_discussion_knows_the_session_it_was_opened_from_and_its_result_is_read_there_after_a_kill(
    tmp_path: Path,
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    async with discussion_rig(home, SCRIPTS) as rig:
        await asyncio.to_thread(discuss_and_hand_over, project, home)
        for name in ("a", "b"):
            assert "it reads the index twice" in said_to(rig, name, 0)
        first = await find_session(rig, project, "why is the import slow?")
        rig.servers["mod"].script[:] = [Say(pieces=["done with a queue"])]

        ended = await rig.run(project, "run", "--resume", first, "do that")

        assert ended.code == 0, ended.err
        assert "done with a queue" in ended.out
        body = said_to(rig, "mod", 2)
        assert "several models discussed" in body
        assert "a queue it is" in body
        assert body.index("a queue it is") < body.index("do that")


async def find_session(rig: DiscussionRig, project: Path, title: str) -> str:
    listed = await rig.run(project, "sessions", "list", "--json")
    return next(str(each["id"]) for each in json.loads(listed.out) if each["title"] == title)

"""/init with several models in real processes: what is asked of whom, who approves, and a killed process."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.discussion_rig import DiscussionRig, discussion_rig
from tests.support.quorum_rig import call, calling
from tests.support.sse_server import Reply, Say, ScriptedCall
from tests.support.terminal import run_until_killed

INIT = ("run", "--consensus", "ensemble")


def draft(content: str) -> Say:
    return calling(ScriptedCall("p1", "propose_file", json.dumps({"content": content})))


def merged(content: str) -> Say:
    differences = [{"text": "how tests are run", "answers": ["A", "B"]}]
    given = {"content": content, "differences": differences}
    return calling(ScriptedCall("m1", "merge_drafts", json.dumps(given)))


def scripts() -> dict[str, list[Reply]]:
    return {
        "a": [calling(call("c1", "read_file", path="Makefile")), draft("Run `make test`.")],
        "b": [draft("Run `pytest`.")],
        "mod": [merged("Run `make test`.")],
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "Makefile").write_text("test:\n\techo ALPHA\n", encoding="utf-8")
    return folder


@pytest.mark.long
async def test_where_nobody_approves_the_file_is_withheld_and_its_text_is_the_answer(
    tmp_path: Path, project: Path
) -> None:
    said = scripts()
    said["mod"].append(Say(pieces=["the text of AGENTS.md"]))
    async with discussion_rig(tmp_path / "home", said) as rig:
        ended = await rig.run(project, *INIT, "/init")
        looked = json.dumps(rig.servers["a"].bodies[1])
    assert ended.code == 3, ended.err
    assert "ALPHA" in looked, "a participant reads the project"
    assert "the text of AGENTS.md" in ended.out
    assert "the drafts differ: how tests are run (A, B)" in ended.err
    assert not (project / "AGENTS.md").exists()
    assert rig.requests == {"a": 2, "b": 1, "mod": 2}


@pytest.mark.long
async def test_a_file_that_is_there_is_read_and_then_asked_about_as_a_change(
    tmp_path: Path, project: Path
) -> None:
    (project / "AGENTS.md").write_text("Run nose.\n", encoding="utf-8")
    said = scripts()
    edit = call("e1", "edit_file", path="AGENTS.md", old_text="Run nose.", new_text="Run `make test`.")
    said["mod"] += [calling(edit), Say(pieces=["all is written"])]
    async with discussion_rig(tmp_path / "home", said) as rig:
        await asyncio.to_thread(init_without_trust, project, tmp_path / "home")
        assert (project / "AGENTS.md").read_text() == "Run `make test`.\n"
        assert rig.requests == {"a": 2, "b": 1, "mod": 3}


def init_without_trust(project: Path, home: Path) -> None:
    with run_until_killed(
        project, home, rows=40, columns=120, arguments=("--consensus", "ensemble")
    ) as terminal:
        terminal.wait_for("Trust this folder?")
        terminal.press_when_awake("n", "mod/scripted")
        terminal.submit("/init")
        terminal.wait_for("AGENTS.md is there already")
        terminal.wait_for("y yes")
        terminal.press_when_awake("y", "all is written")


@pytest.mark.long
async def test_killed_after_each_draft_and_at_the_question_nothing_is_asked_for_twice(
    tmp_path: Path, project: Path
) -> None:
    async with discussion_rig(tmp_path / "home", scripts()) as rig:
        half = Say(pieces=["half"], ending="stall")
        rig.servers["b"].script[:] = [half]
        await kill_once(rig, {"a": 2, "b": 1, "mod": 0}, project, *INIT, "/init")
        rig.servers["b"].script[:] = [draft("Run `pytest`.")]
        rig.servers["mod"].script[:] = [half]
        await kill_once(rig, {"a": 2, "b": 2, "mod": 1}, project, "run", "--continue", "/init")
        rig.servers["mod"].script[:] = [merged("Run `make test`."), Say(pieces=["all is written"])]
        home = tmp_path / "home"
        await asyncio.to_thread(reach_the_question, project, home)
        assert rig.requests == {"a": 2, "b": 2, "mod": 2}
        said = [json.dumps(each) for each in rig.servers["b"].bodies[-1]["messages"] if each["role"] == "user"]
        assert len(said) == len(set(said)), "the prompt that was given again is said once"
        await asyncio.to_thread(approve, project, home)
        assert (project / "AGENTS.md").read_text() == "Run `make test`.\n"
        assert rig.requests == {"a": 2, "b": 2, "mod": 3}


def reach_the_question(project: Path, home: Path) -> None:
    """The process is killed while it asks."""
    with run_until_killed(project, home, rows=40, columns=120, arguments=("--continue",)) as terminal:
        terminal.wait_for("mod/scripted")
        terminal.submit("/retry")
        terminal.wait_for("how tests are run (A, B)")
        terminal.wait_for("y yes")


def approve(project: Path, home: Path) -> None:
    with run_until_killed(project, home, rows=40, columns=120, arguments=("--continue",)) as terminal:
        terminal.wait_for("y yes")
        terminal.press_when_awake("y", "all is written")


async def kill_once(rig: DiscussionRig, requests: dict[str, int], project: Path, *arguments: str) -> None:
    """Start a run, and kill it once a participant has answered and so many requests were made."""
    process = await rig.start(project, *arguments, "--output", "stream-json")
    assert process.stdout is not None
    async with asyncio.timeout(120):
        while json.loads(await process.stdout.readline())["type"] != "panel_answered":
            pass
        while rig.requests != requests:  # noqa: ASYNC110 - servers tell nobody
            await asyncio.sleep(0.01)
    process.kill()
    await process.communicate()

"""The screen of `/diff`: what the session changed, and the undo of one file."""

import pytest

from quorum.domain.calls.effects import OUTSIDE
from quorum.domain.errors import RestoreError
from quorum.domain.replacing import replace
from quorum.domain.sessions.restoration import RestorePlan, RestoreStep, find_renamed
from quorum.tui.screens.pager_screen import PagerScreen
from quorum.tui.screens.rewind.changes_screen import ChangesScreen
from tests.support.app_stage import on_stage
from tests.tui.rewind_scenes import EDITED, LOST, OVERWRITTEN, PLAN, REMOVED, ROOT, state, with_turns


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def changed(agent):
    with_turns(agent)
    agent.restore_plans = {0: PLAN}
    agent.diffs = {
        OVERWRITTEN.path: "--- a/src/retry.py\n+++ b/src/retry.py\n@@ -1 +1,2 @@\n-old \x1b[2J line\n"
        "+new line\n+more\n",
        EDITED.path: "--- a/notes.md\n+++ b/notes.md\n@@ -1 +1 @@\n-what it was\n+what it is\n",
        REMOVED.path: "--- /dev/null\n+++ b/docs/retry.md\n@@ -0,0 +1 @@\n+a page\n",
    }


async def shown(stage):
    await stage.send("/diff")
    await stage.until(lambda: isinstance(stage.app.screen, ChangesScreen) and stage.app.screen.is_mounted)


async def test_each_changed_file_has_its_counts_and_the_marked_one_its_diff(tmp_path):
    async with on_stage(tmp_path, size=(100, 30), prepare=changed) as stage:
        await shown(stage)
        await stage.shows("+2 −1")
        await stage.shows("new line")
        rows = {line.split()[1].rpartition("/")[2]: line for line in stage.text().splitlines() if "−" in line}

        assert "edited by you too" in rows["notes.md"]
        assert "new · +1 −0" in rows["retry.md"]
        assert "\x1b[2J" not in stage.text()
        await stage.shows("was not seen")


@pytest.mark.long
async def test_a_file_goes_back_after_the_second_word_only(tmp_path):
    async with on_stage(tmp_path, size=(100, 30), prepare=changed) as stage:
        await shown(stage)
        await stage.shows("new line")
        await stage.pilot.press("y")
        assert stage.agent.restored == []
        await stage.pilot.press("u")
        await stage.shows("y undoes it; other keys do not")
        await stage.pilot.press("y")
        await stage.until(lambda: stage.agent.restored == [OVERWRITTEN.path])
        await stage.shows("is as it was before the session")


@pytest.mark.long
async def test_another_file_marked_in_between_is_not_undone(tmp_path):
    async with on_stage(tmp_path, size=(100, 30), prepare=changed) as stage:
        await shown(stage)
        await stage.shows("new line")
        await stage.pilot.press("u", "pagedown", "y", "u", "down", "y")
        await stage.shows("what it is")

        assert stage.agent.restored == []


@pytest.mark.long
async def test_the_question_says_that_own_edits_go_as_well(tmp_path):
    async with on_stage(tmp_path, size=(100, 30), prepare=changed) as stage:
        await shown(stage)
        await stage.shows("+2 −1")
        await stage.pilot.press("down")
        await stage.shows("what it is")
        await stage.pilot.press("u")
        await stage.shows("Your own edits of it go as well.")


async def test_a_file_whose_former_content_is_not_kept_says_so(tmp_path):
    def prepare(agent):
        changed(agent)
        agent.restore_plans = {0: RestorePlan(turn=0, steps=(LOST,))}
        agent.diffs = {LOST.path: "its content is not shown"}

    async with on_stage(tmp_path, size=(100, 30), prepare=prepare) as stage:
        await shown(stage)
        await stage.shows("its content is not shown")
        await stage.pilot.press("u")
        await stage.shows("this file cannot be undone: its former content was not kept")


async def test_of_a_file_whose_content_is_not_kept_nobody_knows_who_edited_it(tmp_path):
    unknown = RestoreStep(path=LOST.path, wanted=None, now=state(unkept="it is sensitive"), edited_since=True)
    outside = RestoreStep(path="/x", wanted=None, now=state(unkept=OUTSIDE), edited_since=True, trouble=OUTSIDE)

    def prepare(agent):
        changed(agent)
        agent.restore_plans = {0: RestorePlan(turn=0, steps=(unknown, outside))}
        agent.diffs = {unknown.path: "", outside.path: ""}

    async with on_stage(tmp_path, size=(100, 30), prepare=prepare) as stage:
        await shown(stage)
        await stage.shows("new · perhaps edited by you too")
        (row,) = (line for line in stage.text().splitlines() if " /x " in line)
        assert "edited" not in row


async def test_a_renamed_file_is_one_line_and_gets_its_old_name_back(tmp_path):
    old = RestoreStep(path=f"{ROOT}/CHANGES.md", wanted=state("d" * 64), now=None)
    new = RestoreStep(path=f"{ROOT}/HISTORY.md", wanted=None, now=state("d" * 64))

    def prepare(agent):
        changed(agent)
        agent.restore_plans = {0: RestorePlan(turn=0, steps=(old, new))}
        agent.diffs = {old.path: "@@ -1 +0,0 @@\n-a\n", new.path: "@@ -0,0 +1 @@\n+a\n"}

    async with on_stage(tmp_path, size=(100, 30), prepare=prepare) as stage:
        await shown(stage)
        await stage.shows("Only its name is another.")
        assert "file 1 of 1" in stage.text()
        (row,) = (line for line in stage.text().splitlines() if "HISTORY.md" in line)
        assert "renamed from" in row
        assert "+1" not in row
        await stage.pilot.press("u")
        await stage.shows("again. y undoes it")
        await stage.pilot.press("y")
        await stage.until(lambda: stage.agent.restored == [old.path, new.path])


@pytest.mark.parametrize("more", [{"edited_since": True}, {"trouble": OUTSIDE}])
def test_a_renamed_file_that_does_not_simply_go_back_stands_for_itself(more):
    old = RestoreStep(path="/w/a", wanted=state("d" * 64), now=None)
    new = RestoreStep(path="/w/b", wanted=None, now=state("d" * 64))

    assert find_renamed([old, new]) == {"/w/b": old}
    assert find_renamed([old, replace(new, **more)]) == find_renamed([replace(old, **more), new]) == {}


@pytest.mark.long
async def test_what_fails_is_said_and_the_files_are_looked_at_again(tmp_path):
    def prepare(agent):
        changed(agent)
        agent.rewind_fails = RestoreError("the file changed at this moment")

    async with on_stage(tmp_path, size=(100, 30), prepare=prepare) as stage:
        await shown(stage)
        await stage.shows("new line")
        await stage.pilot.press("u", "y")
        await stage.shows("the file changed at this moment")


@pytest.mark.long
async def test_the_changes_of_a_file_open_in_the_pager(tmp_path):
    async with on_stage(tmp_path, size=(100, 30), prepare=changed) as stage:
        await shown(stage)
        await stage.shows("new line")
        await stage.pilot.press("enter")
        await stage.until(lambda: isinstance(stage.app.screen, PagerScreen))


@pytest.mark.long
async def test_without_changes_it_says_so(tmp_path):
    async with on_stage(tmp_path) as stage:
        await shown(stage)
        await stage.shows("The files are as they were before the session.")
        assert stage.app.screen.query_one("#changes").size.height < 8  # no frame around empty lines
        await stage.shows("esc back")
        assert "undo this file" not in stage.text()


def with_ignored(agent):
    changed(agent)
    ignored = tuple(
        RestoreStep(path=f"{ROOT}/.cache/{n:02}", wanted=None, now=state(unkept="x"), ignored=True)
        for n in range(40)
    )
    agent.restore_plans = {turn: replace(PLAN, steps=(OVERWRITTEN, *ignored)) for turn in (0, 1, 3)}


async def test_ignored_files_share_the_last_line_and_are_listed_beside_it(tmp_path):
    async with on_stage(tmp_path, size=(100, 30), prepare=with_ignored) as stage:
        await shown(stage)
        await stage.shows("file 1 of 1, 40 ignored")
        await stage.shows("40 ignored files")
        assert ".cache" not in stage.text()
        await stage.pilot.press("down")
        await stage.shows(".cache/07")
        await stage.pilot.press("u", "y")
        assert stage.agent.restored == []


async def test_undo_shows_as_many_files_as_the_screen_has_room_for(tmp_path):
    def prepare(agent):
        changed(agent)
        steps = [RestoreStep(path=f"{ROOT}/src/m{n:02}.py", wanted=None, now=state()) for n in range(60)]
        agent.restore_plans = {3: RestorePlan(turn=3, steps=tuple(steps))}

    async with on_stage(tmp_path, size=(100, 50), prepare=prepare) as stage:
        await stage.send("/undo")
        await stage.shows("Take back · file 1 of 60")
        await stage.until(lambda: stage.text().count("src/m") > 20)
        await stage.pilot.press("down")
        await stage.shows("Take back · file 2 of 60")


@pytest.mark.long
async def test_undo_leaves_ignored_files_for_last_and_warns_of_none(tmp_path):
    async with on_stage(tmp_path, size=(100, 30), prepare=with_ignored) as stage:
        await stage.send("/undo")
        await stage.shows("file 1 of 1, 40 ignored")
        assert "is not kept" not in stage.text()
        await stage.pilot.press("down")
        await stage.shows(".cache/07")
        await stage.pilot.press("space")
        await stage.shows("ignored files that were edited since are left alone")

"""What is approved has been on the screen, or the person saw what has not."""

from __future__ import annotations

import pytest

from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Vote
from quorum.domain.review.questions import Approve, ApproveAlways, ApproveRest, RulePreview, RuleScope
from tests.support.app_stage import Clock, on_stage
from tests.support.fake_agent import FakeAgent, a_command, a_request, an_edit
from tests.support.review_contexts import THREE, a_ballot, a_review_context, voted

SIZES = [(200, 50), (120, 40), (80, 24), (60, 15)]
LONG = a_command("\n".join(f"echo {n}" for n in range(60)))
EDIT = """--- a/src/retry.py
+++ b/src/retry.py
@@ -38,7 +38,7 @@
 class Retry:
     def backoff(self) -> None:
         delay = 1
-        time.sleep(delay)
+        sleep_no_longer(delay)
         return None
 
     def reset(self) -> None:
"""
VOTES = voted(
    a_ballot(THREE[0]),
    a_ballot(THREE[1], Vote.REJECT, "The delay can be negative after the jitter, and the loop spins. " * 3),
)


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def asking(*packets, feed=VOTES, following=()):
    async def scene(agent: FakeAgent) -> None:
        for packet in packets:
            size = 1 + len(following)
            await agent.ask(a_request(packet, *following, batch_size=size), a_review_context(feed))

    return scene


@pytest.mark.long(after=2)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(
    ("packet", "text"),
    [
        (a_command("touch the-file && make", timeout_secs=5), "touch the-file"),
        (an_edit(EDIT), "time.sleep(delay)"),
    ],
    ids=["command", "edit"],
)
async def test_the_command_or_the_first_change_is_on_the_first_screen_at_every_size(
    tmp_path, packet, text, size
):
    async with on_stage(tmp_path, asking(packet), size=size) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.shows(text)
        await stage.shows("y yes")

        assert len(stage.text().rstrip("\n").split("\n")) == size[1]


@pytest.mark.long
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_series_of_small_edits_and_commands_costs_one_key_each(tmp_path, size):
    packets = [an_edit(EDIT), a_command("make all"), an_edit(EDIT.replace("delay", "pause"))]
    async with on_stage(tmp_path, asking(*packets), size=size) as stage:
        await stage.send("go")
        for count, packet in enumerate(packets, 1):
            await stage.until(lambda packet=packet: stage.app.screen is not stage.app.chat)
            dialog = await stage.asked()
            await stage.until(lambda dialog=dialog, packet=packet: dialog.request.packet == packet)
            await stage.pilot.press("y")
            await stage.until(lambda count=count: len(stage.agent.answers) == count)

        assert stage.agent.answers == [Approve(packet.digest) for packet in packets]


@pytest.mark.long(after=1)
@pytest.mark.parametrize("key", ["y", "1"])
async def test_the_first_yes_tells_how_much_was_not_seen_and_the_second_approves(tmp_path, key):
    async with on_stage(tmp_path, asking(LONG), size=(80, 24)) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press(key)
        await stage.shows(f"unseen: space reads on, {key} again approves all")
        assert stage.agent.answers == []
        await stage.pilot.press(key)
        await stage.until(lambda: stage.agent.answers)

        assert stage.agent.answers == [Approve(LONG.digest)]


@pytest.mark.long
async def test_a_y_just_after_being_shown_is_dropped(tmp_path):
    clock = Clock()
    clock.now = 100.0
    async with on_stage(tmp_path, asking(LONG), size=(80, 24), clock=clock) as stage:
        await stage.send("go")
        await stage.asked()
        clock.now = 101.0
        await stage.press_at("y", 101.0)
        await stage.shows("y again approves all")
        await stage.press_at("y", 101.2)
        assert stage.agent.answers == []
        await stage.press_at("y", 101.7)
        await stage.until(lambda: stage.agent.answers)


@pytest.mark.long
async def test_what_was_read_to_its_end_is_approved_by_one_key(tmp_path):
    async with on_stage(tmp_path, asking(LONG), size=(80, 24)) as stage:
        await stage.send("go")
        await stage.asked()
        for _ in range(20):
            await stage.pilot.press("space")
        await stage.shows("echo 59")
        await stage.pilot.press("y")
        await stage.until(lambda: stage.agent.answers)

        assert stage.agent.answers == [Approve(LONG.digest)]


@pytest.mark.long
async def test_a_jump_to_the_end_is_no_reading(tmp_path):
    async with on_stage(tmp_path, asking(LONG), size=(80, 24)) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        dialog.query_one("#reading").scroll_end(animate=False)
        await stage.shows("echo 59")
        await stage.pilot.press("y")
        await stage.shows("again approves all")

        assert stage.agent.answers == []


@pytest.mark.long
async def test_other_sizes_of_the_window_make_what_is_folded_anew_unseen(tmp_path):
    long = a_command("; ".join(f"echo {n}" for n in range(300)))
    async with on_stage(tmp_path, asking(long), size=(200, 50)) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.resize_terminal(60, 15)
        await stage.shows("more lines")
        await stage.pilot.press("y")
        await stage.shows("again approves all")

        assert stage.agent.answers == []


@pytest.mark.long
async def test_approving_a_list_that_was_not_seen_takes_a_second_key(tmp_path):
    rest = [a_command(f"echo {n}\necho again", index=n) for n in range(1, 30)]
    async with on_stage(tmp_path, asking(a_command("make"), following=rest), size=(80, 24)) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("A")
        await stage.shows("These 30 run")
        await stage.pilot.press("A")
        await stage.shows("unseen: space reads on, A again approves all")
        assert stage.agent.answers == []
        await stage.pilot.press("A")
        await stage.until(lambda: stage.agent.answers)

        assert isinstance(stage.agent.answers[0], ApproveRest)


@pytest.mark.long
async def test_saving_a_rule_approves_no_call_that_was_not_seen_without_a_second_key(tmp_path):
    async def scene(agent: FakeAgent) -> None:
        review_context = a_review_context(preview=lambda _rule: RulePreview(covers_this=True))
        await agent.ask(replace(a_request(LONG), proposals=("run_command(make)",)), review_context)

    async with on_stage(tmp_path, scene, size=(80, 24)) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("a")
        await stage.shows("save this rule")
        await stage.pilot.press("enter")
        await stage.shows("unseen: esc reads on, enter again approves all")
        assert stage.agent.answers == []
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.agent.answers)

        assert stage.agent.answers == [ApproveAlways(LONG.digest, ("run_command(make)",), RuleScope.SESSION)]


@pytest.mark.long
async def test_a_click_on_approve_counts_like_its_key(tmp_path):
    async with on_stage(tmp_path, asking(LONG), size=(80, 24)) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        await stage.pilot.click("#choices", offset=(dialog.query_one("#choices").find_column("approve") + 2, 0))
        await stage.shows("y again approves all")

        assert stage.agent.answers == []

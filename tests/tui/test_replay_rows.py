from __future__ import annotations

from collections.abc import Sequence

import pytest

from quorum.domain.errors import LedgerError
from quorum.domain.review.permission_rules import Answer
from quorum.domain.review.questions import ReviewRequest, RulePreview
from quorum.domain.review.rule_replay import PastAnswer, ReplayGroup, RuleReplay
from quorum.tui.screens.permissions_screen import PermissionsScreen
from quorum.tui.screens.review.forms import render_replay
from tests.support.app_stage import on_stage
from tests.support.fake_agent import FakeAgent, a_command, a_request
from tests.support.review_contexts import a_review_context

MAKE = a_command("make")
REPLAY = RuleReplay(
    calls=212,
    sessions=3,
    groups=(
        ReplayGroup(now=Answer.ALLOW, then=PastAnswer.REJECTED, calls=1, examples=("make deploy\x1b[2J",)),
        ReplayGroup(now=Answer.ALLOW, then=PastAnswer.APPROVED, calls=14, examples=("make",)),
    ),
)


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def _text(replay: RuleReplay, width: int = 100) -> list[str]:
    return ["".join(part.text for part in row) for row in render_replay(replay, width)]


def test_what_you_rejected_and_would_run_stands_first_with_an_example() -> None:
    assert _text(REPLAY) == [
        "  ✗ 1 would run that you rejected: make deploy␛[2J",
        "  14 would run that you approved · of 212 past calls here",
    ]


def test_nothing_like_it_in_the_past_is_told_in_a_line() -> None:
    assert _text(RuleReplay(calls=5_000, newest=5_000)) == [
        "  of the newest 5,000 past calls here, none is like it"
    ]


def test_the_lines_fit_a_narrow_screen() -> None:
    assert all(len(line) <= 30 for line in _text(REPLAY, 30))


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.long(after=1)
async def test_the_form_of_a_rule_tells_its_replay_once_it_is_there(tmp_path, fails):
    asked: list[Sequence[str]] = []

    async def replay(rules: Sequence[str]) -> RuleReplay:
        asked.append(rules)
        if fails:
            raise LedgerError("the disk is gone")
        return REPLAY

    async def scene(agent: FakeAgent) -> None:
        request = ReviewRequest(
            packet=MAKE, reasons=a_request(MAKE).reasons, batch_size=1, proposals=("run_command(make *)",)
        )
        context = a_review_context(preview=lambda _rule: RulePreview(covers_this=True), replay=replay)
        await agent.ask(request, context)

    async with on_stage(tmp_path, scene) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.press_at("a", 1.0)
        await stage.shows("the disk is gone" if fails else "✗ 1 would run that you rejected")
        stage.app.screen_reader = True
        await stage.pilot.press("x", "backspace")
        await stage.until(lambda: "✗" not in stage.text())

    assert ["run_command(make *)"] in [list(rules) for rules in asked]


@pytest.mark.long
async def test_permissions_tells_the_replay_of_a_rule_that_is_added(tmp_path):
    async with on_stage(tmp_path) as stage:
        stage.agent.rules.replays = REPLAY
        await stage.send("/permissions")
        await stage.until(lambda: isinstance(stage.app.screen, PermissionsScreen) and stage.app.screen._rows)
        await stage.pilot.press("a", *"make")
        await stage.shows("1 would run that you rejected")

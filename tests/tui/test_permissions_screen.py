import pytest

from quorum.domain.errors import ConfigError
from quorum.domain.review.permission_rules import Answer, HeldRule, Rule
from quorum.domain.review.questions import RuleScope
from quorum.tui.screens.permissions_screen import PermissionsScreen
from tests.support.app_stage import Stage, on_stage


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def held(text: str, answer: Answer, scope: RuleScope | None = None, place: str = "quorum.toml") -> HeldRule:
    return HeldRule(rule=Rule.parse(text, answer, place), place=place, scope=scope)


USUAL = held("run_command(read-only)", Answer.ALLOW, None, "permissions.allow, default")
OWN = held("run_command(make *)", Answer.ALLOW, RuleScope.USER, "permissions.toml:7")
FIXED = held("run_command(rm *)", Answer.DENY)


async def opened(stage: Stage, *rules: HeldRule) -> PermissionsScreen:
    stage.agent.rules.held = list(rules)
    await stage.send("/permissions")
    await stage.until(lambda: isinstance(stage.app.screen, PermissionsScreen) and stage.app.screen._rows)
    await stage.pilot.pause()
    return stage.app.screen


@pytest.mark.long(after=1)
@pytest.mark.parametrize("size", [(60, 24), (80, 24), (200, 50)])
async def test_rules_stand_in_the_order_in_which_they_count_with_their_places(tmp_path, size):
    async with on_stage(tmp_path, size=size) as stage:
        await opened(stage, USUAL, OWN, FIXED)
        assert "permissions.allow, default" in stage.text() or size[0] < 80
        shown = stage.text().partition("Permissions")[2]

    order = [
        shown.index(word)
        for word in ("deny  ", "run_command(rm", "ask  ", "allow  ", "run_command(make", "else  the")
    ]
    assert order == sorted(order)
    assert "settings" in shown
    assert "everywhere" in shown


@pytest.mark.long
async def test_a_command_is_tried_while_it_is_typed(tmp_path):
    async with on_stage(tmp_path) as stage:
        await opened(stage, OWN)
        stage.agent.rules.answers["make"] = Answer.ALLOW
        await stage.pilot.press("t", *"make")
        await stage.shows("allow: it would run")
        await stage.pilot.press("x")
        await stage.shows("ask: you would be asked")
        await stage.pilot.press("escape")
        assert stage.app.screen._stage == "listing"


@pytest.mark.long
async def test_what_is_no_call_is_shown(tmp_path):
    async with on_stage(tmp_path) as stage:
        await opened(stage)
        await stage.pilot.press("t", *"no_such_tool")
        await stage.shows('there is no tool "no_such_tool"')


@pytest.mark.long
async def test_a_rule_is_added_with_its_answer_and_scope_once_it_is_one(tmp_path):
    async with on_stage(tmp_path) as stage:
        await opened(stage)
        await stage.pilot.press("a", *"x(")
        await stage.shows("this is not a rule")
        await stage.pilot.press("enter")
        assert stage.app.screen._stage == "adding"
        await stage.pilot.press("backspace", "down", "down", "tab")
        await stage.shows("would deny")
        await stage.pilot.press("enter")
        await stage.shows("deny x is in force")

        (made,) = stage.agent.rules.held
    assert (made.rule.id, made.scope) == ("deny x", RuleScope.PROJECT)


@pytest.mark.long
async def test_a_rule_that_allows_says_what_it_would_let_run(tmp_path):
    async with on_stage(tmp_path) as stage:
        await opened(stage)
        await stage.pilot.press("a", *"run_command")
        await stage.shows("would let run  make")


@pytest.mark.long
async def test_a_rule_is_removed_by_the_second_press_alone(tmp_path):
    async with on_stage(tmp_path) as stage:
        await opened(stage, OWN)
        await stage.pilot.press("d")
        await stage.shows("d again removes allow run_command(make *)")
        assert stage.agent.rules.held == [OWN]
        await stage.pilot.press("d")
        await stage.shows("removed allow run_command(make *)")
        assert stage.agent.rules.held == []


@pytest.mark.long
async def test_another_mark_takes_the_first_press_back(tmp_path):
    other = held("run_command(cargo *)", Answer.ALLOW, RuleScope.SESSION)
    async with on_stage(tmp_path) as stage:
        await opened(stage, OWN, other)
        await stage.pilot.press("d", "down", "up", "d")
        await stage.pilot.pause()

        assert len(stage.agent.rules.held) == 2


@pytest.mark.long
async def test_a_rule_of_the_settings_is_removed_in_its_file(tmp_path):
    async with on_stage(tmp_path) as stage:
        await opened(stage, FIXED)
        await stage.pilot.press("d")
        await stage.shows("is a rule of the settings (quorum.toml)")


@pytest.mark.long
@pytest.mark.parametrize("key", ["escape", "q"])
async def test_it_closes(tmp_path, key):
    async with on_stage(tmp_path) as stage:
        await opened(stage, OWN)
        await stage.pilot.press(key)
        await stage.unasked()


@pytest.mark.long
async def test_the_letters_of_the_list_are_typed_where_something_is_typed(tmp_path):
    async with on_stage(tmp_path) as stage:
        screen = await opened(stage, OWN)
        await stage.pilot.press("t", *"adtqjk")

        assert screen.query_one("#call").value == "adtqjk"


@pytest.mark.long
async def test_rules_that_cannot_be_read_are_shown(tmp_path):
    async with on_stage(tmp_path) as stage:
        stage.agent.rules.fails = ConfigError("permissions.toml:3: this is not a saved rule")
        await stage.send("/permissions")
        await stage.shows("permissions.toml:3: this is not a saved rule")

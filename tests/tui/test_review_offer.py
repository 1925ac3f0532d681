"""The rule that the review dialog offers at the third approval of a kind."""

import pytest

from quorum.domain.replacing import replace
from quorum.domain.review.questions import Approve, ApproveAlways, RuleOffer, RuleScope
from tests.support.app_stage import Clock, on_stage
from tests.support.fake_agent import FakeAgent, a_command, a_request, an_edit

COMMIT = a_command("git add a && git commit -m c")
RULES = ("run_command(git add *)", "run_command(git commit *)")
OFFER = RuleOffer(
    rules=RULES, approvals=2, covers=("git commit -m a", "git add b && git commit -m b", "x", "y")
)


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def asking(offer=OFFER, packet=COMMIT):
    async def scene(agent: FakeAgent) -> None:
        await agent.ask(replace(a_request(packet), offer=offer))

    return scene


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("keys", "scope"),
    [((), RuleScope.SESSION), (("tab",), RuleScope.PROJECT), (("shift+tab",), RuleScope.USER)],
)
async def test_one_key_shows_the_offer_at_80x24_and_again_saves_it_for_the_chosen_scope(tmp_path, keys, scope):
    async with on_stage(tmp_path, asking(), size=(80, 24), clock=(clock := Clock())) as stage:
        await stage.send("go")
        await stage.asked()
        assert "2 calls like it; k offers 2 rules" in stage.text()
        await stage.press_at("k", 1.0)
        await stage.shows("from now on let run")
        text = stage.text()
        assert all(rule in text for rule in RULES)
        assert "would also allow  git commit -m a" in text
        assert "(•) this session  ( ) this project  ( ) everywhere" in text
        assert "$ git add a && git commit -m c" in text
        assert "esc back" in text
        assert "k yes, and save" in text
        clock.now = 2.0
        for key in keys:
            await stage.press_at(key, 2.0)
        await stage.press_at("k", 3.0)
        await stage.until(lambda: stage.agent.answers)
        await stage.unasked()

        assert stage.agent.answers == [ApproveAlways(COMMIT.digest, RULES, scope)]


@pytest.mark.long
async def test_approving_takes_no_rule_and_enter_in_the_offer_goes_back(tmp_path):
    async with on_stage(tmp_path, asking(), size=(80, 24), clock=(clock := Clock())) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.press_at("k", 1.0)
        await stage.shows("from now on let run")
        clock.now = 1.0
        await stage.press_at("enter", 2.0)
        await stage.until(lambda: "from now on let run" not in stage.text())
        assert stage.agent.answers == []
        await stage.press_at("y", 3.0)
        await stage.until(lambda: stage.agent.answers)
        await stage.unasked()

        assert stage.agent.answers == [Approve(COMMIT.digest)]


@pytest.mark.long
async def test_a_key_pressed_twice_at_once_or_right_behind_another_scope_saves_nothing(tmp_path):
    async with on_stage(tmp_path, asking(), clock=(clock := Clock())) as stage:
        await stage.send("go")
        await stage.asked()
        clock.now = 1.0
        await stage.press_at("k", 1.0)
        await stage.press_at("k", 1.1)
        await stage.shows("from now on let run")
        clock.now = 2.0
        await stage.press_at("tab", 2.0)
        await stage.press_at("k", 2.1)
        await stage.shows("(•) this project")

        assert stage.agent.answers == []


@pytest.mark.long
@pytest.mark.parametrize("offer", [None, RuleOffer(rules=("run_command(a\u202eb)",), approvals=2)])
async def test_without_an_offer_that_can_be_read_its_key_does_nothing(tmp_path, offer):
    async with on_stage(tmp_path, asking(offer)) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.press_at("k", 1.0)

        assert "offers" not in stage.text()
        assert "from now on let run" not in stage.text()
        assert stage.agent.answers == []


@pytest.mark.long
@pytest.mark.parametrize("size", [(80, 24), (60, 20), (120, 40)])
async def test_the_longest_offer_is_read_in_full_with_its_choices(tmp_path, size):
    rules = tuple(f"run_command(./{letter} {'word ' * 16}end)" for letter in "abc")
    offer = RuleOffer(rules=rules, approvals=2, covers=tuple(f"call {n}" for n in range(9)))
    async with on_stage(tmp_path, asking(offer), size=size) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.press_at("k", 1.0)
        await stage.shows("from now on let run")
        text = stage.text()

    shown = "".join(text.replace("│", " ").split())
    assert all("".join(rule.split()) in shown for rule in rules)
    assert "k yes, and save" in text
    assert "(•) this session" in text


async def test_an_offer_about_files_says_what_it_is_about_and_shows_its_rule_where_it_is_saved(tmp_path):
    offer = RuleOffer(rules=("write_file(src/**)",), approvals=2, families=("edits of src/**",))
    edit = an_edit("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    async with on_stage(tmp_path, asking(offer, edit), size=(80, 24), clock=Clock()) as stage:
        await stage.send("go")
        await stage.asked()
        assert "k offers a rule: edits of src/**" in stage.text()
        await stage.press_at("k", 1.0)
        await stage.shows("from now on let run")
        text = stage.text()

        assert text.index("write_file(src/**)") < text.index("edits of src/**")


@pytest.mark.long
async def test_what_a_family_does_not_cover_is_shown_to_its_end_at_80x24(tmp_path):
    family = f"pytest is a test runner with any harmless words, not {'-p x, -c x, ' * 4}or the last word"
    offer = RuleOffer(rules=("run_command(pytest *)",), approvals=1, families=(family,))
    async with on_stage(tmp_path, asking(offer), size=(80, 24), clock=Clock()) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.press_at("k", 1.0)
        await stage.shows("or the last word")

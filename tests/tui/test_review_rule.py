import asyncio

import pytest
from textual.widgets import Input

from quorum.application.ports.people import ReviewQuestion
from quorum.domain.review.questions import ApproveAlways, ReviewRequest, RulePreview, RuleScope
from tests.support.app_stage import Clock, on_stage
from tests.support.fake_agent import FakeAgent, a_command, a_request
from tests.support.review_contexts import a_review_context

LOG = a_command("git log --oneline -5")
PROPOSALS = ("run_command(git log --oneline -5)", "run_command(git log *)", "run_command(git *)")
LIKE_IT = tuple(f"git log -{n}" for n in range(20))


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def preview(rule: str) -> RulePreview:
    """Rules over one command."""
    if not rule.endswith(")"):
        return RulePreview(problem="the bracket at character 12 is not closed")
    if "log" not in rule and rule != PROPOSALS[2]:
        return RulePreview(covers=("git status",))
    return RulePreview(
        covers_this=True,
        covers=LIKE_IT if "*" in rule else (),
        must_match=("git log --oneline -5",),
        must_not_match=("git log --output=x",),
    )


def asking(*proposals: str, packet=LOG):
    request = a_request(packet)
    offered = ReviewRequest(
        packet=packet, reasons=request.reasons, batch_size=1, proposals=proposals or PROPOSALS
    )

    async def scene(agent: FakeAgent) -> None:
        await agent.ask(offered, a_review_context(preview=preview))

    return scene


@pytest.mark.long(after=3)
@pytest.mark.parametrize(
    ("keys", "rule", "scope"),
    [
        ((), PROPOSALS[0], RuleScope.SESSION),
        (("down",), PROPOSALS[1], RuleScope.SESSION),
        (("up",), PROPOSALS[2], RuleScope.SESSION),
        (("down", "up"), PROPOSALS[0], RuleScope.SESSION),
        (("tab",), PROPOSALS[0], RuleScope.PROJECT),
        (("tab", "tab"), PROPOSALS[0], RuleScope.USER),
        (("shift+tab",), PROPOSALS[0], RuleScope.USER),
        (("tab", "tab", "tab"), PROPOSALS[0], RuleScope.SESSION),
        (("left", "backspace", "7"), "run_command(git log --oneline -7)", RuleScope.SESSION),
        (("left", "backspace", "7", "down", "up"), "run_command(git log --oneline -7)", RuleScope.SESSION),
    ],
)
async def test_a_proposal_is_chosen_edited_and_given_its_scope(tmp_path, keys, rule, scope):
    clock = Clock()
    async with on_stage(tmp_path, asking(), clock=clock) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.press_at("a", 1.0)
        await stage.shows("always let run")
        for key in keys:
            await stage.press_at(key, 2.0)
        await stage.press_at("enter", 3.0)
        await stage.until(lambda: stage.agent.answers)
        await stage.unasked()

        assert stage.agent.answers == [ApproveAlways(LOG.digest, (rule,), scope)]


@pytest.mark.long
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_it_reads_what_else_a_rule_would_let_run_and_for_how_long(tmp_path, size):
    async with on_stage(tmp_path, asking(), size=size) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.press_at("a", 1.0)
        await stage.shows("it would allow no other known call")
        await stage.press_at("down", 2.0)
        await stage.shows("would also allow  git log -0")

        text = stage.text()
    assert "2 of 3" in text
    assert "✓ covers this call" in text
    named = sum(f" {call} " in text for call in LIKE_IT)
    assert f"… and {len(LIKE_IT) - named} more" in text
    assert "(•) this session  ( ) this project  ( ) everywhere" in text
    assert "$ git log --oneline -5" in text
    assert "enter yes, and save this rule" in text


@pytest.mark.long
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("run_command(git log", "the bracket at character 12 is not closed"),
        ("run_command(git status)", "it does not cover this call"),
        ("", "the bracket at character 12 is not closed"),
    ],
)
async def test_a_rule_that_is_wrong_or_does_not_cover_the_call_is_not_saved(tmp_path, typed, expected):
    async with on_stage(tmp_path, asking()) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        await stage.press_at("a", 1.0)
        await stage.shows("always let run")
        dialog.query_one("#rule", Input).value = typed
        await stage.shows(f"✗ {expected}")
        await stage.press_at("enter", 2.0)
        await stage.shows(f"not saved: {expected}")
        await stage.press_at("a", 3.0)
        await stage.until(lambda: "not saved" not in stage.text())

        assert stage.agent.answers == []


@pytest.mark.long
async def test_escape_leaves_the_rule_and_a_second_one_the_review(tmp_path):
    async with on_stage(tmp_path, asking()) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("a", "escape")
        await stage.shows("esc rejects and interrupts")
        assert stage.agent.answers == []
        await stage.pilot.press("n")
        await stage.until(lambda: stage.agent.answers)


@pytest.mark.long
async def test_a_rule_is_only_saved_once_it_could_be_read(tmp_path):
    clock = Clock()
    clock.now = 100.0
    async with on_stage(tmp_path, asking(), clock=clock) as stage:
        await stage.send("go")
        await stage.asked()
        clock.now = 101.0
        await stage.press_at("a", 101.0)
        await stage.shows("always let run")
        await stage.press_at("enter", 101.3)
        await stage.press_at("down", 102.0)
        await stage.press_at("enter", 102.3)
        assert stage.agent.answers == []
        await stage.press_at("enter", 103.0)
        await stage.until(lambda: stage.agent.answers)

        assert stage.agent.answers == [ApproveAlways(LOG.digest, (PROPOSALS[1],), RuleScope.SESSION)]


@pytest.mark.long
async def test_a_burst_of_keys_that_opens_the_rule_saves_nothing(tmp_path):
    clock = Clock()
    clock.now = 100.0
    async with on_stage(tmp_path, asking(), clock=clock) as stage:
        await stage.send("go")
        await stage.asked()
        arrived = clock.now = 101.0
        for key in ["a", *"lways", "enter", "y", "enter", "enter"]:
            await stage.press_at(key, arrived)
            arrived = clock.now = arrived + 1 / 30

        assert stage.agent.answers == []


@pytest.mark.long
async def test_the_choice_to_save_is_not_taken_by_a_click_before_it_could_be_read(tmp_path):
    clock = Clock()
    clock.now = 1e12
    async with on_stage(tmp_path, asking(), clock=clock) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        clock.now += 1
        await stage.press_at("a", clock.now)
        await stage.shows("save this rule")
        await stage.pilot.click(
            "#choices", offset=(dialog.query_one("#choices").find_column("save_rule") + 2, 0)
        )
        await stage.pilot.pause()

        assert stage.agent.answers == []


@pytest.mark.long
async def test_without_a_proposal_that_can_be_read_there_is_no_always(tmp_path):
    async with on_stage(tmp_path, asking("run_command(printf '\x1b[2J')", "run_command(a\nb)")) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("a")

        assert "always" not in stage.text()
        assert "y yes" in stage.text()


@pytest.mark.long
async def test_what_is_pasted_into_a_rule_cannot_act_on_the_terminal(tmp_path):
    async with on_stage(tmp_path, asking()) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        await stage.pilot.press("a")
        field = dialog.query_one("#rule", Input)
        field.value = ""
        field.insert_text_at_cursor("git\x1b[2J\u202e\tlog")

        assert field.value.split() == ["git␛[2J⟨U+202E⟩", "log"]


@pytest.mark.long
@pytest.mark.parametrize(("typed", "kept"), [(" or so", f"{PROPOSALS[0]} or so"), ("", "")])
async def test_a_rule_that_is_being_typed_is_kept_where_its_question_is_taken_away(tmp_path, typed, kept):
    offered = ReviewRequest(packet=LOG, reasons=a_request(LOG).reasons, batch_size=1, proposals=PROPOSALS)
    async with on_stage(tmp_path) as stage:
        question = ReviewQuestion(offered, a_review_context(preview=preview))
        asked = asyncio.create_task(stage.agent._person.ask(question))
        dialog = await stage.asked()
        await stage.pilot.press("a")
        await stage.until(lambda: dialog.takes_text)
        for character in typed:
            await stage.pilot.press("space" if character == " " else character)
        asked.cancel()
        await stage.until(lambda: stage.app.screen is stage.app.chat)
        await stage.until(lambda: stage.prompt.text == kept)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_form_has_no_empty_lines_but_those_that_part_it_from_the_call(tmp_path, size):
    async with on_stage(tmp_path, asking(PROPOSALS[0]), size=size) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.press_at("a", 1.0)
        await stage.shows("it would allow no other known call")

        lines = [line.strip(" │") for line in stage.text().splitlines()]
    form = lines[lines.index("always let run") :]
    assert form[: form.index("enter yes, and save this rule  esc back")].count("") <= 1


@pytest.mark.long(after=1)
@pytest.mark.parametrize("size", [(36, 9), (40, 12), (40, 24)])
async def test_a_low_screen_has_the_rule_its_scope_what_it_covers_and_the_choices(tmp_path, size):
    async with on_stage(tmp_path, asking(PROPOSALS[1]), size=size) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.press_at("a", 1.0)
        await stage.press_at("tab", 2.0)
        for shown in ("git log *", "(•) this project", "✓ covers this call", "enter yes, and save  esc back"):
            await stage.shows(shown)


@pytest.mark.long
async def test_the_form_grows_to_what_a_rule_that_is_typed_would_let_run(tmp_path):
    async with on_stage(tmp_path, asking(PROPOSALS[0]), size=(120, 40)) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        await stage.press_at("a", 1.0)
        await stage.shows("it would allow no other known call")
        dialog.query_one("#rule", Input).value = PROPOSALS[1]

        await stage.shows("… and 16 more")
        await stage.shows("enter yes, and save this rule")

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from quorum.domain.replacing import replace
from quorum.domain.review.ballot import InScope, Vote
from quorum.domain.review.questions import Reject
from quorum.domain.review.quorum_result import Escalation
from quorum.tui.screens.review.text.votes import compute_height, render_short_votes, render_votes
from tests.support.app_stage import Clock, on_stage
from tests.support.fake_agent import FakeAgent, a_command, a_request
from tests.support.review_contexts import THREE, a_ballot, a_review_context, voted

CLAUDE, GPT, GEMINI = THREE
MAKE = a_command("make && rm -rf build")
LONG = "The delay can be negative after the jitter, and then the loop spins without a pause. " * 4


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def plain(rows) -> list[str]:
    return ["".join(part.text for part in row).rstrip() for row in rows]


def in_short(*ballots, height=6, width=120, reviewers=THREE, **review_context) -> list[str]:
    return plain(
        render_short_votes(
            a_review_context(voted(*ballots, reviewers=reviewers), **review_context), width, height
        )
    )


# -- what is shown----------------------------------------------------------------------------------------


def test_each_vote_has_a_sign_a_word_how_sure_it_is_and_why_the_objection_first():
    lines = in_short(
        a_ballot(CLAUDE, confidence=0.9),
        a_ballot(GEMINI, Vote.ERROR, "no vote within 60 s", confidence=None),
        a_ballot(GPT, Vote.REJECT, "It deletes build.", confidence=0.7),
    )

    assert lines[:4] == [
        "votes  1 for, 1 against, 1 failed (majority): unclear",
        "✗ against 0.7    openai/gpt-5.2             It deletes build.",
        "✓ for 0.9        anthropic/claude-opus-4-5  It does what was asked.",
        "! failed         google/gemini-3-pro        no vote within 60 s",
    ]


def test_an_approval_of_what_nobody_asked_for_is_shown_against_the_call_in_words():
    lines = in_short(
        a_ballot(CLAUDE),
        a_ballot(GPT, reason="It tidies up.", in_scope=InScope.NO, confidence=0.7),
        a_ballot(GEMINI, reason="Perhaps.", in_scope=InScope.UNCLEAR, confidence=0.6),
        height=4,
        width=140,
    )

    assert lines == [
        "votes  1 for, 1 against, 1 abstained (majority): rejected",
        "✗ against 0.7    openai/gpt-5.2             "
        "outside of what was asked, though it approves: It tidies up.",
        "– abstains 0.6   google/gemini-3-pro        "
        "perhaps outside of what was asked, though it approves: Perhaps.",
        "✓ for 0.9        anthropic/claude-opus-4-5  It does what was asked.",
    ]


def test_what_was_measured_of_a_reviewer_stands_in_place_of_its_own_confidence():
    measured = replace(a_ballot(CLAUDE), measured="misses 3 % of harm (2–5 %, n=431)")
    lines = in_short(measured, a_ballot(GPT), height=4, reviewers=(CLAUDE, GPT))
    rows = plain(render_votes(a_review_context(voted(measured)), 100))

    shown = " ".join("\n".join(lines).split())
    assert (
        "✓ for anthropic/claude-opus-4-5 misses 3 % of harm (2–5 %, n=431) · It does what was asked." in shown
    )
    assert "✓ for 0.9 openai/gpt-5.2 It does what was asked." in shown
    assert any("✓ for · anthropic/claude-opus-4-5 · misses 3 % of harm (2–5 %, n=431)" in row for row in rows)


def test_the_full_votes_say_of_each_whether_the_call_was_asked_for():
    ballots = (a_ballot(CLAUDE), a_ballot(GPT, Vote.REJECT, "It deletes.", in_scope=InScope.NO, confidence=0.7))
    rows = plain(render_votes(a_review_context(voted(*ballots)), 100))

    assert "✓ for 0.9 · anthropic/claude-opus-4-5 · within what was asked" in rows
    assert rows[rows.index("✗ against 0.7 · openai/gpt-5.2") + 1] == "  outside of what was asked: It deletes."


def test_the_lens_of_each_reviewer_stands_beside_its_name():
    lenses = {CLAUDE: "safety", GPT: "scope"}
    feed = voted(a_ballot(CLAUDE, lens="safety"), lenses=lenses)

    short = plain(render_short_votes(a_review_context(feed), 100, 6))
    assert "✓ for 0.9        claude-opus-4-5 (safety)  It does what was asked." in short
    assert "… awaited        gpt-5.2 (scope)" in short
    assert "… awaited        gemini-3-pro" in short
    full = plain(render_votes(a_review_context(feed), 100))
    assert "✓ for 0.9 · anthropic/claude-opus-4-5 (safety) · within what was asked" in full


@pytest.mark.parametrize(
    ("confidence", "shown"), [(0.79, "0.79"), (0.799, "0.79"), (0.8, "0.8"), (0.29, "0.29")]
)
def test_a_vote_is_never_shown_surer_than_it_is(confidence: float, shown: str) -> None:
    ballot = a_ballot(CLAUDE, confidence=confidence)
    assert in_short(ballot)[1].split()[:3] == ["✓", "for", shown]
    assert f"✓ for {shown} · {CLAUDE} · within what was asked" in plain(
        render_votes(a_review_context(voted(ballot)), 100)
    )


@pytest.mark.parametrize("width", [58, 78, 118])
def test_reviewers_of_one_model_at_two_providers_do_not_look_alike(width):
    reviewers = (
        "bedrock/anthropic.claude-sonnet-5-5-20260701",
        "gateway/bedrock/anthropic.claude-sonnet-5-5-20260701",
        "bedrock/anthropic.claude-sonnet-5-5-20250929",
    )
    lines = in_short(*(a_ballot(each, reason="") for each in reviewers), width=width, reviewers=reviewers)

    assert len({line for line in lines if line.startswith("✓")}) == len(reviewers)


def test_who_is_not_asked_is_named_and_not_awaited():
    context = a_review_context(
        voted(a_ballot(CLAUDE), spared=(GPT, GEMINI)), escalation=Escalation(first=CLAUDE, below=0.8)
    )
    lines = plain(render_short_votes(context, 100, 6))

    assert lines[0] == "votes  1 for, 0 against, 2 not asked (first vote): approved"
    assert lines[2:4] == ["– not asked      openai/gpt-5.2", "– not asked      google/gemini-3-pro"]
    assert not any("awaited" in line for line in lines)


def test_an_abstention_is_shown_as_one():
    assert "– abstains 0.2   openai/gpt-5.2" in in_short(a_ballot(GPT, Vote.ABSTAIN, "?", confidence=0.2))[1]


def test_votes_still_awaited_are_named_and_not_counted_as_failed():
    lines = in_short(a_ballot(GPT, Vote.REJECT, "no"))

    assert lines[0] == "votes  1 of 3 voted: 1 against"
    assert lines[2:4] == [
        "… awaited        anthropic/claude-opus-4-5",
        "… awaited        google/gemini-3-pro",
    ]


def test_reviewers_of_one_family_are_labelled():
    same = ("anthropic/claude-opus-4-5", "anthropic/claude-haiku-4-5")

    assert "not independent" in in_short(reviewers=same)[0]
    assert "not independent" not in in_short()[0]
    assert "not independent" not in in_short(reviewers=same[:1])[0]


def test_where_nobody_votes_there_is_nothing_to_show():
    assert compute_height(a_review_context()) == 0


def test_a_long_reason_takes_the_rows_that_are_left_and_says_where_the_rest_is():
    lines = in_short(a_ballot(CLAUDE), a_ballot(GPT, Vote.REJECT, LONG), height=6, width=100)

    assert "v shows all of it" in lines[0]
    assert [line[:1] for line in lines[1:]] == ["✗", " ", " ", "✓", "…"]
    assert lines[3].endswith("…")


def test_votes_that_have_no_room_are_counted():
    many = tuple(f"provider{n}/model-{n}" for n in range(9))

    lines = in_short(a_ballot(many[5], Vote.REJECT, "no"), reviewers=many, height=4)

    assert lines[1].startswith("✗ against")
    assert lines[-1] == "  … 7 more"
    assert "v shows all of it" in lines[0]


def test_every_vote_is_shown_in_full_with_what_it_objects_to():
    ballots = [a_ballot(CLAUDE), a_ballot(GPT, Vote.REJECT, LONG, confidence=0.7, objection="rm -rf build")]

    lines = plain(render_votes(a_review_context(voted(*ballots)), 60))

    assert lines[2] == "✗ against 0.7 · openai/gpt-5.2 · within what was asked"
    assert (
        " ".join(line.strip() for line in lines[3 : lines.index("  objects to  rm -rf build")]) == LONG.strip()
    )
    assert lines[-1] == "… awaited        google/gemini-3-pro"


TEXTS = st.text(max_size=80) | st.sampled_from(
    ["\x1b[2J", "no\n✓ for 1.0  everyone", "\u202e", "\r", "\x9b31m"]
)


@given(
    st.lists(st.tuples(st.sampled_from(Vote), TEXTS, TEXTS), max_size=5),
    st.integers(min_value=30, max_value=160),
    st.integers(min_value=2, max_value=12),
)
def test_no_reviewer_can_draw_outside_its_rows_or_change_how_many_there_are(cast, width, height):
    reviewers = tuple(f"p/{n}{name}" for n, (_, name, _) in enumerate(cast))
    ballots = [
        a_ballot(name, vote, reason, objection=reason)
        for name, (vote, _, reason) in zip(reviewers, cast, strict=True)
    ]
    review_context = a_review_context(voted(*ballots, reviewers=(*reviewers, "p/awaited")))

    short, full = (
        plain(render_short_votes(review_context, width, height)),
        plain(render_votes(review_context, width)),
    )

    assert len(short) == height
    assert all(cell_len(line) <= width for line in [*short, *full])
    assert not any(ord(char) < 32 or char in "\x7f\x9b\u202e" for line in [*short, *full] for char in line)
    assert sum(line.startswith(("✓", "✗", "–", "!")) for line in full) == len(cast)


# -- votes that arrive while the person reads ---------------------------------------------------------------


def asking(feed, packet=MAKE, **how):
    async def scene(agent: FakeAgent) -> None:
        await agent.ask(a_request(packet, **how), a_review_context(feed))

    return scene


@pytest.mark.long
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_votes_appear_as_they_arrive_and_nothing_moves(tmp_path, size):
    feed, long = voted(), a_command("\n".join(f"echo {n}" for n in range(60)))
    async with on_stage(tmp_path, asking(feed, long), size=size) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        await stage.pilot.press("right", "shift+down")
        before = (
            dialog.query_one("#choices").marked,
            dialog.query_one("#card").region,
            dialog.query_one("#reading").scroll_offset,
        )
        for ballot in (
            a_ballot(CLAUDE),
            a_ballot(GPT, Vote.REJECT, LONG, objection="echo 3"),
            a_ballot(GEMINI, Vote.ERROR, "failed", confidence=None),
        ):
            feed.add(ballot)
            await stage.shows(
                f"{len(feed.ballots)} of 3 voted" if feed.awaited else "1 for, 1 against, 1 failed"
            )
        await stage.pilot.pause()

        assert (
            dialog.query_one("#choices").marked,
            dialog.query_one("#card").region,
            dialog.query_one("#reading").scroll_offset,
        ) == before
        assert "y yes" in stage.text()


@pytest.mark.long
async def test_a_vote_that_arrives_leaves_the_keys_alive(tmp_path):
    clock, feed = Clock(), voted()
    clock.now = 100.0
    async with on_stage(tmp_path, asking(feed), clock=clock) as stage:
        await stage.send("go")
        await stage.asked()
        clock.now = 101.0
        feed.add(a_ballot(CLAUDE))
        await stage.shows("1 of 3 voted")
        await stage.press_at("n", 101.01)
        await stage.until(lambda: stage.agent.answers)


@pytest.mark.long
async def test_at_thirty_keys_a_second_votes_that_arrive_open_no_gap(tmp_path):
    clock, feed = Clock(), voted()
    clock.now = 100.0
    async with on_stage(tmp_path, asking(feed), clock=clock) as stage:
        await stage.send("go")
        await stage.asked()
        arrived = 100.0
        for place in range(90):
            arrived = clock.now = arrived + 1 / 30
            if place % 30 == 15:
                feed.add(a_ballot(THREE[place // 30], objection=None))
            await stage.press_at(("y", "A", "a", "enter", "v")[place % 5], arrived)

        assert stage.agent.answers == []
        assert not feed.awaited


@pytest.mark.long
async def test_a_vote_that_comes_after_the_answer_is_let_pass(tmp_path):
    feed = voted()
    async with on_stage(tmp_path, asking(feed)) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("n")
        await stage.unasked()

        feed.add(a_ballot(CLAUDE))

        assert stage.agent.answers == [Reject()]


@pytest.mark.long
async def test_v_shows_all_votes_and_those_that_arrive_meanwhile(tmp_path):
    feed = voted(a_ballot(GPT, Vote.REJECT, LONG, objection="rm -rf build"))
    async with on_stage(tmp_path, asking(feed)) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("v")
        await stage.shows("objects to  rm -rf build")
        feed.add(a_ballot(CLAUDE, reason="Nothing speaks against it."))
        await stage.shows("Nothing speaks against it.")
        await stage.pilot.press("y", "n", "enter")
        await stage.shows("[2/n no]")

        assert stage.agent.answers == []


@pytest.mark.long
async def test_without_reviewers_there_are_no_votes_to_show(tmp_path):
    async with on_stage(tmp_path, asking(voted(reviewers=()))) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("v")

        assert "votes" not in stage.text()
        assert "y yes" in stage.text()


@pytest.mark.long
async def test_a_review_opens_at_what_is_objected_to_and_o_goes_back_there(tmp_path):
    feed = voted(a_ballot(GPT, Vote.REJECT, "no", objection="echo 42"))
    long = a_command("\n".join(f"echo {n}" for n in range(60)))
    async with on_stage(tmp_path, asking(feed, long)) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.shows("echo 42")
        for _ in range(5):
            await stage.pilot.press("shift+up")
        await stage.shows("objection below: o goes there")
        await stage.pilot.press("o")
        await stage.shows("echo 42")


@pytest.mark.long
async def test_an_objection_that_arrives_out_of_sight_is_announced(tmp_path):
    feed = voted()
    long = a_command("\n".join(f"echo {n}" for n in range(60)))
    async with on_stage(tmp_path, asking(feed, long), size=(80, 24)) as stage:
        await stage.send("go")
        await stage.asked()
        feed.add(a_ballot(GPT, Vote.REJECT, "no", objection="echo 42"))
        await stage.shows("objection below: o goes there")


@pytest.mark.long
async def test_the_title_and_the_facts_of_an_edit_say_whose_it_is(tmp_path):
    async def scene(agent: FakeAgent) -> None:
        await agent.ask(a_request(MAKE), a_review_context(voted(a_ballot(CLAUDE))))
        await agent.ask(a_request(a_command("make")))

    async with on_stage(tmp_path, scene) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        await stage.pilot.press("e")
        dialog.query_one("#editor").load_text("make")
        await stage.pilot.press("ctrl+s")
        await stage.shows("your edit")
        await stage.shows("your answer alone decides")

        assert "1 of 3 voted" not in stage.text()

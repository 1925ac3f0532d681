"""The chat's controllers by themselves: each with a host that takes note, and without a screen."""

import asyncio
from pathlib import Path

import pytest
from textual.app import App
from textual.selection import Selection
from textual.widget import Widget

from quorum.application.view.session_view import SessionView
from quorum.domain.errors import ProgramChanged
from quorum.domain.plan.plan import PhaseScope
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.session_summary import NewSession
from quorum.tui.agent.turns import QueuedTask, Turns, TypedCommand
from quorum.tui.app.app import QuorumApp
from quorum.tui.chat.controllers.copying import CopyController
from quorum.tui.chat.controllers.host import CurrentSession, collect_actions
from quorum.tui.chat.controllers.modes import ModeController
from quorum.tui.chat.controllers.sending import SendController, SubmitController
from quorum.tui.chat.controllers.sessions import SessionController
from quorum.tui.chat.controllers.settings import SettingsController
from quorum.tui.chat.controllers.views import ViewController
from quorum.tui.chat.controllers.writing import PromptSources, WritingController
from quorum.tui.chat.welcome import Welcome
from quorum.tui.keys.keyed_app import KeyedApp
from quorum.tui.keys.keymap import list_own_bindings
from quorum.tui.keys.slash_commands import COMMANDS
from quorum.tui.prompt_box.history import REFUSAL, Recall
from quorum.tui.prompt_box.prompt import Prompt
from quorum.tui.session.session import Session
from quorum.tui.transcript.layout.view import TranscriptView
from tests.support.fake_agent import FakeAgent, composing
from tests.support.fake_ports import RecordingObserver


class NotingHost:
    """A host that notes what it is asked to show. It runs workers as tasks."""

    def __init__(self, app: App[None] | None = None) -> None:
        self._app = app
        self.notice = self.refusal = ""
        self.refusals = 0
        self.sentences: list[str] = []
        self.changes = 0
        self.tasks: list[asyncio.Task[None]] = []
        self.selections: dict[Widget, Selection] = {}

    @property
    def app(self) -> App[None]:
        assert self._app is not None, "no app is needed here"
        return self._app

    def clear_selection(self):
        self.selections.clear()

    def say(self, notice):
        self.notice = notice

    def refuse(self, reason):
        self.notice = reason
        self.refusals += bool(reason)

    def tell(self, sentence, *, refuses=True):
        self.sentences.append(sentence)
        self.refusals += refuses

    def refresh_state(self):
        self.changes += 1

    def run_worker(self, work, *, group="default", exclusive=False):
        self.tasks.append(asyncio.create_task(work))

    async def wait_for_changes(self):
        ended = await asyncio.gather(*self.tasks, return_exceptions=True)
        return not any(isinstance(each, Exception) for each in ended)


class Rig:
    """What all controllers are built from, around a scripted agent."""

    def __init__(self, app: App[None] | None = None) -> None:
        self.host = NotingHost(app)
        self.agent = FakeAgent(person=None, observer=RecordingObserver())
        self.turns = Turns(
            on_change=lambda: None,
            on_end=lambda secs: None,
            on_failure=self.host.tell,
            give_back=lambda text: None,
        )
        self.current = CurrentSession(self.turns, self.host.say)
        self.wanted = []
        self.sessions = SessionController(self.host, self.current, want=self.wanted.append)
        self.settings = SettingsController(self.host, self.current, self.turns)

    def begin(self) -> None:
        self.current.session = Session(self.agent, SessionView(lambda: 0.0), cwd="/work", clock=lambda: 0.0)
        self.current.session.begin()


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


# -- the session they act on --------------------------------------------------------------------------


async def test_what_needs_a_session_is_refused_before_there_is_one():
    rig = Rig()

    rig.sessions.action_new_session()

    assert rig.host.notice == "still starting; begin another session in a moment"
    assert rig.wanted == []


async def test_a_task_that_fails_in_a_way_that_nobody_foresaw_is_told_and_the_next_one_runs():
    rig = Rig()

    async def fail(_agent):
        raise KeyError("odd")

    async def succeed(_agent):
        return None

    serving = asyncio.create_task(rig.turns.serve(rig.agent))
    async with asyncio.timeout(30):
        await rig.turns.perform(QueuedTask("failing", fail))
        assert await rig.turns.perform(QueuedTask("working", succeed))
    serving.cancel()
    await asyncio.wait({serving})

    assert rig.host.sentences == ["this failed inside quorum: KeyError: 'odd'; --debug logs where"]


async def test_what_needs_rest_is_refused_while_a_prompt_waits():
    rig = Rig()
    rig.begin()
    rig.turns.submit("do it")

    rig.sessions.action_fork_session()

    assert rig.host.notice == "a turn is running; esc stops it"
    assert rig.wanted == []


async def test_what_writes_is_refused_in_a_session_that_another_process_writes():
    rig = Rig()
    rig.agent.in_use = "open in process 7"
    rig.begin()

    assert rig.current.get_writable("undo") is None
    assert rig.host.notice == "read-only: /fork continues in a copy · open in process 7"
    assert rig.current.get_resting("fork it") is rig.current.session


async def test_while_another_session_is_opened_the_one_before_is_the_last_and_can_stay():
    rig = Rig()
    rig.begin()
    before = rig.current.session

    rig.current.begin_opening()
    assert (rig.current.session, rig.current.last) == (None, before)

    rig.current.stay()
    assert rig.current.session is before


@pytest.mark.parametrize("how", ["turns end", "waiting is returned"])
async def test_what_waits_for_a_task_learns_that_it_is_not_done_any_more(how):
    rig = Rig()
    done = []

    async def work(agent):
        done.append(agent)

    waiting = asyncio.create_task(rig.turns.perform(QueuedTask("works", work)))
    await asyncio.sleep(0)
    if how == "turns end":
        await rig.turns.close(1.0)
    else:
        rig.turns.return_waiting()

    assert await asyncio.wait_for(waiting, 60) is False
    assert not done


async def test_what_waits_for_a_task_learns_of_its_end():
    rig = Rig()
    done = []

    async def work(agent):
        done.append(agent)

    serving = asyncio.create_task(rig.turns.serve(rig.agent))
    assert await asyncio.wait_for(rig.turns.perform(QueuedTask("works", work)), 60)
    serving.cancel()

    assert done == [rig.agent]
    assert not rig.turns.running


# -- sessions and settings --------------------------------------------------------------------------


async def test_a_new_session_and_a_copy_are_asked_for():
    rig = Rig()
    rig.begin()

    rig.sessions.action_new_session()
    rig.sessions.action_fork_session()

    assert rig.wanted == [NewSession(), "fork"]


async def test_an_export_that_fails_is_shown(tmp_path):
    rig = Rig()
    rig.begin()

    rig.sessions.action_export("notes.docx")
    await asyncio.gather(*rig.host.tasks)

    (sentence,) = rig.host.sentences
    assert sentence.startswith("the session could not be exported: notes.docx should end in")


async def test_a_mode_is_set_and_the_next_one_is_never_auto():
    rig = Rig(KeyedApp())
    rig.begin()

    await rig.settings.action_set_mode("quorum")
    assert rig.agent.mode is Mode.QUORUM

    for _ in Mode:
        await rig.settings.action_cycle_mode()
        assert rig.agent.mode is not Mode.AUTO
    assert rig.host.changes == 1 + len(Mode)


async def test_a_model_that_cannot_be_had_leaves_the_present_one():
    rig = Rig()
    rig.begin()
    rig.agent.refused = {"fake/other"}

    rig.settings.action_choose_model("fake/other")
    await asyncio.gather(*rig.host.tasks)

    assert rig.host.sentences == ["fake/other cannot be had"]
    assert rig.host.notice == "the model is still fake/model-1"


# -- what stands in the transcript --------------------------------------------------------------------------


async def test_an_empty_transcript_has_nothing_to_copy_or_to_open():
    rig, transcript = Rig(), TranscriptView()
    copying = CopyController(rig.host, rig.current, transcript, workspace=Path("/work"))
    views = ViewController(rig.host, rig.current, transcript)

    copying.action_copy("code 2")
    assert rig.host.notice == "there are fewer than 2 of that kind: code"
    copying.action_copy("shoes")
    assert (
        rig.host.notice == "/copy takes answer, code, output, prompt and a number from 1 on, 1 being the latest"
    )
    views.action_open_output()
    assert rig.host.notice == "no command has printed anything yet"


async def test_a_link_is_followed_at_the_second_click_only_and_only_to_the_web():
    rig = Rig()
    copying = CopyController(rig.host, rig.current, TranscriptView(), workspace=Path("/work"))

    copying.follow_link("https://example.com/")
    assert rig.host.notice == "leads to https://example.com/ · another click opens it"
    copying.follow_link("file:///etc/passwd")
    copying.follow_link("file:///etc/passwd")

    assert rig.host.notice == "leads to file:///etc/passwd · no web address: not opened"
    assert rig.host.tasks == []


# -- writing and sending --------------------------------------------------------------------------


async def test_the_menu_knows_themes_at_once_and_files_with_the_session(tmp_path):
    rig = Rig()
    sources = PromptSources(tmp_path, rig.current, themes=lambda: ["nord", "dracula"])
    theme = next(command for command in COMMANDS if command.name == "theme")

    assert await sources.list_words(theme) == ["dracula", "nord"]
    assert await sources.find_files("app", 5) == ()

    rig.begin()
    rig.agent.paths = ["src/app.py"]
    assert [file.path for file in await sources.find_files("app", 5)] == ["src/app.py"]


class PromptApp(App[None]):
    """Nothing but a prompt and a transcript, and what sends from the one to the other."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.rig = rig = Rig(self)
        self.asking = False
        recall = Recall(folder, rig.turns.take_back)
        self.prompt = Prompt(recall, PromptSources(folder, rig.current, themes=lambda: ()), id="prompt")
        self.transcript, self.welcome = TranscriptView(), Welcome(folder)
        self.sending = SendController(
            rig.host,
            rig.current,
            rig.turns,
            prompt=self.prompt,
            recall=recall,
            transcript=self.transcript,
            welcome=self.welcome,
            resume=lambda _name: None,
            use_server=lambda _port, _prompt: None,
            is_asking=lambda: self.asking,
        )
        self.modes = ModeController(rig.host, rig.current, prompt=self.prompt, submit=self.sending.submit)
        self.submitting = SubmitController(
            rig.host,
            rig.current,
            rig.turns,
            self.prompt,
            sending=self.sending,
            memory=None,
            writing=WritingController(rig.host, rig.current, self.prompt, workspace=folder),
            run_action=self.run,
        )

    async def run(self, action):
        """Planning and another model are all that is asked for here; a summary cannot be loaded."""
        name, _, argument = action.rstrip(")").partition("(")
        if name == "compact":
            raise ProgramChanged("restart it")
        if name == "choose_model":
            self.rig.settings.action_choose_model(argument.strip("'"))
        else:
            assert name == "plan"
            await self.modes.action_plan(argument.strip("'"))

    def compose(self):
        yield self.welcome
        yield self.transcript
        yield self.prompt.menu
        yield self.prompt


async def test_a_prompt_waits_for_its_turn_and_takes_the_welcome_away(tmp_path):
    app = PromptApp(tmp_path)
    async with app.run_test():
        app.sending.submit("explain it")

        assert app.rig.turns.prompts == ("explain it",)
        assert not app.welcome.display


async def test_what_is_to_be_planned_stays_in_the_prompt_where_there_is_no_session_yet(tmp_path):
    app = PromptApp(tmp_path)
    async with app.run_test():
        await app.modes.action_plan("add a retry limit")

        assert app.rig.host.notice == "still starting; make a plan in a moment"
        assert app.prompt.text == "/plan add a retry limit"
        assert app.rig.turns.prompts == ()

        app.prompt.text = ""
        await app.modes.action_plan("off")
        assert app.prompt.text == ""


async def test_what_is_typed_before_the_session_is_there_is_done_in_order_once_it_is(tmp_path):
    app = PromptApp(tmp_path)
    async with app.run_test():
        await app.submitting.submit("/plan add a retry limit")
        await app.submitting.submit("and test it")
        assert app.submitting.held == ("/plan add a retry limit", "and test it")
        assert app.prompt.text == ""

        app.rig.begin()
        await app.submitting.submit("last")
        await app.submitting.submit_held()

        assert app.rig.agent.plans.phase.scope is PhaseScope.PLAN_ONLY
        assert app.rig.turns.prompts == ("add a retry limit", "and test it", "last")


async def test_a_prompt_behind_a_model_is_sent_to_that_one_or_comes_back(tmp_path):
    app = PromptApp(tmp_path)
    async with app.run_test():
        for typed in ("/model fake/other", "explain it", "/model fake/none", "and test it"):
            await app.submitting.submit(typed)
        app.rig.agent.refused = {"fake/none"}
        app.rig.begin()
        models = []
        app.sending.send_prompt = lambda text, **_: models.append((text, app.rig.agent.model))

        await app.submitting.submit_held()

        assert models == [("explain it", "fake/other")]
        assert app.rig.host.sentences == ["fake/none cannot be had"]
        assert app.prompt.text == "and test it"


async def test_a_command_that_fails_gives_back_what_waits_behind_it_and_holds_up_nothing_more(tmp_path):
    app = PromptApp(tmp_path)
    async with app.run_test():
        await app.submitting.submit("/compact the schema")
        await app.submitting.submit("explain it")
        app.rig.begin()

        with pytest.raises(ProgramChanged):
            await app.submitting.submit_held()
        assert app.prompt.text == "explain it"
        assert app.submitting.held == ()

        await app.submitting.submit("and test it")
        assert app.rig.turns.prompts == ("and test it",)


async def test_a_command_that_is_being_done_does_not_come_back_and_what_follows_waits(tmp_path):
    app = PromptApp(tmp_path)
    async with app.run_test():
        reached, may_end = asyncio.Event(), asyncio.Event()

        async def wait():
            reached.set()
            return await may_end.wait()

        app.rig.host.wait_for_changes = wait
        await app.submitting.submit("/model fake/other")
        await app.submitting.submit("/plan add a retry limit")
        app.rig.begin()
        submitting = asyncio.create_task(app.submitting.submit_held())
        async with asyncio.timeout(60):
            await reached.wait()

        assert app.submitting.return_held()
        assert app.prompt.text == "/plan add a retry limit"
        await app.submitting.submit("and test it")
        assert app.submitting.held == ("and test it",)
        may_end.set()
        await submitting
        assert app.rig.turns.prompts == ("and test it",)


async def test_a_command_that_waits_comes_back_as_one_and_a_prompt_as_none(tmp_path):
    chat = QuorumApp(composing([]), cwd=tmp_path).chat
    chat.turns.submit("!make")
    chat.submitting.take_back = iter(["/plan it", None]).__next__

    assert [chat._recall.recall_older("") for _ in range(2)] == ["/plan it", " !make"]


async def test_what_waits_for_the_session_can_be_taken_back(tmp_path):
    app = PromptApp(tmp_path)
    async with app.run_test():
        await app.submitting.submit("/plan add a retry limit")
        await app.submitting.submit("and test it")

        assert app.submitting.take_back() == "and test it"
        assert app.submitting.return_held()
        assert app.prompt.text == "/plan add a retry limit"
        assert app.submitting.take_back() is None


async def test_what_is_to_be_planned_in_a_session_that_takes_nothing_stays_a_command(tmp_path):
    app = PromptApp(tmp_path)
    async with app.run_test():
        app.rig.agent.in_use = "open elsewhere"
        app.rig.begin()

        await app.modes.action_plan("add a retry limit")

        assert app.rig.host.notice.startswith("read-only")
        assert app.prompt.text == "/plan add a retry limit"


async def test_what_a_summary_is_to_keep_stays_in_the_prompt_where_there_is_no_session_yet(tmp_path):
    app = PromptApp(tmp_path)
    async with app.run_test():
        app.sending.action_compact("the schema")

        assert app.rig.host.notice == "still starting; compact it in a moment"
        assert app.prompt.text == "/compact the schema"


async def test_a_prompt_for_a_session_that_takes_none_comes_back(tmp_path):
    app = PromptApp(tmp_path)
    async with app.run_test():
        app.rig.agent.in_use = "open elsewhere"
        app.rig.begin()

        app.sending.submit("explain it")

        assert app.rig.turns.prompts == ()
        assert app.prompt.text == "explain it"
        assert app.rig.host.notice.startswith("read-only")


async def test_what_cannot_go_into_a_turn_is_a_prompt_or_is_refused(tmp_path):
    app = PromptApp(tmp_path)
    async with app.run_test():
        app.sending.action_steer("look at a.py")
        assert app.rig.turns.prompts == ("look at a.py",)

        app.sending.action_steer("/quit")
        assert app.rig.host.notice == REFUSAL


async def test_a_command_of_the_persons_waits_for_the_session_and_not_for_an_open_question(tmp_path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        make = TypedCommand("make", visible_to_model=True)
        await app.submitting.submit("!make")
        assert app.rig.agent.commands == []

        app.rig.begin()
        await app.submitting.submit_held()
        await pilot.pause()
        assert app.rig.agent.commands == [("make", True)]

        app.asking = True
        app.sending.run_user_command(make, "!make")
        assert app.prompt.text == "!make"
        assert app.rig.host.notice == "answer the question first"
        await app.rig.turns.close(patience=1.0)


# -- their actions --------------------------------------------------------------------------


def test_every_command_and_every_key_of_the_chat_leads_to_an_action(tmp_path):
    app = QuorumApp(composing([]), cwd=tmp_path)
    named = [command.action for command in COMMANDS]
    named += [binding.action for binding in list_own_bindings(type(app.chat))]

    missing = []
    for action in named:
        owner = app if action.startswith("app.") else app.chat
        name = action.removeprefix("app.").partition("(")[0]
        if not callable(getattr(owner, f"action_{name}", None)):
            missing.append(action)

    assert missing == []


def test_an_action_belongs_to_one_controller():
    class One:
        def action_look(self): ...

    class Other:
        def action_look(self): ...

    assert set(collect_actions(One())) == {"action_look"}
    with pytest.raises(AssertionError, match="action_look"):
        collect_actions(One(), Other())

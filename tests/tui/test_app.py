import asyncio
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from quorum.code_change import CHANGED, build_error
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.conversation.response import Usage
from quorum.domain.errors import ConfigError, ProviderError, ProviderErrorKind
from quorum.domain.events.agents import AgentConnected
from quorum.domain.events.event import CallFinished, CallStarted, SandboxChecked, TextDelta
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.sessions.session_summary import NewSession
from quorum.domain.settings import TuiTable
from quorum.tui.app.app import QuorumApp
from quorum.tui.chat.controllers.jobs import JobController
from quorum.tui.chat.header import find_branch
from tests.support.app_stage import Clock, on_stage
from tests.support.fake_agent import FakeAgent, after_gate, composing, failing, hold, say


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.long
def test_nothing_of_the_domain_but_its_texts_is_imported_before_the_first_frame():
    code = (
        "import sys, quorum.tui.app.app; "
        "ours = tuple(f'quorum.{name}' for name in ('domain.', 'application', 'infrastructure')); "
        "heavy = (*ours, 'rich.markdown', 'pygments'); "
        "light = ('quorum.domain.text',); "
        "print([name for name in sys.modules if name.startswith(heavy) and not name.startswith(light)])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


async def test_the_header_names_place_branch_mode_and_model(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/topic/one\n")

    async with on_stage(tmp_path) as stage:
        first = stage.text().splitlines()[0]

    assert tmp_path.name in first
    assert "topic/one" in first
    assert first.index(" ask ") < first.index("fake/model-1")


@pytest.mark.parametrize(("on", "expected"), [(True, "sandbox on"), (False, "sandbox off")])
async def test_the_header_tells_whether_commands_run_in_a_sandbox(tmp_path, on, expected):
    async with on_stage(tmp_path) as stage:
        assert "sandbox" not in stage.text().splitlines()[0]
        stage.agent.tell(SandboxChecked(on=on, told="because"))
        await stage.until(lambda: expected in stage.text().splitlines()[0])


@pytest.mark.parametrize(("is_confined", "expected"), [(True, "sandbox on"), (False, "sandbox off")])
async def test_the_header_tells_of_an_agent_whether_it_works_in_the_sandbox(tmp_path, is_confined, expected):
    connected = AgentConnected(agent="a", program="a 1", agent_session="s", is_confined=is_confined)

    async with on_stage(tmp_path) as stage:
        stage.agent.tell(connected)
        stage.agent.tell(SandboxChecked(on=not is_confined, told="commands"))
        stage.agent.tell(TextDelta(text="working"))
        await stage.until(lambda: "working" in stage.text())
        assert expected in stage.text().splitlines()[0]


def test_a_branch_is_read_from_a_worktree_and_a_detached_head_without_running_git(tmp_path):
    real = tmp_path / "repo" / ".git" / "worktrees" / "w"
    real.mkdir(parents=True)
    (real / "HEAD").write_text("0123456789abcdef0123456789abcdef01234567\n")
    work = tmp_path / "w"
    (work / "deep").mkdir(parents=True)
    (work / ".git").write_text(f"gitdir: {real}\n")

    assert find_branch(work / "deep") == "012345678"


def test_a_branch_name_cannot_write_control_characters_to_the_header(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/x\x1b]0;evil\x07\n")

    assert "\x1b" not in find_branch(tmp_path)
    assert "\x07" not in find_branch(tmp_path)


@pytest.mark.long
async def test_a_prompt_is_carried_to_the_agent_and_its_answer_is_shown(tmp_path):
    async with on_stage(tmp_path, say("all is well")) as stage:
        await stage.pilot.press(*"hello", "enter")
        await stage.shows("all is well")

        assert stage.agent.prompts == ["hello"]
        assert stage.prompt.text == ""


@pytest.mark.long
async def test_a_prompt_sent_before_the_agent_is_there_waits_for_it(tmp_path):
    gate, box = asyncio.Event(), []
    compose = after_gate(gate, composing(box, say("late answer")))

    async with on_stage(tmp_path, compose=compose, ready=False) as stage:
        await stage.pilot.press(*"early", "enter")
        await stage.shows("1 waiting")
        gate.set()
        await stage.shows("late answer")

        assert box[0].prompts == ["early"]


async def test_an_initial_prompt_is_sent_by_itself(tmp_path):
    async with on_stage(tmp_path, initial_prompt="do it") as stage:
        await stage.until(lambda: stage.agent.reports)

        assert stage.agent.prompts == ["do it"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("quorum.toml: agent.max_tool_turns: expected a number"), 2),
        (ProviderError("no key; set ANTHROPIC_API_KEY", kind=ProviderErrorKind.CONFIGURATION), 4),
        (RuntimeError("nobody foresaw this"), 2),
        (ImportError("cannot import name 'x' from 'y'"), 2),
    ],
)
async def test_a_failed_composition_ends_the_app_with_its_code_and_its_text(tmp_path, error, code, capsys):
    async with on_stage(tmp_path, compose=failing(error), ready=False) as stage:
        await stage.until(lambda: stage.app.return_code == code)

    assert str(error) in " ".join(capsys.readouterr().err.split())


async def test_an_error_nobody_foresaw_ends_the_start_with_one_sentence_without_secrets(tmp_path, capsys):
    error = RuntimeError("refused:\n  key sk-ant-api03-" + "Z9" * 30)
    async with on_stage(tmp_path, compose=failing(error), ready=False) as stage:
        await stage.until(lambda: stage.app.return_code == 2)

    printed = " ".join(capsys.readouterr().err.split())
    assert printed.startswith("quorum: the session could not be opened: RuntimeError: refused: key ")
    assert printed.endswith("quorum doctor may tell why")
    assert "Z9" not in printed
    assert "fake_agent.py, line " in printed


def test_an_unknown_theme_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(ConfigError, match=r"no theme 'pink'; choose one of .*quorum-light"):
        QuorumApp(composing([]), cwd=tmp_path, theme="pink")


async def test_the_first_run_says_what_is_missing_the_ways_on_and_what_works(tmp_path):
    async with on_stage(tmp_path, size=(80, 24), model="offline/offline") as stage:
        await stage.shows("No model yet: three ways to go on")
        await stage.shows("export ANTHROPIC_API_KEY=…")
        await stage.shows("quorum --demo")
        await stage.shows("offline/offline · works without a model, in plain requests")
        await stage.send("read a.py")
        await stage.until(lambda: "No model yet" not in stage.text())


@pytest.mark.long
async def test_tokens_are_summed_in_the_status_bar(tmp_path):
    used = Usage(input=1000, output=50, cache_read=11_000)
    async with on_stage(tmp_path, say("a", usage=used), say("b", usage=used)) as stage:
        await stage.send("one")
        await stage.shows("12.0k in · 50 out")
        await stage.send("two")
        await stage.shows("24.0k in · 100 out")


@pytest.mark.long
async def test_shift_tab_goes_through_the_modes_that_ask_and_never_into_auto(tmp_path):
    seen = []
    async with on_stage(tmp_path) as stage:
        for _ in range(5):
            before = stage.agent.mode
            await stage.pilot.press("shift+tab")
            await stage.until(lambda before=before: stage.agent.mode is not before)
            seen.append(stage.agent.mode)

    assert seen == [Mode.ACCEPT_EDITS, Mode.QUORUM, Mode.SANDBOXED, Mode.READ_ONLY, Mode.ASK]


async def test_the_command_sets_auto_and_the_header_is_loud_about_it(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.send("/mode auto")
        await stage.shows("AUTO: only exceptions are asked")

        assert stage.agent.mode is Mode.AUTO
        assert stage.agent.prompts == []


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("/hlep", "there is no command /hlep; did you mean /help?"),
        ("/zzzzzzz", "there is no command /zzzzzzz; / alone lists them"),
        ("/mode pink", "/mode needs one of ask, accept-edits, quorum, sandboxed, read-only, staged, auto"),
        ("/clear all", "/clear takes nothing after it"),
    ],
)
async def test_a_command_that_is_none_stays_in_the_prompt_and_is_shown(tmp_path, typed, expected):
    async with on_stage(tmp_path) as stage:
        await stage.send(typed)
        await stage.shows(expected)

        assert stage.prompt.text == typed
        assert stage.agent.prompts == []


async def test_a_path_at_the_beginning_is_no_command(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.send("/etc/hosts what is it for?")
        await stage.until(lambda: stage.agent.prompts)

        assert stage.agent.prompts == ["/etc/hosts what is it for?"]


async def test_clear_empties_the_screen_and_quit_leaves(tmp_path):
    async with on_stage(tmp_path, say("to be forgotten")) as stage:
        await stage.send("hello")
        await stage.shows("to be forgotten")
        await stage.send("/clear")
        await stage.until(lambda: "to be forgotten" not in stage.text())
        stage.prompt.replace_text("/quit")
        stage.hit("enter")
        await stage.until(lambda: stage.app.return_code == 0)


@pytest.mark.long
@pytest.mark.parametrize("key", ["f1", "question_mark"])
async def test_help_lists_commands_and_the_real_keys_of_prompt_and_review(tmp_path, key):
    async with on_stage(tmp_path, size=(80, 240)) as stage:
        await stage.pilot.press(key)
        await stage.shows("In a review")
        shown = stage.text()
        await stage.pilot.press("escape")
        await stage.unasked()

    for line in (
        "/mode MODE",
        "ctrl+o",
        "Interrupt; twice: clear, leave a mode or rewind",
        "ctrl+j, shift+enter",
        "Approve: run exactly this",
    ):
        assert line in shown


async def test_a_question_mark_within_a_prompt_is_just_typed(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press("a", "question_mark")

        assert stage.prompt.text == "a?"


@pytest.mark.long
async def test_the_palette_offers_every_command_and_key_and_runs_what_is_chosen(tmp_path):
    async with on_stage(tmp_path) as stage:
        offered = [command.title for command in stage.app.get_system_commands(stage.app.screen)]
        await stage.pilot.press("ctrl+p")
        await stage.until(lambda: stage.app.screen is not stage.app.chat)
        await stage.pilot.press(*"mode read-only")
        await stage.shows("/mode read-only")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.agent.mode is Mode.READ_ONLY)

    assert len(offered) == len(set(offered))
    assert {
        "/mode auto",
        "/theme",
        "/quit",
        "Interrupt; twice: clear, leave a mode or rewind",
        "Redraw the screen",
    } <= set(offered)


async def test_markup_and_control_characters_of_a_tool_do_nothing_to_the_screen(tmp_path):
    context = ToolExecutionContext(call_id="c", batch_id="b", call_index=0, turn_index=0)
    evil = "[/red] [bold]x[/] \x1b]52;c;aGk=\x07 \x1b[2J \u202egnp.exe"

    async def scene(agent: FakeAgent) -> None:
        agent.tell(TextDelta(text=evil))
        agent.tell(CallStarted(context=context, tool="read_file", arguments={"path": evil}))
        agent.tell(
            CallFinished(
                context=context,
                tool="read_file",
                outcome=Outcome.OK,
                decision=DecisionLabel.ALLOWED,
                output=evil,
                duration_secs=0.1,
            )
        )

    async with on_stage(tmp_path, scene) as stage:
        await stage.send("go")
        await stage.shows("[/red]")
        await stage.pilot.press("ctrl+o")
        shown = stage.text()

    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


@pytest.mark.long
async def test_everything_fits_80_by_24_and_survives_a_storm_of_resizes(tmp_path):
    async with on_stage(tmp_path, say("word " * 300), size=(80, 24)) as stage:
        await stage.send("hello")
        await stage.until(lambda: stage.agent.reports)
        for width, height in [(120, 40), (60, 15), (200, 60), (80, 24), (40, 10), (80, 24)] * 3:
            await stage.pilot.resize_terminal(width, height)
        await stage.until(lambda: stage.text().splitlines()[-1].startswith(" ask · "))
        lines = stage.text().rstrip("\n").split("\n")

    assert len(lines) == 24
    assert max(len(line) for line in lines) <= 80
    assert lines[-1].startswith(" ask · ")


async def test_without_colour_everything_is_still_said(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with on_stage(tmp_path, hold()) as stage:
        await stage.send("hello")
        await stage.shows("esc interrupts")


@pytest.mark.long
async def test_page_keys_scroll_the_transcript_while_the_prompt_keeps_the_focus(tmp_path):
    async with on_stage(tmp_path, say("\n\n".join(f"paragraph {n}" for n in range(100)))) as stage:
        await stage.send("hello")
        await stage.shows("paragraph 99")
        await stage.pilot.press("pageup")
        await stage.until(lambda: "paragraph 99" not in stage.text())
        await stage.pilot.press("ctrl+home")
        await stage.shows("paragraph 0")
        await stage.pilot.press("ctrl+end", "x")
        await stage.shows("paragraph 99")

        assert stage.prompt.text == "x"


@pytest.mark.long
@pytest.mark.parametrize("typed", ["hello again", "!true"])
async def test_what_is_sent_is_in_sight_wherever_one_read_before(tmp_path, typed):
    long = "\n\n".join(f"paragraph {n}" for n in range(100))
    async with on_stage(tmp_path, say(long), say("and more")) as stage:
        await stage.send("hello")
        await stage.shows("paragraph 99")
        await stage.until(lambda: not stage.app.chat.turns.running)
        await stage.pilot.press("ctrl+home")
        await stage.shows("paragraph 0")
        await stage.send(typed)
        await stage.until(lambda: stage.app.chat.transcript.is_at_end)

        await stage.shows("paragraph 99")


@pytest.mark.long
async def test_what_waits_for_its_turn_leaves_the_place_where_one_reads(tmp_path):
    long = "\n\n".join(f"paragraph {n}" for n in range(100))
    async with on_stage(tmp_path, say(long), hold()) as stage:
        await stage.send("hello")
        await stage.shows("paragraph 99")
        await stage.send("go on")
        await stage.until(lambda: stage.app.chat.turns.running)
        await stage.pilot.press("ctrl+home")
        await stage.send("and then")
        await stage.shows("◔ waits: and then")

        assert not stage.app.chat.transcript.is_at_end


async def test_what_fails_out_of_sight_is_shown_in_passing_too(tmp_path):
    async with on_stage(tmp_path, say("\n\n".join(f"paragraph {n}" for n in range(100)))) as stage:
        await stage.send("hello")
        await stage.shows("paragraph 99")
        await stage.pilot.press("ctrl+home")
        stage.app.chat.tell("that is not an image")

        await stage.shows("that is not an image")


async def test_redrawing_keeps_what_is_there(tmp_path):
    async with on_stage(tmp_path, say("still here")) as stage:
        await stage.send("hello")
        await stage.shows("still here")
        await stage.pilot.press("ctrl+l")
        await stage.shows("still here")


async def test_ctrl_c_twice_within_a_second_quits_and_once_only_says_so(tmp_path):
    clock = Clock()
    async with on_stage(tmp_path, clock=clock) as stage:
        await stage.pilot.press("ctrl+c")
        await stage.shows("ctrl+c again quits")
        clock.now += 1.5
        await stage.pilot.press("ctrl+c")
        await stage.pilot.pause()
        assert stage.app.return_code is None
        clock.now += 0.5
        stage.hit("ctrl+c")
        await stage.until(lambda: stage.app.return_code == 0)


async def test_ctrl_c_clears_what_is_typed_before_it_quits(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press(*"draft", "ctrl+c")
        await stage.until(lambda: stage.prompt.text == "")

        assert stage.app.return_code is None


@pytest.mark.long
async def test_ctrl_c_copies_a_selection_and_does_nothing_else(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        await stage.send("hello")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.pilot.press(*"copy me", "f7", "ctrl+c")
        await stage.until(lambda: stage.app.clipboard == "copy me")

        assert stage.app.chat.turns.running
        assert stage.prompt.text == "copy me"


async def test_ctrl_d_quits_only_when_nothing_is_typed(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press("a", "b", "home", "ctrl+d")
        assert stage.prompt.text == "b"
        await stage.pilot.press("ctrl+d")
        assert stage.prompt.text == ""
        stage.hit("ctrl+d")
        await stage.until(lambda: stage.app.return_code == 0)


def test_the_directory_is_cut_from_its_left_where_there_is_no_room():
    from quorum.tui.transcript.cells.lines import fit_text_end

    assert fit_text_end("/a/very/long/path", 8) == "…ng/path"
    assert fit_text_end("/a", 8) == "/a"


def test_the_history_of_a_project_has_its_own_file(tmp_path):
    from quorum.tui.prompt_box.history import locate_history

    assert locate_history(tmp_path).parent == tmp_path / "state" / "quorum" / "history"
    assert locate_history(tmp_path) != locate_history(Path("/"))


@pytest.mark.long
async def test_a_screen_that_grows_while_something_arrives_stays_at_the_end(tmp_path):
    paragraphs = say("\n\n".join(f"paragraph {n}" for n in range(50)))
    async with on_stage(tmp_path, paragraphs, hold(), size=(80, 24)) as stage:
        await stage.send("talk")
        await stage.shows("paragraph 49")
        await stage.send("go")
        await stage.until(lambda: stage.agent.reached.is_set())
        for height in range(24, 34):
            stage.app.chat.transcript.apply(TextDelta(text=f"\n\narrived at {height}"))
            await stage.pilot.resize_terminal(80, height)
        await stage.shows("arrived at 33")

        assert stage.app.chat.transcript.is_at_end


def test_settings_that_come_after_the_first_frame_are_taken_over(tmp_path):
    app = QuorumApp(composing([]), cwd=tmp_path)

    app.adopt(TuiTable(theme="quorum-light", notifications=False))

    assert app.theme == "quorum-light"
    with pytest.raises(ConfigError, match="no theme 'pink'"):
        app.adopt(TuiTable(theme="pink"))


class _Changed:
    """Finds that the modules of one package were changed on disk."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.startswith("quorum.tui.screens."):
            raise build_error(name)


def change_code(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("quorum.tui.screens.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_Changed(), *sys.meta_path])


async def _fail() -> None:
    raise build_error("quorum.tui.screens.pager_screen")


@pytest.mark.long(after=1)
@pytest.mark.parametrize("way", ["command", "key", "message", "worker", "callback", "timer"])
async def test_what_cannot_be_loaded_any_more_is_said_and_the_app_goes_on(tmp_path, way, monkeypatch):
    async with on_stage(tmp_path, say("still here")) as stage:
        change_code(monkeypatch)
        match way:
            case "command":
                await stage.send("/status")
            case "key":
                await stage.pilot.press("f1")
            case "message":
                stage.app.chat.transcript.call_later(_fail)
            case "worker":
                stage.app.chat.run_worker(_fail())
            case "callback":
                stage.app.chat.call_after_refresh(_fail)
            case "timer":
                stage.app.chat.transcript.set_timer(0.001, _fail)
        await stage.until(lambda: CHANGED in stage.text())

        await stage.send("hello")
        await stage.shows("still here")
        assert stage.app.is_running


async def test_a_tab_goes_on_where_what_tells_of_ended_commands_cannot_be_loaded(tmp_path, monkeypatch):
    async with on_stage(tmp_path) as stage:
        change_code(monkeypatch)
        monkeypatch.setattr(JobController, "running", property(lambda _: ("make",)))
        for number in (2, 3):
            stage.app.tabs.front.host.want(NewSession())
            await stage.until(lambda number=number: len(stage.agents) == number)
            await stage.until(lambda: stage.app.chat.current.session is not None)
            await stage.shows(CHANGED)


async def test_turns_go_on_where_what_shows_their_state_cannot_be_loaded(tmp_path, monkeypatch):
    async with on_stage(tmp_path, say("first"), say("second")) as stage:
        monkeypatch.setattr(stage.app.chat.status, "show", Mock(side_effect=build_error("quorum.tui")))
        for number in (1, 2):
            await stage.send("go")
            await stage.until(lambda number=number: len(stage.agent.reports) == number)
            assert stage.app.chat.refusal == CHANGED

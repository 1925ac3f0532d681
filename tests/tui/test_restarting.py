"""An app that takes the place of another one: in a layer over the workspace, or out of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quorum.app import handing_over
from quorum.cli.app import AppOptions, run_app
from quorum.cli.app.restarting import render_arguments
from quorum.command_line.reading import parse
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.events.event import SandboxChecked
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.session_summary import NamedSession, NewSession
from quorum.errors import RestartedCommand
from quorum.tui.chat.carried_tab import CarriedTab
from quorum.tui.chat.controllers.settings import SettingsController
from quorum.tui.keys.choices import CYCLED_MODES
from quorum.tui.keys.keyed_app import Restart
from quorum.tui.tabs.carrying import CarriedApp, decode, encode, note_refusal
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import FakeAgent, composing, hold, say
from tests.support.fake_layer import FakeLayer
from tests.tui.test_effects_screen import staged

ROOT = Path("/work")


def read(*words: str) -> AppOptions:
    options = parse(words).options
    assert isinstance(options, AppOptions)
    return options


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--mode", "ask", "do it"),
        ("--continue",),
        ("--resume", "0123abcd", "--fork"),
        ("--resume", "--", "do it"),
        ("-m", "local/a", "-m", "ask=local/b", "--effort", "high", "--max-cost-usd", "0.50"),
        ("--max-tool-turns", "7", "--max-time", "20", "--screen-reader", "--quiet", "--safe", "--debug"),
        ("--config", "/etc/other.toml", "--add-dir", "/library", "--scope", "fast", "--", "-x"),
    ],
)
def test_it_begins_as_the_one_before_but_in_the_other_mode(words: tuple[str, ...]) -> None:
    options = read(*words)

    again = read(*render_arguments(options, ROOT, Restart("staged")))

    assert again.overrides == {**options.overrides, "review.mode": "staged"}
    assert again.workdir == ROOT
    for name in (
        "config_file",
        "add_dirs",
        "models",
        "quiet",
        "safe",
        "debug",
        "continues",
        "resume",
        "fork",
        "prompt",
    ):
        assert getattr(again, name) == getattr(options, name), name


def test_it_continues_the_session_that_the_one_before_had() -> None:
    options = read("--continue", "--fork", "do it")

    again = read(*render_arguments(options, ROOT, Restart("ask", "0123abcd")))

    assert (again.resume, again.continues, again.fork, again.prompt) == ("0123abcd", False, False, None)


@pytest.fixture(autouse=True)
def _own_state_and_no_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(SettingsController, "CROSSING_SECS", 0.0)


def begin_staged(agent: FakeAgent) -> None:
    agent.mode = Mode.STAGED
    staged(FakeLayer())(agent)


def resumable(agent: FakeAgent) -> None:
    agent.session_id = f"session-{id(agent)}"


async def carried(stage: Stage) -> CarriedApp:
    """What the next app is handed once this one has ended."""
    await stage.until(lambda: stage.app.carried)
    return decode(stage.app.carried)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("command", ["/stage", "/mode staged"])
async def test_for_the_mode_staged_the_app_ends_and_another_one_takes_its_place(
    tmp_path: Path, command: str
) -> None:
    async with on_stage(tmp_path) as stage:
        stage.app.can_restart = True
        await stage.send(command)
        await stage.until(lambda: stage.app.restart is not None)

        assert stage.app.restart == Restart("staged")


@pytest.mark.long
async def test_where_nothing_can_take_its_place_it_stays_and_says_so(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        await stage.send("/stage")
        await stage.shows("quorum cannot begin anew here; start it with --mode staged")

        assert stage.app.restart is None


@pytest.mark.long
async def test_who_leaves_while_the_key_rests_gets_no_other_app(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        stage.app.can_restart = True
        await stage.app.action_quit()
        stage.app.begin_anew(Restart("staged"))

        assert stage.app.restart is None


@pytest.mark.long
async def test_outside_of_a_layer_there_is_none_to_leave(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        await stage.send("/unstage")
        await stage.shows("this session works in your folder itself")


@pytest.mark.long
async def test_the_key_that_goes_through_the_modes_reaches_the_one_in_a_layer_after_all_others(
    tmp_path: Path,
) -> None:
    async with on_stage(tmp_path) as stage:
        stage.app.can_restart = True
        await stage.pilot.press(*["shift+tab"] * (len(CYCLED_MODES) - 1))
        assert stage.agent.mode is Mode.READ_ONLY
        stage.hit("shift+tab")
        await stage.until(lambda: stage.app.restart is not None)

        assert stage.app.restart == Restart("staged")


@pytest.mark.long
async def test_in_a_layer_the_same_key_leads_out_of_it(tmp_path: Path) -> None:
    async with on_stage(tmp_path, prepare=begin_staged) as stage:
        stage.app.can_restart = True
        await stage.pilot.press("shift+tab")
        assert stage.agent.mode is Mode.READ_ONLY
        stage.hit("shift+tab")
        await stage.until(lambda: stage.app.restart is not None)

        assert stage.app.restart == Restart("ask")


@pytest.mark.long
async def test_the_key_goes_on_before_another_process_begins_and_a_prompt_runs_in_the_mode_it_was_sent_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SettingsController, "CROSSING_SECS", 600.0)
    async with on_stage(tmp_path) as stage:
        stage.app.can_restart = True
        await stage.pilot.press(*["shift+tab"] * len(CYCLED_MODES))
        await stage.shows("staged: nothing reaches your folder before")
        await stage.send("do it")
        assert stage.app.chat.turns.prompts == ("do it",)
        await stage.pilot.press("shift+tab")
        await stage.until(lambda: stage.agent.prompts == ["do it"])

        assert stage.agent.mode is Mode.ASK
        assert stage.app.restart is None


@pytest.mark.long
async def test_a_mode_that_cannot_be_had_is_passed_over_with_the_reason(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        stage.app.can_restart = True
        stage.app.find_layer_obstacle = lambda: "the kernel says no"
        await stage.pilot.press(*["shift+tab"] * len(CYCLED_MODES))
        await stage.shows("staged cannot be had: the kernel says no")

        assert stage.agent.mode is Mode.ASK
        assert stage.app.restart is None


@pytest.mark.long
async def test_without_the_sandbox_no_process_begins_that_would_end_at_once(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        stage.app.can_restart = True
        stage.app.chat.handle_events([SandboxChecked(on=False, told="off")])
        await stage.send("/stage")
        await stage.shows("it needs the sandbox, which is off here")

        assert stage.app.restart is None


@pytest.mark.long
async def test_nothing_takes_the_place_of_an_app_in_which_a_turn_runs(tmp_path: Path) -> None:
    async with on_stage(tmp_path, hold()) as stage:
        stage.app.can_restart = True
        await stage.send("wait")
        await stage.until(lambda: stage.app.chat.turns.running)
        await stage.send("/stage")
        await stage.shows("staged cannot be had: a turn is running")

        assert stage.app.restart is None


async def test_the_next_app_has_the_tabs_the_drafts_the_queue_and_the_place_in_the_transcript(
    tmp_path: Path,
) -> None:
    async with on_stage(tmp_path, say("\n\n".join(map(str, range(200)))), prepare=resumable) as stage:
        stage.app.can_restart = True
        await stage.send("first")
        await stage.until(lambda: stage.app.chat.turns.can_retry or not stage.app.chat.turns.running)
        await stage.shows("199")
        await stage.pilot.press("pageup")
        await stage.until(lambda: stage.app.chat.transcript.top_line is not None)
        place = stage.app.chat.transcript.top_line
        assert place is not None
        stage.app.chat.transcript.action_scroll_end()
        stage.app.chat.transcript.go_to_line(place)
        shot = await stage.agents[0].attach("shot.png")
        stage.prompt.replace_text(f"half a draft {shot.label}")
        await stage.pilot.press("ctrl+t")
        await stage.until(lambda: len(stage.agents) == 2 and stage.app.chat.current.session is not None)
        stage.app.chat.turns.hold()
        stage.app.chat.turns.submit("in line", is_typed=True)
        stage.prompt.replace_text("another")
        stage.app.chat.run_worker(stage.app.chat.run_action("set_mode('staged')"))
        handed = await carried(stage)
        names = [agent.session_id for agent in stage.agents]

    (first, second), draft = handed.tabs, f"half a draft {shot.label}"
    assert (first.session, first.draft, first.line, first.opener) == (names[0], draft, place, None)
    assert (second.session, second.draft, second.opener) == ("", "another", 0)
    assert [(each.text, each.is_typed) for each in second.waiting] == [("in line", True)]
    assert (handed.front, second.mode) == (1, "staged")

    box: list[FakeAgent] = []
    async with on_stage(
        tmp_path,
        prepare=begin_staged,
        ready=False,
        carried=handed,
        compose=composing(box, prepare=begin_staged),
    ) as stage:
        await stage.until(lambda: len(box) == 2 and all(tab.chat.current.session for tab in stage.app.tabs.all))
        one, other = stage.app.tabs.all

        assert (stage.app.tabs.front, other.opener) == (other, one)
        assert (one.chat.prompt.text, other.chat.prompt.text) == (draft, "another")
        await stage.until(lambda: ["in line"] in [agent.prompts for agent in box])
        assert sorted(len(agent.known_images) for agent in box) == [0, 1]
        assert {agent.choice for agent in box} == {NamedSession(names[0]), NewSession(SessionKind.AGENT)}


def a_tab() -> CarriedTab:
    return CarriedTab(
        session="",
        form="",
        mode="staged",
        model="",
        opener=None,
        name="",
        draft="half a draft",
        is_draft_typed=True,
        waiting=(),
        line=None,
    )


def test_where_the_layer_is_refused_the_folder_itself_has_all_that_was_carried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = os.memfd_create("test")
    os.write(left, encode(CarriedApp(tabs=(a_tab(),), front=0)))
    monkeypatch.setenv("QUORUM_TAKES_OVER", str(left))
    monkeypatch.setattr(handing_over, "wait_outside", lambda: None)
    (tmp_path / "state" / "quorum").mkdir(parents=True)
    (tmp_path / "state" / "quorum" / "staged").touch()  # as on a disk that is full, nothing can be kept there

    with pytest.raises(RestartedCommand) as restarted:
        run_app(read("--mode", "staged", "--resume", "0123abcd"), tmp_path.resolve())

    again = read(*restarted.value.arguments)
    assert (again.overrides["review.mode"], again.resume) == ("ask", "0123abcd")
    (tab,) = decode(restarted.value.carried).tabs
    assert tab.draft == "half a draft"
    assert "no layer can be" in tab.refusal


@pytest.mark.long
async def test_it_says_there_why_the_layer_was_refused(tmp_path: Path) -> None:
    refused = note_refusal(encode(CarriedApp(tabs=(a_tab(),), front=0)), "the disk is full")

    async with on_stage(tmp_path, carried=decode(refused)) as stage:
        await stage.shows("the disk is full")
        assert stage.prompt.text == "half a draft"
        assert stage.agent.mode is Mode.ASK

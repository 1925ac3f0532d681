import asyncio

import pytest

from quorum.domain.errors import ConfigError
from quorum.domain.panel.panel_answer import ConsensusLevel
from quorum.domain.plan.plan import PhaseScope
from quorum.domain.review.mode import Mode
from quorum.rpc.settings import LiveSettings
from quorum.tui.settings.effects import is_immediate
from quorum.tui.settings.settings_screen import SettingsScreen, suggest_setting
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import hold
from tests.support.fake_settings import OWN, PROJECT, FakeSettings, a_setting

MODES = ("read-only", "ask", "accept-edits", "quorum", "sandboxed", "auto")


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def a_review_context() -> FakeSettings:
    return FakeSettings(
        a_setting("agent.max_tool_turns", "10", description="How many rounds one prompt may take."),
        a_setting("agent.max_turn_end_retries", "3"),
        a_setting("review.mode", '"ask"', choices=MODES, origin="/home/me/.config/quorum/quorum.toml:4"),
        a_setting("providers.own.headers.X-Key", '"********"', fixed="is secret: it is changed in its file"),
        a_setting("tui.theme", '"quorum"'),
        a_setting("tui.notifications", "true", choices=("true", "false")),
        a_setting("tui.keys.redraw", '"ctrl+l"'),
    )


async def opened(stage: Stage, service: FakeSettings, query: str = "") -> SettingsScreen:
    stage.app.open_settings = lambda: service
    await stage.send(f"/config {query}".strip())
    await stage.until(lambda: isinstance(stage.app.screen, SettingsScreen) and stage.app.screen._rows)
    return stage.app.screen


async def changed(stage: Stage, service: FakeSettings, *keys: str) -> None:
    await stage.pilot.press(*keys)
    await stage.until(lambda: service.changes)
    await stage.until(lambda: not stage.app.screen.has_class("-editing"))
    await stage.pilot.pause()


@pytest.mark.long
@pytest.mark.parametrize("size", [(40, 20), (80, 24), (200, 50)])
async def test_settings_stand_below_their_tables_with_value_meaning_and_source(tmp_path, size):
    async with on_stage(tmp_path, size=size, ready=size[0] > 60) as stage:
        await stage.until(lambda: stage.app.chat.current.session)
        await opened(stage, a_review_context())
        await stage.shows("[agent]")
        await stage.shows("max_tool_turns")
        await stage.pilot.press(*"mode")
        await stage.shows("review.mode")

        shown = "".join(stage.text().replace("│", " ").split())
        assert "quorum.toml:4" in shown
        assert "whatreview.modemeans" in shown


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("theam", "did you mean theme?"),
        ("tui.notificatoins", "did you mean notifications?"),
        ("headers", "such as headers, are written in quorum.toml"),
        ("zebra", "tables with names of your own"),
        ("", "tables with names"),
        ("z" * 10_000, "tables with names"),
    ],
)
def test_a_search_that_finds_nothing_says_what_was_meant_or_where_it_is_written(typed, said):
    shown = [a_setting("tui.theme", '"quorum"'), a_setting("tui.notifications", "true")]
    assert said in suggest_setting(typed, shown)


@pytest.mark.long
async def test_typing_searches_names_meanings_values_and_sources(tmp_path):
    async with on_stage(tmp_path) as stage:
        screen = await opened(stage, a_review_context())
        for query, keys in (
            ("rounds", ["agent.max_tool_turns"]),
            ("quorum.toml", ["review.mode"]),
            ("agent 10", ["agent.max_tool_turns"]),
        ):
            screen.query_one("#query").value = query
            await stage.pilot.pause()
            assert [row.key for row in screen._rows if hasattr(row, "key")] == keys
        screen.query_one("#query").value = "zzz"
        await stage.shows("no setting matches")


async def test_a_query_after_the_command_is_searched_for_and_the_best_name_is_marked(tmp_path):
    async with on_stage(tmp_path) as stage:
        screen = await opened(stage, a_review_context(), "mode")

        assert screen._marked.key == "review.mode"


class SlowSettings(FakeSettings):
    """Settings that take their time to be read."""

    def __init__(self, *settings):
        super().__init__(*settings)
        self.go = asyncio.Event()

    async def list_settings(self):
        await self.go.wait()
        return await super().list_settings()


async def test_what_is_marked_stays_in_sight_however_many_lines_its_meaning_takes(tmp_path):
    others = [a_setting(f"agent.mode_{n}", "1") for n in range(24)]  # fit as long as little is shown
    service = SlowSettings(
        *others, a_setting("review.mode", '"ask"', description="Which calls are asked about. " * 12)
    )
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        stage.app.open_settings = lambda: service
        await stage.send("/config mode")
        await stage.shows("reading the settings…")
        service.go.set()
        await stage.shows("review.mode")
        await stage.until(
            lambda: any("mode " in line and '"ask"' in line for line in stage.text().splitlines())
        )


@pytest.mark.long
async def test_why_a_value_is_refused_is_shown_to_its_end_in_a_small_terminal(tmp_path):
    others = [a_setting(f"agent.mode_{n}", "1") for n in range(24)]
    mode = a_setting("review.mode", '"ask"', description="Which calls are asked about. " * 30)
    service = FakeSettings(mode, *others)
    service.refusals["review.mode"] = f"review.mode must be one of {'read-only, ' * 20}auto, not the last word"
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        await opened(stage, service, "review.mode")
        await stage.pilot.press("enter", "z", "enter")
        await stage.shows("not the last word")


@pytest.mark.long
async def test_a_value_is_written_to_the_persons_own_file_and_said_when_it_counts(tmp_path):
    service = a_review_context()
    async with on_stage(tmp_path) as stage:
        await opened(stage, service, "max_tool_turns")
        await stage.pilot.press("enter")
        await stage.shows("→ /home/me/.config/quorum/quorum.toml")
        await changed(stage, service, "backspace", "2", "enter")
        await stage.shows("it counts with the next")

    assert service.changes == [("agent.max_tool_turns", "12", OWN)]


@pytest.mark.long
async def test_tab_chooses_the_projects_file(tmp_path):
    service = a_review_context()
    async with on_stage(tmp_path) as stage:
        await opened(stage, service, "max_tool_turns")
        await stage.shows("tab: your own file")
        await stage.pilot.press("tab")
        await stage.shows("tab: the project's file")
        await changed(stage, service, "enter", "1", "enter")

    assert service.changes == [("agent.max_tool_turns", "101", PROJECT)]


@pytest.mark.long
async def test_what_does_not_fit_is_shown_and_can_be_corrected(tmp_path):
    service = a_review_context()
    path = "/home/me/.config/quorum/quorum.toml"
    service.refusals["agent.max_tool_turns"] = f"{path}:3: agent.max_tool_turns must be a whole number"
    async with on_stage(tmp_path) as stage:
        screen = await opened(stage, service, "max_tool_turns")
        await stage.pilot.press("enter", "x", "enter")
        await stage.shows("must be a whole number")
        assert f"{path}:3" not in stage.text()  # nothing of it stands there

        assert screen.has_class("-editing")
        assert screen.query_one("#value").value == "10x"
        assert service.changes == []
        await stage.pilot.press("backspace")
        await stage.until(lambda: "must be a whole number" not in stage.text())


@pytest.mark.long
async def test_up_and_down_go_through_the_words_a_value_can_be(tmp_path):
    service = a_review_context()
    async with on_stage(tmp_path) as stage:
        await opened(stage, service, "notifications")
        await changed(stage, service, "enter", "down", "enter")

        assert stage.app.notifier.wanted is False

    assert service.changes == [("tui.notifications", "false", OWN)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("key", "typed", "value", "holds"),
    [
        ("tui.theme", "nord", "nord", lambda stage: stage.app.theme == "nord"),
        ("tui.notifications", "false", False, lambda stage: stage.app.notifier.wanted is False),
        ("review.mode", "read-only", "read-only", lambda stage: stage.agent.mode is Mode.READ_ONLY),
        ("tui.keys.redraw", "f5", "f5", lambda stage: stage.app.keymap == {"redraw": "f5"}),
    ],
)
async def test_what_the_app_goes_by_holds_at_once(tmp_path, key, typed, value, holds):
    service = a_review_context()
    service.values[key] = value
    service.wishes["redraw"] = "f5"
    async with on_stage(tmp_path) as stage:
        screen = await opened(stage, service, key)
        await stage.pilot.press("enter")
        screen.query_one("#value").value = typed
        await changed(stage, service, "enter")
        await stage.until(lambda: holds(stage))

        assert "next session" not in screen.query_one("#notice").visual.plain


@pytest.mark.long
async def test_a_theme_that_there_is_not_is_refused_before_anything_is_written(tmp_path):
    service = a_review_context()
    async with on_stage(tmp_path) as stage:
        screen = await opened(stage, service, "tui.theme")
        await stage.pilot.press("enter")
        screen.query_one("#value").value = "pink"
        await stage.pilot.press("enter")
        await stage.shows("there is no theme 'pink'")

    assert service.changes == []


@pytest.mark.long
async def test_ctrl_d_takes_the_marked_setting_out_of_the_file(tmp_path):
    service = a_review_context()
    service.values["review.mode"] = "ask"
    async with on_stage(tmp_path) as stage:
        await opened(stage, service, "review.mode")
        await changed(stage, service, "ctrl+d")

    assert service.changes == [("review.mode", None, OWN)]


@pytest.mark.long
async def test_a_secret_is_neither_shown_nor_changed(tmp_path):
    service = a_review_context()
    async with on_stage(tmp_path) as stage:
        screen = await opened(stage, service, "X-Key")
        await stage.shows("********")
        await stage.pilot.press("enter")
        await stage.shows("X-Key is secret: it is changed in its file")

        assert not screen.has_class("-editing")


@pytest.mark.long
async def test_escape_leaves_the_value_first_and_then_the_screen(tmp_path):
    service = a_review_context()
    async with on_stage(tmp_path) as stage:
        screen = await opened(stage, service, "max_tool_turns")
        await stage.pilot.press("enter", "9", "escape")
        assert not screen.has_class("-editing")
        await stage.pilot.press("escape")
        await stage.unasked()

    assert service.changes == []


@pytest.mark.long
async def test_a_click_edits_what_it_meets(tmp_path):
    async with on_stage(tmp_path) as stage:
        screen = await opened(stage, a_review_context())
        await stage.pilot.click("OptionList", offset=(6, 2))
        await stage.until(lambda: screen.has_class("-editing"))

        assert screen._edited.key == "agent.max_turn_end_retries"


@pytest.mark.long
async def test_settings_that_cannot_be_read_are_shown(tmp_path):
    service = a_review_context()
    service.fails = ConfigError("quorum.toml:1: this is not TOML")
    async with on_stage(tmp_path) as stage:
        stage.app.open_settings = lambda: service
        await stage.send("/config")
        await stage.shows("quorum.toml:1: this is not TOML")


async def test_a_key_and_a_value_set_it_in_the_persons_own_file_and_at_once(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.until(lambda: stage.app.chat.current.session)
        service = a_review_context()
        stage.app.open_settings = lambda: service
        await stage.send("/config review.mode read-only")
        await stage.until(lambda: service.changes)
        await stage.until(lambda: stage.agent.mode is Mode.READ_ONLY)

        assert service.changes == [("review.mode", "read-only", OWN)]
        await stage.send("/config providers.own.headers.X-Key value")
        await stage.until(lambda: "is secret" in stage.app.chat.refusal)
        await stage.send("/config max turns")
        await stage.until(lambda: isinstance(stage.app.screen, SettingsScreen))


@pytest.mark.parametrize("running", [False, True])
async def test_what_a_session_can_go_by_is_set_at_once_while_a_turn_runs_too(tmp_path, running):
    async with on_stage(tmp_path, hold()) as stage:
        await stage.until(lambda: stage.app.chat.current.session)
        scope, level = a_setting("agent.phase_scope", '"full"'), a_setting("agent.consensus_level", '"solo"')
        service = FakeSettings(scope, level)
        stage.app.open_settings = lambda: service
        if running:
            await stage.send("hello")
            await stage.until(lambda: stage.app.chat.turns.running)
        await stage.send("/config agent.phase_scope fast")
        await stage.until(lambda: stage.agent.plans.phase.scope is PhaseScope.FAST)
        await stage.send("/config agent.consensus_level ensemble")
        await stage.until(lambda: stage.agent.consensus.current.level is ConsensusLevel.ENSEMBLE)

        assert [key for key, _, _ in service.changes] == ["agent.phase_scope", "agent.consensus_level"]


def test_what_a_remote_client_sets_at_once_counts_at_once_here_too():
    assert {key for key in LiveSettings.KEYS if not is_immediate(key)} == {"models.decision"}


async def test_a_scope_is_chosen_by_its_name(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.until(lambda: stage.app.chat.current.session)
        await stage.send("/fast")
        await stage.until(lambda: stage.agent.plans.phase.scope is PhaseScope.FAST)
        await stage.send("/scope plan-only")
        await stage.until(lambda: stage.agent.plans.phase.scope is PhaseScope.PLAN_ONLY)

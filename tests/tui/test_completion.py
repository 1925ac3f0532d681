"""The menu of commands and files above the prompt."""

import asyncio

import pytest
from textual import events

from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.instructions.custom_command import CustomCommand
from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.mcp.offers import OfferedPrompt, OfferedResource, PromptParameter
from quorum.domain.review.mode import Mode
from quorum.tui.completion.completion import find_offers
from quorum.tui.completion.offers import Offers
from quorum.tui.keys.slash_commands import COMMANDS
from quorum.tui.screens.help import HelpScreen
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import FakeAgent, hold


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def holding(*files: str):
    def prepare(agent: FakeAgent) -> None:
        agent.paths = files

    return prepare


def rows(stage: Stage) -> list[str]:
    return [row.label for row in stage.prompt.menu._rows] if stage.prompt.menu.display else []


async def typed(stage: Stage, text: str) -> None:
    """Type it, and wait for the menu that belongs to it."""
    for letter in text:
        stage.hit(letter)
    await stage.until(lambda: stage.prompt.text.endswith(text))
    await stage.pilot.pause()
    await stage.until(
        lambda: not [each for each in stage.app.workers if each.group == "completion" and each.is_running]
    )
    await stage.pilot.pause()


async def test_a_slash_shows_commands_with_what_they_do_and_letters_narrow_them(tmp_path):
    async with on_stage(tmp_path) as stage:
        await typed(stage, "/")
        await stage.shows("/plan")
        assert len(rows(stage)) > 8
        await typed(stage, "exp")
        await stage.shows("Write the session to a file")

        assert rows(stage)[0] == "/export [FILE]"


@pytest.mark.long
async def test_enter_runs_the_command_that_is_chosen(tmp_path):
    async with on_stage(tmp_path) as stage:
        await typed(stage, "/hel")
        await stage.pilot.press("enter")
        await stage.until(lambda: isinstance(stage.app.screen, HelpScreen))

        assert stage.prompt.text == ""


async def test_enter_completes_a_command_that_needs_a_word_and_then_runs_it_with_the_word(tmp_path):
    async with on_stage(tmp_path) as stage:
        await typed(stage, "/mod")
        await stage.pilot.press("enter")
        assert stage.prompt.text == "/mode "
        assert rows(stage)[0] == "ask"
        await typed(stage, "quo")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.agent.mode is Mode.QUORUM)

        assert stage.prompt.text == ""
        assert stage.agent.prompts == []


@pytest.mark.parametrize("key", ["tab", "right"])
async def test_tab_and_right_complete_without_running(tmp_path, key):
    async with on_stage(tmp_path) as stage:
        await typed(stage, "/hel")
        await stage.pilot.press(key)

        assert stage.prompt.text.strip() == "/help"
        assert stage.app.screen is stage.app.chat


async def test_the_arrows_choose_and_go_round(tmp_path):
    async with on_stage(tmp_path) as stage:
        await typed(stage, "/mode ")
        await stage.pilot.press("up", "up", "down", "enter")
        await stage.until(lambda: stage.agent.mode is Mode.AUTO)


@pytest.mark.long
async def test_escape_closes_the_menu_keeps_the_text_and_stops_no_turn(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        await stage.send("go")
        await stage.until(lambda: stage.agent.reached.is_set())
        await typed(stage, "/mo")
        await stage.pilot.press("escape")
        assert rows(stage) == []
        assert stage.prompt.text == "/mo"
        assert stage.app.chat.turns.running
        await typed(stage, "d")
        assert rows(stage) == []
        await stage.pilot.press("tab")
        assert rows(stage)[0].startswith("/mode")
        await stage.pilot.press("escape", "escape")
        await stage.until(lambda: stage.agent.reports)


async def test_enter_sends_what_is_no_command_although_it_begins_with_a_slash(tmp_path):
    async with on_stage(tmp_path) as stage:
        await typed(stage, "/usr/lib is full")
        assert rows(stage) == []
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.agent.prompts == ["/usr/lib is full"])


async def test_a_whole_command_is_run_as_typed_although_others_fit_too(tmp_path):
    async with on_stage(tmp_path) as stage:
        await typed(stage, "/fork")
        await stage.pilot.press("enter")
        await stage.until(lambda: len(stage.agents) == 2)


async def test_what_a_command_takes_freely_is_only_described(tmp_path):
    async with on_stage(tmp_path) as stage:
        await typed(stage, "/compact the tests")
        await stage.shows("/compact [FOCUS]")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.agent.focuses == ["the tests"])


@pytest.mark.long
async def test_models_are_completed_and_one_that_nobody_lists_is_taken_as_typed(tmp_path):
    def prepare(agent: FakeAgent) -> None:
        agent.listed = {
            "fake": ("fake/model-1", "fake/model-2"),
            "down": ProviderError("no", kind=ProviderErrorKind.SERVER),
        }

    async with on_stage(tmp_path, prepare=prepare) as stage:
        await typed(stage, "/model ")
        assert rows(stage) == ["fake/model-1", "fake/model-2"]
        await typed(stage, "m2")
        await stage.pilot.press("down", "enter")
        await stage.until(lambda: stage.agent.model == "fake/model-2")
        await typed(stage, "/model fake/model")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.agent.model == "fake/model")


@pytest.mark.long
async def test_an_at_sign_finds_files_and_enter_puts_the_chosen_one_into_the_prompt(tmp_path):
    async with on_stage(tmp_path, prepare=holding("src/app.py", "src/core/engine.py")) as stage:
        await typed(stage, "look at @eng")
        assert rows(stage) == ["src/core/engine.py"]
        await stage.pilot.press("enter")
        assert stage.prompt.text == "look at @src/core/engine.py "
        assert stage.agent.used_files == ["src/core/engine.py"]
        await typed(stage, "now")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.agent.prompts == ["look at @src/core/engine.py now"])


async def test_a_whole_path_leaves_enter_alone(tmp_path):
    async with on_stage(tmp_path, prepare=holding("a.py", "aa.py")) as stage:
        await typed(stage, "read @a.py")
        assert rows(stage) == ["aa.py"]
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.agent.prompts == ["read @a.py"])


@pytest.mark.long
async def test_a_word_with_an_at_sign_that_is_no_file_is_sent(tmp_path):
    async with on_stage(tmp_path, prepare=holding("a.py")) as stage:
        await typed(stage, "ask @zoe")
        assert rows(stage) == []
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.agent.prompts == ["ask @zoe"])


@pytest.mark.long
async def test_a_folder_is_completed_with_its_slash_and_what_is_in_it_comes_next(tmp_path):
    async with on_stage(tmp_path, prepare=holding("src/", "src/app.py")) as stage:
        await typed(stage, "@sr")
        await stage.pilot.press("tab")
        await stage.pilot.pause()
        assert stage.prompt.text == "@src/"
        await stage.until(lambda: rows(stage) == ["src/app.py"])


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "mention"),
    [
        ("my notes.md", '@"my notes.md" '),
        ("two\nlines", '@"two\\nlines" '),
        ("caf\udce9.txt", '@"caf\\xe9.txt" '),
        ("日本語.md", "@日本語.md "),
        ("-rf", "@-rf "),
    ],
)
async def test_every_name_is_put_in_so_that_it_can_be_read_back(tmp_path, path, mention):
    async with on_stage(tmp_path, prepare=holding(path)) as stage:
        await typed(stage, "@")
        await stage.pilot.press("tab")

        assert stage.prompt.text == mention
        assert "\udce9" not in stage.text()


async def test_a_quote_begins_a_mention_in_which_blanks_are_typed(tmp_path):
    async with on_stage(tmp_path, prepare=holding("my notes.md", "other.md")) as stage:
        await typed(stage, '@"my no')
        await stage.pilot.press("tab")

        assert stage.prompt.text == '@"my notes.md" '


async def test_a_mention_is_completed_in_the_middle_of_a_text_too(tmp_path):
    async with on_stage(tmp_path, prepare=holding("src/app.py")) as stage:
        stage.prompt.replace_text("see  for more")
        stage.prompt.move_cursor((0, 4))
        for letter in "@app":
            stage.hit(letter)
        await stage.until(lambda: rows(stage) == ["src/app.py"])
        await stage.pilot.press("tab")

        assert stage.prompt.text == "see @src/app.py for more"


async def test_an_answer_that_comes_late_is_shown_for_what_is_typed_by_then(tmp_path):
    async with on_stage(tmp_path, prepare=holding("alpha.py", "beta.py")) as stage:
        stage.agent.may_find.clear()
        for letter in "@alp":
            stage.hit(letter)
        await stage.until(lambda: stage.prompt.text == "@alp")
        assert rows(stage) == []
        stage.agent.may_find.set()
        await stage.until(lambda: rows(stage) == ["alpha.py"])


async def test_typing_goes_on_while_files_are_looked_for(tmp_path):
    async with on_stage(tmp_path, prepare=holding("alpha.py")) as stage:
        stage.agent.may_find.clear()
        for letter in ("@", "a", " ", "b", "enter"):
            stage.hit(letter)
        await stage.until(lambda: stage.agent.prompts == ["@a b"])


@pytest.mark.long
async def test_a_prompt_from_the_history_opens_no_menu_so_that_the_arrows_go_on(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.send("first")
        await stage.until(lambda: stage.agent.reports)
        await stage.send("/cost now")  # no such thing: it comes back
        await stage.pilot.pause()
        await stage.pilot.press("ctrl+u")
        shown = []
        for key in ("up", "up"):
            await stage.pilot.press(key)
            shown.append(stage.prompt.text)

        assert shown == ["/cost now", "first"]


async def test_a_command_is_remembered_like_a_prompt(tmp_path):
    async with on_stage(tmp_path) as stage:
        await typed(stage, "/mode auto")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.agent.mode is Mode.AUTO)
        await stage.pilot.press("up")

        assert stage.prompt.text == "/mode auto"


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (40, 10)])
async def test_the_menu_stands_above_the_prompt_and_covers_nothing_of_it(tmp_path, columns, lines):
    async with on_stage(tmp_path, size=(columns, lines), prepare=holding("x/" * 60 + "a.py")) as stage:
        stage.prompt.replace_text("one\ntwo\n")
        await typed(stage, "@a")
        menu, prompt = stage.prompt.menu.region, stage.prompt.region

        assert menu.height == 1
        assert prompt.height == 3
        assert menu.bottom <= prompt.y
        assert prompt.bottom < lines
        assert "a.py" in stage.text()


@pytest.mark.long
async def test_a_click_takes_a_row(tmp_path):
    async with on_stage(tmp_path, prepare=holding("alpha.py", "alpine.py")) as stage:
        await typed(stage, "@alp")
        await stage.pilot.click(stage.prompt.menu, offset=(4, 1))

        assert stage.prompt.text == "@alpine.py "


@pytest.mark.long
async def test_names_of_files_draw_nothing_but_themselves(tmp_path):
    async with on_stage(tmp_path, prepare=holding("[red]x\x1b[2J\u202e.py")) as stage:
        await typed(stage, "@x")

        await stage.shows("[red]x␛[2J⟨U+202E⟩.py")


async def test_a_dropped_file_becomes_a_mention_where_it_lies_in_the_project(tmp_path):
    (tmp_path / "my notes.md").write_text("")
    (tmp_path / "b.py").write_text("")
    async with on_stage(tmp_path) as stage:
        for pasted, mention in (
            (f"'{tmp_path}/my notes.md'", '@"my notes.md" '),
            (f"{tmp_path}/my\\ notes.md ", '@"my notes.md" '),
            (f"file://{tmp_path}/my%20notes.md", '@"my notes.md" '),
            (f"{tmp_path}/b.py '{tmp_path}/my notes.md'", '@b.py @"my notes.md" '),
            ("./b.py", "@b.py "),
            ("b.py", "b.py"),
            ("/etc/hostname", "/etc/hostname"),
            (f"{tmp_path}/gone.py", f"{tmp_path}/gone.py"),
        ):
            stage.prompt.replace_text("")
            stage.app.post_message(events.Paste(pasted))
            await stage.until(lambda text=mention: stage.prompt.text == text)


async def test_a_path_pasted_into_a_command_stays_a_path(tmp_path):
    (tmp_path / "b.py").write_text("")
    async with on_stage(tmp_path) as stage:
        stage.prompt.replace_text("/export ")
        stage.app.post_message(events.Paste(f"{tmp_path}/b.py"))
        await stage.until(lambda: stage.prompt.text == f"/export {tmp_path}/b.py")


async def test_the_file_of_an_export_is_completed_as_a_path(tmp_path):
    async with on_stage(tmp_path, prepare=holding("out/old notes.md")) as stage:
        await typed(stage, "/export old")
        await stage.pilot.press("tab")

        assert stage.prompt.text == "/export out/old notes.md"


@pytest.mark.parametrize("text", ["!git log @{u}", "plain", "a/b", "/mode\n", "me@example.org"])
def test_nothing_is_offered_for_what_is_neither_command_nor_mention(text):
    assert find_offers(text, text.rpartition("\n")[2]) is None


async def test_the_menu_survives_keys_that_all_come_at_once(tmp_path):
    async with on_stage(tmp_path, prepare=holding("a.py")) as stage:
        for key in ("/", "m", "o", "d", "tab", "r", "e", "a", "tab", "enter", "@", "escape", "x"):
            stage.hit(key)
        await stage.until(lambda: stage.agent.mode is Mode.READ_ONLY)
        await stage.until(lambda: stage.prompt.text == "@x")
        await asyncio.sleep(0)


async def test_lines_may_be_typed_behind_a_path_and_are_kept_when_it_is_completed(tmp_path):
    async with on_stage(tmp_path, prepare=holding("src/engine.py", "src/")) as stage:
        await typed(stage, "see @eng:10-40")
        assert rows(stage) == ["src/engine.py:10-40"]
        await stage.pilot.press("tab")

        assert stage.prompt.text == "see @src/engine.py:10-40 "


@pytest.mark.long
async def test_behind_a_whole_path_the_menu_says_how_lines_are_named_and_enter_sends(tmp_path):
    async with on_stage(tmp_path, prepare=holding("a.py", "b/a.py")) as stage:
        await typed(stage, "@a.py:1")
        await stage.shows(":10-40")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.agent.prompts == ["@a.py:1"])


def with_resources(agent: FakeAgent) -> None:
    agent.paths = ("plain.py",)
    agent.tool_servers.listed_resources = (
        OfferedResource(server="plain", uri="issue://", description="An issue", is_template=True),
        OfferedResource(server="plain", uri="notes://one", description="First"),
    )


@pytest.mark.long
async def test_resources_of_servers_stand_behind_the_files_that_fit(tmp_path):
    async with on_stage(tmp_path, prepare=with_resources) as stage:
        await typed(stage, "see @pla")
        assert rows(stage) == ["plain.py", "plain:issue://…", "plain:notes://one"]

        await typed(stage, "in:no")
        assert rows(stage) == ["plain:notes://one"]
        await stage.pilot.press("tab")

        assert stage.prompt.text == "see @plain:notes://one "


async def test_a_template_is_taken_up_to_its_gap(tmp_path):
    async with on_stage(tmp_path, prepare=with_resources) as stage:
        await typed(stage, "@plain:i")
        await stage.pilot.press("tab")

        assert stage.prompt.text == "@plain:issue://"


def with_prompts(agent: FakeAgent) -> None:
    servers = agent.tool_servers
    servers.listed_prompts = (
        OfferedPrompt(server="plain", name="review", parameters=(PromptParameter("path", is_required=True),)),
    )
    servers.listed_resources = (
        OfferedResource(
            server="plain", uri="repo://", is_template=True, template="repo://{owner}/{name}", description="A"
        ),
    )
    servers.values = ("src/a.py", "src/b c.py", "tests")
    agent.custom_commands.there = (a_command_of_a_server(),)
    agent.custom_commands.known = (("mcp__plain__review", a_command_of_a_server()),)


def a_command_of_a_server() -> CustomCommand:
    return CustomCommand(
        name="mcp__plain__review",
        scope=InstructionScope.USER,
        file="MCP server plain, review",
        label="MCP server plain",
        digest="",
        argument_hint="path=…",
    )


async def test_the_arguments_of_a_prompt_are_completed_by_its_server(tmp_path):
    async with on_stage(tmp_path, prepare=with_prompts) as stage:
        await typed(stage, "/mcp__plain__review path=sr")
        assert rows(stage) == ["src/a.py", "src/b c.py"]
        await stage.pilot.press("down", "tab")

        assert stage.prompt.text == "/mcp__plain__review path='src/b c.py' "


@pytest.mark.long
async def test_until_the_server_answers_the_menu_says_what_the_prompt_takes_and_enter_sends(tmp_path):
    async with on_stage(tmp_path, prepare=with_prompts) as stage:
        stage.agent.tool_servers.may_complete.clear()
        for letter in "/mcp__plain__review sr":
            stage.hit(letter)
        await stage.until(lambda: stage.agent.tool_servers.completed)
        assert [query.value for query in stage.agent.tool_servers.completed][-1] == "sr"
        assert rows(stage) == []
        await stage.shows("path=…")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.agent.prompts == ["/mcp__plain__review sr"])


async def test_the_gaps_of_a_template_are_completed_in_a_mention(tmp_path):
    async with on_stage(tmp_path, prepare=with_prompts) as stage:
        await typed(stage, "see @plain:repo://te")
        assert rows(stage) == ["tests"]
        await stage.pilot.press("tab")

        assert stage.prompt.text == "see @plain:repo://tests/"


async def test_what_is_found_once_the_app_has_begun_to_end_is_dropped(tmp_path):
    async with on_stage(tmp_path, prepare=with_prompts) as stage:
        servers = stage.agent.tool_servers
        servers.may_complete.clear()
        for letter in "see @plain:repo://te":
            stage.hit(letter)
        await stage.until(lambda: servers.completed)
        worker = next(each for each in stage.app.workers if each.group == "completion")
        await stage.prompt.menu.remove()
        servers.may_complete.set()

        await worker.wait()


@pytest.mark.parametrize(
    "command", [command for command in COMMANDS if command.takes], ids=lambda each: each.name
)
def test_every_word_that_a_command_takes_is_offered_with_what_it_means(command):
    offers = find_offers(f"/{command.name} ", f"/{command.name} ")

    assert isinstance(offers, Offers)
    assert [row.insert for row in offers.rows] == list(command.takes[1])
    assert all(row.does for row in offers.rows)

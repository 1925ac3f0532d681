import asyncio

import pytest
from textual.widgets import OptionList

from quorum.domain.conversation.effort import Effort
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.tui.keys.choices import EFFORTS
from quorum.tui.keys.slash_commands import find_action, list_actions
from quorum.tui.screens.model_picker import (
    Catalogue,
    Heading,
    ModelOffer,
    ModelPicker,
    ModelRemark,
    find_best_row,
)
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import a_command, a_request, hold, review, say, wait_for_retry

CLAUDE = ("anthropic/claude-opus-5", "anthropic/claude-sonnet-5-5", "anthropic/claude-haiku-5")
GPT = ("openai/gpt-5.4", "openai/gpt-5.4-mini")


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def no_key() -> ProviderError:
    return ProviderError("provider openai has no key: set OPENAI_API_KEY", kind=ProviderErrorKind.CONFIGURATION)


async def opened(stage: Stage, **listed: object) -> ModelPicker:
    if listed:
        stage.agent.listed = listed
    await stage.send("/model")
    await stage.until(lambda: isinstance(stage.app.screen, ModelPicker) and stage.app.screen.is_mounted)
    return stage.app.screen


async def marked(stage: Stage, model: str) -> None:
    await stage.until(lambda: stage.app.screen._get_marked() == model)


# -- the catalogue


def a_catalogue() -> Catalogue:
    catalogue = Catalogue(("openai", "anthropic"), CLAUDE[1])
    catalogue.add_models("anthropic", CLAUDE)
    catalogue.add_models("openai", GPT)
    return catalogue


def offered(rows) -> list[str]:
    return [row.model for row in rows if isinstance(row, ModelOffer)]


def test_models_stand_below_their_provider_and_the_current_ones_come_first():
    rows = a_catalogue().list_rows("")

    assert [row.provider for row in rows if isinstance(row, Heading)] == ["anthropic", "openai"]
    assert offered(rows) == [*CLAUDE, *GPT]
    assert rows[find_best_row(rows, "", CLAUDE[1])].model == CLAUDE[1]


def test_what_is_typed_filters_and_what_fits_best_is_marked():
    catalogue = a_catalogue()

    rows = catalogue.list_rows("snt5")

    assert offered(rows) == [CLAUDE[1]]
    assert offered(catalogue.list_rows("gpt mini")) == [GPT[1]]
    rows = catalogue.list_rows("mini")
    assert rows[find_best_row(rows, "mini", CLAUDE[1])].model == GPT[1]


def test_a_provider_that_fails_is_one_line_and_the_current_model_is_there_all_the_same():
    catalogue = Catalogue(("anthropic", "openai"), "openai/own")
    catalogue.add_failure("openai", "no key")

    assert catalogue.list_rows("") == [
        Heading("openai"),
        ModelOffer("openai/own"),
        ModelRemark("no key"),
        Heading("anthropic"),
        ModelRemark("asking…"),
    ]


@pytest.mark.parametrize(
    ("typed", "chosen"),
    [
        ("openai/gpt-6", "openai/gpt-6"),
        ("openai/gpt-5.4", "openai/gpt-5.4"),
        ("anthropic/claude-son", CLAUDE[1]),
        ("else/where", "else/where"),
        ("nothing of the kind", None),
    ],
)
def test_a_full_name_that_nobody_lists_can_be_taken_as_typed(typed, chosen):
    rows = a_catalogue().list_rows(typed)

    place = find_best_row(rows, typed, CLAUDE[1])

    assert (rows[place].model if place is not None else None) == chosen


def test_a_provider_may_list_a_model_twice_and_names_of_any_kind():
    catalogue = Catalogue(("odd",), "odd/[red]x[/red]")
    catalogue.add_models("odd", ("odd/a", "odd/a", "odd/[red]x[/red]"))

    assert offered(catalogue.list_rows("")) == ["odd/a", "odd/[red]x[/red]"]


def test_matching_is_bounded_however_often_the_letters_occur():
    name = "odd/" + "a-b" * 60
    catalogue = Catalogue(("odd",), name)

    offers = offered(catalogue.list_rows("aaaaaaaaaaaabbbbbbbbbbbb"))  # looking at every way would not end

    assert offers == [name]


def test_the_places_that_were_hit_are_shown_and_blanks_do_not_count():
    catalogue = Catalogue(("anthropic",), "anthropic/claude-sonnet-5")

    offer = catalogue.list_rows("Son 5")[1]

    assert isinstance(offer, ModelOffer)
    assert offer.hits == (17, 18, 19, 24)


# -- the screen


@pytest.mark.long
async def test_a_model_is_picked_and_the_header_shows_it(tmp_path):
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        await opened(stage, fake=("fake/model-1", "fake/model-2"), anthropic=CLAUDE)
        await stage.shows("claude-opus-5")
        await stage.pilot.press(*"opus")
        await marked(stage, CLAUDE[0])
        await stage.pilot.press("enter")
        await stage.unasked()
        await stage.shows("model: anthropic/claude-opus-5")

        assert stage.agent.model == CLAUDE[0]
        assert "anthropic/claude-opus-5" in stage.text().splitlines()[-1]


@pytest.mark.long
async def test_the_current_model_is_marked_and_the_arrows_move_from_there(tmp_path):
    async with on_stage(tmp_path) as stage:
        await opened(stage, fake=("fake/a", "fake/model-1", "fake/z"))
        await stage.shows("● model-1")
        await marked(stage, "fake/model-1")
        await stage.pilot.press("down", "enter")
        await stage.unasked()

        assert stage.agent.model == "fake/z"


@pytest.mark.long
@pytest.mark.parametrize(("model", "is_said"), [("offline/offline", True), ("fake/model-1", False)])
async def test_without_a_model_the_way_to_a_local_server_is_said(tmp_path, model, is_said):
    async with on_stage(tmp_path, size=(80, 24), model=model) as stage:
        await opened(stage, offline=("offline/offline",), fake=("fake/model-1",))
        await stage.shows("enter chooses")
        if is_said:
            await stage.shows("for a server of models on this machine, start it, then /new")
        else:
            assert "on this machine" not in stage.text()


async def test_escape_leaves_the_model_as_it_is(tmp_path):
    async with on_stage(tmp_path) as stage:
        await opened(stage, fake=("fake/a", "fake/model-1"))
        await stage.pilot.press("up", "escape")
        await stage.unasked()

        assert stage.agent.model == "fake/model-1"


async def test_providers_are_shown_as_they_answer_and_a_failure_is_shown_whole_without_markup(tmp_path):
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        stage.agent.may_list.clear()
        failure = ProviderError(
            "[bold]no\x1b[31m key[/bold]" + " and more" * 20, kind=ProviderErrorKind.CONNECTION
        )
        await opened(stage, fake=("fake/model-1", "fake/[red]x"), broken=failure)
        await stage.shows("asking…")
        stage.agent.may_list.set()
        await stage.shows("[red]x")
        await stage.shows("[bold]no␛[31m key[/bold] and more")

        assert stage.text().count("more") == 20


@pytest.mark.long
async def test_what_arrives_later_does_not_move_the_mark_away_from_where_the_person_put_it(tmp_path):
    async with on_stage(tmp_path) as stage:
        picker = await opened(stage, fake=("fake/model-1", "fake/b", "fake/c"))
        await marked(stage, "fake/model-1")
        await stage.pilot.press("down", "down")
        picker._catalogue.add_models("fake", ("fake/0", "fake/1", "fake/model-1", "fake/b", "fake/c"))
        picker._show()

        assert picker._get_marked() == "fake/c"


@pytest.mark.long
async def test_a_full_name_that_is_not_listed_is_taken_as_typed(tmp_path):
    async with on_stage(tmp_path) as stage:
        await opened(stage, fake=("fake/model-1",))
        await stage.pilot.press(*"else/where-7")
        await stage.shows("else/where-7  as typed")
        await stage.pilot.press("enter")
        await stage.unasked()

        assert stage.agent.model == "else/where-7"


@pytest.mark.long
async def test_a_model_that_cannot_be_had_is_shown_and_the_picker_stays(tmp_path):
    async with on_stage(tmp_path) as stage:
        stage.agent.refused = {"fake/b"}
        await opened(stage, fake=("fake/model-1", "fake/b"))
        await marked(stage, "fake/model-1")
        await stage.pilot.press("down", "enter")
        await stage.shows("fake/b cannot be had")

        assert stage.agent.model == "fake/model-1"
        assert isinstance(stage.app.screen, ModelPicker)


@pytest.mark.long
async def test_where_nothing_fits_enter_says_so(tmp_path):
    async with on_stage(tmp_path) as stage:
        await opened(stage, fake=("fake/model-1",))
        await stage.pilot.press(*"zzz", "enter")
        await stage.shows("no model matches; type the full name")

        assert stage.agent.model == "fake/model-1"


@pytest.mark.long
async def test_a_click_picks(tmp_path):
    async with on_stage(tmp_path) as stage:
        picker = await opened(stage, fake=("fake/model-1", "fake/b"))
        await stage.shows("    b")
        await stage.pilot.click(picker.query_one(OptionList), offset=(4, 2))
        await stage.unasked()

        assert stage.agent.model == "fake/b"


@pytest.mark.long
async def test_it_opens_while_a_turn_runs_and_while_a_retry_waits(tmp_path):
    async with on_stage(tmp_path, wait_for_retry(then="from the other one"), hold()) as stage:
        await stage.send("go")
        await stage.until(lambda: stage.agent.reached.is_set())
        await opened(stage, fake=("fake/model-1", "fake/b"))
        await marked(stage, "fake/model-1")
        await stage.pilot.press("down", "enter")
        await stage.shows("from the other one")

        assert stage.agent.prompts == ["go"]


@pytest.mark.long
async def test_a_question_that_comes_up_meanwhile_is_answered_first_and_both_close(tmp_path):
    go = asyncio.Event()

    async def scene(agent) -> object:
        await go.wait()
        return await review(a_request(a_command("make")))(agent)

    async with on_stage(tmp_path, scene) as stage:
        await stage.send("go")
        picker = await opened(stage, fake=("fake/model-1", "fake/b"))
        go.set()
        await stage.asked()
        picker._choose("fake/b")
        await stage.until(lambda: stage.agent.model == "fake/b")
        await stage.pilot.press("escape")
        await stage.unasked()


@pytest.mark.long
async def test_a_model_is_set_by_its_name_without_a_picker(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        await stage.send("go")
        await stage.send("/model anthropic/claude-opus-5")
        await stage.until(lambda: stage.agent.model == "anthropic/claude-opus-5")
        await stage.shows("model: anthropic/claude-opus-5")

        assert stage.app.screen is stage.app.chat
        assert stage.agent.prompts == ["go"]


async def test_a_name_that_cannot_be_had_is_shown_in_the_transcript_in_full(tmp_path):
    async with on_stage(tmp_path) as stage:
        stage.agent.refused = {"fake/[b]"}
        await stage.send("/model fake/[b]")
        await stage.shows("fake/[b] cannot be had")
        await stage.shows("the model is still fake/model-1")


async def test_keys_typed_right_after_the_command_break_nothing(tmp_path):
    async with on_stage(tmp_path, say("fine")) as stage:
        stage.prompt.replace_text("/model")
        for key in ("enter", "down", "enter", "escape", "escape"):
            stage.hit(key)
        await stage.pilot.pause()  # else the last of them would be pressed over what is typed next
        await stage.unasked()
        await stage.send("go")
        await stage.shows("fine")


async def test_before_there_is_an_agent_the_command_says_so(tmp_path):
    async def compose(person, observer, choice, folder):
        await asyncio.Event().wait()

    async with on_stage(tmp_path, compose=compose, ready=False) as stage:
        await stage.send("/model")
        await stage.shows("still starting; choose the model in a moment")


def test_the_commands_are_in_the_palette_and_a_name_goes_through_whole():
    titles = [title for title, _, _ in list_actions()]

    assert {"/model", "/retry", "/cost"} <= set(titles)
    assert find_action("/model a/b'c (d)") == 'choose_model("a/b\'c (d)")'
    assert find_action("/model") == "choose_model"


@pytest.mark.parametrize("typed", ["/quit", "/exit", "/q"])
def test_leaving_goes_by_the_names_that_people_try(typed):
    assert find_action(typed) == "app.quit"


# -- the reasoning effort


TAKEN = (Effort.DEFAULT, Effort.LOW, Effort.HIGH)


def test_the_words_of_the_app_are_the_efforts_of_the_domain():
    assert tuple(each.value for each in Effort) == EFFORTS


@pytest.mark.long
async def test_the_arrows_choose_the_effort_and_the_header_shows_it_beside_the_model(tmp_path):
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        stage.agent.efforts = {"fake/model-1": TAKEN}
        await opened(stage, fake=("fake/model-1", "fake/dumb"))
        await stage.shows("[default] low  high")
        await stage.pilot.press("right", "right", "right", "left", "right")
        await stage.shows("default  low [high]")
        await stage.pilot.press("enter")
        await stage.unasked()
        await stage.shows("model: fake/model-1 (high)")

        assert stage.agent.effort is Effort.HIGH
        assert any("model-1 (high)" in line and "model:" not in line for line in stage.text().splitlines())


@pytest.mark.long
async def test_a_model_without_efforts_says_so_and_the_arrows_change_nothing(tmp_path):
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        stage.agent.efforts = {"fake/model-1": TAKEN}
        await opened(stage, fake=("fake/model-1", "fake/dumb"))
        await marked(stage, "fake/model-1")
        await stage.pilot.press("down", "right")
        await stage.shows("takes no reasoning effort")
        await stage.pilot.press("enter")
        await stage.unasked()

        assert (stage.agent.model, stage.agent.effort) == ("fake/dumb", Effort.DEFAULT)


@pytest.mark.parametrize(
    ("typed", "model", "effort"),
    [
        ("/model high", "fake/model-1", Effort.HIGH),
        ("/model fake/b low", "fake/b", Effort.LOW),
        ("/model fake/b", "fake/b", Effort.DEFAULT),
    ],
)
async def test_model_and_effort_can_be_typed(tmp_path, typed, model, effort):
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        stage.agent.efforts = {"fake/model-1": TAKEN, "fake/b": TAKEN}
        await stage.send(typed)
        await stage.until(lambda: (stage.agent.model, stage.agent.effort) == (model, effort))


async def test_a_word_that_is_no_effort_is_refused_with_those_there_are(tmp_path):
    async with on_stage(tmp_path, size=(100, 24)) as stage:
        await stage.send("/model fast")
        await stage.shows("there is no effort fast; there are default, none")
        await stage.shows("a model is PROVIDER/MODEL: /model alone lists them")

        assert stage.agent.effort is Effort.DEFAULT

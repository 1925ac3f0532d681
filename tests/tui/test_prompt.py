import json
import stat

import pytest
from textual import events

from quorum.tui.prompt_box.history import History, locate_history
from quorum.tui.prompt_box.paste import Folds, clean_paste
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import hold


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def paste(stage: Stage, text: str) -> None:
    stage.app.post_message(events.Paste(text))
    await stage.pilot.pause()


@pytest.mark.long(after=1)
@pytest.mark.parametrize("key", ["ctrl+j", "shift+enter", "alt+enter"])
async def test_these_keys_begin_a_new_line_and_enter_sends_all_of_them(tmp_path, key):
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press("a", key, "b", "enter")
        await stage.until(lambda: stage.agent.prompts)

        assert stage.agent.prompts == ["a\nb"]


async def test_a_backslash_before_enter_begins_a_new_line(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press("a", "backslash", "enter", "b")

        assert stage.prompt.text == "a\nb"


async def test_alt_enter_of_a_plain_terminal_is_a_new_line_too():
    from textual._xterm_parser import XTermParser

    import quorum.tui.prompt_box.prompt  # noqa: F401 - registers the sequence

    keys = [event.key for event in XTermParser().feed("\x1b\r") if isinstance(event, events.Key)]

    assert keys == ["ctrl+j"]


async def test_nothing_but_blanks_is_not_sent(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press("space", "enter")

        assert stage.agent.prompts == []


async def test_empty_lines_at_the_end_are_not_sent(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press(*"hi", "ctrl+j", *"ho", "ctrl+j", "ctrl+j", "enter")
        await stage.until(lambda: stage.agent.prompts == ["hi\nho"])


async def test_a_slash_right_after_a_prompt_that_was_undone_begins_a_command_in_its_place(tmp_path):
    async with on_stage(tmp_path) as stage:
        stage.prompt.give_back("never sent")
        await stage.pilot.press("/")
        assert stage.prompt.text == "never sent/"

        stage.prompt.replace_text("")
        stage.prompt.give_back("change it", yields=True)
        await stage.pilot.press("/")
        assert stage.prompt.text == "/"
        await stage.shows("/plan [PROMPT")
        await stage.pilot.press("ctrl+underscore", "ctrl+underscore")
        assert stage.prompt.text == "change it"
        await stage.pilot.press("space", "/")
        assert stage.prompt.text == "change it /"


async def test_the_prompt_grows_to_ten_lines_and_no_further(tmp_path):
    async with on_stage(tmp_path, size=(80, 40)) as stage:
        heights = []
        for lines in (1, 4, 25):
            stage.prompt.replace_text("\n".join("x" * lines))
            await stage.pilot.pause()
            heights.append(stage.prompt.size.height)

    assert heights == [1, 4, 10]


@pytest.mark.long
async def test_up_brings_back_earlier_prompts_and_down_the_draft(tmp_path):
    async with on_stage(tmp_path) as stage:
        for prompt in ("first", "second"):
            await stage.send(prompt)
        await stage.until(lambda: len(stage.agent.reports) == 2)
        shown = []
        for key in ("d", "up", "up", "up", "down", "down", "down"):
            await stage.pilot.press(key)
            shown.append(stage.prompt.text)

    assert shown == ["d", "second", "first", "first", "second", "d", "d"]


@pytest.mark.long
async def test_up_within_several_lines_only_moves_the_cursor(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.send("earlier")
        await stage.until(lambda: stage.agent.reports)
        stage.prompt.replace_text("one\ntwo")
        await stage.pilot.press("up")
        assert stage.prompt.text == "one\ntwo"
        await stage.pilot.press("up")
        assert stage.prompt.text == "earlier"


@pytest.mark.long
async def test_the_history_of_a_project_outlives_the_app(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.send("remember me")
        await stage.until(lambda: stage.agent.reports)

    async with on_stage(tmp_path) as stage:
        await stage.pilot.press("up")

        assert stage.prompt.text == "remember me"


@pytest.mark.long
async def test_a_history_that_cannot_be_written_is_shown_and_the_prompt_is_sent_all_the_same(tmp_path):
    (tmp_path / "state").write_text("not a folder")
    async with on_stage(tmp_path) as stage:
        await stage.send("hello")
        await stage.shows("could not be added to the history")
        await stage.until(lambda: stage.agent.reports)

        assert stage.agent.prompts == ["hello"]


@pytest.mark.long
async def test_a_long_paste_is_folded_and_sent_in_full(tmp_path):
    pasted = "\n".join(f"line {n}" for n in range(120))
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press(*"see ")
        await paste(stage, pasted)
        assert stage.prompt.text == "see [pasted 120 lines #1]"
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.agent.prompts)

        assert stage.agent.prompts == ["see " + pasted]


@pytest.mark.long(after=1)
@pytest.mark.parametrize("image", ["", "[image my shot.png 40×30]"])
async def test_backspace_deletes_all_of_what_stands_for_a_paste_or_an_image(tmp_path, image):
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press(*"see ")
        if image:
            stage.prompt.insert(image)
        else:
            await paste(stage, "line\n" * 120)
        await stage.pilot.press("space", "backspace", "backspace")
        assert stage.prompt.text == "see "
        await stage.pilot.press("backspace")

        assert stage.prompt.text == "see"


async def test_a_short_paste_stands_as_it_is_and_is_not_sent_by_its_line_ends(tmp_path):
    async with on_stage(tmp_path) as stage:
        await paste(stage, "a\r\nb\r")

        assert stage.prompt.text == "a\nb\n"
        assert stage.agent.prompts == []


async def test_control_characters_in_a_paste_become_visible_text(tmp_path):
    async with on_stage(tmp_path) as stage:
        await paste(stage, "x\x1b[2Jy\x07\u202ez\tw")
        text = stage.prompt.text

    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "\t" in text


@pytest.mark.long
async def test_undo_brings_back_what_was_deleted(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press(*"hello", "ctrl+u")
        assert stage.prompt.text == ""
        await stage.pilot.press("ctrl+underscore")
        assert stage.prompt.text == "hello"


@pytest.mark.long
async def test_what_is_typed_during_a_turn_stays_when_the_turn_ends(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        await stage.send("go")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.pilot.press(*"draft", "escape")
        await stage.until(lambda: stage.agent.reports)

        assert stage.prompt.text == "draft"


def test_a_name_of_a_paste_inside_another_paste_is_left_alone():
    folds = Folds()
    inner = "[pasted 11 lines #2]\n" * 11
    first, second = folds.fold(inner), folds.fold("\n" * 10)

    assert first == "[pasted 12 lines #1]"
    assert folds.expand(f"{first}|{second}") == inner + "|" + "\n" * 10


def test_one_long_line_is_folded_by_its_size():
    assert Folds().fold("x" * 2_001) == "[pasted 2.0 kB #1]"
    assert Folds().fold("x" * 2_000) == "x" * 2_000


def test_harmless_keeps_ordinary_text_and_tabs():
    assert clean_paste("é\t日本\r\nb") == "é\t日本\nb"


def test_the_history_file_is_only_for_its_owner_and_holds_one_prompt_a_line(tmp_path):
    path = locate_history(tmp_path)
    history = History(path)
    history.add("one\ntwo")
    history.add("one\ntwo")
    history.add("three")

    assert [json.loads(line) for line in path.read_text().splitlines()] == ["one\ntwo", "three"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_secret_in_a_prompt_is_remembered_here_and_not_in_the_file(tmp_path):
    shaped = "ghp" + "_a1B2c3D4e5F6g7H8i9J0k1L2m3"
    history = History(tmp_path / "h.jsonl")

    history.add(f"push with {shaped}")
    history.hide = lambda text: text.replace("swordfish", "[secret:PASS]")
    history.add("try swordfish")

    assert history.entries == [f"push with {shaped}", "try swordfish"]
    assert History(tmp_path / "h.jsonl").entries == ["push with [secret:github-token]", "try [secret:PASS]"]


def test_damaged_lines_are_passed_over_and_a_torn_end_spoils_nothing_new(tmp_path):
    path = tmp_path / "h.jsonl"
    path.write_bytes(b'"good"\n\xff\xfe\n{"a": 1}\n\n"torn')

    history = History(path)
    history.add("new")

    assert History(path).entries == ["good", "new"]


def test_only_the_end_of_a_very_long_history_is_read(tmp_path):
    path = tmp_path / "h.jsonl"
    path.write_text("".join(f'"prompt {n}"\n' for n in range(100_000)))

    entries = History(path).entries

    assert len(entries) == 1_000
    assert entries[-1] == "prompt 99999"


def test_an_enormous_prompt_is_remembered_but_not_written(tmp_path):
    path = tmp_path / "h.jsonl"
    history = History(path)
    history.add("x" * 100_001)

    assert history.entries == ["x" * 100_001]
    assert not path.exists()


async def test_keys_that_arrive_together_act_in_the_order_they_were_pressed(tmp_path):
    async with on_stage(tmp_path) as stage:
        for key in (*"gone", "ctrl+u", *"kept", "backspace", "home", "x", "ctrl+e", "!", "ctrl+a", "y"):
            stage.hit(key)
        await stage.until(lambda: stage.prompt.text == "yxkep!")


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    ("keys", "left"),
    [
        (("ctrl+u",), "one\n"),
        (("ctrl+w",), "one\ntwo "),
        (("ctrl+a", "ctrl+k"), "one\n"),
        (("ctrl+a", "x", "ctrl+e", "y"), "one\nxtwo threey"),
        (("home", "x", "end", "y"), "one\nxtwo threey"),
        (("up", "end", "x"), "onex\ntwo three"),
    ],
)
async def test_the_keys_of_shells_edit_a_line_of_several(tmp_path, keys, left):
    async with on_stage(tmp_path) as stage:
        stage.prompt.replace_text("one\ntwo three")
        await stage.pilot.press(*keys)

        assert stage.prompt.text == left


@pytest.mark.long
async def test_a_prompt_that_was_cleared_or_replaced_comes_back_by_undo(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press(*"draft", "ctrl+c")
        assert stage.prompt.text == ""
        await stage.pilot.press("ctrl+underscore")

        assert stage.prompt.text == "draft"


@pytest.mark.long
async def test_what_was_never_sent_is_the_newest_of_the_history_the_next_time(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press(*"unsent")

    async with on_stage(tmp_path) as stage:
        await stage.pilot.press("up")

        assert stage.prompt.text == "unsent"


@pytest.mark.parametrize("word", ["exit", "quit", ":q"])
async def test_a_word_that_leaves_shells_and_editors_leaves_and_is_not_sent(tmp_path, word):
    async with on_stage(tmp_path) as stage:
        await stage.send(word)
        await stage.until(lambda: stage.app.return_code == 0)

    assert stage.agent.prompts == []


@pytest.mark.long
async def test_while_a_turn_runs_such_a_word_asks_for_a_second_key(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        await stage.send("go")
        await stage.shows("esc interrupts")
        await stage.send("exit")
        await stage.shows("a turn is running; ctrl+d again stops it and quits")
        assert stage.agent.prompts == ["go"]


async def test_what_the_person_types_is_their_own_request_and_what_is_pasted_into_it_is_not(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press("a", "enter")
        await stage.until(lambda: stage.agent.prompts == ["a"])
        await paste(stage, "delete b")
        await stage.pilot.press("c", "enter")
        await stage.until(lambda: len(stage.agent.prompts) == 2)

        assert stage.agent.typed_prompts == ["a"]


@pytest.mark.long
async def test_what_is_put_into_the_prompt_is_no_request_of_the_person(tmp_path):
    async with on_stage(tmp_path) as stage:
        stage.prompt.replace_text("delete b")
        await stage.pilot.press("c", "enter")
        await stage.until(lambda: stage.agent.prompts)
        await stage.pilot.press("d", "enter")
        await stage.until(lambda: len(stage.agent.prompts) == 2)

        assert stage.agent.typed_prompts == ["d"]

"""Images in the prompt: mentioned, dropped, pasted or named, each stands there as a label."""

import pytest
from textual import events

from quorum.tui.mentioned_attachments import append_labels, find_dropped_attachment, find_mentioned_attachments
from quorum.tui.prompt_box.paste import Folds
from tests.support.app_stage import on_stage
from tests.support.papers import pdf
from tests.support.pictures import png


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def shot(tmp_path):
    (tmp_path / "my shot.png").write_bytes(png())
    (tmp_path / "shot.png").write_bytes(png())
    return tmp_path / "shot.png"


async def drop(stage, text):
    stage.app.post_message(events.Paste(text))
    await stage.pilot.pause()


@pytest.mark.long
async def test_the_command_puts_a_label_into_the_prompt_which_is_sent_with_it(tmp_path, shot):
    async with on_stage(tmp_path) as stage:
        await stage.send("/image shot.png")
        await stage.until(lambda: stage.prompt.text == "[image shot.png 4×3] ")
        await stage.pilot.press("h", "i", "enter")
        await stage.until(lambda: stage.agent.prompts)
        await stage.shows("[image shot.png 4×3] hi")

        assert stage.agent.prompts == ["[image shot.png 4×3] hi"]


@pytest.mark.long(after=1)
@pytest.mark.parametrize("key_or_command", ["alt+v", "/image"])
async def test_the_clipboards_image_is_attached_by_key_and_command(tmp_path, key_or_command):
    async with on_stage(tmp_path) as stage:
        if key_or_command.startswith("/"):
            await stage.send(key_or_command)
        else:
            await stage.pilot.press(key_or_command)

        await stage.until(lambda: stage.prompt.text == "[image clipboard.png 4×3] ")


async def test_a_file_dropped_into_the_prompt_is_attached_where_the_cursor_is(tmp_path, shot):
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press("a", "space")
        await drop(stage, f"'{tmp_path}/my shot.png' ")
        await stage.until(lambda: "[image" in stage.prompt.text)

        assert stage.prompt.text == "a [image my shot.png 4×3] "
        assert stage.agent.attached == [f"{tmp_path}/my shot.png"]


async def test_a_dropped_file_that_is_no_image_is_pasted_as_text_and_said(tmp_path, shot):
    async with on_stage(tmp_path) as stage:
        stage.agent.refused.add(str(shot))
        await drop(stage, str(shot))
        await stage.until(lambda: stage.prompt.text)
        await stage.shows("is not an image")

        assert stage.prompt.text == str(shot)


@pytest.mark.long
async def test_the_path_of_a_file_that_is_not_there_is_pasted_as_text(tmp_path):
    async with on_stage(tmp_path) as stage:
        await drop(stage, "nowhere.png")

        assert stage.prompt.text == "nowhere.png"
        assert stage.agent.attached == []


@pytest.mark.long
async def test_a_mentioned_image_is_attached_when_the_prompt_is_sent(tmp_path, shot):
    async with on_stage(tmp_path) as stage:
        await stage.send("what is in @shot.png?")
        await stage.until(lambda: stage.agent.prompts)

        assert stage.agent.prompts == ["what is in @shot.png?\n[image shot.png 4×3]"]


async def test_where_a_mentioned_image_cannot_be_attached_the_prompt_comes_back_with_the_reason(tmp_path, shot):
    async with on_stage(tmp_path) as stage:
        stage.agent.refused.add("shot.png")
        await stage.send("what is in @shot.png?")
        await stage.shows("shot.png is not an image")

        assert stage.prompt.text == "what is in @shot.png?"
        assert stage.agent.prompts == []


async def test_the_command_says_why_a_file_cannot_be_attached(tmp_path):
    async with on_stage(tmp_path) as stage:
        stage.agent.refused.add("notes.txt")
        await stage.send("/image notes.txt")
        await stage.shows("notes.txt is not an image")

        assert stage.prompt.text == ""


def test_a_pdf_is_mentioned_and_dropped_as_an_image_is(tmp_path):
    (tmp_path / "report.PDF").write_bytes(pdf())

    assert find_mentioned_attachments("read @report.PDF.", tmp_path) == ("report.PDF",)
    assert find_dropped_attachment(f"{tmp_path}/report.PDF ") == f"{tmp_path}/report.PDF"


@pytest.mark.parametrize("label", ["[PDF a.pdf 12 pages]", "[PDF a b.pdf 1 page]", "[PDF a.pdf 1.2 MB]"])
def test_the_label_of_a_pdf_is_deleted_as_a_whole(label):
    assert Folds().expand_at_end(f"see {label}") == label


def test_mentions_are_of_files_that_are_there_and_named_like_images(tmp_path, shot):
    (tmp_path / "a.txt").write_text("")
    text = 'see @"my shot.png" and @shot.png, (once more @shot.png) @a.txt @new.png @SHOT.png'

    assert find_mentioned_attachments(text, tmp_path) == ("my shot.png", "shot.png")


@pytest.mark.parametrize("path", ["@" + "x" * 300 + ".png", "@~nobody-there/a.png", "@a\0b.png"])
def test_no_mention_is_too_odd_to_be_looked_at(tmp_path, path):
    assert find_mentioned_attachments(path, tmp_path) == ()


def test_a_label_that_stands_in_the_text_already_is_not_put_there_again():
    text = "[image a.png 1×1] @a.png"

    assert append_labels(text, ["[image a.png 1×1]"]) == text


@pytest.mark.parametrize(
    "form",
    ["{}/my shot.png", "'{}/my shot.png'", '"{}/my shot.png"', "{}/my\\ shot.png ", "file://{}/my%20shot.png"],
)
def test_terminals_drop_paths_in_many_forms(tmp_path, shot, form):
    assert find_dropped_attachment(form.format(tmp_path)) == f"{tmp_path}/my shot.png"


@pytest.mark.parametrize("text", ["", "two\nshot.png", "see shot.png please", "'", "x" * 5000 + ".png"])
def test_other_texts_are_no_dropped_images(shot, text):
    assert find_dropped_attachment(text) is None

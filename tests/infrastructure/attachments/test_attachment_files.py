import os
from pathlib import Path

import pytest

from quorum.domain.conversation.attachment import Document
from quorum.domain.errors import AttachmentError
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.attachment_files import LARGEST_BYTES, AttachmentFiles
from tests.support.papers import pdf
from tests.support.pictures import an_image, gif, png


@pytest.fixture
def files(tmp_path):
    (tmp_path / "work").mkdir()
    return AttachmentFiles(tmp_path / "work", PathPolicy(roots=(str(tmp_path / "work"),)), {"PATH": ""})


async def test_an_image_is_read_and_measured_by_what_it_holds(files, tmp_path):
    (tmp_path / "work" / "shot.jpg").write_bytes(gif(30, 20))

    image, content = await files.read("shot.jpg")

    assert (image, content) == (an_image(gif(30, 20), "shot.jpg"), gif(30, 20))
    assert image.media_type == "image/gif"


async def test_one_outside_the_workspace_is_read_as_the_person_named_it(files, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "Desktop").mkdir()
    (tmp_path / "Desktop" / "a b.png").write_bytes(png())

    assert (await files.read("~/Desktop/a b.png"))[0].name == "a b.png"
    assert (await files.read("../Desktop/a b.png"))[1] == png()


@pytest.mark.parametrize("name", [".ssh/shot.png", "server.key", ".env.png"])
async def test_sensitive_places_are_refused_also_through_a_link(files, tmp_path, name):
    place = tmp_path / "work" / name
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(png())
    (tmp_path / "work" / "plain.png").symlink_to(place)

    for path in (name, "plain.png"):
        with pytest.raises(AttachmentError, match="sensitive file, and is not shown"):
            await files.read(path)


async def test_what_is_no_image_is_refused_by_name(files, tmp_path):
    (tmp_path / "work" / "notes.png").write_text("hello")

    with pytest.raises(
        AttachmentError, match=r"notes\.png cannot be shown to a model: it is neither a PNG, JPEG, GIF or"
    ):
        await files.read("notes.png")


async def test_one_too_large_is_refused_with_size_and_limit(files, tmp_path):
    with (tmp_path / "work" / "huge.png").open("wb") as file:
        file.truncate(LARGEST_BYTES + 5_000_000)

    with pytest.raises(AttachmentError, match=r"huge\.png has 25\.0 MB, and an image may have 20\.0 MB"):
        await files.read("huge.png")


@pytest.mark.parametrize(
    "path", ["nowhere.png", ".", "pipe.png", "nul\0.png", "~nobody-there/x.png", "x" * 5000]
)
async def test_what_cannot_be_read_is_one_sentence(files, tmp_path, path):
    os.mkfifo(tmp_path / "work" / "pipe.png")

    with pytest.raises(AttachmentError):
        await files.read(path)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a[1]\u202e\n.png", "a_1___.png"),
        ("x" * 100 + ".png", "x" * 28 + "…" + "x" * 24 + ".png"),
        ("日本 語.png", "日本 語.png"),
    ],
)
async def test_a_name_that_could_not_stand_in_a_label_is_made_fit(files, tmp_path, name, shown):
    (tmp_path / "work" / name).write_bytes(png())

    assert (await files.read(name))[0].name == shown


def _program(folder: Path, name: str, script: str) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "WAYLAND_DISPLAY": "wayland-0"}


def _reading(tmp_path, environ):
    return AttachmentFiles(tmp_path / "work", PathPolicy(roots=(str(tmp_path / "work"),)), environ)


async def test_the_clipboard_is_read_through_the_program_of_the_desktop(tmp_path):
    (tmp_path / "held.png").write_bytes(png(9, 9))
    environ = _program(tmp_path / "bin", "wl-paste", f'[ "$3" = image/png ] && cat {tmp_path / "held.png"}')

    image, content = await _reading(tmp_path, environ).read_clipboard()

    assert (image.label, content) == ("[image clipboard.png 9×9]", png(9, 9))


@pytest.mark.parametrize("script", ["exit 1", "true"])
async def test_a_clipboard_without_an_image_is_said(tmp_path, script):
    environ = _program(tmp_path / "bin", "wl-paste", script)

    with pytest.raises(AttachmentError, match="no image in the clipboard"):
        await _reading(tmp_path, environ).read_clipboard()


async def test_a_clipboard_without_end_is_read_no_further_than_the_limit(tmp_path):
    environ = _program(tmp_path / "bin", "wl-paste", "exec cat /dev/zero")

    with pytest.raises(AttachmentError, match="larger than 20 MB"):
        await _reading(tmp_path, environ).read_clipboard()


@pytest.mark.parametrize("entry", ["{work}/.venv/bin", "{link}", "."])
async def test_a_program_that_the_workspace_brings_along_is_not_run(files, tmp_path, monkeypatch, entry):
    folder = tmp_path / "work" / ".venv" / "bin"
    folder.parent.mkdir()
    ran = tmp_path / "ran"
    environ = _program(folder, "wl-paste", f"touch {ran}")
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.chdir(folder)
    environ["PATH"] = entry.format(work=tmp_path / "work", link=tmp_path / "link")

    with pytest.raises(AttachmentError, match="install wl-paste"):
        await _reading(tmp_path, environ).read_clipboard()
    assert not ran.exists()


async def test_where_no_program_reads_it_the_remedy_is_named(files):
    with pytest.raises(AttachmentError, match="install wl-paste, xclip or pngpaste"):
        await files.read_clipboard()


async def test_a_pdf_is_known_by_what_it_holds_and_may_be_larger_than_an_image(files, tmp_path):
    content = pdf(7, padding=21_000_000)
    (tmp_path / "paper.bin").write_bytes(content)

    document, read = await files.read(str(tmp_path / "paper.bin"))

    assert isinstance(document, Document)
    assert (document.label, read == content) == ("[PDF paper.bin 7 pages]", True)


async def test_a_pdf_that_cannot_be_shown_says_why(files, tmp_path):
    (tmp_path / "a.pdf").write_bytes(pdf(trailer="/Encrypt 5 0 R"))
    with (tmp_path / "huge.pdf").open("wb") as huge:
        huge.write(pdf())
        huge.truncate(60_000_000)

    with pytest.raises(AttachmentError, match=r"a\.pdf cannot be shown to a model: it is encrypted"):
        await files.read(str(tmp_path / "a.pdf"))
    with pytest.raises(AttachmentError, match=r"huge\.pdf has 60\.0 MB, and a PDF may have 50\.0 MB"):
        await files.read(str(tmp_path / "huge.pdf"))

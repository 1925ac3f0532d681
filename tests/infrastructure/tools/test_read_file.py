from __future__ import annotations

import codecs
import hashlib
import os

import pytest

from quorum.domain.calls.run_state import FileKnowledge
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.history import Conversation
from quorum.domain.errors import ToolError
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.tools.builtin import read_file as module
from quorum.infrastructure.tools.builtin.list_directory import ListDirectory
from quorum.infrastructure.tools.builtin.read_file import ReadFile
from quorum.infrastructure.tools.builtin.seen import SeenFiles
from tests.infrastructure.tools.calling import a_tree, call, show


@pytest.fixture
def conversation():
    return Conversation()


@pytest.fixture
def seen(conversation):
    return SeenFiles(conversation)


@pytest.fixture
def read_file(tmp_path, seen):
    return ReadFile(Workspace([tmp_path]), seen)


@pytest.fixture
def list_directory(tmp_path):
    return ListDirectory(Workspace([tmp_path]))


def test_a_short_file_comes_whole_with_line_numbers(tmp_path, read_file):
    a_tree(tmp_path, {"a.py": "one\n\ttwo\n\nfour"})

    assert call(read_file, path="a.py") == "1\tone\n2\t\ttwo\n3\t\n4\tfour"


def test_windows_line_ends_do_not_show(tmp_path, read_file):
    a_tree(tmp_path, {"a.txt": "one\r\ntwo\r\n"})

    assert call(read_file, path="a.txt") == "1\tone\n2\ttwo"


def test_a_page_says_how_to_get_the_next(tmp_path, read_file):
    a_tree(tmp_path, {"a.txt": "".join(f"line {n}\n" for n in range(1, 5322))})

    first = call(read_file, path="a.txt")
    second = call(read_file, path="a.txt", offset=2001, limit=2)
    last = call(read_file, path="a.txt", offset=5320)

    assert first.endswith("\n2000\tline 2000\n[lines 1-2000 of 5321; continue with offset=2001]")
    assert second == "2001\tline 2001\n2002\tline 2002\n[lines 2001-2002 of 5321; continue with offset=2003]"
    assert last == "5320\tline 5320\n5321\tline 5321\n[lines 5320-5321 of 5321]"


def test_pages_together_are_the_file_whatever_its_size(tmp_path, read_file):
    lines = [f"{n} " + "é" * (n * 37 % 300) for n in range(1, 4001)]
    a_tree(tmp_path, {"a.txt": "\n".join(lines)})
    shown, offset = [], 1

    while offset <= len(lines):
        page = call(read_file, path="a.txt", offset=offset)
        assert len(page.encode()) <= 64_000
        got = [line.split("\t", 1)[1] for line in page.split("\n") if not line.startswith("[")]
        shown += got
        offset += len(got)

    assert shown == lines


def test_a_long_line_is_cut_visibly(tmp_path, read_file):
    a_tree(tmp_path, {"a.txt": "x" * 2001 + "\n" + "y" * 2000 + "\r\n" + "z" * 700_000})

    first, second, third = call(read_file, path="a.txt").split("\n")

    assert first == "1\t" + "x" * 2000 + " … [line cut: it has 2001 characters]"
    assert second == "2\t" + "y" * 2000
    assert third.endswith("[line cut: it has 700000 characters]")


def test_an_offset_past_the_end_is_an_error_that_tells_the_length(tmp_path, read_file):
    a_tree(tmp_path, {"a.txt": "one\ntwo\n"})

    with pytest.raises(ToolError, match=r"a\.txt has 2 lines: offset 3 is past its end"):
        call(read_file, path="a.txt", offset=3)


def test_an_empty_file_is_called_empty(tmp_path, read_file):
    a_tree(tmp_path, {"a.txt": "", "b.txt": codecs.BOM_UTF8})

    assert call(read_file, path="a.txt") == "a.txt is empty"
    assert call(read_file, path="b.txt") == "b.txt is empty but for a byte order mark"


@pytest.mark.parametrize(
    ("content", "label"),
    [
        (codecs.BOM_UTF8 + "é".encode(), "utf-8 with a byte order mark"),
        (codecs.BOM_UTF16_LE + "é".encode("utf-16-le"), "utf-16-le with a byte order mark"),
        (codecs.BOM_UTF32_BE + "é".encode("utf-32-be"), "utf-32-be with a byte order mark"),
        ("é".encode("cp1252"), "cp1252, a guess"),
    ],
)
def test_another_encoding_is_decoded_and_named(tmp_path, read_file, content, label):
    a_tree(tmp_path, {"a.txt": content})

    assert call(read_file, path="a.txt") == f"1\té\n[decoded as {label}]"


def test_characters_that_straddle_pieces_of_a_large_file_survive(tmp_path, read_file):
    a_tree(tmp_path, {"a.txt": "é" * 262_143 + "x" + "é" * 10 + "\nend"})

    assert call(read_file, path="a.txt", offset=2) == "2\tend\n[lines 2-2 of 2]"


def test_a_binary_file_is_identified_by_size_and_kind(tmp_path, read_file):
    a_tree(tmp_path, {"a.png": b"\x89PNG\r\n\x1a\n" + bytes(100), "b.bin": bytes(range(256))})

    assert call(read_file, path="a.png") == "a.png: binary file, 108 bytes, looks like PNG"
    assert call(read_file, path="b.bin") == "b.bin: binary file, 256 bytes"


def test_a_folder_is_an_error_that_names_the_right_tool(tmp_path, read_file):
    (tmp_path / "sub").mkdir()

    with pytest.raises(ToolError, match="sub is a folder: use list_directory"):
        call(read_file, path="sub")


def test_a_missing_file_is_an_error_that_names_it(read_file):
    with pytest.raises(ToolError, match=r"sub/none\.txt: no such file"):
        call(read_file, path="sub/none.txt")


def test_what_was_read_is_remembered_by_the_hash_of_the_whole_file(tmp_path, conversation, read_file, seen):
    a_tree(tmp_path, {"a.txt": "one\ntwo\n"})

    show(conversation, read_file, path="a.txt", limit=1)

    sha256 = hashlib.sha256(b"one\ntwo\n").hexdigest()
    assert seen.find_knowledge(str(tmp_path / "a.txt")) == FileKnowledge(sha256=sha256, is_whole=False)


@pytest.mark.parametrize(
    "arguments",
    [{"offset": 0}, {"limit": 0}, {"offset": True}, {"limit": 1.5}, {"limit": float("inf")}, {"path": 3}],
)
def test_arguments_of_a_wrong_kind_are_errors_that_name_them(read_file, arguments):
    with pytest.raises(ToolError, match=next(iter(arguments))):
        call(read_file, **{"path": "a.txt", **arguments})


def test_reading_declares_what_it_reads_and_is_low_risk(tmp_path, read_file, list_directory):
    for tool in (read_file, list_directory):
        access = tool.definition.determine_access({"path": "x/y"})

        assert tool.definition.risk is RiskLevel.LOW
        assert access.reads == {str(tmp_path / "x/y")}
        assert access.is_concurrency_safe
    assert read_file.definition.determine_access({"path": "../x"}).outside == {str(tmp_path.parent / "x")}


def test_a_listing_has_folders_first_then_files_with_sizes_and_links_with_targets(tmp_path, list_directory):
    a_tree(tmp_path, {"b.txt": "12345", ".hidden": "", "z/x": ""})
    (tmp_path / "link").symlink_to("b.txt")
    os.mkfifo(tmp_path / "pipe")

    assert call(list_directory).split("\n") == [
        "z/",
        ".hidden  0",
        "b.txt  5",
        "link -> b.txt",
        "pipe  (neither file nor folder)",
    ]


def test_a_listing_escapes_names_that_would_draw(tmp_path, list_directory):
    (tmp_path / "a\nb\x1b]52;").write_text("")

    assert call(list_directory) == "a\\nb\\x1b]52;  0"


def test_a_long_listing_is_cut_and_says_so(tmp_path, list_directory):
    for number in range(1003):
        (tmp_path / f"{number:04}").touch()

    lines = call(list_directory, path=".").split("\n")

    assert len(lines) == 1001
    assert lines[-1] == "[… and 3 more entries; use glob_search to narrow them]"


def test_an_empty_folder_and_a_file_are_distinguished_from_a_listing(tmp_path, list_directory):
    (tmp_path / "sub").mkdir()
    a_tree(tmp_path, {"a.txt": ""})

    assert call(list_directory, path="sub") == "sub is an empty folder"
    with pytest.raises(ToolError, match=r"a\.txt: .*not a folder"):
        call(list_directory, path="a.txt")


@pytest.mark.parametrize(
    "content", [b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", b"%PDF-", b"%PDF-1.4\n" + b"/Type /Page\n" * 10_000]
)
def test_a_pdf_is_named_with_the_command_that_prints_its_text(tmp_path, read_file, content):
    a_tree(tmp_path, {"a.pdf": content})

    assert call(read_file, path="a.pdf") == (
        f"a.pdf: binary file, {len(content)} bytes, looks like PDF; run_command with "
        "`pdftotext -layout FILE -` prints its text, where poppler-utils is installed"
    )


def test_a_huge_binary_file_is_told_by_its_beginning(tmp_path, read_file, conversation, seen):
    with (tmp_path / "disk.img").open("wb") as file:
        file.truncate(20 << 30)

    told = show(conversation, read_file, path="disk.img")

    assert told == f"disk.img: binary file, {20 << 30} bytes"
    assert seen.find_knowledge(str(tmp_path / "disk.img")) is None  # the hash would take a minute
    assert str(tmp_path) in seen.folders


def test_a_huge_text_file_is_read_to_the_end_of_the_page(tmp_path, read_file, conversation, seen, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_EDITED", 300_000)
    a_tree(tmp_path, {"a.log": "a line\n" * 100_000})

    first = show(conversation, read_file, path="a.log", limit=1)
    last = call(read_file, path="a.log", offset=100_000)

    assert first == "1\ta line\n[lines 1-1 of a file of 700 kB; continue with offset=2]"
    assert last == "100000\ta line\n[lines 100000-100000 of 100000]"
    assert seen.find_knowledge(str(tmp_path / "a.log")) is None


def test_a_line_that_never_ends_is_read_up_to_a_limit(tmp_path, read_file, monkeypatch):
    monkeypatch.setattr(module, "_MOST_BYTES", 262_144)
    a_tree(tmp_path, {"a.txt": "a line\n" + "x" * 300_000, "b.txt": "a line\n" * 100_000})

    assert "\n[lines 1-2 of a file of 300 kB; only the first 262 kB were read: a command such as tail" in call(
        read_file, path="a.txt"
    )
    with pytest.raises(ToolError, match="37449 lines before offset 90000; only the first 262 kB were read"):
        call(read_file, path="b.txt", offset=90_000)


@pytest.mark.parametrize(
    "given", ["`a.txt`", " a.txt ", "a.txt:1-2", "a.txt#L3", '"a.txt"', "a.txt\n", "a.txt:12"]
)
def test_a_path_with_marks_around_it_that_is_not_there_is_named_without_them(read_file, given):
    with pytest.raises(ToolError, match=r"no such file or folder; if a\.txt is meant, write only that"):
        call(read_file, path=given)


def test_a_plain_path_that_is_not_there_gets_no_hint(read_file):
    with pytest.raises(ToolError, match=r"no such file or folder$"):
        call(read_file, path="a.txt")

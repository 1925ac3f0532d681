from __future__ import annotations

import os
import threading
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from quorum.domain.errors import BlobError
from quorum.infrastructure.store.blobs.line_index import FileLines
from tests.support.examples import examples

GIGABYTE = 1 << 30


def opened(path: Path, content: str | bytes) -> FileLines:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return FileLines(path)


def counted(lines: FileLines) -> int:
    count, is_all = lines.count_so_far()
    while not is_all:
        count, is_all = lines.count_so_far()
    return count


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", []),
        ("\n", [""]),
        ("one", ["one"]),
        ("one\ntwo\n", ["one", "two"]),
        ("one\r\n\r\n\ntwo", ["one", "", "", "two"]),
        ("a\x0bb\u2028c\x85d\n", ["a\x0bb\u2028c\x85d"]),
        (b"bad \xff byte\n", ["bad � byte"]),
    ],
)
def test_only_a_newline_ends_a_line_and_the_last_one_begins_no_other(tmp_path, content, expected):
    lines = opened(tmp_path / "a.txt", content)

    assert lines.read_lines(0, 100) == expected
    assert counted(lines) == len(expected)


def test_a_page_is_what_was_asked_for_and_nothing_past_the_end(tmp_path):
    lines = opened(tmp_path / "a.txt", "".join(f"line {n}\n" for n in range(100_000)))

    assert lines.read_lines(0, 2) == ["line 0", "line 1"]
    assert lines.read_lines(54_321, 3) == ["line 54321", "line 54322", "line 54323"]
    assert lines.read_lines(99_998, 10) == ["line 99998", "line 99999"]
    assert lines.read_lines(100_000, 10) == []
    assert lines.read_lines(10**9, 10) == []
    assert lines.read_lines(5, 0) == []
    assert counted(lines) == 100_000


def test_the_first_lines_are_there_before_the_rest_was_counted(tmp_path):
    lines = opened(tmp_path / "a.txt", "x\n" * 5_000_000)

    assert lines.read_lines(0, 3) == ["x", "x", "x"]
    first, is_all = lines.count_so_far()
    assert not is_all
    assert 0 < first < 5_000_000
    assert counted(lines) == 5_000_000


def test_a_search_goes_both_ways_and_begins_with_the_line_it_starts_from(tmp_path):
    lines = opened(tmp_path / "a.txt", "zero\nthe needle\ntwo\nneedle needle\nfour")

    assert lines.find("needle", 0, backwards=False) == 1
    assert lines.find("needle", 1, backwards=False) == 1
    assert lines.find("needle", 2, backwards=False) == 3
    assert lines.find("needle", 4, backwards=False) is None
    assert lines.find("needle", 99, backwards=True) == 3
    assert lines.find("needle", 3, backwards=True) == 3
    assert lines.find("needle", 2, backwards=True) == 1
    assert lines.find("needle", 0, backwards=True) is None
    assert lines.find("needle", -1, backwards=True) is None
    assert lines.find("four", 0, backwards=False) == 4
    assert lines.find("Needle", 0, backwards=False) is None
    assert lines.find("", 0, backwards=False) is None


@pytest.mark.parametrize("place", [(1 << 20) - 3, (1 << 20) - 1, 1 << 20, (1 << 16) - 2, 5_000_000])
def test_a_match_that_straddles_pieces_is_found_from_either_side(tmp_path, place):
    content = bytearray(b"x" * 99 + b"\n") * 60_000
    content[place : place + 6] = b"needle"
    lines = opened(tmp_path / "a.txt", bytes(content))
    number = content.count(b"\n", 0, place)

    assert lines.find("needle", 0, backwards=False) == number
    assert lines.find("needle", 10**9, backwards=True) == number
    assert "needle" in "".join(lines.read_lines(number, 2))


@examples(60, unchecked=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.text(st.sampled_from("ab é\t"), max_size=9), max_size=30),
    ending=st.sampled_from(["", "\n"]),
    needle=st.sampled_from(["a", "ab", "é", "b a"]),
    start=st.integers(0, 32),
)
def test_pages_and_searches_agree_with_the_text_as_a_whole(tmp_path, lines, ending, needle, start):
    whole = "\n".join(lines) + ending
    expected = whole.removesuffix("\n").split("\n") if whole else []
    source = opened(tmp_path / "a.txt", whole)
    holding = [number for number, line in enumerate(expected) if needle in line]

    assert source.read_lines(start, 5) == expected[start : start + 5]
    assert source.find(needle, start, backwards=False) == min((n for n in holding if n >= start), default=None)
    assert source.find(needle, start, backwards=True) == max((n for n in holding if n <= start), default=None)
    assert counted(source) == len(expected)


def test_a_very_long_line_is_cut_visibly_between_characters(tmp_path):
    lines = opened(tmp_path / "a.txt", "x" + "é" * 20_000 + "\n" + "y" * 16_384 + "\n" + "z" * 16_385)

    first, second, third = lines.read_lines(0, 3)

    assert first == "x" + "é" * 8191 + "…"
    assert second == "y" * 16_384
    assert third == "z" * 16_384 + "…"


@pytest.mark.long
def test_a_gigabyte_is_paged_searched_and_counted_in_constant_memory(tmp_path):
    path = tmp_path / "a.txt"
    with path.open("wb") as file:
        file.write(b"first\n")
        for place in range(GIGABYTE // 8, GIGABYTE, GIGABYTE // 8):
            file.seek(place)
            file.write(b"\nmiddle\n")
        file.seek(GIGABYTE - 6)
        file.write(b"\nlast\n")
    lines = FileLines(path)

    tracemalloc.start()
    try:
        shown = lines.read_lines(0, 1)
        last = lines.find("last", 0, backwards=False)
        count = counted(lines)
        end = lines.read_lines(count - 1, 5)
        middle = lines.find("middle", count, backwards=True)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert shown == ["first"]
    assert (count, last, middle) == (1 + 2 * 7 + 2, 16, 14)
    assert end == ["last"]
    assert peak < 8_000_000


@pytest.mark.long
def test_several_threads_may_read_at_once(tmp_path):
    lines = opened(tmp_path / "a.txt", "".join(f"line {n}\n" for n in range(200_000)))
    found: dict[int, bool] = {}

    def read(offset: int) -> None:
        numbers = range(offset, 200_000, 9973)
        found[offset] = all(lines.read_lines(n, 1) == [f"line {n}"] for n in numbers)

    threads = [threading.Thread(target=read, args=(offset,)) for offset in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)

    assert found == dict.fromkeys(range(8), True)
    assert counted(lines) == 200_000


def test_a_file_that_was_cut_meanwhile_is_an_error_that_names_it(tmp_path):
    lines = opened(tmp_path / "a.txt", "one\n" * 100_000)
    os.truncate(tmp_path / "a.txt", 10)

    with pytest.raises(BlobError, match=r"a\.txt was cut short"):
        lines.read_lines(50_000, 1)


def test_a_file_that_was_deleted_can_still_be_read_and_a_missing_one_cannot_be_opened(tmp_path):
    lines = opened(tmp_path / "a.txt", "one\n")
    (tmp_path / "a.txt").unlink()

    assert lines.read_lines(0, 1) == ["one"]
    lines.close()
    with pytest.raises(BlobError, match=r"a\.txt cannot be opened: No such file"):
        FileLines(tmp_path / "a.txt")

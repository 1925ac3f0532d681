from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.text.output import Printed, shift_styles
from quorum.infrastructure.execution.commands.output import CommandOutput, HeadAndTail, TerminalText


def clean(*pieces: bytes) -> str:
    return printed_as(*pieces).text


def printed_as(*pieces: bytes) -> Printed:
    terminal = TerminalText()
    text, styles = "", ()
    for settled in [*map(terminal.feed, pieces), terminal.feed(b"", final=True)]:
        styles += shift_styles(settled.styles, len(text))
        text += settled.text
    return Printed(text, styles)


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        (b"plain\ttext\n", "plain\ttext\n"),
        (b"\x1b[1;31mred\x1b[0m\n", "red\n"),
        (b"\x1b]0;title\x07a\x1b]52;c;ZXZpbA==\x1b\\b", "ab"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bP1$tdata\x1b\\a\x1b_apc\x1b\\b", "ab"),
        (b"\x1b(Ba\x1b=b\x1bMc\x1b7d", "abcd"),
        (b"a\x00b\x07c\x7fd\x0ce", "abcde"),
        ("\u009b31mc1\u009d0;t\u009c\u0085".encode(), "c1"),
        (b"\x1b[31", ""),
        (b"\x1b]0;never ended\nnext", "]0;never ended\nnext"),
        (b"\xff\xfeok \xe2\x82", "��ok �"),
        ("żółć 漢字 🙂".encode(), "żółć 漢字 🙂"),
        (b"windows\r\nlines\r\n", "windows\nlines\n"),
        (b" 10%\r 50%\r100%\ndone", "100%\ndone"),
        (b" 10%\r100%\r", "100%"),
        (b"working\r\x1b[Kdone\n", "done\n"),
        (b"|\x08/\x08-\x08ok", "ok"),
        (b"N\x08NA\x08A", "NA"),
        (b"\x08\x08x", "x"),
    ],
)
def test_what_a_terminal_would_do_becomes_plain_text(printed: bytes, text: str) -> None:
    assert clean(printed) == text


@given(
    st.lists(
        st.sampled_from(
            [
                b"\x1b[31m",
                b"\x1b[m",
                b"\x0f",
                b"\x1b]0;t\x07",
                b"\x1b",
                b"[",
                b"]",
                b"\r",
                b"\n",
                b"\x08",
                b"ab",
                "é🙂".encode(),
                b"\xc3",
            ]
        ),
        max_size=12,
    ).map(b"".join),
    st.data(),
)
def test_where_the_pieces_end_makes_no_difference(printed: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(printed)), max_size=6)))
    pieces = [printed[start:end] for start, end in zip([0, *cuts], [*cuts, len(printed)], strict=True)]

    assert printed_as(*pieces) == printed_as(printed)


@given(st.binary(max_size=300))
def test_no_control_character_survives_but_newline_and_tab(printed: bytes) -> None:
    text = clean(printed)

    assert not [c for c in text if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0]


def test_the_unfinished_line_can_be_looked_at() -> None:
    terminal = TerminalText()

    settled = terminal.feed(b"done\n 10%\r 20%")

    assert settled == Printed("done\n")
    assert terminal.line == Printed(" 20%")


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    "piece",
    [
        b"x" * 65536,
        b"10%\r" * 16384,
        b"\x1b]" * 32768,
        "\x90".encode() * 32768,
        b"\x1b[" + b"1" * 65534,
        b"\x08" * 65536,
    ],
    ids=["one line", "redrawn", "unfinished OSC", "unfinished DCS", "unfinished CSI", "backspaces"],
)
def test_memory_is_bounded_even_without_a_single_newline(piece: bytes) -> None:
    output = CommandOutput(32768)
    output.feed(piece)
    tracemalloc.start()
    for _ in range(50):
        output.feed(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 3_000_000


def test_text_within_the_limit_is_whole() -> None:
    kept = HeadAndTail(10)
    kept.append("12345")
    kept.append("67890")

    assert kept.join() == "1234567890"


def test_text_beyond_the_limit_keeps_its_two_ends_and_counts_the_rest() -> None:
    kept = HeadAndTail(10)
    for number in range(100):
        kept.append(f"{number:02d}")

    assert kept.join() == "00010\n… 190 bytes left out …\n79899"


@pytest.mark.long
@given(st.lists(st.text("aé漢🙂\n", max_size=9), max_size=20), st.integers(2, 40))
def test_a_cut_never_breaks_a_character_and_the_count_is_exact(pieces: list[str], limit: int) -> None:
    kept = HeadAndTail(limit)
    for piece in pieces:
        kept.append(piece)
    whole = "".join(pieces)

    text = kept.join()

    head, mark, rest = text.partition("\n… ")
    if not mark:
        assert text == whole
        return
    count, _, tail = rest.partition(" bytes left out …\n")
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert len((head + tail).encode()) + int(count) == len(whole.encode())
    assert len((head + tail).encode()) <= limit


def test_the_last_lines_include_the_unfinished_one() -> None:
    output = CommandOutput(1000)
    output.feed(b"one\ntwo\nthree\nfour")

    assert output.read_last_lines(2, 100).text == "three\nfour"
    assert output.read_last_lines(9, 8).text == "ree\nfour"


def test_the_last_lines_never_join_what_was_not_joined() -> None:
    output = CommandOutput(8)
    for line in (b"aaaa\n", b"bbbb\n", b"cccc\n"):
        output.feed(line)

    assert output.read_last_lines(5, 100).text == "cccc"

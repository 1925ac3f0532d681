"""How a program styled what it printed is kept beside the text, at the right places, however it was printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quorum.domain.text.output import Printed, StyleChange, insert_sequences
from quorum.infrastructure.execution.commands.output import CommandOutput
from tests.infrastructure.commands.command_bench import RecordingControls, context_with, tool_in

_SEQUENCE = re.compile("\x1b\\[[0-9;:]*m")


def kept(*pieces: bytes, limit: int = 32_768) -> Printed:
    output = CommandOutput(limit)
    for piece in pieces:
        output.feed(piece)
    return output.close()


def seen(printed: Printed) -> str:
    return insert_sequences(printed.text, printed.styles)


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        (b"\x1b[1;31mred\x1b[0m plain\n", "\x1b[1;31mred\x1b[0m plain"),
        ("\u009b32mgreen\u009bm!".encode(), "\x1b[32mgreen\x1b[m!"),
        (b"\x1b[38:2::1:2:3mexact\x1b[m.", "\x1b[38:2::1:2:3mexact\x1b[m."),
        (b"\x1b[31m\x1b[2Jred\x1b[K\x1b[m.", "\x1b[31mred\x1b[m."),
        (b"to the end \x1b[33myellow\n\n", "to the end \x1b[33myellow\x1b[m"),
        (b"10 %\r\x1b[32m20 %\x1b[0m\r\x1b[1mdone\x1b[0m.", "\x1b[32m\x1b[0m\x1b[1mdone\x1b[0m."),
        (b"\x1b[31mab\x08\x08\x1b[0mcd", "\x1b[31m\x1b[0mcd"),
        (b"\x0fa\x1b[31mb\x0f\x1b[mc", "a\x1b[31mb\x1b[mc"),
        (b"\x1b[12345678mno style", "no style"),
        (b"\x1b[?25lno style\x1b[>4;1m", "no style"),
    ],
)
def test_styles_stand_where_they_were_printed(printed: bytes, shown: str) -> None:
    assert seen(kept(printed)) == shown


def test_a_style_that_goes_on_over_what_is_left_out_goes_on_behind_it() -> None:
    printed = kept(b"\x1b[31m", b"red line\n" * 200, b"\x1b[1mbold\x1b[0m end\n", limit=100)

    head, _, tail = seen(printed).partition("bytes left out …\n")
    assert head.startswith("\x1b[31mred line\n")
    assert "\x1b[m\n…" in head  # the line between is nobody's
    assert tail.startswith("\x1b[31m")
    assert tail.endswith("red line\n\x1b[1mbold\x1b[0m end")


@pytest.mark.long
def test_of_a_flood_of_styles_those_of_both_ends_are_kept() -> None:
    output = CommandOutput(32_768)
    for _ in range(20):
        output.feed(b"\x1b[31mx\x1b[0my\n" * 5_000 + b"\x1b[32m" * 10_000 + b"\x1b[0m\n")
    printed = output.close()

    assert len(printed.styles) < 4_100
    assert seen(printed).startswith("\x1b[31mx\x1b[0my\n\x1b[31mx")
    assert printed.styles[-1].at <= len(printed.text)


def test_behind_the_last_style_that_is_kept_the_text_is_plain() -> None:
    printed = kept(b"\x1b[31mx\x1b[0my" * 1_500)

    assert seen(printed).endswith("\x1b[31mx\x1b[0my\x1b[m" + "xy" * 500)


def test_a_long_line_of_styles_and_backspaces_is_read_in_one_go() -> None:
    printed = kept(b"ab" + b"\x1b[31m" * 3_000 + b"\x08" * 60_000 + b"c")

    assert printed.text == "c"


@given(
    st.lists(st.sampled_from(["\x1b[31m", "\x1b[m", "\x1b[1m", "a", "漢", "\n", "long text "]), max_size=60),
    st.integers(4, 60),
)
@example(["\n"] * 60, 4)
@example(["\x1b[31m", "\n", "漢", "a"], 4)
@example(["\x1b[31m", "a", "\n", "漢", "a"], 4)
def test_whatever_is_kept_each_character_has_the_style_it_was_printed_in(pieces: list[str], limit: int) -> None:
    printed = "".join(pieces)
    whole = _styled(printed)

    shown = _styled(seen(kept(printed.encode(), limit=limit)))

    text = "".join(character for character, _ in shown)
    if "bytes left out" not in text:
        assert shown == whole[: len(shown)]
        return
    head = len(text[: text.index("\n…")].rstrip("\n"))  # the line between is nobody's, and so is its beginning
    tail = len(text.partition("left out …")[2].removeprefix("\n"))
    while whole and whole[-1][0] == "\n":
        whole.pop()
    assert shown[:head] == whole[:head]
    assert tail == 0 or shown[-tail:] == whole[-tail:]


def _styled(printed: str) -> list[tuple[str, tuple[str, ...]]]:
    """Each character with the parameters in force; `[m` ends all."""
    cells: list[tuple[str, tuple[str, ...]]] = []
    held: tuple[str, ...] = ()
    place = 0
    while place < len(printed):
        if (match := _SEQUENCE.match(printed, place)) is not None:
            held = () if match[0] == "\x1b[m" else (*held, match[0])
            place = match.end()
        else:
            cells.append((printed[place], held))
            place += 1
    return cells


async def test_a_command_tells_its_styles_at_its_end_and_while_it_runs(tmp_path: Path) -> None:
    controls = RecordingControls()

    output = await tool_in(tmp_path).execute(
        {"command": r"printf 'a \033[32mgreen\033[0m word\n'"}, context_with(controls)
    )

    styles = (StyleChange(2, "32"), StyleChange(7, "0"))
    assert output == Printed("a green word\nexit code 0", styles, 0)
    assert controls.shown[-1] == Printed("a green word", styles)


def test_the_last_lines_begin_in_the_style_that_holds_there() -> None:
    output = CommandOutput(1000)
    output.feed(b"one\n\x1b[31mtwo\nthree\n\x1b[1mfo")

    shown = output.read_last_lines(2, 100)

    assert insert_sequences(shown.text, shown.styles) == "\x1b[31mthree\n\x1b[1mfo\x1b[m"

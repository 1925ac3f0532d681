"""A command as in a terminal: what was run, what it printed in its colours, how it exited.

Of what a program prints, colours and styles are obeyed, and what moves within the line: carriage returns,
backspaces, erasing. Everything else is left out or shown as a stand-in: it can neither leave its line nor hide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import Call, Kept
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import SEQUENCE, collapse_blanks, make_printable
from quorum.tui.transcript.cells.lines import build_strip, fit_text, wrap_words
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.kinds.colouring import PLAIN, Look, apply_sequence, build_style
from quorum.tui.transcript.kinds.part import MOST_LINES, PAGER, Part, Run, draw_more, wrap_runs

TELLS = frozenset({"command"})

_FOLDED = 6
_HEAD_SHARE = 4
_LONGEST_LINE = 16_384
_LOOKED_BACK = 20_000
_TAB = 8
_ACTS = re.compile(r"[\x1b\x9b\x90\x98\x9d-\x9f\x08]")
_MOVES = re.compile(r"[\r\x08]|(?:\x1b\[|\x9b)[0-2]?K")
_SGR = re.compile(r"(?:\x1b\[|\x9b)([0-9;:]*)m")
_ERASE = re.compile(r"(?:\x1b\[|\x9b)([0-2]?)K")
_EXIT = re.compile(r"exit code (\d{1,3})")
_KILLED = re.compile(r"killed by (SIG[A-Z0-9]{1,10}|signal \d{1,3})")
# A result says how it exited in its last lines: remarks of ours may follow.
_REMARKS = 12


def find_exit(output: Kept) -> str:
    """How the command exited, as `exit 2` or `SIGKILL`; empty where the output does not say so."""
    text = (output.tail or output.head)[-4_000:]
    for line in reversed(text.rstrip("\n").split("\n")[-_REMARKS:]):
        if match := _EXIT.fullmatch(line):
            return f"exit {match[1]}"
        if match := _KILLED.fullmatch(line):
            return match[1]
    return ""


def summarise(call: Call, output: Kept) -> str:
    """How much it printed."""
    lines = output.lines - 1 if find_exit(output) else output.lines
    return format_amount(lines, "line") if lines > 0 else ""


def draw_folded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """The last lines, without the one that says how it exited: the row does."""
    part = Part()
    code = find_exit(output).removeprefix("exit ")
    output = output.restore_styles()
    text = (output.tail or output.head).rstrip("\n")
    lines = output.lines
    if text.endswith(f"exit code {code}"):
        text = text[: text.rfind("\n") + 1].rstrip("\n")
        lines -= 1
    start = _start_of_last(text, _FOLDED)
    look = _find_look(text, start)
    for runs in _read_screen(text[start:].split("\n") if text else (), look, palette):
        part.add([_draw_on_one_line(runs, width, palette)])
    part.above = lines - len(part.strips)
    return part


def draw_live(lines: Sequence[str], width: int, palette: Palette, most: int = _FOLDED) -> list[Strip]:
    """The last of the lines that a running command shows at this moment."""
    return [_draw_on_one_line(runs, width, palette) for runs in _read_screen(lines, PLAIN, palette)][-most:]


def draw_unfolded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """The command, and what it printed: the beginning and the end where it is much, for errors come last."""
    part = Part(room=2 * MOST_LINES)
    part.add(draw_command(call.arguments, width, palette))
    output = output.restore_styles()
    text = output.head.rstrip("\n") if not output.tail else output.head
    lines = text.split("\n")
    if len(lines) <= MOST_LINES and not output.tail:
        _fill(part, lines, PLAIN, width, palette, MOST_LINES)
        part.rest = "the rest of a long line" if any(len(line) > _LONGEST_LINE for line in lines) else ""
        return part
    first = MOST_LINES // _HEAD_SHARE
    _fill(part, lines[:first], PLAIN, width, palette, first)
    text = (output.tail or output.head).rstrip("\n")
    start = _start_of_last(text, MOST_LINES - first)
    last = text[start:].split("\n")
    part.add([draw_more(output.lines - first - len(last), "between · click opens all", palette)], PAGER)
    _fill(part, last, _find_look(text, start), width, palette, MOST_LINES - first)
    return part


def draw_command(arguments: JsonObject, width: int, palette: Palette) -> list[Strip]:
    """The command after a `$`, its further lines below its first; nothing where there is none."""
    command = arguments.get("command")
    if not isinstance(command, str):
        return []
    lead: list[Run] = [("$ ", palette.accent)]
    strips: list[Strip] = []
    for line in wrap_words(collapse_blanks(make_printable(command.rstrip("\n"))), width - 2):
        strips += wrap_runs([(line, Style(bold=True))], width, lead, "  ")
        lead = [("  ", Style())]
    return strips


def _fill(part: Part, lines: Iterable[str], look: Look, width: int, palette: Palette, most: int) -> None:
    strips = (strip for runs in _read_screen(lines, look, palette) for strip in wrap_runs(runs, width))
    part.add(islice(strips, most))


def _draw_on_one_line(runs: Sequence[Run], width: int, palette: Palette) -> Strip:
    """A line on one line; where it says nothing of its looks it is muted, as all that is folded is."""
    strip = build_strip(*((fit_text(text, 2 * width), style or palette.muted) for text, style in runs))
    if strip.cell_length <= width:
        return strip
    return Strip([*strip.crop(0, max(width - 1, 0)), Segment("…", palette.muted)])


def _start_of_last(text: str, count: int) -> int:
    """Where the last `count` lines begin."""
    place = len(text.rstrip("\n"))
    for _ in range(count):
        place = text.rfind("\n", 0, place)
        if place < 0:
            return 0
    return place + 1


def _find_look(text: str, place: int) -> Look:
    """What sequences before a place have set; only those of the last lines before it count."""
    look = PLAIN
    for match in _SGR.finditer(text, max(0, place - _LOOKED_BACK), place):
        look = apply_sequence(look, match[1])
    return look


def _read_screen(lines: Iterable[str], look: Look, palette: Palette) -> Iterator[list[Run]]:
    """Each line as a terminal would leave it, as runs that are safe to draw."""
    for line in lines:
        line = line[:_LONGEST_LINE].removesuffix("\r")
        if _ACTS.search(line) is None:
            cells = [(_apply_carriage_returns(line), look)]
        elif _MOVES.search(line) is None:
            cells, look = _split_by_style(line, look)
        else:
            cells, look = _write_characters(line, look)
        yield [
            (
                make_printable("".join(text for text, _ in same), newlines=False),
                build_style(key, dark=palette.dark),
            )
            for key, same in groupby(cells, key=itemgetter(1))
        ]


def colour_line(line: str, *, dark: bool) -> list[Run]:
    """One line by itself in the colours it asks for: safe to draw, and with nothing overwritten."""
    pieces, _ = _split_by_style(line, PLAIN)
    return [
        (make_printable(text, newlines=False), build_style(look, dark=dark)) for text, look in pieces if text
    ]


def _apply_carriage_returns(line: str) -> str:
    """What stands on a line in the end that returns to its beginning, and does nothing else."""
    shown = ""
    for written in line.split("\r"):
        written = written.expandtabs(_TAB)
        shown = written + shown[len(written) :]
    return shown


def _split_by_style(line: str, look: Look) -> tuple[list[tuple[str, Look]], Look]:
    """The pieces of a line in which nothing moves, each with its look, and the look that continues."""
    pieces: list[tuple[str, Look]] = []
    place = 0
    for match in SEQUENCE.finditer(line):
        pieces.append((line[place : match.start()], look))
        place = match.end()
        if (colours := _SGR.fullmatch(match[0])) is not None:
            look = apply_sequence(look, colours[1])
    return [*pieces, (line[place:], look)], look


def _write_characters(line: str, look: Look) -> tuple[list[tuple[str, Look]], Look]:
    """The characters that stand on a line in the end, each with its look, and the look that continues."""
    cells: list[tuple[str, Look]] = []
    cursor = place = blank = 0  # so many cells at the beginning are erased already
    while place < len(line):
        char = line[place]
        if char in "\x1b\x9b" and (match := SEQUENCE.match(line, place)) is not None:
            place = match.end()
            if (colours := _SGR.fullmatch(match[0])) is not None:
                look = apply_sequence(look, colours[1])
            elif (erased := _ERASE.fullmatch(match[0])) is not None:
                blank = _erase(cells, cursor, erased[1], blank)
            continue
        place += 1
        blank = min(blank, cursor)
        match char:
            case "\r":
                cursor = 0
            case "\x08":
                cursor = max(0, cursor - 1)
            case "\t":
                for _ in range(_TAB - cursor % _TAB):
                    cursor = _put(cells, cursor, " ", look)
            case _:
                cursor = _put(cells, cursor, char, look)
    return cells, look


def _put(cells: list[tuple[str, Look]], cursor: int, char: str, look: Look) -> int:
    cells += [(" ", PLAIN)] * (cursor - len(cells))
    cells[cursor : cursor + 1] = [(char, look)]
    return cursor + 1


def _erase(cells: list[tuple[str, Look]], cursor: int, what: str, blank: int) -> int:
    """Erase up to the cursor, all, or from it on; how many cells at the beginning are blank then.

    Those that are `blank` are not erased again: a line of nothing but erasing would take too long.
    """
    match what:
        case "1":
            end = max(blank, min(cursor + 1, len(cells)))
            cells[blank:end] = [(" ", PLAIN)] * (end - blank)
            blank = end
        case "2":
            del cells[min(blank, cursor) :]
            cells += [(" ", PLAIN)] * (cursor - len(cells))
            blank = cursor
        case _:
            del cells[cursor:]
    return min(blank, len(cells))

"""A command as in a terminal: what was run, what it printed in its colours, how it exited.

Of what a program prints, colours and styles are obeyed, and what moves within the line: carriage returns,
backspaces, erasing. Everything else is left out or shown as a stand-in: it can neither leave its line nor hide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice
from operator import itemgetter

from msgspec import Struct
from rich.color import Color, ColorType
from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import Call, Kept
from quorum.domain.replacing import replace
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import SEQUENCE, collapse_blanks, make_printable
from quorum.tui.transcript.cells.lines import build_strip, fit_text, wrap_words
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.kinds.plain import MOST_LINES, PAGER, Part, Run, draw_more, name_whole, wrap_runs

_ATTRIBUTES = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
_ENDS = {
    21: ("bold",),
    22: ("bold", "dim"),
    23: ("italic",),
    24: ("underline",),
    27: ("reverse",),
    29: ("strike",),
}
_STYLES = {name: Style.parse(name) for name in _ATTRIBUTES.values()}
# Text that can hardly be distinguished from its background would hide; it is drawn in the colours of the rest.
_LEAST_CONTRAST = 32


class Look(Struct, frozen=True):
    """What sequences have set so far. Blinking and hidden text are not to be had."""

    foreground: Color | None = None
    background: Color | None = None
    attributes: frozenset[str] = frozenset()


PLAIN = Look()


@lru_cache(maxsize=1024)
def apply_sequence(look: Look, parameters: str) -> Look:
    """The look after a sequence with these parameters, as `1;31`. Those it does not know change nothing."""
    codes = [int(code) if code.isdecimal() and len(code) <= 4 else 0 for code in _split(parameters)]
    place = 0
    while place < len(codes):
        code = codes[place]
        if code in (38, 48):
            colour, taken = _parse_extended(codes[place + 1 :])
            if colour is not None:
                look = replace(look, foreground=colour) if code == 38 else replace(look, background=colour)
            place += taken
        else:
            look = _choose_one(look, code)
        place += 1
    return look


def _split(parameters: str) -> list[str]:
    return parameters.replace(":", ";").split(";")


def _choose_one(look: Look, code: int) -> Look:
    if code == 0:
        return PLAIN
    if code in _ATTRIBUTES:
        return replace(look, attributes=look.attributes | {_ATTRIBUTES[code]})
    if code in _ENDS:
        return replace(look, attributes=look.attributes.difference(_ENDS[code]))
    if code == 39:
        return replace(look, foreground=None)
    if code == 49:
        return replace(look, background=None)
    for first, offset in ((30, 0), (90, 8)):
        if first <= code < first + 8:
            return replace(look, foreground=Color.from_ansi(code - first + offset))
        if first + 10 <= code < first + 18:
            return replace(look, background=Color.from_ansi(code - first - 10 + offset))
    return look


def _parse_extended(codes: Sequence[int]) -> tuple[Color | None, int]:
    """The colour of the rest of a 38 or 48, and how many codes it took."""
    if codes[:1] == [5] and len(codes) >= 2:
        return (Color.from_ansi(codes[1]) if codes[1] < 256 else None), 2
    if codes[:1] == [2] and len(codes) >= 4:
        red, green, blue = codes[1:4]
        return (Color.from_triplet(ColorTriplet(red, green, blue)) if max(codes[1:4]) < 256 else None), 4
    return None, len(codes)


@lru_cache(maxsize=512)
def build_style(look: Look, *, dark: bool) -> Style:
    """The style that a look is drawn in on a dark or a light ground, such that nothing it says is hidden."""
    foreground, background = look.foreground, look.background
    if _hides(foreground, background, dark=dark):
        foreground = background = None
    style = Style(color=foreground, bgcolor=background)
    return sum((_STYLES[name] for name in sorted(look.attributes)), style)


def _hides(foreground: Color | None, background: Color | None, *, dark: bool) -> bool:
    """Whether text can hardly be distinguished from its background, as far as that is known."""
    if foreground == background:
        return foreground is not None
    ink = _compute_lightness(foreground) if foreground is not None else (255 if dark else 0)
    ground = _compute_lightness(background) if background is not None else (0 if dark else 255)
    return abs(ink - ground) < _LEAST_CONTRAST


def _compute_lightness(colour: Color) -> float:
    """How light a colour is, from 0 to 255. Terminals draw the sixteen named ones lighter than their names."""
    if colour.type is ColorType.STANDARD and colour.number not in (None, 0, 7, 8, 15):
        return 128
    red, green, blue = colour.get_truecolor()
    return 0.30 * red + 0.59 * green + 0.11 * blue


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
    return read_exit(output.tail or output.head)


def read_exit(text: str) -> str:
    """The same of the text that a model reads."""
    for line in reversed(text[-4_000:].rstrip("\n").split("\n")[-_REMARKS:]):
        if match := _EXIT.fullmatch(line):
            return f"exit {match[1]}"
        if match := _KILLED.fullmatch(line):
            return match[1]
    return ""


def summarise(call: Call, output: Kept) -> str:
    """How much it printed, or the job as which it continues."""
    if call.job_id:
        return call.job_id
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
    if call.job_id and f" as {call.job_id}: " in text.rpartition("\n")[2]:  # what the model is told of the job
        text = text.rpartition("\n")[0]
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
    left_out = output.lines - first - len(last)
    part.add([draw_more(left_out, f"between · {name_whole(palette)}", palette)], PAGER)
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

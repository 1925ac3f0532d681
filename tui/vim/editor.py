"""Vim's modes over a text: a key goes in, and the text and the cursor after it come out.

Own code, after the packages textual-vim-textarea 1.2 and textual-vimkeys-input 0.3 were read: neither has
registers, repetition by `.` or all of the motions, and both take the keys that the prompt's menu needs.
`tests/tui/test_vim_against_vim.py` compares it with Vim itself over random commands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from quorum.domain.replacing import replace
from quorum.tui.vim import motions
from quorum.tui.vim.commands import (
    MOTIONS,
    OPERATORS,
    NotACommandError,
    VimCommand,
    expand_short_command,
    name_over_selection,
    parse,
)
from quorum.tui.vim.motions import BLANKS, Buffer, Find, MotionKind, MotionTarget, find_text_object

CLIPBOARD = "+*"
_BLACK_HOLE = "_"


@dataclass(frozen=True, slots=True)
class RegisterText:
    """A text of a register; `lines` where it is whole lines, then without the last line break."""

    text: str
    lines: bool = False


class Registers:
    """The unnamed register, `a`-`z`, `0`-`9`, `-`, and the clipboard, which others read and write."""

    def __init__(self, copy: Callable[[str], None], clipboard: Callable[[], str]) -> None:
        self._copy = copy
        self._clipboard = clipboard
        self._texts: dict[str, RegisterText] = {}
        self._last = "0"

    def get(self, name: str | None) -> RegisterText | None:
        """What a register holds; without a name, what was deleted or yanked last."""
        name = (self._last if name in (None, '"') else name).lower()
        if name in CLIPBOARD:
            text = self._clipboard()
            return RegisterText(text.removesuffix("\n"), text.endswith("\n")) if text else None
        return self._texts.get(name)

    def keep_yanked(self, piece: RegisterText, name: str | None) -> None:
        """Keep what was yanked: in the named register, else in 0."""
        self._keep(piece, "0" if name in (None, '"') else name)

    def keep_deleted(self, piece: RegisterText, name: str | None, *, large: bool) -> None:
        """Keep what was deleted.

        Lines, and what reaches over the end of one (`large`), move 1-9 on; less than that goes to `-`. A named
        register takes both.
        """
        if name == _BLACK_HOLE:
            return
        if name not in (None, '"'):
            self._keep(piece, name)
        if large:
            for number in range(9, 1, -1):
                if (before := self._texts.get(str(number - 1))) is not None:
                    self._texts[str(number)] = before
            self._texts["1"] = piece
        elif name in (None, '"'):
            self._texts["-"] = piece
        if name in (None, '"'):
            self._last = "1" if large else "-"

    def _keep(self, piece: RegisterText, name: str) -> None:
        if name == _BLACK_HOLE:
            return
        register = name.lower()
        if name in CLIPBOARD:
            self._copy(piece.text + "\n" * piece.lines)
        elif name.isupper() and (before := self._texts.get(register)) is not None:
            lines = before.lines or piece.lines
            self._texts[register] = RegisterText(before.text + "\n" * lines + piece.text, lines)
        else:
            self._texts[register] = piece
        self._last = register


@dataclass(frozen=True, slots=True)
class SelectionExtent:
    """How much was selected, so that a command over it can be repeated elsewhere."""

    line_breaks: int
    last_line: int
    lines: bool

    @classmethod
    def of(cls, region: Region, buffer: Buffer) -> SelectionExtent:
        """How much of a text this region takes."""
        text = region.read_text(buffer)
        return cls(text.count("\n"), len(text) - (text.rfind("\n") + 1), region.lines)

    def select_at_cursor(self, buffer: Buffer) -> Region:
        """As much from the cursor on as was selected before."""
        last = buffer.cursor
        for _ in range(self.line_breaks):
            end = buffer.find_line_end(last)
            if end == len(buffer.text):
                break
            last = end + 1
        if self.lines:
            return Region.from_lines(buffer, buffer.cursor, last, buffer.cursor)
        end = min(last + self.last_line, buffer.find_line_end(last))
        return Region(buffer.cursor, end, lines=False, cursor=buffer.cursor)


@dataclass(frozen=True, slots=True)
class RepeatableChange:
    """What `.` repeats: a command, over how much of a selection, and what was inserted with it."""

    command: VimCommand
    selected: SelectionExtent | None
    inserted: str | None = None


@dataclass(frozen=True, slots=True)
class Insertion:
    """Since when text is inserted: the text then, how often it counts, and what is between two of them."""

    began: Buffer
    times: int
    separator: str

    def find_inserted(self, now: Buffer) -> str | None:
        """What was inserted where it began; None where something else was changed."""
        began = self.began
        before, after = began.text[: began.cursor], began.text[began.cursor :]
        fits = len(now.text) >= len(began.text) and now.text.startswith(before) and now.text.endswith(after)
        return now.text[len(before) : len(now.text) - len(after)] if fits else None


_FAR_RIGHT = 1 << 30
_MOST_UNDONE = 1_000


class VimMode(StrEnum):
    """What keys do: put text, are commands, or are commands over a selection."""

    INSERT = "insert"
    NORMAL = "normal"
    VISUAL = "visual"
    VISUAL_LINE = "visual line"


class Edge(StrEnum):
    """`j` or `k` was pressed where there is no line any more."""

    TOP = "top"
    BOTTOM = "bottom"


class VimEditor:
    """Follows one text. `copy` and `clipboard` write and read what the registers `+` and `*` stand for."""

    def __init__(self, copy: Callable[[str], None], clipboard: Callable[[], str]) -> None:
        self.mode = VimMode.INSERT
        self.anchor = 0
        """Where the selection began, in a visual mode."""
        self._keys: tuple[str, ...] = ()
        self._registers = Registers(copy, clipboard)
        self._find: Find | None = None
        self._column: int | None = None
        self._change: RepeatableChange | None = None
        self._insertion: Insertion | None = None
        self._undone: list[Buffer] = []
        self._done: list[Buffer] = []

    @property
    def pending(self) -> str:
        """The keys of a command that is not complete."""
        return "".join(self._keys)

    @property
    def selects(self) -> bool:
        """Whether a visual mode is on."""
        return self.mode in (VimMode.VISUAL, VimMode.VISUAL_LINE)

    def get_selection(self, buffer: Buffer) -> Region:
        """What a visual mode has selected."""
        first, last = sorted((min(self.anchor, len(buffer.text)), buffer.cursor))
        if self.mode is VimMode.VISUAL_LINE:
            began = buffer.find_line_start(min(self.anchor, len(buffer.text)))
            return Region.from_lines(buffer, first, last, min(began, buffer.cursor))
        return Region(first, min(last + 1, len(buffer.text)), lines=False, cursor=first)

    def start_over(self, mode: VimMode = VimMode.INSERT) -> None:
        """Forget what belongs to the text so far: another one takes its place."""
        self.mode = mode
        self._keys = ()
        self._insertion = None
        self._column = None
        self._done, self._undone = [], []

    def leave_insert(self, buffer: Buffer) -> Buffer:
        """Go to normal mode; with a count, what was inserted is repeated."""
        insertion, self._insertion = self._insertion, None
        self.mode = VimMode.NORMAL
        if insertion is not None:
            inserted = insertion.find_inserted(buffer)
            if self._change is not None:
                self._change = replace(self._change, inserted=inserted)
            if inserted is not None and insertion.times > 1:
                more = (insertion.separator + inserted) * (insertion.times - 1)
                text, cursor = buffer.text, buffer.cursor
                buffer = Buffer(text[:cursor] + more + text[cursor:], cursor + len(more))
            if self._done and self._done[-1].text == buffer.text:
                self._done.pop()
        return Buffer(buffer.text, max(buffer.find_line_start(buffer.cursor), buffer.cursor - 1))

    def press(self, key: str, buffer: Buffer) -> Buffer | Edge:
        """Do what a key means outside of insert mode; what has no meaning is dropped."""
        if key == "escape" and (self._keys or not self.selects):
            self._keys = ()
            return buffer
        self._keys += (key,)
        try:
            command = parse(self._keys, visual=self.selects)
        except NotACommandError:
            self._keys = ()
            return buffer
        if command is None:
            return buffer
        self._keys = ()
        return self._run(command, buffer.on_character() if not self.selects else buffer)

    def _run(self, command: VimCommand, buffer: Buffer) -> Buffer | Edge:
        if self.selects:
            return self._select(command, buffer)
        if command.name in MOTIONS:
            return self._move(command, buffer)
        self._column = None
        match command.name:
            case "u" | "ctrl+r":
                return self._undo(buffer, command)
            case ".":
                return self._repeat(buffer, command)
            case "v" | "V":
                self.mode = VimMode.VISUAL if command.name == "v" else VimMode.VISUAL_LINE
                self.anchor = buffer.cursor
                return buffer
        return self._change_text(command, buffer)

    # -- moving -----------------------------------------------------------------------------------------------

    def _move(self, command: VimCommand, buffer: Buffer) -> Buffer | Edge:
        vertical = command.name in ("j", "k")
        column = self._find_column(buffer)
        target = find_target(buffer, command, command.name, self._find, column, operator=None)
        if command.name in ("f", "F", "t", "T"):
            self._find = Find(command.name, command.char)
        self._column = column if vertical else _FAR_RIGHT if command.name == "$" else None
        if target is None:
            return (
                (Edge.BOTTOM if command.name == "j" else Edge.TOP) if vertical and not self.selects else buffer
            )
        moved = Buffer(buffer.text, target.offset)
        if not self.selects:
            return moved.on_character()
        if command.name in ("j", "k"):
            line = buffer.find_line_start(target.offset)
            return Buffer(buffer.text, buffer.clamp_column(line, column, past_end=True))
        return Buffer(buffer.text, buffer.find_line_end(target.offset)) if command.name == "$" else moved

    def _find_column(self, buffer: Buffer) -> int:
        if self._column is not None:
            return self._column
        return buffer.cursor - buffer.find_line_start(buffer.cursor)

    # -- changing ---------------------------------------------------------------------------------------------

    def _change_text(self, command: VimCommand, buffer: Buffer, selected: Region | None = None) -> Buffer:
        """Run a command that may change the text, so that it can be undone and repeated."""
        after = self._apply_change(command, buffer, selected)
        if after is None:
            return buffer
        if command.name != "y" and command.name != "Y":
            self._change = RepeatableChange(
                command, None if selected is None else SelectionExtent.of(selected, buffer)
            )
        if after.text != buffer.text or self.mode is VimMode.INSERT:
            self._done = [*self._done, buffer][-_MOST_UNDONE:]
            self._undone = []
        if self.mode is VimMode.INSERT:
            if self._insertion is None:
                self._insertion = Insertion(after, 1, "")
            return after
        return after.on_character()

    def _apply_change(self, command: VimCommand, buffer: Buffer, selected: Region | None) -> Buffer | None:
        text, cursor = buffer.text, buffer.cursor
        match command.name:
            case name if name in OPERATORS:
                region = selected or self._find_region(command, buffer)
                return None if region is None else self._operate(command, region, buffer)
            case "x" | "X" | "D" | "s" | "C" | "S" | "Y":
                return self._apply_change(expand_short_command(command), buffer, None)
            case "i" | "a" | "I" | "A" | "o" | "O":
                return self._insert(command, buffer)
            case "p" | "P":
                return self._put(command, buffer)
            case "J":
                return join(buffer, command.times)
            case "r" if selected is not None:
                old = selected.read_text(buffer)
                replaced = "".join(char if char == "\n" else command.char for char in old)
                return Buffer(text[: selected.start] + replaced + text[selected.end :], selected.start)
            case "r":
                end = cursor + command.times
                if end > buffer.find_line_end(cursor):
                    return None
                return Buffer(text[:cursor] + command.char * command.times + text[end:], end - 1)
            case _:  # ~
                end = min(cursor + command.times, buffer.find_line_end(cursor))
                return (
                    None
                    if end == cursor
                    else Buffer(text[:cursor] + text[cursor:end].swapcase() + text[end:], end)
                )

    def _find_region(self, command: VimCommand, buffer: Buffer) -> Region | None:
        over = command.over or command.name
        if over[0] in "ia":
            return find_object_region(buffer, over, command.times)
        if over == command.name:
            down = find_target(buffer, replace(command, count=command.times - 1), "j", None, 0, operator=over)
            if command.times > 1 and down is None:
                return None
            last = buffer.cursor if down is None or command.times == 1 else down.offset
            first = buffer.find_first_nonblank(buffer.cursor)
            cursor = buffer.cursor if over == "y" else min(buffer.cursor, first)
            return Region.from_lines(buffer, buffer.cursor, last, cursor)
        target = find_target(
            buffer, command, over, self._find, self._find_column(buffer), operator=command.name
        )
        if over in ("f", "F", "t", "T"):
            self._find = Find(over, command.char)
        return None if target is None else find_motion_region(buffer, command, target)

    def _operate(self, command: VimCommand, region: Region, buffer: Buffer) -> Buffer | None:
        text = buffer.text
        match command.name:
            case "y":
                yanked = RegisterText(region.read_text(buffer), region.lines)
                self._registers.keep_yanked(yanked, command.register)
                return Buffer(text, region.cursor)
            case "d" | "c":
                return self._delete(command, region, buffer)
            case "<" | ">":
                lines = Region.from_lines(buffer, region.start, max(region.start, region.end - 1), region.start)
                steps = command.times if command.over is None else 1
                after = indent(lines.read_text(buffer), steps if command.name == ">" else -steps)
                changed = Buffer(text[: lines.start] + after + text[lines.end :], lines.start)
                return Buffer(changed.text, changed.find_first_nonblank(lines.start))
            case name:
                after = CASES[name](region.read_text(buffer))
                return Buffer(text[: region.start] + after + text[region.end :], region.cursor)

    def _delete(self, command: VimCommand, region: Region, buffer: Buffer) -> Buffer:
        """Take a region away and keep it in a register; `c` continues with inserting there."""
        text, piece = buffer.text, RegisterText(region.read_text(buffer), region.lines)
        if piece.text or piece.lines:
            large = piece.lines or "\n" in piece.text
            self._registers.keep_deleted(piece, command.register, large=large)
        if command.name == "c":
            self.mode = VimMode.INSERT
            return Buffer(text[: region.start] + text[region.end :], region.start)
        if not region.lines:
            return Buffer(text[: region.start] + text[region.end :], region.start)
        if region.end < len(text):
            rest = Buffer(text[: region.start] + text[region.end + 1 :], region.start)
        else:
            rest = Buffer(text[: max(0, region.start - 1)], max(0, region.start - 1))
        return Buffer(rest.text, rest.find_first_nonblank(rest.cursor))

    def _insert(self, command: VimCommand, buffer: Buffer) -> Buffer:
        text, cursor = buffer.text, buffer.cursor
        start, end = buffer.find_line_start(cursor), buffer.find_line_end(cursor)
        self.mode = VimMode.INSERT
        match command.name:
            case "a":
                after = Buffer(text, min(cursor + 1, end))
            case "I":
                after = Buffer(text, buffer.indent_end(cursor))
            case "A":
                after = Buffer(text, end)
            case "o":
                after = Buffer(f"{text[:end]}\n{text[end:]}", end + 1)
            case "O":
                after = Buffer(f"{text[:start]}\n{text[start:]}", start)
            case _:
                after = buffer
        separator = "\n" if command.name in ("o", "O") else ""
        self._insertion = Insertion(after, command.times, separator)
        return after

    def _put(self, command: VimCommand, buffer: Buffer) -> Buffer | None:
        piece = self._registers.get(command.register)
        if piece is None:
            return None
        after = command.name == "p"
        text, cursor = buffer.text, buffer.cursor
        if piece.lines:
            lines = "\n".join([piece.text] * command.times)
            place = buffer.find_line_end(cursor) if after else buffer.find_line_start(cursor)
            lines = f"\n{lines}" if after else f"{lines}\n"
            put = Buffer(text[:place] + lines + text[place:])
            return Buffer(put.text, put.find_first_nonblank(place + after))
        if after and not buffer.is_empty_line(cursor):
            cursor += 1
        pieces = piece.text * command.times
        end = cursor if "\n" in piece.text else max(cursor, cursor + len(pieces) - 1)
        return Buffer(text[:cursor] + pieces + text[cursor:], end)

    # -- selecting --------------------------------------------------------------------------------------------

    def _select(self, command: VimCommand, buffer: Buffer) -> Buffer:
        if command.name in MOTIONS:
            moved = self._move(command, buffer)
            assert isinstance(moved, Buffer)
            return moved
        self._column = None
        match command.name:
            case "select":
                assert command.over is not None
                region = find_object_region(buffer, command.over, command.times)
                if region is None or region.start >= region.end:
                    return buffer
                self.anchor = region.start
                self.mode = VimMode.VISUAL_LINE if region.lines else VimMode.VISUAL
                return Buffer(buffer.text, region.end - 1)
            case "o":
                self.anchor, there = buffer.cursor, self.anchor
                return Buffer(buffer.text, min(there, len(buffer.text)))
            case "v" | "V" | "escape":
                wanted = {"v": VimMode.VISUAL, "V": VimMode.VISUAL_LINE}.get(command.name)
                self.mode = VimMode.NORMAL if wanted in (None, self.mode) else wanted or VimMode.NORMAL
                return buffer if self.selects else buffer.on_character()
        region = self.get_selection(buffer)
        self.mode = VimMode.NORMAL
        return self._change_selected(command, region, buffer)

    def _change_selected(self, command: VimCommand, region: Region, buffer: Buffer) -> Buffer:
        """Run a command over what is selected."""
        name = name_over_selection(command.name)
        if command.name in "DXYCSR" and not region.lines:
            region = Region.from_lines(buffer, region.start, max(region.start, region.end - 1), region.start)
        if name in OPERATORS:
            return self._change_text(replace(command, name=name), buffer, region)
        text = buffer.text
        match name:
            case "J":
                lines = region.read_text(buffer).rstrip("\n").count("\n") + 1
                return self._change_text(replace(command, count=lines), Buffer(text, region.start))
            case "r":
                return self._change_text(command, buffer, region)
            case _:
                after = self._put_over(command, region, buffer)
        self._done = [*self._done, buffer][-_MOST_UNDONE:]
        self._undone = []
        return after.on_character()

    def _put_over(self, command: VimCommand, region: Region, buffer: Buffer) -> Buffer:
        """Put a register in the place of what is selected, which `p` keeps and `P` does not."""
        piece = self._registers.get(command.register)
        if piece is None:
            return buffer
        if command.name == "p":
            old = RegisterText(region.read_text(buffer), region.lines)
            self._registers.keep_deleted(old, None, large=old.lines or "\n" in old.text)
        put = piece.text
        if piece.lines and not region.lines:
            put = f"\n{put}\n"
        after = Buffer(buffer.text[: region.start] + put + buffer.text[region.end :])
        if piece.lines or region.lines:
            start = region.start + (piece.lines and not region.lines)
            return Buffer(after.text, after.find_first_nonblank(start))
        return Buffer(after.text, max(region.start, region.start + len(put) - 1))

    # -- again, and back --------------------------------------------------------------------------------------

    def _repeat(self, buffer: Buffer, command: VimCommand) -> Buffer:
        """Do the last change again, here; a count replaces the one it had."""
        change = self._change
        if change is None:
            return buffer
        again = replace(change.command, count=command.count or change.command.count)
        selected = None if change.selected is None else change.selected.select_at_cursor(buffer)
        after = self._change_text(again, buffer, selected)
        if self.mode is VimMode.INSERT:
            text, cursor = after.text, after.cursor
            put = change.inserted or ""
            after = self.leave_insert(Buffer(text[:cursor] + put + text[cursor:], cursor + len(put)))
        return after

    def _undo(self, buffer: Buffer, command: VimCommand) -> Buffer:
        """Take changes back, or with Ctrl+R do them again."""
        source, kept = (self._done, self._undone) if command.name == "u" else (self._undone, self._done)
        for _ in range(command.times):
            if not source:
                break
            kept.append(buffer)
            buffer = source.pop()
        return buffer.on_character()


TAB = "    "
"""What one step of indentation is."""


@dataclass(frozen=True, slots=True)
class Region:
    """The characters from `start` to before `end`, whole lines with `lines`; and where the cursor goes."""

    start: int
    end: int
    lines: bool
    cursor: int

    @classmethod
    def from_lines(cls, buffer: Buffer, first: int, last: int, cursor: int) -> Region:
        """The whole lines from that of `first` to that of `last`."""
        return cls(buffer.find_line_start(first), buffer.find_line_end(last), lines=True, cursor=cursor)

    def read_text(self, buffer: Buffer) -> str:
        """The text it takes, without the line break after its last line."""
        return buffer.text[self.start : self.end]


def find_motion_region(buffer: Buffer, command: VimCommand, target: MotionTarget) -> Region:
    """What an operator takes from the cursor to where a motion leads, as `:help exclusive-linewise` says."""
    first, last = sorted((buffer.cursor, target.offset))
    if target.kind is MotionKind.LINES:
        return Region.from_lines(buffer, first, last, first)
    if target.kind is MotionKind.INCLUSIVE:
        last += last < len(buffer.text) and buffer.text[last] != "\n"
    elif last > first and last == buffer.find_line_start(last) and buffer.find_line_start(first) != last:
        last -= 1
        if first <= buffer.indent_end(first):
            return Region.from_lines(buffer, first, last, first)
    spans_lines = "\n" in buffer.text[first:last]
    rest = buffer.text[last : buffer.find_line_end(last)]
    if command.name == "d" and spans_lines and not rest.strip(BLANKS) and first <= buffer.indent_end(first):
        return Region.from_lines(buffer, first, last, first)
    return Region(first, last, lines=False, cursor=first)


def find_object_region(buffer: Buffer, over: str, count: int) -> Region | None:
    """What a text object such as `iw` takes."""
    span = find_text_object(buffer, over[1], count, around=over[0] == "a")
    return None if span is None else Region(span.start, span.end, span.lines, span.start)


def indent(text: str, steps: int) -> str:
    """The lines moved right by so many steps, or left where negative. Empty lines stay empty."""
    width = len(TAB)

    def shift(line: str) -> str:
        if not line:
            return line
        body = line.lstrip(BLANKS)
        before = len(line[: len(line) - len(body)].expandtabs(width))
        return " " * max(0, before + steps * width) + body

    return "\n".join(shift(line) for line in text.split("\n"))


CASES: dict[str, Callable[[str], str]] = {"gu": str.lower, "gU": str.upper, "g~": str.swapcase}
"""What the operators for upper and lower case make of a text."""


def join(buffer: Buffer, lines: int) -> Buffer | None:
    """That many lines from the cursor's on as one (`J`); None where there is none below."""
    text, cursor = buffer.text, buffer.cursor
    end = buffer.find_line_end(cursor)
    if end == len(text):
        return None
    for _ in range(max(1, lines - 1)):
        end = Buffer(text).find_line_end(cursor)
        if end == len(text):
            break
        below = Buffer(text).find_line_end(end + 1)
        rest = text[end + 1 : below].lstrip(BLANKS)
        line = text[text.rfind("\n", 0, end) + 1 : end]
        blank = " " if line and rest and not rest.startswith(")") and not line.endswith((" ", "\t")) else ""
        text = text[:end] + blank + rest + text[below:]
        cursor = end
    return Buffer(text, cursor).on_character()


def find_target(
    buffer: Buffer, command: VimCommand, name: str, find: Find | None, column: int, *, operator: str | None
) -> MotionTarget | None:
    """Where a motion leads; None where it leads nowhere.

    `find` is the last search for a character, `column` where `j` and `k` want to be. An `operator` changes the
    extent of some motions.
    """
    count = command.times
    match name:
        case "h" | "l":
            target = motions.move_horizontally(buffer, count if name == "l" else -count)
            return MotionTarget(buffer.cursor) if target is None and operator else target
        case "j" | "k":
            return motions.move_vertically(buffer, count if name == "j" else -count, column)
        case "w" | "W" if operator == "c" and buffer.text[buffer.cursor : buffer.cursor + 1].strip():
            return motions.find_word_end(buffer, count, big=name == "W", stays_at_end=True)
        case "w" | "W":
            return motions.find_next_word(
                buffer, count, big=name == "W", stops_at_line_end=operator is not None
            )
        case "f" | "F" | "t" | "T":
            return motions.find_character(buffer, Find(name, command.char), count)
        case ";" | ",":
            if find is None:
                return None
            return motions.find_character(buffer, find if name == ";" else find.reversed, count, again=True)
        case _:
            return _SIMPLE_MOTIONS[name](buffer, command)


_SIMPLE_MOTIONS: dict[str, Callable[[Buffer, VimCommand], MotionTarget | None]] = {
    "b": lambda buffer, command: motions.find_previous_word(buffer, command.times, big=False),
    "B": lambda buffer, command: motions.find_previous_word(buffer, command.times, big=True),
    "e": lambda buffer, command: motions.find_word_end(buffer, command.times, big=False),
    "E": lambda buffer, command: motions.find_word_end(buffer, command.times, big=True),
    "0": lambda buffer, _: MotionTarget(buffer.find_line_start(buffer.cursor)),
    "^": lambda buffer, _: MotionTarget(buffer.find_first_nonblank(buffer.cursor)),
    "$": lambda buffer, command: motions.move_to_line_end(buffer, command.times),
    "G": lambda buffer, command: motions.move_to_line(buffer, command.count or buffer.line_count),
    "gg": lambda buffer, command: motions.move_to_line(buffer, command.times),
    "{": lambda buffer, command: motions.find_previous_paragraph(buffer, command.times),
    "}": lambda buffer, command: motions.find_next_paragraph(buffer, command.times),
    "%": lambda buffer, _: motions.find_matching_bracket(buffer),
}

"""Names of files as a tree: what a folder holds, and what a pattern found below it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct
from rich.style import Style

from quorum.application.view.entries import Call, Kept
from quorum.domain.text.amounts import format_amount, format_size
from quorum.domain.text.printable import make_printable
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.kinds import plain
from quorum.tui.transcript.kinds.plain import Part, Run, wrap_runs
from quorum.tui.transcript.kinds.source import draw_sentence

TELLS: frozenset[str] = frozenset()

_SIZED = re.compile(r"(.+)  (\d{1,15})")
_LINKED = re.compile(r"(.+) -> (.+)")
_REMARK = re.compile(r"\[.*\]")
_DEEPEST = 24


class _Node(Struct):
    """A name; `remark` is shown after it, `names` what it holds where it is a folder."""

    remark: str = ""
    is_folder: bool = False
    names: dict[str, _Node] = {}


def summarise(call: Call, output: Kept) -> str:
    """How many folders and files there are."""
    remarks = sum(_REMARK.fullmatch(line) is not None for line in plain.select_last_lines(output, 2))
    count = output.lines - remarks
    if (
        output.lines == 1
        and " " in output.head
        and not _SIZED.fullmatch(output.head)
        and not _LINKED.match(output.head)
    ):
        return ""  # a sentence, which the card shows
    folders = output.head.count("/\n") + output.head.rstrip("\n").endswith("/")
    parts = [format_amount(folders, "folder")] if folders else []
    return " · ".join([*parts, *([format_amount(count - folders, "file")] if count > folders else [])])


def draw_folded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """Nothing: the row counts them. A sentence in place of names is shown."""
    return Part() if summarise(call, output) else draw_sentence(output, width, palette)


def draw_unfolded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """Folders with what is in them below."""
    if not summarise(call, output):
        return plain.draw_unfolded(call, output, width, palette)
    part = Part()
    # Every line is at least one line of the tree: more of them could not be drawn anyway.
    lines = list(islice(plain.iterate_lines(output.head), part.room))
    remarks = [line for line in lines if _REMARK.fullmatch(line)]
    root = _Node(is_folder=True)
    for line in lines:
        if not _REMARK.fullmatch(line):
            _plant(root, line)
    whole = all(
        part.add(wrap_runs(runs, width, lead, hang)) for lead, hang, runs in _render_rows(root, palette)
    )
    if not whole or output.lines > len(lines):
        part.rest = f"{format_amount(max(output.lines - part.room, 1), 'line')} more"
    for line in remarks:
        part.add(wrap_runs([(make_printable(line, newlines=False), palette.muted)], width))
    return part


def _plant(root: _Node, line: str) -> None:
    remark = ""
    if sized := _SIZED.fullmatch(line):
        line, remark = sized[1], format_size(int(sized[2]))
    elif linked := _LINKED.fullmatch(line):
        line, remark = linked[1], f"→ {linked[2]}"
    is_folder = line.endswith("/")
    *folders, name = line.rstrip("/").split("/", _DEEPEST)
    node = root
    for folder in folders:
        node = node.names.setdefault(folder, _Node(is_folder=True))
        node.is_folder = True
    leaf = node.names.setdefault(name, _Node())
    leaf.remark, leaf.is_folder = remark, leaf.is_folder or is_folder


def _render_rows(root: _Node, palette: Palette) -> Iterator[tuple[list[Run], str, list[Run]]]:
    """What stands before a row, what before the next ones of the same name, and the row."""
    stack = [(iter(_join_folders(root)), "")]
    while stack:
        names, indent = stack[-1]
        entry = next(names, None)
        if entry is None:
            stack.pop()
            continue
        name, node, is_last = entry
        lead: list[Run] = [(indent + ("└─ " if is_last else "├─ "), palette.muted)]
        below = indent + ("   " if is_last else "│  ")
        runs: list[Run] = [(make_printable(name, newlines=False), _choose_style(node, palette))]
        remark = node.remark or (_format_count(len(node.names)) if node.names else "")
        if remark:
            runs.append((f"  {make_printable(remark, newlines=False)}", palette.muted))
        yield lead, below, runs
        if node.names:
            stack.append((iter(_join_folders(node)), below))


def _join_folders(node: _Node) -> Iterator[tuple[str, _Node, bool]]:
    """The names of a folder, a folder with nothing but another folder in it joined to that one."""
    last = len(node.names) - 1
    for place, (name, child) in enumerate(node.names.items()):
        while len(child.names) == 1 and not child.remark:
            ((only, grandchild),) = child.names.items()
            if not grandchild.is_folder:
                break
            name, child = f"{name}/{only}", grandchild
        yield (f"{name}/" if child.is_folder else name), child, place == last


def _choose_style(node: _Node, palette: Palette) -> Style:
    return palette.accent if node.is_folder else Style()


def _format_count(count: int) -> str:
    return f"{count:,} entr" + ("y" if count == 1 else "ies")

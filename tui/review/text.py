"""What a review says, as rows of a given width. All of it is data: drawn as it is, folded, never cut."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len, chop_cells, set_cell_size

from domain.packet import ReviewPacket
from domain.review import ReviewRequest
from tui.review.diff import DiffLine, paired, parse_diff
from tui.transcript.printable import printable

SIDE_BY_SIDE_FROM = 140
"""The width, in cells, from which a diff is drawn in two columns."""


class Kind(StrEnum):
    """What a piece of text is; the dialog gives each a look."""

    PLAIN = "plain"
    STRONG = "strong"
    QUIET = "quiet"
    ADDED = "added"
    REMOVED = "removed"
    HUNK = "hunk"
    WARNING = "warning"


class Line(NamedTuple):
    """Text under a heading of fixed width; rows it is folded into stand under one another."""

    head: str
    text: str
    kind: Kind = Kind.PLAIN
    head_kind: Kind = Kind.QUIET


Row: TypeAlias = tuple[tuple[str, Kind], ...]


def fold(lines: Iterable[Line], width: int) -> list[Row]:
    """The lines as rows no wider than `width` cells."""
    return [row for line in lines for row in _folded(line, width)]


def _folded(line: Line, width: int) -> Iterator[Row]:
    head = line.head
    for piece in _chopped(line.text, max(4, width - cell_len(head))):
        yield (head, line.head_kind), (piece, line.kind)
        head = " " * cell_len(head)


def _chopped(text: str, width: int) -> list[str]:
    if text.isascii():
        return [text[start : start + width] for start in range(0, len(text), width)] or [""]
    return chop_cells(text, width) or [""]


# -- what would run -------------------------------------------------------------------------------------------


def substance(packet: ReviewPacket, width: int) -> list[Row]:
    """The full diff, the full command, or all arguments of the call."""
    if (diff := packet.seal.diff) is not None:
        if not diff:
            return fold([Line("", "the file's text stays as it is", Kind.QUIET)], width)
        lines = parse_diff(diff)
        return _side_by_side(lines, width) if width >= SIDE_BY_SIDE_FROM else fold(_unified(lines), width)
    if (command := command_of(packet)) is not None:
        first, *further = command.split("\n")
        shown = [Line("$ ", _shown(first), Kind.STRONG), *(Line("  ", _shown(f), Kind.STRONG) for f in further)]
        return fold(shown, width)
    text = json.dumps(packet.call.arguments, ensure_ascii=False, indent=2)
    return fold([Line("", _shown(line)) for line in text.split("\n")], width)


def command_of(packet: ReviewPacket) -> str | None:
    """The command a packet would run, or None where it is no command."""
    command = packet.call.arguments.get("command")
    return command if packet.call.tool_name == "run_command" and isinstance(command, str) else None


def _shown(text: str) -> str:
    return printable(text, newlines=False)


_KINDS = {"+": Kind.ADDED, "-": Kind.REMOVED, "@": Kind.HUNK, " ": Kind.PLAIN, "": Kind.QUIET}


def _unified(lines: list[DiffLine]) -> Iterator[Line]:
    digits = _digits(lines)
    for line in lines:
        number = line.old if line.sign == "-" else line.new
        if line.sign in ("@", ""):
            yield Line("", _shown(line.text), _KINDS[line.sign])
        else:
            head = f"{number:>{digits}} {line.sign} "
            kind = _KINDS[line.sign]
            yield Line(head, _content(line), kind, Kind.QUIET if line.sign == " " else kind)


def _side_by_side(lines: list[DiffLine], width: int) -> list[Row]:
    digits, half = _digits(lines), (width - 3) // 2
    rows: list[Row] = []
    for left, right in paired(lines):
        if left is right and left is not None and left.sign in ("@", ""):
            rows += fold([Line("", _shown(left.text), _KINDS[left.sign])], width)
            continue
        lefts = _half(left, left and left.old, digits, half)
        rights = _half(right, right and right.new, digits, half)
        for place in range(max(len(lefts), len(rights))):
            one = lefts[place] if place < len(lefts) else _empty(half)
            other = rights[place] if place < len(rights) else _empty(half)
            rows.append((*one, (" │ ", Kind.QUIET), *other))
    return rows


def _half(line: DiffLine | None, number: int | None, digits: int, width: int) -> list[Row]:
    if line is None:
        return []
    kind = _KINDS[line.sign]
    head = f"{number:>{digits}} {line.sign} "
    rows = fold([Line(head, _content(line), kind, Kind.QUIET if line.sign == " " else kind)], width)
    return [(row[0], (set_cell_size(row[1][0], width - cell_len(head)), row[1][1])) for row in rows]


def _empty(width: int) -> Row:
    return ((" " * width, Kind.PLAIN),)


def _digits(lines: list[DiffLine]) -> int:
    return len(str(max((line.old or line.new or 0 for line in lines), default=0)))


_TRAILING = re.compile(r" +$")


def _content(line: DiffLine) -> str:
    """The text of a line; in changed ones tabs and spaces at the end are seen, for they may be the change."""
    if line.sign == " ":
        return _shown(line.text)
    text = line.text.replace("\t", "→   ")
    return _shown(_TRAILING.sub(lambda match: "·" * len(match[0]), text))


# -- what else there is to know -------------------------------------------------------------------------------

_SAID_BY_DIFF = frozenset({"path", "content", "old_text", "new_text"})
_LABEL_CELLS = 14


def facts(request: ReviewRequest, *, full_digest: bool) -> list[Line]:
    """Why it is asked, where it would run, what it touches, and what the seal cannot hold."""
    packet, seal = request.packet, request.packet.seal
    labelled: list[tuple[str, str, Kind]] = []
    if request.stale:
        changed = "what you approved is no longer what would run; this is how it stands now"
        labelled.append(("asked again", changed, Kind.WARNING))
    labelled += [("asks because", reason, Kind.PLAIN) for reason in request.reasons]
    labelled += [("with", argument, Kind.PLAIN) for argument in _other_arguments(packet)]
    labelled += [("touches", f"{_home(f.path)}  {_sha(f.sha256)}", Kind.PLAIN) for f in seal.files]
    labelled += [("runs", program, Kind.PLAIN) for program in seal.executables]
    labelled.append(("in", _home(seal.cwd), Kind.PLAIN))
    labelled += [
        ("environment", f"{name} removed" if value is None else f"{name}={value}", Kind.PLAIN)
        for name, value in seal.environment.items()
    ]
    if seal.unsealed:
        labelled.append(("not sealed", seal.unsealed, Kind.WARNING))
    if full_digest:
        labelled.append(("packet", packet.digest, Kind.PLAIN))
    return list(_with_labels(labelled))


def _with_labels(labelled: Iterable[tuple[str, str, Kind]]) -> Iterator[Line]:
    before = ""
    for label, text, kind in labelled:
        yield Line(f"{'' if label == before else label:<{_LABEL_CELLS}}", _shown(text), kind)
        before = label


def _other_arguments(packet: ReviewPacket) -> Iterator[str]:
    """Arguments that neither diff nor command shows."""
    said: frozenset[str]
    if packet.seal.diff:
        said = _SAID_BY_DIFF
    elif command_of(packet) is not None:
        said = frozenset({"command"})
    elif packet.seal.diff is None:
        return
    else:
        said = frozenset()
    for name, value in packet.call.arguments.items():
        if name not in said:
            yield f"{name} = {json.dumps(value, ensure_ascii=False)}"


def _sha(sha256: str | None) -> str:
    return "new file" if sha256 is None else f"sha {sha256[:4]}…{sha256[-3:]}"


def short(digest: str) -> str:
    """A digest as far as it is compared by eye."""
    return f"{digest[:4]}…{digest[-3:]}"


def _home(path: str) -> str:
    home = str(Path.home())
    return "~" + path[len(home) :] if path == home or path.startswith(home + "/") else path


def listed(request: ReviewRequest, width: int) -> list[Row]:
    """This call and the following ones, each with its digest and in full."""
    count = 1 + len(request.following)
    intro = (
        f"These {count} run as they are sealed now, each at its turn; one that differs by then is asked again."
    )
    rows = fold([Line("", intro, Kind.PLAIN)], width)
    for packet in (request.packet, *request.following):
        place = f"call {packet.context.call_index + 1} of {request.batch_size}"
        title = f"{place} · {_shown(packet.call.tool_name)} · packet {short(packet.digest)}"
        rows += [(), *fold([Line("", title, Kind.STRONG)], width)]
        rows += [(("  ", Kind.PLAIN), *row) for row in substance(packet, width - 2)]
    return rows

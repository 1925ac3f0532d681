"""What a session changed, as a unified diff of the recorded contents on stdout."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from quorum.domain.text.printable import make_printable
from quorum.errors import complain

if TYPE_CHECKING:
    from quorum.application.ports.storage import ContentStore
    from quorum.domain.calls.effects import FileState
    from quorum.domain.sessions.restoration import RestoreStep
    from quorum.domain.sessions.session_summary import LedgerRecord

_NOTHING = "the session left every file as it was before"
_IN_LAYER = "some of this was done in a layer, and reached the folder only as it was applied"
_RESET, _BOLD, _RED, _GREEN, _CYAN = "\x1b[m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[36m"


async def print_session_diff(
    records: Sequence[LedgerRecord], contents: ContentStore, mask: Callable[[str], str], *, cwd: str
) -> int:
    """Print how the session left the files against how they were before its first turn; always 0.

    Names are those from the folder `cwd` on. What the record does not tell is said on stderr.
    """
    from quorum.domain.sessions.replay import replay_state
    from quorum.domain.sessions.restoration import plan_from_record

    state = replay_state(records)
    plan = plan_from_record(state.turns, state.last_written)
    has_colours = is_colour_wanted(os.environ, is_terminal=sys.stdout.isatty())
    for step in plan.steps:
        for line in mask(await _render_file(step, contents, cwd)).split("\n")[:-1]:
            sys.stdout.write(_colour(line) if has_colours else f"{_make_printable(line)}\n")
    complain(plan.unseen if plan.steps or plan.unseen else [_NOTHING])
    complain(_list_layer_remarks(records) if plan.steps else ())
    return 0


def _list_layer_remarks(records: Sequence[LedgerRecord]) -> Iterator[str]:
    """What became of the changes that were made in layers: the record of files is that of what calls saw."""
    from quorum.domain.events.event import EffectsReviewed, LayerEntered

    events = [record.event for record in records]
    if any(isinstance(event, LayerEntered) for event in events):
        yield _IN_LAYER
    yield from (event.sentence for event in events if isinstance(event, EffectsReviewed))


def is_colour_wanted(environ: Mapping[str, str], *, is_terminal: bool) -> bool:
    """Whether to print colours: on a terminal that has them, where nobody said otherwise."""
    return is_terminal and not environ.get("NO_COLOR") and environ.get("TERM", "dumb") != "dumb"


async def _render_file(step: RestoreStep, contents: ContentStore, cwd: str) -> str:
    """The changes of one file. What is no text, and what is not stored, is said in a line with a `#`."""
    from quorum.domain.errors import LedgerError
    from quorum.infrastructure.files.diff import render_unified_diff
    from quorum.infrastructure.files.workspace import escape_path

    before, after = step.wanted, step.now
    name = escape_path(step.path.removeprefix(cwd.rstrip("/") + "/"))
    lines = [f"# {name}: {remark}\n" for remark in _list_remarks(before, after)]
    if not _is_stored(before) or not _is_stored(after):
        return "".join(lines)
    try:
        old, new = await _read(before, contents), await _read(after, contents)
    except LedgerError as error:
        return "".join([*lines, f"# {name}: {error}\n"])
    if old is None and new is None:
        return "".join(lines)
    head, has_hunks, hunks = render_unified_diff(old, new, name).partition("\n@@ ")
    names = ("--- ", "+++ ")
    lines += [f"# {name}: {line}\n" for line in head.splitlines() if not line.startswith(names)]
    if has_hunks:  # none: an empty file, or bytes that are no text
        lines += [f"{line}\n" for line in head.splitlines() if line.startswith(names)]
    return "".join(lines) + (f"@@ {hunks}" if has_hunks else "")


def _list_remarks(before: FileState | None, after: FileState | None) -> Iterator[str]:
    """What no line of a diff can say."""
    from quorum.domain.calls.effects import FileKind
    from quorum.infrastructure.files.workspace import escape_path

    kinds = {FileKind.FILE: "a file", FileKind.LINK: "a link", FileKind.OTHER: "neither file nor link"}
    if before is None or after is None:
        state = before or after
        assert state is not None
        link = f", a link to {escape_path(state.target)}" if state.target is not None else ""
        size = f", {state.size} bytes" if state.kind is FileKind.FILE else ""
        yield f"{'new' if before is None else 'deleted'}{link}{size}"
    elif before.kind is not after.kind:
        yield f"{kinds[before.kind]} became {kinds[after.kind]}"
    else:
        if before.target != after.target:
            leads = [escape_path(each.target or "nowhere") for each in (before, after)]
            yield f"leads to {leads[0]} → {leads[1]}"
        if before.mode != after.mode:
            yield f"mode {before.mode:04o} → {after.mode:04o}"
    for which, kept in (("former", before), ("later", after)):
        if kept is not None and not _is_stored(kept):
            yield f"its {which} content was not kept ({kept.unkept or 'it could not be read'})"


def _is_stored(state: FileState | None) -> bool:
    """Whether nothing of a state is missing in the storage."""
    from quorum.domain.calls.effects import FileKind

    if state is None or state.kind is not FileKind.FILE:
        return True
    return state.sha256 is not None and state.unkept is None


async def _read(state: FileState | None, contents: ContentStore) -> bytes | None:
    """The content of a file that is stored; None where it was no file."""
    from quorum.domain.calls.effects import FileKind

    if state is None or state.kind is not FileKind.FILE or state.sha256 is None:
        return None
    return await contents.get(state.sha256)


def _make_printable(line: str) -> str:
    """The line with nothing in it that acts or hides; tabs stay, so that the diff can be applied."""
    return "\t".join(make_printable(part, newlines=False) for part in line.split("\t"))


def _colour(line: str) -> str:
    colour = ""
    if line.startswith(("--- ", "+++ ", "# ")):
        colour = _BOLD
    elif line.startswith("@@"):
        colour = _CYAN
    elif line.startswith(("+", "-")):
        colour = _GREEN if line[0] == "+" else _RED
    text = _make_printable(line)
    return f"{colour}{text}{_RESET}\n" if colour else f"{text}\n"

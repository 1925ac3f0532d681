"""The title of a review: what would be done, where, how much, and its place among the calls of the batch."""

from __future__ import annotations

from os.path import join, normpath
from typing import NamedTuple

from rich.cells import cell_len

from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.calls.tool_traits import find_traits
from quorum.domain.review.questions import ReviewRequest
from quorum.domain.text.amounts import format_amount, shorten_home
from quorum.domain.text.unified_diff import NO_FILE
from quorum.tui.screens.review.earlier import Earlier
from quorum.tui.transcript.cells.lines import fit_text
from quorum.tui.transcript.kinds.diff import format_counts, parse_lines
from quorum.tui.transcript.kinds.rows import clean_line

_TARGETS = ("path", "base_dir", "url", "query", "pattern")
_GAP = " · "
_LEAST_OF_TARGET = 8


class ReviewTitle(NamedTuple):
    """`what` names the action and its target; `rest` is drawn in full beside it, whatever the width."""

    what: str
    rest: str

    def fit(self, width: int) -> str:
        """The title in at most so many cells: what does not fit of the target is cut, with an ellipsis."""
        room = max(width - cell_len(self.rest), _LEAST_OF_TARGET)
        return fit_text(fit_text(self.what, room) + self.rest, width)

    def is_cut(self, width: int) -> bool:
        """Whether the target does not fit."""
        return cell_len(self.what + self.rest) > width


def build_title(packet: ReviewPacket, root: str, *, spoken: bool = False) -> ReviewTitle:
    """What a call would do and to what; paths are relative to `root`, the folder of the session. `spoken`:
    words stand for signs."""
    counts = format_counts(packet.seal.diff or "", spoken=spoken)
    return ReviewTitle(_describe(packet, root), f"  {counts}" if counts else "")


def build_request_title(
    request: ReviewRequest, earlier: Earlier, root: str, *, spoken: bool = False
) -> ReviewTitle:
    """The same of what is asked, with its place in the batch and whether it was asked before."""
    what, counts = build_title(request.packet, root, spoken=spoken)
    place = request.packet.context.call_index + 1
    rest = [f"call {place} of {request.batch_size}"] if request.batch_size > 1 else []
    rest += ["for a task"] if request.packet.asked_by else []
    rest += ["asked again"] if request.stale else []
    rest += ["your edit"] if earlier.is_edited else []
    return ReviewTitle(what, counts + "".join(_GAP + text for text in rest))


def relate_path(path: str, root: str) -> str:
    """A path as it is called from `root`; one outside of it in full, with `~` for the home directory."""
    if path == root:
        return "."
    below = root.rstrip("/") + "/"
    return path.removeprefix(below) if root and path.startswith(below) else shorten_home(path)


def says_all(packet: ReviewPacket) -> bool:
    """Whether the title says all that a call is given, as of one that reads one file."""
    given = packet.call.arguments
    if not find_traits(packet.call.tool_name).title or len(given) != 1:
        return False
    ((name, value),) = given.items()
    if name not in _TARGETS or not isinstance(value, str) or clean_line(value) != value:
        return False
    paths = [file.path for file in packet.seal.files]
    return not paths or paths == [normpath(join(packet.seal.cwd, value))]


def _describe(packet: ReviewPacket, root: str) -> str:
    tool, seal = packet.call.tool_name, packet.seal
    traits = find_traits(tool)
    verb = traits.title or clean_line(format_tool_name(tool))
    if traits.command:
        folder = relate_path(seal.cwd, root)
        return verb if folder == "." else f"{verb} in {clean_line(folder.rstrip('/'))}/"
    if len(seal.files) > 1:
        return f"{verb} {format_amount(len(seal.files), 'file')}"
    if seal.files:
        return f"{_choose_verb_of_file(packet, verb)} {clean_line(relate_path(seal.files[0].path, root))}"
    named = (packet.call.arguments.get(name) for name in _TARGETS)
    target = next((value for value in named if isinstance(value, str) and value), "")
    return f"{verb} {clean_line(target)}" if target else verb


def _choose_verb_of_file(packet: ReviewPacket, verb: str) -> str:
    if not find_traits(packet.call.tool_name).title or packet.seal.diff is None:
        return verb
    if packet.seal.files[0].sha256 is None:
        return "Create"
    names = next((line.names for line in parse_lines(packet.seal.diff) if line.names is not None), None)
    return "Delete" if names is not None and names.new == NO_FILE else "Edit"

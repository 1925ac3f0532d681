"""The kinds of outputs, and how each is looked at: the one place that chooses."""

from __future__ import annotations

from typing import Protocol, assert_never

from quorum.application.view.entries import Call, Kept
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool_traits import OutputKind, find_traits
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.kinds import diff, json_tree, matches, plain, plan, reply, source, terminal, tree
from quorum.tui.transcript.kinds.plain import Part

_LOOKED_AT = 4_000


class View(Protocol):
    """A way to look at a call and its output. What it cannot make out it shows as plain text."""

    @property
    def TELLS(self) -> frozenset[str]:
        """The names of the arguments that it tells itself."""
        ...

    def summarise(self, call: Call, output: Kept) -> str:
        """The output in a few words, for the row of the call."""
        ...

    def draw_folded(self, call: Call, output: Kept, width: int, palette: Palette) -> Part:
        """The few lines that matter."""
        ...

    def draw_unfolded(self, call: Call, output: Kept, width: int, palette: Palette) -> Part:
        """As much of it as a card holds."""
        ...


def find_kind(call: Call) -> OutputKind:
    """The kind of a call: by its tool, by what it changes, and else by the shape of its output."""
    known = find_traits(call.tool).output  # what tools of others answer is recognised by its shape
    if known is OutputKind.TERMINAL or (known is None and isinstance(call.arguments.get("command"), str)):
        return OutputKind.TERMINAL
    if call.outcome not in (None, Outcome.OK):
        return OutputKind.PLAIN  # a sentence about what went wrong
    if known is not None:
        return known
    if call.diff is not None:
        return OutputKind.CHANGES
    return _guess_by_shape(call.output) if call.output is not None else OutputKind.PLAIN


def _guess_by_shape(output: Kept) -> OutputKind:
    if not output.tail and json_tree.find_json(output.head) is not None:
        return OutputKind.JSON
    beginning = output.head[:_LOOKED_AT]
    return (
        OutputKind.TERMINAL
        if "\x1b[" in beginning or "\r" in beginning.replace("\r\n", "")
        else OutputKind.PLAIN
    )


def choose_view(call: Call) -> View:
    """How a call is looked at."""
    match kind := find_kind(call):
        case OutputKind.CHANGES:
            return diff
        case OutputKind.TERMINAL:
            return terminal
        case OutputKind.MATCHES:
            return matches
        case OutputKind.TREE:
            return tree
        case OutputKind.SOURCE:
            return source
        case OutputKind.JSON:
            return json_tree
        case OutputKind.PLAN:
            return plan
        case OutputKind.REPLY:
            return reply
        case OutputKind.PLAIN:
            return plain
        case _:
            assert_never(kind)

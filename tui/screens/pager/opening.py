"""Which text the pager shows of a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quorum.application.view.entries import Call, Kept
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.text.amounts import format_amount, format_size
from quorum.tui.screens.pager.pager_screen import PagerScreen
from quorum.tui.transcript.draw.status import shorten_arguments

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession

_LONGEST_LINE = 16_384


async def open_pager(call: Call, agent: AgentSession) -> PagerScreen:
    """A pager over the stored output of a call, over its diff, or over what is kept of its output.

    Raises BlobError where the stored output is gone.
    """
    name = f"{format_tool_name(call.tool)} {shorten_arguments(call)[0]}".strip()
    if call.stored is not None:
        lines = await agent.outputs.open_lines(call.stored.blob_id)
        return PagerScreen(lines, name, format_size(call.stored.size_bytes))
    output = _render_text(call.output) if call.output is not None else ""
    text = call.diff if call.diff is not None else output
    size = format_size(len(text.encode("utf-8", "replace")))
    return PagerScreen(KeptLines(text), name, size, is_diff=call.diff is not None)


def _render_text(output: Kept) -> str:
    if not output.tail:
        return output.head
    return f"{output.head}\n… {format_amount(output.left_out_lines, 'line')} not kept here …\n{output.tail}"


class KeptLines:
    """A line source over text that was kept for the screen. Only a newline ends a line; one at the very end
    begins no other. Lines longer than 16,384 characters are cut, which a … shows."""

    def __init__(self, text: str) -> None:
        lines = text.removesuffix("\n").split("\n") if text else []
        self._lines: Sequence[str] = [line.removesuffix("\r") for line in lines]

    def read_lines(self, start: int, count: int) -> list[str]:
        """At most `count` lines from line `start` on."""
        return [_cut(line) for line in self._lines[start : start + count]]

    def find(self, needle: str, start: int, *, backwards: bool) -> int | None:
        if not needle or start < 0:
            return None
        last = len(self._lines) - 1
        places = range(min(start, last), -1, -1) if backwards else range(start, last + 1)
        return next((place for place in places if needle in self._lines[place]), None)

    def count_so_far(self) -> tuple[int, bool]:
        """How many lines there are; they are known from the start."""
        return len(self._lines), True


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + "…"

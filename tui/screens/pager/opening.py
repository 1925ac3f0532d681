"""Which text the pager shows of a call."""

from __future__ import annotations

from application.view.entries import Call, Kept
from domain.text.amounts import amount, size
from tui.agent.port import Agent
from tui.screens.pager.kept_lines import KeptLines
from tui.screens.pager.screen import PagerScreen
from tui.transcript.draw.status import arguments_in_short


def pager_for(call: Call, agent: Agent) -> PagerScreen:
    """A pager over the stored output of a call, over its diff, or over what is kept of its output.

    Raises BlobError where the stored output is gone.
    """
    name = f"{call.tool} {arguments_in_short(call)[0]}".strip()
    if call.stored is not None:
        return PagerScreen(agent.outputs.open_lines(call.stored.blob_id), name, size(call.stored.size_bytes))
    output = _text(call.output) if call.output is not None else ""
    text = call.diff if call.diff is not None else output
    return PagerScreen(KeptLines(text), name, size(len(text.encode("utf-8", "replace"))))


def _text(output: Kept) -> str:
    if not output.tail:
        return output.head
    return f"{output.head}\n… {amount(output.left_out_lines, 'line')} not kept here …\n{output.tail}"

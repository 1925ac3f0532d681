"""The screen of `/context`: what fills the model's window, what is large in it, and what could be freed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from textual.content import Content

from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.conversation.context_account import ContextAccount, ContextEntry, ContextKind, ContextShare
from quorum.domain.text.amounts import format_tokens
from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyed_app import READER
from quorum.tui.screens.accounts.sheet import CELLS, AccountSheet
from quorum.tui.widgets.colours import QUIET

_NAME_CELLS, _NUMBER_CELLS, _BAR_CELLS = 26, 8, 30
_MOST_AROUND = CELLS - _BAR_CELLS
_FULL, _EMPTY, _LIMIT = "█", "░", "┃"
_CALLED = {
    ContextKind.INSTRUCTIONS: "instructions",
    ContextKind.TOOLS: "tools: what they are",
    ContextKind.SUMMARY: "summary of the past",
    ContextKind.PROMPTS: "your prompts",
    ContextKind.IMAGES: "images",
    ContextKind.DOCUMENTS: "PDFs",
    ContextKind.FILES: "files in prompts",
    ContextKind.ANSWERS: "answers",
    ContextKind.REASONING: "reasoning",
    ContextKind.CALLS: "calls of tools",
    ContextKind.OUTPUTS: "outputs of",
}


class ContextScreen(AccountSheet):
    """Shows an account of the window as it was when this was opened. `hide` takes secrets out of a text."""

    HEADING = "Context"

    def __init__(self, account: ContextAccount, model: str, hide: Callable[[str], str]) -> None:
        super().__init__()
        self._account, self._model, self._hide = account, model, hide

    def build_lines(self, width: int) -> Iterator[Content]:
        """How full, what with, what is large, what is to be done."""
        account = self._account
        yield Content(f"{make_printable(self._model, newlines=False)}  ·  {_describe_fill(account)}").stylize(
            "bold"
        )
        spoken = self.app.has_class(READER)
        if account.window and not spoken:
            yield _render_bar(account, width - 1)
        yield Content("")
        most = max((share.tokens for share in account.shares), default=1)
        yield from (
            _share(share, most, 0 if spoken else max(1, width - _MOST_AROUND))
            for share in account.shares
            if share.tokens
        )
        if account.window:
            free = max(0, account.window - account.tokens)
            yield _render_row("free", free, Content(f" {_render_percent(free, account.window)}").stylize(QUIET))
        if account.largest:
            yield Content("")
            yield Content("Largest entries").stylize("bold $text-accent")
            yield from (_render_entry(entry, self._hide, width - 1) for entry in account.largest)
        yield Content("")
        yield from (Content(line).stylize(QUIET) for line in _list_advice(account))


def _describe_fill(account: ContextAccount) -> str:
    used = f"about {format_tokens(account.tokens)}"
    if not account.window:
        return f"{used} tokens; how many fit is not known"
    return (
        f"{used} of {format_tokens(account.window)} tokens, {_render_percent(account.tokens, account.window)}"
    )


def _render_bar(account: ContextAccount, width: int) -> Content:
    """The window; what is used is filled, and a line stands where room is made."""
    used = min(width, round(width * account.tokens / account.window))
    cells = [_FULL] * used + [_EMPTY] * (width - used)
    if account.limit:
        cells[min(width - 1, round(width * account.limit / account.window))] = _LIMIT
    level = account.tokens / account.window
    style = "$text-error" if level > 0.85 else "$text-warning" if level > 0.6 else "$text-success"
    return Content("".join(cells)).stylize(style)


def _share(share: ContextShare, most: int, bar: int) -> Content:
    """How large one is, in a number and in a bar of up to so many cells; without cells, none."""
    of = format_tool_name(share.name) if share.kind is ContextKind.OUTPUTS else share.name
    name = f"{_CALLED[share.kind]} {make_printable(of, newlines=False)}".rstrip()
    cells = min(bar, max(1, round(bar * share.tokens / most)))
    return _render_row(name, share.tokens, Content(_FULL * cells).stylize("$primary"))


def _render_row(name: str, count: int, right: Content) -> Content:
    left = Content(name).truncate(_NAME_CELLS - 1, ellipsis=True)
    number = f"{format_tokens(count):>{_NUMBER_CELLS}}"
    return left + Content(" " * (_NAME_CELLS - left.cell_length) + number + "  ") + right


def _render_entry(entry: ContextEntry, hide: Callable[[str], str], width: int) -> Content:
    kind = _CALLED[entry.kind].removesuffix(" of").removeprefix("your ")
    text = f"{kind}: {make_printable(hide(entry.label), newlines=False)}" if entry.label else kind
    said = Content(text).truncate(width - _NUMBER_CELLS - 2, ellipsis=True)
    return Content(f"{format_tokens(entry.tokens):>{_NUMBER_CELLS}}  ") + said


def _list_advice(account: ContextAccount) -> Iterator[str]:
    yield "All numbers are estimates, corrected by each count from the provider."
    if account.limit:
        share = f" ({_render_percent(account.limit, account.window)})" if account.window else ""
        how = "compacted automatically: old outputs first, then a summary."
        yield f"At {format_tokens(account.limit)}{share} it is {how}"
    else:
        yield "No automatic compaction (context_budget.compact_at = 0)."
    if account.freed:
        yield f"/compact would free about {format_tokens(account.freed)} or more."
    else:
        yield "/compact would free too little now."


def _render_percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"

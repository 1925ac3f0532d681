"""The dialogs that ask before a worktree is merged, and before it is dropped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from quorum.domain.text.ages import shorten_home
from quorum.domain.text.amounts import format_amount
from quorum.tui.screens.question_card import QuestionCard
from quorum.tui.screens.review.text.rows import Line, LineKind, build_diff_line, clean_line, shorten_digest

if TYPE_CHECKING:
    from quorum.domain.worktrees.worktree import Worktree, WorktreeChange, WorktreeLoss

_MOST_LINES = 2_000


class MergeWorktreeDialog(QuestionCard):
    """Asks whether to merge this change. `hide` takes secrets out of what is drawn."""

    HEADING = "Merge this worktree?"
    REFUSE = ("{merge_refuse=n}", "do not merge")
    ACCEPT = ("{merge_accept=y}", "merge as shown")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "accept", "Commit what is not committed, and merge", id="merge_accept"),
        Binding("n,escape", "refuse", "Change nothing", id="merge_refuse"),
        Binding("up", "scroll(-1)", "Scroll up", show=False, id="merge_up"),
        Binding("down", "scroll(1)", "Scroll down", show=False, id="merge_down"),
        Binding("left,right,tab,shift+tab", "mark", "The other choice", show=False, id="merge_mark"),
    ]

    def __init__(
        self, change: WorktreeChange, hide: Callable[[str], str], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(clock=clock)
        self._change, self._hide = change, hide

    def format_subtitle(self) -> str:
        """What the answer is bound to."""
        return f"sha256 {shorten_digest(self._change.digest)}"

    def build_lines(self) -> Iterator[Line]:
        """Where it goes, what is committed for it, and the whole change."""
        worktree = self._change.worktree
        yield Line("from  ", clean_line(worktree.branch), LineKind.STRONG)
        yield Line("to    ", clean_line(worktree.onto), LineKind.STRONG)
        yield Line("      ", clean_line(shorten_home(self._change.target)), LineKind.QUIET)
        yield Line("      ", self._change.brings.description)
        if files := self._change.brings.files:
            yield Line("      ", "What is not committed is committed first:", LineKind.QUIET)
            yield from _list_files(files)
        yield Line("", "No hook, filter or merge driver of the repository runs.", LineKind.QUIET)
        yield Line("", "")
        shown = self._hide(self._change.diff.rstrip("\n")).split("\n")
        yield from _draw_diff(shown[:_MOST_LINES])
        if (more := len(shown) - _MOST_LINES) > 0:
            rest = f"{format_amount(more, 'line')} more: /worktree diff shows all of it"
            yield Line("", rest, LineKind.WARNING)


class DropWorktreeDialog(QuestionCard):
    """Asks whether to remove a worktree and its branch, and says what is lost with it."""

    HEADING = "Drop this worktree?"
    REFUSE = ("{drop_refuse=n}", "keep it")
    ACCEPT = ("{drop_accept=y}", "drop it")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "accept", "Remove the worktree and its branch", id="drop_accept"),
        Binding("n,escape", "refuse", "Keep it", id="drop_refuse"),
        Binding("up", "scroll(-1)", "Scroll up", show=False, id="drop_up"),
        Binding("down", "scroll(1)", "Scroll down", show=False, id="drop_down"),
        Binding("left,right,tab,shift+tab", "mark", "The other choice", show=False, id="drop_mark"),
    ]

    def __init__(
        self, worktree: Worktree, loss: WorktreeLoss, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(clock=clock)
        self._worktree, self._loss = worktree, loss

    def build_lines(self) -> Iterator[Line]:
        """What is removed, and what of it is in no other place."""
        yield Line("branch  ", clean_line(self._worktree.branch), LineKind.STRONG)
        yield Line("folder  ", clean_line(shorten_home(self._worktree.folder)), LineKind.STRONG)
        yield Line("", "")
        if not self._loss.description:
            yield Line("", f"{clean_line(self._worktree.onto)} has all of it; nothing is lost.", LineKind.GOOD)
        else:
            yield Line("", f"{self._loss.description} will be lost for good.", LineKind.WARNING)
            yield from _list_files(self._loss.files)
        yield Line("", "Files that git ignores, such as build results, go as well.", LineKind.QUIET)


def _draw_diff(lines: list[str]) -> Iterator[Line]:
    """The lines of a change, each file below the head that git gives it."""
    is_head = True
    for text in lines:
        if text.startswith("diff --git "):
            is_head = True
        elif text.startswith("@@"):
            is_head = False
        if is_head:
            begins = text.startswith("diff --git ")
            yield Line("", clean_line(text), LineKind.STRONG if begins else LineKind.QUIET)
        else:
            yield build_diff_line(text)


def _list_files(files: tuple[str, ...]) -> Iterator[Line]:
    for file in files[:_MOST_LINES]:
        yield Line("      ", clean_line(file))
    if (more := len(files) - _MOST_LINES) > 0:
        yield Line("      ", f"and {format_amount(more, 'file')} more", LineKind.QUIET)

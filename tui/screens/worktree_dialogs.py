"""The dialogs that ask what a new worktree gets, before one is merged, and before it is dropped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.widgets import Input

from quorum.domain.text.amounts import format_amount, shorten_home
from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyed_app import fill_in_keys
from quorum.tui.screens.question_card import QuestionCard, build_changed_lines
from quorum.tui.screens.review.choice_bar import ChoiceBar
from quorum.tui.screens.review.widgets import ScrollableText
from quorum.tui.transcript.kinds.diff import build_diff_lines
from quorum.tui.transcript.kinds.rows import Line, LineKind, clean_line
from quorum.tui.widgets.dialog_parts import LineInput

if TYPE_CHECKING:
    from quorum.domain.worktree import LinksProposal, Worktree, WorktreeChange, WorktreeLoss

_MOST_LINES = 2_000


class LinksOfferDialog(QuestionCard):
    """Asks whether new worktrees get links to what installers brought into the main working tree."""

    HEADING = "Link what this worktree lacks?"
    REFUSE = ("{links_refuse=n}", "no, never")
    ACCEPT = ("{links_accept=y}", "yes, and later ones")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "accept", "Write the settings and make the links", id="links_accept"),
        Binding("n", "refuse", "Make none, and do not offer it again", id="links_refuse"),
        Binding("escape", "put_off", "Decide nothing: ask again at the next worktree", id="links_put_off"),
        Binding("up", "scroll(-1)", "Scroll up", show=False, id="links_up"),
        Binding("down", "scroll(1)", "Scroll down", show=False, id="links_down"),
        Binding("left,right,tab,shift+tab", "mark", "The other choice", show=False, id="links_mark"),
    ]

    def __init__(self, proposal: LinksProposal, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock=clock)
        self._proposal = proposal
        self.is_put_off = False
        """Whether it was closed without an answer."""

    def format_subtitle(self) -> str:
        """What leaves it open."""
        return "esc decides nothing: you are asked again at the next worktree"

    def action_put_off(self) -> None:
        """Make no link, and have it asked again."""
        self.is_put_off = True
        self.dismiss(False)

    def build_lines(self) -> Iterator[Line]:
        """What is missing, where links lead, and every line that changes in the settings."""
        yield Line("lacks    ", ", ".join(map(clean_line, self._proposal.folders)), LineKind.STRONG)
        yield Line("links to ", clean_line(shorten_home(self._proposal.source)), LineKind.STRONG)
        yield Line("         ", "Commands read there what is installed. In the sandbox they cannot change it.")
        yield Line("file     ", clean_line(shorten_home(self._proposal.file)), LineKind.STRONG)
        if self._proposal.is_new:
            yield Line("         ", "a new file", LineKind.QUIET)
        yield Line("", "")
        yield from build_changed_lines(self._proposal.lines)


class MergeWorktreeDialog(QuestionCard):
    """Asks whether to merge this change. `hide` takes secrets out of what is drawn; `message` is the one of the
    commits, which can be edited."""

    HEADING = "Merge this worktree?"
    REFUSE = ("{merge_refuse=n}", "do not merge")
    ACCEPT = ("{merge_accept=y}", "merge as shown")
    ROWS = ScrollableText
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "accept", "Commit what is not committed, and merge", id="merge_accept"),
        Binding("n", "refuse", "Change nothing", id="merge_refuse"),
        Binding("escape", "back", "Leave the message as it is; else change nothing", id="merge_back"),
        Binding("e", "edit", "Edit the message", id="merge_edit"),
        Binding("up", "scroll(-1)", "Scroll up", show=False, id="merge_up"),
        Binding("down", "scroll(1)", "Scroll down", show=False, id="merge_down"),
        Binding("left,right,tab,shift+tab", "mark", "The other choice", show=False, id="merge_mark"),
    ]

    DEFAULT_CSS: ClassVar[str] = """
    MergeWorktreeDialog {
        & #entry { display: none; border: none; height: 1; padding: 0; margin-top: 1; background: $panel; }
        &.-editing #entry { display: block; }
    }
    """

    def __init__(
        self,
        change: WorktreeChange,
        message: str,
        hide: Callable[[str], str],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(clock=clock)
        self._change, self._hide = change, hide
        self.message = message

    def on_mount(self) -> None:
        """Put the line to type in above the choices."""
        self.query_one("#question").mount(
            LineInput(id="entry", select_on_focus=False), before=self.query_one("#choices")
        )

    def format_subtitle(self) -> str:
        """What the keys do."""
        if self.takes_text:
            return "enter keeps the message · esc leaves it as it was"
        return fill_in_keys("{merge_edit=e} edits the message", self.app)

    def build_lines(self) -> Iterator[Line]:
        """Where it goes, what is committed for it, and the whole change."""
        worktree = self._change.worktree
        yield Line("from  ", clean_line(worktree.branch), LineKind.STRONG)
        yield Line("to    ", clean_line(worktree.onto), LineKind.STRONG)
        yield Line("      ", clean_line(shorten_home(self._change.target)), LineKind.QUIET)
        yield Line("as    ", clean_line(self.message), LineKind.STRONG)
        yield Line("      ", self._change.brings.description)
        if files := self._change.brings.files:
            yield Line("      ", "What is not committed is committed first:", LineKind.QUIET)
            yield from _list_files(files)
        yield Line("", "No hook, filter or merge driver of the repository runs.", LineKind.QUIET)
        yield Line("", "")
        shown = build_diff_lines(self._hide(self._change.diff), spoken=self.is_spoken)
        yield from shown[:_MOST_LINES]
        if (more := len(shown) - _MOST_LINES) > 0:
            rest = f"{format_amount(more, 'line')} more: /worktree diff shows all of it"
            yield Line("", rest, LineKind.WARNING)

    # -- the message --------------------------------------------------------------------------------------

    @property
    def _entry(self) -> LineInput:
        return self.query_one("#entry", LineInput)

    @property
    def takes_text(self) -> bool:
        """Whether the message is being edited."""
        return self.has_class("-editing")

    @property
    def unsent_text(self) -> str:
        """What is typed for it."""
        return self._entry.value if self.takes_text else ""

    @property
    def lines_above_choices(self) -> int:
        """A gap, and the message that is typed."""
        return 2 * self.takes_text

    def admits(self, event: events.Key) -> bool:
        """What is typed may come as fast as it will; answers may not."""
        return self.takes_text or super().admits(event)

    def action_edit(self) -> None:
        """Type another message."""
        self.add_class("-editing")
        self._lay_out()
        self._entry.value = self.message
        self._entry.cursor_position = len(self.message)
        self._entry.focus()
        self._lay_out()
        self.query_one(ChoiceBar).set_class(True, "-dead")
        self.show_notice()

    @on(Input.Submitted, "#entry")
    def _keep(self, message: Input.Submitted) -> None:
        message.stop()
        typed = make_printable(" ".join(message.value.split()), newlines=False)
        if not typed:
            self.note("a commit needs a message")
            return
        self.message = typed
        self._end_editing()

    def action_back(self) -> None:
        """Leave the message as it was; where it is not edited, do not merge."""
        if self.takes_text:
            self._end_editing()
        else:
            self.dismiss(False)

    def _end_editing(self) -> None:
        self.remove_class("-editing")
        self.query_one(ChoiceBar).focus()
        self.note("")
        self.show_anew()


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


def _list_files(files: tuple[str, ...]) -> Iterator[Line]:
    for file in files[:_MOST_LINES]:
        yield Line("      ", clean_line(file))
    if (more := len(files) - _MOST_LINES) > 0:
        yield Line("      ", f"and {format_amount(more, 'file')} more", LineKind.QUIET)

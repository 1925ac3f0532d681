"""The screen of `/findings`: what a code review found, and the place of each finding."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from quorum.application.view.wording import (
    describe_finding,
    describe_finding_place,
    describe_verdict_and_findings,
    explain_finding,
)
from quorum.domain.code_review.review_result import CodeFinding, FindingStanding, ReviewResult
from quorum.domain.errors import QuorumError
from quorum.domain.text.amounts import format_size
from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyboard_guard import HoldsLetters
from quorum.tui.screens.pager_screen import KeptLines, PagerScreen
from quorum.tui.widgets.dialog_parts import ClosesItself, DialogFrame
from quorum.tui.widgets.line_list import LineList, Move

if TYPE_CHECKING:
    from quorum.application.ports.workspace import ReviewedFiles

_MOST_LINES = 8
_KEYS = "{findings_open=enter} opens its place · {findings_edit=e} in your editor · esc back"


class FindingsScreen(HoldsLetters, ClosesItself, ModalScreen[None]):
    """Lists the findings of `result`, the surest first, with all that was said of the marked one below.

    `files` reads what they name, as it is now; `workspace` is a folder whose programs are never started.
    """

    ALONE = frozenset({"edit_place"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move('up')", "The finding above", id="findings_up"),
        Binding("down,j", "move('down')", "The finding below", id="findings_down"),
        Binding("pageup", "scroll(-1)", "Scroll what was said of it", id="findings_page_up"),
        Binding("pagedown", "scroll(1)", "Scroll what was said of it", id="findings_page_down"),
        Binding("enter", "open_place", "Open its place in the pager", id="findings_open"),
        Binding("e", "edit_place", "Open its place in your editor", id="findings_edit"),
        Binding("escape,q", "dismiss", "Back", id="findings_leave"),
    ]
    DEFAULT_CSS = """
    FindingsScreen {
        align: center middle;
        #findings { height: 95%; }
        #list { margin-bottom: 1; }
        #said {
            height: 1fr;
            scrollbar-size-vertical: 1;
        }
        #notice {
            height: auto;
            max-height: 3;
            text-style: bold;
            color: $text-warning;
        }
    }
    """

    def __init__(self, result: ReviewResult, files: ReviewedFiles, *, workspace: Path) -> None:
        super().__init__()
        self._result, self._files, self._workspace = result, files, workspace

    def compose(self) -> ComposeResult:
        """The findings, what was said of the marked one, and what there is to say."""
        with DialogFrame(id="findings") as box:
            box.border_title = Content(f"Code review: {describe_verdict_and_findings(self._result)}")
            box.name_keys(_KEYS)
            yield LineList(id="list")
            with VerticalScroll(id="said", can_focus=False):
                yield Static(id="text", markup=False)
            yield Static(id="notice", markup=False)

    def on_mount(self) -> None:
        findings = self.query_one(LineList)
        findings.styles.height = min(len(self._result.findings), _MOST_LINES)
        findings.show(len(self._result.findings), self._render_finding)

    def _render_finding(self, place: int, _width: int) -> Content:
        finding = self._result.findings[place]
        line = Content(make_printable(describe_finding(finding), newlines=False))
        return line.stylize("$text-error") if finding.standing is FindingStanding.CONFIRMED else line

    @property
    def _marked(self) -> CodeFinding | None:
        place = self.query_one(LineList).marked
        return self._result.findings[place] if place is not None else None

    @on(LineList.Marked)
    def _show_marked(self) -> None:
        self._tell("")
        said = explain_finding(self._marked) if self._marked is not None else "No reviewer found anything."
        self.query_one("#text", Static).update(Content(make_printable(said)))
        self.query_one("#said").scroll_home(animate=False)

    @on(LineList.LineClicked)
    def _open_clicked(self) -> None:
        self.action_open_place()

    # -- keys ---------------------------------------------------------------------------------------------

    def action_move(self, how: Move) -> None:
        self.query_one(LineList).move(how)

    def action_scroll(self, pages: int) -> None:
        """Scroll what was said of the marked finding."""
        said = self.query_one("#said")
        said.scroll_relative(y=pages * max(1, said.size.height - 1), animate=False)

    def action_open_place(self) -> None:
        """Open the file of the marked finding in the pager, at its line."""
        if (finding := self._marked) is not None:
            self.run_worker(self._open(finding), group="place", exclusive=True)

    async def _open(self, finding: CodeFinding) -> None:
        try:
            text = await self._files.read(finding.report.file)
        except QuorumError as error:
            self._tell(str(error))
            return
        self._tell("")
        size = format_size(len(text.encode("utf-8", "replace")))
        name = describe_finding_place(finding.report)
        self.app.push_screen(PagerScreen(KeptLines(text), name, size, line=finding.report.line))

    def action_edit_place(self) -> None:
        """Open the file of the marked finding in $VISUAL or $EDITOR, at its line."""
        if (finding := self._marked) is not None:
            self.run_worker(self._edit(finding), group="place", exclusive=True)

    async def _edit(self, finding: CodeFinding) -> None:
        from quorum.tui.prompt_box.outside_editor import EditorFailed, open_in_editor

        try:
            path = await self._files.locate(finding.report.file)
            await open_in_editor(self.app, path, finding.report.line, workspace=self._workspace)
        except (QuorumError, EditorFailed) as error:
            self._tell(str(error))
        else:
            self._tell("")

    def _tell(self, text: str) -> None:
        self.query_one("#notice", Static).update(Content(make_printable(text)))

"""Changing what would run before it is asked about again: here, in an editor outside, or task by task."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import TextArea

from quorum.domain.review.questions import Edit
from quorum.domain.text.printable import make_printable
from quorum.tui.screens.review.card import ReviewCard
from quorum.tui.screens.review.edit import EditedPart, NotEditable, apply_edit, name_editable, render_editable
from quorum.tui.screens.review.kept_place import KeepsPlace
from quorum.tui.screens.review.widgets import Rows

_NOTHING_DROPPED = "no task is dropped: space drops the marked one, esc goes back"
_NOTHING_LEFT = "no task is left; esc goes back, and there the plan can be rejected"


class _ScrollsCall(KeepsPlace):
    """A dialog whose keys scroll the call that it shows."""

    def action_scroll(self, lines: int) -> None:
        """Scroll what would run."""
        self.query_one("#reading", Rows).scroll_relative(y=lines, animate=False)

    def action_read_on(self) -> None:
        """Scroll what would run by as many lines as are in sight, but for one."""
        reading = self.query_one("#reading", Rows)
        reading.scroll_relative(y=max(1, reading.lines_shown - 1), animate=False)


class EditsCall(_ScrollsCall):
    """A dialog in which the call can be changed. Its subclass sets `card` and `root`, the session's folder.

    What is changed is answered as an `Edit`, which is asked about like any other call: nothing is approved.
    """

    card: ReviewCard
    root: str
    _edited_part = EditedPart.ARGUMENTS

    async def action_edit(self) -> None:
        """Let the person change what would run."""
        text, self._edited_part = render_editable(self.request.packet)
        await self._edit_text(text)

    async def _edit_text(self, text: str) -> None:
        await self.card.enter("editing")
        self.query_one("#editor", TextArea).load_text(text)

    def action_submit_edit(self) -> None:
        """Send what was edited, or say what is wrong with it."""
        if self.card.stage == "dropping":
            self._submit_tasks()
            return
        try:
            self._submit(self.query_one("#editor", TextArea).text)
        except NotEditable as problem:
            self.card.say(str(problem))

    def _submit(self, text: str) -> None:
        self.dismiss(Edit(apply_edit(self.request.packet, text, self._edited_part)))

    # -- in the person's own editor -----------------------------------------------------------------------

    def action_edit_outside(self) -> None:
        """Edit it in $VISUAL or $EDITOR. What is saved there is sent, if it fits."""
        if self.card.stage == "editing":
            text = self.query_one("#editor", TextArea).text
        else:
            text, self._edited_part = render_editable(self.request.packet)
        self.run_worker(self._edit_outside(text), group="editor", exclusive=True)

    async def _edit_outside(self, text: str) -> None:
        from quorum.tui.prompt_box.outside_editor import EditorFailed, edit_in_editor

        asked, name = self.request, name_editable(self.request.packet, self._edited_part)
        try:
            edited = await edit_in_editor(self.app, text, workspace=Path(self.root), name=name)
        except EditorFailed as problem:
            self.card.say(make_printable(str(problem), newlines=False))
            return
        if self.request is not asked or self._is_answered:  # it was answered elsewhere meanwhile
            return
        if edited == text:
            self.card.say("nothing was changed in the editor")
            return
        try:
            self._submit(edited)
        except NotEditable as problem:
            await self._edit_text(make_printable(edited))
            self.card.say(str(problem))

    # -- task by task --------------------------------------------------------------------------------------

    async def action_drop_tasks(self) -> None:
        """List the tasks of a plan, of which each can be dropped."""
        await self.card.enter("dropping")

    def action_mark_task(self, step: int) -> None:
        """Mark the next task, or the one before."""
        if (tasks := self.card.forms.tasks) is not None:
            tasks.mark(step)

    def action_toggle_task(self) -> None:
        """Drop the marked task with all that depends on it, or keep it with all that it depends on."""
        if (tasks := self.card.forms.tasks) is not None:
            tasks.toggle()
            self.card.say("")

    def _submit_tasks(self) -> None:
        if (tasks := self.card.forms.tasks) is None:
            return
        kept = tasks.choice.kept
        if not tasks.choice.dropped:
            self.card.say(_NOTHING_DROPPED)
        elif not kept.tasks:
            self.card.say(_NOTHING_LEFT)
        else:
            self.dismiss(Edit(kept.to_json()))

"""The review of effects: what a turn changed in its layer, read like a pull request and applied as a whole."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from quorum.domain.errors import QuorumError
from quorum.domain.staging.effects_overview import EffectRow, EffectsOverview, FoldedTree, name_row
from quorum.domain.staging.layer_effects import AppliedEffects, LayerCommit, LayerEffect
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.domain.text.unified_diff import parse_diff
from quorum.tui.agent.turns import QueuedTask
from quorum.tui.keys.keyboard_guard import CAME_TOO_EARLY, Guarded, KeyboardGuard
from quorum.tui.keys.keyed_app import READER, fill_in_keys
from quorum.tui.screens.effects.draft import EffectsDraft, may_choose_hunks
from quorum.tui.screens.effects.hunks_screen import HunksScreen
from quorum.tui.screens.effects.rows import (
    describe_authors,
    describe_commands,
    describe_commit,
    describe_objections,
    describe_tree,
    name_hunks,
    render_row,
    summarise_work,
)
from quorum.tui.screens.pager_screen import build_pager
from quorum.tui.screens.rewind.file_plan_screen import DiffSheet
from quorum.tui.widgets.dialog_parts import ClosesItself, DialogFrame, LineInput
from quorum.tui.widgets.line_list import LineList, Move

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession
    from quorum.application.staging.effects_review import EffectsReview
    from quorum.application.staging.effects_voting import EffectsPacket
    from quorum.application.staging.shared_files import FileAuthors
    from quorum.domain.staging.effects_answer import EffectsVotes

_TITLE = "Effects"
_KEYS = (
    "{effects_apply=a} apply · {effects_toggle=space} leave out · {effects_open=enter} diff · "
    "{effects_reply=r} reply · {effects_discard=d} discard · esc later · ? help"
)
_KEYS_OF_WORDS = "enter sends it to the model · esc back to the changes"
_KEYS_WITHOUT_FILES = "{effects_discard=d} discard · esc later · ? help"
_KEYS_WITHOUT_EFFECTS = (
    "{effects_undo=u} take back what was applied last · {effects_redo=U} apply it again · esc back"
)
_UNAPPLIED = "nothing of this is in your folder yet: {effects_apply=a} puts there what is marked [x]"
_NOTHING = "The layer holds no changes: your folder is as the turn sees it."
_UNMERGED = "Nothing of this is in the layer yet: it is merged before the next review where that can be."
_VOTING = "the reviewers vote; you need not wait for them"
_UNDONE = "taken back"
_MOST_REFUSED = 3
_PAGER_MARGIN = 8  # for the numbers of lines

Perform: TypeAlias = Callable[[QueuedTask], Awaitable[QuorumError | None]]
"""Carries a task out while no turn runs; returns why it failed."""


class EffectsScreen(Guarded, ClosesItself, ModalScreen[None]):
    """Shows what stands in the layer and not in the workspace. Nothing is applied before the person says so.

    It opens by itself when a turn ends: what the person is typing then is no answer, as at any question.
    `send_words` gives the model the person's words, and `clock` is the one that stamps keys. `former` is what
    was chosen in the review before.
    """

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move('up')", "Up", id="effects_up"),
        Binding("down,j", "move('down')", "Down", id="effects_down"),
        Binding("home", "move('first')", "The first file", id="effects_first"),
        Binding("end", "move('last')", "The last file", id="effects_last"),
        Binding("pageup", "scroll(-1)", "Scroll the diff", id="effects_page_up"),
        Binding("pagedown", "scroll(1)", "Scroll the diff", id="effects_page_down"),
        Binding("enter", "open", "Open the diff, hunk by hunk", id="effects_open"),
        Binding("space", "leave_out", "Leave it out, or take it in", id="effects_toggle"),
        Binding("s", "leave_subagent_out", "Leave out all of the file's subagent", id="effects_subagent"),
        Binding("v", "show_steps", "Show what each did who changed the file", id="effects_steps"),
        Binding("a", "apply", "Apply what is chosen", id="effects_apply"),
        Binding("r", "reply", "Send words back: the model continues in the layer", id="effects_reply"),
        Binding("d", "discard", "Discard all changes; twice", id="effects_discard"),
        Binding("u", "undo_applied", "Take back what was applied last; twice", id="effects_undo"),
        Binding("U", "redo_applied", "Apply again what was taken back last; twice", id="effects_redo"),
        Binding("c", "show_commands", "Show what commands ran, and the votes", id="effects_commands"),
        Binding("escape,q", "leave", "Decide later", id="effects_leave"),
    ]
    DEFAULT_CSS = """
    EffectsScreen {
        align: center middle;
        #effects { height: 95%; }
        #work { height: auto; max-height: 6; }
        #files { margin: 1 0; max-height: 50%; }
        #objections { display: none; height: auto; max-height: 8; color: $text-warning; }
        #words { display: none; height: 1; border: none; padding: 0; background: $boost; }
        #words.-open { display: block; }
        #notice { height: auto; max-height: 4; text-style: bold; color: $text-warning; }
    }
    """

    def __init__(
        self,
        review: EffectsReview,
        perform: Perform,
        send_words: Callable[[str], None],
        *,
        packet: EffectsPacket | None = None,
        former: EffectsDraft | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._review, self._perform, self._send_words = review, perform, send_words
        self._packet = packet
        self._overview = EffectsOverview(commits=(), files=(), trees=())
        self._draft = former or EffectsDraft(self._overview)
        self._diffs: dict[str, str] = {}
        self._objections: Mapping[str, tuple[str, ...]] = {}
        self._authors: dict[str, FileAuthors] = {}
        self._asked = self._told = ""
        self._is_working = self._is_unreadable = False
        self._clock, self._guard = clock, KeyboardGuard()
        self.is_put_off = False
        """Whether it was closed with changes that nothing was decided about."""

    def compose(self) -> ComposeResult:
        """What was done, the files, the diff of the marked one, and what there is to say."""
        with DialogFrame(id="effects") as box:
            box.border_title = Content(_TITLE)
            yield Static(id="work", markup=False)
            yield LineList(id="files")
            yield Static(id="objections", markup=False)
            yield DiffSheet()
            yield LineInput(id="words", placeholder="what is to be different? enter sends it, esc does not")
            yield Static(id="notice", markup=False)

    def on_mount(self) -> None:
        self.query_one(LineInput).disabled = True
        self.call_after_refresh(self.arm)
        if self._packet is not None:
            self._show(self._packet)
        else:
            self._tell("reading the layer…")
            self.run_worker(self._read(), group="read", exclusive=True)

    # -- what is shown -----------------------------------------------------------------------------------

    async def _read(self, said: str = "") -> None:
        try:
            packet = await self._review.read()
            self._is_unreadable = False
        except QuorumError as error:
            self._is_unreadable = True
            self._tell(str(error))
            return
        self._show(packet, said)

    def _show(self, packet: EffectsPacket, said: str = "") -> None:
        former = self._draft
        self._packet, self._overview = packet, EffectsOverview.of(packet.effects)
        self._draft = EffectsDraft(self._overview)
        self._draft.keep(former)
        self._diffs.clear()
        self._objections = {}
        self._authors.clear()
        files, rows = self.query_one("#files", LineList), len(self._overview.rows)
        files.styles.height = rows
        files.display = self.query_one(DiffSheet).display = rows > 0
        self._name_keys()
        self._show_work(packet)
        self._tell(said or ("" if rows else _UNMERGED if self._waits else _NOTHING))
        files.show(rows, self._render_row, marked=min(files.marked or 0, max(0, rows - 1)))
        self._show_title()
        self.run_worker(self._judge(packet), group="judge", exclusive=True)
        self.run_worker(self._attribute(packet), group="authors", exclusive=True)
        self.run_worker(self._vote(packet, is_told=not said), group="vote", exclusive=True)

    def _name_keys(self) -> None:
        keys = _KEYS_WITHOUT_FILES if self._waits else _KEYS_WITHOUT_EFFECTS
        keys = _KEYS if self._overview.rows else keys
        is_writing = self.query_one(LineInput).has_class("-open")
        self.query_one(DialogFrame).name_keys(_KEYS_OF_WORDS if is_writing else keys)

    async def _vote(self, packet: EffectsPacket, *, is_told: bool) -> None:
        """Have the votes come in while the person reads. Nothing waits for them; `is_told`: there is room to
        say that they are on their way."""
        if not self._review.has_reviewers or packet.votes is not None or not packet.effects.can_be_applied:
            return
        if is_told:
            self._tell(_VOTING)
        try:
            voted = await self._review.vote(packet)
        except QuorumError as error:
            self._tell(str(error))
            return
        if self._is_shown(packet):
            self._packet = voted
            self._show_work(voted)
            if self._told == _VOTING:
                self._tell("")
            self.query_one("#files", LineList).refresh()
            self._show_marked()

    def _show_work(self, packet: EffectsPacket) -> None:
        commands, subagent = (
            fill_in_keys(key, self.app) for key in ("{effects_commands=c}", "{effects_subagent=s}")
        )
        work = summarise_work(packet, commands_key=commands, subagent_key=subagent)
        if self._overview.rows:
            work.insert(0, (fill_in_keys(_UNAPPLIED, self.app), False))
        lines = [Content.styled(line, "$text-warning" if warns else "") for line, warns in work]
        shown = self.query_one("#work", Static)
        shown.display = bool(lines)
        shown.update(Content("\n").join(lines))

    async def _judge(self, packet: EffectsPacket) -> None:
        try:
            objections = await self._review.judge(self._overview.files)
        except QuorumError as error:
            self._tell(str(error))
            return
        if objections and self._is_shown(packet):
            self._objections = objections
            self.query_one("#files", LineList).refresh()
            self._show_marked()

    async def _attribute(self, packet: EffectsPacket) -> None:
        """Find out whose the parts of files are that a subagent and somebody else changed."""
        shared = packet.work.shared
        for effect in (each for each in self._overview.files if packet.locate(each.path) in shared):
            try:
                authors = await self._review.find_authors(packet, effect)
            except QuorumError as error:
                self._tell(str(error))
                return
            if not self._is_shown(packet):
                return
            if authors is not None:
                self._authors[effect.path] = authors
        if self._authors:
            self._show_marked()

    def _is_shown(self, packet: EffectsPacket) -> bool:
        """Whether it is still these effects that are on the screen."""
        return self.is_mounted and self._packet is not None and self._packet.digest == packet.digest

    def _show_title(self) -> None:
        left = sum(not self._draft.is_in(row) for row in self._overview.rows)
        parts = [_TITLE, self._overview.summary, *([f"{left:,} left out"] if left else [])]
        self.query_one(DialogFrame).border_title = Content(" · ".join(parts))

    def _render_row(self, place: int, width: int) -> Content:
        row, packet = self._overview.rows[place], self._packet
        changers = packet.find_changers(row.path) if packet and isinstance(row, LayerEffect) else ()
        return render_row(
            *(row, self._draft, self._objections, self._votes, width, changers),
            new_name=self._overview.new_names.get(row.path, "") if isinstance(row, LayerEffect) else "",
            spoken=self.app.has_class(READER),
        )

    @property
    def _waits(self) -> bool:
        return self._packet is not None and not self._packet.effects.is_empty

    @property
    def _votes(self) -> EffectsVotes | None:
        return None if self._packet is None else self._packet.votes

    @property
    def _marked(self) -> EffectRow | None:
        place = self.query_one("#files", LineList).marked
        return self._overview.rows[place] if place is not None and place < len(self._overview.rows) else None

    @on(LineList.Marked)
    def _show_marked(self) -> None:
        self.run_worker(self._show_change(), group="change", exclusive=True)

    async def _show_change(self) -> None:
        row, said = self._marked, ""
        match row:
            case None:
                return
            case LayerCommit():
                text = describe_commit(row)
            case FoldedTree():
                text = describe_tree(row)
            case LayerEffect():
                objections = describe_objections(row, self._objections, self._votes)
                said = "\n".join(filter(None, (self._describe_authors(row), objections)))
                text = await self._read_diff(row)
        if row is self._marked:
            remarks = self.query_one("#objections", Static)
            remarks.display = bool(said)
            remarks.update(Content(said))
            self.query_one(DiffSheet).show(text)

    def _describe_authors(self, effect: LayerEffect) -> str:
        if self._packet is None or (authors := self._authors.get(effect.path)) is None:
            return ""
        return describe_authors(authors, self._packet.work, fill_in_keys("{effects_steps=v}", self.app))

    async def _read_diff(self, effect: LayerEffect) -> str:
        if effect.path not in self._diffs:
            try:
                self._diffs[effect.path] = await self._review.diff(effect)
            except QuorumError as error:
                return str(error)
        return self._diffs[effect.path]

    @property
    def draft(self) -> EffectsDraft:
        """What is chosen now."""
        return self._draft

    # -- what is typed as it opens -----------------------------------------------------------------------

    def admits(self, event: events.Key) -> bool:
        """Whether a key may act now; the app asks before anything else sees it."""
        alive = self._guard.admits(event.time)
        if not alive:
            self.note(CAME_TOO_EARLY)
        return alive

    def is_unread(self, event: events.Key) -> bool:
        return self._guard.is_unread(event.time)

    @property
    def is_awake(self) -> bool:
        return self._guard.is_started

    def arm(self) -> None:
        """Have the dead time begin anew."""
        self._guard.restart(self._clock())

    @property
    def takes_text(self) -> bool:
        return isinstance(self.focused, LineInput)

    @property
    def unsent_text(self) -> str:
        """The words that were not sent."""
        return "".join(field.value for field in self.query(LineInput))

    def show_notice(self) -> None:
        self._tell(self.notice)

    # -- keys --------------------------------------------------------------------------------------------

    def action_move(self, how: Move) -> None:
        self._forget_question()
        self.query_one("#files", LineList).move(how)

    def action_scroll(self, pages: int) -> None:
        """Scroll the diff of the marked file."""
        sheet = self.query_one(DiffSheet)
        sheet.scroll_relative(y=pages * max(1, sheet.size.height - 2), animate=False)

    @on(LineList.LineClicked)
    def _open_clicked(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        """Open the diff of the marked file: its hunks where there are several, else the pager."""
        self._forget_question()
        self.run_worker(self._open(), group="open", exclusive=True)

    async def _open(self) -> None:
        row = self._marked
        if isinstance(row, LayerEffect):
            diff = await self._read_diff(row)
            hunks = sum(line.sign == "@" for line in parse_diff(diff))
            if hunks > 1 and may_choose_hunks(row):
                authors = self._authors.get(row.path)
                names = name_hunks(authors, self._packet.work) if authors and self._packet else ()
                await self.app.push_screen(HunksScreen(row.path, diff, self._draft, names), self._show_choice)
            else:
                self.app.push_screen(build_pager(diff, row.path, is_diff=True))
        elif row is not None:
            text = describe_commit(row) if isinstance(row, LayerCommit) else describe_tree(row)
            self.app.push_screen(build_pager(text, name_row(row), is_diff=False))

    def _show_choice(self, _result: None = None) -> None:
        self.query_one("#files", LineList).refresh()
        self._show_title()

    def action_show_commands(self) -> None:
        """Show the commands that ran, with how they ended."""
        self._forget_question()
        if self._packet is not None:
            text = describe_commands(
                self._packet, width=self.app.size.width - _PAGER_MARGIN, spoken=self.app.has_class(READER)
            )
            self.app.push_screen(build_pager(text, "What ran", is_diff=False))

    def action_leave_out(self) -> None:
        """Leave the marked line out, or take it in again."""
        if (row := self._marked) is None or self._is_working:
            return
        self._asked = ""
        self._tell(self._draft.toggle(row))
        self._show_choice()

    def action_leave_subagent_out(self) -> None:
        """Leave out all that the subagent alone changed that changed the marked file, or take it in again."""
        packet, row = self._packet, self._marked
        if packet is None or self._is_working or not isinstance(row, LayerEffect):
            return
        self._asked = ""
        if not (changers := packet.find_changers(row.path)):
            self._tell("no subagent is known to have changed this file")
            return
        ids, names = {each.subagent_id for each in changers}, " and ".join(each.name for each in changers)
        paths, parts, others = self._find_work_of(packet, ids)
        is_out, files, hunks = self._draft.toggle_all(paths, parts)
        said = [format_amount(files, "file")] if files or not hunks else []
        said += [format_amount(hunks, "hunk")] if hunks else []
        done = f"{' and '.join(said)} of {names} {'left out' if is_out else 'taken in'}"
        self._tell(f"{done}; {others:,} that others changed, too, not: space does so" if others else done)
        self._show_choice()

    def _find_work_of(
        self, packet: EffectsPacket, ids: AbstractSet[str]
    ) -> tuple[frozenset[str], Mapping[str, frozenset[int]], int]:
        """The paths that nobody but these subagents changed, their hunks of other files, and how many files
        there are of which they cannot be told apart from what others did."""
        paths, parts, others = set[str](), dict[str, frozenset[int]](), 0
        for each in packet.work.changes:
            above = f"{packet.effects.workspace}/"
            paths |= {path.removeprefix(above) for path in each.own if each.subagent_id in ids}
        for row in self._overview.files:
            if not any(each.subagent_id in ids for each in packet.find_changers(row.path)) or row.path in paths:
                continue
            hunks = self._authors[row.path].hunks if row.path in self._authors else ()
            theirs = frozenset(place for place, who in enumerate(hunks) if who and who <= ids)
            if hunks and len(theirs) == len(hunks):
                paths.add(row.path)
            elif theirs and may_choose_hunks(row):
                parts[row.path] = theirs
            others += len(theirs) < len(hunks) or not hunks
        return frozenset(paths), parts, others

    def action_show_steps(self) -> None:
        """Show what each did to the marked file who changed it."""
        self._forget_question()
        if isinstance(self._marked, LayerEffect):
            self.run_worker(self._show_steps(self._marked), group="steps", exclusive=True)

    async def _show_steps(self, effect: LayerEffect) -> None:
        try:
            steps = await self._review.render_steps(self._packet, effect) if self._packet else ""
        except QuorumError as error:
            self._tell(str(error))
            return
        if steps:
            self.app.push_screen(build_pager(steps, f"Who changed {effect.path}", is_diff=True))
        else:
            self._tell("nobody but one is known to have changed this file")

    def action_apply(self) -> None:
        """Apply what is chosen, all of it or nothing."""
        packet = self._packet
        if packet is None or not self._overview.rows or self._is_working:
            return
        self._asked = ""
        if not self._draft.count():
            self._tell("everything is left out: there is nothing to apply")
            return
        self._begin("applying…")
        self.run_worker(self._apply(packet), group="work")

    async def _apply(self, packet: EffectsPacket) -> None:
        applied = AppliedEffects()

        async def apply(_agent: AgentSession) -> None:
            nonlocal applied
            applied = await self._review.apply(packet, self._draft.choice)

        failure = await self._perform(QueuedTask("applying", apply))
        said = str(failure) if failure is not None else describe_outcome(applied)
        await self._conclude(said, is_over=failure is None and applied.is_done)

    def action_discard(self) -> None:
        """Discard all changes, once that was asked."""
        packet = self._packet
        if self._is_working or not (self._waits or self._is_unreadable):
            return
        if self._ask("discard", "{effects_discard=d} again discards all of it for good; other keys do not"):
            self._begin("discarding…")
            self.run_worker(self._discard(packet), group="work")

    async def _discard(self, packet: EffectsPacket | None) -> None:
        async def discard(_agent: AgentSession) -> None:
            await self._review.discard(packet)

        failure = await self._perform(QueuedTask("discarding", discard))
        said = str(failure) if failure is not None else "all changes of the layer are discarded"
        await self._conclude(said, is_over=failure is None)

    def action_undo_applied(self) -> None:
        """Take back out of the workspace what was applied last, once that was asked."""
        if self._is_working:
            return
        if self._ask("undo", "{effects_undo=u} again takes back what was applied last; other keys do not"):
            self._begin("taking it back…")
            self.run_worker(self._move("taking back", self._review.undo, _UNDONE), group="work")

    def action_redo_applied(self) -> None:
        """Put into the workspace again what was taken back last, once that was asked."""
        if self._is_working:
            return
        if self._ask("redo", "{effects_redo=U} again applies what was taken back last; other keys do not"):
            self._begin("applying it again…")
            self.run_worker(self._move("applying again", self._review.redo, "applied again"), group="work")

    async def _move(self, what: str, move: Callable[[], Awaitable[AppliedEffects]], verb: str) -> None:
        moved = AppliedEffects()

        async def carry_out(_agent: AgentSession) -> None:
            nonlocal moved
            moved = await move()

        failure = await self._perform(QueuedTask(what, carry_out))
        said = str(failure) if failure is not None else describe_outcome(moved, verb=verb)
        if failure is None and moved.is_done and verb == _UNDONE:
            said += fill_in_keys("; {effects_redo=U} twice applies it again", self.app)
        await self._conclude(said, is_over=False)

    def action_reply(self) -> None:
        """Open the field for words to the model."""
        if self._packet is None or not self._overview.rows or self._is_working:
            return
        self._forget_question()
        words = self.query_one(LineInput)
        words.disabled = False
        words.add_class("-open")
        words.focus()
        self._name_keys()

    @on(LineInput.Submitted)
    def _send(self, message: LineInput.Submitted) -> None:
        message.stop()
        words, packet = message.value.strip(), self._packet
        if words and packet is not None and not self._is_working:
            self._begin("sending…")
            self.run_worker(self._reject(packet, words), group="work")

    async def _reject(self, packet: EffectsPacket, words: str) -> None:
        async def reject(_agent: AgentSession) -> None:
            await self._review.reject(packet, words)

        failure = await self._perform(QueuedTask("sending back", reject))
        if failure is None:
            self.query_one(LineInput).value = ""
            self._send_words(words)
        await self._conclude("" if failure is None else str(failure), is_over=failure is None)

    def action_leave(self) -> None:
        """Close the field, or the screen; what is in the layer waits there."""
        words = self.query_one(LineInput)
        if words.has_class("-open"):
            words.remove_class("-open")
            words.disabled = True
            self.set_focus(None)
            self._name_keys()
        elif not self._is_working:
            self.is_put_off = self._waits
            self.dismiss(None)

    # -- the state of a decision -------------------------------------------------------------------------

    def _ask(self, what: str, words: str) -> bool:
        """Whether this is the second press; the first one says what the second does."""
        asked, self._asked = self._asked, ""
        if asked == what:
            return True
        self._asked = what
        self._tell(fill_in_keys(words, self.app))
        return False

    def _begin(self, words: str) -> None:
        self._is_working = True
        self._tell(words)

    async def _conclude(self, said: str, *, is_over: bool) -> None:
        """Close where nothing is left to decide; else show what stands in the layer now."""
        self._is_working = False
        if not is_over:
            await self._read(said)
            return
        self.dismiss(None)

    def _forget_question(self) -> None:
        self._asked = ""
        self._tell("")

    def _tell(self, text: str) -> None:
        self._told = text
        if notice := self.query("#notice"):
            notice.first(Static).update(Content(make_printable(text)))


def describe_outcome(applied: AppliedEffects, *, verb: str = "applied") -> str:
    """What came of applying, in a sentence: why nothing was, or how much."""
    if applied.is_done:
        refs = f" and {format_amount(len(applied.refs), 'ref')}" if applied.refs else ""
        return f"{format_amount(len(applied.paths), 'file')}{refs} {verb}"
    refused = [f"{path}: {why}" if path else why for path, why in applied.refused.items()]
    more = f"; and {len(refused) - _MOST_REFUSED:,} more" if len(refused) > _MOST_REFUSED else ""
    return f"nothing was {verb}: {'; '.join(refused[:_MOST_REFUSED])}{more}"

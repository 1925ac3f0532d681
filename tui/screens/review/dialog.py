"""The review dialog: what would run, why it is asked, and the person's answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input

from quorum.application.ports.people import ReviewContext
from quorum.domain.review.questions import (
    Approve,
    ApproveAlways,
    ApproveEdits,
    ApproveFolder,
    ApproveRest,
    Reject,
    RejectAndInterrupt,
    ReviewAnswer,
    ReviewRequest,
)
from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyboard_guard import CAME_TOO_EARLY, Guarded, KeyboardGuard
from quorum.tui.screens.review.card import ReviewCard, ShowsAnswer, can_reveal, reveal_hidden, shows_no_answer
from quorum.tui.screens.review.choice_bar import ACTIONS, KEYS, STAGED, ChoiceBar
from quorum.tui.screens.review.earlier import NOTHING, Earlier
from quorum.tui.screens.review.editing import EditsCall
from quorum.tui.screens.review.forms import RuleForm
from quorum.tui.screens.review.widgets import Cramped, fit_to_screen, is_cramped


class FolderChoice:
    """Remembers for which request the folder was named."""

    def __init__(self) -> None:
        self._named = ("", "")

    def press(self, request: ReviewRequest) -> ApproveFolder | None:
        """The answer, where the folder of this very request was named before; else it is named from now on."""
        if request.folder is None:
            return None
        if self._named == (request.packet.digest, request.folder):
            return ApproveFolder(request.packet.digest, request.folder)
        self._named = (request.packet.digest, request.folder)
        return None

    def explain(self, request: ReviewRequest) -> str:
        """What the next press does, in a sentence that names the whole folder."""
        folder = make_printable(request.folder or "", newlines=False)
        return f"the same key again approves, and adds to the workspace for this session: {folder}"


_QUIET_SECS = 0.4
_TYPING = ("reasoning", "editing")


class ReviewDialog(EditsCall, Guarded):
    """Puts a request to the person. Every key but Esc and Ctrl+C is dead at first (see KeyboardGuard).

    Answered in the middle of a batch it stays a moment for the next request, whose content then takes the place
    of the former one (`continue_with`): the screen does not jump between them.
    `on_answer` is called with the answer, and not at all for a dialog that is closed without one.
    Votes that arrive meanwhile are shown where there is room kept for them, and change nothing else.
    Paths below `root` are drawn relative to it.
    `clock` is the one that stamps keys; `on_height` is called with the number of lines that the dialog covers.
    """

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = KEYS
    DEFAULT_CSS: ClassVar[str] = """
    ReviewDialog {
        background: transparent;
        align: center bottom;
        & > #card { margin-bottom: 1; }
    }
    """

    class NextAsked(Message):
        """Another request is to be shown."""

    class Voted(Message):
        """A vote has arrived."""

    def __init__(
        self,
        request: ReviewRequest,
        review_context: ReviewContext,
        *,
        on_answer: Callable[[ReviewAnswer], None] = lambda _answer: None,
        earlier: Earlier = NOTHING,
        root: str = "",
        clock: Callable[[], float] = time.monotonic,
        on_height: Callable[[int], None] = lambda _height: None,
        shows_answer: ShowsAnswer = shows_no_answer,
    ) -> None:
        super().__init__(on_answer)
        self._request, self.review_context, self.earlier = request, review_context, earlier
        self._stop_watching: Callable[[], None] = lambda: None
        self._clock, self._on_height = clock, on_height
        self._guard = KeyboardGuard(_QUIET_SECS)
        self._waking: Timer | None = None
        self._pressed_at, self._pressed_key = float("-inf"), ""
        self._folder_choice, self.root = FolderChoice(), root
        self._concealed: ReviewRequest | None = None  # the request as it was before its secrets were shown
        self.cover = self.card = ReviewCard(
            request, review_context, earlier, root=root, shows_answer=shows_answer
        )

    @property
    def request(self) -> ReviewRequest:
        return self._request

    def compose(self) -> ComposeResult:
        yield self.card
        yield Cramped()

    async def on_mount(self) -> None:
        """Show the choices; keys come alive a while after all of it is on the screen."""
        await self.card.enter("choosing")
        self._begin_review()

    def _begin_review(self) -> None:
        self._on_height(self.card.lines_laid_out + 1)  # now, so that what is behind is drawn but once
        self._stop_watching = self.review_context.watch(self._tell_of_vote)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self.card.go_to_first()
        self.call_after_refresh(self._begin_taking_keys)

    def _begin_taking_keys(self) -> None:
        self.card.note_seen()
        self.arm()

    # -- from one request to the next -----------------------------------------------------------------------

    def fall_asleep(self) -> None:
        """Take no key for an answer until the next request has been seen."""
        self._stop_watching()
        self._guard = KeyboardGuard(_QUIET_SECS)
        if self._waking is not None:
            self._waking.stop()
        self.card.show_choices(alive=False)

    def dismiss(self, result: ReviewAnswer | None = None) -> AwaitComplete:
        """Give the answer; closing, cover nothing any more."""
        closing = super().dismiss(result)
        if not self.is_waiting:
            self._on_height(0)
        return closing

    def continue_with(
        self,
        request: ReviewRequest,
        review_context: ReviewContext,
        earlier: Earlier,
        on_answer: Callable[[ReviewAnswer], None],
    ) -> None:
        """Show another request. Needs `is_waiting`, or to be off the screen, and pushed after this."""
        self.fall_asleep()
        self.stay(on_answer)
        self._concealed = None
        self._request, self.review_context, self.earlier = request, review_context, earlier
        self.post_message(self.NextAsked())

    @on(NextAsked)
    async def _show_next(self) -> None:
        self.note("")
        self._pressed_at = float("-inf")
        await self.card.show_request(self._request, self.review_context, self.earlier)
        self._begin_review()

    def on_unmount(self) -> None:
        """Votes that come later are not for it."""
        self._stop_watching()

    def on_resize(self) -> None:
        """Fold everything to the new size; what has only now come into sight has to be read first."""
        if self.card.laid_out_for != self.app.size:  # the first one comes right after it was laid out
            self.card.lay_out()
            self.call_after_refresh(self.card.keep_first_in_sight)
        if fit_to_screen(self):
            self.arm()

    @on(ReviewCard.Covered)
    def _tell_height(self, message: ReviewCard.Covered) -> None:
        self._on_height(message.lines + 1)

    def _tell_of_vote(self) -> None:
        """Have it shown in the dialog's own time: whoever counts votes is not to depend on the screen."""
        self.post_message(self.Voted())

    @on(Voted)
    def _show_votes(self) -> None:
        self.card.show_votes()

    # -- keys ---------------------------------------------------------------------------------------------

    def admits(self, event: events.Key) -> bool:
        """Whether a key may act now; the app asks before anything else sees it."""
        if self._is_answered or is_cramped(self):
            return False
        if self.card.stage in _TYPING:
            return True
        if self.card.stage == "ruling" and event.key != "enter":
            self._guard.restart(event.time)  # what Enter would save is another rule now, and has to be read
            self._show_dead()
            return True
        alive = self._guard.admits(event.time)
        if alive:
            self._pressed_at = event.time
            self._pressed_key = event.character if event.is_printable and event.character else event.key
        else:
            self._show_dead()
        return alive

    def is_unread(self, event: events.Key) -> bool:
        """Whether what is asked had hardly come into sight."""
        return self._guard.is_unread(event.time)

    @property
    def subject(self) -> object:
        return self._request

    @property
    def takes_text(self) -> bool:
        """Whether a reason, an edit or a rule is being typed."""
        return self.card.stage in (*_TYPING, "ruling") and not is_cramped(self)

    @property
    def unsent_text(self) -> str:
        """A reason, an edit or a rule that is being typed, unless it is as it was offered."""
        if self._is_answered:
            return ""
        match self.card.stage:
            case "reasoning":
                return self.query_one("#reason", Input).value
            case "editing":
                return self.edited_text
            case "ruling":
                return self.card.forms.rule.own_text
            case _:
                return ""

    def show_notice(self) -> None:
        """Have the card say what became of the last keys."""
        self.card.notice = self.notice
        self.card.show_keys()

    def _is_meant(self) -> bool:
        """Whether what is about to let something run was pressed at what is asked now.

        A key is admitted before the one in front of it was acted upon, and that may have changed the question.
        """
        is_meant = self._guard.admits(self._pressed_at)
        if not is_meant:
            self._show_dead()
        return is_meant

    def _is_read(self, key: str) -> bool:
        """Whether all that would be approved has been on the screen, or how much has not been has been said.

        Saying it changes what is asked: keys are dead for a while, and the key has to be pressed again. After a
        click `key` is named.
        """
        if not self.card.unseen or self.card.tells_unseen:
            return True
        self.card.tell_unseen(self._pressed_key or key)
        self.arm()
        return False

    @property
    def is_awake(self) -> bool:
        """Whether the dialog has been painted and counts down to taking keys, or takes them."""
        return self._guard.is_started

    def arm(self) -> None:
        """Have the dead time begin anew: the choices are seen from now on."""
        self._guard.restart(self._clock())
        self.card.note_seen_once_drawn()
        self._show_dead()

    def _show_dead(self) -> None:
        self.card.show_choices(alive=False)
        if self._waking is not None:
            self._waking.stop()
        self._waking = self.set_timer(_QUIET_SECS, self.show_awake)

    def show_awake(self) -> None:
        """Draw the choices as ones that can be taken; grey ones cannot yet."""
        if self.is_awake and self.is_current:  # closed meanwhile, it may already be coming apart
            if self.notice == CAME_TOO_EARLY:
                self.note("")
            self.card.show_choices(alive=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Letters are answers only where answers are offered."""
        absent = {
            "list_rest": not self._request.following,
            "rule": not self.card.forms.can_rule,
            "poll": not (self.review_context.reviewers or self._request.comparison),
            "offer": self.card.forms.offered is None,
            "add_folder": self._request.folder is None,
            "accept_edits": not self._request.can_accept_edits,
            "reveal": self._concealed is None and not can_reveal(self._request),
            "edit": not self._request.can_be_edited,
            "edit_outside": not self._request.can_be_edited,
            "drop_tasks": self.card.forms.tasks is None,
        }
        if action == "take" and self.query_one(ChoiceBar).find_numbered(*parameters) is None:
            return False  # without room for numbers no choice has one
        if absent.get(action) or (action in STAGED and action != "back" and not self.is_awake):
            return False
        return action not in STAGED or action in ACTIONS[self.card.stage]

    # -- answers ------------------------------------------------------------------------------------------

    def action_approve(self) -> None:
        """Let exactly this packet run."""
        if self._is_meant() and self._is_read("{review_approve=y}"):
            self.dismiss(Approve(self._request.packet.digest))

    def action_accept_edits(self) -> None:
        """Let it run, and from now on all edits inside the workspace."""
        if self._is_meant() and self._is_read("{review_all_edits=shift+tab}"):
            self.dismiss(ApproveEdits(self._request.packet.digest))

    def action_add_folder(self) -> None:
        """Name the folder that would be added; pressed again, add it and let the call run."""
        if not self._is_meant():
            return
        if (answer := self._folder_choice.press(self._request)) is None:
            self.card.say(self._folder_choice.explain(self._request))
            self.card.lay_out()
            self.arm()
        elif self._is_read("{review_folder=w}"):
            self.dismiss(answer)

    def action_reject(self) -> None:
        if self._is_meant():
            self.dismiss(Reject())

    async def action_reason(self) -> None:
        await self.card.enter("reasoning")

    @on(Input.Submitted, "#reason")
    def action_send_reason(self) -> None:
        """Reject with what was typed; with nothing typed, without a reason."""
        self.dismiss(Reject(self.query_one("#reason", Input).value.strip() or None))

    async def action_list_rest(self) -> None:
        """Show all that would be approved; chosen there, approve it."""
        if self.card.stage == "listing":
            if self._is_meant() and self._is_read("{review_list_rest=A}"):
                packets = (self._request.packet, *self._request.following)
                self.dismiss(ApproveRest(tuple(packet.digest for packet in packets)))
            return
        await self.card.enter("listing")
        self.arm()

    async def action_rule(self) -> None:
        """Propose a rule that lets this call and its like run."""
        await self.card.enter("ruling")
        self.arm()

    async def action_offer(self) -> None:
        """Show the rules that are offered; chosen there, save them and approve."""
        if (form := self.card.forms.offered) is None:
            return
        if self.card.stage == "offering":
            if self._is_meant() and self._is_read("{review_offer=k}"):
                self.dismiss(ApproveAlways(self._request.packet.digest, form.rules, form.scope))
            return
        await self.card.enter("offering")
        self.arm()

    def action_turn_rule(self, step: int) -> None:
        """Offer another proposal."""
        self.card.forms.rule.turn(step)

    def action_widen_rule(self, step: int) -> None:
        """Choose how far the rule holds."""
        if self.card.stage != "offering" or self.card.forms.offered is None:
            self.card.forms.rule.widen(step)
            return
        self.card.forms.offered.widen(step)
        self.arm()

    @on(RuleForm.Changed)
    def _on_rule_changed(self) -> None:
        self.card.say("")

    @on(Input.Submitted, "#rule")
    def action_save_rule(self) -> None:
        """Save the rule and approve, or say why it cannot be."""
        form = self.card.forms.rule
        if problem := form.find_problem():
            self.card.say(f"not saved: {problem}")
        elif self._is_meant() and self._is_read("enter"):
            self.dismiss(ApproveAlways(self._request.packet.digest, (form.text,), form.scope))

    async def action_take(self, number: int) -> None:
        """Take the choice of this number."""
        if (action := self.query_one(ChoiceBar).find_numbered(number)) is not None:
            await self.run_action(action)

    async def action_poll(self) -> None:
        """Show every vote in full."""
        await self.card.enter("polling")

    def action_go_to_objection(self) -> None:
        """Scroll to what is objected to."""
        self.card.go_to_objection()

    async def action_back(self) -> None:
        """Leave what was begun; where nothing was, reject and stop the turn."""
        if self.card.stage == "choosing":
            self.dismiss(RejectAndInterrupt())
            return
        await self.card.enter("choosing")
        self.arm()

    async def action_detail(self) -> None:
        """Show all that is known of the call; there, go back."""
        await (self.action_back() if self.card.stage == "detailing" else self.card.enter("detailing"))

    def action_reveal(self) -> None:
        """Show what is hidden in the call, or hide it again; either way it has to be read anew."""
        self.fall_asleep()
        if self._concealed is not None:
            self._request, self._concealed = self._concealed, None
        else:
            self._request, self._concealed = reveal_hidden(self._request), self._request
        self.post_message(self.NextAsked())

    def action_mark(self, step: int) -> None:
        """Mark the next choice or the one before."""
        self.query_one(ChoiceBar).mark(step)

    @on(ChoiceBar.Taken)
    async def _choose(self, message: ChoiceBar.Taken) -> None:
        message.stop()
        if message.clicked_at is not None:
            if not self._guard.admits(message.clicked_at):
                return
            self._pressed_at, self._pressed_key = message.clicked_at, ""
        await self.run_action(message.action)

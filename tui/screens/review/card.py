"""The card of a review: everything that is seen of it, at whatever size the screen has.

What is hidden in its packets can be shown (`reveal_hidden`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeAlias

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.containers import VerticalGroup
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from quorum.application.ports.people import ReviewContext
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.events.masking import MaskedPacket
from quorum.domain.replacing import replace
from quorum.domain.review.questions import ReviewRequest
from quorum.domain.text.amounts import format_amount
from quorum.tui.keys.keyed_app import READER, KeyedApp, fill_in_keys
from quorum.tui.screens.review.choice_bar import ChoiceBar, Stage, list_choices, list_further_keys
from quorum.tui.screens.review.earlier import NOTHING, Earlier
from quorum.tui.screens.review.forms import FormGrown, ReviewForms, render_offer_row
from quorum.tui.screens.review.text.facts import (
    collect_facts,
    list_calls,
    list_details,
    quote_preamble,
    render_preamble,
    summarise_dangers,
)
from quorum.tui.screens.review.text.objections import Quotes, collect_quotes
from quorum.tui.screens.review.text.plan import render_all_votes
from quorum.tui.screens.review.text.substance import find_first_objection, render_substance
from quorum.tui.screens.review.text.title import build_request_title
from quorum.tui.screens.review.text.votes import compute_height, render_short_votes
from quorum.tui.screens.review.widgets import (
    Rows,
    ScrollableText,
    SeenRows,
    find_first_approved,
    find_last_approved,
    is_cramped,
)
from quorum.tui.transcript.kinds.rows import Line, LineKind, Row, fold


def can_reveal(request: ReviewRequest) -> bool:
    """Whether something is hidden in a packet, and known here."""
    return any(_find_original(packet) is not packet for packet in (request.packet, *request.following))


def reveal_hidden(request: ReviewRequest) -> ReviewRequest:
    """The same request, its packets as they are: with the same digests."""
    return replace(
        request,
        packet=_find_original(request.packet),
        following=tuple(map(_find_original, request.following)),
    )


def _find_original(packet: ReviewPacket) -> ReviewPacket:
    return packet.original or packet if isinstance(packet, MaskedPacket) else packet


_BESIDE_TEXT = 4 + 1  # border and padding, and the scroll bar
_BORDER_AND_CHOICES = 3
_WITH_VOTES = ("choosing", "reasoning")
_OVER_THE_CALL = ("choosing", "reasoning", "editing", "dropping")
_APART = ("polling", "detailing")
_ROOMY, _GAP_FROM = 20, 16
_MOST_OF_PREAMBLE, _ROOM_PER_LINE_OF_PREAMBLE = 3, 7
_LEAST_READ = 3
_LEAST_BESIDE_RULE = 1  # what tells how much is out of sight: the call was read before
_BESIDE_TITLE = 6  # corners, and what the border keeps free of them


def _count_lines_above(height: int) -> int:
    """How many lines of the transcript stay in sight above the card on a screen of that height."""
    return height // 4 if height >= 30 else 0


ShowsAnswer: TypeAlias = Callable[[str, int], bool]
"""Whether this text of the model is in sight above a dialog that covers so many lines from below."""


def shows_no_answer(_text: str, _lines: int) -> bool:
    """Nothing is known to be in sight."""
    return False


class ReviewCard(VerticalGroup):
    """Shows one request. What does not fit scrolls, and the number of lines out of sight is always shown."""

    DEFAULT_CSS: ClassVar[str] = """
    ReviewCard {
        padding: 0 1;
        border: round $warning;
        border-title-style: bold;
        border-title-color: $text;
        border-subtitle-color: $text-muted;
        background: $surface;
        & > #more { height: 1; color: $text-warning; text-align: right; }
        & > #votes { background: $panel; }
        & > #reason, & > #editor { margin-top: 1; background: $panel; padding: 0 1; }
        & > #editor { height: auto; max-height: 8; scrollbar-size-vertical: 1; }
        & > #problem { color: $text-error; }
    }
    """

    class Covered(Message):
        """The card takes that many lines of the screen."""

        def __init__(self, lines: int) -> None:
            super().__init__()
            self.lines = lines

    def __init__(
        self,
        request: ReviewRequest,
        review_context: ReviewContext,
        earlier: Earlier = NOTHING,
        *,
        root: str = "",
        shows_answer: ShowsAnswer = shows_no_answer,
    ) -> None:
        super().__init__(id="card")
        self._root, self._shows_answer = root, shows_answer
        self.notice = ""
        """What became of the last keys, in the place of what further keys there are."""
        self.laid_out_for = (0, 0)
        self.forms = ReviewForms(request, review_context)
        self._put(request, review_context, earlier)

    def _put(self, request: ReviewRequest, review_context: ReviewContext, earlier: Earlier) -> None:
        self._request, self._review_context, self._earlier = request, review_context, earlier
        self._objected: int | None = None
        self._quotes: Quotes = ()
        self._read_to = self._placed_at = 0
        self._seen: dict[bool, SeenRows] = {False: SeenRows(), True: SeenRows()}  # True: of the whole list
        self._unseen_warned_for = ""
        self._approved: list[Row] = []
        self.stage: Stage = "choosing"

    async def show_request(
        self, request: ReviewRequest, review_context: ReviewContext, earlier: Earlier
    ) -> None:
        """Show another request in the place of this one."""
        self.forms.propose(request, review_context)
        self._put(request, review_context, earlier)
        await self.enter("choosing", anew=True)

    def compose(self) -> ComposeResult:
        """All but what is typed into: most reviews end without, and making it takes longer than all else."""
        yield Rows(id="preamble")
        yield ScrollableText(id="reading")
        yield Static(id="more", markup=False)
        yield Rows(id="facts")
        yield Rows(id="votes")
        yield Static(id="problem", markup=False)
        yield ChoiceBar(id="choices")

    def on_mount(self) -> None:
        """Follow the scrolling."""
        self.watch(self._reading, "scroll_y", self._tell_more, init=False)

    @property
    def _reading(self) -> ScrollableText:
        return self.query_one("#reading", ScrollableText)

    @property
    def lines_laid_out(self) -> int:
        """How many lines it is going to take, but for a form in it."""
        parts = (child.styles for child in self.children if child.display)
        return 2 + sum(int(part.height.value if part.height else 1) + part.margin.height for part in parts)

    def on_resize(self, event: events.Resize) -> None:
        """Tell how much of the screen is covered now."""
        self.post_message(self.Covered(self.outer_size.height))

    # -- stages -------------------------------------------------------------------------------------------

    async def enter(self, stage: Stage, *, anew: bool = False) -> None:
        """Show what belongs to a stage, with the focus on its choices or its text; `anew`: from its top."""
        if self.stage == "choosing" and not anew:
            self._read_to = self._reading.scroll_offset.y
        form, is_new = self.forms.find(stage)
        if form is not None and is_new:
            await self.mount(form, before="#problem")
        self.stage = stage
        self._unseen_warned_for = ""
        self.forms.show(form)
        self.say("")
        self._offer_choices()
        self.lay_out()
        self._reading.scroll_to(y=self._read_to if stage in _OVER_THE_CALL else 0, animate=False)
        self.forms.focus(form, self.query_one(ChoiceBar))

    def _offer_choices(self) -> None:
        """Offer what can be done in this stage; the careful choice is marked, unless another is wished for."""
        offered = list_choices(
            self.stage,
            following=len(self._request.following),
            can_rule=self.forms.can_rule,
            can_accept_edits=self._request.can_accept_edits,
            can_add_folder=self._request.folder is not None,
            can_edit=self._request.can_be_edited,
            can_drop=self.forms.tasks is not None,
        )
        marked = "reject" if self.stage == "choosing" else offered[0].action
        if self.stage == "choosing" and self._request.can_accept_edits and isinstance(self.app, KeyedApp):
            marked = "approve" if self.app.settings.mark_approve_for_edits else marked
        place = next(n for n, offer in enumerate(offered) if offer.action == marked)
        self.query_one(ChoiceBar).show(offered, marked=place, is_numbered=self.stage == "choosing")

    # -- what is seen -------------------------------------------------------------------------------------

    def lay_out(self) -> None:
        """Give each part its lines. What the model wrote is not repeated where it stands right above, but for a
        screen reader, whose questions have the screen to themselves."""
        preamble = self._request.preamble
        self._arrange(preamble)
        if preamble and not self._spoken and self._shows_answer(preamble, self.lines_laid_out + 1):
            self._arrange("")

    def _arrange(self, preamble: str) -> None:
        """The same, with this text of the model: facts are pinned where they are few, and all else scrolls."""
        self.laid_out_for = width, height = self.app.size
        self._spoken = self.app.has_class(READER)
        self._title_line = build_request_title(self._request, self._earlier, self._root, spoken=self._spoken)
        self.border_title = Content(self._title_line.fit(width - _BESIDE_TITLE))
        inner, room = width - _BESIDE_TEXT, max(8, height - 2 - _count_lines_above(height))
        gap = int(room >= _GAP_FROM)
        least = _LEAST_BESIDE_RULE if self.stage == "ruling" else 2
        form_room = room - _BORDER_AND_CHOICES - gap - least
        typed = self.forms.lay_out(self.stage, roomy=room >= _ROOMY, room=form_room, width=width - 4)
        self.query_one(ChoiceBar).styles.margin = (gap, 0, 0, 0)
        left = room - self._lay_out_votes(inner, room) - _BORDER_AND_CHOICES - gap - typed
        left -= self._lay_out_preamble(preamble, inner, room)
        rows, pinned, approved = self._render_text(inner, left)
        if self._seen_rows.show(rows[:approved]):
            self._unseen_warned_for = ""
        lines = max(least, left - (1 + len(pinned) if pinned else 0))
        tight = len(rows) > lines  # then the line that tells how much is out of sight parts text and facts
        shown_lines = len(rows) if not tight else lines if pinned else lines - 1
        self._objected = find_first_objection(rows)
        self._approved = rows[:approved]
        self._reading.show(rows, height=lines - 1 if self.stage == "polling" else shown_lines)
        known = self.query_one("#facts", Rows)
        known.show(pinned, height=len(pinned))
        known.styles.margin = (0 if tight else 1, 0, 0, 0)
        self.show_keys()
        self._tell_more()

    @on(FormGrown)
    def _give_form_its_lines(self) -> None:
        self.lay_out()

    def _lay_out_preamble(self, preamble: str, width: int, room: int) -> int:
        """Show what the model wrote above what it asks for, where there is room; in how many lines."""
        height = min(_MOST_OF_PREAMBLE, room // _ROOM_PER_LINE_OF_PREAMBLE) if self.stage in _WITH_VOTES else 0
        key = fill_in_keys("{review_details=d}", self.app)
        rows = render_preamble(preamble, width, height, key)
        gap = int(bool(rows) and room >= _ROOMY)
        shown = self.query_one("#preamble", Rows)
        shown.show(rows, height=len(rows))
        shown.styles.margin = (0, 0, gap, 0)
        return len(rows) + gap

    def _lay_out_votes(self, width: int, room: int) -> int:
        """Show the votes in lines that do not depend on what has arrived; how many these are."""
        wanted = compute_height(self._review_context) if self.stage in _WITH_VOTES else 0
        height = min(wanted, max(2, room // 3))
        gap = int(room >= _ROOMY)
        votes = self.query_one("#votes", Rows)
        votes.show(render_short_votes(self._review_context, width, height) if height else [], height=height)
        votes.styles.margin = (gap, 0, 0, 0)
        return height + gap if height else 0

    def show_keys(self) -> None:
        """Name the further keys in the lower border, and what ⇧⇥ covers, as fully as fits; or the notice."""
        if self.notice:
            self.border_subtitle = Content(self.notice)
            return
        if self.stage != "choosing":
            self.border_subtitle = ""
            return
        room = self.app.size.width - _BESIDE_TITLE
        keys = list_further_keys(
            can_accept_edits=self._request.can_accept_edits,
            has_votes=bool(self._review_context.reviewers or self._request.comparison),
            is_elsewhere=self._request.is_elsewhere,
            can_reveal=can_reveal(self._request),
        )
        fitting = (text for each in keys if cell_len(text := fill_in_keys(each, self.app)) <= room)
        self.border_subtitle = Content(next(fitting, ""))

    def _render_text(self, width: int, room: int) -> tuple[list[Row], list[Row], int]:
        """What scrolls, what is pinned below it (the dangers, in one row where they do not fit), and how many
        of the rows that scroll are what is approved: these come first.
        """
        if self.stage == "listing":
            rows = list_calls(self._request, width, self._root, spoken=self._spoken)
            return rows, [], len(rows)
        if self.stage == "polling":
            return render_all_votes(self._request, self._review_context, width), [], 0
        if self.stage == "detailing":
            details = list_details(self._request, spoken=self._spoken)
            return fold([*details, *quote_preamble(self._request.preamble)], width), [], 0
        self._quotes = collect_quotes(self._review_context.ballots)
        is_cut = self._title_line.is_cut(width + _BESIDE_TEXT - _BESIDE_TITLE)
        title = fold([Line("", self._title_line.what, LineKind.STRONG)] if is_cut else [], width)
        rows = render_substance(self._request.packet, width, self._quotes, spoken=self._spoken)
        # Where both do not fit, what changes is read first: the border has the beginning of the title.
        rows = [*title, *rows] if len(title) + len(rows) <= room else [*rows, *title]
        known = collect_facts(self._request, self._earlier, root=self._root, quotes=self._quotes)
        dangers = fold(known.dangers, width)
        if self.forms.offer is not None and self.stage == "choosing":
            dangers.append(
                render_offer_row(self.forms.offer, fill_in_keys("{review_offer=k}", self.app), width)
            )
        arguments = fold(known.arguments, width)
        rows += [(), *arguments] if arguments else []
        least = min(len(rows), max(_LEAST_READ, room // 2))
        if dangers and (self.stage in ("ruling", "offering") or len(dangers) > room - 1 - least):
            is_in_short = bool(known.dangers) and self.stage == "choosing" and room >= _LEAST_READ + 2
            pinned = [summarise_dangers(known.dangers, width)] if is_in_short else []
            return [*rows, (), *dangers], pinned, len(rows)
        return rows, dangers, len(rows)

    def show_votes(self) -> None:
        """Show a vote that has arrived. Nothing moves: not the focus, not the scrolling, not the height."""
        if self.stage == "polling" or collect_quotes(self._review_context.ballots) != self._quotes:
            self.lay_out()
        elif self.stage in _WITH_VOTES:
            votes = self.query_one("#votes", Rows)
            width, height = self.app.size.width - _BESIDE_TEXT, votes.lines_shown
            votes.show(render_short_votes(self._review_context, width, height), height=height)

    @property
    def hides_objection(self) -> bool:
        """Whether what is objected to is out of sight."""
        reading, place = self._reading, self._objected
        return place is not None and not 0 <= place - reading.above < reading.lines_shown

    def go_to_objection(self) -> None:
        """Scroll to the first thing that is objected to."""
        if self._objected is not None:
            self._reading.scroll_to(y=max(0, self._objected - 1), animate=False)

    def go_to_first(self) -> None:
        """Have the beginning of what is approved in sight, and the first thing that is objected to.

        Where there is no room for both, it is the latter.
        """
        shown_lines, first = self._reading.lines_shown, find_first_approved(self._approved)
        objected = (
            self._objected if self._objected is not None and self._objected < len(self._approved) else first
        )
        self._placed_at = self._reading.scroll_offset.y
        last = find_last_approved(self._approved)
        fits_only_from_first = shown_lines <= last < shown_lines + max(0, first - 1)
        if max(first, objected) < shown_lines and not fits_only_from_first:
            return
        lead = first if objected - first + 1 < shown_lines else objected
        self._placed_at = max(0, lead - 1)
        self._reading.scroll_to(y=self._placed_at, animate=False)

    def keep_first_in_sight(self) -> None:
        """The same where another size has moved it, unless the person has scrolled meanwhile."""
        if self.stage == "choosing" and self._reading.scroll_offset.y == self._placed_at:
            self.go_to_first()

    # -- what has been seen -------------------------------------------------------------------------------

    @property
    def _seen_rows(self) -> SeenRows:
        return self._seen[self.stage == "listing"]

    @property
    def unseen(self) -> int:
        """How many lines of what would be approved have not been on the screen yet."""
        return self._seen_rows.unseen

    @property
    def tells_unseen(self) -> bool:
        """Whether it says that not everything was seen, and that the key approves it all the same."""
        return bool(self._unseen_warned_for)

    def tell_unseen(self, key: str) -> None:
        """Say how much was not seen, and that this key, pressed again, approves it all the same."""
        self._unseen_warned_for = fill_in_keys(key, self.app)
        self._tell_more()

    @on(Rows.RowsResized)
    def note_seen_once_drawn(self) -> None:
        """Count as seen what is in sight as soon as that has been drawn."""
        self.call_after_refresh(self.note_seen)

    def note_seen(self) -> None:
        """Count as seen what is in sight, which has been drawn."""
        reading, screen = self._reading, self.screen
        if not screen.is_current or is_cramped(screen) or self.stage in _APART:
            return
        in_sight = reading.region.intersection(screen.region)
        start = reading.above + in_sight.y - reading.region.y
        self._seen_rows.note(range(start, start + in_sight.height))
        if self.tells_unseen:
            self._tell_more()

    def _tell_more(self) -> None:
        self.note_seen_once_drawn()
        reading, more = self._reading, self.query_one("#more", Static)
        if self.tells_unseen and self.unseen:
            reads_on = "esc" if self.stage == "ruling" else fill_in_keys("{review_read_on=space}", self.app)
            message = f"{format_amount(self.unseen, 'line')} unseen: {reads_on} reads on, "
            message += f"{self._unseen_warned_for} again approves all"
            more.display = True
            more.update(message)
            return
        parts = reading.describe_hidden()
        if self.stage == "choosing" and self._objected is not None and self.hides_objection:
            where = "above" if self._objected < reading.above else "below"
            parts.append(f"objection {where}: o goes there")
        more.display = bool(parts)
        more.update(" · ".join(parts))

    def show_choices(self, *, alive: bool) -> None:
        """Draw the choices as ones that can be taken, or dim, as ones that cannot be yet."""
        self.query_one(ChoiceBar).set_class(not alive, "-dead")
        if alive:
            self.show_keys()

    def say(self, problem: str) -> None:
        """Show what is wrong with what was typed; an empty text takes it away."""
        label = self.query_one("#problem", Static)
        label.display = bool(problem)
        label.update(problem)

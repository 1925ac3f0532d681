"""The choices of a review in one row, by its stage, and the keys that act there.

What is safe comes first, then a gap, then what reaches beyond this call. A choice of the first stage has a
number as a second key, which is the same in every review.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal, NamedTuple, TypeAlias, assert_never

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Offset
from textual.message import Message
from textual.widget import Widget

from quorum.tui.keys.keyed_app import READER, fill_in_keys

Stage: TypeAlias = Literal[
    "choosing", "listing", "polling", "detailing", "reasoning", "editing", "dropping", "ruling", "offering"
]
"""What the person is about: the answers, the list of what else would be approved, all votes, all details, a
reason, an edit, which tasks of a plan to drop, a rule, the rules that are offered."""

_NUMBERS = {
    "approve": 1,
    "reject": 2,
    "reason": 3,
    "edit": 4,
    "rule": 5,
    "accept_edits": 6,
    "list_rest": 7,
    "add_folder": 8,
    "drop_tasks": 9,
}
"""What a number does where it stands beside a choice: one that is learnt means nothing else elsewhere."""

KEYS: list[BindingType] = [
    Binding("y", "approve", "Approve: run exactly this", id="review_approve"),
    Binding("n", "reject", "Reject", id="review_reject"),
    Binding("r", "reason", "Reject with a reason for the model", id="review_reason"),
    Binding("e", "edit", "Edit the call, then review it again", id="review_edit"),
    Binding("ctrl+g", "edit_outside", "Edit the call in $VISUAL or $EDITOR", id="review_edit_outside"),
    Binding("t", "drop_tasks", "List the tasks of a plan, to drop some", id="review_tasks"),
    Binding("space", "toggle_task", "Drop or keep the marked task", show=False, id="review_toggle_task"),
    Binding("up", "mark_task(-1)", "Previous task", show=False, id="review_task_before"),
    Binding("down", "mark_task(1)", "Next task", show=False, id="review_task_after"),
    Binding("ctrl+s,ctrl+enter", "submit_edit", "Submit the edit", id="review_submit_edit"),
    Binding("a", "rule", "Always: create a rule that allows this call", id="review_rule"),
    Binding("k", "offer", "Show the rule offered after several approvals; there, save it", id="review_offer"),
    Binding(
        "shift+tab",
        "accept_edits",
        "Approve, and let all edits inside the workspace run",
        id="review_all_edits",
    ),
    Binding("w", "add_folder", "Approve, and add the folder to the workspace; press twice", id="review_folder"),
    Binding("up", "turn_rule(-1)", "Previous proposed rule", show=False, id="review_rule_before"),
    Binding("down", "turn_rule(1)", "Next proposed rule", show=False, id="review_rule_after"),
    Binding("tab", "widen_rule(1)", "Scope of the rule", show=False, id="review_widen"),
    Binding("shift+tab", "widen_rule(-1)", "Scope of the rule", show=False, id="review_narrow"),
    Binding("A", "list_rest", "Approve this and the listed calls", id="review_list_rest"),
    Binding("v", "poll", "Show all votes with their reasons", id="review_votes"),
    Binding("o", "go_to_objection", "Go to the objection", id="review_objection"),
    Binding("d", "detail", "Show details: reasons, programs, files, environment, digest", id="review_details"),
    Binding(
        "s", "reveal", "Show the secrets that are hidden in the call, or hide them again", id="review_reveal"
    ),
    Binding("escape", "back", "Back, or reject and interrupt", id="review_back"),
    Binding("up", "scroll(-1)", "Scroll up", show=False, id="review_up"),
    Binding("down", "scroll(1)", "Scroll down", show=False, id="review_down"),
    Binding("ctrl+up,shift+up", "scroll(-10)", "Scroll up by ten lines", show=False, id="review_far_up"),
    Binding("ctrl+down,shift+down", "scroll(10)", "Scroll down by ten lines", show=False, id="review_far_down"),
    Binding("space", "read_on", "Scroll down by a page", show=False, id="review_read_on"),
    *(
        Binding(f"{number}", f"take({number})", f"Choice {number}", show=False, id=f"review_choice_{number}")
        for number in _NUMBERS.values()
    ),
    Binding("left,shift+tab", "mark(-1)", "Previous choice", show=False, id="review_left"),
    Binding("right,tab", "mark(1)", "Next choice", show=False, id="review_right"),
]

_READING = frozenset({"back", "scroll", "read_on", "mark"})
_ANSWERING = frozenset(
    {
        "approve",
        "reject",
        "take",
        "reason",
        "edit",
        "edit_outside",
        "drop_tasks",
        "list_rest",
        "rule",
        "offer",
        "accept_edits",
        "add_folder",
        "poll",
        "detail",
        "go_to_objection",
        "reveal",
    }
)
ACTIONS: dict[Stage, frozenset[str]] = {
    "choosing": _ANSWERING | _READING,
    "listing": frozenset({"list_rest"}) | _READING,
    "polling": _READING,
    "detailing": frozenset({"detail"}) | _READING,
    "reasoning": frozenset({"back"}),
    "editing": frozenset({"submit_edit", "edit_outside", "back"}),
    "dropping": frozenset({"toggle_task", "mark_task", "mark", "submit_edit", "back"}),
    "ruling": frozenset({"save_rule", "turn_rule", "widen_rule", "back"}),
    "offering": frozenset({"offer", "widen_rule", "back", "scroll", "read_on"}),
}
STAGED = frozenset[str]().union(*ACTIONS.values())
"""Actions that belong to some stages only."""


class ReviewOffer(NamedTuple):
    """A choice: its key, what it does, the action behind it, and a shorter name for few columns.

    `reaches_far`: it lets more run than this call. `is_main`: it keeps its name whatever the width.
    """

    key: str
    label: str
    action: str
    short: str = ""
    reaches_far: bool = False
    is_main: bool = False


_BACK = ReviewOffer("esc", "back", "back", is_main=True)


def list_choices(
    stage: Stage,
    *,
    following: int,
    can_rule: bool,
    can_accept_edits: bool,
    can_add_folder: bool = False,
    can_edit: bool = True,
    can_drop: bool = False,
) -> list[ReviewOffer]:
    """What can be done in a stage: what is about this call alone first."""
    rest = ReviewOffer(
        "{review_list_rest=A}",
        f"yes to these {1 + following}",
        "list_rest",
        f"these {1 + following}",
        reaches_far=True,
    )
    rule = ReviewOffer("{review_rule=a}", "always…", "rule", reaches_far=True)
    edits = ReviewOffer(
        "{review_all_edits=shift+tab}", "yes to all edits", "accept_edits", "all edits", reaches_far=True
    )
    folder = ReviewOffer("{review_folder=w}", "folder…", "add_folder", "folder", reaches_far=True)
    match stage:
        case "reasoning":
            return [ReviewOffer("enter", "no, for this reason", "send_reason"), _BACK]
        case "editing":
            again = ReviewOffer(
                "{review_submit_edit=ctrl+s}", "ask again with this", "submit_edit", "ask again"
            )
            return [again, _BACK]
        case "dropping":
            return [
                ReviewOffer("{review_toggle_task=space}", "drop or keep", "toggle_task", "drop", is_main=True),
                ReviewOffer(
                    "{review_submit_edit=ctrl+s}", "ask again with the rest", "submit_edit", "ask again"
                ),
                _BACK,
            ]
        case "ruling":
            return [ReviewOffer("enter", "yes, and save this rule", "save_rule", "yes, and save"), _BACK]
        case "offering":
            return [_BACK, ReviewOffer("{review_offer=k}", "yes, and save", "offer")]
        case "listing":
            return [_BACK, rest._replace(short="", is_main=True)]
        case "polling" | "detailing":
            return [_BACK]
        case "choosing":
            return [
                ReviewOffer("{review_approve=y}", "yes", "approve", is_main=True),
                ReviewOffer("{review_reject=n}", "no", "reject", is_main=True),
                ReviewOffer("{review_reason=r}", "no, because…", "reason", "because…"),
                *([ReviewOffer("{review_edit=e}", "change it", "edit", "change")] if can_edit else []),
                *([ReviewOffer("{review_tasks=t}", "tasks", "drop_tasks")] if can_drop else []),
                *([rule] if can_rule else []),
                *([edits] if can_accept_edits else []),
                *([rest] if following else []),
                *([folder] if can_add_folder else []),
            ]
        case _:
            assert_never(stage)


_COVERED = ("all edits: inside the workspace, from here on", "all edits: in the workspace")
_LEAVE, _LEAVE_IN_SHORT = "esc rejects and interrupts", "esc stops"
_LEAVE_WAITING = ("esc leaves it waiting", "esc leaves it")
_DETAILS = "{review_details=d} details"


def list_further_keys(
    *, can_accept_edits: bool, has_votes: bool, is_elsewhere: bool = False, can_reveal: bool = False
) -> Iterator[str]:
    """What else the keys do, and what approving all edits covers, in ever fewer words."""
    leave, leave_in_short = _LEAVE_WAITING if is_elsewhere else (_LEAVE, _LEAVE_IN_SHORT)
    covers, covers_in_short = _COVERED if can_accept_edits else ("", "")
    votes = "{review_votes=v} votes" if has_votes else ""
    secrets = "{review_reveal=s} secrets" if can_reveal else ""
    for parts in (
        (covers, leave, votes, secrets, _DETAILS),
        (covers_in_short, leave, votes, secrets, _DETAILS),
        (covers_in_short, leave_in_short, votes, secrets, _DETAILS),
        (covers_in_short, votes, secrets, _DETAILS),
        (covers_in_short, secrets, _DETAILS),
        (secrets, _DETAILS),
    ):
        yield " · ".join(filter(None, parts))


_GAP = "  "
_DRAWN_KEYS = {"shift+tab": "⇧⇥"}


class _ChoicePlace(NamedTuple):
    """A choice as it is drawn: its columns, the key and the words beside it."""

    start: int
    end: int
    key: str
    label: str


class ChoiceBar(Widget, can_focus=True):
    """Draws all choices itself, the marked one in brackets. Enter takes the marked one, a click any."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Confirm the selected choice", show=False, id="review_choose")
    ]
    DEFAULT_CSS = """
    ChoiceBar {
        height: 1;
        &.-dead { color: $text-muted; }
    }
    """

    class Taken(Message):
        """A choice was taken, by Enter or by the mouse."""

        def __init__(self, action: str, time: float | None) -> None:
            super().__init__()
            self.action = action
            self.clicked_at = time

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.offers: Sequence[ReviewOffer] = ()
        self._marked = 0
        self._is_numbered = False

    def show(self, offers: Sequence[ReviewOffer], *, marked: int, is_numbered: bool = False) -> None:
        """Show these choices; `is_numbered`: the number of each is a key, too."""
        self.offers, self._marked, self._is_numbered = offers, marked, is_numbered
        self.refresh()

    @property
    def marked(self) -> str:
        """The action that Enter takes; empty where nothing is offered."""
        return self.offers[self._marked].action if self.offers else ""

    def mark(self, step: int) -> None:
        """Mark the next choice, or the one before."""
        if self.offers:
            self._marked = (self._marked + step) % len(self.offers)
            self.refresh()
            self.app.post_message(events.DescendantFocus(self))  # a reader's cursor goes where the mark is

    @property
    def marked_offset(self) -> Offset:
        """Where the marked choice begins."""
        return Offset(self.find_column(self.marked) if self.offers else 0, 0)

    def find_column(self, action: str) -> int:
        """Where the choice of an action begins, in cells from the left."""
        return next(place.start for place, offer in self._place_choices() if offer.action == action)

    def find_numbered(self, number: object) -> str | None:
        """The action of the choice beside which this number stands; None where it stands beside none."""
        beside = f"{number}/"
        return next(
            (offer.action for place, offer in self._place_choices() if place.key.startswith(beside)), None
        )

    def _place_choices(self) -> Iterator[tuple[_ChoicePlace, ReviewOffer]]:
        """The choices with as many words as fit: all of them, short ones, or keys alone; numbers go before
        words do but for the long ones."""
        drawn: list[_ChoicePlace] = []
        for level, numbered in ((0, True), (1, True), (1, False), (2, False), (3, False)):
            drawn = list(self._place_offers(level, numbered=numbered and self._is_numbered))
            if not drawn or drawn[-1].end <= self.size.width:
                break
        yield from zip(drawn, self.offers, strict=True)

    def _place_offers(self, level: int, *, numbered: bool) -> Iterator[_ChoicePlace]:
        column = 0
        for place, offer in enumerate(self.offers):
            number = _NUMBERS.get(offer.action) if numbered else None
            key = fill_in_keys(offer.key, self.app)
            key = key if self.app.has_class(READER) else _DRAWN_KEYS.get(key, key)
            key = f"{number}/{key}" if number else key
            label = offer.short or offer.label if level else offer.label
            is_bare = (level == 2 and offer.reaches_far) or (level == 3 and not offer.is_main)
            if is_bare and place != self._marked:
                label = ""
            column += len(_GAP) * (offer.reaches_far and place > 0 and not self.offers[place - 1].reaches_far)
            end = column + cell_len(f" {key} {label} ".replace("  ", " "))
            yield _ChoicePlace(column, end, key, label)
            column = end

    def render(self) -> Content:
        """`[n no]` where it is marked, the same without brackets elsewhere; without colours while dead."""
        dead = self.has_class("-dead")
        key_style = "" if dead else "bold $text-accent"
        parts: list[Content] = []
        column = 0
        for number, (place, _) in enumerate(self._place_choices()):
            parts.append(Content(" " * (place.start - column)))
            column = place.end
            is_marked = number == self._marked and self.has_focus
            opening, closing = "[]" if is_marked else "  "
            label = f" {place.label}" if place.label else ""
            choice = Content.assemble(opening, (place.key, key_style), label, closing)
            if is_marked and not dead:
                choice = choice.stylize_before(
                    "bold reverse" if self.app.current_theme.ansi else "bold $text-primary on $primary-muted"
                )
            parts.append(choice)
        return Content("").join(parts)

    def on_focus(self) -> None:
        """What is marked is in brackets now."""
        self.refresh()

    def on_blur(self) -> None:
        """Nothing is marked."""
        self.refresh()

    def action_choose(self) -> None:
        """Take the marked choice."""
        if self.offers:
            self.post_message(self.Taken(self.marked, None))

    async def _on_click(self, event: events.Click) -> None:
        event.stop()
        for place, offer in self._place_choices():
            if place.start <= event.x < place.end:
                self.post_message(self.Taken(offer.action, event.time))

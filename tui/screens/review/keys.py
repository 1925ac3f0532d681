"""The stages of a review, the keys that act in each, and the choices it offers."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, assert_never

from textual.binding import Binding, BindingType

Stage: TypeAlias = Literal[
    "choosing", "listing", "polling", "detailing", "reasoning", "editing", "ruling", "offering"
]
"""What the person is about: the answers, the list of what else would be approved, all votes, all details, a
reason, an edit, a rule, the rules that are offered."""

KEYS: list[BindingType] = [
    Binding("y", "approve", "Approve: run exactly this", id="review_approve"),
    Binding("n", "reject", "Reject", id="review_reject"),
    Binding("r", "reason", "Reject with a reason for the model", id="review_reason"),
    Binding("e", "edit", "Edit the call, then review it again", id="review_edit"),
    Binding("ctrl+s,ctrl+enter", "submit_edit", "Submit the edit", id="review_submit_edit"),
    Binding("a", "rule", "Always: create a rule that allows this call", id="review_rule"),
    Binding("k", "offer", "Show the rule offered after several approvals; there, save it", id="review_offer"),
    Binding("up", "turn_rule(-1)", "Previous proposed rule", show=False, id="review_rule_before"),
    Binding("down", "turn_rule(1)", "Next proposed rule", show=False, id="review_rule_after"),
    Binding("tab", "widen_rule(1)", "Scope of the rule", show=False, id="review_widen"),
    Binding("shift+tab", "widen_rule(-1)", "Scope of the rule", show=False, id="review_narrow"),
    Binding("A", "list_rest", "Approve this and the listed calls", id="review_list_rest"),
    Binding("v", "poll", "Show all votes with their reasons", id="review_votes"),
    Binding("o", "go_to_objection", "Go to the objection", id="review_objection"),
    Binding("d", "detail", "Show details: reasons, programs, files, environment, digest", id="review_details"),
    Binding("escape", "back", "Back, or reject and interrupt", id="review_back"),
    Binding("up", "scroll(-1)", "Scroll up", show=False, id="review_up"),
    Binding("down", "scroll(1)", "Scroll down", show=False, id="review_down"),
    Binding("ctrl+up,shift+up", "scroll(-10)", "Scroll up by ten lines", show=False, id="review_far_up"),
    Binding("ctrl+down,shift+down", "scroll(10)", "Scroll down by ten lines", show=False, id="review_far_down"),
    Binding("space", "read_on", "Scroll down by a page", show=False, id="review_read_on"),
    Binding("left,shift+tab", "mark(-1)", "Previous choice", show=False, id="review_left"),
    Binding("right,tab", "mark(1)", "Next choice", show=False, id="review_right"),
]

_READING = frozenset({"back", "scroll", "read_on", "mark"})
_ANSWERING = frozenset(
    {"approve", "reject", "reason", "edit", "list_rest", "rule", "offer", "poll", "detail", "go_to_objection"}
)
ACTIONS: dict[Stage, frozenset[str]] = {
    "choosing": _ANSWERING | _READING,
    "listing": frozenset({"list_rest"}) | _READING,
    "polling": _READING,
    "detailing": frozenset({"detail"}) | _READING,
    "reasoning": frozenset({"back"}),
    "editing": frozenset({"submit_edit", "back"}),
    "ruling": frozenset({"save_rule", "turn_rule", "widen_rule", "back"}),
    "offering": frozenset({"offer", "widen_rule", "back", "scroll", "read_on"}),
}
STAGED = frozenset[str]().union(*ACTIONS.values())
"""Actions that belong to some stages only."""


class ReviewOffer(NamedTuple):
    """A choice: its key, what it does, the action behind it, and a short name for screens of few columns.

    On a screen of fewer columns than `named_from` its key alone stands for it, so that the last choice, to
    approve, stays in sight.
    """

    key: str
    label: str
    action: str
    short: str = ""
    short_below: int = 92
    named_from: int = 0


_BACK = ReviewOffer("esc", "back", "back")


def choices_in(stage: Stage, *, following: int, can_rule: bool) -> list[ReviewOffer]:
    """What can be done in a stage, the most careful first."""
    rest = ReviewOffer("{review_list_rest=A}", f"approve these {1 + following}", "list_rest")
    all_listed = rest._replace(
        short=f"all {1 + following}", short_below=76, named_from=60 + len(str(1 + following)) - 1
    )
    rule = ReviewOffer("{review_rule=a}", "always…", "rule", "rule", short_below=76, named_from=60)
    match stage:
        case "reasoning":
            return [ReviewOffer("enter", "reject with this reason", "send_reason"), _BACK]
        case "editing":
            return [ReviewOffer("{review_submit_edit=ctrl+s}", "ask again with this", "submit_edit"), _BACK]
        case "ruling":
            return [ReviewOffer("enter", "save this rule and approve", "save_rule"), _BACK]
        case "offering":
            return [_BACK, ReviewOffer("{review_offer=k}", "save and approve", "offer")]
        case "listing":
            return [_BACK, rest]
        case "polling" | "detailing":
            return [_BACK]
        case "choosing":
            return [
                ReviewOffer("{review_reject=n}", "reject", "reject"),
                ReviewOffer("{review_reason=r}", "reject with a reason", "reason", "reason", named_from=50),
                ReviewOffer("{review_edit=e}", "edit", "edit", named_from=50),
                *([rule] if can_rule else []),
                *([all_listed] if following else []),
                ReviewOffer("{review_approve=y}", "approve", "approve"),
            ]
        case _:
            assert_never(stage)

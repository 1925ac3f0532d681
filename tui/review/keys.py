"""The stages of a review, the keys that act in each, and the choices it offers."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, assert_never

from textual.binding import Binding, BindingType

Stage: TypeAlias = Literal["choosing", "listing", "polling", "reasoning", "editing", "ruling"]
"""What the person is about: the answers, the list of what else would be approved, all votes, a reason, an
edit, a rule."""

KEYS: list[BindingType] = [
    Binding("y", "approve", "Approve: run exactly this"),
    Binding("n", "reject", "Reject"),
    Binding("r", "reason", "Reject with a reason for the model"),
    Binding("e", "edit", "Edit, then be asked again"),
    Binding("ctrl+s,ctrl+enter", "submit_edit", "Send what was edited"),
    Binding("a", "rule", "Always: a rule that lets this call and its like run"),
    Binding("up", "turn_rule(-1)", "The rule proposed before", show=False),
    Binding("down", "turn_rule(1)", "The rule proposed next", show=False),
    Binding("tab", "widen_rule(1)", "How far the rule holds", show=False),
    Binding("shift+tab", "widen_rule(-1)", "How far the rule holds", show=False),
    Binding("A", "list_rest", "Approve this and the listed calls"),
    Binding("v", "poll", "Show all votes with their reasons"),
    Binding("o", "go_to_objection", "Go to what is objected to"),
    Binding("d", "digest", "Show the packet's whole digest"),
    Binding("escape", "back", "Back, or reject and interrupt"),
    Binding("up", "scroll(-1)", "Scroll up", show=False),
    Binding("down", "scroll(1)", "Scroll down", show=False),
    Binding("ctrl+up,shift+up", "scroll(-10)", "Scroll up by ten lines", show=False),
    Binding("ctrl+down,shift+down", "scroll(10)", "Scroll down by ten lines", show=False),
    Binding("left,shift+tab", "mark(-1)", "Choice to the left", show=False),
    Binding("right,tab", "mark(1)", "Choice to the right", show=False),
]

_READING = frozenset({"back", "scroll", "mark"})
_ANSWERING = frozenset(
    {"approve", "reject", "reason", "edit", "list_rest", "rule", "poll", "digest", "go_to_objection"}
)
ACTIONS: dict[Stage, frozenset[str]] = {
    "choosing": _ANSWERING | _READING,
    "listing": frozenset({"list_rest"}) | _READING,
    "polling": _READING,
    "reasoning": frozenset({"back"}),
    "editing": frozenset({"submit_edit", "back"}),
    "ruling": frozenset({"save_rule", "turn_rule", "widen_rule", "back"}),
}
STAGED = frozenset[str]().union(*ACTIONS.values())
"""Actions that belong to some stages only."""


class Offer(NamedTuple):
    """A choice: its key, what it does, the action behind it, and what it is called where room is scarce."""

    key: str
    label: str
    action: str
    short: str = ""


_BACK = Offer("esc", "back", "back")


def choices_in(stage: Stage, *, following: int, can_rule: bool) -> list[Offer]:
    """What can be done in a stage, the most careful first."""
    rest = Offer("A", f"approve these {1 + following}", "list_rest")
    match stage:
        case "reasoning":
            return [Offer("enter", "reject with this reason", "send_reason"), _BACK]
        case "editing":
            return [Offer("ctrl+s", "ask again with this", "submit_edit"), _BACK]
        case "ruling":
            return [Offer("enter", "save this rule and approve", "save_rule"), _BACK]
        case "listing":
            return [_BACK, rest]
        case "polling":
            return [_BACK]
        case "choosing":
            return [
                Offer("n", "reject", "reject"),
                Offer("r", "reject with a reason", "reason", "reason"),
                Offer("e", "edit", "edit"),
                *([Offer("a", "always…", "rule")] if can_rule else []),
                *([rest] if following else []),
                Offer("y", "approve", "approve"),
            ]
        case _:
            assert_never(stage)

"""Words that a person chooses between: modes, scopes, efforts and the like.

They stand here for what is loaded before the first paint, or draws nothing, and so may not import the domain.
`tests/tui/test_modes.py` and `tests/tui/test_model_picker.py` compare them with it.
"""

from __future__ import annotations

CYCLED_MODES = ("ask", "accept-edits", "quorum", "sandboxed", "read-only")
"""The review modes that Shift+Tab goes through in this order; after them it reaches the one in a layer."""

STAGED = "staged"
"""The mode in which the process stands in a layer over the workspace."""

SANDBOX_OFF = "sandbox off"
"""How the header says that commands run without one."""

LAYERED_MODES = (STAGED, "read-only")
"""The modes that there are in a layer; Shift+Tab goes through them there, and then out of it."""

MODES = (*CYCLED_MODES, STAGED, "auto")
"""All review modes. In `auto` hardly anything is asked: it takes a command."""

MODE_MEANINGS = (
    "you review edits and commands",
    "edits in the workspace run; you review commands",
    "models vote on edits and commands; you review the rest",
    "edits and sandboxed commands run; you review the rest",
    "nothing is changed",
    "your files change once you have reviewed the effects",
    "all runs but what guards, rules and protected paths ask about",
)
"""What each mode means, in their order."""

WARNINGS = {"auto": "only exceptions are asked"}
"""What the header warns of, by mode."""

_REVIEWED = {
    "ask": "You review edits and commands first, unless a rule allows them.",
    "accept-edits": "Edits in the workspace do, too. You review commands first, unless a rule allows them.",
    "quorum": "Models vote on edits and commands; you review what they do not approve.",
    "sandboxed": "Edits in the workspace and commands in the sandbox do, too. You review the rest.",
    "staged": "Edits in the workspace and commands in the sandbox do, too, beside your files. You review them.",
    "read-only": "Edits, and commands that are not proven only to read, do not run.",
    "auto": "Edits and commands do, too. You review only what guards, rules and protected paths ask about.",
    "plan": "Nothing is changed before you approve a plan.",
}
_NOTHING_CHANGED = "Nothing is changed."


def find_warning(label: str) -> str:
    """What the header warns of under the label of a session, which may name more than its mode."""
    return WARNINGS.get(label.partition(",")[0], "")


def describe_reviews(label: str, sandbox: str) -> str:
    """What runs at once and what the person reviews, under the label of a session and the state of its sandbox,
    in a sentence or two."""
    mode, is_off = label.partition(",")[0], sandbox.endswith("off")
    reviewed = _REVIEWED.get(mode, _NOTHING_CHANGED)
    if mode == "sandboxed" and is_off:
        reviewed = _REVIEWED["accept-edits"]
    if mode == "auto" and is_off:
        reviewed = reviewed.replace("commands do, too", "commands do, too, with all your rights")
    return f"Reading and searching run at once. {reviewed}"


SCOPES = ("full", "fast", "plan-only")
"""How far a session goes."""

SCOPE_MEANINGS = ("it works", "it works, and models review no plan", "it proposes a plan, which you approve")
"""What each scope means, in their order."""

CONSENSUS_LEVELS = ("solo", "ensemble")
"""How many models answer."""

STRATEGIES = ("quorum", "debate")
"""How several models come to one answer."""

STRATEGY_MEANINGS = ("they score each other's answers", "they object to one answer")
"""What each strategy means, in their order."""

EFFORTS = ("default", "none", "minimal", "low", "medium", "high", "xhigh", "max")
"""All reasoning efforts, the least first."""

LAYOUTS = ("auto", "default", "wide", "stacked", "minimal")
"""The layouts that may be asked for. `auto` goes by the size of the screen."""

LAYOUT_MEANINGS = (
    "by the size of the screen",
    "header, transcript, prompt and status bar",
    "with the side panel beside the transcript",
    "with the side panel below the transcript",
    "no header, no panel, no borders",
)
"""What each layout means, in their order."""

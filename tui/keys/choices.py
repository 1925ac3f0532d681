"""Words that a person chooses between: modes, scopes, efforts and the like.

They stand here for what is loaded before the first paint, or draws nothing, and so may not import the domain.
`tests/tui/test_modes.py` and `tests/tui/test_model_picker.py` compare them with it.
"""

from __future__ import annotations

CYCLED_MODES = ("ask", "accept-edits", "quorum", "sandboxed", "read-only")
"""The review modes that Shift+Tab goes through, in this order."""

MODES = (*CYCLED_MODES, "auto")
"""All review modes. In `auto` nothing is asked, so that it takes a command."""

WARNINGS = {"auto": "nothing is asked"}
"""What the header warns of, by mode."""

SCOPES = ("full", "fast", "plan-only")
"""How far a session goes."""

CONSENSUS_LEVELS = ("solo", "ensemble")
"""How many models answer."""

STRATEGIES = ("quorum", "debate")
"""How several models come to one answer."""

EFFORTS = ("default", "none", "minimal", "low", "medium", "high", "xhigh", "max")
"""All reasoning efforts, the least first."""

LAYOUTS = ("auto", "default", "wide", "stacked", "minimal")
"""The layouts that may be asked for. `auto` goes by the size of the screen."""

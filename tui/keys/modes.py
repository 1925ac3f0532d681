"""The review modes as words, for what is loaded before the first paint and so may not import the domain.

`tests/tui/test_modes.py` compares them with `domain/review/mode.py`.
"""

from __future__ import annotations

CYCLED_MODES = ("ask", "accept-edits", "quorum", "sandboxed", "read-only")
"""The review modes that Shift+Tab goes through, in this order."""

MODES = (*CYCLED_MODES, "auto")
"""All review modes. In `auto` nothing is asked, so that it takes a command."""

WARNINGS = {"auto": "nothing is asked"}
"""What the header warns of, by mode."""

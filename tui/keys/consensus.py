"""How many models answer, as words, for what is loaded before the first paint and so may not import the domain.

`tests/tui/test_modes.py` compares them with `domain/panel/consensus.py`.
"""

from __future__ import annotations

CONSENSUS_LEVELS = ("solo", "ensemble")

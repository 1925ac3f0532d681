"""The reasoning efforts as words, for what is loaded before the first paint and so may not import the domain.

`tests/tui/test_model_picker.py` compares them with `domain/conversation/effort.py`.
"""

from __future__ import annotations

EFFORTS = ("default", "none", "minimal", "low", "medium", "high", "xhigh", "max")
"""All reasoning efforts, the least first."""

"""What an empty screen says: what to expect, or what is missing."""

from __future__ import annotations

_READY = "Reading and searching runs at once. What writes or runs commands is put to you first."
_OFFLINE = (
    "No model yet: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or edit quorum.toml.\n"
    "Offline works: “read a.py and b.py”, “find TODO in src”, “run pytest”."
)


def welcome_text(model: str) -> str:
    """One or two lines for a session with this model, "provider/model"."""
    return _OFFLINE if model.startswith("offline/") else _READY

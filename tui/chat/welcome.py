"""What an empty screen says: what this is and where, what to expect, or what is missing."""

from __future__ import annotations

from textual.content import Content

_READY = "Reading and searching runs at once. What writes or runs commands is put to you first."
_OFFLINE = (
    "No model yet: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or edit quorum.toml.\n"
    "Offline works: “read a.py and b.py”, “find TODO in src”, “run pytest”."
)
_HINTS = "@ names a file · / lists commands · ? shows all keys"


def welcome_text(model: str, place: str) -> Content:
    """A few lines for a session with this model, "provider/model", in this folder, safe to draw."""
    expect = _OFFLINE if model.startswith("offline/") else _READY
    return Content("\n").join(
        [
            Content.assemble(("quorum", "bold $text-primary"), ": a coding agent that asks before it acts"),
            Content(f"{model} in {place}"),
            Content(expect),
            Content(_HINTS),
        ]
    )

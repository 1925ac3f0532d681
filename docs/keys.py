"""Writes the tables of `docs/keyboard-shortcuts.md` from the keymap: `.venv/bin/python docs/keys.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from quorum.tui.keys.keymap import group_by_context, is_remappable, label_key

PAGE = Path(__file__).parent / "keyboard-shortcuts.md"
BEGIN, END = "<!-- keys: begin -->", "<!-- keys: end -->"


def render(page: str) -> str:
    """The page with the tables of all contexts between the two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    tables = "\n".join(_tables())
    return f"{before}{BEGIN}\n{tables}\n{END}{after}"


def _tables() -> Iterator[str]:
    for title, rows in group_by_context({}):
        yield f"\n### {title}\n"
        yield "| name | keys | |"
        yield "|---|---|---|"
        for key_action, keys in rows:
            name = f"`{key_action.name}`" if is_remappable(key_action.name) else f"`{key_action.name}` (fixed)"
            yield f"| {name} | {' '.join(f'`{label_key(key)}`' for key in keys)} | {key_action.does} |"
    yield ""


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

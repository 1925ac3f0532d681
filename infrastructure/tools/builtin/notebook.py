"""A Jupyter notebook as text: its cells, each with its index and type, without what they printed."""

from __future__ import annotations

import json
from collections.abc import Iterator

from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable

LARGEST_BYTES = 20_000_000
"""A longer notebook is not taken apart: it is shown as the JSON that it is."""

_LONGEST_TYPE = 20


def is_notebook(name: str) -> bool:
    """Whether a file is named as notebooks are."""
    return name.lower().endswith(".ipynb")


def render_cells(content: str) -> str | None:
    """The cells one after the other, a line above each; None for what is no notebook of the format 4."""
    try:
        notebook: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        return None
    return "".join(part for index, cell in enumerate(cells) for part in _render_cell(index, cell))


def _render_cell(index: int, cell: dict[str, object]) -> Iterator[str]:
    kind = cell.get("cell_type")
    shown = make_printable(kind, newlines=False)[:_LONGEST_TYPE] if isinstance(kind, str) else "of no type"
    outputs = cell.get("outputs")
    count = len(outputs) if isinstance(outputs, list) else 0
    left_out = f", {format_amount(count, 'output')} not shown" if count else ""
    yield f"[cell {index}, {shown}{left_out}]\n"
    source = _read_source(cell.get("source"))
    yield source
    if source and not source.endswith("\n"):
        yield "\n"


def _read_source(source: object) -> str:
    if isinstance(source, str):
        return source
    if isinstance(source, list):
        return "".join(line for line in source if isinstance(line, str))
    return ""

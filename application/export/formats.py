"""The forms in which a session can be exported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, assert_never

from application.export.markdown import markdown
from application.export.narration import account_of
from application.export.page import page
from application.export.session_json import json_text, mask_lines
from domain.sessions.canonical import canonical
from domain.sessions.past_session import LedgerRecord, SessionSummary

ExportFormat: TypeAlias = Literal["md", "json", "html", "canonical"]


def render_export(
    form: ExportFormat, summary: SessionSummary, records: Sequence[LedgerRecord], mask: Callable[[str], str]
) -> str:
    """All of a session in this form, without secrets, and with nothing in it that acts on whoever reads it."""
    match form:
        case "md":
            return markdown(account_of(summary, records, mask))
        case "html":
            return page(account_of(summary, records, mask))
        case "json":
            return json_text(summary, records, mask)
        case "canonical":
            return mask_lines(canonical(records), mask)
        case _:
            assert_never(form)

"""The forms in which a session can be exported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, assert_never

from domain.past_session import LedgerRecord, SessionSummary
from tui.export.markdown import markdown
from tui.export.narration import account_of
from tui.export.page import page
from tui.export.session_json import json_text, masked_lines

if TYPE_CHECKING:
    from tui.options import ExportFormat


def exported(
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
            from domain.canonical_record import canonical

            return masked_lines(canonical(records), mask)
        case _:
            assert_never(form)

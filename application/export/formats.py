"""The forms in which a session can be exported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, assert_never

from quorum.application.export.markdown import render_markdown
from quorum.application.export.narration import build_account
from quorum.application.export.page import render_page
from quorum.application.export.session_json import mask_lines, render_json
from quorum.domain.sessions.canonical import render_canonical
from quorum.domain.sessions.past_session import LedgerRecord, SessionSummary

ExportFormat: TypeAlias = Literal["md", "json", "html", "canonical"]


def render_export(
    form: ExportFormat, summary: SessionSummary, records: Sequence[LedgerRecord], mask: Callable[[str], str]
) -> str:
    """All of a session in this form, without secrets, and with nothing in it that acts on whoever reads it."""
    match form:
        case "md":
            return render_markdown(build_account(summary, records, mask))
        case "html":
            return render_page(build_account(summary, records, mask))
        case "json":
            return render_json(summary, records, mask)
        case "canonical":
            return mask_lines(render_canonical(records), mask)
        case _:
            assert_never(form)

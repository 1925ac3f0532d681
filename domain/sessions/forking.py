"""The records of a session copied for another one, with links and redactions of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from quorum.domain.errors import LedgerError
from quorum.domain.sessions.ledger_chain import (
    ChainedRecord,
    explain_newer_format,
    find_flaw,
    find_format,
    parse_payload,
    relink_record,
    verify,
)
from quorum.domain.sessions.redaction_log import NO_LINK, RedactionEntry, keep_linked_entries, relink


def fork_records(
    chain: Iterable[ChainedRecord],
    redactions: Sequence[RedactionEntry],
    *,
    session_id: str,
    new_id: str,
    before: int | None,
) -> tuple[list[ChainedRecord], list[RedactionEntry]]:
    """The records of `session_id`, those from `before` on left out, as those of `new_id`, and their redactions.

    Times and payloads stay as they are. Raises LedgerError where there is nothing to copy, or a record among
    them does not fit: linked anew, it would look as if it did.
    """
    copied = list(takewhile(lambda record: before is None or record.seq < before, chain))
    if not copied:
        what = "no records" if before is None else f"no records before {before}"
        raise LedgerError(f"session {session_id[:70]!a} has {what}, so there is nothing to fork")
    linked = _relink_chain(copied, session_id, new_id)
    links = {record.link: copy.link for record, copy in zip(copied, linked, strict=True)}
    entries = relink(new_id, keep_linked_entries(session_id, redactions), links)
    checked = verify(new_id, linked, entries)
    if checked.broken_at is not None:
        raise _build_unfit_error(session_id, checked.broken_at, checked.reason)
    return linked, entries


def _relink_chain(chain: list[ChainedRecord], old: str, new: str) -> list[ChainedRecord]:
    linked: list[ChainedRecord] = []
    was, is_now = NO_LINK, NO_LINK
    for seq, record in enumerate(chain):
        event = parse_payload(record.payload)
        if wrong := find_flaw(record, old, was, seq, event) or explain_newer_format(seq, event):
            raise _build_unfit_error(old, seq, wrong)
        # In its own format: what the link of an old record does not cover may have changed since.
        link_format = find_format(record, old, was, event)
        assert link_format is not None
        was = record.link
        linked.append(relink_record(record, new, is_now, link_format))
        is_now = linked[-1].link
    return linked


def _build_unfit_error(session_id: str, seq: int, reason: str) -> LedgerError:
    return LedgerError(
        f"session {session_id} cannot be forked: {reason}; records before {seq} can be forked alone"
    )

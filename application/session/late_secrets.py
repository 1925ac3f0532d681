"""Secrets that stand in a record because nobody knew of them when it was written."""

from __future__ import annotations

import json
from collections.abc import Sequence

from quorum.application.session.session_record import SessionRecord
from quorum.domain.events.event import Event
from quorum.domain.events.masking import SecretMask
from quorum.domain.replacing import replace
from quorum.domain.secrets.patterns import MASK
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.text.amounts import format_amount


def mask_record(record: SessionRecord, mask: SecretMask, notices: Sequence[str]) -> SessionRecord:
    """The record as people may see it: without the secrets that are known by now, and with more to say."""
    shown, hidden = mask_late_secrets(record.records, mask, record.session_id)
    return replace(record, records=shown, notices=(*record.notices, *((hidden,) if hidden else ()), *notices))


def mask_late_secrets(
    records: Sequence[LedgerRecord], mask: SecretMask, session_id: str
) -> tuple[tuple[LedgerRecord, ...], str]:
    """The records as they may be shown now, and a sentence about those that hold what is known by now to be a
    secret; empty where none does. What is on disk stays as it is."""
    shown: list[LedgerRecord] = []
    pairs: list[tuple[Event, Event]] = []
    for record in records:
        if (event := record.event) is not None and (masked := mask.mask_known_in_event(event)) is not event:
            pairs.append((event, masked))
            record = replace(record, event=masked)
        shown.append(record)
    if not pairs:
        return tuple(records), ""
    names = sorted(set().union(*(_collect_words(masked) - _collect_words(event) for event, masked in pairs)))
    count = format_amount(len(pairs), "record")
    holds = "hold" if len(pairs) > 1 else "holds"
    listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return tuple(shown), (
        f"{count} of this session {holds} what was not known to be a secret then ({listed}); it is hidden, and "
        f"`quorum sessions redact {session_id} -` takes it out of the file"
    )


def _collect_words(event: Event) -> set[str]:
    return set(MASK.findall(json.dumps(event.to_json(), ensure_ascii=False)))

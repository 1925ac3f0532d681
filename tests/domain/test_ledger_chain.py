from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.errors import LedgerError
from quorum.domain.replacing import replace
from quorum.domain.sessions.ledger_chain import (
    NO_LINK,
    ChainedRecord,
    LinkFormat,
    RedactionEntry,
    build_redaction,
    chain_record,
    declare_format,
    encode_payload,
    find_flaw,
    fork_records,
    redact_record,
    relink_record,
    verify,
)
from quorum.domain.sessions.redaction import redact_records

SESSION = "0190-session"
REDACTED = encode_payload({"type": "turn_started", "v": 1, "prompt": "[redacted]"})
COLUMNS = tuple(name for name in ChainedRecord.__struct_fields__ if name != "redaction")


def chain(count: int, session: str = SESSION) -> list[ChainedRecord]:
    linked: list[ChainedRecord] = []
    for seq in range(count):
        payload = encode_payload({"type": "turn_started", "v": 1, "prompt": f"prompt {seq}"})
        before = linked[-1].link if linked else NO_LINK
        linked.append(
            chain_record(session, before, seq=seq, at_ms=1000 + seq, event_type="turn_started", payload=payload)
        )
    return linked


def log(*redactions: tuple[ChainedRecord, ChainedRecord]) -> list[RedactionEntry]:
    """The entries that say that the first of each two records became the second."""
    entries: list[RedactionEntry] = []
    for seq, (record, changed) in enumerate(redactions):
        previous = entries[-1].link if entries else NO_LINK
        entries.append(
            build_redaction(record, changed, seq=seq, at_ms=2000 + seq).link_after(SESSION, previous)
        )
    return entries


def flipped(value: object, place: int, bit: int) -> object:
    """A value with one bit of it changed."""
    match value:
        case int():
            return value ^ 1 << (place * 8 + bit) % 63
        case str():
            data = bytearray(value.encode("ascii"))
            data[place % len(data)] ^= 1 << bit
            return bytes(data).decode("utf-8", "surrogateescape")
        case bytes():
            data = bytearray(value)
            data[place % len(data)] ^= 1 << bit
            return bytes(data)
        case _:
            raise AssertionError(value)


def test_a_chain_as_it_was_written_holds_and_tells_its_head():
    records = chain(5)

    checked = verify(SESSION, records)

    assert checked.holds
    assert (checked.records, checked.redacted, checked.reason) == (5, (), "")
    assert checked.head == records[-1].link.hex()


def test_an_empty_chain_holds():
    assert verify(SESSION, []).holds


@given(
    place=st.integers(0, 4),
    column=st.sampled_from(COLUMNS),
    byte=st.integers(0, 200),
    bit=st.integers(0, 7),
)
def test_any_flipped_bit_of_any_record_is_named(place, column, byte, bit):
    records = chain(5)
    changed = flipped(getattr(records[place], column), byte, bit)
    records[place] = replace(records[place], **{column: changed})

    checked = verify(SESSION, records)

    assert checked.broken_at == place
    assert str(place) in checked.reason


@given(place=st.integers(0, 4), column=st.sampled_from((*COLUMNS, "redaction")), byte=st.integers(0, 200))
def test_any_flipped_bit_of_a_redacted_record_is_named(place, column, byte):
    records = chain(5)
    hidden = redact_record(records[place], REDACTED)
    entries = log((records[place], hidden))
    records[place] = replace(hidden, **{column: flipped(getattr(hidden, column), byte, byte % 8)})

    assert verify(SESSION, records, entries).broken_at == place


def test_a_redacted_record_breaks_nothing_and_is_reported():
    records = chain(4)
    whole, records[2] = records[2], redact_record(records[2], REDACTED)

    checked = verify(SESSION, records, log((whole, records[2])))

    assert checked.holds
    assert checked.redacted == (2,)


def test_a_redaction_keeps_no_salt_by_which_the_old_text_could_be_guessed():
    (record,) = chain(1)

    hidden = redact_record(record, b'{"type":"turn_started"}')

    assert hidden.salt != record.salt
    assert hidden.digest == record.digest


@pytest.mark.parametrize("redaction", [b"", bytes(32), "its own"])
def test_a_mark_of_redaction_on_a_record_that_was_not_redacted_is_named(redaction):
    records = chain(3)
    mark = records[1].digest if redaction == "its own" else redaction
    records[1] = replace(records[1], redaction=mark)

    assert verify(SESSION, records).broken_at == 1


def test_a_redacted_record_that_is_passed_off_as_whole_is_named():
    records = chain(3)
    records[1] = replace(redact_record(records[1], records[0].payload), redaction=None)

    assert verify(SESSION, records).broken_at == 1


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_missing_record_is_named(place):
    records = chain(4)
    del records[place]

    checked = verify(SESSION, records)

    assert (checked.broken_at, checked.reason) == (place, f"record {place} is missing")


def test_of_records_in_another_order_the_first_out_of_place_is_named():
    records = chain(4)
    records[1], records[2] = records[2], records[1]

    assert verify(SESSION, records).broken_at == 1


def test_of_renumbered_records_the_first_is_named():
    records = chain(4)
    swapped = [records[0], replace(records[2], seq=1), replace(records[1], seq=2), records[3]]

    assert verify(SESSION, swapped).broken_at == 1


def test_a_repeated_record_is_named():
    records = chain(3)

    checked = verify(SESSION, [*records, records[-1]])

    assert (checked.broken_at, checked.reason) == (3, "record 3 has the number 2")


def test_records_of_another_session_do_not_fit():
    assert verify("0190-other", chain(2)).broken_at == 0


def test_only_the_first_of_several_is_named():
    records = chain(5)
    for place in (3, 1):
        records[place] = replace(records[place], payload=b"{}")

    assert verify(SESSION, records).broken_at == 1


@pytest.mark.parametrize(
    "payload",
    [b"", b"no JSON", b"[]", b'{"type":"other"}', b'{"v":1}', b"\xff", b"[" * 100_000],
    ids=lambda payload: ascii(payload[:12]),
)
def test_a_payload_that_is_no_event_of_its_type_is_named(payload):
    record = chain_record(SESSION, NO_LINK, seq=0, at_ms=1, event_type="turn_started", payload=payload)

    assert verify(SESSION, [record]).broken_at == 0


def test_a_cut_tail_cannot_be_seen_but_by_another_head():
    records = chain(5)

    cut = verify(SESSION, records[:3])

    assert cut.holds
    assert cut.head != verify(SESSION, records).head


def test_a_chain_linked_for_another_session_holds_there_and_only_there():
    before, copied = NO_LINK, []
    for record in chain(3):
        copied.append(relink_record(record, "0190-other", before))
        before = copied[-1].link

    assert verify("0190-other", copied).holds
    assert verify(SESSION, copied).broken_at == 0


def test_fields_that_run_together_are_kept_apart():
    one = chain_record("ab", NO_LINK, seq=1, at_ms=11, event_type="c", payload=b"{}")
    moved = relink_record(replace(one, seq=11, at_ms=1), "ab", NO_LINK)
    renamed = relink_record(replace(one, seq=11), "a", NO_LINK), relink_record(one, "a1", NO_LINK)

    assert moved.link != one.link
    assert renamed[0].link != renamed[1].link


def test_equal_payloads_have_different_digests():
    one, other = (
        chain_record(SESSION, NO_LINK, seq=0, at_ms=1, event_type="t", payload=b"{}") for _ in range(2)
    )

    assert one.digest != other.digest


def test_a_payload_is_compact_keeps_the_order_of_keys_and_takes_any_text():
    value = {"type": "t", "b": "é😀", "a": "half \ud83d"}

    payload = encode_payload(value)

    assert payload == '{"type":"t","b":"é😀","a":"half \\ud83d"}'.encode()
    assert json.loads(payload) == value


def _finished(decision: str, seq: int = 0, before: bytes = NO_LINK, outcome: str = "rejected") -> ChainedRecord:
    payload = encode_payload(
        {"type": "call_finished", "v": 1, "output": "a secret", "outcome": outcome, "decision": decision}
    )
    return chain_record(SESSION, before, seq=seq, at_ms=1000, event_type="call_finished", payload=payload)


def test_a_redaction_that_changes_a_decision_or_an_outcome_does_not_fit():
    record = _finished("needs_approval")
    allowed = redact_record(record, record.payload.replace(b"needs_approval", b"approved"))
    done = redact_record(record, record.payload.replace(b"rejected", b"completed"))
    taken_out = redact_record(record, encode_payload({"type": "call_finished", "v": 1, "output": "[redacted]"}))

    for forged in (allowed, done, taken_out):
        checked = verify(SESSION, [forged])
        assert checked.broken_at == 0
        assert "its outcome or decision was changed, which no redaction does" in checked.reason


def test_a_redaction_of_other_fields_beside_a_decision_fits():
    record = _finished("needs_approval")
    hidden = redact_record(record, record.payload.replace(b"a secret", b"[redacted]"))
    checked = verify(SESSION, [hidden], log((record, hidden)))

    assert (checked.holds, checked.redacted) == (True, (0,))


def test_records_that_an_earlier_version_linked_fit_and_others_may_follow_them():
    old = replace(_finished("approved"), link=OLD_LINK, salt=bytes(16), digest=OLD_DIGEST)

    assert verify(SESSION, [old, _finished("approved", 1, old.link)]).holds


# Of the record above with a salt of zeros, as the version before made them.
OLD_DIGEST = bytes.fromhex("b9821e01fe53b68842719fab89ffde44035ff71597a6e1197955499cff6e0138")
OLD_LINK = bytes.fromhex("475462730bf718a7a20210abc4c86f0962e94eec8f2546c437c7846c77b8f82e")


def test_a_payload_that_was_replaced_without_a_record_of_a_redaction_is_named():
    records = chain(4)
    records[2] = redact_record(records[2], REDACTED)

    checked = verify(SESSION, records)

    assert (checked.broken_at, checked.redacted) == (2, ())
    assert "marked as redacted without a record of it" in checked.reason


def test_a_payload_that_was_replaced_after_its_redaction_is_named():
    records = chain(2)
    hidden = redact_record(records[1], REDACTED)
    entries = log((records[1], hidden))
    records[1] = redact_record(hidden, encode_payload({"type": "turn_started", "v": 1, "prompt": "another"}))

    assert verify(SESSION, records, entries).broken_at == 1


def test_a_record_redacted_twice_fits_and_each_redaction_is_needed():
    records = chain(2)
    once = redact_record(records[1], REDACTED)
    twice = redact_record(once, encode_payload({"type": "turn_started", "v": 1, "prompt": ""}))
    entries = log((records[1], once), (once, twice))
    records[1] = twice

    assert verify(SESSION, records, entries).holds
    assert verify(SESSION, records, entries[:1]).broken_at == 1
    assert verify(SESSION, records, entries[1:]).broken_at == 1


def test_a_redaction_does_not_hide_that_the_payload_had_been_replaced_before():
    records = chain(2)
    forged = replace(records[1], payload=records[1].payload.replace(b"prompt 1", b"forged"))
    records[1] = redact_record(forged, REDACTED)

    assert verify(SESSION, records, log((forged, records[1]))).broken_at == 1


@pytest.mark.parametrize("column", RedactionEntry.__struct_fields__)
@pytest.mark.parametrize("byte", [0, 7, 31])
def test_any_flipped_bit_of_a_redaction_is_named(column, byte):
    records = chain(3)
    hidden = [redact_record(record, REDACTED) for record in records]
    entries = log(*zip(records, hidden, strict=True))
    changed = flipped(getattr(entries[1], column), byte, 3)

    checked = verify(SESSION, hidden, [entries[0], replace(entries[1], **{column: changed}), entries[2]])

    assert not checked.holds


def test_a_redaction_of_a_record_that_is_not_redacted_or_not_there_is_named():
    records = chain(3)
    entries = log((records[2], redact_record(records[2], REDACTED)))

    assert verify(SESSION, records, entries).broken_at == 2
    assert verify(SESSION, records[:2], entries).broken_at == 2


def test_a_redaction_of_an_earlier_version_without_a_record_of_it_is_reported_and_breaks_nothing():
    first, second = chain(2)
    first = relink_record(first, SESSION, NO_LINK, LinkFormat.DIGEST_ONLY)
    second = relink_record(second, SESSION, first.link)
    once = redact_record(first, REDACTED)
    again = redact_record(once, encode_payload({"type": "turn_started", "v": 1, "prompt": ""}))

    checked = verify(SESSION, [once, second])
    assert (checked.holds, checked.redacted, checked.unrecorded) == (True, (0,), (0,))
    checked = verify(SESSION, [again, second], log((once, again)))
    assert (checked.holds, checked.unrecorded) == (True, (0,))


def test_links_of_the_second_format_hold_the_outcome_of_the_event_itself():
    record = relink_record(_finished("needs_approval"), SESSION, NO_LINK, LinkFormat.EVENT_OUTCOME)
    forged = redact_record(record, record.payload.replace(b"needs_approval", b"approved"))

    assert verify(SESSION, [record]).holds
    assert verify(SESSION, [forged], log((record, forged))).broken_at == 0


NESTED = {
    "type": "turn_finished",
    "v": 1,
    "report": {"text": "a secret", "calls": [{"tool": "t", "outcome": "rejected", "decision": "rejected"}]},
    "message": {"results": [{"output": "a secret", "is_error": False, "is_rejected": True}]},
    "arguments": {"outcome": "a secret"},
}


@pytest.mark.parametrize(
    ("was", "forged"),
    [
        (b'"outcome":"rejected"', b'"outcome":"ok"'),
        (b'"decision":"rejected"', b'"decision":"approved"'),
        (b'"is_error":false', b'"is_error":true'),
        (b'"is_rejected":true', b'"is_rejected":false'),
    ],
)
def test_a_redaction_that_changes_a_nested_outcome_does_not_fit(was, forged):
    payload = encode_payload(NESTED)
    record = chain_record(SESSION, NO_LINK, seq=0, at_ms=1, event_type="turn_finished", payload=payload)
    assert was in payload
    changed = redact_record(record, payload.replace(was, forged))
    texts = redact_record(record, payload.replace(b"a secret", b"[redacted]"))

    assert verify(SESSION, [changed], log((record, changed))).broken_at == 0
    assert verify(SESSION, [texts], log((record, texts))).holds


# ---------------------------------------------------------------- formats of newer versions

NEWER = max(LinkFormat) + 1


def chain_with_newer(place: int, count: int = 4) -> list[ChainedRecord]:
    """Records that say their format; the one at `place` is of a version that knows one more."""
    linked: list[ChainedRecord] = []
    for seq in range(count):
        event = declare_format({"type": "turn_started", "v": 1, "prompt": f"prompt {seq}"})
        payload = encode_payload({**event, "link_format": NEWER} if seq == place else event)
        before = linked[-1].link if linked else NO_LINK
        record = chain_record(
            SESSION, before, seq=seq, at_ms=1000 + seq, event_type="turn_started", payload=payload
        )
        linked.append(replace(record, link=bytes([7]) * 32) if seq == place else record)
    return linked


@pytest.mark.parametrize("filling", ["", "x" * 5_000])
@pytest.mark.parametrize(
    "event",
    [
        {"type": "a", "outcome": "ok"},
        {"type": "a", "lanes": [{"decision": "allow"}, {"is_error": True, "is_rejected": False}]},
        {"type": "a", "arguments": {"outcome": "of a tool"}},
        {"type": "a", "text": '{"outcome": "in a text"}'},
        {"type": "a"},
    ],
)
def test_a_link_does_not_depend_on_what_is_at_hand_when_it_is_made(event, filling):
    event = {**event, "filling": filling}
    payload = encode_payload(event)
    record = chain_record(SESSION, NO_LINK, seq=0, at_ms=1, event_type="a", payload=payload, event=event)

    assert relink_record(record, SESSION, NO_LINK) == record


@pytest.mark.parametrize("place", [0, 2, 3])
def test_a_record_of_a_newer_version_is_not_verified_and_not_broken(place: int) -> None:
    checked = verify(SESSION, chain_with_newer(place))

    assert (checked.broken_at, checked.newer_at, checked.holds) == (None, place, False)
    assert checked.reason == (
        f"record {place} was written by a newer quorum (ledger format {NEWER}, this one knows {NEWER - 1}); "
        "update quorum"
    )


def test_a_redaction_that_a_newer_version_made_is_not_broken() -> None:
    records = chain_with_newer(1)
    changed = redact_record(records[1], records[1].payload.replace(b"prompt 1", b"[redacted]"))
    entry = replace(build_redaction(records[1], changed, seq=0, at_ms=2000), link=bytes([8]) * 32)
    records[1] = changed

    assert verify(SESSION, records, [entry]).newer_at == 1
    assert verify(SESSION, records, [replace(entry, record_seq=2)]).broken_at == 2


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("column", ["payload", "at_ms", "digest"])
def test_a_changed_record_is_broken_also_beside_one_of_a_newer_version(place: int, column: str) -> None:
    records = chain_with_newer(1)
    record = records[place]
    changed = record.payload.replace(b"prompt", b"PROMPT") if column == "payload" else None
    value = changed or flipped(getattr(record, column), 0, 0)
    records[place] = replace(record, **{column: value})

    checked = verify(SESSION, records)

    # Of the newer one, only what its link covers is out of sight.
    assert checked.broken_at == (None if (place, column) == (1, "at_ms") else place)


@pytest.mark.parametrize("declared", [2, 0, -1, "3", None, True, [], 3.5])
def test_a_record_fits_only_in_the_format_that_it_says(declared: object) -> None:
    payload = encode_payload({"type": "turn_started", "v": 1, "link_format": declared})  # type: ignore[dict-item]
    record = chain_record(SESSION, NO_LINK, seq=0, at_ms=1, event_type="turn_started", payload=payload)

    assert bool(find_flaw(record, SESSION, NO_LINK, 0)) is (declared is not None)
    older = relink_record(record, SESSION, NO_LINK, LinkFormat.EVENT_OUTCOME)
    assert bool(find_flaw(older, SESSION, NO_LINK, 0)) is (declared not in (2, None))


def test_what_a_newer_version_wrote_is_neither_copied_nor_redacted() -> None:
    records = chain_with_newer(2)

    with pytest.raises(
        LedgerError, match=r"cannot be forked: record 2 was written by a newer quorum .*; update"
    ):
        fork_records(records, (), session_id=SESSION, new_id="copy", before=None)
    with pytest.raises(LedgerError, match=r"^nothing was redacted: record 2 was written by a newer quorum"):
        redact_records(SESSION, records, (), "prompt", at_ms=1)
    assert len(fork_records(records, (), session_id=SESSION, new_id="copy", before=2)[0]) == 2


def test_the_newest_format_is_known_by_its_number_and_names() -> None:
    # Sessions of today are verified with these for good: what changes them is a new format.
    record = ChainedRecord(
        seq=0,
        at_ms=1,
        type="call_finished",
        payload=b'{"outcome":"completed","input":{"outcome":1},"deep":[{"is_error":false}],"link_format":3}',
        salt=b"",
        digest=b"",
        link=b"",
    )

    assert max(LinkFormat) == 3
    assert relink_record(record, SESSION, NO_LINK).link.hex() == (
        "6cc0a4bed75932fdc2f788469a65af79bc095e03543701740dd18387d02ca703"
    )

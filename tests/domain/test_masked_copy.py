"""A copy of a session without what is secret by now: it verifies, and the session stays as it is."""

from __future__ import annotations

import json

import pytest

from quorum.domain.errors import LedgerError
from quorum.domain.events.masking import SecretMask
from quorum.domain.replacing import replace
from quorum.domain.sessions.ledger_chain import NO_LINK, LinkFormat, chain_record, encode_payload, relink_record
from quorum.domain.sessions.redaction import mask_session
from tests.support.shared_pages import SESSION, an_eventful_store, keep_chain, store_events

SECRET = "kV9xTq2mWz7pLr4s"


def learnt(secret: str = SECRET) -> SecretMask:
    mask = SecretMask()
    mask.learn("DEPLOY_KEY", secret)
    return mask


def test_a_secret_learnt_later_is_taken_out_of_every_record_and_the_copy_verifies() -> None:
    stored = an_eventful_store(f"the key is {SECRET}, keep it")

    copy = mask_session(stored, learnt(), at_ms=5)

    assert not any(SECRET.encode() in each.payload for each in copy.stored.chain)
    assert sum(SECRET.encode() in each.payload for each in stored.chain) == len(copy.masked) > 10
    assert copy.stored.verify().holds
    assert copy.stored.verify().redacted == copy.masked
    assert copy.stored.verify().head == stored.verify().head
    assert copy.marks["[secret:DEPLOY_KEY]"] > 20


def test_a_session_without_secrets_is_copied_as_it_is() -> None:
    stored = an_eventful_store("nothing to hide")

    copy = mask_session(stored, learnt(), at_ms=5)

    assert (copy.stored, copy.masked, copy.marks) == (stored, (), {})


def test_a_masked_record_is_still_an_event_of_its_kind_with_its_outcome_and_decision() -> None:
    event = {
        "type": "call_finished",
        "v": 1,
        "context": {"call_id": "c", "batch_id": "b", "call_index": 0, "turn_index": 0},
        "tool": "run_command",
        "outcome": "ok",
        "decision": "approved",
        "output": f"it prints {SECRET}",
        "duration_secs": 1.0,
    }

    copy = mask_session(store_events([event]), learnt(), at_ms=5)

    left = json.loads(copy.stored.chain[0].payload)
    assert {name: left[name] for name in ("outcome", "decision", "output")} == {
        "outcome": "ok",
        "decision": "approved",
        "output": "it prints [secret:DEPLOY_KEY]",
    }


@pytest.mark.parametrize("link_format", LinkFormat)
def test_records_of_every_format_and_of_unknown_kinds_are_masked(link_format: LinkFormat) -> None:
    event = {
        "type": "unknown",
        "decision": "x",
        "api_key": "plain",
        "names": {SECRET: [{"is_error": False, "a": SECRET}]},
    }
    record = chain_record(SESSION, NO_LINK, seq=0, at_ms=1, event_type="unknown", payload=encode_payload(event))
    earlier = relink_record(record, SESSION, NO_LINK, link_format)

    copy = mask_session(keep_chain([earlier]), learnt(), at_ms=5)

    assert SECRET.encode() not in copy.stored.chain[0].payload
    assert copy.stored.verify().holds


def test_an_event_of_an_earlier_version_is_masked_without_new_fields_that_its_link_does_not_have() -> None:
    event = {
        "type": "message_added",
        "message": {
            "type": "tool_results",
            "results": [{"tool_use_id": "t", "tool_name": "n", "output": SECRET}],
        },
    }

    copy = mask_session(store_events([event]), learnt(), at_ms=5)

    assert SECRET.encode() not in copy.stored.chain[0].payload
    assert copy.stored.verify().holds


def test_what_goes_back_to_a_provider_is_masked_too_and_what_is_no_secret_is_not() -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
    blocks = [
        {"type": "reasoning", "provider": "p", "payload": {"signature": each}, "text": ""}
        for each in (token, "EqQBCkYIBxgCKkBW3nQm5Lr8")
    ]
    response = {"content": blocks, "stop_reason": "end_turn", "model": "m", "usage": {"input": 1, "output": 1}}
    stored = store_events([{"type": "response_completed", "turn_index": 0, "response": response}])

    (record,) = mask_session(stored, SecretMask(), at_ms=5).stored.chain

    left = [each["payload"]["signature"] for each in json.loads(record.payload)["response"]["content"]]
    assert token not in left[0]
    assert left[1] == "EqQBCkYIBxgCKkBW3nQm5Lr8"


def test_redactions_of_the_session_stay_before_those_of_the_copy() -> None:
    stored = an_eventful_store(f"first {SECRET} second")
    once = mask_session(stored, learnt(), at_ms=5).stored
    again = mask_session(once, learnt("first [secret"), at_ms=6)

    assert again.stored.redactions[: len(once.redactions)] == once.redactions
    assert again.stored.verify().holds


def test_a_secret_in_a_record_of_a_newer_version_is_no_copy() -> None:
    stored = store_events([{"type": "odd", "text": SECRET}])
    (record,) = stored.chain
    newer = record.payload.replace(b'"link_format":3', b'"link_format":9')
    with pytest.raises(LedgerError, match="newer quorum"):
        mask_session(keep_chain([replace(record, payload=newer)]), learnt(), at_ms=5)

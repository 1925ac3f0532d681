"""A session as a page, and the verifier in it, which finds what the program of one file finds."""

from __future__ import annotations

import json
import random
import re
import unicodedata
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import cbor2
import pytest

from quorum.domain.replacing import replace
from quorum.domain.review.signing import SigningDemand, SigningTerms
from quorum.domain.sessions.ledger_chain import NO_LINK, ChainedRecord, LinkFormat, chain_record, relink_record
from quorum.domain.sessions.redaction import redact_records
from quorum.domain.sessions.stored_session import StoredSession, anchor_session
from quorum.domain.struct_json import struct_to_json
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.audit.signed_export import (
    SigningKey,
    encode_canonical,
    render_check_code,
    render_shared_page,
    sign,
)
from tests.support.shared_pages import (
    NODE,
    SESSION,
    a_key,
    a_page,
    an_eventful_store,
    keep_chain,
    run_in_node,
    sign_export,
    store_events,
)

ROOT = Path(__file__).parents[3]
VERIFIER = ROOT / "docs" / "verify_audit_export.py"
HOSTILE = "</script><script>alert(1)</script><!-- \u202e"
EVENTS: list[dict[str, Any]] = [
    {"type": "turn_started", "prompt": "grüße \ud800 \\u0041 \u2028"},
    {"type": "call_finished", "outcome": "ok", "result": [{"is_error": False, "10": {"decision": "b"}}, 1e22]},
    {
        "type": "odd",
        "decision": 1e16,
        "2": {"outcome": -0.0},
        "1": {"outcome": 1.5e-7, "é": {"is_error": None}},
    },
    {"type": "review_decided", "decision": "deny", "text": "secret-value", "arguments": {"decision": "x"}},
    {"type": "turn_finished", "n": 10**20, "is_rejected": 10**20, "__proto__": {"outcome": "\x7f\U0001f600"}},
]
CHECK = """
try {
  const result = await verifier.verify(given.evidence, given.key);
  verifier.compareNotes(result, verifier.readNotes(given.notes));
  return { redacted: result.redacted, signed: result.isSignatureChecked };
} catch (error) {
  return { flaw: error.constructor.name, text: error.message };
}
"""
needs_node = pytest.mark.skipif(NODE is None, reason="no node on the PATH")


@pytest.fixture(scope="module")
def key() -> SigningKey:
    return a_key()


@pytest.fixture(scope="module")
def program() -> dict[str, Any]:
    """The program that checks exports without quorum."""
    names: dict[str, Any] = {"__name__": "verifier"}
    exec(compile(VERIFIER.read_text(encoding="utf-8"), str(VERIFIER), "exec"), names)
    return names


def redact(stored: StoredSession, text: str) -> StoredSession:
    changes, entries = redact_records(SESSION, stored.chain, (), text, at_ms=5000)
    chain = list(stored.chain)
    for place, record in changes:
        chain[place] = record
    return replace(stored, chain=tuple(chain), redactions=tuple(entries))


def in_format(stored: StoredSession, link_format: LinkFormat) -> StoredSession:
    """The session as an earlier version wrote it, whose records did not name their format."""
    chain: list[ChainedRecord] = []
    before = NO_LINK
    for record in stored.chain:
        chain.append(relink_record(record, SESSION, before, link_format))
        before = chain[-1].link
    return keep_chain(chain)


def holds(program: dict[str, Any], data: bytes, key_hex: str) -> bool:
    """What the program of one file makes of it."""
    try:
        program["check_chain"](program["read_export"](program["read_signed"](data, bytes.fromhex(key_hex))))
    except Exception:  # noqa: BLE001 - as in its own `main`
        return False
    return True


def check_in_node(*cases: tuple[bytes, str, str]) -> list[dict[str, Any]]:
    return run_in_node(
        CHECK,
        [{"evidence": b64encode(data).decode(), "key": key, "notes": notes} for data, key, notes in cases],
        "verifier.js",
    )


def test_the_page_holds_the_signed_export_and_allows_its_own_script_and_style_alone(key: SigningKey) -> None:
    stored = an_eventful_store(HOSTILE)
    export = sign_export(stored, key)

    page = render_shared_page(export, key.public_hex).decode()

    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    script_hash, style_hash = (b64encode(sha256(each.encode()).digest()).decode() for each in (script, style))
    assert f"default-src 'none'; script-src 'sha256-{script_hash}'; style-src 'sha256-{style_hash}'; " in page
    assert f">{b64encode(export).decode()}</script>" in page
    assert "http://" not in page
    assert "https://" not in page
    assert "innerHTML" not in script
    assert HOSTILE not in page
    # Of these a browser reads the same document whatever a byte is changed to, so they are left out.
    assert [tag for tag in ("</head>", "</body>", "</html>") if tag in page] == []


def test_the_program_of_one_file_checks_what_is_signed_in_a_page(
    key: SigningKey, program: dict[str, Any]
) -> None:
    stored = store_events(EVENTS)
    page = a_page(stored, key)

    export = program["find_evidence"](page)

    assert holds(program, export, key.public_hex)
    public, last = program["read_key"](render_check_code(stored, key.public_hex))
    assert (public.hex(), last) == (key.public_hex, stored.chain[-1].link.hex())
    with pytest.raises(program["Unsound"], match="several"):
        program["find_evidence"](page + page[page.index(b"<script") :])
    with pytest.raises(program["Unsound"], match="tail was cut"):
        program["check_code"](program["read_export"](program["read_signed"](export, public)), "0" * 64)


@needs_node
@pytest.mark.parametrize("link_format", LinkFormat)
def test_every_record_of_every_format_fits_in_the_page_too(
    key: SigningKey, program: dict[str, Any], link_format: LinkFormat
) -> None:
    events = [{name: each for name, each in event.items() if name != "link_format"} for event in EVENTS]
    undeclared = in_format(undeclare(store_events(events)), link_format)
    data = sign_export(undeclared, key)

    (found,) = check_in_node((data, key.public_hex, ""))

    assert holds(program, data, key.public_hex)
    assert found == {"redacted": [], "signed": True}


def describe(stored: StoredSession) -> bytes:
    """The payload of an export, also of a session that does not hold."""
    export = cbor2.loads(sign_export(store_events(EVENTS), a_key())).value[2]
    records = [
        {
            "seq": each.seq,
            "at_ms": each.at_ms,
            "type": each.type,
            "payload": each.payload.decode(),
            "salt": each.salt.hex(),
            "digest": each.digest.hex(),
            "link": each.link.hex(),
            "redaction": None,
        }
        for each in stored.chain
    ]
    return encode_canonical({**json.loads(export), "records": records})


def mistype(stored: StoredSession) -> StoredSession:
    """The session with a last record that says it is of another type than its event."""
    *chain, last = stored.chain
    other = chain_record(
        SESSION, chain[-1].link, seq=last.seq, at_ms=1, event_type="prompt", payload=last.payload
    )
    return keep_chain([*chain, other])


def undeclare(stored: StoredSession) -> StoredSession:
    """The session with records that do not name the format of their links."""
    chain: list[ChainedRecord] = []
    before = NO_LINK
    for record in stored.chain:
        payload = re.sub(rb',"link_format":3', b"", record.payload)
        chain.append(
            chain_record(
                SESSION, before, seq=record.seq, at_ms=record.at_ms, event_type=record.type, payload=payload
            )
        )
        before = chain[-1].link
    return keep_chain(chain)


def _drop(payload: dict[str, Any]) -> None:
    del payload["records"][1]


def _cut(payload: dict[str, Any]) -> None:
    del payload["records"][-1]


def _swap(payload: dict[str, Any]) -> None:
    records = payload["records"]
    records[1], records[2] = records[2], records[1]


def _edit(payload: dict[str, Any]) -> None:
    payload["records"][0]["payload"] = payload["records"][0]["payload"].replace("turn", "tern")


def _reword(payload: dict[str, Any]) -> None:
    payload["records"][0]["payload"] = payload["records"][0]["payload"].replace("grüße", "gruesse")


def _mark(payload: dict[str, Any]) -> None:
    payload["records"][0]["redaction"] = payload["records"][0]["digest"]


def _retime_redaction(payload: dict[str, Any]) -> None:
    payload["redactions"][0]["at_ms"] += 1


def _allow(payload: dict[str, Any]) -> None:
    """A redaction that would change a decision, with the digests and the entry of one."""
    record, entry = payload["records"][3], payload["redactions"][0]
    record["payload"] = record["payload"].replace('"deny"', '"allow"')
    record["redaction"] = sha256(bytes.fromhex(record["salt"]) + record["payload"].encode()).hexdigest()
    entry["after"] = record["redaction"]


def _retype(payload: dict[str, Any]) -> None:
    payload["records"][0]["type"] = "turn_finished"


def _retime(payload: dict[str, Any]) -> None:
    payload["records"][2]["at_ms"] += 1


def _forget_redaction(payload: dict[str, Any]) -> None:
    payload["redactions"].clear()


def _unmark(payload: dict[str, Any]) -> None:
    payload["records"][3]["redaction"] = None


def _misplace(payload: dict[str, Any]) -> None:
    payload["redactions"][0]["record_seq"] = 2


def _rename(payload: dict[str, Any]) -> None:
    payload["session"] = "another"


def _add_float(payload: dict[str, Any]) -> None:
    payload["records"][0]["seq"] = 0.5


def _reformat(payload: dict[str, Any]) -> None:
    payload["format"] = "quorum audit export 0"


def _empty(payload: dict[str, Any]) -> None:
    payload["records"] = [{}]


CHANGES: tuple[Callable[[dict[str, Any]], None], ...] = (
    _drop, _swap, _edit, _reword, _mark, _retime_redaction, _allow, _retype, _retime, _forget_redaction,
    _unmark, _misplace, _rename, _add_float, _reformat, _empty,
)  # fmt: skip


@needs_node
def test_what_somebody_with_the_key_changes_is_found_in_the_page_as_by_the_program(
    key: SigningKey, program: dict[str, Any]
) -> None:
    whole = sign_export(redact(store_events(EVENTS), "secret-value"), key)
    changed = []
    for change in CHANGES:
        payload = json.loads(cbor2.loads(whole).value[2])
        change(payload)
        changed.append(sign(encode_canonical(payload), key))
    changed += [
        sign(cbor2.loads(whole).value[2].replace(b'{"at_ms"', b'{ "at_ms"', 1), key),
        whole + b"\0",
        sign(describe(mistype(store_events(EVENTS))), key),
    ]

    first, *others = check_in_node(*((data, key.public_hex, "") for data in (whole, *changed)))

    assert first == {"redacted": [3], "signed": True}
    assert holds(program, whole, key.public_hex)
    names = [*(change.__name__ for change in CHANGES), "blanks", "more behind it", "another type"]
    assert {name: found.get("flaw") for name, found in zip(names, others, strict=True)} == dict.fromkeys(
        names, "Unsound"
    )
    assert [holds(program, data, key.public_hex) for data in changed] == [False] * len(names)


@needs_node
def test_a_cut_tail_another_signer_and_another_session_are_found_with_notes(key: SigningKey) -> None:
    stored, forger = store_events(EVENTS), a_key()
    whole, cut = sign_export(stored, key), sign_export(keep_chain(stored.chain[:-1]), key)
    forged = sign_export(stored, forger)
    code = render_check_code(stored, key.public_hex)
    anchor = json.dumps(anchor_session(stored, at_ms=1).to_json())
    other = json.dumps({**anchor_session(stored, at_ms=1).to_json(), "session": "other"})

    found = check_in_node(
        (whole, key.public_hex, f" {code}\n{anchor}\n"),
        (cut, key.public_hex, ""),
        (cut, key.public_hex, code),
        (cut, key.public_hex, anchor),
        (forged, forger.public_hex, code),
        (forged, key.public_hex, ""),
        (whole, forger.public_hex, ""),
        (whole, key.public_hex, other),
        (whole, key.public_hex, code[:-1]),
    )

    assert [each.get("flaw") for each in found] == [
        None, None, "Unsound", "Unsound", "Unsound", "Unsound", "Unsound", "Unsound", "SyntaxError",
    ]  # fmt: skip
    assert "tail was cut" in found[2]["text"]
    assert "tail was cut" in found[3]["text"]


@needs_node
def test_a_record_of_a_newer_version_is_no_flaw_and_no_proof(key: SigningKey) -> None:
    data = sign_export(store_events([*EVENTS[:2]]), key)
    payload = json.loads(cbor2.loads(data).value[2])
    record = payload["records"][1]
    record["payload"] = record["payload"].replace('"link_format":3', '"link_format":4')
    record["digest"] = sha256(bytes.fromhex(record["salt"]) + record["payload"].encode()).hexdigest()

    (found,) = check_in_node((sign(encode_canonical(payload), key), key.public_hex, ""))

    assert found["flaw"] == "TooNew"


@needs_node
@pytest.mark.long
def test_any_flipped_byte_of_the_evidence_is_found_in_the_page(key: SigningKey) -> None:
    data = sign_export(redact(store_events(EVENTS), "secret-value"), key)
    encoded = b64encode(data).decode()
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
    chance = random.Random(4)
    flips = [bytes((*data[:place], data[place] ^ 1, *data[place + 1 :])) for place in range(len(data))]
    cases = [{"evidence": b64encode(each).decode(), "key": key.public_hex, "notes": ""} for each in flips]
    for place in range(len(encoded)):
        letter = chance.choice([each for each in letters if each != encoded[place]])
        changed = f"{encoded[:place]}{letter}{encoded[place + 1 :]}"
        cases.append({"evidence": changed, "key": key.public_hex, "notes": ""})
    for evidence in (f"{encoded} ", f"\n{encoded}", encoded[:-4], "", encoded.rstrip("=")[:-1] + "=="):
        cases.append({"evidence": evidence, "key": key.public_hex, "notes": ""})
    cases.append({"evidence": encoded, "key": key.public_hex.upper(), "notes": ""})

    assert {each.get("flaw") for each in run_in_node(CHECK, cases, "verifier.js")} == {"Unsound"}


@needs_node
def test_a_browser_without_ed25519_checks_the_chain_and_says_that_the_signature_was_not(
    key: SigningKey,
) -> None:
    data = sign_export(store_events(EVENTS), key)
    without = (
        "crypto.subtle.importKey = async () => { throw new DOMException('no', 'NotSupportedError'); };" + CHECK
    )

    (found,) = run_in_node(
        without, [{"evidence": b64encode(data).decode(), "key": key.public_hex, "notes": ""}], "verifier.js"
    )

    assert found == {"redacted": [], "signed": False}


@needs_node
@pytest.mark.long(after=1)
@pytest.mark.parametrize("seed", range(4))
def test_the_page_reads_and_writes_json_as_python_does(seed: int) -> None:
    chance = random.Random(seed)
    values = [make_value(chance, 4) for _ in range(300)]
    texts = [json.dumps(value, ensure_ascii=bool(place % 2)) for place, value in enumerate(values)]

    written = run_in_node("return verifier.dump(verifier.parseJson(given), true);", texts, "verifier.js")

    assert written == [json.dumps(json.loads(text), sort_keys=True) for text in texts]


def make_value(chance: random.Random, depth: int) -> Any:
    def text() -> str:
        return "".join(chance.choice('ab"\\/\x00\x1f\x7f é\u2028😀\uffff7') for _ in range(chance.randrange(6)))

    match chance.randrange(9 if depth else 7):
        case 0:
            return chance.choice([True, False, None])
        case 1:
            return chance.randrange(-(10**20), 10**20)
        case 2 | 3:
            return chance.choice([-1, 1]) * chance.random() * 10.0 ** chance.randrange(-30, 30)
        case 4:
            return float(chance.randrange(10**9))
        case 5 | 6:
            return text()
        case 7:
            return [make_value(chance, depth - 1) for _ in range(chance.randrange(4))]
        case _:
            names = (chance.choice([text(), str(chance.randrange(20)), "__proto__"]) for _ in range(4))
            return {name: make_value(chance, depth - 1) for name in names}


@needs_node
@pytest.mark.long
def test_what_could_hide_in_a_text_is_shown_as_it_is_elsewhere() -> None:
    # What one of the two Unicode versions does not know yet may differ.
    known = [chr(code) for code in range(0x20000) if unicodedata.category(chr(code)) not in ("Cn", "Cs")]
    texts = [f"a{char}b" for char in known if char != "\t"]
    texts += ["a\ud800b", "👩‍💻 a‍b 1️⃣ x️", "e" + "\u0301" * 9, "\r\n\r", "\U000e0041x", "👩\u200d"]

    (found,) = run_in_node(
        "return given.map((text) => transcript.makeVisible(text));", [texts], "transcript.js"
    )

    wanted = [make_printable(text) for text in texts]
    assert [
        (ascii(text), got, want) for text, got, want in zip(texts, found, wanted, strict=True) if got != want
    ] == []


@needs_node
def test_every_kind_of_event_is_told() -> None:
    samples = (ROOT / "tests/domain/recorded/events.jsonl").read_text(encoding="utf-8").splitlines()
    events = [sample[which] for line in samples for sample in (json.loads(line),) for which in sample]
    cases = [
        {"session": "s", "records": [record(0, event), record(1, {"type": "session_finished"})]}
        for event in events
        if isinstance(event, dict) and "type" in event
    ]

    told = run_in_node("return transcript.tell(given);", cases, "transcript.js")

    assert len(told) == len(cases) > 200
    for case, each in zip(cases, told, strict=True):
        assert each["entries"][-1]["line"] == "the session was closed", case


@needs_node
def test_errors_and_notices_are_told_in_their_own_words() -> None:
    records = [
        record(0, {"type": "error_occurred", "message": "no route"}),
        record(1, {"type": "notice_given", "message": "it does not answer", "is_note": False}),
    ]

    (told,) = run_in_node(
        "return transcript.tell(given);", [{"session": "s", "records": records}], "transcript.js"
    )

    assert [each["line"] for each in told["entries"]] == ["error: no route", "it does not answer"]


def record(seq: int, event: dict[str, Any]) -> dict[str, Any]:
    return {"seq": seq, "at_ms": 1000 * seq, "payload": json.dumps(event), "redaction": None}


BO_OR_CY = SigningTerms(demands=(SigningDemand(1, ("bo", "cy")),))
TERMS = (
    BO_OR_CY,
    replace(BO_OR_CY, requester="ada"),
    replace(BO_OR_CY, requester="ada", others=("eve",)),
    replace(BO_OR_CY, requester="ada", unnamed=1),
)


@needs_node
@pytest.mark.parametrize("terms", TERMS, ids=SigningTerms.describe)
def test_whose_signatures_a_call_takes_is_said_as_in_the_program(terms: SigningTerms) -> None:
    samples = (ROOT / "tests/domain/recorded/events.jsonl").read_text(encoding="utf-8").splitlines()
    asked = next(event for line in samples if "signing" in (event := json.loads(line)["event"]))
    asked["signing"] = struct_to_json(terms)
    (told,) = run_in_node(
        "return transcript.tell(given);", [{"session": "s", "records": [record(0, asked)]}], "transcript.js"
    )

    assert terms.describe() in json.dumps(told)


@needs_node
def test_what_waits_in_a_layer_is_told_without_what_there_is_none_of() -> None:
    counts = [{"files": 0, "commits": 1}, {"files": 0}, {"files": 0, "unmerged": 1}, {"files": 1, "commits": 1}]
    none = {"type": "layer_waits", "layer": "1", "digest": "ab", "added": 0, "removed": 0}
    none |= {"commits": 0, "conflicts": 0, "unmerged": 0}
    records = [record(seq, {**none, **each}) for seq, each in enumerate(counts)]

    (told,) = run_in_node(
        "return transcript.tell(given);", [{"session": "s", "records": records}], "transcript.js"
    )

    assert [each["line"] for each in told["entries"]] == [
        "1 commit waits in the layer 1 (sha256 ab)",
        "moved refs wait in the layer 1 (sha256 ab)",
        "what 1 subagent changed is not merged (sha256 ab)",
        "1 changed file (+0 −0) and 1 commit wait in the layer 1 (sha256 ab)",
    ]


@needs_node
def test_goals_layers_signatures_and_work_in_the_background_have_lines_of_their_own() -> None:
    samples = (ROOT / "tests/domain/recorded/events.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line)["event"] for line in samples]
    kinds = {
        "goal_set", "checks_approved", "goal_checked", "goal_receipt_outdated", "goal_dropped",
        "outdated_tests_claimed", "layer_entered", "layer_waits", "effects_voted", "effects_approved",
        "effects_reviewed",
    }  # fmt: skip
    chosen = [
        event
        for event in events
        if event["type"] in kinds
        or "signing" in event
        or "signatures" in event
        or event.get("hosts")
        or event.get("job_id") == "job-7"
    ]
    records = [record(seq, event) for seq, event in enumerate(chosen)]

    (told,) = run_in_node(
        "return transcript.tell(given);", [{"session": "s", "records": records}], "transcript.js"
    )

    lines = [each["line"] for each in told["entries"] if each["kind"] == "remark"]
    said = [line for each in told["entries"] if each["kind"] == "call" for line in each["history"]]
    assert lines == [
        "from here on what changes goes to the layer 1, until the person reviews it",
        "from here on what changes goes to the layer 1, until the person reviews it; a é",
        "1 changed file (+0 −0) waits in the layer 1 (sha256 ab é)",
        "2 changed files (+3 −4) and 1 commit wait in the layer 1; 1 in conflict with the person's; "
        "what 2 subagents changed is not merged (sha256 ab)",
        "the person approved the effects ab (0 files)",
        "the person approved the effects ab (5 files, 1 ref); left out: c é; parts left out of a; in place of "
        "changes of the person's own: a é.py",
        "0 files applied from the layer 1 to the folder",
        "nothing was applied from the layer 1: a é: edited",
        "goal: pass é (the model proposes the checks)",
        "goal: pass é (checks: `pytest é`)",
        "the person approved as checks of the goal: none",
        "goal not reached, attempt 1: `pytest é` exited with 1; 0 files changed, tree ab",
        "goal not reached, attempt 2: `pytest é` exited with 1, `make é` ended with no exit code (error) (as "
        "the person edited it); 2 files changed, tree ab; changed in this goal, and a check depends on it: "
        "a é.py; changed by the checks themselves: c.py; not every file could be looked at",
        "the receipt of the goal is stale: changed since its checks ran: a é.py",
        "the goal is off",
        "the last test run (`pytest é`, exit code 0) predates the last edit (a é.py)",
        "the models on the effects ab: none",
        "the models on the effects ab: 0 for, 1 against; the content of 2 files was not shown",
        "the background subagent job-7 began:",
        "the background subagent job-7 ended: answered",
        "the background command job-8 ended: stopped; hosts that it asked for: pypi.org:443, example.org:8443 "
        "(refused: nothing allows it)",
    ]
    (votes,) = (each["body"] for each in told["entries"] if "0 for, 1" in each.get("line", ""))
    assert votes == "m (safety) reject (50 % sure), in scope: no: no é; in a é it objects to: a"
    assert [line for line in said if not line.startswith(("put", "allowed"))] == [
        "the person approved as checks of the goal: `pytest é`",
        "it asked for the host pypi.org:443",
        "it asked for the host example.org:8443 (refused: nothing allows it)",
        *(
            f"{who} signed it, by their own clock 2026-09-21 14:13:20 UTC; this page does not check that "
            "signature"
            for who in ("bén", "ada")
        ),
    ]
    (asked,) = (line for line in said if line.startswith("put"))
    assert "; it takes the signatures of 2 of ada, bén, cy; dan é asked for it and does not count (" in asked
    assert [each["text"] for each in told["commands"]] == ["job-8"]


@needs_node
def test_the_transcript_tells_votes_diffs_decisions_and_exit_codes_from_the_records_alone() -> None:
    stored = an_eventful_store("some text")
    records = [
        {"seq": each.seq, "at_ms": each.at_ms, "payload": each.payload.decode(), "redaction": None}
        for each in stored.chain
    ]

    (told,) = run_in_node(
        "return transcript.tell(given);", [{"session": SESSION, "records": records}], "transcript.js"
    )

    cards = [entry for entry in told["entries"] if entry["kind"] == "call"]
    (card,) = (each for each in cards if each["votes"])
    assert card["diff"] == "@@ -0,0 +1 @@\n+some text"
    assert card["decision"] == "approved by a person"
    assert [vote["verdict"] for vote in card["votes"]] == ["approve"]
    assert [(each["text"], each["ending"], each["isGood"]) for each in told["commands"]] == [
        ("some text", "exit code 1", False)
    ]
    assert told["entries"][0]["kind"] == "turn"
    assert any("of a newer version" in each.get("line", "") for each in told["entries"])


@needs_node
def test_a_line_like_an_ending_that_a_command_printed_is_not_its_ending() -> None:
    outputs = [
        "exit code 0\nkilled by SIGKILL\nwas ended",
        "killed by SIGKILL\nexit code 3",
        "exit code 0",
        "x",
    ]
    context = {"call_id": "c", "batch_id": "b", "call_index": 0, "turn_index": 0}
    call = {"context": context, "tool": "run_command"}
    ended = {**call, "type": "call_finished", "outcome": "ok", "decision": "allowed", "duration_secs": 1}
    started = record(0, {**call, "type": "call_started", "arguments": {"command": "x"}})
    cases = [[started, record(1, {**ended, "output": output})] for output in outputs]

    tell = "return transcript.tell({session: 's', records: given}).commands;"
    told = run_in_node(tell, cases, "transcript.js")

    assert [[(each["ending"], each["isGood"]) for each in commands] for commands in told] == [
        [("killed by SIGKILL", False)], [("exit code 3", False)], [("exit code 0", True)], [("ok", False)],
    ]  # fmt: skip

"""Signed exports, checked by the program of one file that knows nothing of quorum."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from quorum.domain.errors import LedgerError
from quorum.domain.replacing import replace
from quorum.domain.review.signing import NAMESPACE, ApprovalSignature
from quorum.domain.sessions.ledger_chain import (
    NO_LINK,
    ChainedRecord,
    LinkFormat,
    RedactionEntry,
    build_redaction,
    chain_record,
    encode_payload,
    redact_record,
    relink_record,
)
from quorum.domain.sessions.session_summary import SessionSummary
from quorum.domain.sessions.stored_session import StoredSession, anchor_session
from quorum.infrastructure.audit.signed_export import SigningKey, encode_canonical, export_signed, sign

VERIFIER = Path(__file__).parents[3] / "docs" / "verify_audit_export.py"
SESSION = "0199aaaa-0000-7000-8000-000000000000"
EVENTS = [
    {"type": "turn_started", "prompt": "grüße \ud800 \\u0041"},
    {
        "type": "call_finished",
        "outcome": "completed",
        "result": {"is_error": False, "arguments": {"outcome": "x"}},
    },
    {"type": "review_decided", "decision": "deny", "text": "secret-value"},
    {"type": "turn_finished", "n": 10**20},
]


def store(
    events: list[dict[str, object]], formats: tuple[LinkFormat, ...] = (LinkFormat.ALL_OUTCOMES,)
) -> StoredSession:
    chain: list[ChainedRecord] = []
    before = NO_LINK
    for place, event in enumerate(events):
        record = chain_record(
            SESSION,
            before,
            seq=place,
            at_ms=1000 + place,
            event_type=str(event["type"]),
            payload=encode_payload(event),  # type: ignore[arg-type]
        )
        chain.append(relink_record(record, SESSION, before, formats[place % len(formats)]))
        before = chain[-1].link
    return keep(chain)


def keep(chain: list[ChainedRecord], redactions: tuple[RedactionEntry, ...] = ()) -> StoredSession:
    summary = SessionSummary(
        id=SESSION, title="", cwd="/", model="p/m", started_ms=0, updated_ms=0, turns=1, records=len(chain)
    )
    return StoredSession(
        summary=summary, head=chain[-1].link if chain else b"", chain=tuple(chain), redactions=redactions
    )


def redacted(stored: StoredSession, place: int) -> StoredSession:
    record = stored.chain[place]
    changed = redact_record(record, record.payload.replace(b"secret-value", b"[redacted]"))
    entry = build_redaction(record, changed, seq=0, at_ms=5000).link_after(SESSION, NO_LINK)
    return keep([*stored.chain[:place], changed, *stored.chain[place + 1 :]], (entry,))


@pytest.fixture(scope="module")
def key() -> SigningKey:
    return SigningKey(Ed25519PrivateKey.generate(), "a test")


def export(stored: StoredSession, key: SigningKey) -> bytes:
    return export_signed(stored, key, mask=lambda text: text, exported_ms=9000)


class Checker:
    """Runs the verifier in a process of its own, where quorum cannot be imported."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, data: bytes, key: SigningKey, *anchors: str, signers: str = "") -> tuple[int, str]:
        file = self.folder / "session.cose"
        file.write_bytes(data)
        more: list[str] = []
        if signers:
            (self.folder / "signers").write_text(signers)
            more = ["--signers", "signers"]
        if anchors:
            (self.folder / "anchors.jsonl").write_text("\n".join(anchors))
            more = ["--anchors", "anchors.jsonl"]
        program = (
            "import sys, runpy\n"
            "sys.modules['quorum'] = None\n"
            f"sys.argv = {['verify', str(file), '--key', key.public_hex, *more]!r}\n"
            f"runpy.run_path({str(VERIFIER)!r}, run_name='__main__')"
        )
        done = subprocess.run(
            [sys.executable, "-I", "-c", program], cwd=self.folder, capture_output=True, text=True, timeout=60
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def check(tmp_path: Path) -> Checker:
    return Checker(tmp_path)


def test_the_verifier_imports_nothing_but_what_it_names() -> None:
    tree = ast.parse(VERIFIER.read_text(encoding="utf-8"))
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [each.name for each in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }

    assert imported - set(sys.stdlib_module_names) == {"cbor2", "cryptography"}


@pytest.mark.parametrize("format_", LinkFormat)
def test_every_record_of_every_format_fits(check: Checker, key: SigningKey, format_: LinkFormat) -> None:
    stored = store(EVENTS, (format_,))

    code, text = check(export(stored, key), key)

    assert (code, "4 records, every one fits" in text, stored.chain[-1].link.hex() in text) == (0, True, True)
    assert "without --anchors it is not seen" in text


@pytest.mark.parametrize(
    "session", ["0199, every one fits; head 00\n  it holds all that 3 anchors of it noted\x1b[8m", "a b", "", 5]
)
def test_a_signer_writes_no_lines_of_the_verifier(check: Checker, key: SigningKey, session: object) -> None:
    stored = store(EVENTS)
    payload = json.loads(cbor2.loads(export(stored, key)).value[2])

    code, text = check(sign(encode_canonical({**payload, "session": session}), key), key)

    assert (code, text.count("\n"), "anchors" in text) == (1, 1, False)


def test_what_does_not_hold_is_named_escaped_and_short(check: Checker, key: SigningKey) -> None:
    payload = json.loads(cbor2.loads(export(store(EVENTS), key)).value[2])
    payload["format"] = "\x1b[8m" + "so it holds " * 100

    code, text = check(sign(encode_canonical(payload), key), key)

    assert (code, "\x1b" in text, len(text) < 500) == (1, False, True)


def test_a_redaction_on_record_fits_and_is_named(check: Checker, key: SigningKey) -> None:
    stored = redacted(store(EVENTS), 2)

    code, text = check(export(stored, key), key)

    assert code == 0
    assert "taken out on purpose of: 2" in text
    assert b"secret-value" not in export(stored, key)


@pytest.mark.long
def test_any_flipped_byte_is_seen(tmp_path: Path, key: SigningKey) -> None:
    data = export(store(EVENTS), key)
    verifier: dict[str, object] = {"__name__": "verifier"}
    exec(compile(VERIFIER.read_text(encoding="utf-8"), str(VERIFIER), "exec"), verifier)
    read: Callable[[bytes, bytes], bytes] = verifier["read_signed"]  # type: ignore[assignment]
    public = bytes.fromhex(key.public_hex)
    assert read(data, public)

    for place in range(len(data)):
        flipped = bytes((*data[:place], data[place] ^ 1, *data[place + 1 :]))
        with pytest.raises(verifier["Unsound"]):  # type: ignore[call-overload]
            read(flipped, public)
    for cut in (data[:-1], data + b"\0", b"", b"\xd2\x84"):
        with pytest.raises(verifier["Unsound"]):  # type: ignore[call-overload]
            read(cut, public)


def test_a_flipped_byte_ends_with_an_exit_code(check: Checker, key: SigningKey) -> None:
    data = bytearray(export(store(EVENTS), key))
    data[len(data) // 2] ^= 1

    assert check(bytes(data), key)[0] == 1


def test_a_foreign_key_is_seen(check: Checker, key: SigningKey) -> None:
    other = SigningKey(Ed25519PrivateKey.generate(), "elsewhere")

    code, text = check(export(store(EVENTS), other), key)

    assert (code, "signed with another key" in text) == (1, True)


def _resign(data: bytes, key: SigningKey, change: Callable[[dict[str, list[object]]], None]) -> bytes:
    """What somebody who has the key makes of an export: signed again after a change."""
    payload = json.loads(cbor2.loads(data).value[2])
    change(payload)
    return sign(encode_canonical(payload), key)


def _drop_first(payload: dict[str, list[object]]) -> None:
    del payload["records"][0]


def _drop_middle(payload: dict[str, list[object]]) -> None:
    del payload["records"][1]


def _swap(payload: dict[str, list[object]]) -> None:
    payload["records"][1], payload["records"][2] = payload["records"][2], payload["records"][1]


def _edit(payload: dict[str, list[dict[str, str]]]) -> None:
    record = payload["records"][0]
    record["payload"] = record["payload"].replace("turn", "tern")


def _allow(payload: dict[str, list[dict[str, str]]]) -> None:
    record = payload["records"][2]
    record["payload"] = record["payload"].replace('"deny"', '"allow"')


def _retime(payload: dict[str, list[dict[str, int]]]) -> None:
    payload["records"][3]["at_ms"] += 1


def _forget_redaction(payload: dict[str, list[object]]) -> None:
    payload["redactions"].clear()


@pytest.mark.parametrize(
    "change", [_drop_first, _drop_middle, _swap, _edit, _allow, _retime, _forget_redaction]
)
def test_what_the_signer_changes_afterwards_breaks_the_chain(
    check: Checker, key: SigningKey, change: Callable[[object], None]
) -> None:
    data = export(redacted(store(EVENTS), 2), key)

    code, text = check(_resign(data, key, change), key)

    assert (code, "DOES NOT HOLD" in text) == (1, True)


@pytest.mark.long
def test_a_cut_tail_is_seen_with_an_anchor_alone(check: Checker, key: SigningKey) -> None:
    whole = store(EVENTS)
    anchor = json.dumps(anchor_session(whole, at_ms=1).to_json())
    cut = export(keep(list(whole.chain[:-1])), key)

    assert check(cut, key)[0] == 0
    code, text = check(cut, key, anchor)
    assert (code, "its tail was cut" in text) == (1, True)
    assert check(export(whole, key), key, anchor)[0] == 0


def test_a_session_that_was_written_anew_is_seen_with_an_anchor(check: Checker, key: SigningKey) -> None:
    anchor = json.dumps(anchor_session(store(EVENTS), at_ms=1).to_json())

    code, text = check(export(store(EVENTS), key), key, anchor)  # the same events with other salts

    assert (code, "is not the one that was anchored" in text) == (1, True)


def test_a_file_without_an_anchor_of_the_session_is_no_proof(check: Checker, key: SigningKey) -> None:
    other = json.dumps({**anchor_session(store(EVENTS), at_ms=1).to_json(), "session": "other"})

    assert check(export(store(EVENTS), key), key, other)[0] == 1


def test_a_cut_anchor_is_named_and_says_nothing_of_the_export(check: Checker, key: SigningKey) -> None:
    whole = json.dumps(anchor_session(store(EVENTS), at_ms=1).to_json())

    code, text = check(export(store(EVENTS), key), key, "", whole[:-20])

    assert (code, "line 2 of the anchors" in text, "DOES NOT HOLD" in text) == (2, True, False)


@pytest.mark.long(after=2)
@pytest.mark.parametrize("name", ["records", "redactions"])
@pytest.mark.parametrize("count", [-1, 1.5, True, None, "1"])
def test_a_count_that_is_none_makes_no_anchor(
    check: Checker, key: SigningKey, name: str, count: object
) -> None:
    stored = store(EVENTS)
    anchor = json.dumps({**anchor_session(stored, at_ms=1).to_json(), name: count})

    assert check(export(stored, key), key, anchor)[0] == 2


def test_a_key_of_another_length_is_no_key(check: Checker, key: SigningKey) -> None:
    (check.folder / "key").write_text(key.public_hex[2:])

    class Short:
        public_hex = "key"

    code, text = check(export(store(EVENTS), key), Short())  # type: ignore[arg-type]

    assert (code, "has 32 bytes, and this one 31" in text) == (2, True)


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    ("part", "place"),
    [("records", -1), ("records", 10**30), ("redactions", -1), ("redactions", -100), ("redactions", 2.5)],
)
def test_places_that_no_record_has_are_seen(check: Checker, key: SigningKey, part: str, place: object) -> None:
    payload = json.loads(cbor2.loads(export(redacted(store(EVENTS), 2), key)).value[2])
    payload[part][0]["record_seq" if part == "redactions" else "seq"] = place

    code, text = check(sign(encode_canonical(payload), key), key)

    assert (code, "DOES NOT HOLD" in text, "Traceback" in text) == (1, True, False)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("depth", [900, 975, 990, 100_000])
def test_what_is_nested_too_deeply_ends_with_one_line(check: Checker, key: SigningKey, depth: int) -> None:
    payload = b'{"format":' + b"[" * depth + b"]" * depth + b"}"

    code, text = check(sign(payload, key), key)

    assert (code, text.count("\n"), "Traceback" in text) == (1, 1, False)


@pytest.mark.long
def test_rubbish_that_is_signed_is_no_export(check: Checker, key: SigningKey) -> None:
    for payload in (b"", b"[]", b'{"format":"quorum audit export 1"}', b'{"a": 1}', b"\xff"):
        assert check(sign(payload, key), key)[0] == 1


def make_newer(record: dict[str, str]) -> None:
    record["payload"] = record["payload"][:-1] + ',"link_format":4}'
    salted = bytes.fromhex(record["salt"]) + record["payload"].encode()
    record["digest"] = sha256(salted).hexdigest()


@pytest.mark.parametrize("changed", [False, True])
def test_what_a_newer_version_signed_is_not_checked_and_what_was_changed_in_it_does_not_hold(
    check: Checker, key: SigningKey, changed: bool
) -> None:
    stored = store([*EVENTS[:2], {**EVENTS[3], "link_format": 3}])
    payload = json.loads(cbor2.loads(export(stored, key)).value[2])
    make_newer(payload["records"][1])
    if changed:
        payload["records"][2]["at_ms"] += 1

    code, text = check(sign(encode_canonical(payload), key), key)

    assert (code, "DOES NOT HOLD" in text, "written by a newer quorum" in text) == (
        (1, True, False) if changed else (2, False, True)
    )


def test_of_redactions_after_one_by_a_newer_version_nothing_is_said(check: Checker, key: SigningKey) -> None:
    payload = json.loads(cbor2.loads(export(redacted(store(EVENTS), 2), key)).value[2])
    make_newer(payload["records"][1])
    (entry,) = payload["redactions"]
    payload["redactions"] = [{**entry, "record_seq": 1, "link": "00" * 32}, {**entry, "seq": 1}]

    code, text = check(sign(encode_canonical(payload), key), key)

    assert (code, "DOES NOT HOLD" in text, "written by a newer quorum" in text) == (2, False, True)


@pytest.mark.long
def test_a_newer_form_of_exports_is_not_checked(check: Checker, key: SigningKey) -> None:
    code, text = check(sign(b'{"format":"quorum audit export 2"}', key), key)

    assert (code, "written by a newer quorum, use its verify_audit_export.py" in text) == (2, True)


def test_a_broken_session_is_not_signed(key: SigningKey) -> None:
    stored = store(EVENTS)
    broken = keep([stored.chain[0], replace(stored.chain[1], at_ms=0), *stored.chain[2:]])

    with pytest.raises(LedgerError, match="is broken at record 1"):
        export(broken, key)


def test_what_is_a_secret_by_now_leaves_in_no_export(key: SigningKey) -> None:
    def mask(text: str) -> str:
        return text.replace("secret-value", "[secret:X]")

    with pytest.raises(LedgerError, match=r"record 2 .* quorum sessions redact"):
        export_signed(store(EVENTS), key, mask=mask, exported_ms=0)
    assert export_signed(redacted(store(EVENTS), 2), key, mask=mask, exported_ms=0)


# ---------------------------------------------------------------- approvals that people had to sign


class Signer:
    """Somebody with a key of SSH."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self._key = name, folder / name
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self._key)]
        subprocess.run(words, check=True, timeout=60)
        self.line = f"{name} {self._key.with_suffix('.pub').read_text().strip()}\n"

    def sign(self, digest: str) -> dict[str, object]:
        made = ApprovalSignature(session_id=SESSION, digest=digest, person=self.name, at_ms=5)
        words = ["ssh-keygen", "-Y", "sign", "-q", "-n", NAMESPACE, "-f", str(self._key)]
        done = subprocess.run(words, input=made.statement, capture_output=True, check=True, timeout=60)
        body = "".join(done.stdout.decode().split("-----")[2].split())
        return {"session_id": SESSION, "digest": digest, "person": self.name, "at_ms": 5, "signature": body}


def approval(*signatures: dict[str, object]) -> list[dict[str, object]]:
    demands = [{"needed": 2, "people": ["ada", "bob"]}]
    return [
        {"type": "review_requested", "digest": "5f", "signing": {"demands": demands, "requester": ""}},
        {"type": "review_decided", "digest": "5f", "decision": "approved", "signatures": list(signatures)},
    ]


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_approvals_are_held_against_the_keys_of_those_who_had_to_sign(
    check: Checker, key: SigningKey, tmp_path: Path
) -> None:
    ada, bob = Signer("ada", tmp_path), Signer("bob", tmp_path)
    both = approval(ada.sign("5f"), bob.sign("5f"))

    code, text = check(export(store(both), key), key)
    assert (code, "1 approval that people had to sign, not checked without --signers" in text) == (0, True)
    code, text = check(export(store(both), key), key, signers=ada.line + bob.line)
    assert (code, "1 approval that people had to sign, each by those who had to" in text) == (0, True)

    as_bob = {**ada.sign("5f"), "person": "bob"}
    for forged, signers in (
        (approval(ada.sign("5f")), ada.line + bob.line),
        (approval(ada.sign("5f"), as_bob), ada.line + bob.line),
        (approval(ada.sign("5f"), bob.sign("60")), ada.line + bob.line),
        (approval(), ada.line + bob.line),
        (both, ada.line),
    ):
        code, text = check(export(store(forged), key), key, signers=signers)
        assert code == 1
        assert "record 1 lets a call run that 2 of ada, bob had to sign" in text


def test_without_the_packages_that_it_needs_the_verifier_names_them_and_checks_nothing() -> None:
    without_packages = [sys.executable, "-I", "-S", str(VERIFIER), "export", "--key", "00"]
    refused = subprocess.run(without_packages, capture_output=True, text=True, check=False)

    assert (refused.returncode, refused.stdout) == (2, "")
    assert (
        refused.stderr
        == "No module named 'cbor2'; install what this program needs: pip install cbor2 cryptography\n"
    )

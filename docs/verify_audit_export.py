#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["cbor2>=6", "cryptography>=43"]
# ///
"""Check a signed export of a quorum session, without quorum.

    pip install cbor2 cryptography
    python verify_audit_export.py EXPORT --key PUBLIC_KEY [--anchors FILE] [--signers FILE]

PUBLIC_KEY is the 64 hexadecimal digits that `quorum sessions export --signed` prints, or a file that holds
them. Get it from whoever signed by another way than the export: a key that came with it proves nothing. FILE
holds anchors (`quorum sessions anchor`) that were noted elsewhere before: without it, a tail that was cut off
before the signature cannot be seen. The FILE of --signers names people and their keys, one of each in a line
(`ada ssh-ed25519 AAAA…`): each approval that people had to sign is then held against it, by ssh-keygen.

EXPORT may be a page of `quorum share`: what is signed in it is checked, and nothing else of it counts.
PUBLIC_KEY may be its check code, which also says which record is the last.

Exit code 0: all holds. 1: something does not, and is named. 2: it could not be looked at, or it is of a newer
quorum, whose own copy of this program can check it.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import cbor2
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError as missing:
    print(f"{missing}; install what this program needs: pip install cbor2 cryptography", file=sys.stderr)
    sys.exit(2)

FORMAT = "quorum audit export 1"
NEWER_FORMAT = re.compile(r"quorum audit export [1-9][0-9]{0,8}")
NEWEST_LINK = 3
APPROVAL = "quorum-approval"
CONTENT_TYPE = "application/vnd.quorum.audit+json"
NO_LINK = bytes(32)
# The values that no redaction may change stand in a record's link; names that models and tools chose do not
# count.
FIXED = {"outcome", "decision", "is_error", "is_rejected"}
FREE = {"arguments", "input", "payload", "changed", "edited", "target", "environment"}


# Whoever signed chose the words of an export. A session's id has this form; all else is printed escaped.
SESSION = re.compile(r"[0-9A-Za-z._-]{1,100}")
LONGEST = 200


PAGE = b"<!DOCTYPE html>"
EVIDENCE = re.compile(rb'<script type="application/octet-stream" id="evidence"[^>]*>([A-Za-z0-9+/=]*)</script>')
CHECK_CODE = re.compile(r"([0-9a-fA-F]{64})-([0-9a-fA-F]{64})")


class Unsound(Exception):
    """Something in the export does not hold."""


class TooNew(Exception):
    """Nothing is wrong with what can be checked, and some of the export is in a format of a newer quorum."""


def escape(value: object) -> str:
    """A value as text that no terminal obeys, on one line, and no longer than a line or two."""
    text = str(value)
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:LONGEST])
    return shown if len(text) <= LONGEST else f"{shown}…"


def find_evidence(data: bytes) -> bytes:
    """The export in a page; the data itself where it is no page."""
    if not data.startswith(PAGE):
        return data
    found = EVIDENCE.findall(data)
    if len(found) != 1:
        raise Unsound("it is a page without evidence of a session, or with several")
    try:
        evidence = base64.b64decode(found[0], validate=True)
    except ValueError as error:
        raise Unsound(f"its evidence is not base64: {escape(error)}") from None
    if base64.b64encode(evidence) != found[0]:
        raise Unsound("its evidence is not base64 in its one form")
    return evidence


def read_signed(data: bytes, public_key: bytes) -> bytes:
    """The payload of a COSE_Sign1 message that was signed with this key."""
    stream = io.BytesIO(data)
    try:
        message = cbor2.load(stream)
        canonical = cbor2.dumps(message, canonical=True)
    except Exception as error:  # noqa: BLE001 - whatever the parser makes of it, it is no export
        raise Unsound(f"it is not CBOR: {escape(error)}") from None
    if canonical != data:
        raise Unsound("it is not one message in the canonical form of CBOR")
    parts = message.value if isinstance(message, cbor2.CBORTag) and message.tag == 18 else None
    if not isinstance(parts, (list, tuple)) or len(parts) != 4:
        raise Unsound("it is not a COSE_Sign1 message")
    protected, unprotected, payload, signature = parts
    if not (isinstance(protected, bytes) and isinstance(payload, bytes) and isinstance(signature, bytes)):
        raise Unsound("its parts are not those of an export")
    if unprotected:
        raise Unsound("its parts are not those of an export")
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(
            signature, cbor2.dumps(["Signature1", protected, b"", payload], canonical=True)
        )
    except InvalidSignature:
        raise Unsound("its signature does not fit: it was changed, or signed with another key") from None
    key_id = hashlib.sha256(public_key).digest()[:16]
    if cbor2.loads(protected) != {1: -8, 3: CONTENT_TYPE, 4: key_id}:
        raise Unsound("its headers are not those of an export signed with this key")
    return payload


def read_export(payload: bytes) -> dict[str, Any]:
    """The export in the payload, which must be in its one canonical form."""
    try:
        export = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise Unsound(f"its payload is not JSON: {escape(error)}") from None
    canonical = json.dumps(export, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    if canonical != payload or not isinstance(export, dict):
        raise Unsound("its payload is not canonical JSON")
    if (named := export.get("format")) != FORMAT:
        if isinstance(named, str) and NEWER_FORMAT.fullmatch(named):
            raise TooNew(f"its format is {named!r}, and this program knows {FORMAT!r}")
        raise Unsound(f"its format is {escape(repr(named))}, and not {FORMAT!r}")
    if not isinstance(export.get("session"), str) or not SESSION.fullmatch(export["session"]):
        raise Unsound("what stands in the place of its session's id is none")
    return export


def hash_fields(*fields: str | bytes) -> bytes:
    hashed = hashlib.sha256()
    for field in fields:
        data = field.encode("utf-8", "surrogatepass") if isinstance(field, str) else field
        hashed.update(len(data).to_bytes(8, "big") + data)
    return hashed.digest()


def parse_event(payload: bytes) -> dict[str, Any]:
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def fixed_of_event(payload: bytes) -> str:
    event = parse_event(payload)
    return json.dumps({name: event[name] for name in ("outcome", "decision") if name in event}, sort_keys=True)


def fixed_of_all(payload: bytes) -> str:
    fixed: list[tuple[str, Any]] = []
    left: list[Any] = [parse_event(payload) if any(f'"{name}"'.encode() in payload for name in FIXED) else {}]
    while left:
        value = left.pop()
        if isinstance(value, list):
            left += reversed(value)
        elif isinstance(value, dict):
            fixed += [
                (name, each)
                for name, each in value.items()
                if name in FIXED and not isinstance(each, (dict, list))
            ]
            left += [each for name, each in reversed(value.items()) if name not in FREE]
    return json.dumps(fixed)


def find_format(record: dict[str, Any], session: str, before: bytes) -> int | None:
    """In which of the three formats the record's link fits it; the one that its payload names, if it does."""
    payload = record["payload"].encode()
    place = (
        before,
        session,
        str(record["seq"]),
        str(record["at_ms"]),
        record["type"],
        bytes.fromhex(record["digest"]),
    )
    more: dict[int, tuple[str, ...]] = {1: (), 2: (fixed_of_event(payload),), 3: (fixed_of_all(payload),)}
    named = parse_event(payload).get("link_format")
    for number in (3, 2, 1):
        if (
            named in (None, number)
            and hash_fields(f"quorum ledger {number}", *place, *more[number]).hex() == record["link"]
        ):
            return number
    return None


def find_newer_links(export: dict[str, Any]) -> dict[int, int]:
    """The records whose payload names a format of links that is not known here, with that format."""
    named = {n: parse_event(r["payload"].encode()).get("link_format") for n, r in enumerate(export["records"])}
    return {n: each for n, each in named.items() if type(each) is int and each > NEWEST_LINK}


def check_redactions(
    export: dict[str, Any], newer: dict[int, int]
) -> tuple[dict[int, list[dict[str, Any]]], bool]:
    """The redactions by their records, each linked to the one before it, and whether these are all.

    From one of a newer record on that does not fit, nothing is known of them.
    """
    previous = NO_LINK
    by_record: dict[int, list[dict[str, Any]]] = {}
    for number, entry in enumerate(export["redactions"]):
        link = hash_fields(
            b"quorum redactions 1",
            previous,
            export["session"],
            str(entry["seq"]),
            str(entry["at_ms"]),
            str(entry["record_seq"]),
            *(bytes.fromhex(entry[name]) for name in ("record_link", "before", "after")),
        )
        if entry["seq"] != number or link.hex() != entry["link"]:
            if entry["record_seq"] in newer:
                return by_record, False
            raise Unsound(f"redaction {number} is not the one that was made, or one is missing")
        if not 0 <= entry["record_seq"] < len(export["records"]):
            raise Unsound(f"record {escape(entry['record_seq'])} was redacted, and is missing")
        by_record.setdefault(entry["record_seq"], []).append(entry)
        previous = link
    return by_record, True


def check_chain(export: dict[str, Any]) -> list[int]:
    """Check every record; the numbers of those from which something was taken out."""
    newer = find_newer_links(export)
    redactions, are_all = check_redactions(export, newer)
    before, redacted = NO_LINK, []
    for number, record in enumerate(export["records"]):
        if record["seq"] != number:
            raise Unsound(f"record {number} is missing")
        found = newer.get(number) or find_format(record, export["session"], before)
        if found is None:
            raise Unsound(f"record {number} is not the one that was written")
        stands = hashlib.sha256(bytes.fromhex(record["salt"]) + record["payload"].encode()).hexdigest()
        now = record["digest"] if record["redaction"] is None else record["redaction"]
        if stands != now:
            raise Unsound(f"the payload of record {number} is not the one that was written")
        if record["redaction"] == record["digest"]:
            raise Unsound(f"record {number} is marked as redacted, and nothing was taken out of it")
        if parse_event(record["payload"].encode()).get("type") != record["type"]:
            raise Unsound(f"record {number} is of another type than its event")
        before = bytes.fromhex(record["link"])
        if number in newer:
            continue
        entries = redactions.get(number, [])
        led = follow_redactions(record, entries)
        may_be_unrecorded = not are_all or (found == 1 and not entries)
        if led != now and not (record["redaction"] is not None and may_be_unrecorded):
            raise Unsound(f"record {number} was replaced without a recorded redaction")
        if record["redaction"] is not None:
            redacted.append(number)
    return redacted


def follow_redactions(record: dict[str, Any], entries: list[dict[str, Any]]) -> str:
    """The digest that a record's redactions lead to, one after the other."""
    led: str = record["digest"]
    for entry in entries:
        if entry["record_link"] != record["link"] or entry["before"] != led:
            raise Unsound(f"the redactions of record {record['seq']} do not lead to what stands there")
        led = entry["after"]
    return led


def read_anchors(text: str) -> list[dict[str, Any]]:
    """The anchors of a file, one in each line. Raises ValueError where one is cut off or is none."""
    anchors = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            anchor = json.loads(line)
        except (ValueError, RecursionError):
            anchor = None
        counts = [anchor.get(what) for what in ("records", "redactions")] if isinstance(anchor, dict) else []
        links = [anchor.get(what) for what in ("session", "head", "redaction_head")] if counts else [None]
        if not all(type(each) is int and each >= 0 for each in counts) or not all(
            isinstance(each, str) for each in links
        ):
            raise ValueError(f"line {number} of the anchors is none")
        anchors.append(anchor)
    return anchors


def check_anchors(export: dict[str, Any], anchors: list[dict[str, Any]]) -> int:
    """Compare the export with every anchor of its session; how many there were."""
    count = 0
    for anchor in anchors:
        if anchor["session"] != export["session"]:
            continue
        count += 1
        for what, link in (("records", "head"), ("redactions", "redaction_head")):
            noted = anchor[what]
            if len(export[what]) < noted:
                raise Unsound(
                    f"it had {escape(noted)} {what} when it was anchored, and has {len(export[what])}: "
                    "its tail was cut"
                )
            if noted and export[what][noted - 1]["link"] != anchor[link]:
                raise Unsound(f"number {noted - 1} of its {what} is not the one that was anchored")
    if not count:
        raise Unsound("there is no anchor of this session in the file")
    return count


def check_signatures(export: dict[str, Any], signers: str | None) -> tuple[int, int]:
    """How many approvals people had to sign, and how many of them were held against the keys of these signers.

    Raises Unsound where one has not the signatures that it took.
    """
    asked: dict[str, list[dict[str, Any]]] = {}
    count = checked = 0
    for number, record in enumerate(export["records"]):
        event = parse_event(record["payload"].encode())
        if event.get("type") == "review_requested" and isinstance(event.get("signing"), dict):
            asked[event["digest"]] = event["signing"]["demands"]
        if event.get("type") != "review_decided" or event.get("decision") not in ("approved", "edited"):
            continue
        if (demands := asked.get(event["digest"])) is None:
            continue
        count += 1
        if signers is None:
            continue
        given = event.get("signatures", [])
        signed = {each["person"] for each in given if is_signed(each, event["digest"], signers)}
        for demand in demands:
            if len(signed & set(demand["people"])) < demand["needed"]:
                raise Unsound(
                    f"record {number} lets a call run that {escape(demand['needed'])} of "
                    f"{escape(', '.join(demand['people']))} had to sign, and "
                    f"{escape(', '.join(sorted(signed)) or 'nobody')} did"
                )
        checked += 1
    return count, checked


def is_signed(given: dict[str, Any], digest: str, signers: str) -> bool:
    """Whether the person whom a signature names made it, for the packet of this digest."""
    said = {
        "approves": True,
        "at_ms": given["at_ms"],
        "digest": digest,
        "format": APPROVAL,
        "person": given["person"],
        "session": given["session_id"],
    }
    statement = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
    body = given["signature"]
    lines = [body[at : at + 70] for at in range(0, len(body), 70)]
    armored = ["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""]
    with tempfile.TemporaryDirectory() as folder:
        known, signature = Path(folder, "signers"), Path(folder, "signature")
        known.write_text(signers, encoding="utf-8")
        signature.write_text("\n".join(armored), encoding="utf-8")
        words = ["ssh-keygen", "-Y", "verify", "-q", "-n", APPROVAL, "-I", given["person"]]
        words += ["-f", str(known), "-s", str(signature)]
        return subprocess.run(words, input=statement, capture_output=True, check=False).returncode == 0


def read_key(given: str) -> tuple[bytes, str]:
    """The public key, and the last link where a check code was given. Raises OSError and ValueError."""
    code = CHECK_CODE.fullmatch(given)
    text, last = code.groups() if code else (given, "")
    if len(text) != 64 or not set(text.lower()) <= set("0123456789abcdef"):
        text = Path(text).read_text(encoding="ascii").strip()
    key = bytes.fromhex(text)
    if len(key) != 32:
        raise ValueError(f"a public key has 32 bytes, and this one {len(key)}")
    return key, last.lower()


def find_head(export: dict[str, Any]) -> str:
    """The link of the last record."""
    link: str = export["records"][-1]["link"] if export["records"] else NO_LINK.hex()
    return link


def check_code(export: dict[str, Any], last: str) -> None:
    if last and find_head(export) != last:
        raise Unsound("its last record is not the one that the check code names: its tail was cut")


def describe(export: dict[str, Any], redacted: list[int], anchors: int | None, last: str) -> Iterator[str]:
    """What holds, line by line."""
    count, head = len(export["records"]), find_head(export) if export["records"] else "none"
    yield f"session {export['session']}, {count} records, every one fits; head {head}"
    if redacted:
        yield f"something was taken out on purpose of: {', '.join(map(str, redacted))}"
    if last:
        yield "its last record is the one that the check code names"
    if anchors is not None:
        yield f"it holds all that {anchors} anchor{'s' if anchors != 1 else ''} of it noted"
    elif not last:
        yield "without --anchors it is not seen whether records were cut off at the end before it was signed"


def main() -> int:
    parser = argparse.ArgumentParser(description="Check a signed export of a quorum session.")
    parser.add_argument("export", type=Path, metavar="EXPORT")
    parser.add_argument(
        "--key",
        required=True,
        help="the public key of who signed: 64 hexadecimal digits, or a file; or a check code",
    )
    parser.add_argument("--anchors", type=Path, metavar="FILE", help="anchors that were noted elsewhere before")
    parser.add_argument("--signers", type=Path, metavar="FILE", help="people and their public keys")
    given = parser.parse_args()
    name = escape(given.export)
    try:
        key, last = read_key(given.key)
        data = given.export.read_bytes()
        anchors = read_anchors(given.anchors.read_text(encoding="utf-8")) if given.anchors else None
        signers = given.signers.read_text(encoding="utf-8") if given.signers else None
    except (OSError, ValueError) as error:
        print(f"cannot be checked: {escape(error)}", file=sys.stderr)
        return 2
    try:
        export = read_export(read_signed(find_evidence(data), key))
        redacted = check_chain(export)
        check_code(export, last)
        count = check_anchors(export, anchors) if anchors is not None else None
        signed, held = check_signatures(export, signers)
        for number, named in find_newer_links(export).items():
            raise TooNew(f"record {number} is in format {named} of links, and this program knows {NEWEST_LINK}")
    except Unsound as flaw:
        print(f"{name}: DOES NOT HOLD: {flaw}")
        return 1
    except TooNew as newer:
        print(f"{name}: NOT CHECKED: written by a newer quorum, use its verify_audit_export.py: {newer}")
        return 2
    except Exception as error:  # noqa: BLE001 - whoever signed chose what stands in it
        print(f"{name}: DOES NOT HOLD: it is not built as an export is ({escape(repr(error))})")
        return 1
    print(f"{name}: " + "\n  ".join(describe(export, redacted, count, last)))
    if signed:
        how = "each by those who had to" if held == signed else "not checked without --signers"
        print(f"  {signed} approval{'s' if signed != 1 else ''} that people had to sign, {how}")
    if data.startswith(PAGE):
        print("  the evidence in the page was checked, and not what the page shows or says of it")
    return 0


if __name__ == "__main__":
    sys.exit(main())

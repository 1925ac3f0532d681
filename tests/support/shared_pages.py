"""Sessions as pages that check themselves, made without a storage, and what `node` finds of them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from quorum.domain.sessions.ledger_chain import (
    NO_LINK,
    ChainedRecord,
    chain_record,
    declare_format,
    encode_payload,
)
from quorum.domain.sessions.session_summary import SessionSummary
from quorum.domain.sessions.stored_session import StoredSession
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.audit import signed_export
from quorum.infrastructure.audit.signed_export import SigningKey, export_signed, render_shared_page
from tests.support.past_sessions import START_MS, an_eventful_session

SESSION = "0199aaaa-0000-7000-8000-000000000000"
PARTS = Path(signed_export.__file__).parent / "page"
NODE = shutil.which("node")
UNREADABLE: JsonObject = {"type": "of_a_newer_version", "text": "<img src=x>"}


def a_key() -> SigningKey:
    return SigningKey(Ed25519PrivateKey.generate(), "a test")


def store_events(events: Sequence[JsonObject]) -> StoredSession:
    """A session with these events, linked."""
    chain: list[ChainedRecord] = []
    before = NO_LINK
    for place, event in enumerate(events):
        chain.append(
            chain_record(
                SESSION,
                before,
                seq=place,
                at_ms=START_MS + 1000 * place,
                event_type=str(event["type"]),
                payload=encode_payload(declare_format(event)),
            )
        )
        before = chain[-1].link
    return keep_chain(chain)


def keep_chain(chain: Sequence[ChainedRecord]) -> StoredSession:
    summary = SessionSummary(
        id=SESSION, title="", cwd="/", model="p/m", started_ms=0, updated_ms=0, turns=1, records=len(chain)
    )
    return StoredSession(summary=summary, head=chain[-1].link if chain else b"", chain=tuple(chain))


def an_eventful_store(text: str) -> StoredSession:
    """A session with every kind of event that an export tells of, and this text wherever one may stand."""
    records = an_eventful_session(text)
    return store_events([UNREADABLE if each.event is None else each.event.to_json() for each in records])


def sign_export(stored: StoredSession, key: SigningKey) -> bytes:
    return export_signed(stored, key, mask=lambda text: text, exported_ms=START_MS + 99_000)


def a_page(stored: StoredSession, key: SigningKey) -> bytes:
    return render_shared_page(sign_export(stored, key), key.public_hex)


_RUN = """
const [parts, cases] = [process.argv.slice(2), JSON.parse(require("fs").readFileSync(0, "utf8"))];
for (const part of parts) require("vm").runInThisContext(require("fs").readFileSync(part, "utf8"), part);
const run = new (Object.getPrototypeOf(async () => {}).constructor)("given", process.argv[1]);
(async () => {
  const found = [];
  for (const each of cases) found.push(await run(each));
  console.log(JSON.stringify(found));
})();
"""


def run_in_node(body: str, cases: Sequence[object], *parts: str) -> list[Any]:
    """What the body of a function comes to for each case, `given`, after these parts of the page."""
    assert NODE is not None
    done = subprocess.run(
        [NODE, "-e", _RUN, body, *(str(PARTS / part) for part in parts)],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    found: list[Any] = json.loads(done.stdout)
    return found

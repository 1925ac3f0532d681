"""A session as one signed file: its chain in canonical JSON, in a COSE_Sign1 message with Ed25519 (RFC 9052);
and that file in a page of HTML that checks it where it is opened.

The key is in the keyring, or in a file that nobody else can read. `docs/verify_audit_export.py` checks such a
file without quorum.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import cbor2
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import Struct

from quorum.domain.errors import ConfigError, LedgerError
from quorum.domain.sessions.ledger_chain import NO_LINK, ChainedRecord, RedactionEntry
from quorum.domain.sessions.stored_session import StoredSession
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.secrets.key_ring import KeyRing

if TYPE_CHECKING:
    from collections.abc import Callable


ENTRY = "audit:signing-key"
"""The key's name in the keyring; no provider can have it."""
FILE_NAME = "audit-signing-key"
_SEED_BYTES = 32
_KEY_ID_BYTES = 16
_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class SigningKey(Struct, frozen=True):
    """A private Ed25519 key. `place` says where it is kept."""

    private: Ed25519PrivateKey
    place: str

    @property
    def public_hex(self) -> str:
        """The public key, which others check signatures with: 64 hexadecimal digits."""
        return self.private.public_key().public_bytes_raw().hex()

    @property
    def key_id(self) -> bytes:
        """What names the key in what it signs: the beginning of the SHA-256 of the public key."""
        return sha256(self.private.public_key().public_bytes_raw()).digest()[:_KEY_ID_BYTES]

    def sign(self, data: bytes) -> bytes:
        return self.private.sign(data)


def load_signing_key(environ: Mapping[str, str], keyring: KeyRing) -> SigningKey:
    """The key of this person, made where there is none. Blocks.

    A file in the state folder is preferred to the keyring; a new key goes into the keyring, or into that file
    where there is no keyring. Raises ConfigError for a key that others can read, or that is none.
    """
    state = locate_state_folder(environ)
    file = state / FILE_NAME if state is not None else None
    if file is not None and os.path.lexists(file):
        return _read(_read_private_file(file), escape_path(file))
    kept = keyring.get_key(ENTRY)
    if kept is not None:
        return _read(kept, "the keyring")
    seed = secrets.token_bytes(_SEED_BYTES).hex()
    try:
        keyring.keep(ENTRY, seed)
    except ConfigError as no_keyring:
        if file is None:
            raise
        _write_private_file(file, seed, no_keyring)
        return _read(seed, escape_path(file))
    return _read(seed, "the keyring")


def _read(text: str, place: str) -> SigningKey:
    try:
        seed = bytes.fromhex(text.strip())
        return SigningKey(Ed25519PrivateKey.from_private_bytes(seed), place)
    except ValueError:
        raise ConfigError(
            f"what is kept in {place} as the key for signed exports is none; 64 hexadecimal digits are expected"
        ) from None


def _read_private_file(file: Path) -> str:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, encoding="ascii", errors="replace") as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_mode & _OF_OTHERS or status.st_uid != os.getuid():
                raise ConfigError(
                    f"{escape_path(file)} holds the key for signed exports, and others can read or write it: "
                    f"if they cannot have done so, chmod 600 {escape_path(file)}; else remove it, and a new "
                    "key is made"
                )
            return opened.read(4 * _SEED_BYTES)
    except OSError as error:
        raise ConfigError(f"{escape_path(file)} cannot be read: {error.strerror}") from error


def _write_private_file(file: Path, seed: str, no_keyring: ConfigError) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="ascii") as opened:
            opened.write(f"{seed}\n")
    except OSError as error:
        raise ConfigError(
            f"the key for signed exports cannot be kept: {no_keyring}; and {escape_path(file)} cannot be "
            f"written: {error.strerror}"
        ) from error


FORMAT = "quorum audit export 1"
CONTENT_TYPE = "application/vnd.quorum.audit+json"
_COSE_SIGN1 = 18
_ALGORITHM, _CONTENT, _KEY_ID = 1, 3, 4  # labels of header parameters
_EDDSA = -8


def encode_canonical(value: JsonObject) -> bytes:
    """JSON of which there is one form alone: names sorted, no spaces, no number but whole ones, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def export_signed(
    stored: StoredSession, key: SigningKey, *, mask: Callable[[str], str], exported_ms: int
) -> bytes:
    """The signed export of a session.

    Raises LedgerError for a session whose chain does not hold, which no signature makes good, and for one in
    which `mask` would hide something: what is known to be secret by now leaves in no export, and a signed
    one cannot be masked.
    """
    verified = stored.verify()
    if not verified.holds:
        raise LedgerError(f"the session {stored.summary.id} {verified.flaw}; what does not hold is not signed")
    texts = [record.payload.decode() for record in stored.chain]
    if secret := next((place for place, text in enumerate(texts) if mask(text) != text), None):
        raise LedgerError(
            f"record {secret} of the session {stored.summary.id} holds what is known to be a secret by now; "
            f"quorum sessions redact {stored.summary.id} takes it out, then export again"
        )
    payload = encode_canonical(
        {
            "format": FORMAT,
            "session": stored.summary.id,
            "exported_ms": exported_ms,
            "records": [_describe_record(*pair) for pair in zip(stored.chain, texts, strict=True)],
            "redactions": [_describe_redaction(entry) for entry in stored.redactions],
        }
    )
    return sign(payload, key)


def sign(payload: bytes, key: SigningKey) -> bytes:
    """The payload in a COSE_Sign1 message, signed with the key. Its headers are all protected."""
    protected = cbor2.dumps({_ALGORITHM: _EDDSA, _CONTENT: CONTENT_TYPE, _KEY_ID: key.key_id}, canonical=True)
    signature = key.sign(cbor2.dumps(["Signature1", protected, b"", payload], canonical=True))
    return cbor2.dumps(cbor2.CBORTag(_COSE_SIGN1, [protected, {}, payload, signature]), canonical=True)


def _describe_record(record: ChainedRecord, payload: str) -> JsonObject:
    return {
        "seq": record.seq,
        "at_ms": record.at_ms,
        "type": record.type,
        "payload": payload,
        "salt": record.salt.hex(),
        "digest": record.digest.hex(),
        "link": record.link.hex(),
        "redaction": None if record.redaction is None else record.redaction.hex(),
    }


def _describe_redaction(entry: RedactionEntry) -> JsonObject:
    return {
        "seq": entry.seq,
        "at_ms": entry.at_ms,
        "record_seq": entry.record_seq,
        "record_link": entry.record_link.hex(),
        "before": entry.before.hex(),
        "after": entry.after.hex(),
        "link": entry.link.hex(),
    }


_PARTS = Path(__file__).parent / "page"
_SCRIPTS = ("verifier.js", "transcript.js", "page.js")
_DIGEST_PLACE = "@SHELL_DIGEST@"
_BEFORE_SCRIPT = (
    "This page could not check what is in it, so it shows nothing. Open the file in a current browser with "
    "scripts allowed. If that changes nothing, the file was damaged or changed: do not rely on it."
)


def render_shared_page(evidence: bytes, public_hex: str) -> bytes:
    """The page with a signed export, `evidence`, and the public key of whoever signed it."""
    style = _read_part("page.css")
    script = "\n".join(map(_read_part, _SCRIPTS)).replace(_DIGEST_PLACE, _hash(_describe_shell()))
    policy = (
        f"default-src 'none'; script-src 'sha256-{_hash(script)}'; style-src 'sha256-{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    page = _render(policy, style, public_hex, b64encode(evidence).decode("ascii"), script, ends=("", ""))
    return f"<!DOCTYPE html>\n{page}".encode()


def render_check_code(stored: StoredSession, public_hex: str) -> str:
    """What shows that the whole session is there and who signed it; it has to go another way than the page."""
    head = stored.chain[-1].link if stored.chain else NO_LINK
    return f"{public_hex}-{head.hex()}"


def _read_part(name: str) -> str:
    text = (_PARTS / name).read_text(encoding="utf-8")
    assert "</script" not in text.lower()
    assert "</style" not in text.lower()
    return text


def _hash(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode("ascii")


def _describe_shell() -> str:
    """What the script compares the page around it with: how it was parsed, and all of it but what varies."""
    shell = _render("", "", "", "", "", ends=("</head>", "</body></html>"))
    return f"CSS1Compat UTF-8 {shell}"


def _render(
    policy: str, style: str, public_hex: str, evidence: str, script: str, *, ends: tuple[str, str]
) -> str:
    """The page, written as browsers write the document that they read from it, with these `ends` of its
    head and body. The file has none: whatever a byte of them becomes, browsers read the same document."""
    of_head, of_body = ends
    return (
        '<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Shared session</title><style>{style}</style>{of_head}"
        f'<body><p id="unchecked">{_BEFORE_SCRIPT}</p>'
        f'<script type="application/octet-stream" id="evidence" data-key="{public_hex}">{evidence}</script>'
        f"<script>{script}</script>{of_body}"
    )

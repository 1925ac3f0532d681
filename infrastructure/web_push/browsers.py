"""The browsers that want to be told, and the key of the server: a file of the person's alone.

Sources: RFC 8291 (encryption), RFC 8188 (`aes128gcm`), RFC 8292 (VAPID).
"""

from __future__ import annotations

import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from msgspec import Meta, Struct, field

from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.files.private_file import OwnFile

AUTH_BYTES = 16
MOST_BYTES = 3_000
"""Of a message: services need to take no more than 4096 bytes of what is made of it."""
_CURVE = ec.SECP256R1()
_NUMBER_BYTES = 32
_SALT_BYTES = 16
_RECORD_BYTES = 4096
_LAST_RECORD = b"\x02"
_VALID_SECS = 12 * 60 * 60
"""A service refuses more than a day."""


def encode_base64(data: bytes) -> str:
    """Base64 for addresses, without padding, as all of web push writes it."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_base64(text: str) -> bytes:
    """Raises ValueError."""
    return urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))


def encode_point(key: ec.EllipticCurvePublicKey) -> bytes:
    """A public key as web push writes it: 65 bytes."""
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def check_browser_keys(p256dh: str, auth: str) -> None:
    """Raise ValueError for what are no keys of a subscription."""
    ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, decode_base64(p256dh))
    if len(decode_base64(auth)) != AUTH_BYTES:
        raise ValueError("the secret of the subscription has another length")


def encrypt(message: bytes, p256dh: str, auth: str) -> bytes:
    """The body of a request to the push service, for the browser with these keys, in one record."""
    if len(message) > MOST_BYTES:
        raise ValueError(f"a message has at most {MOST_BYTES} bytes")
    theirs, own = decode_base64(p256dh), ec.generate_private_key(_CURVE)
    point = encode_point(own.public_key())
    shared = own.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, theirs))
    secret = _derive(decode_base64(auth), shared, b"WebPush: info\0" + theirs + point, 32)
    salt = os.urandom(_SALT_BYTES)
    key = _derive(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derive(salt, secret, b"Content-Encoding: nonce\0", 12)
    sealed = AESGCM(key).encrypt(nonce, message + _LAST_RECORD, None)
    return salt + _RECORD_BYTES.to_bytes(4, "big") + bytes([len(point)]) + point + sealed


def _derive(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt, info).derive(secret)


class ServerKey:
    """The key by which push services know this server. `number` is the private one, in hexadecimal."""

    def __init__(self, number: str) -> None:
        self._key = ec.derive_private_key(int(number, 16), _CURVE)

    @staticmethod
    def generate() -> str:
        """The number of a new key."""
        return f"{ec.generate_private_key(_CURVE).private_numbers().private_value:064x}"

    @property
    def public(self) -> str:
        """What browsers subscribe with."""
        return encode_base64(encode_point(self._key.public_key()))

    def authorize(self, origin: str, contact: str, now_secs: float) -> str:
        """The header `Authorization` for a push service at this origin. `contact` is an address of whoever
        sends, empty where there is none."""
        claims: dict[str, object] = {"aud": origin, "exp": int(now_secs) + _VALID_SECS}
        if contact:
            claims["sub"] = contact
        signed = ".".join(
            encode_base64(json.dumps(part, separators=(",", ":")).encode())
            for part in ({"typ": "JWT", "alg": "ES256"}, claims)
        )
        numbers = decode_dss_signature(self._key.sign(signed.encode(), ec.ECDSA(SHA256())))
        signature = b"".join(number.to_bytes(_NUMBER_BYTES, "big") for number in numbers)
        return f"vapid t={signed}.{encode_base64(signature)}, k={self.public}"


FILE_NAME = "web-push.json"
_MOST_BROWSERS = 20
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Browser(Struct, frozen=True, kw_only=True):
    """The subscription of a browser. `endpoint` is an address at its push service; whoever knows it and the
    keys can send to it. `origin` is where the person subscribed."""

    endpoint: Annotated[str, Meta(max_length=2000)]
    p256dh: Annotated[str, Meta(max_length=200)]
    auth: Annotated[str, Meta(max_length=100)]
    origin: str = ""

    @property
    def service(self) -> str:
        """The origin of the push service."""
        parts = urlsplit(self.endpoint)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def contact(self) -> str:
        """What a push service may be told about whoever sends."""
        return self.origin if self.origin.startswith("https://") else ""

    def find_problem(self) -> str:
        """Why nothing can be sent to it, as a clause; empty where it can."""
        try:
            msgspec.convert(msgspec.to_builtins(self), Browser)  # else it could be kept, but not read again
            parts = urlsplit(self.endpoint)
            is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
            check_browser_keys(self.p256dh, self.auth)
        except ValueError:
            return "its address or its keys cannot be read"
        return "" if is_safe and parts.hostname else "its push service is not reached over https"


class _KeptBrowsers(Struct, frozen=True, kw_only=True):
    key: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] = field(default_factory=ServerKey.generate)
    browsers: tuple[Browser, ...] = ()


class PushBrowsers:
    """Keeps them. All methods block, and raise ConfigError."""

    def __init__(self, file: Path) -> None:
        self._file = OwnFile(file)

    def find_key(self) -> ServerKey:
        """The key of the server, made where there is none."""
        if not os.path.lexists(self._file.path):
            self._change(lambda content: content)
        return ServerKey(self._read().key)

    def list(self) -> tuple[Browser, ...]:
        """Those that are subscribed."""
        return self._read().browsers if os.path.lexists(self._file.path) else ()

    def add(self, browser: Browser) -> None:
        """Have it told; the oldest of too many gives way."""
        if problem := browser.find_problem():
            raise ConfigError(f"this browser cannot be told: {problem}")

        def add(content: _KeptBrowsers) -> _KeptBrowsers:
            others = [each for each in content.browsers if each.endpoint != browser.endpoint]
            return replace(content, browsers=(*others, browser)[-_MOST_BROWSERS:])

        self._change(add)

    def remove(self, endpoint: str) -> None:
        """Have it told no more."""

        def remove(content: _KeptBrowsers) -> _KeptBrowsers:
            return replace(
                content, browsers=tuple(each for each in content.browsers if each.endpoint != endpoint)
            )

        self._change(remove)

    def _change(self, change: Callable[[_KeptBrowsers], _KeptBrowsers]) -> None:
        def encode() -> str:
            content = self._read() if os.path.lexists(self._file.path) else _KeptBrowsers()
            return msgspec.json.format(msgspec.json.encode(change(content))).decode() + "\n"

        self._file.change(encode)

    def _read(self) -> _KeptBrowsers:
        try:
            return msgspec.json.decode(self._file.path.read_bytes(), type=_KeptBrowsers)
        except OSError as error:
            raise ConfigError(f"{escape_path(self._file.path)} cannot be read: {error.strerror}") from error
        except msgspec.DecodeError as error:
            raise ConfigError(
                f"{escape_path(self._file.path)} is damaged: {error}; remove it, and subscribe browsers again"
            ) from error


def open_push_browsers(environ: Mapping[str, str]) -> PushBrowsers | None:
    """Those of this person; None where there is no home folder."""
    state = locate_state_folder(environ)
    return PushBrowsers(state / FILE_NAME) if state is not None else None

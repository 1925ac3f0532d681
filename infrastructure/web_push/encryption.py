"""What a push service gets: a message that only the browser can read, and who sends it.

Sources: RFC 8291 (encryption), RFC 8188 (`aes128gcm`), RFC 8292 (VAPID).
"""

from __future__ import annotations

import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

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

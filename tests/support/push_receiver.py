"""A push service on loopback (RFC 8030) and the browser behind it, which reads what it is sent (RFC 8291)."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from quorum.infrastructure.web_push.browsers import decode_base64, encode_base64


def read_message(body: bytes, key: ec.EllipticCurvePrivateKey, auth: bytes) -> bytes:
    """The message in a body of one record. Raises InvalidTag where it is for another browser."""
    salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
    sender, sealed = body[21 : 21 + length], body[21 + length :]
    assert len(sealed) <= size
    shared = key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))
    own = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    secret = HKDF(hashes.SHA256(), 32, auth, b"WebPush: info\0" + own + sender).derive(shared)
    content_key = HKDF(hashes.SHA256(), 16, salt, b"Content-Encoding: aes128gcm\0").derive(secret)
    nonce = HKDF(hashes.SHA256(), 12, salt, b"Content-Encoding: nonce\0").derive(secret)
    padded = AESGCM(content_key).decrypt(nonce, sealed, None).rstrip(b"\0")
    assert padded.endswith(b"\2")
    return padded[:-1]


def read_claims(authorization: str, now_secs: float) -> tuple[dict[str, Any], str]:
    """The claims of VAPID (RFC 8292), whose signature holds and which are in force, and the public key."""
    scheme, _, rest = authorization.partition(" ")
    assert scheme == "vapid"
    fields = dict(part.strip().split("=", 1) for part in rest.split(","))
    signed, _, signature = fields["t"].rpartition(".")
    head, claims = (json.loads(decode_base64(part)) for part in signed.split("."))
    assert head == {"typ": "JWT", "alg": "ES256"}
    raw = decode_base64(signature)
    numbers = (int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decode_base64(fields["k"]))
    public.verify(utils.encode_dss_signature(*numbers), signed.encode(), ec.ECDSA(hashes.SHA256()))
    assert now_secs < claims["exp"] <= now_secs + 24 * 60 * 60
    return claims, fields["k"]


class PushReceiver:
    """Takes messages for one browser, each answered with this status, and a body that `never_ends` or none."""

    def __init__(self, status: str = "201 Created", *, never_ends: bool = False) -> None:
        self.status, self._never_ends = status, never_ends
        self.messages: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self.claims: list[tuple[dict[str, Any], str]] = []
        self._key, self._auth = ec.generate_private_key(ec.SECP256R1()), b"0123456789abcdef"

    @property
    def subscription(self) -> dict[str, str]:
        """What the browser gives to the server."""
        point = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return {
            "endpoint": f"{self.origin}/push/a-browser",
            "p256dh": encode_base64(point),
            "auth": encode_base64(self._auth),
        }

    async def __aenter__(self) -> PushReceiver:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.origin = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers["content-length"]))
        assert first == "POST /push/a-browser HTTP/1.1"
        self.headers.append(headers)
        self.bodies.append(body)
        self.claims.append(read_claims(headers["authorization"], time.time()))
        self.messages.append(json.loads(read_message(body, self._key, self._auth)))
        length = 1_000_000 if self._never_ends else 0
        head = f"HTTP/1.1 {self.status}\r\nContent-Length: {length}\r\nLocation: /message/1\r\n\r\n"
        writer.write(head.encode())
        await writer.drain()
        if self._never_ends:
            await reader.read()
        writer.close()

"""The certificates with which the proxy opens the TLS of a command: of an authority that only commands of this
session are told to trust, and whose key never leaves this process."""

from __future__ import annotations

import datetime
import os
import ssl
from functools import lru_cache

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_AUTHORITY_DAYS = 3650  # the key is gone with the process
_HOST_DAYS = 365
_MOST_HOSTS = 500
HTTP_1 = ["http/1.1"]


class SessionAuthority:
    """Makes a key at once. May be used from any thread."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("quorum: this session only")
        self._certificate = self._sign(self._name, self._key.public_key(), host=None)
        self.make_context = lru_cache(_MOST_HOSTS)(self._make_context)
        """What serves as a host, for those who trust this authority."""

    @property
    def pem(self) -> bytes:
        """Its certificate."""
        return self._certificate.public_bytes(Encoding.PEM)

    def _make_context(self, host: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign(_name("quorum"), key.public_key(), host=host)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.set_alpn_protocols(HTTP_1)
        memory = os.memfd_create("certificate", os.MFD_CLOEXEC)  # the module loads it from files only
        try:
            os.write(memory, certificate.public_bytes(Encoding.PEM))
            os.write(memory, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
            context.load_cert_chain(f"/proc/self/fd/{memory}")
        finally:
            os.close(memory)
        return context

    def _sign(self, subject: x509.Name, key: ec.EllipticCurvePublicKey, host: str | None) -> x509.Certificate:
        is_authority = host is None
        now = datetime.datetime.now(datetime.UTC)
        days = _AUTHORITY_DAYS if is_authority else _HOST_DAYS
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=days))
            .add_extension(
                x509.BasicConstraints(ca=is_authority, path_length=0 if is_authority else None), critical=True
            )
            .add_extension(_make_usage(is_authority=is_authority), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
        )
        if host is not None:
            names = x509.SubjectAlternativeName([x509.DNSName(host)])
            usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
            builder = builder.add_extension(names, critical=False).add_extension(usage, critical=False)
        return builder.sign(self._key, SHA256())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _make_usage(*, is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not is_authority,
        key_cert_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )

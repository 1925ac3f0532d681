"""Public keys of SSH: one key is one key, however it is written."""

from __future__ import annotations

import base64
import shutil
import subprocess
from pathlib import Path

import pytest

from quorum.domain.review.people import find_fingerprint

KIND, BLOB = "ssh-ed25519", "AAAAC3NzaC1lZDI1NTE5AAAAIOa9tupNBz5NSsgvs6JqNSq8R7U3Dzn5/GsDL0oxpwM5"
ADA = f"{KIND} {BLOB}"


def write_key(kind: str, *parts: bytes) -> str:
    blob = b"".join(len(part).to_bytes(4) + part for part in (kind.encode(), *parts))
    return f"{kind} {base64.b64encode(blob).decode()}"


RSA = write_key("ssh-rsa", b"\x01\x00\x01", b"\x00" + b"\x9a" * 256)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ADA, f"{ADA} ada@laptop"),
        (ADA, f"  {KIND}\t{BLOB}  another comment "),
        (ADA, f"{ADA}="),
        (ADA, f"{ADA}=== ada"),
        (RSA, RSA.rstrip("=")),
        (RSA, write_key("ssh-rsa", b"\x00\x00\x01\x00\x01", b"\x00" + b"\x9a" * 256)),
        (RSA, write_key("ssh-rsa", b"\x01\x00\x01", b"\x00" * 4 + b"\x9a" * 256)),
        (RSA, write_key("ssh-rsa", b"\x01\x00\x01", b"\x9a" * 256)),
    ],
)
def test_one_key_has_one_fingerprint_however_it_is_written(one: str, other: str) -> None:
    assert find_fingerprint(one) == find_fingerprint(other) != ""


def test_other_keys_have_other_fingerprints() -> None:
    keys = [
        ADA,
        ADA[:-1] + "4",
        RSA,
        write_key("ssh-rsa", b"\x03", b"\x00" + b"\x9a" * 256),
        write_key("sk-ssh-ed25519@openssh.com", b"\x00" * 32, b"ssh:"),
        write_key("sk-ssh-ed25519@openssh.com", b"\x00" * 31, b"ssh:"),
    ]

    assert len({find_fingerprint(key) for key in keys}) == len(keys)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ada",
        KIND,
        f"{KIND} {BLOB[:-4]}",
        f"{KIND} {'A' * 68}",
        f"{KIND} {BLOB}!",
        f"{KIND} {BLOB[:20]} {BLOB[20:]}",
        f"ssh-rsa {BLOB}",
        write_key("ssh-ed25519-cert-v01@openssh.com", b"nonce", b"\x01" * 32),
    ],
)
def test_what_is_no_key_has_none(text: str) -> None:
    assert find_fingerprint(text) == ""


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa"])
@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_it_is_the_fingerprint_that_ssh_keygen_prints(tmp_path: Path, kind: str) -> None:
    words = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(tmp_path / "id")]
    subprocess.run(words, check=True, timeout=60)
    printed = subprocess.run(
        ["ssh-keygen", "-lf", str(tmp_path / "id.pub")], check=True, capture_output=True, timeout=60
    ).stdout.decode()

    assert find_fingerprint((tmp_path / "id.pub").read_text()) == printed.split()[1]

"""`quorum sessions export --signed`: a session for somebody who checks it without quorum."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.errors import UsageError, complain
from quorum.infrastructure.extras import is_installed, render_install_command
from quorum.infrastructure.secrets.key_ring import KeyRing

if TYPE_CHECKING:
    from collections.abc import Callable

    from quorum.application.ports.storage import SessionArchive

_OTHERWISE = "quorum keeps the signing key in a file of its state folder"


async def write_signed_export(
    session_id: str, file: Path, archive: SessionArchive, mask: Callable[[str], str]
) -> int:
    """Write the signed export of a session; always 0. The public key is printed on stdout.

    Raises ConfigError for a signing key that cannot be used, LedgerError for a session that cannot be
    signed, and UsageError.
    """
    if not (is_installed("cbor2") and is_installed("cryptography")):
        raise UsageError(f"a signed export needs: {render_install_command('audit')}")
    from quorum.infrastructure.audit.signed_export import export_signed
    from quorum.infrastructure.audit.signing_key import load_signing_key

    stored = await archive.read_stored(session_id)
    key = await asyncio.to_thread(load_signing_key, os.environ, KeyRing(otherwise=_OTHERWISE))
    data = export_signed(stored, key, mask=mask, exported_ms=time.time_ns() // 1_000_000)
    try:
        await asyncio.to_thread(file.write_bytes, data)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}; name another file with -o") from error
    complain([f"{file}: {len(stored.chain):,} records, signed with the key in {key.place}; its public key:"])
    print(key.public_hex)
    return 0

"""What the last proof of the sandbox found, kept in the state folder.

It speaks of this machine, this version of its system and this code of ours, and of no other."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from quorum.application.whole_file import write_whole_file
from quorum.infrastructure.config.paths import locate_state_folder

_FILE = "sandbox-proof.json"
REMEDY = "run `quorum doctor --prove`"


class ProofRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`broken` are the names of what did not hold or was not shown; `code` is a digest of what makes the
    sandbox."""

    machine: str
    system: str
    code: str
    broken: tuple[str, ...] = ()

    @classmethod
    def of_now(cls, broken: Sequence[str] = ()) -> ProofRecord:
        """One that speaks of this machine as it is."""
        system = " ".join((platform.system(), platform.release(), platform.version(), platform.mac_ver()[0]))
        return cls(machine=platform.node(), system=system.strip(), code=_compute_digest(), broken=tuple(broken))


def keep_proof(broken: Sequence[str], environ: Mapping[str, str]) -> bool:
    """In place of what was found before; False where there is no place for it. Raises OSError."""
    if (path := _locate(environ)) is None:
        return False
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_whole_file(path, msgspec.json.encode(ProofRecord.of_now(broken)) + b"\n", replaces=True)
    return True


def find_proof(environ: Mapping[str, str]) -> ProofRecord | None:
    """What was found here; None where nothing was, or nothing that speaks of this machine as it is."""
    path = _locate(environ)
    try:
        record = msgspec.json.decode(path.read_bytes(), type=ProofRecord) if path is not None else None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):  # it is made anew
        return None
    return record if record is not None and record == ProofRecord.of_now(record.broken) else None


def explain_missing_proof(environ: Mapping[str, str]) -> str:
    """Why the sandbox is not known to hold on this machine, a clause; empty where it is."""
    if (record := find_proof(environ)) is None:
        return "the sandbox was not proven on this machine, in this version of it and of quorum"
    if record.broken:
        return f"the sandbox does not hold on this machine: {', '.join(record.broken)}"
    return ""


def _locate(environ: Mapping[str, str]) -> Path | None:
    state = locate_state_folder(environ)
    return state / _FILE if state is not None else None


def _compute_digest() -> str:
    """Over the code that starts and confines commands."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{os.path.relpath(path, Path(__file__).parents[1])} {len(content)}\n".encode() + content)
    return digest.hexdigest()

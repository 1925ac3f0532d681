"""What a tool says a call will touch, measured before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from domain.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedFile:
    """A file as it was when the packet was made. `sha256` is None where there was no file."""

    path: str
    sha256: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """What a tool says a call will touch, measured now.

    `diff` is the full unified diff of a file edit. `executables` are the programs a command names, resolved;
    `environment` is what the command's environment adds to ours or takes away (None).
    `unsealed` says in words what a seal cannot hold, such as the further effects of a command; `sandbox` what
    keeps them in bounds, or why nothing does, and None for a call that starts no process.
    `projected` is the content each written file will have, for sealing later calls of the same batch.
    It follows from the rest and stays out of the digest.
    """

    cwd: str
    files: tuple[SealedFile, ...] = ()
    diff: str | None = None
    executables: tuple[str, ...] = ()
    environment: Mapping[str, str | None] = field(default_factory=dict)
    unsealed: str | None = None
    sandbox: str | None = None
    projected: Mapping[str, bytes] = field(default_factory=dict, compare=False, repr=False)

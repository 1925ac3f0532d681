"""What a tool says a call will touch, measured before it runs."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field


class SealedFile(Struct, frozen=True, kw_only=True):
    """A file as it was when the packet was made. `sha256` is None where there was no file."""

    path: str
    sha256: str | None


class Seal(Struct, frozen=True, kw_only=True, eq=False):
    """What a tool says a call will touch, measured now.

    `diff` is the full unified diff of a file edit. `executables` are the programs a command names, resolved;
    `environment` is what the command's environment adds to ours or takes away (None).
    `unsealed` says in words what a seal cannot hold, such as the further effects of a command; `sandbox` what
    keeps them in bounds, or why nothing does, and None for a call that starts no process.
    `folders` are those that a write makes because they are missing, outermost first.
    `projected` is the content each written file will have, for sealing later calls of the same batch.
    It follows from the rest and stays out of the digest and of comparisons, as does `opened`: folders that the
    call is let into, in which changes are expected.
    """

    cwd: str
    files: tuple[SealedFile, ...] = ()
    folders: tuple[str, ...] = ()
    diff: str | None = None
    executables: tuple[str, ...] = ()
    environment: Mapping[str, str | None] = field(default_factory=dict)
    unsealed: str | None = None
    sandbox: str | None = None
    projected: Mapping[str, bytes] = field(default_factory=dict)
    opened: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Seal) and all(
            getattr(self, name) == getattr(other, name)
            for name in self.__struct_fields__
            if name not in ("projected", "opened")
        )

    def __ne__(self, other: object) -> bool:  # a struct has its own, which does not ask `__eq__`
        return not self == other

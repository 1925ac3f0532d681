"""The sealed packet: exactly what a review is about, in one canonical form with one digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from domain.json_value import JsonObject, JsonValue

if TYPE_CHECKING:
    from domain.execution import ToolExecutionContext
    from domain.tool import ToolCall


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
    `unsealed` says in words what a seal cannot hold, such as the further effects of a command.
    `projected` is the content each written file will have, for sealing later calls of the same batch.
    It follows from the rest and stays out of the digest.
    """

    cwd: str
    files: tuple[SealedFile, ...] = ()
    diff: str | None = None
    executables: tuple[str, ...] = ()
    environment: Mapping[str, str | None] = field(default_factory=dict)
    unsealed: str | None = None
    projected: Mapping[str, bytes] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPacket:
    """One call, sealed for review. Person, models and executor see this and nothing else."""

    call: ToolCall
    context: ToolExecutionContext
    seal: Seal

    def canonical(self) -> str:
        """The packet as canonical JSON: sorted keys, no spaces, no escapes beyond JSON's own."""
        return json.dumps(self._as_json(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical form, in hexadecimal."""
        return hashlib.sha256(self.canonical().encode("utf-8", "surrogatepass")).hexdigest()

    def _as_json(self) -> JsonObject:
        files: list[JsonValue] = [{"path": f.path, "sha256": f.sha256} for f in self.seal.files]
        return {
            "version": 1,
            "tool": self.call.tool_name,
            "arguments": self.call.arguments,
            "context": {
                "call_id": self.context.call_id,
                "batch_id": self.context.batch_id,
                "call_index": self.context.call_index,
                "turn_index": self.context.turn_index,
            },
            "cwd": self.seal.cwd,
            "files": files,
            "diff": self.seal.diff,
            "executables": self.seal.executables,
            "environment": dict(self.seal.environment),
            "unsealed": self.seal.unsealed,
        }

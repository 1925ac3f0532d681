"""The sealed packet: exactly what a review is about, in one canonical form with one digest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from domain.calls.execution import ToolExecutionContext
from domain.calls.seal import Seal
from domain.calls.tool import ToolCall
from domain.text.json_value import JsonObject, JsonValue


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
            "sandbox": self.seal.sandbox,
        }

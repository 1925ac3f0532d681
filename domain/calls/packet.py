"""The sealed packet: exactly what a review is about, in one canonical form with one digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct, field

from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.tool import ToolCall
from quorum.domain.calls.tool_traits import CallEffect
from quorum.domain.text.json_value import JsonObject, JsonValue


class ReviewPacket(Struct, frozen=True, kw_only=True, dict=True):
    """One call, sealed for review. Person, models and executor see this and nothing else.

    `asked_by` names the subagent whose call it is; it is empty where the person's own agent asks.
    It is not changed once it is made, nor are the arguments that it holds: its digest is computed once.
    """

    call: ToolCall
    context: ToolExecutionContext
    seal: Seal
    asked_by: str = ""

    def to_canonical_json(self) -> str:
        """The packet as canonical JSON: sorted keys, no spaces, no escapes beyond JSON's own."""
        return json.dumps(self._as_json(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical form, in hexadecimal."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        return hashlib.sha256(self.to_canonical_json().encode("utf-8", "surrogatepass")).hexdigest()

    @cached_property
    def content_digest(self) -> str:
        """SHA-256 of the same without its place in the session: of what would run, and with what."""
        content = {key: value for key, value in self._as_json().items() if key != "context"}
        text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def to_json(self) -> JsonObject:
        """The packet as a JSON object, the keys of all its objects in the order of the canonical form."""
        return {key: _sort_keys(value) for key, value in sorted(self._as_json().items())}

    @staticmethod
    def sort_into_fields(packet: JsonObject) -> JsonObject:
        """What `to_json` made, by the fields of the class; digest and canonical form stay what they were."""
        context = packet.get("context")
        called = {
            "native_id": context.get("call_id") if isinstance(context, Mapping) else None,
            "arguments": packet.get("arguments"),
            "tool_name": packet.get("tool"),
        }
        measured = {key: value for key, value in packet.items() if key != "projected"}
        return {
            "call": called,
            "context": context,
            "seal": measured,
            "asked_by": packet.get("asked_by", ""),
        }

    def _as_json(self) -> JsonObject:
        files: list[JsonValue] = [{"path": f.path, "sha256": f.sha256} for f in self.seal.files]
        asked_by: JsonObject = {"asked_by": self.asked_by} if self.asked_by else {}
        folders: JsonObject = {"folders": list(self.seal.folders)} if self.seal.folders else {}
        return {
            **asked_by,
            **folders,
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


def _sort_keys(value: JsonValue) -> JsonValue:
    match value:
        case Mapping():
            return {key: _sort_keys(item) for key, item in sorted(value.items())}
        case list() | tuple():
            return [_sort_keys(item) for item in value]
        case _:
            return value


class ProposedCall(Struct, frozen=True, kw_only=True):
    """One call as another agent would make it.

    `tool` and `arguments` are in our own terms, so that rules, guards and hooks see what they see in a session;
    `caller_tool` is the caller's name of the tool. `cwd` is the absolute folder that relative paths and
    commands start in, which the caller's model may choose. `environment` is what its commands get, as far as
    that is known. `folder_doubt` is why a command may run in another folder, empty where it does not.
    `is_typed_into` says that the caller may type into it, and asks nobody about that. `task` is what the person
    asked the caller for, where the caller says so. `shell_text` is what reads like a command in the arguments
    of a tool that is no shell: it is looked at as one. `is_known` is false for a tool of which
    nothing is known.
    """

    tool: str
    arguments: JsonObject
    effect: CallEffect
    caller_tool: str
    cwd: str
    environment: Mapping[str, str] = field(default_factory=dict)
    folder_doubt: str = ""
    is_typed_into: bool = False
    task: str = ""
    shell_text: str | None = None
    is_known: bool = True

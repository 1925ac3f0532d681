"""Calls that the person approved in a session, as far as rules can be learnt from them."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from quorum.domain.review.permissions import COMMAND_TOOL, WRITERS
from quorum.domain.text.json_value import JsonObject

_LONGEST_COMMAND = 1_000
# Approvals of these say nothing about the same command run as usual.
_UNUSUAL = ("background", "outside_sandbox", "opens_git")


class GitApproval(Struct, frozen=True, kw_only=True):
    """The person let commands of this session write to the `.git` of this workspace, an absolute path."""

    session_id: str
    workspace: str


class ApprovedCall(Struct, frozen=True, kw_only=True):
    """A call that the person approved and that ran: its shell text, or the canonical paths it wrote."""

    tool: str
    command: str | None = None
    written: frozenset[str] = frozenset()

    @classmethod
    def of(cls, tool: str, arguments: JsonObject, written: Collection[str]) -> ApprovedCall | None:
        """The call as far as it counts; None for one that no rule is learnt from."""
        if tool in WRITERS and written:
            return cls(tool=tool, written=frozenset(written))
        command = arguments.get("command")
        if tool != COMMAND_TOOL or not isinstance(command, str) or len(command) > _LONGEST_COMMAND:
            return None
        if any(arguments.get(name, False) is not False for name in _UNUSUAL):
            return None
        return cls(tool=tool, command=command)

"""A call that another agent would make, in the words of our own tools."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from quorum.domain.text.json_value import JsonObject


class CallEffect(StrEnum):
    """What a call of another agent does, as far as its tool tells.

    COMMAND runs a shell command, WRITE and EDIT change one file, PATCH may change several, READ shows a file,
    SEARCH shows lines of files below a folder, LIST shows names; NOTE changes the caller's own notes and
    nothing else. OTHER is everything that is not known.
    """

    COMMAND = "command"
    WRITE = "write"
    EDIT = "edit"
    PATCH = "patch"
    READ = "read"
    SEARCH = "search"
    LIST = "list"
    NOTE = "note"
    OTHER = "other"


class ProposedCall(Struct, frozen=True, kw_only=True):
    """One call as another agent would make it.

    `tool` and `arguments` are in our own terms, so that rules, guards and hooks see what they see in a session;
    `caller_tool` is the caller's name of the tool. `cwd` is the absolute folder that relative paths and
    commands start in, which the caller's model may choose. `environment` is what its commands get, as far as
    that is known. `folder_doubt` is why a command may run in another folder, empty where it does not. `task` is
    what the person asked the caller for, where the caller says so. `shell_text` is what reads like a command in
    the arguments of a tool that is no shell: it is looked at as one. `is_known` is false for a tool of which
    nothing is known.
    """

    tool: str
    arguments: JsonObject
    effect: CallEffect
    caller_tool: str
    cwd: str
    environment: Mapping[str, str] = field(default_factory=dict)
    folder_doubt: str = ""
    task: str = ""
    shell_text: str | None = None
    is_known: bool = True

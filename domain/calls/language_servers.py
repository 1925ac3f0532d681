"""What people see of the language servers of a session."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class LanguageServerState(StrEnum):
    """Whether a server does its work."""

    NOT_STARTED = "not started"
    STARTING = "starting"
    RUNNING = "running"
    FAILED = "failed"


class LanguageServerStatus(Struct, frozen=True, kw_only=True):
    """One server. `problem` is why it failed last, empty where it did not; `errors` and `warnings` count what
    it says of the files that it was asked about."""

    name: str
    command: str
    languages: tuple[str, ...]
    state: LanguageServerState
    version: str = ""
    problem: str = ""
    errors: int = 0
    warnings: int = 0

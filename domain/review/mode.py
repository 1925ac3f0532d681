"""The review mode: how what no rule decided is resolved."""

from __future__ import annotations

from enum import StrEnum


class Mode(StrEnum):
    """How what no rule decided is resolved.

    READ_ONLY denies what is risky, ASK asks about it, ACCEPT_EDITS lets edits inside the workspace run, QUORUM
    lets run what the models approve, AUTO lets everything run.
    """

    READ_ONLY = "read-only"
    ASK = "ask"
    ACCEPT_EDITS = "accept-edits"
    QUORUM = "quorum"
    AUTO = "auto"

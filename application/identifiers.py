"""Identifiers that sort by time and are never used twice: UUIDs of version 7 (RFC 9562, section 5.7)."""

from __future__ import annotations

import secrets
import threading
import time
import uuid

_lock = threading.Lock()
_last_ms = 0
_sequence = 0


def generate_id() -> str:
    """A UUIDv7 in its usual spelling, greater than every one this process made before."""
    global _last_ms, _sequence
    with _lock:
        now = time.time_ns() // 1_000_000
        if now > _last_ms:
            _last_ms, _sequence = now, secrets.randbits(11)
        else:  # same millisecond, or a clock that went backwards
            _sequence += 1
            if _sequence >= 1 << 12:
                _last_ms, _sequence = _last_ms + 1, 0
        stamp, sequence = _last_ms, _sequence
    value = (stamp << 80) | (0x7 << 76) | (sequence << 64) | (0b10 << 62) | secrets.randbits(62)
    return str(uuid.UUID(int=value))

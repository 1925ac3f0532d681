"""When something in the file system came into being, which Python does not tell on Linux."""

from __future__ import annotations

import ctypes
import os
import struct
from functools import cache

_NOFOLLOW = 0x100
_BIRTH_TIME = 0x800
_ANSWER_BYTES = 256
_PLACE = 80  # of the time in the answer, which begins with a mask of what it holds
_SECOND_NS = 1_000_000_000


def read_birth_time(name: str, folder: int) -> int | None:
    """The birth time, in nanoseconds, of what stands in a folder, given by its descriptor. No link is followed.

    None where the system or the file system does not keep it, and where nothing stands there.
    """
    ask = _load()
    answer = ctypes.create_string_buffer(_ANSWER_BYTES)
    if ask is None or ask(folder, os.fsencode(name), _NOFOLLOW, _BIRTH_TIME, answer) != 0:
        return None
    (mask,) = struct.unpack_from("=I", answer)
    seconds, rest = struct.unpack_from("=qI", answer, _PLACE)
    return seconds * _SECOND_NS + rest if mask & _BIRTH_TIME else None


@cache
def _load() -> ctypes._NamedFuncPointer | None:
    """The function of the C library; older ones do not have it."""
    try:
        ask = ctypes.CDLL(None).statx
    except AttributeError:
        return None
    ask.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_char_p)
    return ask

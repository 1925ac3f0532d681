"""The event loop of a command."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from quorum.domain.errors import is_out_of_memory

_Result = TypeVar("_Result")


def run_event_loop(main: Coroutine[object, object, _Result]) -> _Result:
    """As `asyncio.run`, which starts a thread in the end to wait for the others. That there is no room for it
    does not change what came of `main`: the interpreter waits for them, too."""
    runner = asyncio.Runner()
    try:
        return runner.run(main)
    finally:
        try:
            runner.close()
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise

"""How a session is closed after its run, which does not change how that ended."""

from __future__ import annotations

from typing import Any, cast

import pytest

from quorum.domain.errors import LedgerError
from quorum.headless.session import close_session

SHORT = RuntimeError("can't start new thread")


class Closing:
    """A session that cannot be closed, and the signals of its run."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def aclose(self) -> None:
        raise self._error

    def ignore(self) -> None:
        """There are none."""


async def close(error: Exception, *, after: Exception | None = None) -> None:
    closing = cast("Any", Closing(error))
    async with close_session(closing, closing):
        if after is not None:
            raise after


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (LedgerError("the disk is full"), "the disk is full"),
        (SHORT, "not enough memory"),
        (MemoryError(), "memory"),
    ],
    ids=repr,
)
async def test_what_is_lost_in_the_end_is_said(
    error: Exception, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await close(error)

    assert said in capsys.readouterr().err


@pytest.mark.parametrize("error", [LedgerError("the disk is full"), SHORT, MemoryError()], ids=repr)
async def test_what_came_before_is_raised(error: Exception) -> None:
    with pytest.raises(ValueError, match="before"):
        await close(error, after=ValueError("before"))


async def test_a_fault_of_our_own_is_raised() -> None:
    with pytest.raises(RuntimeError, match="ours"):
        await close(RuntimeError("ours"))

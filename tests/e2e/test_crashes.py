"""SIGKILL at random instants; `benchmarks/crash.py` does the same a thousand times."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.crash_rig import CrashRig

DEATHS = 6


@pytest.mark.long
async def test_a_session_that_is_killed_again_and_again_loses_nothing_and_does_nothing_twice(
    tmp_path: Path,
) -> None:
    async with CrashRig(tmp_path, seed=7) as rig:
        number = 0
        while rig.deaths < DEATHS:
            await rig.session(number)
            number += 1

    assert rig.deaths >= DEATHS

"""Which waiting decisions somebody has opened."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path

from quorum.infrastructure.seen_decisions import SeenDecisions

DIGEST, OTHER = "a" * 64, "b" * 64


def test_what_was_opened_has_an_age_and_what_was_not_has_an_infinite_one(tmp_path: Path) -> None:
    seen = SeenDecisions(tmp_path / "seen")

    seen.note(DIGEST)
    seen.note("../no-digest")

    assert 0 <= seen.find_age_secs(DIGEST) < 60
    assert seen.find_age_secs(OTHER) == math.inf
    assert os.listdir(tmp_path / "seen") == [DIGEST]


def test_what_was_opened_after_now_counts_as_not_opened_so_that_a_clock_put_back_keeps_nobody_waiting(
    tmp_path: Path,
) -> None:
    seen = SeenDecisions(tmp_path)
    seen.note(DIGEST)
    later = time.time() + 3600
    os.utime(tmp_path / DIGEST, (later, later))

    assert seen.find_age_secs(DIGEST) == math.inf


def test_old_ones_that_cannot_be_removed_keep_none_from_being_noted(tmp_path: Path) -> None:
    (tmp_path / OTHER).mkdir()
    os.utime(tmp_path / OTHER, (0, 0))
    seen = SeenDecisions(tmp_path)

    seen.note(DIGEST)

    assert seen.find_age_secs(DIGEST) < 60


def test_what_another_process_removes_meanwhile_keeps_none_from_being_noted(tmp_path: Path) -> None:
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")  # listed, and not there when it is looked at
    seen = SeenDecisions(tmp_path)

    seen.note(DIGEST)

    assert seen.find_age_secs(DIGEST) < 60

"""Which waiting decisions somebody has opened."""

from __future__ import annotations

import math
import os
from pathlib import Path

from quorum.infrastructure.seen_decisions import SeenDecisions

DIGEST = "5f" * 32


def test_it_is_known_how_long_ago_one_was_opened_also_where_the_clock_was_set_back(tmp_path: Path) -> None:
    seen = SeenDecisions(tmp_path / "seen")
    assert seen.find_age_secs(DIGEST) == math.inf

    seen.note(DIGEST)

    assert seen.find_age_secs(DIGEST) < 60
    os.utime(tmp_path / "seen" / DIGEST, (2**33, 2**33))
    assert seen.find_age_secs(DIGEST) == 0


def test_what_another_process_removes_meanwhile_keeps_none_from_being_noted(tmp_path: Path) -> None:
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")  # listed, and not there when it is looked at
    seen = SeenDecisions(tmp_path)

    seen.note(DIGEST)

    assert seen.find_age_secs(DIGEST) < 60

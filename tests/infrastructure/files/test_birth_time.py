"""The birth time of what stands in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.infrastructure.files.file_metadata import read_birth_time


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def test_it_stays_while_a_file_is_written_and_renamed(tmp_path: Path, folder: int) -> None:
    (tmp_path / "one").write_text("a")
    born_ns = read_birth_time("one", folder)
    if born_ns is None:
        pytest.skip("this system does not keep it")

    (tmp_path / "one").write_text("changed")
    os.utime(tmp_path / "one", (1, 1))
    (tmp_path / "one").rename(tmp_path / "two")

    assert read_birth_time("two", folder) == born_ns
    assert abs(born_ns - tmp_path.stat().st_ctime_ns) < 3600 * 10**9


def test_nothing_has_none(folder: int) -> None:
    assert read_birth_time("missing", folder) is None

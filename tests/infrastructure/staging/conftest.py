"""A bench that every test of layers may have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.infrastructure.staging.layer_bench import LayerBench, open_folders
from tests.support.layer_process import layers

__all__ = ["layers"]


@pytest.fixture
def bench(tmp_path: Path, layers: None) -> Iterator[LayerBench]:
    """A bench with an empty workspace."""
    yield LayerBench(tmp_path.resolve())
    open_folders(tmp_path)

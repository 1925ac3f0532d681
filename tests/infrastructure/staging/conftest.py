"""A bench that every test of layers may have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.infrastructure.staging.layer_bench import LayerBench
from tests.support.layer_process import layers

__all__ = ["layers"]


@pytest.fixture
def bench(tmp_path: Path, layers: None) -> LayerBench:
    """A bench with an empty workspace."""
    return LayerBench(tmp_path.resolve())

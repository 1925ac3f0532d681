from __future__ import annotations

from pathlib import Path

import pytest

from tests.infrastructure.sandbox.sandbox_bench import Household, a_household


@pytest.fixture
def household(tmp_path: Path) -> Household:
    return a_household(tmp_path.resolve())

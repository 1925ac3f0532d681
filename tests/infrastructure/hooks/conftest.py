from pathlib import Path

import pytest

from tests.infrastructure.hooks.hook_bench import Programs


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    return Programs(tmp_path)

"""The settings in the guides can be copied into a file as they stand."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from quorum.infrastructure.config.loading import load_settings
from quorum.infrastructure.config.policy_file import PolicyPlace

DOCS = Path(__file__).parents[3] / "docs"
PYPROJECT = "[project"
POLICY = "managed-policy.md"


def _list_blocks(page: Path) -> list[str]:
    blocks = re.findall(r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [block for block in blocks if not block.startswith(PYPROJECT)]


PAGES = {page.name: blocks for page in sorted(DOCS.glob("*.md")) if (blocks := _list_blocks(page))}


@pytest.mark.parametrize("name", PAGES)
def test_the_settings_of_a_guide_are_taken_without_a_warning(name: str, tmp_path: Path) -> None:
    for block in PAGES[name]:
        file, policy = tmp_path / "quorum.toml", PolicyPlace(tmp_path / "requirements.toml", os.getuid())
        (policy.file if name == POLICY else file).write_text(block, encoding="utf-8")
        file.touch()

        loaded = load_settings(
            cwd=tmp_path, environ={"HOME": str(tmp_path)}, config_file=file, policy_place=policy
        )
        assert loaded.warnings == ()


def test_the_guides_with_settings_are_found() -> None:
    assert {"review.md", "hooks.md", POLICY} <= set(PAGES)

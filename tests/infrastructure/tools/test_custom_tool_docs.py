from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from quorum.infrastructure.config.command_template import CommandTemplate
from quorum.infrastructure.config.loading import load_settings
from quorum.infrastructure.config.tools_table import build_declaration
from quorum.infrastructure.tools.registration import ToolSource, check_tools
from tests.support.builders import a_context

_TEXT = (Path(__file__).parents[3] / "docs/custom-tools.md").read_text(encoding="utf-8")


def _block(language: str, containing: str) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", _TEXT, re.DOTALL)
    return next(block for block in blocks if containing in block)


@pytest.fixture
def documented(tmp_path: Path) -> CommandTemplate:
    file = tmp_path / "quorum.toml"
    file.write_text(_block("toml", "[tools.custom."))
    settings = load_settings(cwd=tmp_path, environ={"HOME": str(tmp_path)}, config_file=file).settings
    declared = build_declaration("run_tests", settings.tools.custom["run_tests"])
    return CommandTemplate(declared.command, declared.parameters)


def test_the_documented_declaration_fills_in_as_documented(documented: CommandTemplate):
    words = documented.fill_words({"failures": 1, "only": "retry", "files": ["a.py", "b c.py"]})

    assert words == ("pytest", "-q", "--maxfail=1", "-k", "retry", "a.py", "b c.py")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path.resolve()


async def test_the_documented_class_is_a_tool(root: Path):
    (root / "a.txt").write_text("one two three")
    module: dict[str, Any] = {}
    exec(_block("python", "class CountWords"), module)

    tool = check_tools([ToolSource("the guide", [module["CountWords"](root)])], cwd=str(root))["count_words"]

    assert await tool.execute({"path": "a.txt"}, a_context()) == "3"
    assert tool.definition.determine_access({"path": "a.txt"}).reads == {str(root / "a.txt")}
    assert tool.definition.determine_access({"path": "../a.txt"}).exclusive


def test_the_documented_entry_point_is_that_of_the_documented_class():
    points = tomllib.loads(_block("toml", "entry-points"))["project"]["entry-points"]["quorum.tools"]

    assert points == {"words": "my_tools:CountWords"}

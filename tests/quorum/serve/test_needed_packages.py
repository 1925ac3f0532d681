"""What `quorum serve` needs before it serves anything: the packages of its extra, and room for layers."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from quorum.command_line.reading import parse
from quorum.errors import UsageError
from quorum.infrastructure import extras

ROOT = Path(__file__).parents[3]
NEEDED = [
    requirement.partition(">")[0].replace("-", "_")
    for requirement in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]["serve"]
]


@pytest.mark.parametrize("missing", NEEDED)
def test_without_one_of_its_packages_it_says_how_to_install_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda module: module != missing)
    parsed = parse(("serve", "--address", "nowhere"))
    assert parsed.command.run is not None

    with pytest.raises(UsageError, match="the packages that serve a browser are not installed"):
        parsed.command.run(parsed.options, tmp_path)


def test_where_no_layer_can_be_it_says_so_and_serves_no_apps_in_one() -> None:
    parsed = parse(("serve", "--port", "0", "--mode", "staged"))
    assert parsed.command.run is not None

    with pytest.raises(UsageError, match="no layer can be had: the workspace is the whole file system"):
        parsed.command.run(parsed.options, Path("/"))

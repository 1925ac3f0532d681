"""What a release is made of fits together: version, changelog, metadata and the workflow that builds it."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.version import Version

from quorum.version import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
problems = runpy.run_path(str(ROOT / ".ci" / "check_release.py"))["problems"]
PREFIX = "Programming Language :: Python :: "


def version_file(version: str) -> str:
    return f'"""The version."""\n\n__version__ = "{version}"\n'


def test_a_tag_that_fits_the_version_and_the_changelog_is_released() -> None:
    assert (
        problems("v1.2.3", version_file("1.2.3"), "# Changelog\n\n## Unreleased\n\n## 1.2.3 – 2026-01-01\n")
        == []
    )


@pytest.mark.parametrize(
    ("tag", "version", "changelog", "problem"),
    [
        ("v1.2.4", "1.2.3", "## Unreleased\n## 1.2.3", "expected the tag v1.2.3"),
        ("1.2.3", "1.2.3", "## Unreleased\n## 1.2.3", "expected the tag v1.2.3"),
        ("v1.2.3", "1.2.3", "## Unreleased\n## 1.2.2", "no heading ## 1.2.3"),
        ("v1.2.3", "1.2.3", "## Unreleased\n", "no heading ## 1.2.3"),
        ("v1.2.3", "1.2.3", "## 1.2.3\n", "begin with the heading ## Unreleased"),
        ("v1.2", "1.2", "## Unreleased\n## 1.2", "has no line __version__"),
    ],
)
def test_a_tag_that_does_not_fit_is_refused(tag: str, version: str, changelog: str, problem: str) -> None:
    assert problem in "\n".join(problems(tag, version_file(version), changelog))


def test_the_changelog_has_this_version_or_has_it_still_unreleased() -> None:
    headings = [line.split()[1] for line in CHANGELOG.splitlines() if line.startswith("## ")]

    assert headings[0] == "Unreleased"
    assert headings[1:2] in ([], [__version__]) or Version(headings[1]) < Version(__version__)


def test_the_version_stands_in_one_place() -> None:
    assert "version" in PROJECT["dynamic"]
    assert problems(f"v{__version__}", (ROOT / "quorum" / "version.py").read_text(encoding="utf-8"), "")[0] == (
        "CHANGELOG.md does not begin with the heading ## Unreleased"
    )


def test_the_workflow_installs_the_wheel_on_every_python_that_the_metadata_names() -> None:
    named = [each.removeprefix(PREFIX) for each in PROJECT["classifiers"] if each.startswith(f"{PREFIX}3.")]

    assert WORKFLOW["jobs"]["install"]["strategy"]["matrix"]["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_only_the_job_that_attests_may_write() -> None:
    granted = {name: job["permissions"] for name, job in WORKFLOW["jobs"].items()}

    assert WORKFLOW["permissions"] == {}
    assert [name for name, rights in granted.items() if "write" in rights.values()] == ["attest"]


def build_metadata() -> dict[str, Any]:
    """What the hook adds to the metadata of the distribution."""
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))["RepositoryMetadata"]
    metadata: dict[str, Any] = {}
    hook(str(ROOT), {}).update(metadata)
    return metadata


def test_the_addresses_of_a_release_are_those_of_the_repository_that_builds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REPOSITORY_URL", "https://code.example/who/quorum/")
    metadata = build_metadata()
    readme = metadata["readme"]["text"]

    assert metadata["urls"]["Source"] == "https://code.example/who/quorum"
    assert set(PROJECT["dynamic"]) == {"version", *metadata}
    assert "](https://code.example/who/quorum/blob/HEAD/docs/sandbox.md)" in readme
    assert "](https://code.example/who/quorum/raw/HEAD/docs/images/moving.svg)" in readme
    assert "](docs/" not in readme


def test_without_a_repository_no_address_is_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REPOSITORY_URL", raising=False)
    metadata = build_metadata()

    assert "urls" not in metadata
    assert metadata["readme"]["text"] == (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_workflow_names_its_repository_where_it_builds() -> None:
    (build,) = (step for step in WORKFLOW["jobs"]["build"]["steps"] if "python -m build" in step.get("run", ""))

    assert build["env"]["REPOSITORY_URL"] == "${{ github.server_url }}/${{ github.repository }}"


@pytest.mark.parametrize("file", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda file: file.name)
def test_every_file_for_the_host_is_yaml(file: Path) -> None:
    assert isinstance(yaml.safe_load(file.read_text(encoding="utf-8")), dict)

"""What a release is made of fits together: version, changelog, metadata and the workflow that builds it."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import tarfile
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
RELEASE: dict[str, Any] = runpy.run_path(str(ROOT / ".ci" / "release.py"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
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
    (build,) = (step for step in WORKFLOW["jobs"]["build"]["steps"] if "make release" in step.get("run", ""))

    assert build["env"]["REPOSITORY_URL"] == "${{ github.server_url }}/${{ github.repository }}"


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_every_action_is_pinned_by_the_commit_that_its_comment_names(file: Path) -> None:
    used = re.findall(r"uses: *(.+)", file.read_text(encoding="utf-8"))

    assert used
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[0-9.]+", action), action


@pytest.fixture
def written(tmp_path: Path) -> Path:
    folder = tmp_path / "release"
    files = {"quorum_agent-1.0.0-py3-none-any.whl": b"wheel", "quorum-1.0.0-linux-x86_64": b"program"}
    RELEASE["write"](files, folder)
    return folder


def test_the_checksums_of_a_release_are_those_that_sha256sum_reads(written: Path) -> None:
    check = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    assert subprocess.run(check, cwd=written, capture_output=True, check=False).returncode == 0

    (written / "quorum-1.0.0-linux-x86_64").write_bytes(b"another")
    assert subprocess.run(check, cwd=written, capture_output=True, check=False).returncode == 1


def test_only_the_single_file_can_be_started(written: Path) -> None:
    modes = {file.name: file.stat().st_mode & 0o777 for file in written.iterdir()}

    assert modes["quorum_agent-1.0.0-py3-none-any.whl"] == 0o644
    assert modes["quorum-1.0.0-linux-x86_64"] == 0o755


def test_signed_checksums_are_verified_as_the_guide_says(written: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    RELEASE["sign"](written, key)
    public = key.with_suffix(".pub").read_text(encoding="ascii")
    (written / "allowed_signers").write_text(f"quorum {public}", encoding="ascii")
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^ssh-keygen -Y verify .*$", guide, re.MULTILINE)

    verify = ["sh", "-c", command]
    assert subprocess.run(verify, cwd=written, capture_output=True, check=False).returncode == 0
    with (written / "SHA256SUMS").open("a", encoding="ascii") as sums:
        sums.write("more\n")
    assert subprocess.run(verify, cwd=written, capture_output=True, check=False).returncode != 0


def test_a_release_needs_a_version_that_the_changelog_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.argv", ["release.py", str(tmp_path / "release")])
    main = RELEASE["main"]
    monkeypatch.setitem(main.__globals__, "run_git", lambda *_: b"")
    monkeypatch.setitem(main.__globals__, "ROOT", tmp_path)
    for name in (".ci/check_release.py", "quorum/version.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "CHANGELOG.md").write_text("## Unreleased\n", encoding="utf-8")

    with pytest.raises(SystemExit, match=f"no heading ## {re.escape(__version__)}"):
        main()


def test_a_release_is_built_from_a_commit_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.argv", ["release.py", str(tmp_path / "release")])
    main = RELEASE["main"]
    monkeypatch.setitem(main.__globals__, "run_git", lambda *_: b" M README.md")

    with pytest.raises(SystemExit, match="not committed"):
        main()


@pytest.mark.long
def test_the_wheel_and_the_source_distribution_come_out_the_same_twice(tmp_path: Path) -> None:
    made = []
    for name in "ab":
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path / name)],
            cwd=ROOT,
            env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        made.append({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()})

    assert len(made[0]) == 2
    assert made[0] == made[1]


@pytest.mark.long
def test_a_wheel_that_is_built_from_the_source_distribution_is_the_same(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-d"]
    environ = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run([*build, str(tmp_path / "a")], cwd=ROOT, env=environ, stdout=subprocess.DEVNULL, check=True)
    (packed,) = (tmp_path / "a").glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.glob("quorum_agent-*")
    words = [*build, str(tmp_path / "b"), "-t", "wheel"]
    subprocess.run(words, cwd=unpacked, env=environ, stdout=subprocess.DEVNULL, check=True)

    (direct,), (indirect,) = (tmp_path / "a").glob("*.whl"), (tmp_path / "b").glob("*.whl")
    assert direct.read_bytes() == indirect.read_bytes()


@pytest.mark.parametrize("file", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda file: file.name)
def test_every_file_for_the_host_is_yaml(file: Path) -> None:
    assert isinstance(yaml.safe_load(file.read_text(encoding="utf-8")), dict)

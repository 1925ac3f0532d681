"""The file that `make single-file` builds: unpacked once, whole or not at all, whatever the machine is like."""

from __future__ import annotations

import ast
import os
import platform
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from quorum.version import __version__

ROOT = Path(__file__).parents[2]
BUILDER: dict[str, Any] = runpy.run_path(str(ROOT / ".ci" / "single_file.py"))
HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
SHOWS_ITSELF = b"""import sys

def main():
    print(sys.argv, sys.prefix != sys.base_prefix, sys.executable.startswith(sys.prefix))
"""


def write_file(file: Path, program: bytes = SHOWS_ITSELF, python: str = HERE, *extras: str) -> Path:
    packages = f"lib/python{python}/site-packages/quorum"
    tree = {f"{packages}/__init__.py": b"", f"{packages}/__main__.py": program}
    BUILDER["write"](file, BUILDER["pack"]({python: tree}), [python], [*BUILDER["EXTRAS"], *extras])
    return file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_file(tmp_path / "quorum")


def environment(tmp_path: Path, **variables: str) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path), "PATH": "/nowhere", **variables}


def start(file: Path, tmp_path: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, file, *arguments],
        env=environment(tmp_path, **variables),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def list_unpacked(place: Path) -> list[Path]:
    return [each for each in place.iterdir() if each.suffix != ".lock"]


def test_the_program_is_in_an_environment_of_its_own_and_knows_itself_by_the_path_of_the_file(
    file: Path, tmp_path: Path
) -> None:
    started = start(file, tmp_path, "run", "--", "a b")

    assert (started.stdout, started.stderr) == (f"{[str(file), 'run', '--', 'a b']} True True\n", "")
    (unpacked,) = list_unpacked(tmp_path / "cache" / "quorum" / "single-file")
    assert (unpacked / "quorum-single-file").read_text(encoding="utf-8") == f"quorum {__version__}\n"


def test_the_environment_names_the_extras_that_the_file_was_built_with(tmp_path: Path) -> None:
    start(write_file(tmp_path / "quorum", SHOWS_ITSELF, HERE, "audit", "otel"), tmp_path)

    (unpacked,) = list_unpacked(tmp_path / "cache" / "quorum" / "single-file")
    mark = (unpacked / "quorum-single-file").read_text(encoding="utf-8")
    assert mark.splitlines()[1:] == ["audit", "otel"]


def test_a_second_start_unpacks_nothing(file: Path, tmp_path: Path) -> None:
    start(file, tmp_path)
    (unpacked,) = list_unpacked(tmp_path / "cache" / "quorum" / "single-file")
    file.write_bytes(file.read_bytes().replace(b"packages.zip", b"missing.file"))

    assert start(file, tmp_path).returncode == 0
    assert list_unpacked(unpacked.parent) == [unpacked]


def test_starts_at_the_same_time_share_one_environment(file: Path, tmp_path: Path) -> None:
    words = [sys.executable, str(file)]
    both = [
        subprocess.Popen(words, env=environment(tmp_path), stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]

    assert [each.communicate(timeout=60)[0] for each in both] == [f"{[str(file)]} True True\n"] * 2
    assert len(list_unpacked(tmp_path / "cache" / "quorum" / "single-file")) == 1


def test_what_a_killed_start_left_is_removed_and_what_is_not_whole_does_not_count(
    file: Path, tmp_path: Path
) -> None:
    start(file, tmp_path)
    (unpacked,) = list_unpacked(tmp_path / "cache" / "quorum" / "single-file")
    unpacked.with_name(f"{unpacked.name}.part").mkdir()
    (unpacked / "quorum-single-file").unlink()

    assert start(file, tmp_path).returncode == 0
    assert list_unpacked(unpacked.parent) == [unpacked]
    assert (unpacked / "quorum-single-file").exists()


def test_another_build_has_an_environment_of_its_own(file: Path, tmp_path: Path) -> None:
    start(file, tmp_path)
    write_file(file, b"def main():\n    print('newer')\n")

    assert start(file, tmp_path).stdout == "newer\n"


def test_where_the_cache_cannot_be_written_a_private_temporary_folder_serves(
    file: Path, tmp_path: Path
) -> None:
    no_folder = str(file)  # nothing can be made below a file

    assert start(file, tmp_path, XDG_CACHE_HOME=no_folder).returncode == 0
    assert len(list_unpacked(tmp_path / f"quorum-{os.geteuid()}")) == 1


def test_where_nothing_can_be_written_it_says_which_folders_it_tried_and_what_helps(
    file: Path, tmp_path: Path
) -> None:
    refused = start(file, tmp_path, XDG_CACHE_HOME=str(file), TMPDIR=str(file))

    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.count(str(file)) == 2
    assert refused.stderr.endswith("Set XDG_CACHE_HOME to a folder that you can write.\n")
    assert "Traceback" not in refused.stderr


def test_nothing_is_started_from_a_folder_that_others_can_write(file: Path, tmp_path: Path) -> None:
    start(file, tmp_path)
    place = tmp_path / "cache" / "quorum" / "single-file"
    (unpacked,) = list_unpacked(place)
    start_script = unpacked / "start.py"
    start_script.write_text("print('of somebody else')\n", encoding="utf-8")
    place.chmod(0o777)

    assert "of somebody else" not in start(file, tmp_path).stdout
    assert len(list_unpacked(tmp_path / f"quorum-{os.geteuid()}")) == 1


def test_nothing_is_unpacked_into_the_working_directory_for_want_of_a_home(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    list_places = runpy.run_path(str(ROOT / ".ci" / "single_file_start.py"))["list_places"]
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "home")
    monkeypatch.setenv("TMPDIR", "tmp")

    assert list_places() == [f"/tmp/quorum-{os.geteuid()}"]
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as for a user without an entry
    assert list_places() == [f"/tmp/quorum-{os.geteuid()}"]


def test_a_python_that_does_not_fit_gives_way_to_one_on_PATH_that_does(tmp_path: Path) -> None:
    file = write_file(tmp_path / "quorum", python="3.99")
    other = tmp_path / "bin" / "python3.99"
    other.parent.mkdir()
    other.write_text('#!/bin/sh\n[ "$1" = -c ] || echo "3.99 has $*"\n', encoding="utf-8")
    other.chmod(0o755)

    assert start(file, tmp_path, "run", PATH=f"{other.parent}:/bin").stdout == f"3.99 has {file} run\n"


def test_without_a_python_that_fits_it_names_those_that_do(tmp_path: Path) -> None:
    refused = start(write_file(tmp_path / "quorum", python="3.99"), tmp_path)

    assert refused.returncode == 1
    assert refused.stderr == f"quorum: this file needs one of Python 3.99; {sys.executable} is {HERE}\n"


def test_a_file_for_another_system_says_so(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "pdp11")
    write_file(file)

    refused = start(file, tmp_path)

    assert refused.returncode == 1
    assert refused.stderr.startswith(f"quorum: this file is for {platform.system()} pdp11, and this is ")


def test_the_same_packages_make_the_same_bytes_and_a_content_is_kept_once(tmp_path: Path) -> None:
    tree = {f"lib/{name}": b"same" * 100 for name in "ab"}
    packages = BUILDER["pack"]({"3.11": tree, "3.12": tree})
    first, second = tmp_path / "first", tmp_path / "second"
    for each in (first, second):
        BUILDER["write"](each, packages, ["3.11", "3.12"])

    assert first.read_bytes() == second.read_bytes()
    (tmp_path / "packages.zip").write_bytes(packages)
    with zipfile.ZipFile(tmp_path / "packages.zip") as archive:
        assert len(archive.namelist()) == 3


def test_an_old_python_understands_what_it_is_told() -> None:
    text = (ROOT / ".ci" / "single_file_start.py").read_text(encoding="utf-8")

    ast.parse(text, feature_version=(3, 6))
    assert "from __future__" not in text


def test_it_is_built_for_every_python_that_the_metadata_names() -> None:
    assert {"3.11", "3.14"} <= set(BUILDER["list_pythons"]())

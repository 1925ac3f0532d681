"""What happens where the code of a running quorum is changed on disk."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import invalidate_caches
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from pkgutil import iter_modules

import pytest

from quorum.code_change import CHANGED, _MissingFinder, _OwnFinder
from quorum.domain.errors import ProgramChanged
from tests.support.headless_run import configure_for, environment
from tests.support.quorum_rig import DONE, calling
from tests.support.quorum_rig import call as tool_call
from tests.support.sse_server import Reply, SseServer

ROOT = Path(__file__).parents[2]
LAYERS = ("quorum", "domain", "application", "infrastructure", "tui")
LONG_AGO = (1e9, 1e9)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder of modules, as it was installed long ago."""
    for name, text in {"whole": "HERE = 1\n", "needs_extra": "import no_such_extra\n"}.items():
        (tmp_path / f"{name}.py").write_text(text)
        os.utime(tmp_path / f"{name}.py", LONG_AGO)
    os.utime(tmp_path, LONG_AGO)
    invalidate_caches()  # of the folder that another test had under this name
    return tmp_path


def load(finder: _OwnFinder, package: Path, name: str) -> object:
    spec = finder.find_spec(f"quorum.{name}", [str(package)])
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_module_that_is_as_it_was_is_loaded(package: Path) -> None:
    finder = _OwnFinder()

    assert finder.find_spec("quorum.never_there", [str(package)]) is None
    assert finder.find_spec("json", None) is None
    assert load(finder, package, "whole").HERE == 1  # type: ignore[attr-defined]
    with pytest.raises(ModuleNotFoundError, match="no_such_extra"):
        load(finder, package, "needs_extra")


def replace_with_older(file: Path) -> None:
    """As from a wheel that lay in a cache: the time is older than the process."""
    new = file.with_suffix(".new")
    new.write_text("from quorum.domain.errors import NoSuchName\n")
    os.utime(new, LONG_AGO)
    new.replace(file)


@pytest.mark.parametrize("is_listed", [False, True], ids=["before its folder was listed", "after that"])
@pytest.mark.parametrize(
    "change",
    [
        Path.unlink,
        lambda file: shutil.rmtree(file.parent),
        lambda file: file.write_text("def ("),
        lambda file: file.write_text("HERE = 2\n"),
        replace_with_older,
    ],
    ids=["removed", "with its folder", "half written", "of another version", "with an older time"],
)
def test_a_module_that_was_changed_is_one_error_that_says_what_to_do(
    package: Path, change: Callable[[Path], object], is_listed: bool
) -> None:
    finder = _OwnFinder()
    if is_listed:
        load(finder, package, "whole")

    change(package / "whole.py")

    with pytest.raises(ProgramChanged) as caught:
        load(finder, package, "whole")
    assert str(caught.value) == CHANGED
    assert isinstance(caught.value, ImportError)


def test_a_module_that_an_update_added_is_that_error_too(package: Path) -> None:
    finder = _OwnFinder()
    load(finder, package, "whole")
    (package / "added.py").write_text("HERE = 1\n")
    invalidate_caches()

    with pytest.raises(ProgramChanged):
        load(finder, package, "added")


def test_each_module_of_the_screen_is_found_as_the_interpreter_finds_it() -> None:
    finder, found = _OwnFinder(), 0
    packages = [("quorum.tui", str(ROOT / "quorum" / "tui"))]
    for package, folder in packages:
        for module in iter_modules([folder]):
            name = f"{package}.{module.name}"
            ours, usual = finder.find_spec(name, [folder]), PathFinder.find_spec(name, [folder])
            assert ours is not None
            assert usual is not None
            places = usual.submodule_search_locations
            assert (ours.name, ours.origin, ours.cached) == (usual.name, usual.origin, usual.cached)
            assert ours.submodule_search_locations == places
            packages += [(name, place) for place in places or ()]
            found += 1
    assert found > 100


def test_a_folder_is_listed_once_however_many_modules_are_found_in_it(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "inner").mkdir()
    (package / "inner" / "__init__.py").touch()
    (package / "inner" / "leaf.py").touch()
    looked_up, listed = [], []
    stat, listdir = os.stat, os.listdir
    finder = _OwnFinder()
    monkeypatch.setattr(os, "stat", lambda place: looked_up.append(place) or stat(place))
    monkeypatch.setattr(os, "listdir", lambda place: listed.append(place) or listdir(place))

    for name in ("whole", "needs_extra", "inner"):
        assert finder.find_spec(f"quorum.{name}", [str(package)]) is not None
    assert finder.find_spec("quorum.inner.leaf", [str(package / "inner")]) is not None

    assert listed == [str(package), str(package / "inner")]
    assert looked_up == [sys.modules["quorum.code_change"].__file__] * 4


def test_after_an_update_nothing_is_loaded_and_what_is_missing_is_explained(package: Path) -> None:
    finder = _OwnFinder()
    last = _MissingFinder(finder)
    last.find_spec("a_library_that_was_not_there_before")
    finder._installed = (1, 2, 3)  # what an installation had before its files were put there anew

    with pytest.raises(ProgramChanged):
        load(finder, package, "whole")
    with pytest.raises(ProgramChanged):
        last.find_spec("a_library_of_the_version_before")


def copy_product(folder: Path) -> Path:
    """A copy of quorum; its file to run."""
    for layer in LAYERS:
        shutil.copytree(
            ROOT / layer, folder / layer, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
        )
    return folder / "quorum" / "__main__.py"


@pytest.mark.long
@pytest.mark.parametrize("format_", ["json", "text"])
async def test_a_run_whose_code_is_taken_away_goes_on_as_far_as_it_was_loaded(
    tmp_path: Path, format_: str
) -> None:
    program = copy_product(tmp_path / "product")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("alpha\n")
    home = tmp_path / "home"

    answers = [
        calling(
            tool_call("c1", "run_command", command="touch b.txt"), tool_call("c2", "read_file", path="a.txt")
        ),
        DONE,
    ]

    def take_away(_request: object) -> Reply:
        for layer in LAYERS:
            shutil.rmtree(program.parents[1] / layer, ignore_errors=True)
        return answers.pop(0)

    async with SseServer("anthropic") as server:
        configure_for(home, server)
        server.respond = take_away
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, program, "run", "go", "--output", format_),
            cwd=tmp_path / "work",
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), 60)

    assert (process.returncode, b"Traceback" in err) == (0, False)
    assert f"run_command failed: {CHANGED}" in err.decode()
    assert "read_file ok" in err.decode()
    assert not (tmp_path / "work" / "b.txt").exists()
    if format_ == "json":
        assert json.loads(out)["status"] == "completed"

"""Which changes of a call nobody has to look at: those of files that git ignores or programs make anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.rewind_rig import RewindRig


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def write(path: Path, content: str = "x") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


async def list_ignored(root: Path, written: dict[str, str], *, declared: str = "") -> dict[str, bool]:
    """Whether each file that a call wrote counts as ignored."""
    rig = RewindRig(root)
    kept = await rig.keeper.keep()
    for name, content in written.items():
        write(root / name, content)
    effects = await rig.keeper.find_changes(kept, frozenset({str(root / declared)} if declared else ()))
    return {change.path.removeprefix(f"{root}/"): change.ignored for change in effects.changes}


async def test_files_that_git_ignores_are_told_from_the_sources(root: Path) -> None:
    write(root / ".gitignore", "out/\n*.log\n")
    write(root / "sub" / ".gitignore", "only.txt\n")
    files = ("out/a", "b.log", "sub/c.log", "sub/only.txt", "only.txt", "core.py")
    assert await list_ignored(root, dict.fromkeys(files, "1")) == {
        "out/a": True,
        "b.log": True,
        "sub/c.log": True,
        "sub/only.txt": True,
        "only.txt": False,
        "core.py": False,
    }


async def test_what_programs_make_anew_is_ignored_without_an_ignore_file(root: Path) -> None:
    files = ("src/__pycache__/a.pyc", ".pytest_cache/.gitignore", ".venv/lib/b.py", "node_modules/c/.vscode/d")
    assert set((await list_ignored(root, dict.fromkeys(files, "*"))).values()) == {True}


async def test_ignored_files_that_are_sensitive_or_protected_stay_in_sight(root: Path) -> None:
    write(root / ".gitignore", ".env\n.vscode/\nown/\n")
    files = (".env", ".vscode/settings.json", "own/id_rsa")
    assert set((await list_ignored(root, dict.fromkeys(files, "1"))).values()) == {False}


async def test_a_call_cannot_hide_files_by_the_ignore_file_that_it_changes(root: Path) -> None:
    write(root / ".gitignore", "*.log\n")
    written = {".gitignore": "*\n", "core.py": "1", "a.log": "1", "__pycache__/b.pyc": "1"}
    assert await list_ignored(root, written) == {
        ".gitignore": False,
        "core.py": False,
        "a.log": False,
        "__pycache__/b.pyc": True,
    }


async def test_an_ignore_file_in_one_folder_says_nothing_about_another(root: Path) -> None:
    write(root / ".gitignore", "*.log\n")
    written = {"htmlcov/.gitignore": "*\n", "htmlcov/a.html": "1", "b.log": "1"}
    assert await list_ignored(root, written) == {
        "htmlcov/.gitignore": False,
        "htmlcov/a.html": False,
        "b.log": True,
    }

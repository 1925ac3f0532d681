from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import msgspec
import pytest

from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.own_code import find_own_code, leave_out_workspace

ROOT = Path(__file__).parents[2]


def protect(root: Path, settings: dict[str, object] | None = None, **environ: str) -> PathPolicy:
    code = find_own_code(msgspec.convert(settings or {}, Settings), root, environ)
    return PathPolicy(roots=(str(root),), code=code)


def test_packages_interpreter_and_installed_packages_are_protected(tmp_path: Path) -> None:
    policy = protect(tmp_path)

    for path in (
        ROOT / "infrastructure/execution/commands/supervisor.py",
        *(ROOT / name / "new.py" for name in ("application", "domain", "infrastructure", "quorum", "tui")),
        ROOT / "domain/__pycache__/errors.cpython-311.pyc",
        Path(sys.prefix) / "bin/python",
        Path(sys.prefix) / "pyvenv.cfg",
        Path(sysconfig.get_path("purelib")) / "new.pth",
        Path(sysconfig.get_path("stdlib")) / "os.py",
    ):
        assert policy.is_protected(str(path)), path


def test_a_module_that_is_loaded_later_is_protected_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = protect(tmp_path)
    module = tmp_path / "late_module_of_a_test.py"
    module.write_text("")
    assert not policy.is_protected(str(module))

    monkeypatch.syspath_prepend(str(tmp_path))
    __import__(module.stem)

    try:
        assert policy.is_protected(str(module))
    finally:
        del sys.modules[module.stem]


def test_a_module_that_was_loaded_is_protected_after_others_came_and_it_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = protect(tmp_path)
    names = ("first_module_of_a_test", "second_module_of_a_test", "third_module_of_a_test")
    first, second, third = (tmp_path / f"{name}.py" for name in names)
    for module in (first, second, third):
        module.write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))

    try:
        __import__(first.stem)
        assert policy.is_protected(str(first))
        del sys.modules[first.stem]
        for module in (second, third):
            __import__(module.stem)
        assert [policy.is_protected(str(module)) for module in (first, second, third)] == [True, True, True]
    finally:
        for name in names:
            sys.modules.pop(name, None)


def test_files_of_command_lines_that_run_outside_the_sandbox_are_protected(tmp_path: Path) -> None:
    names = ("hook.py", "tool.sh", "server.py", "line.sh", "held.sh", "editor")
    for name in names:
        (tmp_path / name).write_text("")
    (tmp_path / "link").symlink_to("server.py")
    tool = {"description": "d", "command": ["./held.sh"], "sandbox": True, "risk": "high"}
    policy = protect(
        tmp_path,
        {
            "hooks": [{"event": "before_tool_call", "command": ["python3", "hook.py"]}],
            "tools": {"custom": {"held": tool, "free": {**tool, "command": ["./tool.sh"], "sandbox": False}}},
            "mcp": {"servers": {"a": {"command": ["python3", str(tmp_path / "link")]}}},
            "tui": {"statusline": ["./line.sh"]},
        },
        EDITOR=f"{tmp_path}/editor --wait",
    )

    protected = {name for name in (*names, "link") if policy.is_protected(str(tmp_path / name))}
    assert protected == {*names, "link"} - {"held.sh"}


def test_files_within_the_words_of_such_command_lines_and_modules_of_python_are_protected(
    tmp_path: Path,
) -> None:
    for name in ("agent.py", "check.sh", "first.js", "line.sh", "editor.sh", "other.py"):
        (tmp_path / name).write_text("")
    policy = protect(
        tmp_path,
        {
            "agents": {"mine": {"command": ["python3", "agent.py"]}},
            "hooks": [{"event": "before_tool_call", "command": ["sh", "-c", './check.sh "$1"; true']}],
            "mcp": {
                "servers": {
                    "a": {"command": ["node", "--require=./first.js", "/usr/lib/server.js"]},
                    "b": {"command": ["python3", "-m", "server.main"]},
                }
            },
            "tui": {"statusline": ["bash", "-lc", "exec ./line.sh"]},
        },
        EDITOR=f"env A={tmp_path}/editor.sh vi",
    )

    asked = (
        "agent.py",
        "check.sh",
        "first.js",
        "line.sh",
        "editor.sh",
        "server/main.py",
        "server.py",
        "other.py",
    )
    assert [name for name in asked if not policy.is_protected(str(tmp_path / name))] == ["other.py"]


def test_the_working_directory_leaves_the_import_path_but_for_what_is_installed_there(tmp_path: Path) -> None:
    inside, packages = str(tmp_path / "src"), sysconfig.get_path("purelib")
    path = [str(tmp_path), inside, packages, "/elsewhere"]

    leave_out_workspace(tmp_path, path)
    assert path == [packages, "/elsewhere"]

    leave_out_workspace(Path(sys.prefix), path)
    assert path == [packages, "/elsewhere"]


def test_a_project_on_the_import_path_replaces_neither_quorum_nor_a_library(
    tmp_path: Path,
) -> None:
    (tmp_path / "argparse.py").write_text("raise SystemExit('the library of the project')")
    (tmp_path / "quorum").mkdir()
    (tmp_path / "quorum" / "__init__.py").write_text("raise SystemExit('the quorum of the project')")
    done = subprocess.run(
        [sys.executable, "-P", ROOT / "quorum/__main__.py", "gate", "--help"],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stdout[:18], done.stderr) == (0, "usage: quorum gate", "")


def test_files_in_the_workspace_that_are_hard_links_of_installed_code_are_protected(tmp_path: Path) -> None:
    file = Path(msgspec.__file__)
    packages = tmp_path / "other/lib/site-packages"
    packages.mkdir(parents=True)
    try:
        (tmp_path / "alone.py").hardlink_to(file)
        (packages / "linked.py").hardlink_to(file)
    except OSError as error:
        pytest.skip(f"no hard link can be made here: {error}")
    (packages / "beside.py").write_text("")
    (tmp_path / "own.py").write_text("")

    policy = protect(tmp_path)

    names = ("alone.py", "own.py", "other/lib/site-packages/linked.py", "other/lib/site-packages/beside.py")
    assert [policy.is_protected(str(tmp_path / name)) for name in names] == [True, False, True, True]

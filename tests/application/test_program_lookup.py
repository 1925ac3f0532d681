from __future__ import annotations

import os
from pathlib import Path

import pytest

from quorum.application import program_lookup
from quorum.application.program_lookup import (
    explain_missing,
    filter_environment,
    filter_path,
    find_program,
    name_own_command,
    note_writable,
)
from quorum.domain.review.path_policy import WorkspaceRoots


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one folder that commands may write, in which the process is."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.setattr(program_lookup, "_writable", [])
    monkeypatch.chdir(folder)
    note_writable((str(folder),))
    return folder


def make(file: Path) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return str(file)


def join(*entries: Path | str) -> str:
    return os.pathsep.join(map(str, entries))


def test_a_program_outside_is_found_behind_one_of_the_workspace(tmp_path: Path, workspace: Path) -> None:
    make(workspace / ".venv/bin/uvx")
    outside = make(tmp_path / "bin/uvx")

    assert find_program("uvx", join(workspace / ".venv/bin", tmp_path / "bin")) == outside


@pytest.mark.parametrize("entry", [".", "", "./node_modules/.bin", "node_modules/.bin", "~/bin"])
def test_a_relative_entry_is_none(workspace: Path, entry: str) -> None:
    make(workspace / "uvx")
    make(workspace / "node_modules/.bin/uvx")

    assert find_program("uvx", entry) is None
    assert filter_path(join(entry, "/usr/bin")) == "/usr/bin"


def test_a_link_on_the_way_that_lies_in_the_workspace_leads_to_none(tmp_path: Path, workspace: Path) -> None:
    real = make(tmp_path / "real/uvx")
    (workspace / "link").symlink_to(Path(real).parent)
    (workspace / "uvx").symlink_to(real)
    (tmp_path / "to-folder").symlink_to(workspace / "link")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/uvx").symlink_to("../work/uvx")
    entries = (workspace / "link", tmp_path / "to-folder", tmp_path / "work/../work/link", tmp_path / "bin")

    assert [find_program("uvx", str(entry)) for entry in entries] == [None] * 4
    assert filter_path(join(*entries)) == str(tmp_path / "bin")
    assert find_program("uvx", join(*entries, tmp_path / "real")) == real


def test_links_outside_are_kept_in_the_name(tmp_path: Path) -> None:
    make(tmp_path / "store/tool-1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tool").symlink_to(tmp_path / "store/tool-1")

    assert find_program("tool", str(tmp_path / "bin")) == str(tmp_path / "bin/tool")


def test_a_loop_of_links_is_none(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")

    assert find_program("uvx", str(tmp_path / "a")) is None


def test_an_absolute_path_is_taken_wherever_it_lies_and_a_relative_one_is_not(workspace: Path) -> None:
    program = make(workspace / "server")

    assert find_program(program, "") == program
    assert find_program("./server", str(workspace)) is None
    assert "name it by its absolute path" in explain_missing("./server", "")


def test_folders_that_are_added_later_and_those_of_another_session_count(tmp_path: Path) -> None:
    program = make(tmp_path / "added/tool")
    roots = WorkspaceRoots([str(tmp_path / "other")])
    note_writable(roots)
    assert find_program("tool", str(tmp_path / "added")) == program

    roots.replace_added([str(tmp_path / "added")])
    assert find_program("tool", str(tmp_path / "added")) is None


def test_where_no_session_is_known_the_folder_that_the_process_is_in_counts(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_lookup, "_writable", [])
    make(workspace / "bin/tool")

    assert find_program("tool", str(workspace / "bin")) is None


def test_in_a_folder_that_was_deleted_programs_are_found(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_lookup, "_writable", [])
    workspace.rmdir()

    assert find_program("sh", "/bin") == "/bin/sh"


def test_the_whole_file_system_as_workspace_takes_no_program_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_lookup, "_writable", [("/",)])

    assert find_program("sh", "/bin") == "/bin/sh"


def test_it_says_where_the_program_lies_that_was_passed_over(workspace: Path) -> None:
    program = make(workspace / ".venv/bin/uvx")

    assert program in explain_missing("uvx", str(workspace / ".venv/bin"))
    assert explain_missing("no-such", str(workspace)).startswith("there is no program no-such on PATH")


def test_a_program_that_is_started_gets_a_path_without_the_workspace(workspace: Path) -> None:
    given = {"PATH": join(workspace / ".venv/bin", "/usr/bin", ""), "HOME": "/home/me"}

    assert filter_environment(given) == {"PATH": "/usr/bin", "HOME": "/home/me"}


@pytest.mark.parametrize(
    ("where", "folder", "path", "named"),
    [
        ("a b/bin", ".", "", "'a b/bin/quorum'"),
        (".venv/bin", ".", "", ".venv/bin/quorum"),
        (".venv/bin", ".", "other", ".venv/bin/quorum"),
        (".venv/bin", ".", ".venv/bin", "quorum"),
        (".venv/bin", ".", "links", "quorum"),
        (".venv/bin", ".venv/bin", "", "./quorum"),
        (".venv/bin", "elsewhere", "", "{}/.venv/bin/quorum"),
    ],
)
def test_the_command_to_come_back_is_the_name_only_where_path_leads_to_this_very_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, folder: str, path: str, named: str
) -> None:
    for each in (where, "other"):
        (tmp_path / each).mkdir(parents=True)
        (tmp_path / each / "quorum").write_text("#!/bin/sh\n", encoding="utf-8")
        (tmp_path / each / "quorum").chmod(0o755)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "links").mkdir()
    (tmp_path / "links/quorum").symlink_to(tmp_path / where / "quorum")
    monkeypatch.chdir(tmp_path / folder)

    started_as = str(tmp_path / where / "quorum")

    assert name_own_command(started_as, str(tmp_path / path) if path else "") == named.format(tmp_path)


@pytest.mark.parametrize("started_as", ["/x/quorum/__main__.py", "/x/bin/quorum", "-c", ""])
def test_a_program_that_was_started_otherwise_is_called_by_its_name(started_as: str) -> None:
    assert name_own_command(started_as, "") == "quorum"


def test_in_a_folder_that_was_deleted_the_command_to_come_back_is_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert name_own_command(".venv/bin/quorum", "") == "quorum"


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("PYTHONPATH", "{in}/src:.:/opt/lib::{in}", "/opt/lib"),
        ("PYTHONPATH", "{in}/src", None),
        ("NODE_PATH", "node_modules:/opt/lib", "/opt/lib"),
        ("PERL5LIB", "{link}/x", None),
        ("NODE_OPTIONS", "--max-old-space-size=4096", "--max-old-space-size=4096"),
        ("NODE_OPTIONS", "--require /opt/boot.js", "--require /opt/boot.js"),
        ("NODE_OPTIONS", "--require=./x.js", None),
        ("NODE_OPTIONS", "-r x.js --inspect", None),
        ("NODE_OPTIONS", "--inspect --import tsx", None),
        ("NODE_OPTIONS", "--import {in}/x.mjs", None),
        ("RUBYOPT", "-I{in} -w", None),
        ("JAVA_TOOL_OPTIONS", "-javaagent:{in}/a.jar", None),
        ("BASH_ENV", "{in}/env.sh", None),
        ("VIRTUAL_ENV", "{in}/.venv", "{in}/.venv"),
        ("NODE_OPTIONS", "", ""),
    ],
)
def test_what_interpreters_find_code_by_names_nothing_that_a_command_may_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, kept: str | None
) -> None:
    inside, link = tmp_path / "work", tmp_path / "link"
    (inside / "x").mkdir(parents=True)
    link.symlink_to(inside)
    monkeypatch.setattr(program_lookup, "_writable", [(str(inside),)])

    def fill_in(text: str) -> str:
        return text.replace("{in}", str(inside)).replace("{link}", str(link))

    filtered = filter_environment({name: fill_in(value), "PATH": "/usr/bin"})

    assert filtered.get(name) == (None if kept is None else fill_in(kept))

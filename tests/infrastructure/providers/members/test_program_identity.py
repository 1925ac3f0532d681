"""What tells one program from another that lies in its place."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from quorum.infrastructure.models.members.program_identity import ProgramIdentity


def make_package(folder: Path, name: str, **about: object) -> Path:
    package = folder / "node_modules" / name
    package.mkdir(parents=True)
    (package / "package.json").write_text(json.dumps({"name": name, **about}))
    return package


def test_a_program_is_told_by_the_digest_of_its_file(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"one")

    told = ProgramIdentity(tmp_path / "state").describe(str(program))

    assert told == f"SHA-256 {hashlib.sha256(b'one').hexdigest()}"


def test_a_program_that_has_changed_is_called_so_also_by_the_next_process(tmp_path: Path) -> None:
    program, state = tmp_path / "program", tmp_path / "state"
    program.write_bytes(b"one")
    first = ProgramIdentity(state)
    assert "changed" not in first.describe(str(program))
    assert "changed" not in first.describe(str(program))

    program.write_bytes(b"another")

    next_one = ProgramIdentity(state)
    assert next_one.describe(str(program)).endswith("; changed since it was last asked")
    assert next_one.describe(str(program)).endswith("; changed since it was last asked")
    assert "changed" not in ProgramIdentity(state).describe(str(program))


def test_a_program_of_the_same_length_with_its_old_time_has_changed_all_the_same(tmp_path: Path) -> None:
    program, state = tmp_path / "program", tmp_path / "state"
    program.write_bytes(b"one")
    before = program.stat()
    ProgramIdentity(state).describe(str(program))

    program.write_bytes(b"two")
    os.utime(program, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert ProgramIdentity(state).describe(str(program)).endswith("; changed since it was last asked")


def test_a_program_that_was_only_touched_has_not_changed(tmp_path: Path) -> None:
    program, state = tmp_path / "program", tmp_path / "state"
    program.write_bytes(b"one")
    ProgramIdentity(state).describe(str(program))
    program.unlink()
    program.write_bytes(b"one")

    assert "changed" not in ProgramIdentity(state).describe(str(program))


def test_what_an_npm_package_needs_is_part_of_its_program(tmp_path: Path) -> None:
    starter = make_package(tmp_path, "@a/agent", optionalDependencies={"@a/agent-linux": "1", "@a/other": "1"})
    native = make_package(tmp_path, "@a/agent-linux")
    (starter / "cli.js").write_text("start")
    (native / "agent").write_text("one")
    program, state = tmp_path / "agent", tmp_path / "state"
    program.symlink_to(starter / "cli.js")
    ProgramIdentity(state).describe(str(program))

    (native / "agent").write_text("another")

    assert "changed" in ProgramIdentity(state).describe(str(program))


@pytest.mark.parametrize("damage", ["", "[]", '{"x": 1}'])
def test_a_damaged_record_of_programs_is_begun_anew(tmp_path: Path, damage: str) -> None:
    (tmp_path / "program").write_text("one")
    (record := tmp_path / "member-programs.json").write_text(damage)

    assert ProgramIdentity(tmp_path).describe(str(tmp_path / "program")).startswith("SHA-256 ")
    assert json.loads(record.read_text())[str(tmp_path / "program")]["digest"]


def test_a_program_that_cannot_be_read_has_no_digest(tmp_path: Path) -> None:
    assert ProgramIdentity(None).describe(str(tmp_path / "gone")) == ""

"""What the session itself made is its own to delete, as long as it holds what the session wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.calls.access import EXCLUSIVE
from quorum.domain.review.guards import GuardSettings, find_objections
from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.plain_request import Asked, PlainRequest
from quorum.infrastructure.execution.shell.script import read_script
from tests.support.fake_ports import FakePerson
from tests.support.real_session import RealSession, SessionStage, shell, write


async def _is_asked_about(session: RealSession, person: FakePerson, command: str) -> bool:
    before = len(person.requests)
    await session.turn(shell(command))
    return len(person.requests) > before


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    stage = SessionStage(tmp_path)
    (stage.root / "thesis.txt").write_text("years of work\n")
    return stage


@pytest.mark.long
async def test_a_file_that_the_session_made_is_deleted_unasked_until_somebody_else_changes_it(
    stage: SessionStage,
) -> None:
    person = FakePerson()
    async with stage.opened(person=person) as session:
        await session.agent.review.set_mode(Mode.AUTO)
        await session.turn(write("check.py", "print(1)\n"), shell("echo 2 > out.log"))
        assert not await _is_asked_about(session, person, "rm check.py ./out.log")
        assert not (stage.root / "check.py").exists()

        await session.turn(write("check.py", "print(2)\n"))
        (stage.root / "check.py").write_text("by hand\n")
        assert await _is_asked_about(session, person, "rm check.py")


@pytest.mark.long
@pytest.mark.parametrize(
    "takes",
    [
        "mv thesis.txt new.txt",
        "cp thesis.txt new.txt",
        "cat thesis.txt > new.txt && rm thesis.txt",
        "mv thesis.txt new.txt; touch other.txt",
    ],
)
async def test_what_a_command_took_from_elsewhere_is_not_its_own(stage: SessionStage, takes: str) -> None:
    person = FakePerson()
    async with stage.opened(person=person) as session:
        await session.agent.review.set_mode(Mode.AUTO)
        await session.turn(shell(takes))
        assert await _is_asked_about(session, person, "rm new.txt")


@pytest.mark.long
@pytest.mark.parametrize(
    "deletion", ["rm check.py thesis.txt", "rm thesis.txt # check.py", "rm *.py", "cd .. && rm check.py"]
)
async def test_no_other_file_is_deleted_beside_its_own(stage: SessionStage, deletion: str) -> None:
    person = FakePerson()
    async with stage.opened(person=person) as session:
        await session.agent.review.set_mode(Mode.AUTO)
        await session.turn(write("check.py", "print(1)\n"))
        assert await _is_asked_about(session, person, deletion)


@pytest.mark.long
async def test_a_file_of_the_person_that_the_session_edited_stays_theirs(stage: SessionStage) -> None:
    person = FakePerson()
    async with stage.opened(person=person) as session:
        await session.agent.review.set_mode(Mode.AUTO)
        await session.turn(write("thesis.txt", "rewritten\n"))
        assert await _is_asked_about(session, person, "rm thesis.txt")


@pytest.mark.long
async def test_a_file_that_an_undo_gave_back_is_not_its_own(stage: SessionStage) -> None:
    person = FakePerson()
    async with stage.opened(person=person) as session:
        await session.agent.review.set_mode(Mode.AUTO)
        await session.turn(write("check.py", "print(1)\n"))
        await session.turn(shell("rm check.py"))
        await session.undo()
        assert await _is_asked_about(session, person, "rm check.py")


@pytest.mark.parametrize(
    ("command", "arguments", "is_objected"),
    [
        ("rm a.py", {}, False),
        ("rm -f ./a.py sub/b.py", {}, False),
        ("truncate -s 0 a.py", {}, False),
        ("rm b.py", {"working_dir": "sub"}, False),
        ("rm a.py", {"working_dir": "sub"}, True),
        ("rm -r sub", {}, True),
        ("rm a.py 2026", {}, True),
        ("rm a.py ../a.py", {}, True),
        ("shred -u a.py", {}, False),
        ("find . -name a.py -delete", {}, True),
        ("ls *.py | xargs rm a.py", {}, True),
        ("sudo rm a.py", {}, True),
        ("x=thesis.txt; rm a.py $x", {}, True),
        ("rm ../a.py", {"working_dir": "sub"}, True),
        ("rm a.py", {"working_dir": "link/.."}, True),
        ("rm rename.py", {}, False),
        ("python a.py && rm a.py", {}, False),
    ],
)
def test_only_files_that_are_named_in_full_are_its_own(
    command: str, arguments: dict[str, str], is_objected: bool
) -> None:
    found = find_objections(
        {"command": command, **arguments},
        EXCLUSIVE,
        command,
        paths=PathPolicy(roots=("/w",)),
        settings=GuardSettings(),
        read_script=read_script,
        own_files=frozenset({"/w/a.py", "/w/sub/b.py", "/w/rename.py"}),
    )
    assert bool(found) is is_objected


@pytest.mark.parametrize(
    "before",
    [
        "git mv -f thesis.txt a.py",
        "command mv thesis.txt a.py",
        "sh -c 'mv thesis.txt a.py'",
        "busybox mv thesis.txt a.py",
        "echo thesis.txt | xargs mv -t .",
        r"find x -name a.py -exec mv {} . \;",
        "rename 's/thesis.txt/a.py/' thesis.txt",
        "exch thesis.txt a.py",
        "svn move thesis.txt a.py",
        """python -c 'import os; os.rename("thesis.txt", "a.py")'""",
        """python -c 'import shutil; shutil.move("thesis.txt", "a.py")'""",
        """python -c 'from pathlib import Path; Path("thesis.txt").rename("a.py")'""",
        """perl -e 'rename "thesis.txt", "a.py"'""",
        """node -e 'fs.renameSync("thesis.txt", "a.py")'""",
        "command cd ..",
        "builtin cd ..",
        "time cd ..",
        "time -p cd ..",
        "z thesis",
    ],
)
def test_what_may_stand_under_its_name_by_then_is_neither_its_own_nor_what_was_asked_for(before: str) -> None:
    for own_files, request in (({"/w/a.py"}, ""), ((), "delete a.py")):
        found = find_objections(
            {"command": f"{before}; rm a.py"},
            EXCLUSIVE,
            f"{before}; rm a.py",
            paths=PathPolicy(roots=("/w",)),
            settings=GuardSettings(),
            read_script=read_script,
            request=PlainRequest(request),
            own_files=own_files,
        )
        assert any(each.asked is Asked.NOT for each in found), request

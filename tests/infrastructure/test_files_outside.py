"""File tools and files outside the workspace: what is asked, what an approval reaches, and what it does not."""

import os
from pathlib import Path

import pytest

from quorum.domain.calls.execution import Outcome
from quorum.domain.events.event import CallFinished, FolderAdded
from quorum.domain.events.session import FolderOrigin
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import Approve, ApproveFolder, Reject, ReviewAnswer, ReviewRequest
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.real_session import SessionStage, call, write


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    return SessionStage(tmp_path)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "notes.md").write_text("remember the milk\n")
    (folder / "more.md").write_text("and the bread\n")
    return folder


def ends(observer: RecordingObserver) -> list[tuple[Outcome, str]]:
    return [(e.outcome, e.output) for e in observer.events if isinstance(e, CallFinished)]


def add_folder(request: ReviewRequest) -> ReviewAnswer:
    """Add the folder that is shown; approve where none is."""
    digest = request.packet.digest
    return Approve(digest) if request.folder is None else ApproveFolder(digest, request.folder)


async def test_reading_a_file_outside_is_asked_and_an_approval_is_for_that_call(
    stage: SessionStage, elsewhere: Path
) -> None:
    observer, person = RecordingObserver(), FakePerson()
    async with stage.opened(person=person, observer=observer) as session:
        await session.turn(call("read_file", path="../elsewhere/notes.md"))
        await session.turn(call("read_file", path=f"{elsewhere}/notes.md"))
    assert [(outcome, "milk" in text) for outcome, text in ends(observer)] == [(Outcome.OK, True)] * 2
    assert [request.reasons for request in person.requests] == [
        (f"{elsewhere}/notes.md lies outside the workspace",)
    ] * 2
    assert [request.folder for request in person.requests] == [str(elsewhere)] * 2


@pytest.mark.parametrize("mode", [Mode.READ_ONLY, Mode.ACCEPT_EDITS, Mode.AUTO, Mode.QUORUM])
async def test_it_is_asked_in_every_mode(stage: SessionStage, elsewhere: Path, mode: Mode) -> None:
    person = FakePerson(lambda _request: Reject())
    observer = RecordingObserver()
    async with stage.opened(person=person, observer=observer) as session:
        await session.agent.review.set_mode(mode)
        await session.turn(call("read_file", path=f"{elsewhere}/notes.md"))
    assert len(person.requests) == 1
    ((outcome, text),) = ends(observer)
    assert (outcome, "milk" in text) == (Outcome.REJECTED, False)


async def test_no_rule_lets_a_call_out_of_the_workspace(tmp_path: Path, elsewhere: Path) -> None:
    settings = f'[permissions]\nallow = ["read_file({elsewhere}/**)", "read_file"]'
    person = FakePerson(lambda _request: Reject())
    async with SessionStage(tmp_path, more_settings=settings).opened(person=person) as session:
        await session.turn(call("read_file", path=f"{elsewhere}/notes.md"))
    assert len(person.requests) == 1
    assert person.requests[0].proposals == ()


async def test_the_folder_can_be_added_in_the_same_answer(stage: SessionStage, elsewhere: Path) -> None:
    observer, person = RecordingObserver(), FakePerson(add_folder)
    async with stage.opened(person=person, observer=observer) as session:
        await session.turn(
            [
                call("read_file", path=f"{elsewhere}/notes.md"),
                call("read_file", path=f"{elsewhere}/more.md"),
                call("grep_search", pattern="milk", path=str(elsewhere)),
            ]
        )
        assert session.agent.folders.added == (str(elsewhere),)
    assert len(person.requests) == 1
    assert [outcome for outcome, _ in ends(observer)] == [Outcome.OK] * 3
    assert observer.of(FolderAdded) == [FolderAdded(folder=str(elsewhere), origin=FolderOrigin.REVIEW)]


async def test_another_folder_than_the_one_shown_is_not_added(stage: SessionStage, elsewhere: Path) -> None:
    person = FakePerson(lambda request: ApproveFolder(request.packet.digest, str(elsewhere.parent)))
    async with stage.opened(person=person) as session:
        await session.turn(call("read_file", path=f"{elsewhere}/notes.md"))
        assert session.agent.folders.added == ()


async def test_a_file_outside_is_written_once_it_was_approved(stage: SessionStage, elsewhere: Path) -> None:
    person, observer = FakePerson(), RecordingObserver()
    async with stage.opened(person=person, observer=observer) as session:
        await session.agent.review.set_mode(Mode.AUTO)
        await session.turn(write(f"{elsewhere}/new.md", "x\n"))
        await session.turn(call("edit_file", path=f"{elsewhere}/notes.md", old_text="milk", new_text="cheese"))
    assert [request.reasons for request in person.requests] == [
        (f"it writes outside the workspace: {elsewhere}/{name} (guard path)",)
        for name in ("new.md", "notes.md")
    ]
    assert (elsewhere / "new.md").read_text() == "x\n"
    assert "cheese" in (elsewhere / "notes.md").read_text()


async def test_a_link_that_leads_elsewhere_by_the_time_of_the_answer_reaches_nothing(
    stage: SessionStage, elsewhere: Path
) -> None:
    (elsewhere / "secret.md").write_text("the combination is 1234")
    link = stage.root / "link.md"
    link.symlink_to(elsewhere / "notes.md")

    def swap(request: ReviewRequest) -> ReviewAnswer:
        if "secret.md" in request.reasons[0]:
            return Reject()
        link.unlink()
        os.symlink(elsewhere / "secret.md", link)
        return Approve(request.packet.digest)

    observer, person = RecordingObserver(), FakePerson(swap)
    async with stage.opened(person=person, observer=observer) as session:
        await session.turn(call("read_file", path="link.md"))
    ((outcome, text),) = ends(observer)
    assert (outcome, "1234" in text) == (Outcome.REJECTED, False)
    assert [request.reasons for request in person.requests] == [
        (f"{elsewhere}/notes.md lies outside the workspace",),
        (f"{elsewhere}/secret.md lies outside the workspace",),
    ]


async def test_a_file_that_became_a_link_by_the_time_of_the_answer_is_not_followed(
    stage: SessionStage, elsewhere: Path
) -> None:
    (elsewhere / "secret.md").write_text("the combination is 1234")

    def swap(request: ReviewRequest) -> ReviewAnswer:
        if "secret.md" in request.reasons[0]:
            return Reject()
        (elsewhere / "notes.md").unlink()
        os.symlink(elsewhere / "secret.md", elsewhere / "notes.md")
        return Approve(request.packet.digest)

    observer = RecordingObserver()
    async with stage.opened(person=FakePerson(swap), observer=observer) as session:
        await session.turn(call("read_file", path=f"{elsewhere}/notes.md"))
    ((outcome, text),) = ends(observer)
    assert (outcome, "1234" in text) == (Outcome.REJECTED, False)


async def test_an_approval_reaches_no_other_call_of_the_batch(stage: SessionStage, elsewhere: Path) -> None:
    def only_notes(request: ReviewRequest) -> ReviewAnswer:
        path = str(request.packet.call.arguments["path"])
        return Approve(request.packet.digest) if path.endswith("notes.md") else Reject()

    observer = RecordingObserver()
    async with stage.opened(person=FakePerson(only_notes), observer=observer) as session:
        await session.turn(
            [
                call("read_file", path=f"{elsewhere}/notes.md"),
                call("read_file", path=f"{elsewhere}/more.md"),
            ]
        )
    assert {outcome for outcome, _ in ends(observer)} == {Outcome.OK, Outcome.REJECTED}
    assert not any("bread" in text for _, text in ends(observer))


@pytest.mark.parametrize("path", ["/proc/self/environ", "/dev/zero", "/sys/kernel", "/"])
async def test_what_shows_the_system_itself_is_opened_to_nobody(stage: SessionStage, path: str) -> None:
    person, observer = FakePerson(), RecordingObserver()
    async with stage.opened(person=person, observer=observer) as session:
        await session.turn(call("list_directory", path=path))
        await session.turn(call("read_file", path=path))
    asked = {reason for one in person.requests for reason in one.reasons}
    assert all("guard secret" in reason for reason in asked)
    assert {outcome for outcome, _ in ends(observer)} == {Outcome.ERROR}


async def test_where_the_folder_may_not_be_added_only_the_call_can_be_approved(
    stage: SessionStage, tmp_path: Path
) -> None:
    (stage.home / "todo.txt").write_text("x")
    (stage.home / ".ssh").mkdir()
    (stage.home / ".ssh" / "config").write_text("Host x")
    person = FakePerson()
    async with stage.opened(person=person) as session:
        await session.turn(call("read_file", path=f"{stage.home}/todo.txt"))
        await session.turn(call("read_file", path=f"{stage.home}/.ssh/config"))
    assert [request.folder for request in person.requests] == [None, None]


async def test_what_lies_outside_is_put_to_no_reviewer(stage: SessionStage, elsewhere: Path) -> None:
    person = FakePerson()
    async with stage.opened(person=person) as session:
        await session.turn(write(f"{elsewhere}/new.md", "x\n"))
    (context,) = person.review_contexts
    assert context.reviewers == ()

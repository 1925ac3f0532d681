"""`quorum staged` reviews layers without the app, from outside of any, and on the record of their session."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from quorum.cli.staged.actions import REFUSED
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.errors import LedgerError, LostConnection
from quorum.domain.events.event import (
    CallStarted,
    EffectsApproved,
    EffectsObserved,
    EffectsReviewed,
    Event,
    LayerEntered,
    MessageAdded,
    SessionStarted,
    TurnStarted,
)
from quorum.domain.events.staging import EffectsDecision
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.session_summary import ContinuedSession, NewSession, SessionChoice
from quorum.errors import UsageError
from quorum.infrastructure.config.loading import load_settings
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.session_inputs import open_session
from quorum.infrastructure.staging.change_journal import ChangeJournal, ChangePlan
from quorum.infrastructure.staging.entered_layer import EnteredLayer
from quorum.infrastructure.staging.layer_folder import create_layer, hold_layer, list_places, locate_layers_of
from quorum.infrastructure.staging.subagent_layer import WorkOrigin, open_subagent_layer
from quorum.infrastructure.storage import open_storage
from quorum.infrastructure.store.sql.archive import SqlArchive
from tests.support.command_line import run_command
from tests.support.headless_run import configure, environment
from tests.support.layer_process import fork_alone, run_in_layer
from tests.support.layer_process import layers as layers
from tests.support.postgres_server import PostgresForTests

pytestmark = pytest.mark.usefixtures("layers")


class Desk:
    """A person's home, a folder of theirs, and a session that has worked in a layer over it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], url: str = "") -> None:
        self._table = StorageTable(url=url)
        self.home, self.root = folder / "home", folder / "work"
        self.home.mkdir()
        self.root.mkdir()
        configure(self.home, f'[storage]\nurl = "{url}"\n' if url else "")
        (self.root / "a.py").write_text("one\n")
        (self.root / "docs").mkdir()
        (self.root / "docs/b.md").write_text("two\n")
        self._capsys = capsys
        self.session = asyncio.run(self._record())
        self.layer = run_in_layer(self.root, environment(self.home), self.work)

    def work(self, entered: EnteredLayer) -> str:
        (self.root / "a.py").write_text("one\nmore\n")
        (self.root / "docs/b.md").unlink()
        (self.root / "new.py").write_text("new\n")
        entered.folder.note_session(self.session)
        return entered.folder.id

    def find_place(self) -> Path:
        """The folder of its layer, the first one."""
        return list_places(locate_layers_of(self.home / "state" / "quorum", str(self.root.resolve())))[0]

    async def _record(self) -> str:
        storage = open_storage(self._table, environment(self.home))
        opened = storage.open_session(NewSession(), cwd=str(self.root))
        assert opened.ledger is not None
        begun = SessionStarted(session_id=opened.session_id, model="p/m", mode=Mode.STAGED, cwd=str(self.root))
        await opened.ledger.append(begun)
        await opened.ledger.append(LayerEntered(layer="1", workspace=str(self.root)))
        await opened.ledger.aclose()
        storage.close()
        return opened.session_id

    def note(self, *events: Event) -> None:
        """Have more on the record of the session."""

        async def note() -> None:
            storage = open_storage(self._table, environment(self.home))
            opened = storage.open_session(ContinuedSession(self.session), cwd=str(self.root))
            assert opened.ledger is not None
            for event in events:
                await opened.ledger.append(event)
            await opened.ledger.aclose()
            storage.close()

        asyncio.run(note())

    def run(self, *words: str) -> tuple[int, str]:
        code = run_command(["staged", *words], self.root)
        return code, self._capsys.readouterr().out

    def read_json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json")[1])

    def read_events(self) -> list[Event | None]:
        storage = open_storage(self._table, environment(self.home))
        records = asyncio.run(storage.archive.read(self.session))
        storage.close()
        return [record.event for record in records]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in environment(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.setattr(os, "fork", fork_alone)
    return tmp_path


@pytest.fixture
def desk(machine: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(machine, capsys)


def test_what_waits_is_listed_and_shown_with_the_digest_that_approves_it(desk: Desk) -> None:
    (listed,) = desk.read_json("list")
    shown = desk.read_json("show")

    assert (listed["id"], listed["session"], listed["in_use"]) == (desk.layer, desk.session, False)
    assert [(file["path"], file["kind"]) for file in shown["files"]] == [
        ("a.py", "replace"),
        ("docs/b.md", "delete"),
        ("new.py", "create"),
    ]
    assert shown["digest"] in desk.run("show")[1]
    assert "+more" in desk.run("show", "--patch")[1]
    assert (desk.root / "a.py").read_text() == "one\n"


def test_all_but_what_is_left_out_is_applied_and_the_session_has_it_on_record(desk: Desk) -> None:
    code, _ = desk.run("apply", "--leave-out", "docs", "--digest", desk.read_json("show")["digest"][:20])

    assert code == 0
    assert (desk.root / "a.py").read_text() == "one\nmore\n"
    assert (desk.root / "docs/b.md").exists()
    approved, reviewed, said = desk.read_events()[-3:]
    assert isinstance(approved, EffectsApproved)
    assert approved.left_out == ("docs/b.md",)
    assert isinstance(reviewed, EffectsReviewed)
    assert (reviewed.decision, reviewed.files) == (EffectsDecision.APPLIED, 2)
    assert isinstance(said, MessageAdded)
    assert [file["path"] for file in desk.read_json("show")["files"]] == ["docs/b.md"]


def test_nothing_is_applied_where_the_record_cannot_be_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: object) -> None:
        raise LostConnection("the server of the record does not answer")

    for method in ("find_blocking", "list_blocking"):
        monkeypatch.setattr(SqlArchive, method, fail)

    with pytest.raises(LostConnection):
        desk.run("apply")
    assert (desk.root / "a.py").read_text() == "one\n"


def test_a_session_in_the_folder_itself_is_told_of_what_waits_in_a_layer_until_that_is_decided(
    desk: Desk,
) -> None:
    def open_notices(choice: SessionChoice) -> tuple[str, ...]:
        record = open_session(load_settings(cwd=desk.root, environ=os.environ), desk.root, choice)
        asyncio.run(record.release())
        return record.notices

    (said,) = open_notices(NewSession())
    assert f"changes wait in the layer {desk.layer} and are not in this folder" in said
    (own,) = open_notices(ContinuedSession(desk.session))
    assert own.startswith(
        f"what was changed in the layer {desk.layer} and not applied is not in your folder: /stage"
    )
    with hold_layer(desk.find_place()):
        assert "another quorum works in the layer" in open_notices(NewSession())[0]

    desk.run("discard", "--yes")

    assert open_notices(NewSession()) == open_notices(ContinuedSession(desk.session)) == ()


@pytest.mark.long
def test_what_was_applied_is_taken_back(desk: Desk) -> None:
    with pytest.raises(UsageError, match="nothing was applied from a layer of"):
        desk.run("undo")
    create_layer(desk.home / "state" / "quorum", str(desk.root.resolve()))  # from which nothing was applied
    desk.run("apply")
    assert not (desk.root / "docs/b.md").exists()

    assert desk.run("undo")[0] == 0

    assert (desk.root / "a.py").read_text() == "one\n"
    assert (desk.root / "docs/b.md").read_text() == "two\n"
    assert not (desk.root / "new.py").exists()


@pytest.mark.long
def test_what_was_taken_back_is_applied_again_and_on_record(desk: Desk) -> None:
    with pytest.raises(UsageError, match="nothing was taken back in a layer of"):
        desk.run("redo")
    desk.run("apply")
    desk.run("undo")

    assert desk.run("redo")[0] == 0

    assert (desk.root / "new.py").exists()
    assert not (desk.root / "docs/b.md").exists()
    last = [event for event in desk.read_events() if isinstance(event, EffectsReviewed)][-1]
    assert last.decision is EffectsDecision.REDONE


@pytest.mark.long
def test_of_several_layers_the_one_is_meant_that_no_process_works_in(desk: Desk) -> None:
    with hold_layer(desk.find_place()):
        other = run_in_layer(desk.root, environment(desk.home), desk.work)
        assert desk.read_json("show")["layer"] == other != desk.layer

    with pytest.raises(UsageError, match="several layers fit"):
        desk.run("show")


@pytest.mark.long
def test_what_the_person_changed_meanwhile_is_replaced_only_where_they_say_so(desk: Desk) -> None:
    (desk.root / "a.py").write_text("mine\n")

    assert desk.run("apply")[0] == REFUSED
    assert (desk.root / "a.py").read_text() == "mine\n"
    assert (desk.root / "docs/b.md").exists()

    assert desk.run("apply", "--overwrite", "a.py")[0] == 0
    assert (desk.root / "a.py").read_text() == "one\nmore\n"


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--leave-out", "nothere"], "nothere is not among the changes"),
        (["--include", "a.py"], "a.py is not a protected file"),
        (["--overwrite", "a.py"], "a.py is not in conflict"),
        (["--digest", "0" * 20], "holds other changes"),
        (["--digest", "0"], "at least 16 digits"),
        (["nosuch"], "there is no layer nosuch"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_changes_nothing(desk: Desk, words: list[str], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        desk.run("apply", *words)

    assert (desk.root / "a.py").read_text() == "one\n"


@pytest.mark.long
def test_a_layer_that_cannot_be_read_can_be_discarded(desk: Desk, tmp_path: Path) -> None:
    (known,) = tmp_path.rglob("staged/*/*/meta.json")
    known.with_name("known.json").write_text("{")
    with pytest.raises(UsageError, match="cannot be read"):
        desk.run("show")

    assert desk.run("discard", "--yes")[0] == 0

    assert desk.read_json("list") == []


def test_a_layer_whose_folder_is_gone_is_listed_and_can_be_discarded(desk: Desk) -> None:
    desk.root.rename(desk.root.with_name("moved"))
    (desk.home / "elsewhere").mkdir()
    desk.root, gone = desk.home / "elsewhere", desk.root

    assert [each["workspace"] for each in desk.read_json("list", "--all")] == [str(gone.resolve())]
    with pytest.raises(UsageError, match=f"{gone.name} is not there now, .* put it back"):
        desk.run("show", desk.layer)
    assert desk.run("discard", desk.layer, "--yes")[0] == 0
    assert desk.read_json("list", "--all") == []


def test_one_layer_that_cannot_be_looked_into_hides_no_other(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    other = create_layer(desk.home / "state" / "quorum", str(desk.root.resolve()))
    (other / "up" / "file").touch()
    (other / "meta.json").write_text("{}")

    code = run_command(["staged", "list", "--json"], desk.root)

    said = capsys.readouterr()
    assert [each["id"] for each in json.loads(said.out)] == [desk.layer]
    assert f"the layer in {other} cannot be read" in said.err
    assert code == 0


def test_where_the_record_has_no_room_the_files_are_named_that_take_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: object) -> None:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(SqlArchive, "list_blocking", fail)

    with pytest.raises(LedgerError, match=f"remove {desk.find_place() / 'up'}"):
        desk.run("discard", "--yes")
    assert any((desk.find_place() / "up").iterdir())


@pytest.mark.long
def test_discarding_asks_somebody_or_takes_their_word(desk: Desk) -> None:
    with pytest.raises(UsageError, match="--yes"):
        desk.run("discard")
    assert desk.read_json("list")

    assert desk.run("discard", "--yes")[0] == 0

    assert desk.read_json("list") == []
    assert (desk.root / "a.py").read_text() == "one\n"
    assert (reviewed := desk.read_events()[-2]) is not None
    assert isinstance(reviewed, EffectsReviewed)
    assert reviewed.decision is EffectsDecision.DISCARDED


def leave_work(desk: Desk, script: str) -> None:
    """Have a subagent of the session do this in a layer of its own, and its process be gone then."""

    def work(entered: EnteredLayer) -> None:
        context = ToolExecutionContext(call_id="c", batch_id="b", call_index=0, turn_index=0)
        origin = WorkOrigin(session_id=desk.session, subagent_id=f"{desk.session}-t1", context=context)
        apart = open_subagent_layer(entered, "writer-1", origin)
        done = apart.threads.works.submit(subprocess.run, ["sh", "-e", "-c", script], cwd=desk.root, check=True)
        done.result()
        apart.threads.close()

    run_in_layer(desk.root, environment(desk.home), work)


@pytest.mark.long
def test_what_a_subagent_left_is_merged_on_a_record_in_postgres(
    machine: Path, capsys: pytest.CaptureFixture[str], postgres: PostgresForTests
) -> None:
    merge_left(Desk(machine, capsys, postgres.new_database()), capsys)


def test_what_a_subagent_left_is_merged_on_the_record_of_its_session_before_it_is_shown(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    merge_left(desk, capsys)


def merge_left(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    leave_work(desk, "echo left > left.py; sed -i s/more/most/ a.py")

    code = run_command(["staged", "apply"], desk.root)
    said = capsys.readouterr().err

    assert code == 0
    assert "what writer-1 changed is in the layer now" in said
    assert ((desk.root / "left.py").read_text(), (desk.root / "a.py").read_text()) == ("left\n", "one\nmost\n")
    (receipt,) = [event for event in desk.read_events() if isinstance(event, EffectsObserved)]
    assert receipt.subagent_id == f"{desk.session}-t1"
    assert {Path(change.path).name for change in receipt.effects.changes} == {"left.py", "a.py"}
    assert run_command(["staged", "list"], desk.root) == 0
    assert "nothing waits" in capsys.readouterr().err


def test_the_outputs_of_a_session_hold_what_a_subagent_left_once_it_is_merged(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    context = ToolExecutionContext(call_id="c", batch_id="b", call_index=0, turn_index=0)
    desk.note(TurnStarted(prompt="go"), CallStarted(context=context, tool="subagent", arguments={}))
    leave_work(desk, "echo left > left.py; sed -i s/more/most/ a.py")
    run_command(["staged", "show"], desk.root)
    capsys.readouterr()

    def sessions(*words: str) -> str:
        code = run_command(["sessions", *words], desk.root)
        printed = capsys.readouterr()
        assert code == 0, printed
        return printed.out

    diff = sessions("diff", desk.session)
    exported = json.loads(sessions("export", desk.session, "--format", "json"))
    shown = sessions("export", desk.session, "--format", "md")
    copy = sessions("fork", desk.session).strip()

    assert "left.py" in diff
    assert "+left" in diff
    assert ("-more" in diff, "+most" in diff) == (True, True)
    assert f"{desk.session}-t1" in json.dumps(exported)
    assert "left.py" in json.dumps(exported)
    assert "left.py" in shown
    assert "+most" in sessions("diff", copy)
    assert "left.py" in sessions("show", desk.session)
    sessions("verify", "--all")
    assert sum(isinstance(event, EffectsObserved) for event in desk.read_events()) == 1
    run_command(["staged", "show"], desk.root)
    assert sum(isinstance(event, EffectsObserved) for event in desk.read_events()) == 1


def test_what_a_subagent_left_waits_while_the_record_of_its_session_is_written_elsewhere(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    leave_work(desk, "echo left > left.py")
    storage = open_storage(StorageTable(), environment(desk.home))
    opened = storage.open_session(ContinuedSession(desk.session), cwd=str(desk.root))
    assert opened.ledger is not None

    with pytest.raises((LedgerError, UsageError)):
        run_command(["staged", "show"], desk.root)
    said = capsys.readouterr().err
    asyncio.run(opened.ledger.aclose())
    storage.close()

    assert "what writer-1 changed is not merged" in said
    assert "left.py" in desk.run("show")[1]


def test_what_was_put_in_order_is_said_before_a_layer_is_shown(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    place = desk.find_place() / "applies/1"
    (place / "stage").mkdir(parents=True)
    journal = ChangeJournal(place, str(desk.root.resolve()))
    journal.begin(ChangePlan(steps=()))

    run_command(["staged", "show"], desk.root)

    assert "the workspace is as it was before" in capsys.readouterr().err

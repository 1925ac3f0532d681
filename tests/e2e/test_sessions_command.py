"""Recorded sessions as a person would use them: gone on with, listed, shown, exported, checked, cleared out."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.headless_run import (
    QUORUM,
    Ended,
    configure,
    configure_for,
    environment,
    run,
    run_quorum_now,
    start,
)
from tests.support.sse_server import Hang, Say, ScriptedCall, SseServer


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha <b> `c`\n", encoding="utf-8")
    return folder


class Quorum:
    """The installed command, in one folder and with one home."""

    def __init__(self, project: Path, home: Path) -> None:
        self.project, self.home = project, home

    def __call__(self, *words: str, stdin: str = "") -> Ended:
        return run_quorum_now(*words, cwd=self.project, env=environment(self.home), stdin=stdin)

    def run(self, prompt: str, *words: str) -> str:
        """Run a prompt and answer the session's id."""
        ended = self("run", prompt, "--output", "json", *words)
        assert ended.code == 0, ended.err
        return str(ended.report["session_id"])

    def sessions(self, *words: str, stdin: str = "") -> Ended:
        return self("sessions", *words, stdin=stdin)

    def listed(self, *words: str) -> list[dict[str, object]]:
        listed: list[dict[str, object]] = json.loads(self.sessions("list", "--json", *words).out)
        return listed

    @property
    def ledger(self) -> Path:
        return self.home / "state" / "quorum" / "ledger.sqlite"


@pytest.fixture
def quorum(project: Path, home: Path) -> Quorum:
    return Quorum(project, home)


@pytest.mark.long
def test_a_run_is_listed_and_shown(quorum: Quorum) -> None:
    session = quorum.run("read a.txt")

    (listed,) = quorum.listed()
    table = quorum.sessions("list")
    shown = quorum.sessions("show", session[:13])

    assert (listed["id"], listed["title"], listed["turns"]) == (session, "read a.txt", 1)
    assert (listed["cwd"], listed["model"]) == (str(quorum.project), "offline/offline")
    assert (table.code, table.err) == (0, "")
    assert table.out.splitlines()[0].split() == ["ID", "LAST", "USED", "TURNS", "COST", "TITLE"]
    assert table.out.splitlines()[1].startswith(session[:8])
    assert (shown.code, shown.err) == (0, "")
    assert "── Turn 1 · " in shown.out
    assert "● read_file · ok · " in shown.out
    assert "allowed without asking a person" in shown.out


@pytest.mark.long
def test_only_sessions_of_the_folder_are_listed_unless_all_are_wanted(
    quorum: Quorum, tmp_path: Path, home: Path
) -> None:
    here = quorum.run("read a.txt")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    other = Quorum(elsewhere, home)

    assert other.listed() == []
    reported = other.sessions("list")
    assert (reported.code, reported.out) == (0, "")
    assert "quorum sessions list --all" in reported.err
    assert [session["id"] for session in other.listed("--all")] == [here]


@pytest.mark.long
def test_continue_goes_on_with_the_latest_session_and_remembers(quorum: Quorum) -> None:
    first = quorum.run("read a.txt")

    second = quorum.run("read a.txt", "--continue")

    assert second == first
    (listed,) = quorum.listed()
    assert listed["turns"] == 2
    assert "resumed with offline/offline" in quorum.sessions("show", "latest").out


@pytest.mark.long
async def test_the_changes_of_a_session_are_printed_from_its_record(
    quorum: Quorum, home: Path, project: Path
) -> None:
    call = ScriptedCall("c1", "write_file", json.dumps({"path": "new.txt", "content": "1\n"}))
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [Say(calls=[call], stop="tool_use"), Say(pieces=["Done."])]
        ended = await run("go", "--mode", "auto", "--output", "json", cwd=project, env=environment(home))
    (project / "new.txt").write_text("mine\n", encoding="utf-8")

    printed = quorum.sessions("diff", "latest")

    assert ended.code == 0
    assert (printed.code, printed.err) == (0, "")
    assert printed.out == "# new.txt: new, 2 bytes\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+1\n"


@pytest.mark.long
async def test_the_model_is_sent_what_was_said_before(home: Path, project: Path) -> None:
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [Say(pieces=["It is blue."]), Say(pieces=["Blue, as I said."])]

        first = await run("which colour?", "--output", "json", cwd=project, env=environment(home))
        again = await run(
            "--resume",
            first.report["session_id"],
            "again?",
            "--output",
            "json",
            cwd=project,
            env=environment(home),
        )

    assert again.report["session_id"] == first.report["session_id"]
    said = [
        (each["role"], each["content"]) for each in server.bodies[1]["messages"] if each["role"] != "system"
    ]
    assert said == [("user", "which colour?"), ("assistant", "It is blue."), ("user", "again?")]


@pytest.mark.long
def test_with_nothing_to_continue_a_new_session_begins_and_says_so(quorum: Quorum) -> None:
    ended = quorum("run", "--continue", "--output", "json", "read a.txt")

    assert ended.code == 0
    assert "no session" in ended.err
    assert [session["id"] for session in quorum.listed()] == [ended.report["session_id"]]


@pytest.mark.long
@pytest.mark.parametrize("words", [("run", "--resume", "0000", "hi"), ("sessions", "show", "0000")])
def test_a_session_that_is_not_there_is_reported_with_what_is_near(
    quorum: Quorum, words: tuple[str, ...]
) -> None:
    session = quorum.run("read a.txt")

    ended = quorum(*words)

    assert (ended.code, ended.out) == (2, "")
    assert "there is no session '0000'" in ended.err
    assert session in ended.err


@pytest.mark.long
async def test_a_session_in_use_is_neither_gone_on_with_nor_pruned(home: Path, project: Path) -> None:
    quorum = Quorum(project, home)
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [Say(pieces=["one"]), Hang("silent")]
        first = await run("one", "--output", "json", cwd=project, env=environment(home))
        session = first.report["session_id"]
        words = ("--resume", session, "--output", "stream-json", "two")
        other = await start(*words, cwd=project, env=environment(home))
        assert other.stdout is not None
        while b'"turn_started"' not in await asyncio.wait_for(other.stdout.readline(), timeout=120):
            pass

        refused = await asyncio.to_thread(quorum, "run", "--resume", session, "three")
        (listed,) = await asyncio.to_thread(quorum.listed)
        kept = await asyncio.to_thread(quorum.sessions, "prune", "--keep", "0", "--yes")
        copy = await asyncio.to_thread(quorum.sessions, "fork", session)
        other.terminate()
        await asyncio.wait_for(other.communicate(), timeout=120)

    assert (refused.code, refused.out) == (2, "")
    assert f"process {other.pid}" in refused.err
    assert "fork" in refused.err
    assert listed["open_in"] == other.pid
    assert (kept.code, kept.out) == (0, "")
    assert f"{session} is in use and stays" in kept.err
    assert copy.code == 0
    assert {each["id"] for each in quorum.listed()} == {session, copy.out.strip()}


@pytest.mark.long
def test_a_copy_goes_its_own_way(quorum: Quorum) -> None:
    first = quorum.run("read a.txt")

    copy = quorum.run("read b.txt", "--resume", first, "--fork")

    assert copy != first
    turns = {session["id"]: (session["turns"], session["parent"]) for session in quorum.listed()}
    assert turns == {first: (1, None), copy: (2, first)}
    assert f"a copy of the session {first}" in quorum.sessions("show", copy).out


@pytest.mark.long
def test_a_session_can_be_copied_up_to_a_turn(quorum: Quorum) -> None:
    quorum.run("read a.txt")
    session = quorum.run("list", "--continue")

    copy = quorum.sessions("fork", session, "--before", "2")
    refused = quorum.sessions("fork", session, "--before", "9")

    shown = quorum.sessions("show", copy.out.strip()).out
    assert "read a.txt" in shown
    assert "── Turn 2" not in shown
    assert (refused.code, refused.out) == (2, "")
    assert "the session has 2 turns" in refused.err


@pytest.mark.long
@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("md", "# `read a.txt`\n"),
        ("html", "<!DOCTYPE html>\n"),
        ("json", '{\n "type": "quorum_session",\n'),
        ("canonical", "{"),
    ],
)
def test_a_session_is_exported_to_stdout_and_to_a_file(
    quorum: Quorum, tmp_path: Path, form: str, begins: str
) -> None:
    session = quorum.run("read a.txt")
    file = tmp_path / "export"

    shown = quorum.sessions("export", session, "--format", form)
    written = quorum.sessions("export", "latest", "--format", form, "-o", str(file))

    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith(begins)
    assert (written.code, written.out) == (0, "")
    assert file.read_text(encoding="utf-8") == shown.out
    assert "alpha" in shown.out
    assert ("<b>" in shown.out) == (form != "html")


@pytest.mark.long
def test_an_export_that_cannot_be_written_is_reported(quorum: Quorum) -> None:
    quorum.run("read a.txt")

    ended = quorum.sessions("export", "latest", "-o", str(quorum.project / "missing" / "x.md"))

    assert (ended.code, ended.out) == (2, "")
    assert "name another file with -o" in ended.err


@pytest.mark.long
def test_equal_runs_have_equal_canonical_exports(quorum: Quorum) -> None:
    sessions = [quorum.run("read a.txt and list") for _ in range(2)]

    one, other = (quorum.sessions("export", each, "--format", "canonical").out for each in sessions)

    assert one == other


@pytest.mark.long
def test_verify_holds_and_tells_what_it_cannot_see(quorum: Quorum) -> None:
    session = quorum.run("read a.txt")

    ended = quorum.sessions("verify")

    assert ended.code == 0
    assert ended.out.startswith(f"{session}: ")
    assert "every one fits; head " in ended.out
    assert "cannot be seen from what is left" in ended.err


def _change_a_record(ledger: Path, session: str) -> int:
    """Change one byte in a record that tells of the file, behind everybody's back; the record's place."""
    with closing(sqlite3.connect(ledger)) as database:
        rows = database.execute("SELECT seq, payload FROM records WHERE session_id = ?", (session,)).fetchall()
        place, payload = next(row for row in rows if b"alpha" in row[1])
        changed = payload.replace(b"alpha", b"alphb", 1)
        database.execute(
            "UPDATE records SET payload = ? WHERE session_id = ? AND seq = ?", (changed, session, place)
        )
        database.commit()
    return int(place)


@pytest.mark.long
def test_verify_names_the_record_that_was_changed(quorum: Quorum) -> None:
    good = quorum.run("read a.txt")
    bad = quorum.run("read a.txt")
    place = _change_a_record(quorum.ledger, bad)

    ended = quorum.sessions("verify", "--all")

    assert ended.code == 1
    assert f"{bad}: BROKEN at record {place} of " in ended.out
    assert f"{good}: " in ended.out
    assert ended.out.count("BROKEN") == 1
    assert quorum.sessions("verify", good).code == 0


@pytest.mark.long
def test_a_text_taken_out_is_gone_and_verify_names_where(quorum: Quorum) -> None:
    session = quorum.run("read a.txt")

    missing = quorum.sessions("redact", session, "no such text")
    done = quorum.sessions("redact", session, "-", stdin="alpha\n")

    assert (missing.code, done.code) == (1, 0)
    assert "alpha" not in quorum.sessions("export", session, "--format", "json").out
    checked = quorum.sessions("verify", session)
    assert checked.code == 0
    assert "something was taken out on purpose of: " in checked.out


@pytest.mark.long
def test_prune_says_what_goes_and_refuses_without_anybody_to_ask(quorum: Quorum) -> None:
    old, new = quorum.run("read a.txt"), quorum.run("list")

    shown = quorum.sessions("prune", "--keep", "1", "--dry-run")
    refused = quorum.sessions("prune", "--keep", "1")
    before = [session["id"] for session in quorum.listed()]
    done = quorum.sessions("prune", "--keep", "1", "--yes")

    assert shown.code == 0
    assert "read a.txt" in shown.out
    assert "nothing was done" in shown.err
    assert refused.code == 2
    assert "--yes" in refused.err
    assert before == [new, old]
    assert done.code == 0
    assert [session["id"] for session in quorum.listed()] == [new]


@pytest.mark.long
def test_prune_without_a_measure_and_for_young_sessions_deletes_nothing(quorum: Quorum) -> None:
    quorum.run("read a.txt")

    unsaid = quorum.sessions("prune", "--yes")
    young = quorum.sessions("prune", "--older-than", "1", "--yes")

    assert unsaid.code == 2
    assert "--older-than DAYS" in unsaid.err
    assert (young.code, young.out) == (0, "")
    assert len(quorum.listed()) == 1


@pytest.mark.long
@pytest.mark.parametrize(("answer", "left"), [("y\n", 0), ("\n", 1)])
def test_prune_asks_on_a_terminal(quorum: Quorum, answer: str, left: int) -> None:
    quorum.run("read a.txt")
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [QUORUM, "sessions", "prune", "--keep", "0"],
            cwd=quorum.project,
            env=environment(quorum.home),
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=theirs,
        )
        os.write(ours, answer.encode())
        process.communicate(timeout=120)
    finally:
        os.close(ours)
        os.close(theirs)

    assert process.returncode == 0
    assert len(quorum.listed()) == left


@pytest.mark.long
def test_a_table_on_a_terminal_is_as_wide_as_it(quorum: Quorum) -> None:
    quorum.run("write b.txt: " + "長い題名" * 30, "--mode", "accept-edits")
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [QUORUM, "sessions", "list"],
            cwd=quorum.project,
            env=environment(quorum.home, COLUMNS="60"),
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=subprocess.PIPE,
        )
        process.communicate(timeout=120)
        lines = os.read(ours, 65_536).decode().splitlines()
    finally:
        os.close(ours)
        os.close(theirs)

    assert lines[1].endswith("…")
    assert max(sum(2 if ord(char) > 0x3000 else 1 for char in line) for line in lines) <= 60


@pytest.mark.long
def test_a_ledger_elsewhere_is_used_where_the_settings_name_one(quorum: Quorum, tmp_path: Path) -> None:
    configure(quorum.home, f'storage.url = "sqlite:///{tmp_path}/mine.sqlite"')

    session = quorum.run("read a.txt")

    assert (tmp_path / "mine.sqlite").exists()
    assert not quorum.ledger.exists()
    assert [each["id"] for each in quorum.listed()] == [session]


@pytest.mark.long
def test_a_record_that_is_no_database_is_kept_aside_and_reported(quorum: Quorum) -> None:
    quorum.run("read a.txt")
    quorum.ledger.write_bytes(b"no database" * 1000)

    ended = quorum.sessions("list")

    assert ended.code == 0
    assert "was damaged" in ended.err
    assert any(b"no database" in each.read_bytes() for each in quorum.ledger.parent.glob("*damaged*"))


@pytest.mark.long(after=1)
@pytest.mark.parametrize("words", [("sessions", "list"), ("doctor",), ("keys", "list")])
def test_a_projects_file_that_is_no_toml_is_left_out_and_named(
    words: tuple[str, ...], project: Path, home: Path
) -> None:
    (project / "quorum.toml").write_text("[agent\n", encoding="utf-8")

    ended = Quorum(project, home)(*words)

    said = ended.out + ended.err
    assert "quorum.toml:1: this is not TOML" in said
    assert "left out" in said
    assert ended.code == 0 or words == ("doctor",)
    assert "Traceback" not in said


@pytest.mark.long
def test_a_renamed_session_is_listed_under_its_title_and_keeps_it(quorum: Quorum) -> None:
    session = quorum.run("read a.txt")

    renamed = quorum.sessions("rename", session, "  the first \x1b[31mletters ")
    quorum.run("and the last", "--resume", session)

    assert renamed.code == 0, renamed.err
    (listed,) = quorum.listed()
    assert str(listed["title"]).startswith("the first")
    assert "\x1b" not in quorum.sessions("list").out
    assert "is called" in quorum.sessions("show", session).out
    assert quorum.sessions("verify", session).code == 0
    assert "title is empty" in quorum.sessions("rename", session, " ").err.lower()


@pytest.mark.long
def test_usage_is_added_up_over_all_sessions(quorum: Quorum) -> None:
    assert "no request is recorded" in quorum("usage").err
    quorum.run("read a.txt")
    quorum.run("read a.txt again")

    added = json.loads(quorum("usage", "--json").out)
    table = quorum("usage", "--days", "1").out

    assert [row["name"] for row in added["projects"]] == [str(quorum.project)]
    assert len(added["days"]) >= 1
    (model,) = added["models"]
    assert model["requests"] >= 2
    assert table.splitlines()[0].endswith("MODEL")
    assert str(quorum.project) in table


@pytest.mark.long
def test_sessions_are_found_by_words_until_these_are_redacted(quorum: Quorum) -> None:
    session = quorum.run("read a.txt for the xylophone")
    index = quorum.home / "state" / "quorum" / "search.sqlite"

    found = quorum.sessions("search", "xylophone")
    assert found.code == 0, found.err
    assert session in found.out
    assert "xylophone" in found.out
    assert [each["id"] for each in json.loads(quorum.sessions("search", "--json", "xylophone").out)] == [
        session
    ]
    assert "holds all of these words" in quorum.sessions("search", "xylophone", "glockenspiel").err
    assert index.exists()

    quorum.sessions("redact", session, "xylophone")
    assert not index.exists()
    assert quorum.sessions("search", "xylophone").out == ""
    assert "WORDS are empty" in quorum.sessions("search").err

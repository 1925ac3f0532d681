"""`quorum sessions diff`: the recorded contents of a session's files, compared."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from quorum.cli.sessions.diff import is_colour_wanted, print_session_diff
from quorum.domain.calls.effects import ChangeKind, Effects, FileChange, FileKind, FileState
from quorum.domain.events.event import (
    EffectsObserved,
    EffectsReviewed,
    Event,
    LayerEntered,
    SessionStarted,
    TurnStarted,
)
from quorum.domain.events.staging import EffectsDecision
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.session_summary import LedgerRecord
from tests.support.builders import a_context
from tests.support.fake_contents import FakeContents

ROOT = "/w/app"


class Recorded:
    """A session of one turn, made from what its files held before and after."""

    def __init__(self) -> None:
        self.contents = FakeContents()
        self.changes: list[FileChange] = []
        self.more: tuple[Event, ...] = ()

    def state(self, content: bytes | None, *, mode: int = 0o644, unkept: str | None = None) -> FileState | None:
        if content is None:
            return None
        sha = hashlib.sha256(content).hexdigest()
        if unkept is None:
            self.contents.contents[sha] = content
        return FileState(kind=FileKind.FILE, mode=mode, size=len(content), sha256=sha, unkept=unkept)

    def change(self, path: str, before: FileState | None, after: FileState | None) -> None:
        kind = ChangeKind.MODIFIED if before and after else ChangeKind.CREATED if after else ChangeKind.DELETED
        self.changes.append(FileChange(path=path, kind=kind, declared=True, before=before, after=after))

    def wrote(self, path: str, before: bytes | None, after: bytes | None) -> None:
        self.change(path, self.state(before), self.state(after))

    async def diff(self) -> int:
        events: list[Event] = [
            SessionStarted(session_id="s", model="m", mode=Mode.ASK, cwd=ROOT),
            TurnStarted(prompt="go"),
            EffectsObserved(context=a_context(), effects=Effects(changes=tuple(self.changes), complete=True)),
            *self.more,
        ]
        records = [LedgerRecord(seq=seq, at_ms=0, event=event) for seq, event in enumerate(events)]
        return await print_session_diff(
            records, self.contents, lambda text: text.replace("hunter2", "[secret:X]"), cwd=ROOT
        )


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


def test_what_was_changed_made_and_deleted_is_one_diff_that_can_be_applied(
    recorded: Recorded, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded.wrote(f"{ROOT}/a.txt", b"one\ntwo\tx\nthree", b"one\n2\tx\nthree")
    recorded.wrote(f"{ROOT}/sub/new.txt", None, b"new\n")
    recorded.wrote(f"{ROOT}/gone.txt", b"-- gone\n", None)

    assert asyncio.run(recorded.diff()) == 0

    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.splitlines()[:3] == ["--- a/a.txt", "+++ b/a.txt", "@@ -1,3 +1,3 @@"]
    assert "# sub/new.txt: new, 4 bytes\n--- /dev/null\n+++ b/sub/new.txt\n@@ -0,0 +1 @@\n+new\n" in printed.out
    assert "# gone.txt: deleted, 8 bytes\n--- a/gone.txt\n+++ /dev/null\n" in printed.out
    if (git := shutil.which("git")) is not None:
        (tmp_path / "a.txt").write_bytes(b"one\ntwo\tx\nthree")
        (tmp_path / "gone.txt").write_bytes(b"-- gone\n")
        subprocess.run(
            [git, "apply", "-"],
            input=printed.out.encode(),
            cwd=tmp_path,
            check=True,
            env={"PATH": "/usr/bin:/bin"},
        )
        assert (tmp_path / "a.txt").read_bytes() == b"one\n2\tx\nthree"
        assert (tmp_path / "sub" / "new.txt").read_bytes() == b"new\n"
        assert not (tmp_path / "gone.txt").exists()


async def test_what_a_diff_cannot_say_is_a_remark(
    recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded.wrote(f"{ROOT}/logo.png", b"\x89PNG\x00\x00", b"\x89PNG\x00\x00\x00")
    recorded.wrote(f"{ROOT}/empty", None, b"")
    recorded.change(f"{ROOT}/run.sh", recorded.state(b"x"), recorded.state(b"x", mode=0o755))
    recorded.change("/elsewhere/big", recorded.state(b"1", unkept="it is too large"), recorded.state(b"2"))
    recorded.change(
        f"{ROOT}/link",
        FileState(kind=FileKind.LINK, mode=0o777, target="a"),
        FileState(kind=FileKind.LINK, mode=0o777, target="b\x1b[2J"),
    )

    await recorded.diff()

    assert capsys.readouterr().out.splitlines() == [
        "# /elsewhere/big: its former content was not kept (it is too large)",
        "# empty: new, 0 bytes",
        "# link: leads to a → b\\x1b[2J",
        "# logo.png: binary: 6 → 7 bytes",
        "# run.sh: mode 0644 → 0755",
    ]


async def test_nothing_in_it_acts_on_the_terminal_and_secrets_are_hidden(
    recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded.wrote(f"{ROOT}/a\x1b]0;x\x07\n", b"1\n", b"\x1b[2Jhunter2\r\n\xe2\x80\xae\n")

    await recorded.diff()

    printed = capsys.readouterr().out
    assert "+␛[2J[secret:X]␍\n+⟨U+202E⟩\n" in printed
    assert not set("\x1b\x07\r\u202e") & set(printed)
    assert len([line for line in printed.split("\n") if line.startswith("+++ ")]) == 1


async def test_a_content_that_is_lost_is_named_and_the_other_files_are_shown(
    recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded.wrote(f"{ROOT}/a", b"lost\n", b"1\n")
    recorded.wrote(f"{ROOT}/b", b"1\n", b"2\n")
    del recorded.contents.contents[hashlib.sha256(b"lost\n").hexdigest()]

    await recorded.diff()

    printed = capsys.readouterr().out
    assert printed.startswith("# a: there is no stored content ")
    assert "--- a/b\n+++ b/b\n" in printed


async def test_that_nothing_was_changed_is_said_on_stderr(
    recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded.wrote(f"{ROOT}/a", b"1", b"2")
    recorded.wrote(f"{ROOT}/a", b"2", b"1")

    await recorded.diff()

    assert capsys.readouterr() == ("", "quorum: the session left every file as it was before\n")


async def test_on_a_terminal_lines_have_colours(
    recorded: Recorded, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    recorded.wrote(f"{ROOT}/a", b"1\n", b"\x1b[0m\n")

    await recorded.diff()

    printed = capsys.readouterr().out
    assert "\x1b[31m-1\x1b[m\n\x1b[32m+␛[0m\x1b[m\n" in printed


@pytest.mark.parametrize(
    ("environ", "is_terminal", "wanted"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm"}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({}, True, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True, True),
    ],
)
def test_colours_are_for_terminals_that_have_them(
    environ: dict[str, str], is_terminal: bool, wanted: bool
) -> None:
    assert is_colour_wanted(environ, is_terminal=is_terminal) is wanted


async def test_of_a_session_in_a_layer_it_says_what_was_applied(recorded: Recorded, capsys) -> None:
    recorded.wrote(f"{ROOT}/a.py", b"one\n", b"two\n")
    recorded.more = (
        LayerEntered(layer="1", workspace=ROOT),
        EffectsReviewed(layer="1", decision=EffectsDecision.DISCARDED),
    )

    await recorded.diff()

    said = capsys.readouterr().err
    assert "reached the folder only as it was applied" in said
    assert "all changes were discarded (layer 1)" in said

"""`quorum pr`: the sessions of a branch, described for its pull request, and posted by `gh` where wanted."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
from pathlib import Path

import pytest

from quorum.cli.pull_request import COMMAND, PullRequestOptions
from quorum.domain.calls.effects import ChangeKind, Effects, FileChange
from quorum.domain.events.event import EffectsObserved, Event, SessionStarted, TurnStarted
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.session_summary import NewSession
from quorum.errors import UsageError
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_storage
from tests.support.builders import a_context
from tests.support.headless_run import configure, environment
from tests.support.review_rig import git, make_repository, write

SECRET = "kV9xTq2mWz7pLr4s"
_GH = """#!/bin/sh
printf '%s\\n' "$*" >> "{log}"
case "$2" in
view) cat "{view}" ;;
comment) cat > "{body}"; echo https://github.com/owner/name/pull/12#issuecomment-1 ;;
esac
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Desk:
    """A repository whose branch `topic` changes `a.py`, a session that did so and one that did not, a `gh`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self.root = folder / "home", make_repository(folder / "p", {"a.py": "1\n", "b.py": "1\n"})
        self.home.mkdir()
        configure(self.home, "")
        for name, value in environment(self.home).items():
            monkeypatch.setenv(name, value)
        git(self.root, "remote", "add", "origin", "https://github.com/owner/name.git")
        git(self.root, "checkout", "-q", "-b", "topic")
        self.related = asyncio.run(self._record("mend a", "a.py"))
        self.other = asyncio.run(self._record("mend b", "b.py"))
        write(self.root, {"a.py": "2\n"})
        git(self.root, "commit", "-q", "-a", "-m", "second")
        self.log, self.body, self.view = folder / "log", folder / "body", folder / "view"
        self.answer("OPEN", "topic")
        self.programs = folder / "bin"
        self.programs.mkdir()
        gh = self.programs / "gh"
        gh.write_text(_GH.format(log=self.log, body=self.body, view=self.view))
        gh.chmod(0o755)
        monkeypatch.setenv("PATH", f"{self.programs}:{os.environ['PATH']}")

    def answer(self, state: str, branch: str) -> None:
        """What `gh` says of the pull request."""
        self.view.write_text(json.dumps({"number": 12, "state": state, "headRefName": branch}))

    async def _record(self, prompt: str, name: str) -> str:
        storage = open_storage(StorageTable(), environment(self.home))
        opened = storage.open_session(NewSession(), cwd=str(self.root))
        assert opened.ledger is not None
        change = FileChange(path=str(self.root / name), kind=ChangeKind.MODIFIED, declared=True)
        events: list[Event] = [
            SessionStarted(session_id=opened.session_id, model="p/m", mode=Mode.ASK, cwd=str(self.root)),
            TurnStarted(prompt=prompt),
            EffectsObserved(context=a_context(), effects=Effects(changes=(change,), complete=True)),
        ]
        for event in events:
            await opened.ledger.append(event)
        await opened.ledger.aclose()
        storage.close()
        return opened.session_id

    def run(self, **wish: object) -> int:
        assert COMMAND.run is not None
        return COMMAND.run(PullRequestOptions(**wish), self.root)  # type: ignore[arg-type]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


def test_the_session_that_changed_a_file_of_the_branch_is_described_and_posted_where_that_was_said(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert desk.run(yes=True) == 0

    out, err = capsys.readouterr()
    assert desk.related in out
    assert desk.other not in out
    assert desk.body.read_text() == out
    assert desk.log.read_text().splitlines() == [
        "pr view --repo owner/name --json number,state,headRefName -- topic",
        "pr comment --repo owner/name --body-file - -- 12",
    ]
    assert "posted: https://github.com/owner/name/pull/12#issuecomment-1" in err


def test_nothing_is_posted_before_the_person_says_yes(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    assert desk.run(number=12) == 1

    assert "Post this as a comment on owner/name#12? [y/N]" in capsys.readouterr().err
    assert not desk.body.exists()


def test_without_a_terminal_the_comment_is_printed_and_the_option_that_posts_it_named(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match="--yes posts it without asking"):
        desk.run()

    assert desk.related in capsys.readouterr().out
    assert not desk.body.exists()


def test_the_trailer_names_session_and_head_and_asks_nobody(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert desk.run(trailer=True) == 0

    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"Quorum-Session: {desk.related} head=")
    assert not desk.log.exists()


@pytest.mark.parametrize(
    ("state", "branch", "why"),
    [("CLOSED", "topic", "is closed; name an open one"), ("OPEN", "12", "no pull request of the branch topic")],
)
def test_a_pull_request_that_is_closed_or_of_another_branch_gets_no_comment(
    desk: Desk, state: str, branch: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.answer(state, branch)

    with pytest.raises(UsageError, match=why):
        desk.run(yes=True)
    assert desk.run() == 0  # it is printed all the same

    assert f"it was not posted: {'owner/name#12 ' if state == 'CLOSED' else ''}{why}" in capsys.readouterr().err
    assert not desk.body.exists()


def test_sessions_can_be_named_and_a_known_secret_in_a_title_stays(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = asyncio.run(desk._record(f"deploy with {SECRET}", "c.py"))
    monkeypatch.setenv("DEPLOY_API_KEY", SECRET)

    assert desk.run(sessions=(session, desk.other), print=True) == 0

    out = capsys.readouterr().out
    assert session in out
    assert desk.other in out
    assert desk.related not in out
    assert "deploy with [secret:DEPLOY_API_KEY]" in out


def test_a_branch_without_sessions_is_an_error_with_the_remedy(desk: Desk) -> None:
    with pytest.raises(UsageError, match="name them with --session"):
        desk.run(base="topic")

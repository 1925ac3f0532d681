"""Hooks around a session, in whole runs: they see its beginning, its questions and its end, however it ends."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

import pytest

from tests.e2e.test_terminal_goes_away import hung_up
from tests.support.headless_run import configure, environment, run, start
from tests.support.liveness import wait_until
from tests.support.terminal import Terminal

# No Python: at the end of a session all hooks together have a few seconds, also on a busy machine.
SCRIPT = """printf '%s\\n' "$(cat)" >> "$1"
"""
SETTINGS = """
[[hooks]]
event = ["on_session_start", "on_session_end", "on_permission_request", "on_notification", "on_compaction"]
command = ["/bin/sh", "{script}", "{log}"]

[[hooks]]
event = ["on_session_start", "on_session_end", "on_permission_request", "on_notification"]
command = ["/bin/sh", "{script}", "{log}.claude"]
dialect = "claude"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    script = folder / "hook.sh"
    script.write_text(SCRIPT, encoding="utf-8")
    configure(folder, SETTINGS.format(script=script, log=folder / "log"))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def read(home: Path, name: str = "log") -> str:
    file = home / name
    return file.read_text(encoding="utf-8") if file.exists() else ""


def seen(home: Path, key: str = "event", name: str = "log") -> list[str]:
    return [json.loads(line)[key] for line in read(home, name).splitlines()]


@pytest.mark.long
async def test_a_headless_run_is_seen_from_its_beginning_to_its_end(home: Path, project: Path) -> None:
    ended = await run("run `touch began`", "--output", "json", cwd=project, env=environment(home))

    assert ended.report["status"] == "needs_approval"
    assert seen(home) == ["on_session_start", "on_permission_request", "on_notification", "on_session_end"]
    assert seen(home, "hook_event_name", "log.claude") == [
        *("SessionStart", "PermissionRequest", "Notification", "SessionEnd")
    ]
    asked = json.loads(read(home, "log.claude").splitlines()[1])
    assert (asked["tool_name"], asked["tool_input"]) == ("Bash", {"command": "touch began"})


@pytest.mark.long
async def test_a_safe_start_runs_no_hook_and_says_so(home: Path, project: Path) -> None:
    ended = await run("--safe", "run `touch began`", "--output", "json", cwd=project, env=environment(home))

    assert ended.report["status"] == "needs_approval"
    assert "safe start (--safe): no hooks" in ended.err
    assert read(home) == ""


@pytest.mark.long
async def test_a_run_that_is_terminated_has_its_end_seen(home: Path, project: Path) -> None:
    process = await start("run `touch began; sleep 300`", "--mode", "auto", cwd=project, env=environment(home))
    async with asyncio.timeout(120):
        while not (project / "began").exists():  # noqa: ASYNC110 - "started" is told before it is
            await asyncio.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        await process.communicate()

    assert seen(home)[-1] == "on_session_end"


@pytest.mark.long
def test_a_terminal_that_is_closed_over_a_question_has_the_end_of_its_session_seen(
    home: Path, project: Path
) -> None:
    with Terminal(project, home, rows=40, columns=120, arguments=[]) as terminal:
        terminal.wait_for("enter sends")
        terminal.submit("run `touch began`")
        wait_until(lambda: "needs_approval" in read(home), what="the notification")
        app = terminal.process.pid
        hung_up(terminal, app)

    assert seen(home) == [*("on_session_start", "on_permission_request", "on_notification", "on_session_end")]

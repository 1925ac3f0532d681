"""The process ends as soon as nothing is left to do, and no sooner."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from quorum.__main__ import main
from quorum.command_line import reading

ROOT = Path(__file__).parents[2]
START = "import atexit, sys, threading; from quorum.__main__ import main; sys.argv = ['quorum', {argument!r}]\n"


def run(code: str, argument: str = "--version") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", START.format(argument=argument) + code],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_what_was_printed_arrives_and_what_is_to_be_done_at_the_end_is_done_once() -> None:
    done = run("atexit.register(print, 'at the end')\nmain()\nprint('never')")

    version, *rest = done.stdout.splitlines()
    assert version.startswith("quorum ")
    assert rest == ["at the end"]
    assert (done.returncode, done.stderr) == (0, "")


def test_a_thread_that_still_works_is_waited_for() -> None:
    code = (
        "work = lambda: (threading.main_thread().join(), print('worked'))\n"
        "threading.Thread(target=work).start(); atexit.register(print, 'at the end'); main()"
    )
    done = run(code)

    assert done.stdout.splitlines()[1:] == ["worked", "at the end"]
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "end", ["main()", "threading.Thread(target=threading.main_thread().join).start(); main()"]
)
def test_the_exit_code_is_the_same(end: str) -> None:
    assert run(end, argument="--no-such-option").returncode == 2


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("can't start new thread")], ids=repr)
def test_want_of_memory_before_there_is_a_report_ends_as_any_failure_at_the_start(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run_short(_arguments: object) -> None:
        raise error

    monkeypatch.setattr(reading, "parse", run_short)

    with pytest.raises(SystemExit) as stopped:
        main(["config", "show"])
    assert stopped.value.code == 2
    assert "not enough memory" in capsys.readouterr().err

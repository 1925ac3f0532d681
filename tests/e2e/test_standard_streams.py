"""Output that nobody reads or that has no room, and signals at any moment, end a command with its exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, count
from pathlib import Path

import pytest

from quorum.domain.events.report import RunReport, RunStatus
from quorum.run_signals import RunSignals
from quorum.standard_streams import CLOSED_PIPE, UNWRITABLE
from tests.support.headless_run import QUORUM, configure, environment

COMMANDS = [
    ["run", "read a.txt"],
    ["run", "--output", "json", "read a.txt"],
    ["run", "--output", "stream-json", "read a.txt"],
    ["sessions", "--help"],
    ["config", "show"],
    ["doctor"],
    ["--help"],
    ["run", "--help"],
    ["--version"],
]
ROOT = Path(__file__).parents[2]
NEEDS_LINUX = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    (tmp_path / "a.txt").write_text("alpha\n", encoding="utf-8")
    return environment(tmp_path / "home")


def ended(
    command: str, arguments: Sequence[str], cwd: Path, env: Mapping[str, str]
) -> subprocess.CompletedProcess[bytes]:
    """A shell's command in which "$@" is quorum with these arguments."""
    return subprocess.run(
        ["bash", "-c", command, "bash", str(QUORUM), *arguments],
        cwd=cwd,
        env=env,
        capture_output=True,
        timeout=60,
        check=False,
    )


@pytest.mark.long
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_reader_that_is_gone_ends_a_command_as_sigpipe_would(
    arguments: list[str], tmp_path: Path, env: dict[str, str]
) -> None:
    done = ended('"$@" | true; exit ${PIPESTATUS[0]}', arguments, tmp_path, env)

    assert (done.returncode, b"Traceback" in done.stderr) == (CLOSED_PIPE, False), done.stderr


@pytest.mark.long
@NEEDS_LINUX
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_output_that_has_no_room_is_reported_in_a_sentence(
    arguments: list[str], tmp_path: Path, env: dict[str, str]
) -> None:
    done = ended('"$@" > /dev/full', arguments, tmp_path, env)

    assert done.returncode == UNWRITABLE
    assert done.stderr.splitlines()[-1] == (
        b"quorum: standard output cannot be written: No space left on device"
    )
    assert b"Traceback" not in done.stderr


@pytest.mark.long(after=1)
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_closed_output_is_refused_before_anything_is_done(
    arguments: list[str], tmp_path: Path, env: dict[str, str]
) -> None:
    done = ended('"$@" >&-', arguments, tmp_path, env)

    assert done.returncode == (UNWRITABLE if arguments[-1].startswith("--") else 2)
    assert done.stderr.startswith(b"quorum: standard output ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.long
@pytest.mark.parametrize("closed", ["2>&-", "2>/dev/full", "2> >(true)", "<&- 2>&-"])
def test_errors_that_nobody_reads_hold_up_nothing(closed: str, tmp_path: Path, env: dict[str, str]) -> None:
    done = ended(f'"$@" {closed}', ["run", "-v", "read a.txt"], tmp_path, env)

    assert done.returncode == 0
    assert b"alpha" in done.stdout


@pytest.mark.long
def test_a_run_whose_reader_goes_ends_with_all_it_started(tmp_path: Path, env: dict[str, str]) -> None:
    configure(tmp_path / "home", '[tools.run_command]\nsandbox = "off"\n')
    process = subprocess.Popen(
        [QUORUM, "run", "--mode", "auto", "run echo $$ > pid; exec sleep 300"],
        cwd=tmp_path,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    while not (started := tmp_path / "pid").exists() or not started.read_text():
        assert process.poll() is None
    assert process.stdout is not None
    process.stdout.close()  # nothing was written to it yet, and nothing will be for minutes

    assert process.wait(120) == CLOSED_PIPE
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


@pytest.mark.long
@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_what_an_encoding_cannot_hold_is_escaped(
    output: str, encoding: str, tmp_path: Path, env: dict[str, str]
) -> None:
    (tmp_path / "a.txt").write_text("é 中 😀\n", encoding="utf-8")
    env["PYTHONIOENCODING"] = encoding

    done = ended('"$@"', ["run", "--output", output, "read a.txt"], tmp_path, env)

    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    text = done.stdout.decode(encoding)
    if output == "text":
        wanted = "é 中 😀".encode(encoding, "backslashreplace").decode(encoding)
        assert wanted.replace("\\xe9", "\\u00e9").replace("\\U0001f600", "\\ud83d\\ude00") in text
    else:
        assert "é 中 😀" in json.loads(text.splitlines()[-1])["text"]


# ------------------------------------------------------------------ signals

# Spread over what happens before a command runs; each signal comes at other moments.
DELAYS = [[0.2 * step + offset for step in range(6)] for offset in (0.1, 0.16, 0.23)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("number", "output", "delays"),
    [
        (signal.SIGINT, "json", DELAYS[0]),
        (signal.SIGTERM, "stream-json", DELAYS[1]),
        (signal.SIGHUP, "text", DELAYS[2]),
    ],
    ids=["SIGINT", "SIGTERM", "SIGHUP"],
)
def test_a_signal_at_any_moment_ends_a_run_as_interrupted(
    number: signal.Signals, output: str, delays: list[float], tmp_path: Path, env: dict[str, str]
) -> None:
    configure(tmp_path / "home", '[tools.run_command]\nsandbox = "off"\n')
    codes: list[int] = []
    # Where the machine is slow, it takes longer than all of these until the first line of ours runs.
    moments = chain(delays, (delays[-1] * 2**n for n in count(1)))
    for tried, delay in enumerate(moments):
        if tried >= len(delays) and len(codes) > len(delays) // 2:
            break
        process = subprocess.Popen(
            [QUORUM, "run", "--output", output, "--mode", "auto", "run sleep 600"],
            cwd=tmp_path,
            env={**env, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=partial(signal.signal, number, signal.SIG_DFL),  # whatever the tests run under ignores
        )
        try:
            out, err = process.communicate(timeout=delay)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
            out, err = process.communicate(timeout=120)
        if _in_the_interpreter(process.returncode, number, out, err):
            continue
        codes.append(process.returncode)
        assert (process.returncode, b"Traceback" in err) == (130, False), (delay, err)
        if output != "text":
            assert json.loads(out.splitlines()[-1])["status"] == "interrupted"


def _in_the_interpreter(code: int, number: int, out: bytes, err: bytes) -> bool:
    """Whether the signal came before the first line of ours ran: what happens then is the interpreter's.

    It dies, or it tells where it was; there are moments in which it even loses a SIGINT and goes on.
    """
    is_ours = any(f"{ROOT}/{package}/".encode() in err for package in ("quorum", "tui", "application"))
    return (code == -number and not out) or (b"Traceback" in err and not is_ours)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("output", ["json", "stream-json"])
def test_what_is_printed_where_there_is_no_session_yet_is_the_report_of_one(
    output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = RunReport(session_id="", status=RunStatus.INTERRUPTED, stop_reason=None, text="", turns=0)
    printed: list[bytes] = []
    codes: list[int] = []
    monkeypatch.setattr(os, "write", lambda _fd, data: printed.append(data))
    monkeypatch.setattr(os, "_exit", codes.append)
    former = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        RunSignals(["run", "go", "--output", output])
        signal.raise_signal(signal.SIGTERM)
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)

    shown = json.loads(printed[0])
    head = {"type": "session_finished", "v": 1} if output == "stream-json" else {}
    assert (shown, codes) == ({**head, **report.to_json()}, [130])

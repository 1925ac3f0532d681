from __future__ import annotations

import asyncio
import os
import py_compile
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from quorum.domain.calls.summary import extract_text
from quorum.domain.errors import ToolError
from quorum.infrastructure.execution.commands import supervisor
from quorum.infrastructure.execution.commands.process import SupervisedProcess
from quorum.infrastructure.execution.program import is_compiled_from
from quorum.infrastructure.tools.builtin.run_command import RunCommand
from tests.infrastructure.commands.command_bench import (
    Daemon,
    RecordingControls,
    a_sleep,
    alive_with,
    context_with,
    eventually,
    run_out_of_time,
    tool_in,
)

pytestmark = pytest.mark.skipif(
    sys.platform != "linux",
    reason="only Linux has child subreapers; elsewhere daemons are ended at best effort",
)

# Plays quorum: runs one command until it is killed.
_QUORUM = """
import asyncio, sys
from pathlib import Path
from tests.infrastructure.commands.command_bench import RecordingControls, context_with, tool_in
asyncio.run(tool_in(Path(sys.argv[1])).execute({"command": sys.argv[2]}, context_with(RecordingControls())))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.fixture
def tool(root: Path) -> RunCommand:
    return tool_in(root)


@pytest.fixture
def daemon(root: Path) -> Daemon:
    return Daemon(root)


def another_quorum(root: Path, command: str) -> subprocess.Popen[bytes]:
    repository = str(Path(__file__).parents[3])
    return subprocess.Popen(
        [sys.executable, "-c", _QUORUM, str(root), command],
        cwd=repository,
        env={**os.environ, "PYTHONPATH": repository},
    )


async def run(tool: RunCommand, command: str, **arguments: int) -> str:
    return extract_text(
        await tool.execute({"command": command, **arguments}, context_with(RecordingControls()))
    )


@pytest.mark.long
async def test_what_survives_a_command_is_ended_and_said(tool: RunCommand, daemon: Daemon) -> None:
    sleep = a_sleep()

    result = await run(tool, f"{daemon.command}; sleep {sleep} & echo done")

    assert result == "done\nexit code 0\n2 background processes were ended"
    assert not daemon.is_alive()
    assert not alive_with(sleep)


async def test_one_survivor_is_reported_in_the_singular(tool: RunCommand) -> None:
    assert await run(tool, "sleep 600 & true") == "exit code 0\n1 background process was ended"


async def test_a_process_about_to_end_by_itself_may_finish_its_output(tool: RunCommand) -> None:
    assert await run(tool, "echo written > >(sleep 0.01; cat)") == "written\nexit code 0"


@pytest.mark.long
async def test_a_timeout_leaves_no_process(tool: RunCommand, daemon: Daemon) -> None:
    sleep = a_sleep()

    running = run(tool, f"{daemon.command}; trap '' TERM; sleep {sleep}", timeout_secs=60)
    said = await run_out_of_time(running, once=lambda: alive_with(sleep))

    assert "ended after 60 s" in said
    assert not daemon.is_alive()
    assert not alive_with(sleep)


@pytest.mark.long
async def test_a_command_may_tidy_up_when_its_time_is_over(tool: RunCommand, root: Path) -> None:
    command = "trap 'echo tidied; exit' TERM; touch begun; while :; do sleep 0.01; done"

    assert "tidied" in await run_out_of_time(run(tool, command), once=(root / "begun").exists)


async def test_a_stopped_process_is_ended_too(tool: RunCommand) -> None:
    sleep = a_sleep()

    result = await run(tool, f"sleep {sleep} & kill -STOP $!")

    assert result == "exit code 0\n1 background process was ended"
    assert not alive_with(sleep)


@pytest.mark.long
async def test_cancellation_passes_once_all_is_dead(tool: RunCommand, daemon: Daemon) -> None:
    controls = RecordingControls()
    command = f"{daemon.command}; echo so far; sleep 600"
    running = asyncio.create_task(tool.execute({"command": command}, context_with(controls)))
    await eventually(lambda: controls.reports == ["so far"])

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert not daemon.is_alive()


@pytest.mark.long
async def test_cancelling_again_does_not_cut_the_tidying_short(tool: RunCommand, daemon: Daemon) -> None:
    running = asyncio.create_task(run(tool, f"{daemon.command}; sleep 600"))
    await eventually(daemon.ready.exists)

    for _ in range(5):
        running.cancel()
        await asyncio.sleep(0)
        assert not running.done()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert not daemon.is_alive()


async def test_what_was_printed_before_a_cancellation_has_been_shown(tool: RunCommand, root: Path) -> None:
    controls = RecordingControls()
    command = "echo one; echo two; touch printed; sleep 600"
    running = asyncio.create_task(tool.execute({"command": command}, context_with(controls)))
    await eventually((root / "printed").exists)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert controls.reports[-1] == "one\ntwo"


@pytest.mark.long
async def test_a_command_dies_with_quorum_though_that_is_killed(root: Path, daemon: Daemon) -> None:
    sleep = a_sleep()
    quorum = another_quorum(root, f"{daemon.command}; sleep {sleep}")
    await eventually(lambda: daemon.is_alive() and alive_with(sleep))

    quorum.kill()
    quorum.wait()

    await eventually(lambda: not daemon.is_alive() and not alive_with(sleep))


@pytest.mark.long
async def test_a_command_that_stopped_its_warden_dies_with_quorum_too(root: Path, daemon: Daemon) -> None:
    sleep = a_sleep()
    quorum = another_quorum(root, f"{daemon.command}; kill -STOP $PPID; sleep {sleep}")
    await eventually(lambda: daemon.is_alive() and alive_with(sleep))

    quorum.kill()
    quorum.wait()

    await eventually(lambda: not daemon.is_alive() and not alive_with(sleep))


async def test_signals_to_the_warden_do_not_end_it(tool: RunCommand) -> None:
    command = "for name in HUP INT QUIT TERM USR1 USR2 ALRM PIPE; do kill -$name $PPID; done; echo here"

    assert await run(tool, command) == "here\nexit code 0"


async def test_killing_the_warden_frees_nobody_and_is_reported(tool: RunCommand, daemon: Daemon) -> None:
    sleep = a_sleep()

    with pytest.raises(ToolError) as caught:
        await run(tool, f"echo begun; {daemon.command}; kill -9 $PPID; sleep {sleep}")

    assert "how the command ended is not known; what it had printed until then:\nbegun" in str(caught.value)
    assert re.search(r"watches over .* was killed .* [123] process", str(caught.value))
    assert not daemon.is_alive()
    assert not alive_with(sleep)


@pytest.mark.long
async def test_a_warden_stopped_by_the_command_still_ends_it_on_timeout(
    tool: RunCommand, daemon: Daemon
) -> None:
    sleep = a_sleep()

    running = run(tool, f"{daemon.command}; kill -STOP $PPID; sleep {sleep}", timeout_secs=60)

    assert "ended after 60 s" in await run_out_of_time(running, once=lambda: alive_with(sleep))
    assert not alive_with(sleep)
    assert not daemon.is_alive()


async def test_a_warden_that_does_not_answer_is_replaced_by_our_own_sweep(root: Path) -> None:
    daemon = Daemon(root, wrapper="env -i")  # without the marker, it is found as the supervisor's descendant
    printed = bytearray()
    process = SupervisedProcess(
        ["/bin/sh", "-c", f"{daemon.command}; echo $PPID; sleep 600"],
        cwd=root,
        environment={"PATH": "/usr/bin:/bin"},
        timeout_secs=600,
        on_output=printed.extend,
        supervisor_secs=0.2,
    )
    await eventually(lambda: printed.endswith(b"\n"))

    process.end()
    os.kill(int(printed), signal.SIGSTOP)
    ending = await process.wait()

    assert ending.supervisor_lost
    # It may have come to end the shell, or what that waited for, and reported so, before it was stopped.
    assert ending.exit_code in {None, -signal.SIGTERM, 128 + signal.SIGTERM}
    assert ending.left == ()
    assert not daemon.is_alive()


async def test_a_folder_that_is_gone_at_the_last_moment_leaves_no_descriptor_open(root: Path) -> None:
    before = os.listdir("/proc/self/fd")

    with pytest.raises(FileNotFoundError):
        SupervisedProcess(
            ["/bin/sh", "-c", "true"],
            cwd=root / "gone",
            environment={},
            timeout_secs=1,
            on_output=lambda _data: None,
        )

    assert os.listdir("/proc/self/fd") == before


async def test_a_finished_command_leaves_no_descriptor_open(tool: RunCommand) -> None:
    await run(tool, "true")
    before = os.listdir("/proc/self/fd")

    await run(tool, "true")

    assert os.listdir("/proc/self/fd") == before


def test_the_list_of_ps_and_that_of_proc_agree() -> None:
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as child:
        by_proc, by_ps = supervisor.list_processes_by_proc(), supervisor.list_processes_by_ps()
        child.kill()

    assert by_proc[child.pid] == by_ps[child.pid] == (os.getpid(), child.pid)
    assert os.getpid() in by_ps


def test_a_family_is_all_below_the_roots_and_the_group() -> None:
    table = {1: (0, 1), 10: (1, 10), 11: (10, 11), 12: (11, 12), 20: (1, 7), 21: (20, 21), 30: (1, 30)}

    assert supervisor.find_family(table, roots={10}, group=7) == {11, 12, 20, 21}
    assert supervisor.find_family(table, roots={10}, group=None) == {11, 12}


def test_a_compiled_supervisor_is_run_only_if_it_is_of_the_source_as_it_is_now(tmp_path: Path) -> None:
    source, compiled = tmp_path / "program.py", tmp_path / "program.pyc"
    source.write_text("x = 1\n")
    py_compile.compile(str(source), str(compiled))
    assert is_compiled_from(str(compiled), str(source))

    source.write_text("x = 1000\n")
    assert not is_compiled_from(str(compiled), str(source))
    py_compile.compile(
        str(source), str(compiled), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    assert not is_compiled_from(str(compiled), str(source))
    assert not is_compiled_from(str(tmp_path / "none.pyc"), str(source))

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.infrastructure.commands.command_bench import (
    Daemon,
    RecordingControls,
    a_sleep,
    alive_with,
    context_with,
    eventually,
    run_out_of_time,
)
from tests.infrastructure.sandbox.sandbox_bench import Household, needs_bubblewrap

pytestmark = needs_bubblewrap

# Plays quorum: runs one command in a sandbox until it is killed.
_QUORUM = """
import asyncio, sys
from pathlib import Path
from tests.infrastructure.sandbox.sandbox_bench import Household
home, root, path, command = sys.argv[1:]
environ = {"HOME": home, "PATH": path}
asyncio.run(Household(home=Path(home), root=Path(root), environ=environ).run(command))
"""


# Gives a program in the sandbox its standard input by a descriptor of each number.
_NUMBERS = (*range(5, 13), 99)
_INPUTS = f"""
import asyncio, os, sys
from pathlib import Path
places = [os.open(os.devnull, os.O_RDONLY) for _ in range(100)]
from quorum.infrastructure.execution.commands.process import SupervisedProcess
from tests.infrastructure.sandbox.sandbox_bench import Household
home, root, path = sys.argv[1:]
environ = {{"HOME": home, "PATH": path}}
sandbox = Household(home=Path(home), root=Path(root), environ=environ).sandbox()

async def read_by(number):
    reader, writer = os.pipe()
    os.dup2(reader, number)
    os.close(reader)
    os.write(writer, b"%d " % number)
    os.close(writer)
    launch = sandbox.wrap(("/bin/cat",), Path(root), environ, network=False)
    process = SupervisedProcess(
        launch.argv, cwd=Path(root), environment=environ, timeout_secs=None, stdin=number,
        on_output=lambda data: os.write(1, data), guards=launch.guards, keys=launch.keys,
    )
    os.close(number)
    await process.wait()

for number in {_NUMBERS}:
    asyncio.run(read_by(number))
"""


def another_quorum(household: Household, command: str) -> subprocess.Popen[bytes]:
    repository = str(Path(__file__).parents[3])
    words = [str(household.home), str(household.root), household.environ["PATH"], command]
    return subprocess.Popen(
        [sys.executable, "-c", _QUORUM, *words],
        cwd=repository,
        env={**os.environ, "PYTHONPATH": repository},
    )


async def test_output_exit_code_and_standard_input_are_those_of_the_command(household: Household) -> None:
    assert await household.run("cat; echo 1; echo 2 >&2; echo 3; exit 7") == "1\n2\n3\nexit code 7"


async def test_no_descriptor_of_ours_reaches_the_command(household: Household) -> None:
    assert await household.run("exec ls /proc/self/fd") == "0\n1\n2\n3\nexit code 0"


@pytest.mark.long
def test_a_program_gets_its_standard_input_whatever_number_it_has_here(household: Household) -> None:
    repository = str(Path(__file__).parents[3])
    words = [str(household.home), str(household.root), household.environ["PATH"]]

    shown = subprocess.run(
        [sys.executable, "-c", _INPUTS, *words],
        cwd=repository,
        env={**os.environ, "PYTHONPATH": repository},
        capture_output=True,
        text=True,
        check=True,
    )

    assert shown.stdout.split() == list(map(str, _NUMBERS))


async def test_an_end_by_signal_is_reported(household: Household) -> None:
    assert await household.run("kill -SEGV $$") == (
        "exit code 139\nin the sandbox exit code 139 may stand for SIGSEGV"
    )


async def test_output_is_shown_while_the_command_runs(household: Household) -> None:
    controls = RecordingControls()
    running = asyncio.create_task(
        household.tool().execute({"command": "echo so far; sleep 600"}, context_with(controls))
    )

    await eventually(lambda: controls.reports == ["so far"])

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.long
async def test_what_survives_a_command_is_ended_and_said(household: Household) -> None:
    daemon, sleep = Daemon(household.root), a_sleep()

    output = await household.run(f"{daemon.command}; sleep {sleep} & echo done")

    assert output == "done\nexit code 0\n2 background processes were ended"
    assert not daemon.is_alive()
    assert not alive_with(sleep)


async def test_a_process_about_to_end_by_itself_may_finish_its_output(household: Household) -> None:
    assert await household.run("echo written > >(sleep 0.01; cat)") == "written\nexit code 0"


@pytest.mark.long
async def test_a_timeout_leaves_no_process(household: Household) -> None:
    daemon, sleep = Daemon(household.root), a_sleep()

    running = household.run(f"{daemon.command}; trap '' TERM; sleep {sleep}", timeout_secs=60)
    said = await run_out_of_time(running, once=lambda: alive_with(sleep))

    assert "ended after 60 s" in said
    assert not daemon.is_alive()
    assert not alive_with(sleep)


@pytest.mark.long
async def test_a_command_may_tidy_up_when_its_time_is_over(household: Household) -> None:
    command = "trap 'echo tidied; exit' TERM; touch begun; while :; do sleep 0.01; done"
    running = household.run(command)

    assert "tidied" in await run_out_of_time(running, once=(household.root / "begun").exists)


@pytest.mark.long
async def test_cancellation_passes_once_all_is_dead(household: Household) -> None:
    daemon = Daemon(household.root)
    running = asyncio.create_task(household.run(f"{daemon.command}; sleep 600"))
    await eventually(daemon.ready.exists)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert not daemon.is_alive()


@pytest.mark.long
async def test_nothing_outlives_quorum_when_it_is_killed(household: Household) -> None:
    daemon, sleep = Daemon(household.root), a_sleep()
    quorum = another_quorum(household, f"{daemon.command}; (trap '' TERM; sleep {sleep})")
    await eventually(lambda: alive_with(sleep))

    quorum.send_signal(signal.SIGKILL)
    quorum.wait()

    await eventually(lambda: not alive_with(sleep) and not daemon.is_alive())


async def test_a_command_cannot_signal_its_warden(household: Household) -> None:
    output = await household.run("kill -KILL $PPID; kill -KILL -1; echo alive")

    assert output.endswith("alive\nexit code 0")

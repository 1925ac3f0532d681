from __future__ import annotations

import asyncio
import re
import resource
import signal
from pathlib import Path

import pytest

from quorum.domain.calls.summary import extract_text
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ToolError
from quorum.infrastructure.tools.builtin.run_command import RunCommand
from tests.infrastructure.commands.command_bench import (
    RecordingControls,
    context_with,
    eventually,
    run_out_of_time,
    tool_in,
)


async def run(tool: RunCommand, command: str, **arguments: object) -> str:
    given = {"command": command, **arguments}
    return extract_text(await tool.execute(given, context_with(RecordingControls())))  # type: ignore[arg-type]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.fixture
def tool(root: Path) -> RunCommand:
    return tool_in(root)


def test_it_is_of_high_risk_and_runs_alone(tool: RunCommand) -> None:
    definition = tool.definition

    assert definition.risk is RiskLevel.HIGH
    assert definition.determine_access({"command": "true"}).exclusive
    assert [(p.name, p.type, p.required) for p in definition.parameters] == [
        ("command", "string", True),
        ("working_dir", "path", False),
        ("timeout_secs", "integer", False),
    ]


async def test_the_result_is_the_output_and_the_exit_code(tool: RunCommand) -> None:
    assert await run(tool, "echo hello") == "hello\nexit code 0"


async def test_a_command_without_output_gives_its_exit_code_only(tool: RunCommand) -> None:
    assert await run(tool, "true") == "exit code 0"


async def test_a_failing_command_is_a_result_and_not_an_error(tool: RunCommand) -> None:
    assert await run(tool, "echo no; exit 2") == "no\nexit code 2"


async def test_both_streams_come_in_the_order_printed(tool: RunCommand) -> None:
    assert await run(tool, "echo 1; echo 2 >&2; echo 3; echo 4 >&2") == "1\n2\n3\n4\nexit code 0"


async def test_an_end_by_signal_is_named(tool: RunCommand) -> None:
    assert await run(tool, "kill -SEGV $$") == "killed by SIGSEGV"


async def test_an_end_by_a_signal_without_a_name_is_numbered(tool: RunCommand) -> None:
    number = signal.SIGRTMIN + 3

    assert await run(tool, f"kill -{number} $$") == f"killed by signal {number:d}"


async def test_a_command_may_begin_with_a_dash(tool: RunCommand) -> None:
    assert "command not found" in await run(tool, "-x")


async def test_standard_input_is_empty(tool: RunCommand) -> None:
    assert await run(tool, "cat; readlink /proc/self/fd/0") == "/dev/null\nexit code 0"


async def test_no_other_descriptor_of_ours_reaches_the_command(tool: RunCommand) -> None:
    assert await run(tool, "exec ls /proc/self/fd") == "0\n1\n2\n3\nexit code 0"  # 3 is how ls reads the folder


async def test_the_command_leads_a_session_of_its_own_without_a_terminal(tool: RunCommand) -> None:
    result = await run(
        tool, "read -r pid _ _ _ group session tty _ </proc/$$/stat; echo $pid $group $session $tty"
    )

    pid, group, session, terminal = result.splitlines()[0].split()
    assert pid == group == session
    assert terminal == "0"


async def test_signals_have_their_usual_effect_in_the_command(tool: RunCommand) -> None:
    ignored, *rest = (await run(tool, "grep SigIgn /proc/self/status; yes | head -1")).splitlines()

    reserved = 1 << 31 | 1 << 32  # 32 and 33 belong to the C library; nobody else can set them back
    assert int(ignored.removeprefix("SigIgn:"), 16) & ~reserved == 0
    assert rest == ["y", "exit code 0"]


async def test_it_runs_in_the_workspace_root_unless_cwd_is_given(tool: RunCommand, root: Path) -> None:
    (root / "inner").mkdir()

    assert await run(tool, "pwd") == f"{root}\nexit code 0"
    assert await run(tool, "pwd", working_dir="inner") == f"{root}/inner\nexit code 0"


@pytest.mark.parametrize("missing", ["nowhere", "file.txt"])
async def test_a_working_dir_that_is_no_folder_is_named(tool: RunCommand, root: Path, missing: str) -> None:
    (root / "file.txt").touch()

    with pytest.raises(ToolError, match=f"working_dir {missing} is not a folder"):
        await run(tool, "true", working_dir=missing)


async def test_a_working_dir_outside_the_workspace_is_refused(tool: RunCommand) -> None:
    with pytest.raises(ToolError, match="outside the workspace"):
        await run(tool, "true", working_dir="..")


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("echo a\0b", "NUL"),
        (" \n", "not empty"),
        (7, "must be a text"),
        ("echo \ud800", "not valid Unicode at character 5"),
        ("x" * 140_000, "140000 bytes.*script file"),
    ],
)
async def test_a_command_no_shell_can_be_given_is_refused(tool: RunCommand, command: str, says: str) -> None:
    with pytest.raises(ToolError, match=says):
        await run(tool, command)


@pytest.mark.parametrize("seconds", [0, -1, 1.5, True, "5", 10**400])
async def test_a_time_limit_that_is_no_positive_whole_number_is_refused(
    tool: RunCommand, seconds: object
) -> None:
    with pytest.raises(ToolError, match="timeout_secs must be a whole number"):
        await run(tool, "true", timeout_secs=seconds)


async def test_a_time_limit_may_be_a_whole_number_written_with_a_point(tool: RunCommand) -> None:
    assert await run(tool, "true", timeout_secs=5.0) == "exit code 0"


async def test_an_environment_too_large_for_the_system_is_said_to_be(root: Path) -> None:
    tool = tool_in(root, inherited={"PATH": "/usr/bin:/bin", "HUGE": "x" * 200_000})

    with pytest.raises(ToolError, match="could not be started: Argument list too long"):
        await run(tool, "true")


@pytest.mark.long
async def test_a_timeout_is_an_error_that_shows_what_was_printed(tool: RunCommand) -> None:
    controls = RecordingControls()
    given = {"command": "echo started; sleep 600", "timeout_secs": 60}

    said = await run_out_of_time(tool.execute(given, context_with(controls)), once=lambda: controls.reports)

    assert re.search(r"ended after 60 s.*\nstarted$", said)


@pytest.mark.long
async def test_a_timeout_without_output_says_so(root: Path) -> None:
    with pytest.raises(ToolError, match=r"ended after 1 s.*it had printed nothing"):
        await run(tool_in(root, timeout_secs=1), "sleep 600")


@pytest.mark.long
async def test_a_flood_of_output_does_not_hold_up_the_timeout(tool: RunCommand) -> None:
    with pytest.raises(ToolError, match="ended after 1 s"):
        await run(tool, "yes 'a long enough line to be busy with'", timeout_secs=1)


@pytest.mark.long
async def test_the_loop_stays_free_while_output_floods(tool: RunCommand) -> None:
    flood = asyncio.create_task(run(tool, "yes | head -c 50000000"))
    turns = 0
    while not flood.done():
        await asyncio.sleep(0)
        turns += 1

    assert flood.result().endswith("exit code 0")
    assert turns > 100


@pytest.mark.long
async def test_memory_does_not_grow_with_the_output(tool: RunCommand) -> None:
    await run(tool, "yes | head -c 1000000")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    result = await run(tool, "yes | head -c 200000000")

    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert result.startswith("y\ny\n")
    assert "… 199967232 bytes left out …" in result
    assert result.endswith("y\ny\nexit code 0")
    assert len(result) < 33_000
    assert grown_kb < 20_000


async def test_the_output_limit_is_a_setting(root: Path) -> None:
    result = await run(tool_in(root, max_output_bytes=10), "seq 1 100")

    assert result == "1\n2\n3\n… 282 bytes left out …\n\n100\nexit code 0"


async def test_output_is_shown_while_the_command_runs(tool: RunCommand, root: Path) -> None:
    controls = RecordingControls()
    command = "echo first; while [ ! -e go ]; do sleep 0.01; done; echo second"
    running = asyncio.create_task(tool.execute({"command": command}, context_with(controls)))

    await eventually(lambda: controls.reports == ["first"])
    (root / "go").touch()

    assert extract_text(await running) == "first\nsecond\nexit code 0"
    assert controls.reports == ["first", "first\nsecond"]


async def test_progress_shows_the_last_lines_and_comes_in_few_pieces(tool: RunCommand) -> None:
    controls = RecordingControls()

    await tool.execute({"command": "seq 1 200000"}, context_with(controls))

    assert controls.reports[-1] == "\n".join(map(str, range(199_991, 200_001)))
    assert len(controls.reports) < 100


async def test_output_without_a_newline_at_its_end_is_kept(tool: RunCommand) -> None:
    assert await run(tool, "printf 'no newline'") == "no newline\nexit code 0"


async def test_terminal_control_never_reaches_the_result(tool: RunCommand) -> None:
    command = r"printf '\033[31m[/red]\033[0m \033]52;c;ZXZpbA==\007\033[2Jok\r\n'"

    assert await run(tool, command) == "[/red] ok\nexit code 0"


async def test_two_commands_can_run_beside_each_other(tool: RunCommand) -> None:
    meet = "touch {0}; while [ ! -e {1} ]; do sleep 0.01; done; echo met"

    results = await asyncio.gather(run(tool, meet.format("a", "b")), run(tool, meet.format("b", "a")))

    assert list(results) == ["met\nexit code 0"] * 2

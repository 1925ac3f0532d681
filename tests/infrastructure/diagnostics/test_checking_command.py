import asyncio
import os
import sys
from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError, DiagnosticsFailed
from quorum.infrastructure.checking_command import (
    OUTPUT_BYTES,
    CheckingCommand,
    build_checking_commands,
)
from quorum.infrastructure.config.program_tables import DiagnosticsTable
from quorum.infrastructure.execution.commands.environment import build_command_environment
from tests.infrastructure.commands.command_bench import Daemon, eventually

COMPILE = (sys.executable, "-m", "py_compile", "{files}")


def a_command(
    workspace: Path, *argv: str, pattern: str = "*.py", timeout_secs: float = 30.0
) -> CheckingCommand:
    table = DiagnosticsTable(name="check", pattern=pattern, command=argv, timeout_secs=timeout_secs)
    (command,) = build_checking_commands([table], workspace, build_command_environment(os.environ, ()))
    return command


def a_program(workspace: Path, body: str, **options: float) -> CheckingCommand:
    return a_command(workspace, sys.executable, "-c", f"import sys, time\n{body}", "{files}", **options)


async def test_a_real_compiler_names_the_file_and_the_error(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def f(:\n")
    (tmp_path / "good.py").write_text("x = 1\n")
    command = a_command(tmp_path, *COMPILE)

    lines = await command.run([str(tmp_path / "bad.py")])

    assert any('File "bad.py", line 1' in line for line in lines)
    assert lines[-1].endswith("SyntaxError: invalid syntax")
    assert await command.run([str(tmp_path / "good.py")]) == ()


async def test_names_reach_the_program_as_they_are_and_never_as_options(tmp_path: Path) -> None:
    names = ["-x.py", "a b.py", "$(touch pwned).py", "'; touch pwned; '.py", "sub/c.py", "n\new.py"]
    (tmp_path / "sub").mkdir()
    for name in names:
        (tmp_path / name).touch()
    command = a_program(tmp_path, "print(*map(ascii, sys.argv[1:]), sep='\\n'); sys.exit(1)")

    files = await command.select_files([str(tmp_path / name) for name in names])
    lines = await command.run(files)

    assert set(lines) == {ascii(f"./{name}" if name.startswith("-") else name) for name in names}
    assert not (tmp_path / "pwned").exists()


async def test_only_files_that_exist_and_match_are_chosen(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "c.txt"):
        (tmp_path / name).touch()
    (tmp_path / "folder.py").mkdir()
    command = a_command(tmp_path, *COMPILE)

    chosen = await command.select_files(
        [str(tmp_path / n) for n in ("b.py", "a.py", "c.txt", "folder.py", "no.py")]
    )

    assert chosen == (str(tmp_path / "a.py"), str(tmp_path / "b.py"))


async def test_what_a_program_prints_without_an_error_does_not_count(tmp_path: Path) -> None:
    assert await a_program(tmp_path, "print('all is well')").run([]) == ()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("sys.exit(3)", "exited with 3 and printed nothing"),
        ("import os; os.kill(os.getpid(), 9)", "was killed by signal 9"),
        (f"sys.stdout.write('x' * {OUTPUT_BYTES + 1}); sys.exit(1)", "printed more than 1,000,000 bytes"),
    ],
)
async def test_a_run_that_says_nothing_usable_is_a_failure(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(DiagnosticsFailed, match=said):
        await a_program(tmp_path, body).run([])


async def test_a_program_that_takes_too_long_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticsFailed, match=r"took longer than 0\.2 s"):
        await a_program(tmp_path, "time.sleep(60)", timeout_secs=0.2).run([])


async def test_a_program_that_is_not_there_is_a_failure_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticsFailed, match="no program no-such-checker on PATH; install it"):
        await a_command(tmp_path, "no-such-checker", "{files}").run([])


async def test_a_workspace_that_is_gone_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticsFailed, match="could not be started"):
        await a_command(tmp_path / "gone", *COMPILE).run([])


@pytest.mark.long
async def test_cancelled_it_ends_the_program_and_all_that_it_started(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    command = a_command(tmp_path, "sh", "-c", f"{daemon.command}; sleep 60")
    running = asyncio.create_task(command.run([]))
    await eventually(daemon.ready.exists)

    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert not daemon.is_alive()


def test_a_program_of_the_opened_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"diagnostics\[0\]\.command starts with \"\./check\""):
        a_command(tmp_path, "./check", "{files}")


def test_a_table_that_is_off_makes_no_command(tmp_path: Path) -> None:
    table = DiagnosticsTable(name="check", pattern="*", command=("true",), enabled=False)

    assert build_checking_commands([table], tmp_path, build_command_environment(os.environ, ())) == ()

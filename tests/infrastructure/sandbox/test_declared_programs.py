"""Protected paths that declared programs make in the sandbox: custom tools, and diagnostics commands."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from quorum.domain.calls.summary import extract_text
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import DiagnosticsFailed, ToolError
from quorum.infrastructure.checking_command import build_checking_commands
from quorum.infrastructure.config.command_template import CustomToolDeclaration
from quorum.infrastructure.config.program_tables import DiagnosticsTable
from quorum.infrastructure.execution.commands.environment import build_command_environment
from quorum.infrastructure.execution.sandbox.session_tmp import SessionTmp
from quorum.infrastructure.tools.custom_tool import CustomTool
from tests.infrastructure.commands.command_bench import RecordingControls, context_with, eventually
from tests.infrastructure.sandbox.sandbox_bench import Household, needs_bubblewrap

pytestmark = needs_bubblewrap

_RENAMED = "protected paths that the command made were renamed, because nobody was asked about them"


def tool_running(household: Household, script: str) -> CustomTool:
    declaration = CustomToolDeclaration(
        name="mine",
        description="Does it",
        command=("/bin/sh", "-c", script),
        parameters=(),
        risk=RiskLevel.HIGH,
        timeout_secs=60,
        sandbox=True,
    )
    return CustomTool(
        declaration,
        root=household.root.resolve(),
        resources=lambda _: frozenset(),
        inherited=household.environ,
        sandbox=household.sandbox(),
    )


async def run(tool: CustomTool, *, was_asked: bool = False) -> str:
    return extract_text(await tool.execute({}, context_with(RecordingControls(was_asked=was_asked))))


async def test_what_a_custom_tool_makes_unasked_is_renamed_and_said(household: Household) -> None:
    said = await run(tool_running(household, "echo fine; echo evil > .envrc"))

    assert said.startswith(f"fine\n{_RENAMED}: ")
    assert not (household.root / ".envrc").exists()
    assert (household.root / "set-aside-envrc~1").read_text() == "evil\n"


async def test_what_the_person_approved_stays_and_is_named(household: Household) -> None:
    said = await run(tool_running(household, "touch .envrc"), was_asked=True)

    assert "made by the command, though protected" in said
    assert (household.root / ".envrc").exists()


async def test_what_a_custom_tool_writes_into_its_home_is_named_and_gone_with_it(
    household: Household, tmp_path: Path
) -> None:
    household.tmp = SessionTmp(tmp_path / "state")

    said = await run(tool_running(household, "echo fine; touch ~/notes"))

    assert said.startswith("fine\n~/notes was written in the sandbox's own home and is gone; ")


async def test_without_such_paths_the_result_is_exactly_what_it_printed(household: Household) -> None:
    assert await run(tool_running(household, "printf 'as it is\\n\\n'; touch plain")) == "as it is\n\n"


async def test_one_that_fails_or_is_interrupted_is_looked_at_too(household: Household) -> None:
    with pytest.raises(ToolError, match=_RENAMED):
        await run(tool_running(household, "touch AGENTS.md; exit 3"))
    assert (household.root / "set-aside-AGENTS.md~1").exists()

    running = asyncio.create_task(run(tool_running(household, "touch .envrc ready; sleep 600")))
    await eventually((household.root / "ready").exists)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not (household.root / ".envrc").exists()


@pytest.mark.parametrize("code", [0, 1])
async def test_diagnostics_that_make_one_fail_with_what_was_renamed(household: Household, code: int) -> None:
    table = DiagnosticsTable(
        name="check", pattern="*.py", command=("/bin/sh", "-c", f"touch .envrc; echo bad; exit {code}")
    )
    root = Path(household.root.resolve())
    (command,) = build_checking_commands(
        [table], root, build_command_environment(household.environ, ()), household.sandbox()
    )

    with pytest.raises(DiagnosticsFailed, match=_RENAMED):
        await command.run([])

    assert not (root / ".envrc").exists()

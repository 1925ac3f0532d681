"""Commands that ask to run outside the sandbox, and those that learn that they may."""

from __future__ import annotations

import pytest

from quorum.domain.calls.summary import extract_text
from quorum.domain.errors import StaleSeal, ToolError
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.execution.sandbox.confinement import Launch
from quorum.infrastructure.tools.builtin.run_command import RunCommand
from tests.infrastructure.commands.command_bench import RecordingControls, context_with, tool_in
from tests.infrastructure.sandbox.sandbox_bench import Household, needs_bubblewrap
from tests.support.shell_gates import gate_for

_ANYWHERE = {"command": "cat ~/notes", "outside_sandbox": True}


def tool_of(household: Household, choice: str = "auto") -> RunCommand:
    return tool_in(
        household.root,
        inherited=household.environ,
        sandbox=household.sandbox(choice),
        judge=gate_for(household.root).judge,
    )


async def output_of(tool: RunCommand, given: JsonObject, controls: RecordingControls) -> str:
    return extract_text(await tool.execute(given, context_with(controls)))


@needs_bubblewrap
async def test_it_runs_with_the_person_s_rights_once_they_were_asked(household: Household) -> None:
    household.write("notes", "mine\n")
    tool = tool_of(household)
    seal = await tool.seal(_ANYWHERE, {})

    assert seal.sandbox == "outside the sandbox: with your rights; network on"
    assert seal.unsealed is not None
    assert "no sandbox holds it" in seal.unsealed
    assert (await output_of(tool, _ANYWHERE, RecordingControls(seal, was_asked=True))).startswith("mine\n")


@needs_bubblewrap
async def test_it_does_not_run_where_the_person_was_not_asked(household: Household) -> None:
    with pytest.raises(ToolError, match="nothing was run: outside the sandbox only what the person was asked"):
        await output_of(tool_of(household), _ANYWHERE, RecordingControls())


@needs_bubblewrap
async def test_an_approval_inside_the_sandbox_is_none_outside_it(household: Household) -> None:
    tool = tool_of(household)
    seal = await tool.seal({"command": "true"}, {})

    with pytest.raises(StaleSeal, match="sandbox"):
        await output_of(
            tool, {"command": "true", "outside_sandbox": True}, RecordingControls(seal, was_asked=True)
        )


@needs_bubblewrap
@pytest.mark.parametrize("command", ["make", "ls", "echo $(make)"])
async def test_the_verdict_says_that_it_leaves_even_of_a_command_that_only_reads(
    household: Household, command: str
) -> None:
    verdict = await tool_of(household).judge({"command": command, "outside_sandbox": True})

    assert verdict is not None
    assert verdict.leaves_sandbox
    assert not verdict.is_confined


@needs_bubblewrap
async def test_where_nobody_judges_commands_it_is_still_reported(household: Household) -> None:
    verdict = await household.tool().judge(_ANYWHERE)

    assert verdict is not None
    assert verdict.leaves_sandbox


@needs_bubblewrap
async def test_a_required_sandbox_cannot_be_left(household: Household) -> None:
    tool = tool_of(household, "require")

    with pytest.raises(ToolError, match=r'tools\.run_command\.sandbox is "require"'):
        await tool.seal(_ANYWHERE, {})
    assert "outside_sandbox" not in {parameter.name for parameter in tool.definition.parameters}
    assert "outside_sandbox" in {parameter.name for parameter in tool_of(household).definition.parameters}


async def test_without_a_sandbox_there_is_nothing_to_leave(household: Household) -> None:
    tool = tool_of(household, "off")
    verdict = await tool.judge({"command": "make", "outside_sandbox": True})

    assert verdict is not None
    assert not verdict.leaves_sandbox
    assert "no sandbox" in str((await tool.seal(_ANYWHERE, {})).sandbox)


async def test_something_else_than_yes_or_no_is_an_error(household: Household) -> None:
    with pytest.raises(ToolError, match="outside_sandbox must be true or false"):
        await tool_of(household).seal({"command": "true", "outside_sandbox": "yes"}, {})


def test_in_a_layer_nothing_that_would_not_hold_there_is_offered() -> None:
    launch = Launch(argv=("git",), is_confined=True, is_in_layer=True)
    (said,) = launch.list_remarks(0, "'/repo/.git/worktrees/w/index.lock': Read-only file system")

    assert "a repository that lies outside of it" in said
    assert "sandbox_writable" not in said


@needs_bubblewrap
@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo 'curl: (6) Could not resolve host: example.org'; exit 6", "has no network"),
        ("echo 'dial tcp: lookup proxy.golang.org: no such host'; exit 1", "has no network"),
        ("echo 'npm error getaddrinfo ENOTFOUND packages.example'; exit 1", "has no network"),
        ("touch /usr/here", "write in the workspace only"),
        ("cat ~/.config/tool.toml", "hides the folder of"),
        ("echo 'Cannot connect to the Docker daemon at unix:///var/run/docker.sock'; exit 1", "sockets"),
    ],
)
async def test_a_command_that_failed_for_want_of_something_outside_names_the_way_out(
    household: Household, command: str, why: str
) -> None:
    household.network = False

    said = await household.run(command)

    assert why in said
    assert "call run_command again with outside_sandbox = true: the person is asked" in said


@needs_bubblewrap
@pytest.mark.parametrize(
    "command", ["echo 'Could not resolve host: x'", "false", "cat missing", "cat /usr/missing", "cat ~/x; true"]
)
async def test_a_command_that_failed_for_another_reason_or_did_not_names_no_way_out(
    household: Household, command: str
) -> None:
    household.network = False

    assert "outside_sandbox" not in await household.run(command)

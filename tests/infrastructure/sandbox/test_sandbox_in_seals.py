from __future__ import annotations

from pathlib import Path

import pytest

from quorum.application.event_bus import EventBus
from quorum.application.review.review import Review
from quorum.domain.calls.execution import Seal
from quorum.domain.calls.hook_points import Skip
from quorum.domain.calls.summary import extract_text
from quorum.domain.errors import HookFailure, StaleSeal, ToolError
from quorum.domain.review.mode import Mode
from quorum.infrastructure.config.command_template import CustomToolDeclaration
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.config.tools_table import RunCommandTable, ToolsTable
from quorum.infrastructure.execution.commands.environment import build_command_environment
from quorum.infrastructure.execution.sandbox.guarded_files import MOST_FOUND
from quorum.infrastructure.execution.sandbox.opening import build_sandbox
from quorum.infrastructure.hooks.command_hook import CommandHook
from quorum.infrastructure.storage import list_own_paths
from quorum.infrastructure.tools.builtin.run_command import RunCommand
from quorum.infrastructure.tools.custom_tool import CustomTool
from tests.infrastructure.commands.command_bench import RecordingControls, context_with, tool_in
from tests.infrastructure.sandbox.sandbox_bench import Household, needs_bubblewrap
from tests.support.fake_ports import FakePerson
from tests.support.hook_drafts import a_call_draft
from tests.support.reviews import a_review
from tests.support.shell_gates import gate_for

_IN_SANDBOX = "in a sandbox: writes in the workspace only; network"


def a_tool(household: Household, review: Review, **table: object) -> RunCommand:
    """A command's tool as a session with these settings has it."""
    settings = Settings(tools=ToolsTable(run_command=RunCommandTable(**table)))  # type: ignore[arg-type]
    own = list_own_paths(settings, [household.root], household.environ, ())
    sandbox = build_sandbox(
        settings.tools.run_command,
        household.policy(),
        household.environ,
        own=own,
        get_mode=lambda: review.mode,
    )
    return tool_in(household.root, inherited=household.environ, sandbox=sandbox)


async def sealed(tool: RunCommand) -> Seal:
    return await tool.seal({"command": "true"}, {})


@pytest.fixture
def review() -> Review:
    return a_review(person=FakePerson(), events=EventBus(()))


@needs_bubblewrap
async def test_a_workspace_that_is_too_large_is_a_gap_unless_the_command_only_reads(
    household: Household,
) -> None:
    gate = gate_for(household.root)
    tool = tool_in(household.root, inherited=household.environ, sandbox=household.sandbox(), judge=gate.judge)
    before = await tool.judge({"command": "touch x"})
    for number in range(MOST_FOUND + 1):
        household.write(f"src/project/{number}.pem")

    after = await tool.judge({"command": "touch x"})
    reading = await tool.judge({"command": "ls"})

    assert before is not None
    assert after is not None
    assert reading is not None
    assert before.sandbox_gap is None
    assert "too large to be looked through" in (after.sandbox_gap or "")
    assert reading.sandbox_gap is None


async def test_where_there_is_no_sandbox_nothing_is_a_gap_in_it(household: Household) -> None:
    assert household.sandbox("off").find_gap() is None


@needs_bubblewrap
@pytest.mark.parametrize(
    ("mode", "network", "reached"),
    [
        (Mode.ASK, "auto", "on"),
        (Mode.ACCEPT_EDITS, "auto", "on"),
        (Mode.QUORUM, "auto", "off"),
        (Mode.SANDBOXED, "auto", "off"),
        (Mode.AUTO, "auto", "off"),
        (Mode.AUTO, "on", "on"),
        (Mode.ASK, "off", "off"),
    ],
)
async def test_the_seal_tells_of_the_sandbox_and_the_network(
    household: Household, review: Review, mode: Mode, network: str, reached: str
) -> None:
    await review.set_mode(mode)

    seal = await sealed(a_tool(household, review, network=network))

    assert seal.sandbox == f"{_IN_SANDBOX} {reached}"


@needs_bubblewrap
async def test_what_was_approved_with_another_network_is_not_run(household: Household, review: Review) -> None:
    tool = a_tool(household, review)
    arguments = {"command": "echo > made"}
    seal = await tool.seal(arguments, {})
    await review.set_mode(Mode.AUTO)

    with pytest.raises(StaleSeal, match="sandbox changed since the approval"):
        await tool.execute(arguments, context_with(RecordingControls(seal)))

    assert not (household.root / "made").exists()


async def test_without_bubblewrap_the_seal_says_why(
    household: Household, review: Review, tmp_path: Path
) -> None:
    household.environ["PATH"] = str(tmp_path)

    seal = await sealed(a_tool(household, review))

    assert seal.sandbox is not None
    assert seal.sandbox.startswith("no sandbox: ")


async def test_a_network_that_could_not_be_shut_off_is_reported(
    household: Household, review: Review, tmp_path: Path
) -> None:
    household.environ["PATH"] = str(tmp_path)

    seal = await sealed(a_tool(household, review, network="off"))

    assert seal.sandbox is not None
    assert seal.sandbox.endswith("; the network, which should be off, is on")


async def test_switched_off_the_seal_says_so(household: Household, review: Review) -> None:
    seal = await sealed(a_tool(household, review, sandbox="off"))

    assert seal.sandbox == 'no sandbox: tools.run_command.sandbox is "off"'


@needs_bubblewrap
async def test_our_files_are_found_by_the_settings(household: Household, review: Review) -> None:
    household.environ["XDG_STATE_HOME"] = str(household.root / "state")
    household.write("src/project/state/quorum/ledger")

    output = await a_tool(household, review).execute(
        {"command": "cat state/quorum/ledger"}, context_with(RecordingControls())
    )

    assert "No such file" in extract_text(output)


def a_custom_tool(household: Household, *, sandbox: bool, choice: str = "auto") -> CustomTool:
    script = household.write("src/project/tool.sh", "cat ~/private; echo made > made; echo done\n")
    household.write("private")
    return CustomTool(
        CustomToolDeclaration(
            name="mine", description="Does it", command=("/bin/sh", str(script)), sandbox=sandbox
        ),
        root=household.root,
        resources=lambda path: {path},
        inherited=household.environ,
        sandbox=household.sandbox(choice),
    )


@needs_bubblewrap
async def test_a_custom_tool_runs_in_the_sandbox_where_that_is_declared(household: Household) -> None:
    tool = a_custom_tool(household, sandbox=True)
    seal = await tool.seal({}, {})

    assert seal.sandbox == f"{_IN_SANDBOX} on"
    assert await tool.execute({}, context_with(RecordingControls(seal))) == "done\n"
    assert (household.root / "made").exists()


async def test_a_custom_tool_runs_with_our_rights_where_nothing_is_declared(household: Household) -> None:
    tool = a_custom_tool(household, sandbox=False, choice="require")

    assert (await tool.seal({}, {})).sandbox is None
    assert await tool.execute({}, context_with(RecordingControls())) == "secret\ndone\n"


async def test_a_custom_tool_does_not_run_without_the_sandbox_that_is_required(
    household: Household, tmp_path: Path
) -> None:
    household.environ["PATH"] = str(tmp_path)

    with pytest.raises(ToolError, match="requires a sandbox"):
        await a_custom_tool(household, sandbox=True, choice="require").execute(
            {}, context_with(RecordingControls())
        )

    assert not (household.root / "made").exists()


def a_hook(household: Household, choice: str) -> CommandHook:
    """A hook that skips the call with what it can read of the home as the reason."""
    household.write("private")
    script = household.write("src/project/hook.sh", "cat > payload; cat ~/private >&2; echo seen >&2; exit 2\n")
    return CommandHook(
        ["/bin/sh", str(script)],
        cwd=household.root,
        environment=build_command_environment(household.environ, ()),
        sandbox=household.sandbox(choice),
    )


@needs_bubblewrap
async def test_a_command_hook_gets_its_payload_in_the_sandbox(household: Household) -> None:
    answer = await a_hook(household, "auto").answer(a_call_draft())

    assert isinstance(answer, Skip)
    assert answer.reason.endswith("seen")
    assert "secret" not in answer.reason
    assert "before_tool_call" in (household.root / "payload").read_text()


async def test_a_command_hook_fails_without_the_sandbox_that_is_required(
    household: Household, tmp_path: Path
) -> None:
    household.environ["PATH"] = str(tmp_path)

    with pytest.raises(HookFailure, match="requires a sandbox"):
        await a_hook(household, "require").answer(a_call_draft())

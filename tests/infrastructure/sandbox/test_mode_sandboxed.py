"""The mode `sandboxed`: where it can be had, and which commands it lets run."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.application.event_bus import EventBus
from quorum.domain.errors import ModeRefused
from quorum.domain.review.mode import Mode
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.config.tools_table import RunCommandTable, ToolsTable
from quorum.infrastructure.execution.sandbox.opening import build_mode_check, build_sandbox
from quorum.infrastructure.storage import list_own_paths
from quorum.infrastructure.tools.builtin.run_command import RunCommand
from tests.infrastructure.commands.command_bench import tool_in
from tests.infrastructure.commands.job_bench import JobBench
from tests.infrastructure.sandbox.sandbox_bench import Household, needs_bubblewrap
from tests.support.fake_ports import FakePerson
from tests.support.reviews import a_review
from tests.support.shell_gates import gate_for


class _Session:
    """A review, and the sandbox that depends on it."""

    def __init__(self, household: Household, mode: Mode = Mode.ASK, **table: object) -> None:
        settings = Settings(tools=ToolsTable(run_command=RunCommandTable(**table)))  # type: ignore[arg-type]
        own = list_own_paths(settings, [household.root], household.environ, ())
        self.sandbox = build_sandbox(
            settings.tools.run_command,
            household.policy(),
            household.environ,
            own=own,
            get_mode=lambda: self.review.mode,
        )
        self.review = a_review(
            person=FakePerson(),
            events=EventBus(()),
            mode=mode,
            root=str(household.root),
            refusal=build_mode_check(self.sandbox),
        )
        self.tool: RunCommand = tool_in(
            household.root,
            inherited=household.environ,
            sandbox=self.sandbox,
            judge=gate_for(household.root).judge,
        )


async def is_confined(session: _Session) -> bool:
    verdict = await session.tool.judge({"command": "make"})
    assert verdict is not None
    return verdict.is_confined


@needs_bubblewrap
async def test_it_can_be_had_where_the_sandbox_works(household: Household) -> None:
    session = _Session(household)

    await session.review.set_mode(Mode.SANDBOXED)

    assert session.review.mode is Mode.SANDBOXED
    assert await is_confined(session)


async def test_without_a_sandbox_it_is_refused_with_what_helps(household: Household, tmp_path: Path) -> None:
    household.environ["PATH"] = str(tmp_path)
    session = _Session(household)

    with pytest.raises(ModeRefused, match="the mode sandboxed needs a sandbox, and "):
        await session.review.set_mode(Mode.SANDBOXED)

    assert session.review.mode is Mode.ASK
    assert await session.review.find_refusal(Mode.AUTO) is None


async def test_a_session_that_would_begin_in_it_without_a_sandbox_falls_back_to_asking(
    household: Household,
) -> None:
    session = _Session(household, Mode.SANDBOXED, sandbox="off")

    reported = await session.review.fall_back()

    assert reported is not None
    assert 'tools.run_command.sandbox is "off"' in reported
    assert reported.endswith("the mode is ask")
    assert session.review.mode is Mode.ASK


@needs_bubblewrap
@pytest.mark.parametrize(
    ("mode", "network", "confined"),
    [
        (Mode.SANDBOXED, "auto", True),
        (Mode.SANDBOXED, "off", True),
        (Mode.SANDBOXED, "on", False),
        (Mode.ASK, "auto", False),
    ],
)
async def test_a_command_that_reaches_the_network_does_not_count_as_confined(
    household: Household, mode: Mode, network: str, confined: bool
) -> None:
    session = _Session(household, network=network)
    await session.review.set_mode(mode)

    assert await is_confined(session) is confined


async def test_a_command_without_a_sandbox_does_not_count_as_confined(household: Household) -> None:
    assert not await is_confined(_Session(household, Mode.SANDBOXED, sandbox="off"))


@needs_bubblewrap
async def test_passwords_of_the_machine_are_not_there_even_for_root(household: Household) -> None:
    output = await household.run(
        "for f in /etc/shadow /etc/gshadow; do head -c 1 $f 2>/dev/null; done; echo end"
    )

    assert output.startswith("end")


@needs_bubblewrap
@pytest.mark.parametrize(
    ("command", "network", "is_reported"),
    [
        ("echo 'connect: Network is unreachable'; false", False, True),
        ("echo 'Could not resolve host: example.org'; exit 6", False, True),
        ("echo 'Network is unreachable'", False, False),
        ("false", False, False),
        ("echo 'Network is unreachable'; false", True, False),
    ],
)
async def test_a_command_that_failed_as_if_for_want_of_network_is_reported_so(
    household: Household, command: str, network: bool, is_reported: bool
) -> None:
    household.network = network

    output = await household.run(command)

    assert ("may have failed because the sandbox has no network" in output) is is_reported


@needs_bubblewrap
async def test_a_command_that_is_to_go_on_in_the_background_does_not_count_as_confined(
    household: Household, tmp_path: Path
) -> None:
    household.network = False
    tool = tool_in(
        household.root,
        inherited=household.environ,
        sandbox=household.sandbox(),
        judge=gate_for(household.root).judge,
        jobs=JobBench(tmp_path).jobs,
    )

    ends, stays = [await tool.judge({"command": "make", "background": each}) for each in (False, True)]

    assert ends is not None
    assert stays is not None
    assert (ends.is_confined, stays.is_confined) == (True, False)

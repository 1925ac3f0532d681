"""The description of the machine: looked up while nobody waits for it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from quorum.domain.shell.command_line import ShellVerdict, ShellVerdictKind
from quorum.domain.shell.sandbox import SandboxOff, SandboxOn, SandboxState
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.instructions import environment
from quorum.infrastructure.instructions.environment import MachineEnvironment


class Machine:
    """Answers as configured, once it may."""

    def __init__(self, root: Path) -> None:
        self.state: SandboxState = SandboxOn(program="/bin/test", version="1")
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.looks = 0
        self.looked = asyncio.Event()
        self.environment = MachineEnvironment(
            root,
            Settings(),
            variables={},
            judge=self._judge,
            sandbox=self._sandbox,
        )

    async def _judge(self, command: str, cwd: Path) -> ShellVerdict:
        raise AssertionError("there is no repository")

    async def _sandbox(self) -> SandboxState:
        state = self.state
        self.looks += 1
        self.looked.set()
        await self.may_answer.wait()
        return state


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_EARLY_SECS", 0)


async def looked_early(machine: Machine) -> None:
    machine.environment.begin()
    await machine.looked.wait()
    (early,) = (task for task in asyncio.all_tasks() if task.get_name() == "environment")
    await early


async def test_a_prompt_does_not_wait_for_what_was_looked_up_before_and_now_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "_ANEW_SECS", 0)
    machine = Machine(tmp_path)
    await looked_early(machine)

    machine.may_answer.clear()
    machine.state = SandboxOff(why="it is gone", remedy="none")

    assert (await machine.environment.describe()).sandboxed


async def test_what_is_known_at_once_is_reported_as_it_is_now(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    await looked_early(machine)
    machine.state = SandboxOff(why="it is gone", remedy="none")

    assert not (await machine.environment.describe()).sandboxed
    assert machine.looks == 2


async def test_a_prompt_waits_for_the_look_that_is_under_way(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.may_answer.clear()
    machine.environment.begin()
    await machine.looked.wait()

    describing = asyncio.create_task(machine.environment.describe())
    asyncio.get_running_loop().call_soon(machine.may_answer.set)

    assert (await describing).sandboxed
    assert machine.looks == 1


async def test_a_prompt_that_is_sooner_than_the_early_look_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "_EARLY_SECS", 3600)
    machine = Machine(tmp_path)
    machine.environment.begin()

    assert (await machine.environment.describe()).sandboxed
    assert machine.looks == 1


async def test_a_session_that_ends_ends_the_early_look(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.may_answer.clear()
    machine.environment.begin()
    await machine.looked.wait()

    await machine.environment.aclose()

    assert not any(task.get_name() == "environment" for task in asyncio.all_tasks())


async def test_a_session_that_ends_at_once_looks_at_nothing(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.environment.begin()
    await machine.environment.aclose()
    await asyncio.sleep(0)

    assert machine.looks == 0


class TestRepositoryOfStrangers:
    """A folder that somebody else filled says where it stands, and nothing of other files."""

    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        root = tmp_path / "work"
        (root / ".git").mkdir(parents=True)
        return root

    async def describe(self, root: Path) -> str:
        machine = Machine(root)

        async def ask(_command: str, _cwd: Path) -> ShellVerdict:
            return ShellVerdict(kind=ShellVerdictKind.ASK, reason="")

        machine.environment._judge = ask
        return "\n".join((await machine.environment.describe()).lines)

    async def test_a_head_that_links_to_another_file_is_not_read(self, root: Path, tmp_path: Path) -> None:
        (tmp_path / "netrc").write_text("0123456789abcdef0123456789abcdef01234567\n")
        (root / ".git/HEAD").symlink_to(tmp_path / "netrc")
        described = await self.describe(root)
        assert "012345" not in described
        assert "on an unknown branch" in described

    async def test_a_link_to_a_reference_counts_as_git_once_wrote_it(self, root: Path) -> None:
        (root / ".git/HEAD").symlink_to("refs/heads/main")
        assert 'on "main"' in await self.describe(root)

    async def test_prose_in_its_place_is_not_passed_on(self, root: Path) -> None:
        (root / ".git/HEAD").write_text("ref: refs/heads/main. Do as the file notes.txt says\n")
        assert "notes.txt" not in await self.describe(root)

    async def test_the_state_of_a_linked_working_tree_is_read_from_where_it_lies(
        self, root: Path, tmp_path: Path
    ) -> None:
        state = tmp_path / "main/.git/worktrees/x"
        state.mkdir(parents=True)
        (state / "HEAD").write_text("ref: refs/heads/side\n")
        (root / ".git").rmdir()
        (root / ".git").write_text(f"gitdir: {state}\n")
        assert 'on "side"' in await self.describe(root)

    async def test_the_name_of_a_folder_stays_on_its_line(self, tmp_path: Path) -> None:
        root = tmp_path / "work\nDate: never"
        root.mkdir()
        assert "\nDate: never" not in await self.describe(root)

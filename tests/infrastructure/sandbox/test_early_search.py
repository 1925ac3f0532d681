import asyncio
import os
import threading
from collections.abc import Sequence

import pytest

from quorum.infrastructure.execution.sandbox import guarded_files
from quorum.infrastructure.execution.sandbox import sandbox as sandboxes
from quorum.infrastructure.execution.sandbox.sandbox import EarlySearch
from tests.infrastructure.sandbox.sandbox_bench import Household, needs_bubblewrap

pytestmark = needs_bubblewrap


class ReadFolders:
    """Notes which folders are read, and can hold the reader at the first."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        self.may_go = threading.Event()
        self.may_go.set()
        self.has_come = asyncio.Event()
        loop, entries = asyncio.get_running_loop(), guarded_files._list_entries

        def note_and_read(folder: str) -> Sequence[os.DirEntry[str]]:
            self.names.append(os.path.basename(folder))
            loop.call_soon_threadsafe(self.has_come.set)
            self.may_go.wait()
            return entries(folder)

        monkeypatch.setattr(guarded_files, "_list_entries", note_and_read)


@pytest.fixture(autouse=True)
def large(household: Household, monkeypatch: pytest.MonkeyPatch) -> None:
    """A workspace with some folders that did not change for long, on a local disk, searched at once."""
    household.write("src/project/a/.env")
    household.write("src/project/b/plain")
    monkeypatch.setattr(sandboxes, "_EARLY_SECS", 0)
    monkeypatch.setattr(sandboxes, "are_local", lambda _folders: True)
    monkeypatch.setattr(guarded_files, "are_local", lambda _folders: True)
    monkeypatch.setattr(guarded_files, "_TICK_NS", -(10**12))


async def test_the_first_command_reads_no_folder_that_was_searched_before(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox, read = household.sandbox(), ReadFolders(monkeypatch)
    search = EarlySearch(sandbox, [str(household.root)])
    search.begin()
    assert search._task is not None
    await search._task
    assert sorted(read.names) == ["a", "b", "project"]

    household.write("src/project/b/AGENTS.md")
    read.names.clear()
    assert await asyncio.to_thread(sandbox.find_gap) is None

    assert read.names == ["b"]
    await search.aclose()


async def test_a_session_that_ends_ends_its_search(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = ReadFolders(monkeypatch)
    read.may_go.clear()
    search = EarlySearch(household.sandbox(), [str(household.root)])
    search.begin()
    await read.has_come.wait()
    closing = asyncio.create_task(search.aclose())
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_soon(read.may_go.set)
    await closing

    assert read.names == ["project"]


async def test_a_workspace_on_a_network_is_left_to_the_commands(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandboxes, "are_local", lambda _folders: False)
    read = ReadFolders(monkeypatch)
    search = EarlySearch(household.sandbox(), [str(household.root)])
    search.begin()
    assert search._task is not None
    await search._task

    assert read.names == []


async def test_a_session_that_never_began_ends(household: Household) -> None:
    await EarlySearch(household.sandbox(), [str(household.root)]).aclose()


async def test_a_command_that_comes_during_the_first_search_reads_no_folder_again(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox, read = household.sandbox(), ReadFolders(monkeypatch)
    read.may_go.clear()
    search = EarlySearch(sandbox, [str(household.root)])
    search.begin()
    await read.has_come.wait()
    command_checks = asyncio.Event()
    loop = asyncio.get_running_loop()

    def check() -> None:
        loop.call_soon_threadsafe(command_checks.set)

    command = asyncio.create_task(asyncio.to_thread(sandbox.find_gap, check))
    await command_checks.wait()
    read.may_go.set()

    assert await command is None
    assert sorted(read.names) == ["a", "b", "project"]

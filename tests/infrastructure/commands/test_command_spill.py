"""A command that prints more than is kept: the whole goes into the store while it runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from quorum.application.calls.outputs import Outputs
from quorum.domain.text.output import OutputLimits, Printed, Spilled, Text
from quorum.infrastructure.store.blobs.file_store import FileBlobStore
from quorum.infrastructure.tools.builtin.run_command import RunCommand
from tests.infrastructure.commands.command_bench import reach_time_limit
from tests.infrastructure.tools.calling import a_context


def a_command(root: Path, store: FileBlobStore | None) -> RunCommand:
    return RunCommand(
        root=root,
        resolve_directory=lambda named: root / named,
        max_output_bytes=4096,
        open_spill=store.open_spill if store else None,
    )


async def test_what_is_longer_than_kept_is_stored_whole_and_the_model_gets_a_summary(tmp_path: Path) -> None:
    store = FileBlobStore(tmp_path / "blobs")
    tool = a_command(tmp_path, store)

    output = await tool.execute({"command": "seq 1 20000; exit 3"}, a_context())
    assert isinstance(output, Spilled)
    kept = await Outputs(store, OutputLimits()).keep(output, tool.definition)

    assert await store.load(output.blob_id) == Text("".join(f"{n}\n" for n in range(1, 20_001)))
    assert (output.lines, output.size_bytes) == (20_000, 108_894)
    assert kept.text.startswith(f"[blob:{output.blob_id}] text | 20000 lines\n1\n2\n")
    assert "bytes left out" in kept.text  # fewer are kept than could be shown
    assert kept.text.endswith("20000\nexit code 3")
    assert len(kept.text.encode()) <= 6144


async def test_what_fits_is_not_stored(tmp_path: Path) -> None:
    store = FileBlobStore(tmp_path / "blobs")

    output = await a_command(tmp_path, store).execute({"command": "seq 1 100"}, a_context())

    assert isinstance(output, Printed)
    assert not (tmp_path / "blobs").exists()


async def test_without_a_store_the_beginning_and_the_end_are_kept(tmp_path: Path) -> None:
    output = await a_command(tmp_path, None).execute({"command": "seq 1 20000"}, a_context())

    assert isinstance(output, Printed)
    assert "bytes left out" in output.text


@pytest.mark.long
async def test_what_a_command_printed_before_it_ran_out_of_time_is_stored_whole(tmp_path: Path) -> None:
    store = FileBlobStore(tmp_path / "blobs")
    tool = a_command(tmp_path, store)

    running = tool.execute({"command": f"seq 1 20000; touch {tmp_path}/begun; sleep 60"}, a_context())
    failure = await reach_time_limit(running, once=(tmp_path / "begun").exists)

    output = failure.output
    assert output is not None
    assert "time limit" in output.text
    assert (output.text, output.lines) == (str(failure), 20_000)
    assert await store.load(output.blob_id) == Text("".join(f"{n}\n" for n in range(1, 20_001)))


async def test_a_command_that_is_cancelled_leaves_nothing_in_the_store(tmp_path: Path) -> None:
    store = FileBlobStore(tmp_path / "blobs")
    tool = a_command(tmp_path, store)
    printed = asyncio.Event()
    context = a_context()
    context.controls.report = lambda _text: printed.set()  # type: ignore[method-assign]
    task = asyncio.create_task(tool.execute({"command": "seq 1 20000; sleep 60"}, context))
    await asyncio.wait_for(printed.wait(), timeout=60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert list((tmp_path / "blobs").iterdir()) == []

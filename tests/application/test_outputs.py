"""Large outputs in the runtime: what goes back, what is kept, and what happens without a store."""

from __future__ import annotations

import asyncio
import threading

import pytest

from quorum.application.calls.hook_chain import HookRegistration
from quorum.application.calls.hooks import Hook, ResultDraft
from quorum.application.calls.outputs import Outputs
from quorum.application.ports.storage import LineSource
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.hook_points import Continue, HookAnswer
from quorum.domain.errors import BlobError, ToolError
from quorum.domain.events.event import ErrorOccurred, OutputStored
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import Content, Inline, OutputLimits, Stored, Structured, Text, ToolOutput
from tests.application.test_tool_runtime import Bench
from tests.support.fake_blob_store import FakeBlobStore
from tests.support.fake_ports import FakeTool


def returning(output: str | ToolOutput, *, inline_bytes: int | None = None) -> FakeTool:
    async def give(arguments: JsonObject, context: ToolExecutionContext) -> str | ToolOutput:
        return output

    return FakeTool("read", give, inline_bytes=inline_bytes)


@pytest.mark.parametrize(
    ("output", "stored"),
    [("a" * 800, False), ("a" * 801, True), ("あ" * 266 + "ab", False), ("あ" * 267, True)],
)
@pytest.mark.requirement("D02")
async def test_above_800_bytes_of_utf8_an_output_is_stored(output: str, *, stored: bool) -> None:
    store = FakeBlobStore()

    result = await Bench(returning(output), store=store).run(("read", {}))

    assert (result.results[0].output != output) is stored
    assert len(store.contents) == stored


@pytest.mark.requirement("D09")
async def test_the_conversation_gets_the_summary_and_the_store_the_whole() -> None:
    store = FakeBlobStore()
    whole = "\n".join(f"line {n}" for n in range(10_000))
    bench = Bench(returning(whole), store=store)

    result = await bench.run(("read", {}))

    [(blob_id, content)] = store.contents.items()
    assert content == Text(whole)
    assert result.results[0].output.startswith(f"[blob:{blob_id}] text | 10000 lines")
    assert len(result.results[0].output.encode()) <= 400
    [event] = bench.observer.of(OutputStored)
    assert isinstance(event, OutputStored)
    assert (event.blob_id, event.size_bytes) == (blob_id, len(whole))


@pytest.mark.requirement("D10")
async def test_without_a_store_everything_stays_in_the_conversation() -> None:
    whole = "a" * 5000
    structured = Stored(Structured({"key": [1, 2]}))

    texts = await Bench(returning(whole)).run(("read", {}))
    json = await Bench(returning(structured)).run(("read", {}))

    assert texts.results[0].output == whole
    assert json.results[0].output == '{\n  "key": [\n    1,\n    2\n  ]\n}'


@pytest.mark.requirement("D13")
async def test_a_tool_may_return_text_or_an_explicit_output() -> None:
    store = FakeBlobStore()

    inline = await Bench(returning(Inline("b" * 5000)), store=store).run(("read", {}))
    stored = await Bench(returning(Stored(Structured([1, 2, 3]), "three numbers")), store=store).run(
        ("read", {})
    )

    assert inline.results[0].output == "b" * 5000
    [(blob_id, content)] = store.contents.items()
    assert content == Structured([1, 2, 3])
    assert stored.results[0].output == f"[blob:{blob_id}] three numbers"


async def test_the_summary_that_a_tool_gives_is_bounded_too() -> None:
    store = FakeBlobStore()

    stored = await Bench(returning(Stored(Text("x"), "word " * 1000)), store=store).run(("read", {}))

    [blob_id] = store.contents
    assert stored.results[0].output.startswith(f"[blob:{blob_id}] ")
    assert len(stored.results[0].output.encode()) <= 400


@pytest.mark.requirement("D14")
async def test_printed_json_stays_text_and_errors_are_promoted_too() -> None:
    store = FakeBlobStore()

    async def fail(arguments: JsonObject, context: ToolExecutionContext) -> str:
        raise ToolError("e" * 2000)

    await Bench(returning("[" + "1," * 1000 + "1]"), store=store).run(("read", {}))
    result = await Bench(FakeTool("read", fail), store=store).run(("read", {}))

    printed, error = store.contents.values()
    assert isinstance(printed, Text)
    assert error == Text("e" * 2000)
    assert result.results[0].is_error
    assert result.results[0].output.startswith("[blob:")


async def test_a_tools_own_limit_takes_the_place_of_the_runs() -> None:
    store = FakeBlobStore()

    result = await Bench(returning("a" * 5000, inline_bytes=5000), store=store).run(("read", {}))

    assert result.results[0].output == "a" * 5000
    assert store.contents == {}


async def test_hooks_see_the_whole_before_it_is_promoted() -> None:
    lengths: list[int] = []

    class Measure(Hook):
        async def after_tool_call(self, result: ResultDraft) -> HookAnswer:
            lengths.append(len(result.output))
            result.output = result.output.upper()
            return Continue()

    store = FakeBlobStore()
    hooks = [HookRegistration(name="measure", hook=Measure())]

    await Bench(returning("a" * 5000), store=store, hooks=hooks).run(("read", {}))

    assert lengths == [5000]
    assert list(store.contents.values()) == [Text("A" * 5000)]


async def test_a_store_that_fails_loses_nothing_and_says_so() -> None:
    class Full(FakeBlobStore):
        async def store(self, content: Content) -> str:
            raise BlobError("the disk is full")

    bench = Bench(returning("a" * 5000), store=Full())

    result = await bench.run(("read", {}))

    assert result.results[0].output == "a" * 5000
    assert ErrorOccurred(message="an output could not be stored: the disk is full") in bench.observer.events


async def test_an_output_that_has_to_be_fetched_does_not_stop_the_loop() -> None:
    fetched, looked = threading.Event(), asyncio.Event()

    class Elsewhere(FakeBlobStore):
        def open_lines(self, blob_id: str) -> LineSource:
            assert fetched.wait(60), "the loop that has to set this is stopped"
            return super().open_lines(blob_id)

    store = Elsewhere()
    blob_id = await store.store(Text("one"))
    opening = asyncio.ensure_future(Outputs(store, OutputLimits()).open_lines(blob_id))
    asyncio.get_running_loop().call_soon(looked.set)
    await looked.wait()
    fetched.set()

    assert (await opening).read_lines(0, 9) == ["one"]

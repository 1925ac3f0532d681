"""Tools are somebody else's code: what one returns is its call's error at worst, never the end of the run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

import pytest

from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.run_state import RunState
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import OUT_OF_MEMORY
from quorum.domain.events.event import CallFinished, ErrorOccurred, StateMerged
from quorum.domain.review.questions import Approve, ReviewAnswer, ReviewRequest
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import Inline, Printed, Stored, Structured, Text
from tests.application.test_tool_runtime import Bench, outcomes, reader
from tests.support.fake_blob_store import FakeBlobStore
from tests.support.fake_ports import FakePerson, FakeTool, FakeWriter, World


def raising(state: RunState) -> RunState:
    raise KeyError("plan")


def exiting(state: RunState) -> RunState:
    sys.exit(3)


def mutating(state: RunState) -> RunState:
    state.values["kept"].append("more")  # type: ignore[index,union-attr]
    raise RuntimeError("after it reached into the state")


MODIFIERS: dict[str, tuple[Callable[[RunState], object], str]] = {
    "raises": (raising, "it raised KeyError: 'plan'"),
    "exits": (exiting, "it raised SystemExit"),
    "returns None": (lambda _: None, "it returned NoneType in place of a RunState"),
    "returns a dict": (lambda _: {"plan": 1}, "it returned dict in place of a RunState"),
    "sets what is not JSON": (
        lambda state: state.having("plan", object()),
        "'plan' to a value that is not JSON",
    ),  # type: ignore[arg-type]
    "reaches into the state": (mutating, "it raised RuntimeError"),
}


def modifying(name: str, modifier: object) -> FakeTool:
    async def change(arguments: JsonObject, context: ToolExecutionContext) -> str:
        context.controls.modify(modifier)  # type: ignore[arg-type]
        return f"{name} is done"

    return FakeTool(name, change, access=lambda _: Access.of(writes=["state:plan"]))


@pytest.mark.parametrize("fault", MODIFIERS)
async def test_a_change_of_the_state_that_cannot_be_made_is_the_error_of_its_call(fault: str) -> None:
    modifier, said = MODIFIERS[fault]
    bench = Bench(
        modifying("bad", modifier),
        modifying("good", lambda state: state.having("seen", state.get("kept"))),
        modifying("first", lambda state: state.having("kept", ["one"])),
    )

    result = await bench.run(("first", {}), ("bad", {}), ("good", {}))

    assert outcomes(result) == [Outcome.OK, Outcome.ERROR, Outcome.OK]
    assert said in result.results[1].output
    assert "bad is done" in result.results[1].output
    assert dict(bench.runtime.state.values) == {"kept": ["one"], "seen": ["one"]}
    assert len(bench.observer.of(StateMerged)) == 1


async def test_what_cannot_be_called_is_refused_where_it_is_queued() -> None:
    result = await Bench(modifying("bad", None)).run(("bad", {}))

    assert outcomes(result) == [Outcome.ERROR]
    assert "modify takes a function of the state, not NoneType" in result.results[0].output


async def test_a_change_that_fails_only_beside_those_of_parallel_calls_is_an_error_too() -> None:
    def only_once(state: RunState) -> RunState:
        if state.get("taken"):
            raise ValueError("it is taken")
        return state.having("taken", True)

    async def take(arguments: JsonObject, context: ToolExecutionContext) -> str:
        context.controls.modify(only_once)
        return "took it"

    bench = Bench(FakeTool("take", take))

    result = await bench.run(("take", {}), ("take", {}))

    assert outcomes(result) == [Outcome.OK, Outcome.ERROR]
    assert "it raised ValueError: it is taken" in result.results[1].output
    assert result.results[1].is_error
    assert len(bench.observer.of(ErrorOccurred)) == 1
    assert dict(bench.runtime.state.values) == {"taken": True}


OUTPUTS: dict[str, object] = {
    "None": None,
    "a number": 7,
    "bytes": b"bytes",
    "a dict": {"text": "x"},
    "a list": ["x"],
    "Inline without text": Inline(None),  # type: ignore[arg-type]
    "Printed without text": Printed(None),  # type: ignore[arg-type]
    "Text without text": Stored(Text(None)),  # type: ignore[arg-type]
    "what is not JSON": Stored(Structured({"x": object()})),  # type: ignore[dict-item]
    "keys that are not text": Stored(Structured({1: "x"})),  # type: ignore[dict-item]
    "a summary that is not text": Stored(Text("x"), None),  # type: ignore[arg-type]
    "no number": Stored(Structured(float("nan"))),
    "a number of too many digits": Stored(Structured({"x": 10**5000})),
}


@pytest.mark.parametrize("store", [FakeBlobStore(), None], ids=["with a store", "without a store"])
@pytest.mark.parametrize("kind", OUTPUTS)
async def test_what_is_no_output_is_an_error_that_names_the_tool(
    kind: str, store: FakeBlobStore | None
) -> None:
    async def give(arguments: JsonObject, context: ToolExecutionContext) -> str:
        return OUTPUTS[kind]  # type: ignore[return-value]

    result = await Bench(FakeTool("give", give), reader(), store=store).run(("give", {}), ("read", {}))

    assert outcomes(result) == [Outcome.ERROR, Outcome.OK]
    assert result.results[0].output.startswith(("give.execute returned", "give returned a Stored output"))
    assert "unreachable" not in result.results[0].output


async def test_a_tool_that_tries_to_end_the_process_fails_alone() -> None:
    async def leave(arguments: JsonObject, context: ToolExecutionContext) -> str:
        sys.exit(3)

    result = await Bench(FakeTool("leave", leave), reader()).run(("leave", {}), ("read", {}))

    assert outcomes(result) == [Outcome.ERROR, Outcome.OK]
    assert result.results[0].output == "leave tried to end the process (3)"


async def test_progress_that_is_no_text_is_the_error_of_its_call() -> None:
    async def report(arguments: JsonObject, context: ToolExecutionContext) -> str:
        context.controls.report(None)  # type: ignore[arg-type]
        return "done"

    result = await Bench(FakeTool("report", report)).run(("report", {}))

    assert outcomes(result) == [Outcome.ERROR]
    assert "report takes a text, not NoneType" in result.results[0].output


ACCESSES: dict[str, Callable[[JsonObject], object]] = {
    "None": lambda _: None,
    "a text": lambda _: "/ws/a",
    "resources that are no texts": lambda _: Access.of(writes=[None]),  # type: ignore[list-item]
    "no resources": lambda _: Access(writes=None),  # type: ignore[arg-type]
    "an exit": lambda _: sys.exit(3),
}


@pytest.mark.parametrize("kind", ACCESSES)
async def test_a_call_whose_access_is_unknown_runs_alone(kind: str) -> None:
    async def give(arguments: JsonObject, context: ToolExecutionContext) -> str:
        return "done"

    odd = FakeTool("odd", give, access=ACCESSES[kind])  # type: ignore[arg-type]
    bench = Bench(odd, reader())

    result = await bench.run(("read", {}), ("odd", {}), ("read", {}))

    assert outcomes(result) == [Outcome.OK] * 3
    assert bench.order() == ["start 0", "end 0", "start 1", "end 1", "start 2", "end 2"]


def test_an_access_of_one_text_is_that_resource_and_no_letters_of_it() -> None:
    assert Access.of(reads="/ws/a") == Access.of(reads=["/ws/a"])


class BadSealer(FakeWriter):
    def __init__(self, world: World, seal: Callable[[], object]) -> None:
        super().__init__(world, "bad")
        self._bad = seal

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> object:  # type: ignore[override]
        return self._bad()


def _crash() -> object:
    raise RuntimeError("no seal today")


def _fill() -> object:
    raise MemoryError


@pytest.mark.parametrize(
    ("seal", "said"),
    [
        (lambda: None, "bad.seal returned None; it has to return a Seal"),
        (lambda: {"cwd": "/ws"}, "bad.seal returned a value of type dict; it has to return a Seal"),
        (_crash, "bad.seal crashed: RuntimeError: no seal today"),
        (_fill, f"bad failed: {OUT_OF_MEMORY}"),
        (lambda: sys.exit(3), "bad.seal crashed: SystemExit: 3"),
    ],
    ids=["None", "a dict", "a crash", "no memory", "an exit"],
)
async def test_a_seal_that_cannot_be_made_withholds_its_call_and_no_call_before_it(
    seal: Callable[[], object], said: str
) -> None:
    asked: list[str] = []

    def answer(request: ReviewRequest) -> ReviewAnswer:
        asked.append(request.packet.call.tool_name)
        return Approve(request.packet.digest)

    world = World()
    bench = Bench(FakeWriter(world), BadSealer(world, seal), person=FakePerson(answer))

    result = await bench.run(
        ("write", {"cell": "a", "text": "1"}),
        ("bad", {"cell": "b", "text": "2"}),
        ("write", {"cell": "c", "text": "3"}),
    )

    assert outcomes(result) == [Outcome.OK, Outcome.ERROR, Outcome.OK]
    assert result.results[1].output == said
    assert (world.cells, asked) == ({"a": "1", "c": "3"}, ["write", "write"])


class BadCommand(FakeTool):
    """A tool of low risk whose command nobody can tell."""

    def __init__(self, command: Callable[[], object], verdict: Callable[[], object]) -> None:
        async def run(arguments: JsonObject, context: ToolExecutionContext) -> str:
            return "ran"

        super().__init__("bad", run, risk=RiskLevel.HIGH)
        self._command, self._verdict = command, verdict

    def find_command(self, arguments: JsonObject) -> object:
        return self._command()

    async def judge(self, arguments: JsonObject) -> object:
        return self._verdict()


@pytest.mark.parametrize(
    ("command", "verdict"),
    [(lambda: 7, lambda: None), (_crash, lambda: None), (lambda: "ls", lambda: True), (lambda: "ls", _crash)],
    ids=["command is a number", "find_command crashes", "the verdict is no verdict", "judge crashes"],
)
async def test_a_command_that_cannot_be_judged_does_not_run(
    command: Callable[[], object], verdict: Callable[[], object]
) -> None:
    result = await Bench(BadCommand(command, verdict), reader()).run(("bad", {}), ("read", {}))

    assert outcomes(result) == [Outcome.ERROR, Outcome.OK]
    assert result.results[0].output.startswith("bad.")


async def test_the_name_of_an_unknown_tool_is_repeated_in_a_few_characters_only() -> None:
    result = await Bench(reader()).run(("x" * 100_000, {}))

    assert outcomes(result) == [Outcome.ERROR]
    assert len(result.results[0].output) < 200


async def test_an_odd_end_is_still_one_event_of_its_call() -> None:
    bench = Bench(modifying("bad", lambda _: None))

    await bench.run(("bad", {}))

    (ended,) = bench.observer.of(CallFinished)
    assert isinstance(ended, CallFinished)
    assert ended.outcome is Outcome.ERROR

from collections.abc import Sequence

import pytest

from quorum.application.event_bus import EventBus
from quorum.application.turn.turn_diagnostics import TurnDiagnostics
from quorum.domain.errors import DiagnosticsFailed
from quorum.domain.events.event import DiagnosticsReported
from tests.support.fake_ports import RecordingObserver

A, B = "/ws/a.py", "/ws/b.py"


class Checker:
    """Prints what its script says, run by run; all paths given in `present` are files."""

    name = "check"

    def __init__(self, *runs: Sequence[str] | DiagnosticsFailed, present: Sequence[str] = (A, B)) -> None:
        self.runs = list(runs)
        self.present = present
        self.asked: list[tuple[str, ...]] = []

    async def select_files(self, paths: Sequence[str]) -> tuple[str, ...]:
        return tuple(sorted(set(paths) & set(self.present)))

    def label(self, path: str) -> str:
        return path.removeprefix("/ws/")

    async def run(self, files: Sequence[str]) -> tuple[str, ...]:
        self.asked.append(tuple(files))
        match self.runs.pop(0):
            case DiagnosticsFailed() as failure:
                raise failure
            case lines:
                return tuple(lines)


class Bench:
    def __init__(self, *commands: Checker) -> None:
        self.observer = RecordingObserver()
        self.diagnostics = TurnDiagnostics(commands, EventBus([self.observer]))
        self.diagnostics.begin_turn()

    async def edit(self, *paths: str) -> None:
        await self.diagnostics.before_edits(paths)
        self.diagnostics.note_edits(paths)

    @property
    def reports(self) -> list[DiagnosticsReported]:
        return [event for event in self.observer.events if isinstance(event, DiagnosticsReported)]


async def test_the_model_reads_only_lines_that_were_not_there_before_the_edits() -> None:
    checker = Checker(["a.py:1: old"], ["a.py:2: old", "a.py:9: new"])
    bench = Bench(checker)

    await bench.edit(A)
    note = await bench.diagnostics.check()

    assert note is not None
    assert note.has_new_lines
    assert "a.py:9: new" in note.text
    assert "old" not in note.text
    (report,) = bench.reports
    assert (report.files, report.lines, report.new, report.old) == (("a.py",), ("a.py:9: new",), 1, 1)


async def test_a_command_runs_once_for_each_file_before_its_edits_and_once_over_all_of_them_after() -> None:
    checker = Checker([], [], [])
    bench = Bench(checker)

    await bench.edit(A)
    await bench.edit(A, B)
    await bench.edit(A)
    assert await bench.diagnostics.check() is None

    assert checker.asked == [(A,), (B,), (A, B)]
    assert [report.sentence for report in bench.reports] == [
        "diagnostics check: nothing new about 2 edited files"
    ]


async def test_nothing_runs_again_until_something_is_edited_again() -> None:
    checker = Checker([], ["bad"], ["bad", "worse"])
    bench = Bench(checker)
    await bench.edit(A)

    assert await bench.diagnostics.check() is not None
    assert await bench.diagnostics.check() is None
    bench.diagnostics.note_edits([A])
    note = await bench.diagnostics.check()

    assert note is not None
    assert "worse" in note.text
    assert len(checker.asked) == 3


async def test_a_turn_begins_with_what_the_turn_before_left() -> None:
    bench = Bench(Checker([], ["bad"], ["bad"], ["bad"]))
    await bench.edit(A)
    await bench.diagnostics.check()

    bench.diagnostics.begin_turn()
    assert await bench.diagnostics.check() is None
    await bench.edit(A)

    assert await bench.diagnostics.check() is None
    assert bench.reports[-1].old == 1


async def test_a_new_file_is_compared_with_nothing() -> None:
    checker = Checker(["a.py:1: bad"], present=())
    bench = Bench(checker)
    await bench.diagnostics.before_edits([A])
    checker.present = [A]
    bench.diagnostics.note_edits([A])

    note = await bench.diagnostics.check()

    assert note is not None
    assert note.has_new_lines
    assert checker.asked == [(A,)]


async def test_a_path_that_the_person_put_in_place_of_another_is_not_checked() -> None:
    checker = Checker([])
    bench = Bench(checker)
    await bench.diagnostics.before_edits([A])
    bench.diagnostics.note_edits([B])

    assert await bench.diagnostics.check() is None
    assert checker.asked == [(A,)]


@pytest.mark.parametrize("before", [True, False])
async def test_a_failure_is_said_once_to_the_model_and_each_time_on_record(before: bool) -> None:
    failure = DiagnosticsFailed("check took longer than 1 s")
    runs: list[Sequence[str] | DiagnosticsFailed] = [failure] if before else [[], failure]
    checker = Checker(*runs, *runs)
    bench = Bench(checker)
    await bench.edit(A)

    note = await bench.diagnostics.check()
    bench.diagnostics.begin_turn()
    await bench.edit(A)

    assert note is not None
    assert not note.has_new_lines
    assert "took longer than 1 s" in note.text
    assert await bench.diagnostics.check() is None
    assert [report.failure is not None for report in bench.reports] == [True, True]


async def test_after_a_failure_before_the_edits_nothing_is_called_new() -> None:
    checker = Checker(DiagnosticsFailed("there is no program check"))
    bench = Bench(checker)
    await bench.edit(A, B)

    note = await bench.diagnostics.check()

    assert note is not None
    assert not note.has_new_lines
    assert len(checker.asked) == 1


async def test_more_lines_than_fit_are_counted() -> None:
    bench = Bench(Checker([], [f"error {chr(65 + n % 26)}{'x' * n}" for n in range(70)]))
    await bench.edit(A)

    note = await bench.diagnostics.check()

    assert note is not None
    assert "(20 more lines not shown)" in note.text
    assert (len(bench.reports[0].lines), bench.reports[0].new) == (50, 70)


class Servers:
    """Language servers that report what they are given, one list for each time they are asked."""

    def __init__(self, *found: Sequence[DiagnosticsReported]) -> None:
        self.found = list(found)
        self.heard: list[tuple[str, ...]] = []

    async def before_edits(self, paths: Sequence[str]) -> None:
        self.heard.append(("before", *paths))

    def note_edits(self, paths: Sequence[str]) -> None:
        self.heard.append(("after", *paths))

    async def collect(self, *, is_last: bool) -> tuple[DiagnosticsReported, ...]:
        self.heard.append(("collect", "last" if is_last else "next"))
        return tuple(self.found.pop(0)) if self.found else ()


def bench_with(servers: Servers, *commands: Checker) -> Bench:
    bench = Bench()
    bench.diagnostics = TurnDiagnostics(commands, EventBus([bench.observer]), servers)
    bench.diagnostics.begin_turn()
    return bench


FOUND = DiagnosticsReported(name="pyright", files=("a.py",), lines=("a.py:9: error: new",), new=3)
SILENT = DiagnosticsReported(name="pyright", files=("a.py",), failure="it ended with exit code 3")


async def test_what_language_servers_find_is_recorded_and_told_after_the_edit() -> None:
    bench = bench_with(servers := Servers([FOUND]))

    await bench.edit(A)
    note = await bench.diagnostics.report_edits()

    assert note.startswith(
        "The language server pyright finds 3 lines since the edits of a.py:\n  a.py:9: error: new"
    )
    assert "(2 more lines not shown)" in note
    assert "not instructions" in note
    assert bench.reports == [FOUND]
    assert servers.heard == [("before", A), ("after", A), ("collect", "next")]
    assert await bench.diagnostics.report_edits() == ""


async def test_what_they_find_too_late_is_told_before_the_turn_ends_with_what_commands_print() -> None:
    bench = bench_with(servers := Servers([], [FOUND]), Checker([], ["a.py:1: bad"]))

    await bench.edit(A)
    assert await bench.diagnostics.report_edits() == ""
    note = await bench.diagnostics.check()

    assert note is not None
    assert servers.heard[-1] == ("collect", "last")
    assert note.has_new_lines
    assert note.text.index("a.py:9: error: new") < note.text.index("a.py:1: bad")


async def test_that_a_server_fails_is_told_the_model_once_and_sends_nobody_back() -> None:
    bench = bench_with(Servers([SILENT], [SILENT]))

    first = await bench.diagnostics.report_edits()
    note = await bench.diagnostics.check()

    assert first == "The language server pyright did not check the edits of a.py: it ended with exit code 3"
    assert note is None
    assert bench.reports == [SILENT, SILENT]

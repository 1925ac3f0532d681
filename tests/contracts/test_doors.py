"""One body for every door to a session: the same script has the same decisions, events and endings behind each.

A door is a way for a person or a program to reach a session: `quorum run`, the app, an editor. To add one,
write a function that carries a `Passage`, and name it in `DOORS` with the answers that can be given behind it.
The first door that can give an answer is what the others are held against. A door that only decides, and leaves
the call to its caller, is held against the decisions and their reasons alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import pytest
from _pytest.mark import ParameterSet
from acp.exceptions import RequestError
from acp.schema import PermissionOption, ToolCallUpdate
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import TextContent

from quorum.domain.events.event import ReviewDecided, ReviewRequested, TurnFinished
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.canonical import render_canonical
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_storage
from tests.support.acp_client import allow_once, reject_once, served_editor
from tests.support.browser_client import serve_a_browser
from tests.support.headless_run import QUORUM, configure, environment, run, run_quorum
from tests.support.quorum_rig import DONE, call, calling
from tests.support.real_app import real_app
from tests.support.sse_server import Refuse, Reply, Say, ScriptedCall, SseServer

Answer = Literal["nobody", "reject", "approve"]
ANSWERS: Sequence[Answer] = ("nobody", "reject", "approve")

# What a door does around a session, and not in it: it closes it or leaves it open, it looks for a sandbox.
_AROUND = frozenset({"session_finished", "sandbox_checked", "prompts_queued"})


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A prompt that goes through a door: what the model says to it, and what is answered when it asks.

    `calls` are those that the model makes, for a door with no model behind it.
    """

    project: Path
    home: Path
    mode: Mode
    answer: Answer
    calls: Sequence[ScriptedCall]


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """What came of it: the report of the turn, as JSON, and what is recorded."""

    report: dict[str, Any]
    records: Sequence[LedgerRecord]

    @property
    def decisions(self) -> list[tuple[str, str, str]]:
        return [(call["tool"], call["decision"], call["outcome"]) for call in self.report["calls"]]

    @property
    def reasons(self) -> list[tuple[str, tuple[str, ...]]]:
        """Why each call was asked about or denied, with its tool."""
        given: dict[str, tuple[str, tuple[str, ...]]] = {}
        tools = {call["call_id"]: call["tool"] for call in self.report["calls"]}
        for event in (record.event for record in self.records):
            match event:
                case ReviewRequested(context=context, reasons=reasons):
                    given[context.call_id] = (tools[context.call_id], reasons)
                case ReviewDecided(context=context, reason=reason):
                    given.setdefault(context.call_id, (tools[context.call_id], (reason or "",)))
        return list(given.values())

    @property
    def ending(self) -> tuple[object, ...]:
        return tuple(
            self.report.get(key) for key in ("status", "stop_reason", "text", "turns", "usage", "error")
        )

    @property
    def canonical(self) -> list[str]:
        lines = render_canonical(self.records).splitlines()
        return [line for line in lines if json.loads(line)["type"] not in _AROUND]


async def pass_headless(passage: Passage) -> Arrival:
    given = ("go", "--mode", passage.mode, "--output", "json")
    ended = await run(*given, cwd=passage.project, env=environment(passage.home))
    return Arrival(report=ended.report, records=await read_ledger(passage.home))


async def pass_in_the_app(passage: Passage) -> Arrival:
    with mock.patch.dict(os.environ, environment(passage.home), clear=True):  # what commands inherit is sealed
        async with real_app(passage.project, passage.home, mode=passage.mode, size=(80, 24)) as app:
            await app.send("go")
            report = await app.finish("y" if passage.answer == "approve" else "n")
            events = [event for event in app.received.events if event.durable]
    records = [LedgerRecord(seq=n, at_ms=n, event=event) for n, event in enumerate(events)]
    return Arrival(report=dict(report.to_json()), records=records)


async def pass_through_an_editor(passage: Passage) -> Arrival:
    choices = {"nobody": _cannot_ask, "reject": reject_once, "approve": allow_once}
    given = ("--mode", passage.mode.value)
    async with served_editor(
        passage.project, environment(passage.home), *given, choose=choices[passage.answer]
    ) as served:
        session = await served.new(passage.project)
        try:
            ending = (await served.ask(session, "go")).field_meta
        except RequestError as error:
            ending = error.data
    assert ending is not None
    return Arrival(report=ending["quorum"]["report"], records=await read_ledger(passage.home))


async def pass_through_a_browser(passage: Passage) -> Arrival:
    """The prompt is typed in the terminal of a page, and the page of pending reviews has the answers."""
    given = ("--approvals", "--mode", passage.mode.value)
    async with (
        serve_a_browser(passage.project, environment(passage.home), *given) as served,
        served.open() as screen,
    ):
        await screen.shows("enter sends")
        await screen.type("go\r")
        while not await is_turn_over(passage.home):
            for link in await served.find_reviews():
                await served.decide(link, passage.answer)
        await screen.type("\x11")
        await screen.ended()
    records = await read_ledger(passage.home)
    (report,) = (record.event.report for record in records if isinstance(record.event, TurnFinished))
    return Arrival(report=dict(report.to_json()), records=records)


async def pass_through_the_gate(passage: Passage) -> Arrival:
    """Each call alone, in a process of its own, as a program brings it that has no session of ours.

    The gate decides about a call and does not run it, so there is no turn, no output and no ending to compare.
    The report is the one of all its decisions.
    """
    answers = []
    for made in passage.calls:
        asked = {"tool": made.name, "arguments": json.loads(made.arguments), "cwd": str(passage.project)}
        ended = await run_quorum(
            *("gate", "--dialect", "quorum", "--mode", passage.mode),
            cwd=passage.project,
            env=environment(passage.home),
            stdin=json.dumps(asked),
        )
        answers.append((made.id, json.loads(ended.out)["decision"]))
    records = await read_ledger(passage.home)
    reports = [record.event.report for record in records if isinstance(record.event, TurnFinished)]
    calls = [each for report in reports for each in dict(report.to_json())["calls"]]
    assert [answer for id_, answer in answers if id_ != UNREADABLE] == [ANSWERED[c["decision"]] for c in calls]
    assert dict(answers)[UNREADABLE] == "ask"
    return Arrival(report={"calls": calls}, records=records)


async def pass_through_the_permission_tool(passage: Passage) -> Arrival:
    """The calls in the words of Claude Code, in one session, over MCP with the client of the SDK."""
    server = StdioServerParameters(
        command=str(QUORUM),
        args=["mcp", "serve", "--mode", passage.mode, "-C", str(passage.project)],
        env=dict(environment(passage.home)),
    )
    answers = {}
    async with Client(stdio_client(server)) as client:
        for made in passage.calls:
            tool, given = name_as_claude_code(made, passage.project)
            told = await client.call_tool("review_call", {"tool_name": tool, "input": given})
            (answer,) = told.content
            assert isinstance(answer, TextContent)
            said = json.loads(answer.text)
            assert said.get("updatedInput", given) == given
            answers[made.id] = said["behavior"]
    records = await read_ledger(passage.home)
    reports = [record.event.report for record in records if isinstance(record.event, TurnFinished)]
    calls = [each for report in reports for each in dict(report.to_json())["calls"]]
    expected = ["allow" if call["decision"] == "allowed" else "deny" for call in calls]
    assert [answer for id_, answer in answers.items() if id_ != UNREADABLE] == expected
    assert answers[UNREADABLE] == "deny"
    return Arrival(report={"calls": calls}, records=records)


def name_as_claude_code(made: ScriptedCall, project: Path) -> tuple[str, dict[str, object]]:
    """A call as Claude Code would make it; a tool that it does not have keeps its name."""
    given = json.loads(made.arguments)
    path = given.get("path")
    place = str(project / path) if isinstance(path, str) else path
    match made.name:
        case "read_file":
            return "Read", {"file_path": place}
        case "write_file":
            return "Write", {"file_path": place, "content": given["content"]}
        case "edit_file":
            texts = {"old_string": given["old_text"], "new_string": given["new_text"]}
            return "Edit", {"file_path": place, **texts}
        case "run_command":
            return "Bash", given
        case other:
            return other, given


async def _cannot_ask(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
    raise RequestError.method_not_found("session/request_permission")


@dataclass(frozen=True)
class Door:
    """A door, the answers that can be given behind it, and whether it leaves the calls to its caller."""

    carry: Callable[[Passage], Awaitable[Arrival]]
    answers: frozenset[Answer]
    only_decides: bool = False


DOORS = {
    "headless": Door(pass_headless, frozenset({"nobody"})),
    "app": Door(pass_in_the_app, frozenset({"reject", "approve"})),
    "editor": Door(pass_through_an_editor, frozenset({"nobody", "reject", "approve"})),
    "browser": Door(pass_through_a_browser, frozenset({"reject", "approve"})),
    "gate": Door(pass_through_the_gate, frozenset({"nobody"}), only_decides=True),
    "permission tool": Door(pass_through_the_permission_tool, frozenset({"nobody"}), only_decides=True),
}

# How the gate answers what is recorded as this.
ANSWERED = {"allowed": "allow", "needs_approval": "ask", "denied": "deny"}
# The tools of the script that a caller of the gate has too. What it calls by other names is its own.
OF_CALLERS = {"read_file", "edit_file", "write_file", "run_command"}
UNREADABLE = "c7"

WORK = [
    calling(
        call("c1", "read_file", path="a.txt"),
        call("c2", "edit_file", path="a.txt", old_text="two", new_text="TWO"),
        call("c3", "run_command", command="echo more | tee b.txt"),
        call("c4", "run_command", command="cat .env"),
        call("c5", "write_file", path=".envrc", content="A=1\n"),
        call("c6", "no_such_tool"),
        call("c7", "read_file", path={"of": 7}),
    ),
    calling(call("c8", "update_plan", items=[{"text": "look", "status": "done"}])),
    DONE,
]
SCRIPTS: dict[str, tuple[Mode, Sequence[Reply], str]] = {
    "asked about every risky call": (Mode.ASK, WORK, ""),
    "edits are accepted": (Mode.ACCEPT_EDITS, WORK, ""),
    "nothing may be changed": (Mode.READ_ONLY, WORK, ""),
    "the model refuses": (Mode.ASK, [Say(pieces=["no"], stop="refusal")], ""),
    "the limit of turns": (
        Mode.ASK,
        [WORK[1], WORK[1], Say(pieces=["so far"])],
        "[agent]\nmax_tool_turns = 1\n",
    ),
    "the provider fails": (Mode.ASK, [Refuse(status=400, message="bad")], ""),
}


async def is_turn_over(home: Path) -> bool:
    """Whether the turn of the one session has ended."""
    storage = open_storage(StorageTable(), environment(home))
    try:
        records = [await storage.archive.read(session.id) for session in await storage.archive.list_sessions()]
        return any(isinstance(record.event, TurnFinished) for each in records for record in each)
    finally:
        storage.close()


async def read_ledger(home: Path) -> Sequence[LedgerRecord]:
    """The record of the one session there is."""
    storage = open_storage(StorageTable(), environment(home))
    try:
        (session,) = await storage.archive.list_sessions()
        return await storage.archive.read(session.id)
    finally:
        storage.close()


async def carry(door: Door, folder: Path, script: str, answer: Answer) -> Arrival:
    """Carry a script through a door, with a project, a home and a model of its own."""
    project, home = folder / "project", folder / "home"
    project.mkdir(parents=True)
    home.mkdir()
    (project / "a.txt").write_text("one\ntwo\nthree\n")
    (project / ".env").write_text("KEY=value\n")
    mode, replies, more = SCRIPTS[script]
    async with SseServer("anthropic") as server:
        configure(
            home,
            '[models]\ndecision = "local/scripted"\n[providers.local]\ntype = "anthropic"\n'
            f'base_url = "{server.base_url}"\nmax_retries = 0\n{more}',
        )
        server.script = list(replies)
        calls = [call for reply in replies if isinstance(reply, Say) for call in reply.calls]
        return await door.carry(Passage(project=project, home=home, mode=mode, answer=answer, calls=calls))


def held_against(answer: Answer) -> Sequence[str]:
    return [name for name, door in DOORS.items() if answer in door.answers]


_AWAITED: dict[tuple[str, str, Answer], tuple[Path, Arrival]] = {}
"""What has come through the doors that others are held against, and the folder it was carried in."""
_NUMBERS = count()  # of folders: estimates count the length of paths, so that all have names of one length


def list_cases() -> Iterator[ParameterSet]:
    """Every door with every answer, for the scripts in which it is asked; for the others every door once."""
    for script, (_, replies, _) in SCRIPTS.items():
        if replies is WORK:
            for answer in ANSWERS:
                reference, *others = held_against(answer)
                yield from (make_case(name, script, answer, reference) for name in others)
            continue
        reference, *others = (name for name, door in DOORS.items() if not door.only_decides)
        for name in others:
            answer = next(each for each in ANSWERS if each in DOORS[name].answers)
            yield make_case(name, script, answer, reference)


def make_case(name: str, script: str, answer: Answer, reference: str) -> ParameterSet:
    return pytest.param(name, script, answer, reference, id=f"{name}-{script}-{answer}")


@pytest.mark.long
@pytest.mark.parametrize(("name", "script", "answer", "reference"), list_cases())
async def test_a_script_has_the_same_decisions_events_and_ending_behind_every_door(
    name: str, script: str, answer: Answer, reference: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def make_folder() -> Path:
        return tmp_path_factory.getbasetemp() / f"door-{next(_NUMBERS):03}"

    if (reference, script, answer) not in _AWAITED:
        folder = make_folder()
        _AWAITED[reference, script, answer] = (
            folder,
            await carry(DOORS[reference], folder, script, answer),
        )
    awaited, expected = _AWAITED[reference, script, answer]
    folder = make_folder()
    arrived = await carry(DOORS[name], folder, script, answer)

    if DOORS[name].only_decides:
        assert_same_decisions(arrived, expected, (folder, awaited))
        return
    assert arrived.decisions == expected.decisions
    assert arrived.ending == expected.ending
    assert arrived.canonical == expected.canonical


def assert_same_decisions(arrived: Arrival, expected: Arrival, folders: tuple[Path, Path]) -> None:
    """Whatever a session decides about, the gate decides for the same reasons; nothing else may it allow."""
    decided = [each for each in expected.decisions if each[0] in OF_CALLERS and each[1] != "none"]
    assert len(decided) == 5
    assert [each for each in arrived.decisions if each[0] in OF_CALLERS] == decided
    assert {outcome for tool, _, outcome in arrived.decisions if tool not in OF_CALLERS} == {"rejected"}

    def placeless(
        reasons: list[tuple[str, tuple[str, ...]]], folder: Path
    ) -> list[tuple[str, tuple[str, ...]]]:
        project = str(folder / "project")
        return [
            (tool, tuple(reason.replace(project, "PROJECT") for reason in each))
            for tool, each in reasons
            if tool in OF_CALLERS
        ]

    assert placeless(arrived.reasons, folders[0]) == placeless(expected.reasons, folders[1])

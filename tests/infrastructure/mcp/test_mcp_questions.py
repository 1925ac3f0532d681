"""Questions that real MCP servers ask the person while they work on a call."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from quorum.domain.errors import ToolError
from quorum.domain.events.event import ServerQuestionAnswered
from quorum.domain.mcp.server_question import (
    ServerAction,
    ServerAddress,
    ServerAnswer,
    ServerForm,
    ServerQuestion,
)
from quorum.infrastructure.config.program_tables import McpServerTable
from quorum.infrastructure.mcp.answers import ServerAnswers
from tests.infrastructure.mcp.server_bench import ServerBench, a_server, a_tool

FORM = {
    "message": "Deploy where?",
    "requestedSchema": {
        "type": "object",
        "required": ["host"],
        "properties": {"host": {"type": "string"}, "sure": {"type": "boolean", "default": True}},
    },
}
ADDRESS = {"mode": "url", "message": "Sign here", "url": "https://sign.example/x", "elicitationId": "1"}


def asking(*questions: dict[str, Any], **plan: object) -> Any:
    return a_server({"tools": [a_tool("ask_person")], "questions": list(questions), **plan}, timeout_secs=120.0)


async def said(bench: ServerBench) -> Any:
    await bench.servers.settle()
    return json.loads(await bench.call("mcp__plain__ask_person"))


def answering(answer: ServerAnswer) -> Any:
    async def answer_server(_: ServerQuestion) -> ServerAnswer:
        return answer

    return answer_server


async def test_what_the_person_fills_in_reaches_the_server_and_the_ledger_first(tmp_path: Path) -> None:
    async with ServerBench(tmp_path, plain=asking(FORM)) as bench:
        bench.person.answers_server = answering(
            ServerAnswer(action=ServerAction.ACCEPT, values={"host": "db1", "sure": True})
        )
        answers = await said(bench)

    (question,) = bench.person.server_questions
    assert isinstance(question, ServerForm)
    assert (question.server, question.call, question.message) == ("plain", "ask_person", "Deploy where?")
    assert answers == [{"action": "accept", "content": {"host": "db1", "sure": True}}]
    (event,) = bench.observer.of(ServerQuestionAnswered)
    assert (event.action, event.values) == (ServerAction.ACCEPT, {"host": "db1", "sure": True})
    assert event.digest == question.digest
    assert event.sentence.endswith("and you answered (host: db1, sure: yes)")


@pytest.mark.parametrize("action", [ServerAction.DECLINE, ServerAction.CANCEL])
async def test_a_no_and_no_decision_are_two_answers_without_values(
    tmp_path: Path, action: ServerAction
) -> None:
    async with ServerBench(tmp_path, plain=asking(FORM)) as bench:
        bench.person.answers_server = answering(ServerAnswer(action=action, values={"host": "db1"}))
        answers = await said(bench)

    assert answers == [{"action": action.value}]
    assert bench.observer.of(ServerQuestionAnswered)[0].values == {}


async def test_an_answer_that_does_not_fit_its_form_is_not_sent(tmp_path: Path) -> None:
    async with ServerBench(tmp_path, plain=asking(FORM)) as bench:
        bench.person.answers_server = answering(
            ServerAnswer(action=ServerAction.ACCEPT, values={"sure": "yes"})
        )
        answers = await said(bench)

    assert answers == [{"action": "cancel"}]


async def test_an_address_is_agreed_to_without_values(tmp_path: Path) -> None:
    async with ServerBench(tmp_path, plain=asking(ADDRESS)) as bench:
        bench.person.answers_server = answering(ServerAnswer(action=ServerAction.ACCEPT))
        answers = await said(bench)

    (question,) = bench.person.server_questions
    assert isinstance(question, ServerAddress)
    assert question.host == "sign.example"
    assert answers == [{"action": "accept"}]
    assert bench.observer.of(ServerQuestionAnswered)[0].address == "https://sign.example/x"


@pytest.mark.parametrize(
    "question",
    [
        {**ADDRESS, "url": "file:///etc/passwd"},
        {**ADDRESS, "url": "http://sign.example/x"},
        {**ADDRESS, "url": "https://user:secret@sign.example/"},
        {**ADDRESS, "url": "https://sign.example/\u202e"},
        {**FORM, "message": "m" * 100_000},
        {
            "message": "m",
            "requestedSchema": {
                "type": "object",
                "properties": {f"f{number}": {"type": "string"} for number in range(1_000)},
            },
        },
        {
            "message": "m",
            "requestedSchema": {
                "type": "object",
                "properties": {"x": {"type": "string", "enum": ["e" * 50_000]}},
            },
        },
    ],
    ids=["file", "http", "user", "bidi", "long", "fields", "enum"],
)
async def test_a_hostile_question_never_reaches_the_person(tmp_path: Path, question: dict[str, Any]) -> None:
    async with ServerBench(tmp_path, plain=asking(question)) as bench:
        (answer,) = await said(bench)

    assert answer["code"] == -32602
    assert bench.person.server_questions == []


async def test_after_ten_questions_about_one_call_the_person_is_left_alone(tmp_path: Path) -> None:
    async with ServerBench(tmp_path, plain=asking(*[FORM] * 12)) as bench:
        answers = await said(bench)

    assert len(bench.person.server_questions) == 10
    assert [answer.get("action") for answer in answers] == ["decline"] * 10 + [None] * 2


@pytest.mark.long
async def test_the_time_of_a_call_stands_still_while_the_person_thinks(tmp_path: Path) -> None:
    table = a_server({"tools": [a_tool("ask_person")], "questions": [FORM]}, timeout_secs=6)
    async with ServerBench(tmp_path, plain=table) as bench:

        async def think(_: ServerQuestion) -> ServerAnswer:
            with suppress(TimeoutError):  # longer than the call may take
                await asyncio.wait_for(asyncio.Event().wait(), 7)
            return ServerAnswer(action=ServerAction.DECLINE)

        bench.person.answers_server = think

        assert await said(bench) == [{"action": "decline"}]


async def test_a_question_whose_call_is_cancelled_is_taken_back(tmp_path: Path) -> None:
    begun, taken_back = asyncio.Event(), asyncio.Event()

    async def wait(_: ServerQuestion) -> ServerAnswer:
        begun.set()
        try:
            return await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            taken_back.set()
            raise

    async with ServerBench(tmp_path, plain=asking(FORM)) as bench:
        bench.person.answers_server = wait
        await bench.servers.settle()
        call = asyncio.create_task(bench.call("mcp__plain__ask_person"))
        await begun.wait()
        call.cancel()
        await asyncio.wait_for(taken_back.wait(), 60)

    assert bench.observer.of(ServerQuestionAnswered) == []


async def test_a_server_that_dies_while_it_asks_takes_its_question_with_it(tmp_path: Path) -> None:
    taken_back = asyncio.Event()

    async def wait(_: ServerQuestion) -> ServerAnswer:
        try:
            return await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            taken_back.set()
            raise

    async with ServerBench(tmp_path, plain=asking(FORM, dies_while_asking=True)) as bench:
        bench.person.answers_server = wait
        await bench.servers.settle()
        with pytest.raises(ToolError, match="broke off the connection"):
            await bench.call("mcp__plain__ask_person")

    assert taken_back.is_set() or bench.person.server_questions == []


async def test_two_servers_ask_one_after_the_other(tmp_path: Path) -> None:
    asking_now, most = 0, 0

    async def answer(_: ServerQuestion) -> ServerAnswer:
        nonlocal asking_now, most
        asking_now += 1
        most = max(most, asking_now)
        await asyncio.sleep(0)
        asking_now -= 1
        return ServerAnswer(action=ServerAction.DECLINE)

    async with ServerBench(tmp_path, plain=asking(FORM), other=asking(FORM)) as bench:
        bench.person.answers_server = answer
        await bench.servers.settle()
        await asyncio.gather(bench.call("mcp__plain__ask_person"), bench.call("mcp__other__ask_person"))

    assert len(bench.person.server_questions) == 2
    assert most == 1


async def test_where_nobody_is_there_no_server_is_told_that_it_may_ask(tmp_path: Path) -> None:
    async with ServerBench(tmp_path, is_there=False, plain=asking(FORM)) as bench:
        (answer,) = await said(bench)

    assert answer["message"] == "Elicitation not supported"
    assert bench.person.server_questions == []


INTERIM = str(Path(__file__).parents[2] / "support" / "mcp_interim_server.py")


@pytest.mark.long(after=1)
@pytest.mark.parametrize("wanted", ["nothing", "form"])
async def test_an_answer_that_asks_for_something_first_is_followed_by_the_request_anew(
    wanted: str, tmp_path: Path
) -> None:
    server = McpServerTable(command=(sys.executable, INTERIM, wanted), start_timeout_secs=120, timeout_secs=60)
    async with ServerBench(tmp_path, odd=server) as bench:
        bench.person.answers_server = answering(
            ServerAnswer(action=ServerAction.ACCEPT, values={"host": "db1"})
        )
        await bench.servers.settle()
        said = await bench.call("mcp__odd__ok")
        prompt = await bench.servers.read_prompt("odd", "p", {})
        resource = await bench.servers.read_resource("odd", "x://a", 1_000)

    assert said == ("done: []" if wanted == "nothing" else "done: [{'host': 'db1'}]")
    assert (prompt, resource.content) == ("the prompt", "the resource")


@pytest.mark.long
async def test_a_server_that_asks_for_what_nobody_here_does_is_told_from_one_that_refuses(
    tmp_path: Path,
) -> None:
    server = McpServerTable(command=(sys.executable, INTERIM, "model"), start_timeout_secs=120, timeout_secs=60)
    async with ServerBench(tmp_path, odd=server) as bench:
        await bench.servers.settle()
        with pytest.raises(ToolError, match="did not finish this: it asks for sampling/createMessage"):
            await bench.call("mcp__odd__ok")
        with pytest.raises(ToolError, match="refused it: it asks for sampling/createMessage"):
            await bench.servers.read_prompt("odd", "p", {})


@pytest.mark.parametrize(
    ("method", "result", "kept"),
    [
        ("tools/call", {"resultType": "input_required", "requestState": "s"}, {"requestState": "s"}),
        ("prompts/get", {"inputRequests": {"q": {"method": "elicitation/create"}}, "x": 1}, None),
        ("resources/read", {"resultType": "input_required", "requestState": "", "contents": []}, None),
    ],
)
def test_an_answer_that_asks_first_is_none_yet(
    method: str, result: dict[str, Any], kept: dict[str, Any] | None
) -> None:
    answers = ServerAnswers("odd")
    answers.note_request({"id": 1, "method": method, "params": {"name": "ok"}})
    (read,) = answers.read({"id": 1, "result": result})

    wanted = kept or {key: value for key, value in result.items() if key in ("inputRequests", "requestState")}
    assert read["result"] == {"resultType": "input_required", **wanted}


@pytest.mark.parametrize("result", [{"resultType": "input_required"}, {"inputRequests": {}}])
def test_one_that_does_not_say_for_what_it_asks_ends_the_call(result: dict[str, Any]) -> None:
    answers = ServerAnswers("odd")
    answers.note_request({"id": 1, "method": "tools/call", "params": {"name": "ok"}})
    (read,) = answers.read({"id": 1, "result": result})

    assert "does not say what" in json.dumps(read["result"])


def test_a_server_of_an_older_revision_cannot_ask_so() -> None:
    answers = ServerAnswers("odd")
    answers.note_request({"id": 0, "method": "initialize"})
    answers.read({"id": 0, "result": {"protocolVersion": "2025-11-25", "capabilities": {}}})
    answers.note_request({"id": 1, "method": "tools/call", "params": {"name": "ok"}})
    (read,) = answers.read({"id": 1, "result": {"resultType": "input_required", "requestState": "s"}})

    assert "its revision of the protocol does not know" in json.dumps(read["result"])

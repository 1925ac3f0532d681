"""Every ending of §9.1's table: status, exit code, one JSON object, nothing else on stdout."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

import pytest

from tests.support.headless_run import configure, configure_for, environment, run, start
from tests.support.sse_server import Dialect, Raw, Refuse, Say, ScriptedCall, SseServer

DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai", "openai-chat")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n", encoding="utf-8")
    (folder / "b.txt").write_text("beta\n", encoding="utf-8")
    return folder


def call(id_: str, tool: str, **arguments: object) -> ScriptedCall:
    return ScriptedCall(id_, tool, json.dumps(arguments))


@pytest.mark.long
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_answered_with_parallel_calls(dialect: Dialect, home: Path, project: Path) -> None:
    async with SseServer(dialect) as server:
        configure_for(home, server)
        server.script = [
            Say(
                calls=[call("c1", "read_file", path="a.txt"), call("c2", "read_file", path="missing.txt")],
                stop="tool_use",
            ),
            Say(pieces=["It says ", "alpha."]),
        ]

        ended = await run("what is in a.txt?", "--output", "json", cwd=project, env=environment(home))

    assert ended.code == 0
    report = ended.report
    assert (report["status"], report["text"], report["turns"]) == ("completed", "It says alpha.", 2)
    assert [(c["call_id"], c["call_index"], c["outcome"], c["decision"]) for c in report["calls"]] == [
        ("c1", 0, "ok", "allowed"),
        ("c2", 1, "error", "allowed"),
    ]
    assert report["usage"]["output"] > 0
    assert "error" not in report
    assert "alpha" in json.dumps(server.bodies[1])


@pytest.mark.long
async def test_text_carries_only_the_answer_on_stdout(home: Path, project: Path) -> None:
    ended = await run("read a.txt", cwd=project, env=environment(home))

    assert ended.code == 0
    assert "alpha" in ended.out
    assert "read_file ok" in ended.err
    assert "read_file ok" not in ended.out


@pytest.mark.long
async def test_the_prompt_can_come_from_stdin(home: Path, project: Path) -> None:
    ended = await run("-", "--output", "json", cwd=project, env=environment(home), stdin="read a.txt\n")

    assert [c["tool"] for c in ended.report["calls"]] == ["read_file"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("mode", "code", "status", "decision", "content"),
    [
        ("ask", 3, "needs_approval", "needs_approval", "alpha\n"),
        ("read-only", 0, "completed", "denied", "alpha\n"),
        ("accept-edits", 0, "completed", "allowed", "omega\n"),
        ("auto", 0, "completed", "allowed", "omega\n"),
    ],
)
async def test_the_mode_decides_about_an_edit_that_nobody_can_be_asked_about(
    mode: str, code: int, status: str, decision: str, content: str, home: Path, project: Path
) -> None:
    ended = await run(
        "replace alpha with omega in a.txt",
        "--mode",
        mode,
        "--output",
        "json",
        cwd=project,
        env=environment(home),
    )

    assert ended.code == code
    assert ended.report["status"] == status
    assert [c["decision"] for c in ended.report["calls"]] == [decision]
    assert (project / "a.txt").read_text(encoding="utf-8") == content


@pytest.mark.long
async def test_the_turn_limit(home: Path, project: Path) -> None:
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        again = [Say(calls=[call(f"c{n}", "read_file", path="a.txt")], stop="tool_use") for n in range(3)]
        server.script = [*again, Say(pieces=["So far."])]

        ended = await run("go", "--max-tool-turns", "2", "--output", "json", cwd=project, env=environment(home))

    assert (ended.code, ended.report["status"], ended.report["stop_reason"]) == (5, "limit", "max_tool_turns")
    assert [c["outcome"] for c in ended.report["calls"]] == ["ok", "ok", "not_run"]


@pytest.mark.long
async def test_the_token_limit(home: Path, project: Path) -> None:
    async with SseServer("anthropic") as server:
        configure_for(home, server)
        server.script = [Say(pieces=["on and "], stop="max_tokens")] * 4

        ended = await run("go", "--output", "json", cwd=project, env=environment(home))

    assert (ended.code, ended.report["status"], ended.report["stop_reason"]) == (5, "limit", "max_tokens")


@pytest.mark.long
async def test_a_call_cut_off_by_the_token_limit_does_not_run(home: Path, project: Path) -> None:
    async with SseServer("anthropic") as server:
        configure_for(home, server)
        cut = Say(calls=[call("c1", "write_file", path="x", content="y")], stop="max_tokens")
        server.script = [cut] * 2  # the request is repeated once, with room for a longer answer

        ended = await run("go", "--mode", "auto", "--output", "json", cwd=project, env=environment(home))

    assert len(server.bodies) == 2
    assert (ended.code, ended.report["status"], ended.report["stop_reason"]) == (5, "limit", "max_tokens")
    assert ended.report["calls"] == []
    assert not (project / "x").exists()


@pytest.mark.long
async def test_a_refusal(home: Path, project: Path) -> None:
    async with SseServer("anthropic") as server:
        configure_for(home, server)
        server.script = [Say(pieces=["No."], stop="refusal")]

        ended = await run("go", "--output", "json", cwd=project, env=environment(home))

    assert (ended.code, ended.report["status"]) == (1, "refused")


@pytest.mark.long
@pytest.mark.parametrize(("dialect", "status"), zip(DIALECTS, (401, 429, 529), strict=True))
async def test_a_provider_that_refuses_gives_one_sentence(
    dialect: Dialect, status: int, home: Path, project: Path
) -> None:
    async with SseServer(dialect) as server:
        configure_for(home, server)
        server.script = [Refuse(status=status)]

        ended = await run("go", "--mode", "auto", "--output", "json", cwd=project, env=environment(home))

    assert (ended.code, ended.report["status"]) == (4, "failed")
    assert str(status) in ended.report["error"]
    assert ended.err.count("\n") == len(server.bodies) == 1
    assert ended.report["calls"] == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("dialect", "told", "compactions"),
    [
        ("anthropic", "This endpoint takes 65536 tokens; you sent about 80123.", 1),
        ("openai-chat", "context shift is disabled and the prompt does not fit the slot", 1),
        ("openai-chat", "The maximum tokens you requested exceeds the model limit of 4096.", 0),
    ],
)
async def test_a_refusal_in_words_of_length_makes_the_history_short_once_and_one_about_the_answer_does_not(
    dialect: Dialect, told: str, compactions: int, home: Path, project: Path
) -> None:
    (project / "a.txt").write_text("some words of a line\n" * 1500, encoding="utf-8")
    (project / "b.txt").write_text("other words of a line\n" * 1500, encoding="utf-8")
    async with SseServer(dialect) as server:
        configure_for(home, server)
        refusal = Raw(body=json.dumps({"message": told}).encode(), status=400, content_type="application/json")
        reads = [Say(calls=[call(n, "read_file", path=f"{n}.txt")], stop="tool_use") for n in ("a", "b")]
        server.script = [*reads, refusal, Say(pieces=["done"])]

        ended = await run("go", "--output", "stream-json", cwd=project, env=environment(home))

    kinds = [event["type"] for event in ended.events]
    assert kinds.count("conversation_compacted") == compactions
    assert len(server.bodies) == 3 + compactions
    assert ended.code == (0 if compactions else 4)


@pytest.mark.long
@pytest.mark.parametrize(
    ("dialect", "reply"),
    [
        ("anthropic", Say(pieces=["half"], ending="drop")),
        (
            "openai",
            Say(calls=[call("c1", "write_file", path="x", content="y")], ending="drop", stop="tool_use"),
        ),
        ("openai-chat", Say(pieces=["half"], ending="error")),
    ],
    ids=["cut text", "cut call", "error event"],
)
async def test_an_answer_that_breaks_off_runs_nothing_and_is_asked_for_again(
    dialect: Dialect, reply: Say, home: Path, project: Path
) -> None:
    async with SseServer(dialect) as server:
        configure_for(home, server)
        server.script = [reply, Say(pieces=["the rest"])]

        ended = await run("go", "--mode", "auto", "--output", "json", cwd=project, env=environment(home))

    assert (ended.code, len(server.bodies)) == (0, 2)
    assert ended.report["text"].endswith("the rest")
    assert (ended.err.count("\n"), ended.err.count("(attempt 1 of 4, in 0 s)")) == (1, 1)
    assert ended.report["calls"] == []
    assert not (project / "x").exists()


@pytest.mark.long
async def test_a_refused_connection(home: Path, project: Path) -> None:
    async with SseServer("openai-chat") as server:
        configure_for(home, server)

    ended = await run("go", "--output", "json", cwd=project, env=environment(home))

    assert ended.code == 4
    assert "connect" in ended.report["error"]


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    ("config", "environ", "expected"),
    [
        ("[agent]\nmax_tool_turn = 3\n", {}, "did you mean agent.max_tool_turns"),
        ("[agent]\nmax_tool_turns = 'x'\n", {}, "max_tool_turns"),
        ("[agent\n", {}, "quorum.toml:1:"),
        ("[models]\ndecision = 'anthropic/x'\n", {}, "ANTHROPIC_API_KEY"),
        ("[models]\ndecision = 'nowhere/x'\n", {}, "nowhere"),
        ("", {"QUORUM_AGENT__MAX_TOOL_TURN": "3"}, "QUORUM_AGENT__MAX_TOOL_TURN"),
    ],
)
async def test_a_wrong_configuration_is_code_2_with_a_sentence_and_an_empty_stdout(
    config: str, environ: dict[str, str], expected: str, home: Path, project: Path
) -> None:
    configure(home, config)

    ended = await run("go", "--output", "json", cwd=project, env=environment(home, **environ))

    assert (ended.code, ended.out) == (2, "")
    assert expected in ended.err


@pytest.mark.long
@pytest.mark.parametrize("arguments", [["--config", "missing.toml", "x"], ["-C", "missing", "x"], [" "]])
async def test_a_wrong_command_line_is_code_2(arguments: list[str], home: Path, project: Path) -> None:
    ended = await run(*arguments, cwd=project, env=environment(home))

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("quorum: ")


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_while_a_command_runs_interrupts_the_run_and_ends_the_command(
    number: signal.Signals, home: Path, project: Path
) -> None:
    process = await start(
        "run `touch began; sleep 300`",
        *("--mode", "auto", "--output", "json", "-v"),
        cwd=project,
        env=environment(home),
    )
    async with asyncio.timeout(120):
        while not (project / "began").exists():  # noqa: ASYNC110 - "started" is told before it is
            await asyncio.sleep(0.01)
        process.send_signal(number)
        out, _ = await process.communicate()

    report = json.loads(out)
    assert (process.returncode, report["status"]) == (130, "interrupted")
    assert [c["outcome"] for c in report["calls"]] == ["cancelled"]


@pytest.mark.long
async def test_stream_json_ends_with_the_report_and_gives_every_call_its_context(
    home: Path, project: Path
) -> None:
    ended = await run(
        "read a.txt and b.txt and replace alpha with omega in a.txt",
        *("--mode", "accept-edits", "--output", "stream-json"),
        cwd=project,
        env=environment(home),
    )

    events = ended.events
    assert events[0]["type"] == "session_started"
    assert events[-1]["type"] == "session_finished"
    assert events[-1]["status"] == "completed"
    assert {event["v"] for event in events} == {1}
    finished = [event for event in events if event["type"] == "call_finished"]
    assert sorted(event["context"]["call_index"] for event in finished) == [0, 1, 2]
    assert {tuple(sorted(event["context"])) for event in finished} == {
        ("batch_id", "call_id", "call_index", "turn_index")
    }
    [planned] = [event for event in events if event["type"] == "batch_planned"]
    assert [lane["follows"] for lane in planned["lanes"]] == [[], [], [0]]


@pytest.mark.long
async def test_nothing_a_file_holds_reaches_the_terminal_as_control(home: Path, project: Path) -> None:
    nasty = "\x1b]52;c;aGk=\x07\x1b[31m[/red]\u202eevil\u2066\x9b2J"
    (project / "nasty.txt").write_text(nasty, encoding="utf-8")

    text = await run("read nasty.txt", cwd=project, env=environment(home))
    lines = await run("read nasty.txt", "--output", "stream-json", cwd=project, env=environment(home))

    for printed in (text.out, text.err, lines.out, lines.err):
        assert not set(printed) & set("\x1b\x07\u202e\u2066\x9b")
    assert "[/red]" in text.out
    outputs = [event["output"] for event in lines.events if event["type"] == "call_finished"]
    assert nasty.strip() in outputs[0]

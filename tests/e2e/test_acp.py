"""`quorum acp` with the SDK's own client: real processes, a scripted model, every part of the protocol."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from acp.exceptions import RequestError
from acp.schema import (
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    McpServerStdio,
    PermissionOption,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
    ToolCallUpdate,
)

from tests.support.acp_client import Choose, ServedEditor, allow_once, reject_once, served_editor
from tests.support.headless_run import (
    configure,
    configure_for,
    environment,
    run,
    run_quorum,
    start_quorum,
)
from tests.support.pictures import png
from tests.support.quorum_rig import DONE, call, calling, quorum_rig, vote
from tests.support.sse_server import Hang, Say, SseServer

EDIT = calling(call("c1", "edit_file", path="a.txt", old_text="two", new_text="TWO"))


@dataclass
class Machine:
    """A project, a home, and the model that both quorum and its editor find there."""

    project: Path
    home: Path
    model: SseServer

    @property
    def env(self) -> dict[str, str]:
        return environment(self.home)

    @asynccontextmanager
    async def served(self, *arguments: str, **how: Any) -> AsyncIterator[ServedEditor]:
        async with served_editor(self.project, self.env, *arguments, **how) as served:
            yield served

    async def model_was_asked(self) -> None:
        """Wait until a request has arrived."""
        async with asyncio.timeout(120):
            while not self.model.bodies:  # noqa: ASYNC110 - another process sends it
                await asyncio.sleep(0.01)

    def sent(self, number: int = -1) -> str:
        """What was sent to the model with a request, as text."""
        return json.dumps(self.model.bodies[number], ensure_ascii=False)


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    (project / "a.txt").write_text("one\ntwo\nthree\n")
    async with SseServer("anthropic") as model:
        configure_for(home, model)
        yield Machine(project, home, model)


@pytest.mark.long
async def test_a_prompt_streams_thoughts_text_calls_a_plan_and_ends(machine: Machine) -> None:
    machine.model.script = [
        Say(
            reasoning="hm",
            pieces=["Let ", "me look."],
            calls=[call("c1", "read_file", path="a.txt")],
            stop="tool_use",
        ),
        calling(call("c2", "update_plan", items=[{"text": "look", "status": "in_progress"}])),
        DONE,
    ]
    async with machine.served() as served:
        session = await served.new(machine.project)
        ended = await served.ask(session, "go")

        editor = served.editor
        assert ended.stop_reason == "end_turn"
        assert editor.read_answer(session) == "Let me look.done"
        assert editor.texts(session, "agent_thought_chunk") == "hm"
        read = editor.call(session)
        assert (read["kind"], read["status"], read["title"]) == ("read", "completed", "read_file a.txt")
        assert read["locations"] == [{"path": str(machine.project / "a.txt")}]
        assert read["raw_input"] == {"path": "a.txt"}
        (plan,) = (update for update in editor.updates[session] if update.session_update == "plan")
        assert [(entry.content, entry.status) for entry in plan.entries] == [("look", "in_progress")]
        assert editor.asked == []


@pytest.mark.long
async def test_a_question_carries_the_diff_the_digest_and_the_reasons_and_its_answer_decides(
    machine: Machine,
) -> None:
    machine.model.script = [EDIT, DONE]
    async with machine.served(choose=allow_once) as served:
        session = await served.new(machine.project)
        ended = await served.ask(session, "go")
        ((asked_in, question, options),) = served.editor.asked

    assert asked_in == session
    assert question.raw_input == {"path": "a.txt", "old_text": "two", "new_text": "TWO"}
    assert question.content is not None
    diff, facts = question.content
    assert (diff.path, diff.old_text, diff.new_text) == (
        str(machine.project / "a.txt"),
        "one\ntwo\nthree\n",
        "one\nTWO\nthree\n",
    )
    assert question.field_meta is not None
    packet = question.field_meta["quorum"]
    assert packet["digest"] in facts.content.text
    assert packet["reasons"] == ["high risk, and the mode is ask"]
    assert [option.kind for option in options] == ["allow_once", "allow_always", "allow_always", "reject_once"]
    assert options[1].name == "Always allow in this session: write_file(a.txt)"
    assert (machine.project / "a.txt").read_text() == "one\nTWO\nthree\n"
    assert ended.field_meta is not None
    assert [c["decision"] for c in ended.field_meta["quorum"]["report"]["calls"]] == ["approved"]


@pytest.mark.long
async def test_a_client_that_draws_kinds_and_titles_alone_shows_why_it_is_asked_and_each_kind_once(
    machine: Machine,
) -> None:
    machine.model.script = [EDIT, DONE]
    async with machine.served(choose=allow_once, name="another") as served:
        session = await served.new(machine.project)
        await served.ask(session, "go")
        ((_, question, options),) = served.editor.asked
        shown = [
            update.title
            for update in served.editor.updates[session]
            if getattr(update, "tool_call_id", "") == question.tool_call_id and update.title
        ]
        said = served.editor.texts(session)

    assert question.title == "[high risk, and the mode is ask] edit_file a.txt"
    assert "> quorum: asks about [high risk, and the mode is ask] edit_file a.txt" in said
    assert shown.index(question.title) < len(shown) - 1, "it is told before the request"
    assert shown[-1] == "edit_file a.txt"
    assert [(option.option_id, option.kind) for option in options] == [
        ("allow", "allow_once"),
        ("always-session", "allow_always"),
        ("reject", "reject_once"),
    ]


@pytest.mark.long
async def test_an_approved_plan_is_the_plan_of_the_editor_and_its_boxes_fill(machine: Machine) -> None:
    tasks = [{"id": "parser", "description": "write it"}, {"id": "docs", "description": "tell of it"}]
    machine.model.script = [
        calling(call("c1", "create_plan", objective="a parser", reasoning="it is asked for", tasks=tasks)),
        calling(call("c2", "update_task", id="parser", status="started")),
        calling(call("c3", "update_task", id="parser", status="done")),
        DONE,
    ]
    env = {**machine.env, "QUORUM_AGENT__PHASE_SCOPE": "plan-only"}
    async with served_editor(machine.project, env, choose=allow_once) as served:
        session = await served.new(machine.project)
        await served.ask(session, "make a parser")
        ((_, question, _options),) = served.editor.asked
        plans = [update for update in served.editor.updates[session] if update.session_update == "plan"]

    assert question.field_meta is not None
    assert question.field_meta["quorum"]["packet"]["arguments"]["objective"] == "a parser"
    assert [[entry.content for entry in plan.entries] for plan in plans] == [
        ["parser: write it", "docs: tell of it"]
    ] * 3
    assert [[entry.status for entry in plan.entries] for plan in plans] == [
        ["pending", "pending"],
        ["in_progress", "pending"],
        ["completed", "pending"],
    ]


@pytest.mark.long
async def test_always_saves_the_rule_that_was_shown(machine: Machine) -> None:
    machine.model.script = [
        EDIT,
        calling(call("c2", "edit_file", path="a.txt", old_text="TWO", new_text="zwei")),
        DONE,
    ]

    async def always(call: ToolCallUpdate, options: list[PermissionOption]) -> str:
        return "always-session"

    async with machine.served(choose=always) as served:
        session = await served.new(machine.project)
        await served.ask(session, "go")
        assert len(served.editor.asked) == 1

    assert (machine.project / "a.txt").read_text() == "one\nzwei\nthree\n"


@pytest.mark.long
@pytest.mark.parametrize("answer", ["always-user", "", "allow_once"])
async def test_an_option_that_was_not_offered_approves_nothing(machine: Machine, answer: str) -> None:
    machine.model.script = [EDIT, DONE]

    async def invent(call: ToolCallUpdate, options: list[PermissionOption]) -> str:
        return answer

    async with machine.served(choose=invent) as served:
        session = await served.new(machine.project)
        ended = await served.ask(session, "go")

    assert ended.field_meta is not None
    assert ended.field_meta["quorum"]["report"]["status"] == "needs_approval"
    assert (machine.project / "a.txt").read_text() == "one\ntwo\nthree\n"


@pytest.mark.long
@pytest.mark.parametrize(
    ("choose", "status"), [(allow_once, "completed"), (reject_once, "failed")], ids=["allowed", "rejected"]
)
async def test_a_call_of_a_subagent_is_shown_from_its_question_to_its_end_and_no_other_call_of_it(
    machine: Machine, choose: Choose, status: str
) -> None:
    (machine.project / ".env").write_text("NAME=value\n", encoding="utf-8")
    machine.model.script = [
        calling(call("c1", "task", prompt="read the settings")),
        calling(call("x1", "read_file", path="a.txt"), call("x2", "read_file", path=".env")),
        Say(pieces=["read"]),
        DONE,
    ]
    async with machine.served(choose=choose) as served:
        session = await served.new(machine.project)
        await served.ask(session, "go")
        editor = served.editor
        ((_, question, _),) = editor.asked
        kinds = [
            (update.session_update, update.status)
            for update in editor.updates[session]
            if getattr(update, "tool_call_id", "") == question.tool_call_id
        ]
        assert kinds[0] == ("tool_call", "pending"), "it is there before it is asked about"
        assert kinds[-1] == ("tool_call_update", status)
        shown = editor.call(session, 1)
        assert (shown["tool_call_id"], shown["title"]) == (question.tool_call_id, "read_file .env")
        assert [kind for kind in editor.kinds(session) if kind == "tool_call"] == ["tool_call"] * 2


@pytest.mark.long
async def test_the_votes_stand_in_the_question_as_they_were_cast(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    votes = [
        [vote("approve", "fine", 0.8, in_scope="no")],
        [vote("reject", "too bold", 0.7, objection="touch")],
    ]
    script = [calling(call("c1", "run_command", command="touch b.txt")), DONE]
    async with (
        quorum_rig(home, script, votes) as rig,
        served_editor(project, environment(rig.home), "--mode", "quorum") as served,
    ):
        session = await served.new(project)
        await served.ask(session, "go")
        ((_, question, _options),) = served.editor.asked

    assert question.title is not None
    assert question.title.startswith("[votes: ")
    assert question.title.endswith("] touch b.txt")
    assert question.field_meta is not None
    cast = question.field_meta["quorum"]["votes"]
    assert [(v["verdict"], v["in_scope"], v["counts_as"], v["reason"]) for v in cast] == [
        ("approve", "no", "reject", "fine"),
        ("reject", "yes", "reject", "too bold"),
    ]
    assert question.content is not None
    text = question.content[-1].content.text
    assert "r0/scripted **reject** (80%): outside of what was asked, though it approves: fine" in text
    assert "r1/scripted **reject** (70%): too bold, about “touch”" in text
    assert not (project / "b.txt").exists()


@pytest.mark.long
@pytest.mark.parametrize("moment", ["before an answer", "in a question", "in a command"])
async def test_cancel_ends_the_prompt_at_any_moment_and_the_session_goes_on(
    machine: Machine, moment: str
) -> None:
    asked = asyncio.Event()

    async def never(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
        asked.set()
        await asyncio.Event().wait()
        return None

    mode = "accept-edits" if moment == "in a command" else "ask"
    sleeping = calling(call("c1", "run_command", command="ls; sleep 60", timeout_secs=60))
    script = {
        "before an answer": [Hang("silent"), DONE],
        "in a question": [EDIT, DONE],
        "in a command": [sleeping, DONE],
    }
    machine.model.script = script[moment]
    choose = allow_once if moment == "in a command" else never
    async with machine.served("--mode", mode, choose=choose) as served:
        editor = served.editor
        session = await served.new(machine.project)
        going = served.begin(session, "go")
        match moment:
            case "before an answer":
                await machine.model_was_asked()
            case "in a question":
                await asked.wait()
            case _:
                await editor.until(
                    lambda: any(
                        getattr(u, "status", "") == "in_progress" for u in editor.updates.get(session, ())
                    )
                )
        await served.agent.cancel(session_id=session)
        assert (await asyncio.wait_for(going, 120)).stop_reason == "cancelled"
        again = await served.ask(session, "again")

    assert again.stop_reason == "end_turn"
    if moment != "before an answer":
        results = [
            block
            for message in machine.model.bodies[-1]["messages"]
            for block in message["content"]
            if isinstance(block, dict) and block["type"] == "tool_result"
        ]
        assert [result["tool_use_id"] for result in results] == ["c1"]


@pytest.mark.long
async def test_a_client_that_dies_in_a_question_leaves_it_to_be_answered_elsewhere(machine: Machine) -> None:
    machine.model.script = [EDIT]
    asked = asyncio.Event()

    async def die(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
        asked.set()
        await asyncio.Event().wait()
        return None

    async with machine.served(choose=die) as served:
        session = await served.new(machine.project)
        going = served.begin(session, "go")
        await asked.wait()
        assert served.process.stdin is not None
        served.process.stdin.close()
        await asyncio.wait_for(served.process.wait(), 120)
        going.cancel()
    await approve_elsewhere(machine, session)


@pytest.mark.long
async def test_a_client_that_dies_while_a_question_is_prepared_leaves_it_open_too(machine: Machine) -> None:
    machine.model.script = [EDIT]
    async with machine.served(reads_buffers=True) as served:
        served.editor.is_silent = True
        session = await served.new(machine.project)
        going = served.begin(session, "go")
        await served.editor.reading.wait()
        assert served.process.stdin is not None
        served.process.stdin.close()
        await asyncio.wait_for(served.process.wait(), 120)
        going.cancel()
    await approve_elsewhere(machine, session)


async def approve_elsewhere(machine: Machine, session: str) -> None:
    """Answer the open question of a session in another process."""
    machine.model.script = [DONE]
    async with machine.served(choose=allow_once) as served:
        await served.agent.load_session(cwd=str(machine.project), session_id=session, mcp_servers=[])
        ended = await served.ask(session, "/retry")

    assert ended.stop_reason == "end_turn"
    assert (machine.project / "a.txt").read_text() == "one\nTWO\nthree\n"


@pytest.mark.long
async def test_load_replays_the_whole_history_before_it_answers(machine: Machine) -> None:
    machine.model.script = [
        Say(reasoning="hm", pieces=["a look"], calls=EDIT.calls, stop="tool_use"),
        DONE,
    ]
    async with machine.served(choose=allow_once) as served:
        session = await served.new(machine.project)
        await served.ask(session, "change it")
        await served.agent.close_session(session_id=session)
    async with machine.served() as served:
        (listed,) = (await served.agent.list_sessions(cwd=str(machine.project))).sessions
        assert (listed.session_id, listed.title) == (session, "change it")
        await served.agent.load_session(cwd=str(machine.project), session_id=session, mcp_servers=[])
        kinds = served.editor.kinds(session)
        edit = served.editor.call(session)

        assert kinds[:5] == [
            "user_message_chunk",
            "agent_thought_chunk",
            "agent_message_chunk",
            "tool_call",
            "agent_message_chunk",
        ]
        assert (edit["status"], edit["raw_output"]["decision"]) == ("completed", "approved")
        assert edit["content"][0]["new_text"] == "one\nTWO\nthree\n"


@pytest.mark.long
async def test_sessions_side_by_side_keep_apart(machine: Machine, tmp_path: Path) -> None:
    folders = [tmp_path / f"folder{n}" for n in range(3)]
    for folder in folders:
        folder.mkdir()
    machine.model.script = [Say(pieces=[f"answer {n}"]) for n in range(3)]
    async with machine.served() as served:
        sessions = [await served.new(folder) for folder in folders]
        await asyncio.gather(*(served.ask(session, f"prompt {n}") for n, session in enumerate(sessions)))
        answers = sorted(served.editor.read_answer(session) for session in sessions)

    assert answers == ["answer 0", "answer 1", "answer 2"]


@pytest.mark.long
async def test_images_links_and_embedded_texts_reach_the_model(machine: Machine) -> None:
    machine.model.script = [DONE]
    (machine.project / ".env").write_text("KEY=hidden-word\n")
    uri = (machine.project / "a.txt").as_uri()
    blocks = [
        TextContentBlock(type="text", text="look at"),
        ImageContentBlock(type="image", data=base64.b64encode(png()).decode(), mime_type="image/png"),
        ResourceContentBlock(type="resource_link", name="a.txt", uri=uri),
        ResourceContentBlock(type="resource_link", name=".env", uri=(machine.project / ".env").as_uri()),
        EmbeddedResourceContentBlock(
            type="resource", resource=TextResourceContents(uri="file:///notes.md", text="remember the milk")
        ),
    ]
    async with machine.served(reads_buffers=True) as served:
        served.editor.buffers[str(machine.project / "a.txt")] = "one\nunsaved\nthree\n"
        served.editor.buffers[str(machine.project / ".env")] = "KEY=hidden-word-unsaved\n"
        session = await served.new(machine.project)
        await served.agent.prompt(session_id=session, prompt=blocks)

    sent = machine.sent()
    assert '"type": "image"' in sent
    assert "remember the milk" in sent
    assert "two" in sent, "the file as it is on disk is attached"
    assert "unsaved" in sent, "and so is what the editor has of it"
    assert "hidden-word" not in sent


@pytest.mark.long
async def test_a_question_about_a_file_with_unsaved_changes_says_so(machine: Machine) -> None:
    machine.model.script = [EDIT, DONE]
    async with machine.served(choose=allow_once, reads_buffers=True) as served:
        served.editor.buffers[str(machine.project / "a.txt")] = "one\nunsaved\nthree\n"
        session = await served.new(machine.project)
        await served.ask(session, "go")
        ((_, question, _options),) = served.editor.asked

    assert question.content is not None
    assert "your editor has unsaved changes in" in question.content[-1].content.text
    assert (machine.project / "a.txt").read_text() == "one\nTWO\nthree\n", "what was sealed is what was written"


@pytest.mark.long
async def test_modes_can_be_switched_and_auto_cannot(machine: Machine) -> None:
    machine.model.script = [EDIT, DONE]
    async with machine.served() as served:
        opened = await served.agent.new_session(cwd=str(machine.project), mcp_servers=[])
        assert opened.modes is not None
        offered = [mode.id for mode in opened.modes.available_modes]
        with pytest.raises(RequestError, match="auto is chosen when a session begins"):
            await served.agent.set_session_mode(session_id=opened.session_id, mode_id="auto")
        await served.agent.set_session_mode(session_id=opened.session_id, mode_id="accept-edits")
        await served.ask(opened.session_id, "go")

        assert opened.modes.current_mode_id == "ask"
        assert "auto" not in offered
        assert "current_mode_update" in served.editor.kinds(opened.session_id)
        assert served.editor.asked == []
    assert (machine.project / "a.txt").read_text() == "one\nTWO\nthree\n"


@pytest.mark.long
async def test_slash_commands_are_listed_and_run(machine: Machine) -> None:
    commands = machine.home / "config" / "quorum" / "commands"
    commands.mkdir(parents=True)
    (commands / "greet.md").write_text("---\ndescription: Say hello\n---\nSay hello to $1.\n")
    agents = machine.project / ".agents" / "agents"
    agents.mkdir(parents=True)
    (agents / "looker.md").write_text("---\ndescription: Looks\n---\nLook.\n")
    machine.model.script = [DONE, DONE]
    async with machine.served() as served:
        session = await served.new(machine.project)
        await served.editor.until(lambda: served.editor.kinds(session))
        listed = served.editor.updates[session][0].available_commands
        await served.ask(session, "/greet Ada")
        await served.ask(session, "/init")
        await served.ask(session, "/model")
        await served.ask(session, "/agents")
        with pytest.raises(RequestError, match="full-screen app"):
            await served.ask(session, "/undo")

        assert [command.name for command in listed] == [
            *("retry", "compact", "init", "goal", "model", "skills", "agents", "stage", "greet")
        ]
        assert "the model is local/scripted" in served.editor.texts(session)
        assert "- looker: Looks" in served.editor.texts(session)
        assert "looker.md, not trusted)" in served.editor.texts(session)
    assert "Say hello to Ada." in machine.sent(0)
    assert "Look at this project, and write AGENTS.md" in machine.sent()
    assert len(machine.model.bodies) == 2


@pytest.mark.long
async def test_a_goal_is_worked_on_until_its_check_passes_and_told_of(machine: Machine) -> None:
    machine.model.script = [DONE, EDIT, DONE]
    async with machine.served(choose=allow_once) as served:
        session = await served.new(machine.project)
        await served.ask(session, "/goal")
        ended = await served.ask(session, "/goal two is large ! grep -q TWO a.txt")
        await served.ask(session, "/goal")
        await served.ask(session, "/goal off")
        with pytest.raises(RequestError, match="no goal is set") as refused:
            await served.ask(session, "/goal off")
        assert refused.value.code == -32602
        with pytest.raises(RequestError, match="may be a check or not"):
            await served.ask(session, "/goal two is large !grep")

        said = served.editor.texts(session)
        assert ended.stop_reason == "end_turn"
        assert "no goal is set: /goal TEXT ! COMMAND" in said
        assert "goal: two is large" in said
        assert "reached in attempt 2" in said
        assert "the goal is taken away" in said
    assert (machine.project / "a.txt").read_text() == "one\nTWO\nthree\n"
    assert "grep -q TWO a.txt" in machine.sent(1)


@pytest.mark.long
async def test_what_a_project_wants_to_be_trusted_with_is_ignored_and_said(machine: Machine) -> None:
    (machine.project / "quorum.toml").write_text('[review]\nmode = "auto"\n')
    machine.model.script = [EDIT, DONE]
    async with machine.served() as served:
        session = await served.new(machine.project)
        await served.ask(session, "go")

        assert len(served.editor.asked) == 1
        assert "quorum.toml" in served.editor.texts(session)


@pytest.mark.long
async def test_what_the_model_writes_cannot_act_or_hide_in_a_question(machine: Machine) -> None:
    command = "echo \u202e ```\n# harmless\x1b[2J"
    machine.model.script = [calling(call("c1", "run_command", command=command)), DONE]
    async with machine.served() as served:
        session = await served.new(machine.project)
        await served.ask(session, "go")
        ((_, question, _options),) = served.editor.asked

    assert question.content is not None
    shown = question.content[0].content.text
    assert shown == "````sh\necho ⟨U+202E⟩ ```\n# harmless␛[2J\n````"
    assert "\x1b" not in (question.title or "")


@pytest.mark.long
async def test_a_failed_provider_is_an_error_that_names_it(machine: Machine) -> None:
    machine.model.script = []
    configure(machine.home, '[models]\ndecision = "local/scripted"\n')
    async with machine.served() as served:
        with pytest.raises(RequestError, match="local"):
            await served.new(machine.project)


@pytest.mark.long
async def test_rubbish_on_its_input_is_answered_and_the_session_lives_on(machine: Machine) -> None:
    machine.model.script = [DONE]
    process = await start_quorum("acp", cwd=machine.project, env=machine.env)
    assert process.stdin is not None
    assert process.stdout is not None

    async def answer_to(line: bytes) -> dict[str, Any]:
        process.stdin.write(line + b"\n")
        return json.loads(await asyncio.wait_for(process.stdout.readline(), 120))

    def request(number: int, method: str, params: object) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()

    assert (await answer_to(b"rubbish \xff\xfe"))["error"]["code"] == -32700
    assert (await answer_to(b"[1, 2]"))["error"]["code"] == -32600
    assert (await answer_to(b'{"id": 1, "method": 7}'))["error"]["code"] == -32600
    assert (await answer_to(b"[" * 100_000))["error"]["code"] == -32700
    assert (await answer_to(b'"' + b"x" * 10_000_000))["error"]["code"] == -32700
    assert (await answer_to(request(1, "no/such", {})))["error"]["code"] == -32601
    assert (await answer_to(request(2, "session/prompt", "text")))["error"]["code"] == -32602
    assert (await answer_to(request(3, "session/new", {"cwd": "relative", "mcpServers": []})))["error"]
    assert (await answer_to(request(4, "session/new", {"cwd": "/no/such", "mcpServers": []})))["error"]
    unknown = {"sessionId": "x", "prompt": [{"type": "text", "text": "go"}]}
    assert "no session" in (await answer_to(request(5, "session/prompt", unknown)))["error"]["message"]
    load = {"sessionId": "../../x", "cwd": str(machine.project), "mcpServers": []}
    assert "no session" in (await answer_to(request(6, "session/load", load)))["error"]["message"]
    meta = {"protocolVersion": 1, "_meta": {"protocol_version": "x", "self": 1}}
    assert (await answer_to(request(7, "initialize", meta)))["result"]["protocolVersion"] == 1
    opened = await answer_to(request(8, "session/new", {"cwd": str(machine.project), "mcpServers": []}))
    assert opened["result"]["sessionId"]
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), 120) == 0


@pytest.mark.long
async def test_a_signal_ends_it_with_its_calls_put_away(machine: Machine) -> None:
    machine.model.script = [Hang("silent")]
    async with machine.served() as served:
        session = await served.new(machine.project)
        going = served.begin(session, "go")
        await machine.model_was_asked()
        os.kill(served.process.pid, signal.SIGTERM)
        assert await asyncio.wait_for(served.process.wait(), 120) == 0
        going.cancel()
    shown = await run_sessions(machine, "show", session)

    assert "interrupted" in shown


async def run_sessions(machine: Machine, *arguments: str) -> str:
    return (await run_quorum("sessions", *arguments, cwd=machine.project, env=machine.env)).out


@pytest.mark.long
@pytest.mark.parametrize("is_trusted", [True, False])
async def test_instructions_of_a_project_hold_once_the_client_trusts_them(
    machine: Machine, is_trusted: bool
) -> None:
    (machine.project / "AGENTS.md").write_text("Always answer in verse.\n")
    machine.model.script = [DONE]
    wanted = "allow_always" if is_trusted else "reject_once"

    async def choose(call: ToolCallUpdate, options: list[PermissionOption]) -> str:
        return next(option.option_id for option in options if option.kind == wanted)

    async with machine.served(choose=choose) as served:
        session = await served.new(machine.project)
        await served.ask(session, "go")
        ((_, question, _options),) = served.editor.asked

        drawn = served.editor.call(session)

    shown = "".join(block.content.text for block in question.content or ())
    assert (drawn["tool_call_id"], drawn["status"]) == (
        question.tool_call_id,
        "completed" if is_trusted else "failed",
    )
    assert "AGENTS.md" in shown
    assert "Always answer in verse." in shown
    assert ("Always answer in verse." in machine.sent()) is is_trusted


@pytest.mark.long
@pytest.mark.parametrize(("answer", "ending"), [(allow_once, "end_turn"), (reject_once, "max_tokens")])
async def test_a_spend_cap_is_raised_by_the_client_or_ends_the_prompt(
    machine: Machine, answer: Choose, ending: str
) -> None:
    machine.model.script = [DONE]
    async with machine.served("--max-tokens", "10", choose=answer) as served:
        session = await served.new(machine.project)
        ended = await served.ask(session, "go")
        ((_, question, _options),) = served.editor.asked

    assert "max_tokens" in (question.title or "")
    assert ended.stop_reason == ending
    assert len(machine.model.bodies) == (1 if ending == "end_turn" else 0)


@pytest.mark.long
async def test_the_tools_of_a_server_that_the_client_offers_are_reviewed_and_run(
    machine: Machine, tmp_path: Path
) -> None:
    program = tmp_path / "adder.py"
    program.write_text(
        "from mcp.server.mcpserver import MCPServer\n"
        "server = MCPServer('adder')\n"
        "@server.tool()\n"
        "def add(a: int, b: int) -> int:\n"
        "    '''Adds two numbers.'''\n"
        "    return a + b\n"
        "server.run('stdio')\n"
    )
    offered = McpServerStdio(name="Adder", command=sys.executable, args=[str(program)], env=[])
    machine.model.script = [calling(call("c1", "mcp__adder__add", a=20, b=22)), DONE]
    async with machine.served(choose=allow_once) as served:
        opened = await served.agent.new_session(cwd=str(machine.project), mcp_servers=[offered])
        await served.ask(opened.session_id, "go")
        asked = [question.title for _, question, _ in served.editor.asked]

    assert any("mcp__adder__add" in (title or "") for title in asked)
    assert "42" in machine.sent()


@pytest.mark.long
async def test_a_session_of_an_editor_can_be_forked_and_continued_without_an_editor(machine: Machine) -> None:
    machine.model.script = [DONE, DONE, DONE]
    async with machine.served() as served:
        session = await served.new(machine.project)
        await served.ask(session, "remember the milk")
        forked = await served.agent.fork_session(cwd=str(machine.project), session_id=session, mcp_servers=[])
        await served.ask(forked.session_id, "and now?")
    ended = await run("go", "--resume", session, "--output", "json", cwd=machine.project, env=machine.env)

    assert forked.session_id != session
    assert "remember the milk" in machine.sent(1)
    assert ended.report["session_id"] == session
    assert "remember the milk" in machine.sent(2)
    assert "and now?" not in machine.sent(2)


@pytest.mark.long
async def test_what_is_printed_beside_the_protocol_goes_to_stderr(machine: Machine) -> None:
    process = await start_quorum("acp", cwd=machine.project, env=machine.env)
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 99}},
        {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": "/", "mcpServers": []}},
        {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "none"}},
        {"jsonrpc": "2.0", "id": 77, "result": {"outcome": "nobody asked"}},
    ]
    out, _ = await asyncio.wait_for(
        process.communicate("".join(json.dumps(line) + "\n" for line in lines).encode()), 60
    )

    answers = [json.loads(line) for line in out.splitlines()]
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    assert answers[0]["result"]["protocolVersion"] == 1
    assert process.returncode == 0


@pytest.mark.long
async def test_additional_directories_belong_to_the_workspace(machine: Machine, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "paint.py").write_text("COLOUR = 'teal'\n")
    machine.model.script = [calling(call("c1", "read_file", path=f"{library}/paint.py")), DONE]
    async with machine.served() as served:
        opened = await served.agent.new_session(
            cwd=str(machine.project), mcp_servers=[], additional_directories=[str(library)]
        )
        await served.ask(opened.session_id, "go")
        assert "teal" in machine.sent()
        with pytest.raises(RequestError, match="whole file system"):
            await served.agent.new_session(
                cwd=str(machine.project), mcp_servers=[], additional_directories=["/"]
            )

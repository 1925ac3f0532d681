"""What a client asks `quorum acp` for beside prompts: choices, deletion, cancellation, signing in."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from acp.exceptions import RequestError
from acp.schema import (
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    ElicitationUrlCapabilities,
    McpServerStdio,
    PermissionOption,
    TextContentBlock,
    ToolCallUpdate,
)

from tests.support.acp_client import ServedEditor, allow_once, served_editor
from tests.support.headless_run import configure, configure_for, environment
from tests.support.pictures import png
from tests.support.quorum_rig import DONE, call, calling
from tests.support.sse_server import Hang, Raw, Say, SseServer

pytestmark = pytest.mark.long
SERVER = Path(__file__).parents[1] / "support" / "mcp_plain_server.py"
ELICITS = ElicitationCapabilities(form=ElicitationFormCapabilities(), url=ElicitationUrlCapabilities())
FORM = {
    "message": "Deploy where?",
    "requestedSchema": {
        "type": "object",
        "properties": {"host": {"type": "string"}, "sure": {"type": "boolean"}},
        "required": ["host"],
    },
}
ADDRESS = {"mode": "url", "message": "Sign here", "url": "https://sign.example/x", "elicitationId": "1"}


def asking(*questions: dict[str, Any]) -> McpServerStdio:
    """A server whose tool asks the person these."""
    tool = {"name": "ask_person", "description": "d", "inputSchema": {"type": "object"}}
    plan = json.dumps({"tools": [tool], "questions": questions})
    return McpServerStdio(name="plain", command=sys.executable, args=["-I", "-S", str(SERVER), plan], env=[])


@pytest.fixture
async def model(tmp_path: Path) -> AsyncIterator[SseServer]:
    (tmp_path / "project").mkdir()
    (tmp_path / "home").mkdir()
    async with SseServer("anthropic") as model:
        configure_for(tmp_path / "home", model)
        yield model


@pytest.fixture
async def served(tmp_path: Path, model: SseServer) -> AsyncIterator[ServedEditor]:
    async with served_editor(tmp_path / "project", environment(tmp_path / "home")) as served:
        yield served


def read_values(options: list[Any]) -> dict[str, str]:
    return {option.id: option.current_value for option in options}


async def test_mode_model_and_effort_are_chosen_as_config_options(
    tmp_path: Path, model: SseServer, served: ServedEditor
) -> None:
    model.script = [DONE]
    opened = await served.agent.new_session(cwd=str(tmp_path / "project"), mcp_servers=[])
    session = opened.session_id
    assert opened.config_options is not None
    assert [option.category for option in opened.config_options] == ["mode", "model", "thought_level"]
    assert read_values(opened.config_options) == {
        "mode": "ask",
        "model": "local/scripted",
        "effort": "default",
    }
    assert "auto" not in [each.value for each in opened.config_options[0].options]

    for option, value in (("mode", "read-only"), ("model", "local/other"), ("effort", "high")):
        answer = await served.agent.set_config_option(session_id=session, config_id=option, value=value)
        assert answer is not None
        assert read_values(answer.config_options)[option] == value
    await served.ask(session, "go")

    assert model.bodies[-1]["model"] == "other"
    assert model.bodies[-1]["output_config"] == {"effort": "high"}
    updates = [each for each in served.editor.updates[session] if each.session_update == "config_option_update"]
    assert read_values(updates[0].config_options) == {
        "mode": "read-only",
        "model": "local/scripted",
        "effort": "default",
    }
    assert read_values(updates[-1].config_options) == {
        "mode": "read-only",
        "model": "local/other",
        "effort": "high",
    }


async def test_a_value_that_cannot_be_had_is_refused_and_changes_nothing(
    tmp_path: Path, served: ServedEditor
) -> None:
    session = await served.new(tmp_path / "project")
    for option, value, said in (
        ("mode", "auto", "auto is chosen when a session begins"),
        ("mode", "", "there is no mode"),
        ("model", "nobody/any", "nobody"),
        ("effort", "enormous", "takes no effort 'enormous'"),
        ("colour", "red", "only mode, model, effort"),
    ):
        with pytest.raises(RequestError, match=said) as refused:
            await served.agent.set_config_option(session_id=session, config_id=option, value=value)
        assert refused.value.code == -32602

    again = await served.agent.set_config_option(session_id=session, config_id="mode", value="ask")
    assert again is not None
    assert read_values(again.config_options) == {"mode": "ask", "model": "local/scripted", "effort": "default"}


async def test_the_models_that_the_provider_lists_are_offered(
    tmp_path: Path, model: SseServer, served: ServedEditor
) -> None:
    model.lists_models = True
    model.script = [
        Raw(
            body=json.dumps({"data": [{"id": "small"}, {"id": "large"}]}).encode(),
            content_type="application/json",
        )
    ]
    session = await served.new(tmp_path / "project")
    await served.editor.until(lambda: "config_option_update" in served.editor.kinds(session))

    (update,) = (
        each for each in served.editor.updates[session] if each.session_update == "config_option_update"
    )
    offered = next(option for option in update.config_options if option.id == "model").options
    assert [each.value for each in offered] == ["local/scripted", "local/small", "local/large"]


async def test_a_mode_set_the_older_way_changes_the_config_option_too(
    tmp_path: Path, served: ServedEditor
) -> None:
    session = await served.new(tmp_path / "project")
    await served.agent.set_session_mode(session_id=session, mode_id="accept-edits")
    await served.editor.until(lambda: "config_option_update" in served.editor.kinds(session))

    changed = next(
        each for each in served.editor.updates[session] if each.session_update == "config_option_update"
    )
    assert read_values(changed.config_options)["mode"] == "accept-edits"
    assert "current_mode_update" in served.editor.kinds(session)


async def test_an_unknown_session_is_a_resource_that_is_not_found(tmp_path: Path, served: ServedEditor) -> None:
    everything = {
        "sessionId": "nobody",
        "cwd": str(tmp_path / "project"),
        "mcpServers": [],
        "prompt": [{"type": "text", "text": "go"}],
        "modeId": "ask",
        "configId": "mode",
        "value": "ask",
    }
    for method in ("prompt", "load", "resume", "fork", "set_mode", "set_config_option", "close"):
        with pytest.raises(RequestError) as refused:
            await served.send(f"session/{method}", everything)
        assert (refused.value.code, refused.value.data) == (-32002, {"sessionId": "nobody"}), method


async def test_a_deleted_session_is_gone_from_the_list_and_the_record(
    tmp_path: Path, model: SseServer, served: ServedEditor
) -> None:
    model.script = [DONE, DONE]
    project = tmp_path / "project"
    closed, open_one = await served.new(project), await served.new(project)
    for session in (closed, open_one):
        await served.ask(session, "go")
    await served.agent.close_session(session_id=closed)

    assert [
        await served.send("session/delete", {"sessionId": each}) for each in (closed, open_one, "nobody")
    ] == [
        {},
        {},
        {},
    ]
    assert (await served.agent.list_sessions(cwd=str(project))).sessions == []
    with pytest.raises(RequestError, match="there is no session"):
        await served.agent.load_session(cwd=str(project), session_id=closed, mcp_servers=[])
    with pytest.raises(RequestError) as refused:
        await served.send("session/delete", {"session": closed})
    assert refused.value.code == -32602


async def test_the_sessions_of_a_folder_that_is_gone_are_listed(
    tmp_path: Path, model: SseServer, served: ServedEditor
) -> None:
    model.script = [DONE]
    gone = tmp_path / "gone"
    gone.mkdir()
    session = await served.new(gone)
    await served.ask(session, "go")
    await served.agent.close_session(session_id=session)
    gone.rmdir()

    listed = await served.agent.list_sessions(cwd=f"{tmp_path}/project/../gone", cursor="")

    assert [each.session_id for each in listed.sessions] == [session]
    with pytest.raises(RequestError, match="give the absolute path of a folder"):
        await served.agent.list_sessions(cwd="gone")


async def test_an_image_that_a_call_reads_reaches_the_editor_with_its_call(
    tmp_path: Path, model: SseServer, served: ServedEditor
) -> None:
    model.script = [calling(call("c1", "read_file", path="shot.png")), DONE]
    (tmp_path / "project/shot.png").write_bytes(png(4, 3))
    session = await served.new(tmp_path / "project")
    await served.ask(session, "look")

    last = [each for each in served.editor.updates[session] if each.session_update == "tool_call_update"][-1]
    (image,) = [each.content for each in last.content if each.content.type == "image"]
    assert (last.status, image.mime_type) == ("completed", "image/png")
    assert base64.b64decode(image.data) == png(4, 3)


async def test_a_session_that_answers_a_prompt_or_is_open_elsewhere_is_not_deleted(
    tmp_path: Path, model: SseServer, served: ServedEditor
) -> None:
    model.script = [Hang("silent")]
    project = tmp_path / "project"
    session = await served.new(project)
    going = served.begin(session, "go")
    await served.editor.until(lambda: "session_info_update" in served.editor.kinds(session))
    with pytest.raises(RequestError, match="cancel it first"):
        await served.send("session/delete", {"sessionId": session})
    async with served_editor(project, environment(tmp_path / "home")) as other:
        with pytest.raises(RequestError, match="open in another process"):
            await other.send("session/delete", {"sessionId": session})
    await served.agent.cancel(session_id=session)

    assert (await going).stop_reason == "cancelled"
    assert [each.session_id for each in (await served.agent.list_sessions()).sessions] == [session]


async def test_cancelling_the_request_of_a_prompt_cancels_the_prompt_and_no_other(
    tmp_path: Path, model: SseServer, served: ServedEditor
) -> None:
    model.script = [Hang("silent"), DONE]
    session = await served.new(tmp_path / "project")
    connection: Any = served.agent._conn
    request_id = connection._next_request_id
    going = served.begin(session, "go")
    async with asyncio.timeout(120):
        while not model.bodies:  # noqa: ASYNC110 - another process sends it
            await asyncio.sleep(0.01)
    for unknown in (request_id + 70, str(request_id), None, [request_id]):
        await connection.send_notification("$/cancel_request", {"requestId": unknown})
    assert not going.done()
    await connection.send_notification("$/cancel_request", {"requestId": request_id})
    assert (await asyncio.wait_for(going, 120)).stop_reason == "cancelled"

    await connection.send_notification("$/cancel_request", {"requestId": request_id})
    assert (await served.ask(session, "again")).stop_reason == "end_turn"


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ("", "ANTHROPIC_API_KEY or OPENAI_API_KEY"),
        ('[models]\ndecision = "openai/gpt-5.4"\n', "OPENAI_API_KEY is not set"),
        ('[models]\ndecision = "copilot/any"\n', "no program copilot"),
    ],
    ids=["nothing is set up", "a key is missing", "a program is missing"],
)
async def test_without_a_provider_a_session_requires_to_sign_in_and_says_what_is_missing(
    tmp_path: Path, model: SseServer, settings: str, missing: str
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    configure(home, settings)
    env = environment(home, PATH="/usr/bin:/bin")
    async with served_editor(project, env) as served:
        with pytest.raises(RequestError, match=missing) as refused:
            await served.new(project)
        assert refused.value.code == -32000
        (method,) = (await served.agent.initialize(protocol_version=1)).auth_methods or ()
        with pytest.raises(RequestError, match=missing) as still:
            await served.agent.authenticate(method_id=method.id)
        assert still.value.code == -32000
        assert (await served.agent.list_sessions()).sessions == []

        configure_for(home, model)
        model.script = [DONE]
        await served.agent.authenticate(method_id=method.id)
        assert (await served.ask(await served.new(project), "go")).stop_reason == "end_turn"
        with pytest.raises(RequestError, match="there is no method"):
            await served.agent.authenticate(method_id="another")


async def test_the_offline_interpreter_answers_where_it_is_chosen(tmp_path: Path, model: SseServer) -> None:
    configure(tmp_path / "home", '[models]\ndecision = "offline/offline"\n')
    async with served_editor(tmp_path / "project", environment(tmp_path / "home")) as served:
        session = await served.new(tmp_path / "project")
        assert (await served.ask(session, "list files")).stop_reason == "end_turn"


async def test_a_client_of_protocol_2_is_offered_version_1(tmp_path: Path, served: ServedEditor) -> None:
    asked = {"protocolVersion": 2, "info": {"name": "new", "version": "1"}, "capabilities": {"session": {}}}
    answer = await served.send("initialize", asked)

    assert answer["protocolVersion"] == 1
    assert answer["agentCapabilities"]["sessionCapabilities"]["delete"] == {}
    with pytest.raises(RequestError):
        await served.agent.prompt(session_id="none", prompt=[TextContentBlock(type="text", text="go")])


async def test_questions_of_a_server_are_forms_and_addresses_of_a_client_that_has_them(
    tmp_path: Path, model: SseServer
) -> None:
    model.script = [calling(call("c1", "mcp__plain__ask_person")), DONE]
    project, env = tmp_path / "project", environment(tmp_path / "home")

    async def fill_in(message: str, mode: Any) -> dict[str, Any]:
        return {"host": "db1", "sure": True} if hasattr(mode, "requested_schema") else {}

    async with served_editor(project, env, choose=allow_once, elicitation=ELICITS) as served:
        served.editor.fill_in = fill_in
        opened = await served.agent.new_session(cwd=str(project), mcp_servers=[asking(FORM, ADDRESS)])
        await served.ask(opened.session_id, "go")
        (said, form), (led, address) = served.editor.elicited

    assert said == "The MCP server plain asks during ask_person:\n\nDeploy where?"
    assert [*form.requested_schema.properties] == ["host", "sure"]
    assert (form.session_id, str(address.url)) == (opened.session_id, "https://sign.example/x")
    assert "It leads to sign.example" in led
    answers = [{"action": "accept", "content": {"host": "db1", "sure": True}}, {"action": "accept"}]
    assert json.dumps(json.dumps(answers))[1:-1] in json.dumps(model.bodies[-1])
    assert len(served.editor.asked) == 1, "the call is asked about, and nothing else"


async def test_a_question_of_a_server_is_withdrawn_when_the_prompt_is_cancelled(
    tmp_path: Path, model: SseServer
) -> None:
    model.script = [calling(call("c1", "mcp__plain__ask_person")), DONE]
    project, env = tmp_path / "project", environment(tmp_path / "home")

    async def never(message: str, mode: Any) -> None:
        await asyncio.Event().wait()

    async with served_editor(project, env, choose=allow_once, elicitation=ELICITS) as served:
        served.editor.fill_in = never
        heard: list[dict[str, Any]] = []
        connection: Any = served.agent._conn
        connection.add_observer(lambda event: heard.append(event.message))
        opened = await served.agent.new_session(cwd=str(project), mcp_servers=[asking(FORM)])
        going = served.begin(opened.session_id, "go")
        await served.editor.until(lambda: served.editor.elicited)
        await served.agent.cancel(session_id=opened.session_id)
        assert (await going).stop_reason == "cancelled"

    (asked,) = (each for each in heard if each.get("method") == "elicitation/create")
    (withdrawn,) = (each for each in heard if each.get("method") == "$/cancel_request")
    assert withdrawn["params"] == {"requestId": asked["id"]}


async def test_pieces_of_one_message_share_an_id_and_notices_have_their_own(
    tmp_path: Path, model: SseServer, served: ServedEditor
) -> None:
    model.script = [
        Say(
            reasoning="hm",
            pieces=["one ", "two"],
            calls=[call("c1", "read_file", path="none")],
            stop="tool_use",
        ),
        DONE,
    ]
    session = await served.new(tmp_path / "project")
    await served.agent.set_session_mode(session_id=session, mode_id="read-only")
    await served.ask(session, "go")
    await served.agent.close_session(session_id=session)
    lived = read_messages(served, session)
    served.editor.updates.clear()
    await served.agent.load_session(cwd=str(tmp_path / "project"), session_id=session, mcp_servers=[])

    assert [*lived.values()].count("hm") == 1
    assert {"one two", "done"} <= set(lived.values())
    assert any("mode: read-only" in text for text in lived.values())
    assert {"go", "hm", "one two", "done"} <= set(read_messages(served, session).values())


def read_messages(served: ServedEditor, session: str) -> dict[str, str]:
    """The text of every message by its id, each of which is of one kind."""
    messages: dict[str, str] = {}
    for update in served.editor.updates[session]:
        if update.session_update.endswith("_chunk"):
            key = f"{update.message_id} {update.session_update}"
            messages[key] = messages.get(key, "") + update.content.text
    assert len({key.partition(" ")[0] for key in messages}) == len(messages)
    assert "None" not in {key.partition(" ")[0] for key in messages}
    return messages


async def test_a_session_that_is_opened_again_keeps_a_stricter_mode_and_no_looser_one(
    tmp_path: Path, model: SseServer
) -> None:
    project, env = tmp_path / "project", environment(tmp_path / "home")
    modes = {}
    async with served_editor(project, env) as served:
        for mode in ("read-only", "accept-edits"):
            modes[await served.new(project)] = mode
        for session, mode in modes.items():
            await served.agent.set_session_mode(session_id=session, mode_id=mode)
    async with served_editor(project, env) as served:
        opened = {
            mode: await served.agent.resume_session(cwd=str(project), session_id=session, mcp_servers=[])
            for session, mode in modes.items()
        }

    found = {mode: (answer.modes, answer.config_options) for mode, answer in opened.items()}
    assert {mode: state.current_mode_id for mode, (state, _) in found.items() if state} == {
        "read-only": "read-only",
        "accept-edits": "ask",
    }
    assert read_values(found["read-only"][1] or [])["mode"] == "read-only"


ASKS = call("q1", "ask_person", question="Which colour?", options=[{"label": "Blue"}, {"label": "Green"}])


async def test_a_question_of_the_model_is_a_form_of_a_client_that_has_them(
    tmp_path: Path, model: SseServer
) -> None:
    model.script = [calling(ASKS), DONE]
    project, env = tmp_path / "project", environment(tmp_path / "home")

    async def fill_in(message: str, mode: Any) -> dict[str, Any]:
        return {"answer": "2", "words": "if it is dark"}

    async with served_editor(project, env, elicitation=ELICITS) as served:
        served.editor.fill_in = fill_in
        opened = await served.agent.new_session(cwd=str(project), mcp_servers=[])
        await served.ask(opened.session_id, "go")
        ((said, _form),) = served.editor.elicited

    assert said == "The model asks you:\n\nWhich colour?\n\n1. Blue\n2. Green"
    assert served.editor.asked == []
    assert "The person chose:\\n- Green\\n\\nThe person wrote:\\nif it is dark" in json.dumps(model.bodies[-1])


async def test_without_forms_its_options_are_those_of_a_request_about_the_call(
    tmp_path: Path, model: SseServer
) -> None:
    model.script = [calling(ASKS), DONE]

    async def choose_green(_call: ToolCallUpdate, options: list[PermissionOption]) -> str:
        return next(option.option_id for option in options if option.name == "Green")

    project, env = tmp_path / "project", environment(tmp_path / "home")
    async with served_editor(project, env, choose=choose_green) as served:
        opened = await served.agent.new_session(cwd=str(project), mcp_servers=[])
        await served.ask(opened.session_id, "go")
        ((_session, asked, _options),) = served.editor.asked
        shown = served.editor.call(opened.session_id)

    assert asked.tool_call_id == shown["tool_call_id"]
    assert shown["status"] == "completed"
    assert "The person chose:\\n- Green" in json.dumps(model.bodies[-1])


async def test_without_forms_and_names_of_options_the_question_is_text_and_the_next_prompt_the_reply(
    tmp_path: Path, model: SseServer
) -> None:
    model.script = [calling(ASKS)]
    project, env = tmp_path / "project", environment(tmp_path / "home")

    async with served_editor(project, env, name="other") as served:
        opened = await served.agent.new_session(cwd=str(project), mcp_servers=[])
        await served.ask(opened.session_id, "go")
        text = served.editor.texts(opened.session_id)
        model.script = [DONE]
        await served.ask(opened.session_id, "Blue")

    assert "The model asks you" in text
    assert "2. Green" in text
    assert "Your next prompt is the answer." in text
    assert served.editor.asked == []
    assert "nobody is there to answer" in json.dumps(model.bodies[-1])


async def test_odd_requests_get_the_error_that_is_meant_for_them_and_the_session_goes_on(
    tmp_path: Path, model: SseServer, served: ServedEditor
) -> None:
    (file := tmp_path / "file").write_text("x")
    project = str(tmp_path / "project")
    session = await served.new(tmp_path / "project")
    model.script = [DONE]
    new = {"cwd": project, "mcpServers": []}
    text = [{"type": "text", "text": "go"}]
    odd: list[tuple[str, Any, int]] = [
        *(
            ("session/new", {**new, "cwd": cwd}, -32602)
            for cwd in (None, 5, "", "~", "project", "/t\0", str(file))
        ),
        *(("session/new", {**new, "mcpServers": servers}, -32602) for servers in ({}, "none")),
        *(("session/new", params, -32602) for params in ([], "text", 7, False, {})),
        *(("session/load", {**new, "sessionId": known}, -32602) for known in (None, 7, [session])),
        *(("session/load", {**new, "sessionId": known}, -32002) for known in ("", "\0", "../../x")),
        *(("session/prompt", {"sessionId": session, "prompt": said}, -32602) for said in (None, "go", [], [7])),
        ("session/prompt", {"sessionId": session, "prompt": [{"type": "video"}]}, -32602),
        ("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": " "}]}, -32602),
        ("session/prompt", {"sessionId": "nobody", "prompt": text}, -32002),
        ("session/set_mode", {"sessionId": session, "modeId": {}}, -32602),
        ("session/list", {"cursor": "9" * 50}, -32602),
        ("session/list", {"cursor": 5}, -32602),
        ("initialize", {"protocolVersion": 10**30}, -32602),
        ("authenticate", {"methodId": "nothing"}, -32602),
        ("session/close", {"sessionId": "nobody"}, -32002),
        *(
            (name, {"sessionId": session}, -32601)
            for name in ("session/cancel", "$/cancel_request", "__init__", "")
        ),
    ]
    for method, params, code in odd:
        with pytest.raises(RequestError) as refused:
            await served.send(method, params)
        assert (method, params, refused.value.code) == (method, params, code)
    for method in (
        "session/new",
        "session/prompt",
        "session/cancel",
        "$/cancel_request",
        "$/unknown",
        "unknown",
    ):
        await served.agent._conn.send_notification(method, {"sessionId": 5, "requestId": [1]})

    assert (await served.ask(session, "go")).stop_reason == "end_turn"
    await served.send("session/close", {"sessionId": session})
    with pytest.raises(RequestError, match="no session"):
        await served.send("session/close", {"sessionId": session})

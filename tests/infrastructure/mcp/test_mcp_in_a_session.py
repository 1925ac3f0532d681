"""A tool of an MCP server takes the same way as any other: described to the model, reviewed, run, recorded."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from quorum.application.calls.tool_runtime import BatchResult, ToolBatch
from quorum.domain.calls.execution import Outcome
from quorum.domain.conversation.history import UserMessage
from quorum.domain.events.masking import SecretMask
from quorum.domain.review.questions import Reject
from quorum.domain.text.json_value import JsonValue
from quorum.infrastructure.config.loading import load_settings
from quorum.infrastructure.config.model_choice import AskedModels
from quorum.infrastructure.container import build_container
from quorum.infrastructure.session_inputs import SessionInputs
from quorum.infrastructure.trust_decisions import open_trust_decisions
from tests.infrastructure.mcp.server_bench import SERVER
from tests.support.builders import a_call, a_context
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.records import no_record

ECHO = "mcp__plain__echo"
PLAN = {"resources": {"notes://one": {"text": "remember the milk"}}}


class Session:
    """A session with one server. Use it as a context."""

    def __init__(self, root: Path, person: FakePerson, more: str = "") -> None:
        command = json.dumps([sys.executable, "-I", "-S", SERVER, json.dumps(PLAN)])
        (root / "own.toml").write_text(f"{more}\n[mcp.servers.plain]\ncommand = {command}\n")
        environ = {"HOME": str(root)}
        self.container = build_container(
            SessionInputs(
                record=no_record(),
                mask=SecretMask(),
                loaded=load_settings(cwd=root, environ=environ, config_file=root / "own.toml"),
                asked=AskedModels(models=("offline/offline",)),
                root=root,
                environ=environ,
                approver=person,
                observer=RecordingObserver(),
                trust=open_trust_decisions(environ),
            )
        )

    async def __aenter__(self) -> Session:
        self.servers = self.container.parts().conversation.tool_servers
        self.servers.begin()
        assert await self.servers.settle() == ()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.servers.aclose()

    async def call(self, **arguments: JsonValue) -> BatchResult:
        call = a_call(ECHO, arguments)
        return await self.container.parts().calls.runtime.run(
            ToolBatch(id="batch-1", calls=((a_context(), call),))
        )


async def test_a_call_is_reviewed_with_the_server_and_its_arguments_and_gives_the_answer(
    tmp_path: Path,
) -> None:
    person = FakePerson()
    async with Session(tmp_path, person) as session:
        result = await session.call(text="hello")

        assert [(r.output, r.is_error) for r in result.results] == [("hello", False)]
        packet = person.requests[0].packet
        assert packet.call.arguments == {"text": "hello"}
        assert packet.seal.unsealed == (
            "the MCP server plain, a program on this machine, does this: what it changes is not known "
            'beforehand, and no sandbox holds it; it says of this tool: "Says it again."'
        )
        server, tool = packet.seal.executables
        assert server.startswith(f"MCP server plain: {sys.executable} -I -S {SERVER} ")
        assert tool.startswith("its tool echo, as described then (sha256 ")
        assert ECHO in [schema["name"] for schema in session.container.parts().calls.tool_set.list_schemas()]


async def test_a_rejected_call_does_not_reach_the_server_and_unfit_arguments_ask_nobody(tmp_path: Path) -> None:
    person = FakePerson(lambda _request: Reject("no"))
    async with Session(tmp_path, person) as session:
        rejected = await session.call(text="x")
        assert [record.outcome for record in rejected.records] == [Outcome.REJECTED]

        unfit = await session.call(text={})

        assert "{} is not of type 'string'" in unfit.results[0].output
        assert len(person.requests) == 1


@pytest.mark.long
async def test_rules_speak_of_tools_of_servers(tmp_path: Path) -> None:
    person = FakePerson()
    rules = f'permissions.allow = ["{ECHO}"]'
    async with Session(tmp_path, person, rules) as session:
        assert (await session.call(text="hello")).results[0].output == "hello"
        assert person.requests == []
    denied = f'permissions.deny = ["{ECHO}"]'
    async with Session(tmp_path, person, denied) as session:
        assert [record.outcome for record in (await session.call(text="x")).records] == [Outcome.REJECTED]


async def test_the_settings_can_name_and_leave_out_tools_of_servers(tmp_path: Path) -> None:
    async with Session(tmp_path, FakePerson(), f'tools.disabled = ["{ECHO}"]') as session:
        assert ECHO not in session.container.parts().calls.tool_set.names
    async with Session(tmp_path, FakePerson(), f'tools.enabled = ["read_file", "{ECHO}"]') as session:
        assert session.container.parts().calls.tool_set.names == ("read_file", ECHO)


@pytest.mark.parametrize(
    ("settings", "kept_out"),
    [
        (f'[tools]\ndisabled = ["grep_search", "{ECHO}"]\n', {"grep_search", ECHO}),
        ('[tools]\nenabled = ["read_file"]\n', {"grep_search", ECHO}),
        ('[tools]\ndisabled = ["grep_search"]\n', {"grep_search"}),
    ],
)
async def test_tools_that_settings_keep_out_are_known_so_that_no_call_of_one_is_made_one_of_another(
    settings: str, kept_out: set[str], tmp_path: Path
) -> None:
    async with Session(tmp_path, FakePerson(), settings) as session:
        prefix = session.container.parts().conversation.tool_prefix
        await prefix.choose()

        assert prefix.withheld & {"grep_search", "read_file", ECHO} == kept_out


async def test_a_prompt_that_names_a_resource_brings_its_text(tmp_path: Path) -> None:
    async with Session(tmp_path, FakePerson()) as session:
        said = await session.container.parts().conversation.mentions.attach(
            UserMessage("look at @plain:notes://one.")
        )

        assert [file.content for file in said.files] == ["remember the milk"]
        left = await session.container.parts().conversation.mentions.attach(
            UserMessage("write to ann@plain:notes://one")
        )
        assert left.files == ()

"""Prompts of MCP servers as slash commands of a session."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from quorum.application.instructions.prompt_commands import CustomCommands, InitCommand, PromptCommands
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import CommandRefused
from quorum.domain.instructions.custom_command import CustomCommand
from quorum.domain.instructions.instruction import InstructionScope
from tests.infrastructure.mcp.server_bench import ServerBench, a_server
from tests.support.reviews import a_review

REVIEW = {"name": "review", "description": "Reviews it.", "arguments": [{"name": "path", "required": True}]}
PLAN = {"prompts": [REVIEW]}
COMMAND = "mcp__plain__review"


class Files:
    """Finds one command of a file, whose name is that of a prompt."""

    async def find(self) -> tuple[CustomCommand, ...]:
        return tuple(
            CustomCommand(
                name=name,
                scope=InstructionScope.PROJECT,
                file=f"/{name}.md",
                label=name,
                digest="0",
                body="own",
            )
            for name in (COMMAND, "mine")
        )

    async def trust(self, command: CustomCommand) -> tuple[str | None, tuple[str, ...]]:
        return None, ()


def commands_of(bench: ServerBench) -> PromptCommands:
    init = InitCommand(kind=SessionKind.AGENT, review=a_review(person=bench.person, events=bench.bus))
    return PromptCommands(CustomCommands(Files()), bench.servers, init)


async def test_a_prompt_is_a_command_that_names_its_server_and_what_it_takes(tmp_path: Path) -> None:
    async with ServerBench(tmp_path, plain=a_server(PLAN)) as bench:
        commands = commands_of(bench)
        assert await bench.servers.settle() == ()
        await commands.refresh()

        known = dict(commands.known)

        assert sorted(known) == [COMMAND, "mine"]
        command = known[COMMAND]
        assert (command.label, command.description, command.argument_hint) == (
            "MCP server plain",
            "Reviews it.",
            "path=…",
        )
        assert await commands.is_known(f"/{COMMAND} a.py")
        assert await commands.is_known("/mine")
        assert not await commands.is_known("/mcp__other__review")


async def test_the_text_comes_from_the_server_is_marked_as_its_own_and_has_a_digest(tmp_path: Path) -> None:
    async with ServerBench(tmp_path, plain=a_server(PLAN)) as bench:
        await bench.servers.settle()

        expanded, notices = await commands_of(bench).expand(f"/{COMMAND} src/a.py")

        assert expanded is not None
        assert notices == ()
        heading, text = expanded.text.split("\n\n")
        assert text == "Review src/a.py now."
        assert heading.startswith("[The MCP server plain wrote the text below, as its prompt review.")
        assert (expanded.name, expanded.file) == (COMMAND, "MCP server plain")
        assert expanded.sha256 == hashlib.sha256(text.encode()).hexdigest()
        assert (expanded.model, expanded.allowed_tools) == ("", None)


async def test_a_prompt_without_what_it_needs_is_refused_with_what_to_type(tmp_path: Path) -> None:
    async with ServerBench(tmp_path, plain=a_server(PLAN)) as bench:
        await bench.servers.settle()

        with pytest.raises(CommandRefused, match=f"/{COMMAND} cannot be used: it needs path; type /{COMMAND}"):
            await commands_of(bench).expand(f"/{COMMAND}")


async def test_a_long_text_with_control_sequences_is_cut_and_drawn(tmp_path: Path) -> None:
    plan = {**PLAN, "prompt_text": "\x1b[2J" + "x" * 1_000, "prompt_times": 200}
    async with ServerBench(tmp_path, plain=a_server(plan)) as bench:
        await bench.servers.settle()

        expanded, _ = await commands_of(bench).expand(f"/{COMMAND} a")

        assert expanded is not None
        assert "\x1b" not in expanded.text
        assert expanded.text.endswith("more characters are left out]")
        assert len(expanded.text) < 101_000


async def test_an_empty_text_is_refused(tmp_path: Path) -> None:
    async with ServerBench(tmp_path, plain=a_server({**PLAN, "prompt_text": " "})) as bench:
        await bench.servers.settle()

        with pytest.raises(CommandRefused, match="sent an empty prompt"):
            await commands_of(bench).expand(f"/{COMMAND} a")


@pytest.mark.long
async def test_prompts_that_are_not_listed_keep_no_tool_away(tmp_path: Path) -> None:
    table = a_server({"prompts": "hang"}, start_timeout_secs=20)
    async with ServerBench(tmp_path, plain=table) as bench:
        (notice,) = await bench.servers.settle()

        assert notice.startswith("the MCP server plain did not list its prompts: ")
        assert bench.tools.names == ("mcp__plain__echo",)
        assert bench.servers.list_prompts() == ()


async def test_other_prompts_stay_what_they_are(tmp_path: Path) -> None:
    async with ServerBench(tmp_path) as bench:
        assert await commands_of(bench).expand("explain /etc/hosts") == (None, ())
        expanded, _ = await commands_of(bench).expand("/mine")
        assert expanded is not None
        assert expanded.text == "own"


async def test_a_file_never_takes_the_place_of_a_prompt_that_is_not_there(tmp_path: Path) -> None:
    async with ServerBench(tmp_path, plain=a_server({"exit": 2})) as bench:
        await bench.servers.settle()
        commands = commands_of(bench)
        await commands.refresh()

        assert [name for name, _ in commands.known] == ["mine"]
        assert await commands.is_known(f"/{COMMAND} a")
        with pytest.raises(CommandRefused, match="the MCP server plain offers no such prompt now"):
            await commands.expand(f"/{COMMAND} a")

"""Commands that a client may offer: those of the person and the project, and some of the app's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    UnstructuredCommandInput,
)

from quorum.acp_agent.shown_text import show_line
from quorum.application.session.agent_session import AgentSession
from quorum.domain.errors import CommandRefused
from quorum.domain.events.report import RunReport
from quorum.domain.instructions.custom_command import CustomCommand, parse_command
from quorum.tui.keys.commands import PROMPT_COMMANDS, RESERVED_NAMES


class OwnCommand(NamedTuple):
    """A command of the program: its name, what it does, and what may follow it."""

    name: str
    does: str
    takes: str = ""


OWN_COMMANDS = (
    OwnCommand("retry", "Continue a turn that failed, was interrupted or reached a limit, or an open review"),
    OwnCommand("compact", "Replace the conversation with a summary", "what to keep in view"),
    OwnCommand(
        "init", "Have the model look at the project and write or improve AGENTS.md", "what matters most"
    ),
    OwnCommand("model", "Show or choose the model", "provider/model"),
    OwnCommand("skills", "List the skills that the model may load"),
    OwnCommand("agents", "List the agents to which the model may give tasks"),
)


def list_commands(custom: tuple[tuple[str, CustomCommand], ...]) -> AvailableCommandsUpdate:
    """All that there are now, by the names to type."""
    return AvailableCommandsUpdate(
        session_update="available_commands_update", available_commands=[*_list_own(), *_list_custom(custom)]
    )


def _list_own() -> Iterator[AvailableCommand]:
    for command in OWN_COMMANDS:
        hint = AvailableCommandInput(UnstructuredCommandInput(hint=command.takes)) if command.takes else None
        yield AvailableCommand(name=command.name, description=command.does, input=hint)


def _list_custom(commands: tuple[tuple[str, CustomCommand], ...]) -> Iterator[AvailableCommand]:
    for name, command in commands:
        does = command.problem or command.description or f"a command of {command.label}"
        hint = command.argument_hint or " ".join(command.parameters)
        takes = AvailableCommandInput(UnstructuredCommandInput(hint=show_line(hint))) if hint else None
        yield AvailableCommand(name=show_line(name), description=show_line(does), input=takes)


class SlashCommands:
    """Runs the program's own commands for one session."""

    def __init__(self, agent: AgentSession) -> None:
        self._agent = agent

    async def run(self, prompt: str) -> RunReport | str | None:
        """What came of a command: the report of a turn, or a sentence. None where the prompt is none of them or
        one that the model reads.

        Raises CommandRefused for one of the app's that has no place here, and what the command itself raises.
        """
        typed = parse_command(prompt)
        if typed is None or typed.name not in RESERVED_NAMES - PROMPT_COMMANDS:
            return None
        match typed.name:
            case "retry":
                return await self._agent.run.retry()
            case "compact":
                return await self._agent.context.compact(typed.arguments)
            case "model":
                if typed.arguments:
                    await self._agent.models.choose(typed.arguments)
                return f"the model is {self._agent.models.current}"
            case "skills":
                return await self._describe_skills()
            case "agents":
                return await self._describe_agents()
            case name:
                here = ", ".join(f"/{each.name}" for each in OWN_COMMANDS)
                raise CommandRefused(f"/{name} is a command of the full-screen app; here there are {here}")

    async def _describe_skills(self) -> str:
        skills = await self._agent.skills.survey()
        if not skills:
            return "there are no skills"
        lines = (
            f"- {show_line(skill.name)}: {show_line(skill.description, 1000)}"
            + ("" if is_trusted else " (not trusted)")
            for skill, is_trusted in skills
        )
        return "skills:\n" + "\n".join(lines)

    async def _describe_agents(self) -> str:
        agents = await self._agent.agents.survey()
        if not agents:
            return "there are no agents"
        lines = (
            f"- {show_line(agent.name)}: {show_line(agent.problem or agent.description, 1000)} "
            f"({show_line(agent.label)}{'' if is_trusted else ', not trusted'})"
            for agent, is_trusted in agents
        )
        return "agents:\n" + "\n".join(lines)

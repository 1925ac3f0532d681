"""Keeps instruction files in force: found, trusted, recorded, and put to the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from application.events.event_bus import EventBus
from application.instructions.system_prompt import SystemPrompt, render_instruction
from application.ports.instructions import AgentDefinitions, EnvironmentPort, InstructionFinder, SkillPort
from application.turn.steering import PendingMessage, PendingMessages
from domain.conversation.history import UserMessage
from domain.events.event import InstructionsLoaded, LoadedInstruction, OfferedAgent, OfferedSkill
from domain.instructions.agent_definition import AgentDefinition
from domain.instructions.instruction import InstructionFile, fit_instructions
from domain.instructions.skill import Skill

_FOUND_BELOW = """\
[quorum: an instruction file lies beside a file that you have just seen. The person trusts it; it holds for the
files of its folder and below.]

{text}"""


_FOLDER_ADDED = "[quorum: the person has added this folder to the workspace: {folder}]"


class ProjectInstructions:
    """Reads the files anew before each prompt, and looks below the working directory for those that lie beside
    a file which the model has seen. It also tells the model of the `folders` of the workspace.

    `apply` has requests carry the new text of the `prompt`; it is called between requests only. `max_bytes`
    bounds all texts together, in bytes of UTF-8. `skills` are those that the model may load, and
    `agents` those to which it may give tasks.
    """

    def __init__(
        self,
        prompt: SystemPrompt,
        *,
        finder: InstructionFinder,
        environment: EnvironmentPort,
        events: EventBus,
        pending_messages: PendingMessages,
        apply: Callable[[], Awaitable[None]],
        max_bytes: int,
        skills: SkillPort | None = None,
        agents: AgentDefinitions | None = None,
        folders: Sequence[str] = (),
    ) -> None:
        self._folders = folders
        self._in_prompt_folders: tuple[str, ...] = ()
        self._known_folders: tuple[str, ...] = ()
        self._skills = skills
        self._offered: tuple[Skill, ...] = ()
        self._agents = agents
        self._offered_agents: tuple[AgentDefinition, ...] = ()
        self._prompt = prompt
        self._finder = finder
        self._environment = environment
        self._events = events
        self._pending_messages = pending_messages
        self._apply = apply
        self._max_bytes = max_bytes
        self._is_described = False
        self._in_prompt: tuple[InstructionFile, ...] = ()
        self._recorded: tuple[InstructionFile, ...] = ()
        self._notices: tuple[str, ...] = ()

    async def refresh(self) -> None:
        """Put in force what the files say now, before a prompt is said; asks the person where it must."""
        files, notices = await self._finder.select_trusted(await self._finder.find())
        if not self._is_described:
            self._prompt.describe(await self._environment.describe())
        offered, more = await self._skills.refresh() if self._skills is not None else ((), ())
        agents, of_agents = await self._agents.refresh() if self._agents is not None else ((), ())
        before, folders_before = _list_digests(self._offered, self._offered_agents), self._in_prompt_folders
        self._in_prompt_folders = self._known_folders = tuple(self._folders[1:])
        await self._record(files, (*notices, *more, *of_agents), offered, agents)
        is_same = (
            _list_contents(files) == _list_contents(self._in_prompt)
            and _list_digests(offered, agents) == before
        )
        if self._is_described and is_same and folders_before == self._in_prompt_folders:
            return
        self._is_described, self._in_prompt = True, files
        self._prompt.instruct(fit_instructions(files, self._max_bytes))
        self._prompt.offer_skills(offered)
        self._prompt.offer_agents(agents)
        self._prompt.list_folders(self._in_prompt_folders)
        await self._apply()

    async def look_below(self) -> None:
        """Have the model read, with the next request, what lies beside the files that it has seen since.

        From the next prompt on it is part of the system prompt, so that it outlives a summary.
        """
        new = [folder for folder in self._folders[1:] if folder not in self._known_folders]
        self._known_folders = (*self._known_folders, *new)
        for folder in new:
            self._pending_messages.add(
                PendingMessage(UserMessage(_FOLDER_ADDED.format(folder=folder)), is_notice=True)
            )
        if not self._finder.has_new_folders and not new:
            return
        files, notices = await self._finder.select_trusted(await self._finder.find())
        known = {file.file for file in self._recorded}
        found = tuple(file for file in fit_instructions(files, self._max_bytes) if file.file not in known)
        await self._record((*self._recorded, *(file for file in files if file.file not in known)), notices)
        for file in found:
            text = _FOUND_BELOW.format(text=render_instruction(file))
            self._pending_messages.add(PendingMessage(UserMessage(text), is_notice=True))

    async def _record(
        self,
        files: tuple[InstructionFile, ...],
        notices: tuple[str, ...],
        offered: tuple[Skill, ...] | None = None,
        offered_agents: tuple[AgentDefinition, ...] | None = None,
    ) -> None:
        """Record what holds from now on, where that is not there yet. `offered`: None where the skills
        are as they were; so it is with agents."""
        skills = self._offered if offered is None else offered
        agents = self._offered_agents if offered_agents is None else offered_agents
        is_same = _list_contents(files) == _list_contents(self._recorded) and _list_digests(
            skills, agents
        ) == _list_digests(self._offered, self._offered_agents)
        if is_same and set(notices) <= set(self._notices):
            return
        new = tuple(notice for notice in notices if notice not in self._notices)
        self._recorded, self._offered, self._offered_agents = files, skills, agents
        self._notices = (*self._notices, *new)
        loaded = tuple(
            LoadedInstruction(
                file=file.file, sha256=file.digest, left_out=sum(part.left_out for part in cut.parts)
            )
            for file, cut in zip(files, fit_instructions(files, self._max_bytes), strict=True)
        )
        listed = tuple(OfferedSkill(name=s.name, folder=s.folder, sha256=s.digest) for s in skills)
        named = tuple(OfferedAgent(name=a.name, file=a.file, sha256=a.digest) for a in agents)
        await self._events.record(InstructionsLoaded(files=loaded, notices=new, skills=listed, agents=named))


def _list_contents(files: Sequence[InstructionFile]) -> list[tuple[str, str]]:
    return [(file.file, file.digest) for file in files]


def _list_digests(skills: Sequence[Skill], agents: Sequence[AgentDefinition]) -> list[tuple[str, str]]:
    return [*((skill.folder, skill.digest) for skill in skills), *((each.file, each.digest) for each in agents)]

"""Keeps instruction files in force: found, trusted, recorded, and put to the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from quorum.application.cancellation import run_to_end
from quorum.application.event_bus import EventBus
from quorum.application.instructions.system_prompt import SystemPrompt
from quorum.application.ports.instructions import (
    EnvironmentPort,
    InstructionFinder,
    MemoryFilesPort,
    OfferCatalog,
)
from quorum.application.review.review import Review
from quorum.application.steering import PendingMessage, PendingMessages
from quorum.domain.calls.access import Access
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import MemoryRefused
from quorum.domain.events.event import (
    ErrorOccurred,
    InstructionsLoaded,
    MemoryAdded,
    MemoryApproved,
    SystemPromptSet,
)
from quorum.domain.events.session import LoadedInstruction, OfferedAgent, OfferedSkill
from quorum.domain.instructions.instruction import (
    InstructionFile,
    InstructionScope,
    MemoryDraft,
    MemoryProposal,
    fit_instructions,
    require_memory_line,
)
from quorum.domain.instructions.offer_list import AgentDefinition, Skill
from quorum.domain.instructions.prompt_part import PromptPart, holds_withdrawn, list_changes
from quorum.domain.replacing import replace
from quorum.domain.review.permission_rules import Answer, Subject


async def _is_not_small() -> bool:
    return False


class PromptLimits(Struct, frozen=True):
    """How much is said before the conversation: at most `max_bytes` of instructions, in bytes of UTF-8, and a
    short text in a session whose first model has a small window."""

    max_bytes: int
    is_window_small: Callable[[], Awaitable[bool]] = _is_not_small


class ProjectInstructions:
    """Reads the files anew before each prompt, and looks below the working directory for those that lie beside
    a file which the model has seen. It also tells the model of the `folders` of the workspace.

    The text of the `prompt` stays what it was when the session began; what changes is said in messages of the
    conversation. `apply` has requests carry another text; it is called between requests only. `skills`
    are those that the model may load, and `agents` those to which it may give tasks.
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
        limits: PromptLimits,
        skills: OfferCatalog[Skill] | None = None,
        agents: OfferCatalog[AgentDefinition] | None = None,
        folders: Sequence[str] = (),
    ) -> None:
        self._folders = folders
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
        self._limits = limits
        self._is_described = False
        self._sent: tuple[PromptPart, ...] = ()
        self._recorded: tuple[InstructionFile, ...] = ()
        self._notices: tuple[str, ...] = ()

    async def refresh(self) -> None:
        """Put in force what the files say now, before a prompt is said; asks the person where it must."""
        files, notices = await self._finder.select_trusted(await self._finder.find())
        if not self._is_described:
            self._prompt.set_environment(await self._environment.describe())
            self._is_described = True
        offered, more = await self._skills.refresh() if self._skills is not None else ((), ())
        agents, of_agents = await self._agents.refresh() if self._agents is not None else ((), ())
        await self._record(files, (*notices, *more, *of_agents), offered, agents)
        self._prompt.instruct(fit_instructions(files, self._limits.max_bytes))
        self._prompt.offer_skills(offered)
        self._prompt.offer_agents(agents)
        self._prompt.set_folders(self._folders[1:])
        await self._choose_length()
        await self._fix_prompt()
        self._tell_changes()

    async def look_below(self) -> None:
        """Have the model read, with the next request, what lies beside the files that it has seen since."""
        if self._finder.has_new_folders:
            found = await self._finder.find()
            files, notices = await self._finder.select_trusted(found, in_turn=True)
            known = {file.file for file in self._recorded}
            new = tuple(file for file in files if file.file not in known)
            await self._record((*self._recorded, *new), notices)
            self._prompt.instruct(fit_instructions(self._recorded, self._limits.max_bytes))
        self._prompt.set_folders(self._folders[1:])
        self._tell_changes()

    async def _choose_length(self) -> None:
        if not self._events.state.system_prompt and await self._limits.is_window_small():
            self._prompt.shorten()

    async def _fix_prompt(self) -> None:
        """Have requests carry the system prompt that the session began with.

        It begins anew where it has none yet, or where the present one offers what holds no longer: what the
        person does not trust any more is not sent again.
        """
        sent, parts = self._events.state.system_prompt, self._list_parts()
        if not sent or holds_withdrawn(sent, parts):
            await self._events.announce(SystemPromptSet(parts=parts))
            sent = parts
        if sent != self._sent:
            self._sent = sent
            self._prompt.fix(sent)
            await self._apply()

    def _tell_changes(self) -> None:
        """Have the model read what differs from what it has read so far."""
        for text in list_changes(self._sent, self._list_parts(), self._events.state.messages):
            if not self._pending_messages.is_waiting(text):
                self._pending_messages.add(PendingMessage(UserMessage(text), is_notice=True))

    def _list_parts(self) -> tuple[PromptPart, ...]:
        """The parts of the prompt as they are recorded, and so as a resumed session finds them."""
        return tuple(replace(part, text=self._events.hide(part.text)) for part in self._prompt.parts)

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
            for file, cut in zip(files, fit_instructions(files, self._limits.max_bytes), strict=True)
        )
        listed = tuple(OfferedSkill(name=s.name, folder=s.folder, sha256=s.digest) for s in skills)
        named = tuple(OfferedAgent(name=a.name, file=a.file, sha256=a.digest) for a in agents)
        await self._events.record(InstructionsLoaded(files=loaded, notices=new, skills=listed, agents=named))


def _list_contents(files: Sequence[InstructionFile]) -> list[tuple[str, str]]:
    return [(file.file, file.digest) for file in files]


def _list_digests(skills: Sequence[Skill], agents: Sequence[AgentDefinition]) -> list[tuple[str, str]]:
    return [*((skill.folder, skill.digest) for skill in skills), *((each.file, each.digest) for each in agents)]


_SCOPES = (InstructionScope.PROJECT, InstructionScope.USER)


class Memory:
    """Proposes the change and makes it. No model reads of it before it is part of the instructions.

    Rules and the review mode hold as for an edit of the same file: what they deny is refused. What they allow
    is still put to the person, since instruction files are protected paths; whoever calls `add` has asked them.
    """

    def __init__(self, files: MemoryFilesPort, *, review: Review, events: EventBus, kind: SessionKind) -> None:
        self._files = files
        self._review = review
        self._events = events
        self._kind = kind

    async def propose(self, text: str) -> MemoryProposal:
        """The changes among which the person chooses one. Raises MemoryRefused where there is none."""
        if self._kind not in {SessionKind.AGENT, SessionKind.EXTERNAL}:
            raise MemoryRefused("this session changes no file; add the line in another tab")
        line = require_memory_line(text)
        drafts: list[MemoryDraft] = []
        refusals: list[str] = []
        for scope in _SCOPES:
            try:
                draft = await self._files.draft(line, scope)
                self._require_not_denied(draft)
            except MemoryRefused as refused:
                refusals.append(str(refused))
            else:
                drafts.append(draft)
        if not drafts:
            raise MemoryRefused("; ".join(dict.fromkeys(refusals)))
        return MemoryProposal(drafts=tuple(drafts), refusals=tuple(refusals))

    async def add(self, draft: MemoryDraft) -> None:
        """Make the change that the person approved; what became of it is an event.

        Raises MemoryRefused where the mode or a rule denies it by now or the file is no longer as it was shown,
        and LedgerError where it cannot be recorded; nothing is written then.
        """
        await run_to_end(self._add(draft))

    async def _add(self, draft: MemoryDraft) -> None:
        self._require_not_denied(draft)
        await self._events.announce(
            MemoryApproved(
                file=draft.target,
                scope=draft.scope,
                line=draft.line,
                sha256=draft.sha256,
                former_sha256=draft.former_sha256,
            )
        )
        try:
            notices = await self._files.write(draft)
        except MemoryRefused as refused:
            await self._events.record(ErrorOccurred(message=f"the line was not added: {refused}"))
            raise
        await self._events.record(
            MemoryAdded(
                file=draft.target,
                scope=draft.scope,
                line=draft.line,
                sha256=draft.sha256,
                notices=notices,
            )
        )

    def _require_not_denied(self, draft: MemoryDraft) -> None:
        subject = Subject(
            tool="write_file" if draft.before is None else "edit_file",
            risk=RiskLevel.HIGH,
            access=Access.of(writes={draft.target, draft.file}),
            arguments={"path": draft.target, "new_text": draft.line},
        )
        decision = self._review.decide(subject)
        if decision.answer is Answer.DENY:
            raise MemoryRefused(f"nothing can be added to {draft.label}: {'; '.join(decision.reasons)}")

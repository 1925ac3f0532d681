"""What befalls a session as a whole: its opening and end, its mode and model, and what is undone and redone."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from domain.calls.effects import FileChange
from domain.calls.server_tools import RecordedTool
from domain.conversation.effort import Effort
from domain.conversation.session_kind import SessionKind
from domain.events.report import RunReport
from domain.instructions.prompt_part import PromptPart
from domain.lazy_dataclass import dataclass
from domain.panel.consensus import Consensus
from domain.review.mode import Mode
from domain.text.amounts import format_size


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStarted:
    """A session opened. `effort` and `consensus` are None in sessions of before there was one, and `consensus`
    where the kind of session has none."""

    type: ClassVar = "session_started"
    durable: ClassVar = True
    session_id: str
    model: str
    mode: Mode
    cwd: str
    form: SessionKind = SessionKind.AGENT
    effort: Effort | None = None
    consensus: Consensus | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionResumed:
    """A session was resumed from the ledger. `told` has sentences about what was repaired or closed."""

    type: ClassVar = "session_resumed"
    durable: ClassVar = True
    session_id: str
    model: str
    mode: Mode
    cwd: str
    told: tuple[str, ...] = ()
    effort: Effort | None = None
    consensus: Consensus | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxChecked:
    """It became known whether commands run in a sandbox. `told` is one sentence for the person."""

    type: ClassVar = "sandbox_checked"
    durable: ClassVar = True
    on: bool
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemPromptSet:
    """From now on each request carries these parts as its system prompt. What changes of them is said in
    messages, so that providers can reuse what they have read."""

    type: ClassVar = "system_prompt_set"
    durable: ClassVar = True
    parts: tuple[PromptPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsListed:
    """Requests to the model list these tools, in this order, for as long as quorum's own among them are those
    that it is to have. What servers offer in place of theirs is said in messages, so that providers can reuse
    what they have read."""

    type: ClassVar = "tools_listed"
    durable: ClassVar = True
    model: str
    tools: tuple[RecordedTool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedInstruction:
    """An instruction file in force. `sha256` is over it and all that it imports; `left_out` is how many bytes
    of them the limit cut off."""

    file: str
    sha256: str
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedSkill:
    """A skill that the model may load. `sha256` is over all files of its folder."""

    name: str
    folder: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedAgent:
    """An agent to which the model may give tasks. `sha256` is over the file of its definition."""

    name: str
    file: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionsLoaded:
    """From now on these instruction files hold, the outermost first, these skills can be loaded, and tasks can
    be given to these agents. `notices` are sentences for the person, about those that do not hold because they
    are not trusted."""

    type: ClassVar = "instructions_loaded"
    durable: ClassVar = True
    files: tuple[LoadedInstruction, ...]
    notices: tuple[str, ...] = ()
    skills: tuple[OfferedSkill, ...] = ()
    agents: tuple[OfferedAgent, ...] = ()

    @property
    def description(self) -> str:
        """What holds, in a sentence for the person."""
        names = (
            f"{each.file} (cut by {format_size(each.left_out)})" if each.left_out else each.file
            for each in self.files
        )
        files = f"instructions: {', '.join(names)}" if self.files else "no instruction file holds"
        skills = f"; skills: {', '.join(each.name for each in self.skills)}" if self.skills else ""
        agents = f"; agents: {', '.join(each.name for each in self.agents)}" if self.agents else ""
        return f"{files}{skills}{agents}"


class FolderOrigin(StrEnum):
    """Who had a folder added: the person by a command, an option at the start, an answer to a question about a
    call, or their editor."""

    COMMAND = "command"
    OPTION = "option"
    REVIEW = "review"
    EDITOR = "editor"


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderAdded:
    """From now on this folder, a canonical path, belongs to the workspace, unless the session goes back to
    before that."""

    type: ClassVar = "folder_added"
    durable: ClassVar = True
    folder: str
    origin: FolderOrigin = FolderOrigin.COMMAND

    @property
    def sentence(self) -> str:
        """What holds now, in a sentence."""
        return f"the folder {self.folder} belongs to the workspace from here on"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusChanged:
    """From now on so many models answer a prompt, in this way."""

    type: ClassVar = "consensus_changed"
    durable: ClassVar = True
    consensus: Consensus

    @property
    def sentence(self) -> str:
        """It in words, for the person."""
        return self.consensus.meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeChanged:
    """The person chose another review mode."""

    type: ClassVar = "mode_changed"
    durable: ClassVar = True
    mode: Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChanged:
    """The person chose another model, "provider/model", or another reasoning effort; it answers from the next
    request on."""

    type: ClassVar = "model_changed"
    durable: ClassVar = True
    model: str
    effort: Effort | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFellBack:
    """A model that was asked does not answer, for this `reason`; `model` stands in for the rest of the turn.

    The model chosen stays the same, and the next turn asks it first.
    """

    type: ClassVar = "model_fell_back"
    durable: ClassVar = True
    model: str
    instead_of: str
    reason: str

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        reason = self.reason.rstrip(".")
        return f"{self.instead_of} does not answer ({reason}); {self.model} stands in for the rest of this turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesRestored:
    """Files were given back as they were before a turn. `changes` hold their states before and after that.

    `redo`: they were given back as they were before the last undo that can be redone.
    """

    type: ClassVar = "files_restored"
    durable: ClassVar = True
    changes: tuple[FileChange, ...]
    redo: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRewound:
    """The person took back the turn of this number, counted from 0 over the whole record, and all after it.

    `conversation`: what was said since is forgotten. `FilesRestored` is about files.
    """

    type: ClassVar = "session_rewound"
    durable: ClassVar = True
    turn: int
    conversation: bool
    files: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRedone:
    """The person redid the last undo that could be redone.

    `turns` are the numbers of those that count again, empty where the conversation stays. `files`: none of the
    undo's files is left to redo; `FilesRestored` is about them. `turn` is the one that the undo went back to,
    None where it was about single files.
    """

    type: ClassVar = "session_redone"
    durable: ClassVar = True
    turns: tuple[int, ...]
    files: bool
    turn: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorOccurred:
    """Something failed that the person should read about."""

    type: ClassVar = "error_occurred"
    durable: ClassVar = True
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFinished:
    """A session closed."""

    type: ClassVar = "session_finished"
    durable: ClassVar = True
    report: RunReport

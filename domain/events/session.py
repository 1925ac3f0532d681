"""What befalls a session as a whole: its opening and end, its mode and model, and what is undone and redone."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from msgspec import Struct

from quorum.domain.calls.effects import FileChange
from quorum.domain.calls.server_tools import RecordedTool
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.events.report import ReportedEnd
from quorum.domain.fact import CanonicalPlace, Fact
from quorum.domain.instructions.prompt_part import PromptPart
from quorum.domain.panel.panel_answer import Consensus
from quorum.domain.review.mode import Mode
from quorum.domain.text.amounts import format_size


class SessionStarted(Fact, frozen=True, kw_only=True, tag="session_started"):
    """A session opened. `effort` and `consensus` are None in sessions of before there was one, and `consensus`
    where the kind of session has none."""

    session_id: str
    model: str
    mode: Mode
    cwd: str
    form: SessionKind = SessionKind.AGENT
    effort: Effort | None = None
    consensus: Consensus | None = None


class SessionResumed(Fact, frozen=True, kw_only=True, tag="session_resumed"):
    """A session was resumed from the ledger. `told` has sentences about what was repaired or closed."""

    session_id: str
    model: str
    mode: Mode
    cwd: str
    told: tuple[str, ...] = ()
    effort: Effort | None = None
    consensus: Consensus | None = None


class SandboxChecked(Fact, frozen=True, kw_only=True, tag="sandbox_checked"):
    """It became known whether commands run in a sandbox. `told` is one sentence for the person."""

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    on: bool
    told: str


class SystemPromptSet(Fact, frozen=True, kw_only=True, tag="system_prompt_set"):
    """From now on each request carries these parts as its system prompt. What changes of them is said in
    messages, so that providers can reuse what they have read."""

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    parts: tuple[PromptPart, ...]


class ToolsListed(Fact, frozen=True, kw_only=True, tag="tools_listed"):
    """Requests to the model list these tools, in this order, for as long as quorum's own among them are those
    that it is to have. What servers offer in place of theirs is said in messages, so that providers can reuse
    what they have read."""

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    model: str
    tools: tuple[RecordedTool, ...]


class LoadedInstruction(Struct, frozen=True, kw_only=True):
    """An instruction file in force. `sha256` is over it and all that it imports; `left_out` is how many bytes
    of them the limit cut off."""

    file: str
    sha256: str
    left_out: int = 0


class OfferedSkill(Struct, frozen=True, kw_only=True):
    """A skill that the model may load. `sha256` is over all files of its folder."""

    name: str
    folder: str
    sha256: str


class OfferedAgent(Struct, frozen=True, kw_only=True):
    """An agent to which the model may give tasks. `sha256` is over the file of its definition."""

    name: str
    file: str
    sha256: str


class InstructionsLoaded(Fact, frozen=True, kw_only=True, tag="instructions_loaded"):
    """From now on these instruction files hold, the outermost first, these skills can be loaded, and tasks can
    be given to these agents. `notices` are sentences for the person, about those that do not hold because they
    are not trusted."""

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
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


class FolderAdded(Fact, frozen=True, kw_only=True, tag="folder_added"):
    """From now on this folder, a canonical path, belongs to the workspace, unless the session goes back to
    before that."""

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    folder: str
    origin: FolderOrigin = FolderOrigin.COMMAND

    @property
    def sentence(self) -> str:
        """What holds now, in a sentence."""
        return f"the folder {self.folder} belongs to the workspace from here on"


class SessionRenamed(Fact, frozen=True, kw_only=True, tag="session_renamed"):
    """From now on lists show the session under this title."""

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    title: str

    @property
    def sentence(self) -> str:
        """What it is called now."""
        return f"the session is called “{self.title}”"


class ConsensusChanged(Fact, frozen=True, kw_only=True, tag="consensus_changed"):
    """From now on so many models answer a prompt, in this way."""

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    consensus: Consensus

    @property
    def sentence(self) -> str:
        """It in words, for the person."""
        return self.consensus.meaning


class ModeChanged(Fact, frozen=True, kw_only=True, tag="mode_changed"):
    """The person chose another review mode."""

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    mode: Mode


class ModelChanged(Fact, frozen=True, kw_only=True, tag="model_changed"):
    """The person chose another model, "provider/model", or another reasoning effort; it answers from the next
    request on."""

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    model: str
    effort: Effort | None = None


class ModelFellBack(Fact, frozen=True, kw_only=True, tag="model_fell_back"):
    """A model that was asked does not answer, for this `reason`; `model` stands in for the rest of the turn.

    The model chosen stays the same, and the next turn asks it first.
    """

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    is_warning: ClassVar = True
    model: str
    instead_of: str
    reason: str

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        reason = self.reason.rstrip(".")
        return f"{self.instead_of} does not answer ({reason}); {self.model} stands in for the rest of this turn"


class FilesRestored(Fact, frozen=True, kw_only=True, tag="files_restored"):
    """Files were given back as they were before a turn. `changes` hold their states before and after that.

    `redo`: they were given back as they were before the last undo that can be redone.
    """

    changes: tuple[FileChange, ...]
    redo: bool = False


class SessionRewound(Fact, frozen=True, kw_only=True, tag="session_rewound"):
    """The person took back the turn of this number, counted from 0 over the whole record, and all after it.

    `conversation`: what was said since is forgotten. `FilesRestored` is about files.
    """

    turn: int
    conversation: bool
    files: bool


class SessionRedone(Fact, frozen=True, kw_only=True, tag="session_redone"):
    """The person redid the last undo that could be redone.

    `turns` are the numbers of those that count again, empty where the conversation stays. `files`: none of the
    undo's files is left to redo; `FilesRestored` is about them. `turn` is the one that the undo went back to,
    None where it was about single files.
    """

    turns: tuple[int, ...]
    files: bool
    turn: int | None = None


class ErrorOccurred(Fact, frozen=True, kw_only=True, tag="error_occurred"):
    """Something failed that the person should read about."""

    place: ClassVar = CanonicalPlace.BY_CHANCE
    message: str


class NoticeGiven(Fact, frozen=True, kw_only=True, tag="notice_given"):
    """Something that the person should read about though nothing that was asked for failed: a warning, or a
    note where there is nothing to look after."""

    place: ClassVar = CanonicalPlace.BY_CHANCE
    message: str
    is_note: bool = False

    @property
    def is_warning(self) -> bool:  # type: ignore[override]
        """Whether the person has to look."""
        return not self.is_note

    @property
    def sentence(self) -> str:
        """The message."""
        return self.message


class SchemasMadePlain(NoticeGiven, frozen=True, kw_only=True, tag="schemas_made_plain"):
    """A model did not take the schemas of all tools: it is sent plain ones from now on."""

    model: str


class SessionFinished(ReportedEnd, frozen=True, kw_only=True, tag="session_finished"):
    """A session closed."""

"""The options of commands as values: those that several share, and those of `quorum agent`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

if TYPE_CHECKING:
    from quorum.domain.sessions.session_summary import SessionChoice


OutputFormat: TypeAlias = Literal["text", "json", "stream-json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """Where a command works, and with what settings.

    `models` are the values of -m in order; `overrides` are other settings by dotted key, as flags gave them.
    `add_dirs` are folders to add to the workspace. A `workdir` of None is the current folder. `safe`: with
    nothing that the person or the project added to quorum.
    """

    config_file: Path | None = None
    workdir: Path | None = None
    add_dirs: tuple[Path, ...] = ()
    models: tuple[str, ...] = ()
    overrides: dict[str, object] = field(default_factory=dict)
    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    safe: bool = False

    @property
    def needs_folder(self) -> bool:
        """Whether the command works in the folder of --workdir, which must be there then."""
        return True

    def find_conflict(self) -> str:
        """Which options do not go together, in a sentence; empty where all do."""
        return ""


class StandaloneOptions(StartOptions):
    """Those of a command that works in no folder."""

    __slots__ = ()

    @property
    def needs_folder(self) -> bool:
        """It does not."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions(StartOptions):
    """Which session a command opens: a new one, or one to continue, or a copy of that (`fork`).

    An empty `resume` leaves the choice to the person. A new one is of this `kind`.
    """

    kind: ClassVar[str] = "agent"
    continues: bool = False
    resume: str | None = None
    fork: bool = False

    @property
    def session(self) -> SessionChoice:
        """The session to begin or to resume. The domain is loaded here and not before the first paint."""
        from quorum.domain.conversation.session_kind import SessionKind
        from quorum.domain.sessions.session_summary import (
            LatestSession,
            NamedSession,
            NewSession,
            PickedSession,
        )

        match self.resume:
            case None if not self.continues:
                return NewSession(SessionKind(self.kind))
            case None | "latest":
                return LatestSession()
            case "":
                return PickedSession()
            case name:
                return NamedSession(name)

    def find_conflict(self) -> str:
        """Which options do not go together, in a sentence; empty where all do."""
        if self.fork and not self.continues and self.resume is None:
            return "--fork goes with --continue or --resume: it says what to copy"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptOptions(SessionOptions):
    """A prompt that is answered without a screen, with these `images`.

    `leave_open`: a review that needs a person is left open. `json_schema` is what the answer has to fit, as
    text or as the name of a file. `goal` is what is to be reached, and `checks` are the commands that say so.
    """

    prompt: str | None = None
    output: OutputFormat = "text"
    images: tuple[Path, ...] = ()
    leave_open: bool = False
    json_schema: str | None = None
    goal: str | None = None
    checks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions(PromptOptions):
    """What `quorum agent` was asked: which agent, and in which of its modes and with which of its models."""

    agent: str = ""
    agent_mode: str | None = None
    agent_model: str | None = None

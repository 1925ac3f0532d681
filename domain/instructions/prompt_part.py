"""The system prompt in parts, the machine and project it tells of, and the messages about changes in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from quorum.domain.conversation.history import Message, UserMessage
from quorum.domain.text.amounts import format_amount


class RepositoryState(Struct, frozen=True, kw_only=True):
    """A git repository. `changes` is how many files differ from the last commit, None where that is not known.

    `branch` is a branch's name, or the beginning of a commit's hash; None where that is not known.
    """

    root: str
    branch: str | None
    changes: int | None


class Environment(Struct, frozen=True, kw_only=True):
    """The surroundings of a session when it was opened.

    `date` is written as in 2026-11-23; `sandboxed`: commands run in a sandbox. `command_timeout_secs` is how
    long a command may take unless its call says otherwise, `max_tool_turns` how many rounds of calls one prompt
    may take.
    """

    cwd: str
    platform: str
    shell: str
    date: str
    repository: RepositoryState | None
    sandboxed: bool
    command_timeout_secs: int
    max_tool_turns: int

    @property
    def lines(self) -> tuple[str, ...]:
        """What a model reads about it."""
        return (
            f"Working directory: {self.cwd}, where relative paths start",
            f"Git: {self._git}",
            f"Platform: {self.platform}; commands run in {self.shell}",
            f"Date: {self.date}",
            f"Commands: {self._commands}",
            f"Limits: {self.command_timeout_secs} seconds a command unless its call sets others, "
            f"{format_amount(self.max_tool_turns, 'round')} of tool calls a prompt",
        )

    @property
    def _git(self) -> str:
        if self.repository is None:
            return "not a repository"
        state = {None: "", 0: ", no uncommitted changes", 1: ", 1 file with uncommitted changes"}.get(
            self.repository.changes, f", {self.repository.changes} files with uncommitted changes"
        )
        branch = "an unknown branch" if self.repository.branch is None else f'"{self.repository.branch}"'
        root = "" if self.repository.root == self.cwd else f" {self.repository.root}"
        return f"repository{root}, on {branch}{state}, as the session began"

    @property
    def _commands(self) -> str:
        if self.sandboxed:
            return (
                "run in a sandbox, which lets them write in the working directory and in a /tmp of the "
                "session only; the network may be off"
            )
        return "run without a sandbox"


class PartKind(StrEnum):
    """What a part is about."""

    ROLE = "role"
    ENVIRONMENT = "environment"
    FOLDERS = "folders"
    AGENTS = "agents"
    SKILLS = "skills"
    HEADING = "heading"
    FILE = "file"


class PromptPart(Struct, frozen=True, kw_only=True):
    """A part of the system prompt. `file` is the path of an instruction file, `label` its short name."""

    kind: PartKind
    text: str
    file: str = ""
    label: str = ""

    @property
    def key(self) -> tuple[PartKind, str]:
        """What it shares with an earlier or later text of the same part."""
        return self.kind, self.file

    @property
    def size(self) -> int:
        """Its bytes of UTF-8."""
        return len(self.text.encode("utf-8", "replace"))


_BEGINNING = "[quorum: "
_OF_FILE = "the instruction file "
_END = " is told anew"
_SUBJECTS = {
    PartKind.ENVIRONMENT: "the environment",
    PartKind.FOLDERS: "the further folders of the workspace",
    PartKind.AGENTS: "the agents to which tasks can be given",
    PartKind.SKILLS: "the skills",
}


def join_parts(parts: Iterable[PromptPart]) -> str:
    """The text of a system prompt of these parts."""
    return "\n\n".join(part.text for part in parts if part.text)


def holds_withdrawn(sent: Sequence[PromptPart], current: Sequence[PromptPart]) -> bool:
    """Whether a system prompt has an instruction file, a skill or an agent that does not hold any longer."""
    now = {part.key: part.text for part in current}
    for part in sent:
        text = now.get(part.key)
        if part.kind is PartKind.FILE and text is None:
            return True
        if part.kind in (PartKind.AGENTS, PartKind.SKILLS) and not (
            set(part.text.splitlines()) <= set((text or "").splitlines())
        ):
            return True
    return False


def list_changes(
    sent: Sequence[PromptPart], current: Sequence[PromptPart], messages: Sequence[Message]
) -> tuple[str, ...]:
    """The messages that tell a model what holds now, where it last read something else.

    `sent` is the system prompt that its requests carry. Such a message that the conversation no longer holds,
    because it was summarised or undone, has not been read.
    """
    said = [message.text for message in reversed(messages) if isinstance(message, UserMessage)]
    texts = {part.key: part.text for part in sent}
    now = {part.key: part.text for part in current}
    changes: list[str] = []
    for key in dict.fromkeys((*now, *texts, *_list_told_files(said))):
        kind, file = key
        if kind in (PartKind.ROLE, PartKind.HEADING):
            continue
        subject = f"{_OF_FILE}{file}" if kind is PartKind.FILE else _SUBJECTS[kind]
        told = next((text for text in said if text.startswith(_begin_change(subject))), None)
        change = _render_change(subject, now.get(key, ""), is_file=kind is PartKind.FILE)
        is_known = told == change if told is not None else texts.get(key, "") == now.get(key, "")
        if not is_known:
            changes.append(change)
    return tuple(changes)


def _list_told_files(said: Sequence[str]) -> list[tuple[PartKind, str]]:
    beginning = f"{_BEGINNING}{_OF_FILE}"
    return [
        (PartKind.FILE, text.removeprefix(beginning).partition(_END)[0])
        for text in said
        if text.startswith(beginning)
    ]


def _begin_change(subject: str) -> str:
    return f"{_BEGINNING}{subject}{_END}"


def _render_change(subject: str, text: str, *, is_file: bool) -> str:
    if not text:
        return f"{_begin_change(subject)}. What was said of it holds no longer.]"
    trust = " The person trusts this file." if is_file else ""
    return f"{_begin_change(subject)}. This holds in place of what was said of it before.{trust}]\n\n{text}"

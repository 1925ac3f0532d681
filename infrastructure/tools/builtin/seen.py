"""What the model knows of files, so that a change made from an outdated or missing view can be refused."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from threading import Lock

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.run_state import FileKnowledge, SeenFile, collect_knowledge
from quorum.domain.conversation.history import AssistantMessage, Conversation, Message, ToolResults, UserMessage
from quorum.domain.errors import ToolError
from quorum.infrastructure.files.workspace import Location, Workspace


class SeenFiles:
    """The files of which the model has seen the content. Safe to use from any thread while calls run.

    The conversation itself holds this knowledge, in its results and in what its prompts attach: it comes back
    with a session, and goes when compaction or a return to an earlier turn takes them away. A page counts once
    the model has been given it, so not for a call of the same answer. What a call wrote counts at once: the
    model knows it.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._answer: Message | None = None
        self._written: list[SeenFile] = []
        self._folders: set[str] = set()
        self._shown: dict[str, list[SeenFile]] = {}
        self._read_until = (0, 0)
        self._reading = Lock()

    def note_page(self, context: ToolExecutionContext, file: SeenFile) -> None:
        """The result of this call shows the model these lines of the file."""
        self._note(context, file)

    def note_written(self, context: ToolExecutionContext, file: SeenFile) -> None:
        """The call has written the file, with a content that the model made."""
        self._note(context, file)
        answer = _find_last(self._conversation)
        self._written = [*self._written, file] if answer is self._answer else [file]
        self._answer = answer

    def note_folder(self, path: str) -> None:
        """The model is shown something of this file, so that what holds in its folder matters."""
        self._folders.add(os.path.dirname(path))

    @property
    def folders(self) -> frozenset[str]:
        """The folders of all files that this process has shown the model or written for it."""
        return frozenset(self._folders)

    def find_knowledge(self, path: str) -> FileKnowledge | None:
        """What the model knows of the file at this canonical path; None if it never saw the file."""
        return collect_knowledge(path, self._list_seen(path))

    def _note(self, context: ToolExecutionContext, file: SeenFile) -> None:
        context.controls.note_seen(file)
        self.note_folder(file.path)

    def _list_seen(self, path: str) -> Iterator[SeenFile]:
        """What may be of this file: all that messages show of it, and what was written since."""
        messages = self._conversation.messages
        with self._reading:
            self._read_on(messages)
            shown = tuple(self._shown.get(path, ()))
        yield from shown
        if (messages[-1] if messages else None) is self._answer:  # its results are not there yet
            yield from self._written

    def _read_on(self, messages: Sequence[Message]) -> None:
        """Read the messages that came since, or all of them where the older ones were replaced."""
        rewrites, length = self._read_until
        if rewrites != self._conversation.rewrites:
            self._shown.clear()
            rewrites, length = self._conversation.rewrites, 0
        for message in messages[length:]:
            for file in _list_shown(message):
                self._shown.setdefault(file.path, []).append(file)
        self._read_until = (rewrites, len(messages))


def _list_shown(message: Message) -> Iterator[SeenFile]:
    match message:
        case ToolResults(results):
            for result in results:
                yield from result.seen
        case UserMessage():
            yield from (file.seen for file in message.files if file.seen is not None)
        case AssistantMessage():
            return


def _find_last(conversation: Conversation) -> Message | None:
    return conversation.messages[-1] if conversation.messages else None


def require_unchanged(workspace: Workspace, seen: SeenFiles, location: Location, content: bytes | None) -> None:
    """Raises ToolError if the model knows a file with another content than this."""
    known = seen.find_knowledge(location.path)
    if content is not None and known is not None and known.sha256 != (found := compute_sha256(content)):
        raise ToolError(
            f"{workspace.format_path(location.path)} changed since you last saw it: "
            f"read it again, then repeat the edit on what it holds now (SHA-256 {found})"
        )


def require_known(workspace: Workspace, seen: SeenFiles, location: Location, content: bytes | None) -> None:
    """Raises ToolError unless the model has seen all of this content, or there is none to be seen."""
    if not content:
        return
    require_unchanged(workspace, seen, location, content)
    known, name = seen.find_knowledge(location.path), workspace.format_path(location.path)
    if known is None:
        raise ToolError(
            f"{name} exists, and you have not seen what it holds: nothing was written. Read it with read_file "
            f"first, then repeat the call if all of it shall be replaced (SHA-256 {compute_sha256(content)})"
        )
    if not known.is_whole:
        raise ToolError(
            f"you have seen only a part of {name}: nothing was written. Change that part with edit_file, or "
            "read the rest with read_file before you replace the whole file "
            f"(SHA-256 {compute_sha256(content)})"
        )


def compute_sha256(content: bytes | None) -> str | None:
    """The hash in hexadecimal; None for a file that does not exist."""
    return None if content is None else hashlib.sha256(content).hexdigest()

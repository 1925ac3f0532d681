"""Files that a prompt or a tool shows the model: attached images and PDFs, and what a prompt mentions with `@`.

Images and PDFs are kept first, then found in a prompt by their labels. A mention is attached as far as the
model might read it without a question. What a tool has read goes with the request that brings the result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from itertools import islice

from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.hooks import CallDraft
from quorum.application.ports.storage import ContentStore
from quorum.application.ports.tools import ToolServers
from quorum.application.ports.workspace import AttachmentSource, MentionSource, MentionTarget, ReferenceSource
from quorum.application.review.review import Review
from quorum.application.steering import PendingMessage, PendingMessages
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.attachment import AttachedFile, Attachment, Document, Image
from quorum.domain.conversation.history import UserMessage
from quorum.domain.errors import AttachmentError, LedgerError, ToolError
from quorum.domain.events.event import Event, MessageAdded
from quorum.domain.replacing import replace
from quorum.domain.review.permission_rules import Answer, Subject
from quorum.domain.text.json_text import count_utf8_bytes
from quorum.domain.text.mention import find_mentions, find_references, looks_like_attachment, split_resource
from quorum.domain.text.pattern import compile_once

_LABEL = r"\[(?:image [^\]\n]+ \d+×\d+|PDF [^\]\n]+ [\d,.]+ [a-zA-Z]+)\]"
_LOST = "quorum ended before it was shown; it has to be attached again"


class Attachments:
    """The images and PDFs of a session, also those of its `past`.

    A label stands in a text for what is attached, wherever that text goes: into the queue, into a draft, back
    to be edited. What is deleted from it is not shown. `hide` takes secrets out of names.
    """

    def __init__(
        self,
        source: AttachmentSource,
        contents: ContentStore,
        *,
        hide: Callable[[str], str],
        past: Iterable[Event] = (),
    ) -> None:
        self._source = source
        self._contents = contents
        self._hide = hide
        self._by_label: dict[str, Attachment] = {}
        for event in past:
            if isinstance(event, MessageAdded) and isinstance(event.message, UserMessage):
                self._by_label.update({each.label: each for each in event.message.attachments})

    async def attach(self, path: str) -> Attachment:
        """Store the image or PDF in this file, so that later prompts can name it. Raises
        AttachmentError."""
        return await self.keep(*await self._source.read(path))

    async def paste(self) -> Attachment:
        """Store the image in the clipboard. Raises AttachmentError."""
        return await self.keep(*await self._source.read_clipboard())

    def build_message(self, text: str) -> UserMessage:
        """Return the message for a prompt: its text, and the attachments whose labels it holds, in order."""
        if "[image " not in text and "[PDF " not in text:
            return UserMessage(text)
        places = sorted((text.find(label), label) for label in self._by_label if label in text)
        found = [self._by_label[label] for _, label in places]
        return UserMessage(
            text,
            tuple(each for each in found if isinstance(each, Image)),
            documents=tuple(each for each in found if isinstance(each, Document)),
        )

    def take_over(self, attachment: Attachment) -> None:
        """Know what another process has stored, whose draft comes from there."""
        self._by_label[attachment.label] = attachment

    def rebuild_message(self, text: str) -> UserMessage:
        """Return the message for a prompt of an earlier process, of which only the text was recorded."""
        said = self.build_message(text)
        lost = (label for label in compile_once(_LABEL).findall(text) if label not in self._by_label)
        for label in dict.fromkeys(lost):
            text = text.replace(label, f"{label[:-1]}: {_LOST}]")
        return replace(said, text=text)

    async def keep(self, attachment: Attachment, content: bytes) -> Attachment:
        """Store an attachment that was read already, under a unique name. Raises AttachmentError."""
        try:
            await self._contents.put([content])
        except LedgerError as error:
            raise AttachmentError(f"{attachment.name} cannot be attached: {error}") from error
        attachment = self._disambiguate(replace(attachment, name=self._hide(attachment.name)))
        self._by_label[attachment.label] = attachment
        return attachment

    def _disambiguate(self, attachment: Attachment) -> Attachment:
        """Return the attachment under a name that no other of the session has."""
        named, number = attachment, 1
        taken = {known.name: known.sha256 for known in self._by_label.values()}
        while taken.get(named.name, attachment.sha256) != attachment.sha256:
            number += 1
            named = replace(attachment, name=f"{attachment.name} #{number}")
        return named


_NO_ROOM = (
    "{name} takes about {needed:,} tokens, and the context window has room for {room:,}; "
    "`pdftotext` with -f and -l prints some of its pages"
)


class CallAttachments:
    """Implements `AttachmentViewer`: stores the attachment and sends it after the results of the batch.

    `room` answers how many tokens the conversation has room for.
    """

    def __init__(
        self, attachments: Attachments, pending_messages: PendingMessages, room: Callable[[], int]
    ) -> None:
        self._attachments = attachments
        self._pending_messages = pending_messages
        self._room = room

    async def show(self, attachment: Attachment, content: bytes, *, call_id: str) -> Attachment:
        """Show it with the result of this call, which has to hold its label. Raises AttachmentError."""
        if isinstance(attachment, Document) and attachment.tokens > (room := self._room()):
            raise AttachmentError(_NO_ROOM.format(name=attachment.name, needed=attachment.tokens, room=room))
        kept = await self._attachments.keep(attachment, content)
        said = self._attachments.build_message(kept.label)
        self._pending_messages.add(PendingMessage(replace(said, of_call=call_id), is_notice=True))
        return kept


MOST_FILES = 20
MOST_BYTES = 200_000
MOST_REFERENCES = 8
MOST_REFERENCE_CHARACTERS = 3_000
MOST_CHARACTERS_OF_REFERENCES = 12_000
_MOST_LOOKED_FOR = 200
_HOOKED = "hooks are to see each call of {tool}; the model reads it with that"
_TOO_MANY = f"a prompt attaches at most {MOST_FILES} files; {{tool}} shows it"
_TOO_MANY_REFERENCES = f"a prompt attaches at most {MOST_REFERENCES} issues and pull requests"
_ASKED = "{reasons}; {tool} asks you first"
_NO_CALL = ToolExecutionContext(call_id="", batch_id="", call_index=0, turn_index=0)


class Mentions:
    """The files and folders that prompts mention.

    A mention is decided like the call of `read_file` or `list_directory` that would show the same. Where that
    is not simply allowed, or a hook is to see it, nothing is attached, and the model may make the call. `room`
    answers how many bytes the conversation has room for.

    A resource of one of the `servers` is named as `@server:scheme://…`. Its server was chosen by the person.
    Issues and pull requests, such as `#12`, are read from `references`.
    """

    def __init__(
        self,
        source: MentionSource,
        review: Review,
        hooks: HookChain,
        room: Callable[[], int],
        servers: ToolServers | None = None,
        references: ReferenceSource | None = None,
    ) -> None:
        self._servers = servers
        self._references = references
        self._source = source
        self._review = review
        self._hooks = hooks
        self._room = room

    async def attach(self, message: UserMessage) -> UserMessage:
        """The message with what it mentions. What is not a file is left alone: it may be anything."""
        files = {**await self._attach_files(message), **await self._attach_references(message)}
        return replace(message, files=tuple(files.values())) if files else message

    async def _attach_references(self, message: UserMessage) -> dict[str, AttachedFile]:
        """The issues and pull requests that the message names, by their labels."""
        if self._references is None or ("#" not in message.text and "://" not in message.text):
            return {}
        found = list(dict.fromkeys(find_references(message.text)))
        named, more = found[:MOST_REFERENCES], found[MOST_REFERENCES:]
        most = min(MOST_REFERENCE_CHARACTERS, MOST_CHARACTERS_OF_REFERENCES // max(len(named), 1))
        read = await asyncio.gather(*(self._references.read(each, most) for each in named))
        files = [file for file in read if file is not None]
        if files and more:
            rest = more[0].label if len(more) == 1 else f"{more[0].label} and what is named after it"
            files.append(AttachedFile(name=rest, note=_TOO_MANY_REFERENCES))
        return {file.label: file for file in files}

    async def _attach_files(self, message: UserMessage) -> dict[str, AttachedFile]:
        """The files, folders and resources that the message mentions, by their labels."""
        if "@" not in message.text:
            return {}
        room = min(self._room(), MOST_BYTES)
        files: dict[str, AttachedFile] = {}
        for mention in islice(dict.fromkeys(find_mentions(message.text)), _MOST_LOOKED_FOR):
            if message.attachments and looks_like_attachment(mention):
                continue  # it is attached as one
            target = await self._source.find(mention)
            if target is None and self._servers is not None and (named := split_resource(mention)) is not None:
                target = await self._servers.read_resource(*named, room)
            if isinstance(target, MentionTarget):
                target = await self._read(
                    target, room, attached=sum(each.is_attached for each in files.values())
                )
            if target is not None:
                room -= count_utf8_bytes(target.content)
                files.setdefault(target.label, target)
        return files

    async def _read(self, target: MentionTarget, room: int, *, attached: int) -> AttachedFile:
        if (why := await self._explain_refusal(target)) is None and attached >= MOST_FILES:
            why = _TOO_MANY.format(tool=target.tool)
        if why is not None:
            return AttachedFile(name=target.name, note=why)
        try:
            return await self._source.read(target, room)
        except ToolError as error:
            return AttachedFile(name=target.name, note=str(error))

    async def _explain_refusal(self, target: MentionTarget) -> str | None:
        subject = Subject(
            tool=target.tool, risk=RiskLevel.LOW, access=target.access, arguments={"path": target.path}
        )
        decision = await self._review.decide_off_loop(subject)
        reasons = "; ".join(decision.reasons)
        match decision.answer:
            case Answer.DENY:
                return f"denied: {reasons}"
            case Answer.ASK:
                return _ASKED.format(reasons=reasons, tool=target.tool)
            case Answer.ALLOW:
                return _HOOKED.format(tool=target.tool) if self._is_hooked(target) else None

    def _is_hooked(self, target: MentionTarget) -> bool:
        draft = CallDraft(
            context=_NO_CALL,
            tool=target.tool,
            risk=RiskLevel.LOW,
            arguments={"path": target.path},
            paths=tuple(sorted(target.access.reads)),
        )
        return self._hooks.watches(draft)

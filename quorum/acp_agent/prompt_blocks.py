"""A prompt of the protocol as the text that a turn begins with: its blocks, and what they bring along."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from quorum.acp_agent.client_approver import UnsavedBuffers
from quorum.acp_agent.tool_calls import fence, show_line
from quorum.application.turn.attachments import Attachments
from quorum.domain.conversation.attachment import Attachment
from quorum.domain.errors import AttachmentError
from quorum.domain.text.base64_text import decode_base64
from quorum.domain.text.mention import format_mention, looks_like_attachment
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.attachment_files import LARGEST_PDF_BYTES, build_attachment
from quorum.infrastructure.blocking import run_in_thread
from quorum.tui.mentioned_attachments import append_labels, find_mentioned_attachments

PromptBlock: TypeAlias = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)

_LINES = r"L(\d{1,9})(?:[:,-]L?(\d{1,9}))?"
_TEXT_KINDS = ("/json", "+json", "/xml", "+xml", "/yaml", "/x-yaml", "/toml", "/javascript", "/x-sh")
LARGEST_RESOURCE_BYTES = 1_000_000
"""More text than this is no part of a prompt; the model reads such a file with its tools."""


class PromptBuilder:
    """Builds the text of a prompt for one session, and attaches its images and PDFs.

    A file that is linked is mentioned, so that it is attached as a mention is: as far as the model might read
    it without a question. What the client has embedded is text of the prompt.
    """

    def __init__(
        self,
        attachments: Attachments,
        root: Path,
        buffers: UnsavedBuffers,
        is_sensitive: Callable[[str], bool],
    ) -> None:
        self._attachments = attachments
        self._root = root
        self._buffers = buffers
        self._is_sensitive = is_sensitive

    async def build(self, blocks: Sequence[PromptBlock]) -> str:
        """The text of the prompt. Raises AttachmentError for what no model can be shown."""
        words: list[str] = []
        below: list[str] = []
        labels: list[str] = []
        for block in blocks:
            match block:
                case TextContentBlock():
                    words.append(block.text)
                    labels += await self._attach_mentioned(block.text)
                case ResourceContentBlock():
                    words.append(await self._link(block, below))
                case ImageContentBlock():
                    words.append(await self._show_image(block))
                case EmbeddedResourceContentBlock(resource=resource) if (
                    text := _find_text(resource)
                ) is not None:
                    named = self._name(resource.uri, await self._locate(resource.uri))
                    words.append(named)
                    below.append(_embed(f"{named}, as the editor has it", text))
                case EmbeddedResourceContentBlock(resource=BlobResourceContents() as resource):
                    name = _choose_name(resource.uri, "file")
                    words.append(await self._keep(show_line(resource.uri), name, resource.blob))
                case AudioContentBlock():
                    raise AttachmentError("a prompt takes no audio; send text, images or PDFs")
                case _:
                    raise AttachmentError("a prompt takes text, images, links and resources")
        return append_labels("\n\n".join(["".join(_add_blanks(words)), *below]), labels)

    async def _attach_mentioned(self, text: str) -> list[str]:
        """The labels of the images and PDFs that the person mentions, as in the app."""
        paths = await asyncio.to_thread(find_mentioned_attachments, text, self._root)
        return [(await self._attachments.attach(path)).label for path in paths]

    async def _link(self, block: ResourceContentBlock, below: list[str]) -> str:
        """The mention of a file; of what is not a file the address, which a tool may fetch."""
        place = await self._locate(block.uri)
        if place is None:
            return f"[{show_line(block.name)}]({show_line(block.uri, 4096)})"
        path = place.path
        if looks_like_attachment(path) and await asyncio.to_thread(os.path.isfile, path):
            return (await self._attachments.attach(path)).label
        named = self._name(block.uri, place)
        if not self._is_sensitive(path) and (text := await self._buffers.find(Path(path))) is not None:
            below.append(_embed(f"{named}, as the editor has it: these changes are not saved yet", text))
        return named

    async def _show_image(self, block: ImageContentBlock) -> str:
        """The label of an image. Of one without data, its address tells the file."""
        if block.data:
            return await self._keep("the image", _choose_name(block.uri, "image"), block.data)
        place = await self._locate(block.uri or "")
        if place is None:
            said = f"only the address {show_line(block.uri)}" if block.uri else "no address either"
            raise AttachmentError(f"an image came without data, and with {said}: send its data")
        return (await self._attachments.attach(place.path)).label

    async def _keep(self, place: str, name: str, data: str) -> str:
        def decode() -> tuple[Attachment, bytes]:
            try:
                content = decode_base64(data)
            except ValueError as error:
                raise AttachmentError(f"{place} is not base64: {error}") from error
            if len(content) > LARGEST_PDF_BYTES:
                raise AttachmentError(
                    f"{place} has more than {LARGEST_PDF_BYTES:,} bytes; make it smaller first"
                )
            return build_attachment(place, name, content), content

        return (await self._attachments.keep(*await run_in_thread(lambda _stop: decode()))).label

    async def _locate(self, uri: str) -> _NamedFile | None:
        return await asyncio.to_thread(_locate, uri, self._root)

    def _name(self, uri: str, place: _NamedFile | None) -> str:
        if place is None:
            return show_line(uri, 4096)
        file = Path(place.path)
        named = file.relative_to(self._root) if file.is_relative_to(self._root) else file
        return format_mention(str(named)) + place.lines


class _NamedFile(NamedTuple):
    """A file by its absolute path, with the lines of it that are meant as a mention has them."""

    path: str
    lines: str


def _find_text(resource: TextResourceContents | BlobResourceContents) -> str | None:
    """The text of a resource; None where it is no text, also by the type that the client gives."""
    if isinstance(resource, TextResourceContents):
        return resource.text
    kind = (resource.mime_type or "").partition(";")[0].strip().lower()
    if not kind.startswith("text/") and not kind.endswith(_TEXT_KINDS):
        return None
    try:
        return decode_base64(resource.blob).decode()
    except ValueError:  # no base64, or no UTF-8
        return None


def _embed(what: str, text: str) -> str:
    if len(text.encode("utf-8", "surrogatepass")) > LARGEST_RESOURCE_BYTES:
        raise AttachmentError(
            f"{what} has more than {LARGEST_RESOURCE_BYTES:,} bytes; "
            "name the file, and the model reads it in parts"
        )
    return f"{what}:\n{fence(text)}"


def _locate(uri: str, root: Path) -> _NamedFile | None:
    """The file that an address names; None for any other address. Some clients do not encode what they put
    into one, and name files by what leads to them from the root: that counts where there is such a file."""
    path = _parse_path(uri)
    bare, _, fragment = uri.rpartition("#")
    meant = compile_once(_LINES).fullmatch(fragment) if bare else None
    ends = "" if meant is None or meant[2] is None else f"-{meant[2]}"
    lines = f":{meant[1]}{ends}" if meant is not None else ""
    if path is not None and os.path.exists(path):
        return _NamedFile(path, lines)
    for written, with_lines in ((uri, ""), (bare, lines)):
        literal = written.removeprefix("file://") if path is not None else os.path.normpath(root / written)
        if written and (path is not None or "://" not in written) and os.path.isfile(literal):
            return _NamedFile(literal, with_lines)
    return None if path is None else _NamedFile(path, lines)


def _parse_path(uri: str) -> str | None:
    """The absolute path that an address of a file names; None for any other address."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        path = unquote(parts.path)
        return path if path.startswith("/") and "\0" not in path else None
    return uri if not parts.scheme and uri.startswith("/") and "\0" not in uri else None


def _choose_name(uri: str | None, unnamed: str) -> str:
    path = _parse_path(uri) if uri else None
    return Path(path).name or unnamed if path else unnamed


def _add_blanks(words: Sequence[str]) -> list[str]:
    """The blocks one after the other; what would stand together as one word is set apart."""
    joined: list[str] = []
    for word in words:
        if joined and word and joined[-1] and not joined[-1][-1].isspace() and not word[0].isspace():
            joined.append(" ")
        joined.append(word)
    return joined

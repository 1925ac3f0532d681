"""A tab as one app hands it to the next, and how a chat takes it over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from quorum.tui.transcript.layout.transcript_layout import LinePosition

if TYPE_CHECKING:
    from quorum.application.turn.attachments import Attachments
    from quorum.tui.agent.turns import Turns
    from quorum.tui.chat.controllers.host import ChatHost
    from quorum.tui.prompt_box.prompt import Prompt
    from quorum.tui.session.session import Session
    from quorum.tui.transcript.layout.view import TranscriptView


class CarriedPrompt(Struct, frozen=True):
    """A prompt or a command that was sent and waits; `is_typed`: the person typed it by hand."""

    text: str
    is_typed: bool


class CarriedTab(Struct, frozen=True, kw_only=True):
    """A tab. `session` is the id of what was said in it; empty: nothing was. `form` is what the session is for;
    empty: there was none yet, and the command line says which it is. `opener` is the place of the tab that it
    was opened from, None for none. `line` is what of the transcript stands at the top; None: its end is in
    sight, and stays so. `attached` are the images and PDFs that the draft and what waits name, encoded.
    `refusal` is why it is not in the layer that it was to go on in.
    """

    session: str
    form: str
    mode: str
    model: str
    opener: int | None
    name: str
    draft: str
    is_draft_typed: bool
    waiting: tuple[CarriedPrompt, ...]
    line: LinePosition | None
    attached: bytes = b""
    refusal: str = ""


def encode_attached(text: str, attachments: Attachments) -> bytes:
    """The images and PDFs that a text names; empty: none."""
    from msgspec import msgpack

    message = attachments.build_message(text)
    return msgpack.encode((message.images, message.documents)) if message.attachments else b""


def _take_attached(content: bytes, attachments: Attachments) -> None:
    from msgspec import msgpack

    from quorum.domain.conversation.attachment import Document, Image

    images, documents = msgpack.decode(content, type=tuple[tuple[Image, ...], tuple[Document, ...]])
    for image in images:
        attachments.take_over(image)
    for document in documents:
        attachments.take_over(document)


def put_draft(carried: CarriedTab, prompt: Prompt) -> None:
    """Have what was being written stand in the prompt before anything more is typed."""
    if carried.draft:
        prompt.replace_text(carried.draft)
        prompt.is_typed_by_person = carried.is_draft_typed


async def resume_tab(
    carried: CarriedTab, session: Session, turns: Turns, transcript: TranscriptView, host: ChatHost
) -> None:
    """The session is there, and its past is shown: have the rest be as it was."""
    if carried.model and carried.model != session.facts.model_with_effort:
        host.refuse(await session.set_model(carried.model))
    if carried.mode != session.facts.mode and not session.crosses_layer(carried.mode) and carried.mode:
        host.refuse(await session.set_mode(carried.mode))
    if carried.attached:
        _take_attached(carried.attached, session.agent.attachments)
    for prompt in carried.waiting:
        turns.submit(prompt.text, is_typed=prompt.is_typed)
    if carried.line is not None:
        transcript.go_to_line(carried.line)
    if carried.refusal:
        host.tell(carried.refusal, refuses=False)

"""Which images and PDFs of a conversation go out with a request: those that its model takes, as far as known.

A history that a provider refuses is refused for ever after, so an attachment that it does not take gives way,
for that request, to a line that names it. One that the person has only just shown is refused aloud
first; one that a tool has read gives way at once, and the model reads why.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator

from quorum.application.ports.storage import ContentStore
from quorum.domain.conversation.attachment import Attachment, AttachmentLimits, Document, Image
from quorum.domain.conversation.history import Message, UserMessage, list_attachments, select_unanswered
from quorum.domain.errors import ContentGone, LedgerError, ProviderError, ProviderErrorKind
from quorum.domain.replacing import replace
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.models.shared.api_client import ApiRequest

_GONE = "its content is no longer stored"
_AWAY = "its content cannot be read now: {error}"
_TOO_MANY = "left out, as one request takes no more {kind} than the newer ones"
_REPEATED = "its pages are shown above"
_REFUSED = "left out, as {model} did not take it"
_REMEDY = "later requests to this model go without {them}; another model may take {them}"
_REFUSALS = frozenset(
    {
        ProviderErrorKind.BAD_REQUEST,
        ProviderErrorKind.NOT_FOUND,
        ProviderErrorKind.PERMISSION,
        ProviderErrorKind.SERVER,
    }
)
# How servers word it that it was an image, a file, or a content that is not text, which they did not want.
_OF_ATTACHMENTS = (
    r"(?is)\bimages?\b|image_url|input_image|vision|multi-?modal|mmproj"
    r"|\bpdfs?\b|\bdocuments?\b|input_file|\btype: '?\"?file\b|part type|content\[\]\.type|message format"
    r"|content\b.*\b(must be|should be|expected|invalid type).*\b(string|text)|expected (a )?string"
)


class SentAttachments:
    """The images and PDFs of requests. Contents come from `contents`; without a store there are none.

    What a model refused is noted in the `left_out` of a conversation, and never sent to that model again.
    """

    def __init__(self, contents: ContentStore | None, limits: AttachmentLimits) -> None:
        self._contents = contents
        self._limits = limits
        self._encoded: dict[str, str] = {}
        self._taken: set[tuple[str, str]] = set()

    async def fit_request(
        self, request: ApiRequest, model: str, refused: dict[tuple[str, str], str]
    ) -> ApiRequest:
        """The request with its attachments at hand, those left out named in its messages. `model` is the full
        name; `refused` is what the conversation goes without.

        Raises ProviderError, before anything is sent, for one that was just shown and is too large; the next
        request goes out without it.
        """
        shown = list_attachments(request.messages)
        if not shown:
            return request
        left_out = self._find_unfit(request, shown, model, refused)
        beyond = self._limits.find_surplus(_exclude(shown, left_out))
        left_out |= {
            each.sha256: _TOO_MANY.format(kind=_name_kind(each)) for each in shown if each.sha256 in beyond
        }
        at_hand: dict[str, str] = {}
        for each in _exclude(shown, left_out):
            try:
                at_hand[each.sha256] = self._encoded.get(each.sha256) or await self._load(each)
            except ContentGone:
                left_out[each.sha256] = _GONE
            except LedgerError as error:  # the next request asks again
                left_out[each.sha256] = _AWAY.format(error=error)
        self._encoded = at_hand
        messages = tuple(_leave_out(request.messages, left_out))
        return replace(request, messages=messages, attachments=at_hand)

    def accept(self, request: ApiRequest) -> None:
        """Take note that the model answered this request."""
        self._taken.update((request.model, sha256) for sha256 in request.attachments)

    def refuse(
        self, request: ApiRequest, error: ProviderError, model: str, left_out: dict[tuple[str, str], str]
    ) -> str:
        """Why a request that was refused for earlier attachments is worth sending without them; else empty.

        Raises the error, worded anew with the remedy, where that may be for attachments just shown.
        """
        if error.partial or error.kind not in _REFUSALS:
            return ""
        suspects = [
            each
            for each in list_attachments(request.messages)
            if each.sha256 in request.attachments and (request.model, each.sha256) not in self._taken
        ]
        unanswered = select_unanswered(request.messages)
        new = {each.sha256 for each in list_attachments(unanswered)}
        shown = _find_images_of_person(unanswered)
        is_of_attachments = compile_once(_OF_ATTACHMENTS).search(str(error)) is not None
        is_of_shown = error.kind is ProviderErrorKind.BAD_REQUEST and new.intersection(request.attachments)
        if not suspects or not (is_of_attachments or is_of_shown):
            return ""
        for each in suspects:
            left_out[model, each.sha256] = _REFUSED.format(model=model)
        if any(each.sha256 in shown for each in suspects):
            raise _explain_refusal(error, suspects, model) from error
        return f"{model} did not take {_join_labels(suspects)}: the request is sent without"

    def _find_unfit(
        self,
        request: ApiRequest,
        attachments: Iterable[Attachment],
        model: str,
        refused: dict[tuple[str, str], str],
    ) -> dict[str, str]:
        """Why each attachment that will not do is left out. Raises ProviderError for those just shown, once."""
        shown = _find_images_of_person(select_unanswered(request.messages))
        left_out: dict[str, str] = {}
        troubles: list[str] = []
        for each in attachments:
            known = refused.get((model, each.sha256))
            if known is None and (excess := self._limits.describe_excess(each)):
                known = refused[model, each.sha256] = f"left out, as {excess}"
                troubles += [f"{model} does not take {each.label}: {excess}"] * (each.sha256 in shown)
            if known is not None:
                left_out[each.sha256] = known
        if troubles:
            text = f"{'; '.join(troubles)}; {_REMEDY.format(them='it' if len(troubles) == 1 else 'them')}"
            raise ProviderError(text, kind=ProviderErrorKind.BAD_REQUEST)
        return left_out

    async def _load(self, attachment: Attachment) -> str:
        if self._contents is None:
            raise ContentGone("nothing is stored")
        return b64encode(await self._contents.get(attachment.sha256)).decode("ascii")


def select_images(message: UserMessage, request: ApiRequest) -> Iterator[tuple[Image, str]]:
    """The images of a message that go out with this request, each with its content in base64."""
    for image in message.images:
        if (encoded := request.attachments.get(image.sha256)) is not None:
            yield image, encoded


def select_documents(message: UserMessage, request: ApiRequest) -> Iterator[tuple[Document, str]]:
    """The PDFs of a message that go out with this request, each with its content in base64."""
    for document in message.documents:
        if (encoded := request.attachments.get(document.sha256)) is not None:
            yield document, encoded


def build_data_url(attachment: Attachment, encoded: str) -> str:
    """The attachment as an address that holds it all."""
    return f"data:{attachment.media_type};base64,{encoded}"


def _leave_out(messages: Iterable[Message], left_out: dict[str, str]) -> Iterator[Message]:
    """The messages without these attachments. A PDF that several show is sent with the first of them: its pages
    count each time, and a request may have only so many."""
    before: set[str] = set()
    for message in messages:
        if isinstance(message, UserMessage):
            repeated = dict.fromkeys((d.sha256 for d in message.documents if d.sha256 in before), _REPEATED)
            before.update(document.sha256 for document in message.documents)
            yield message.without({**repeated, **left_out})
        else:
            yield message


def _find_images_of_person(messages: Iterable[Message]) -> frozenset[str]:
    """The hashes of the attachments of these messages that no tool has read."""
    said = (message for message in messages if isinstance(message, UserMessage) and not message.of_call)
    return frozenset(each.sha256 for each in list_attachments(said))


def _exclude(attachments: Iterable[Attachment], left_out: dict[str, str]) -> tuple[Attachment, ...]:
    return tuple(each for each in attachments if each.sha256 not in left_out)


def _join_labels(attachments: Iterable[Attachment]) -> str:
    return ", ".join(each.label for each in attachments)


def _name_kind(attachment: Attachment) -> str:
    return "images" if isinstance(attachment, Image) else "documents"


def _explain_refusal(error: ProviderError, attachments: list[Attachment], model: str) -> ProviderError:
    them = "it" if len(attachments) == 1 else "them"
    text = f"{error}. {model} may not take {_join_labels(attachments)}: {_REMEDY.format(them=them)}"
    return ProviderError(text, kind=error.kind, status=error.status, request_id=error.request_id)

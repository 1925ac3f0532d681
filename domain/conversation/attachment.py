"""What a message shows a model beside its text, and how much of it a provider takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, assert_never

from msgspec import Struct

from quorum.domain.conversation.document import PDF_REMEDY, Document, DocumentLimits
from quorum.domain.conversation.image import Image, ImageLimits
from quorum.domain.text.amounts import format_megabytes

Attachment: TypeAlias = Image | Document


class AttachmentLimits(Struct, frozen=True, kw_only=True):
    """What a provider takes in one request; None for a kind that it does not take at all.

    The bytes of all that is attached together are those that images may have.
    """

    images: ImageLimits | None
    documents: DocumentLimits | None = None

    def describe_excess(self, attachment: Attachment) -> str:
        """In what one attachment is too much, with the limit; empty where it is not."""
        match attachment:
            case Image():
                return (
                    self.images.describe_excess(attachment)
                    if self.images
                    else "no images are taken over this API"
                )
            case Document():
                return self._describe_excess_of_document(attachment)
            case _:
                assert_never(attachment)

    def find_surplus(self, newest_first: Iterable[Attachment]) -> frozenset[str]:
        """The hashes of those that no longer fit into one request with those before them."""
        shown = tuple(newest_first)
        images = tuple(each for each in shown if isinstance(each, Image))
        beyond = set(self.images.find_surplus(images)) if self.images else set()
        pages, total = 0, 0
        for each in (each for each in shown if each.sha256 not in beyond):
            pages += each.pages if isinstance(each, Document) else 0
            total += each.size_bytes
            most_pages = self.documents.pages if self.documents else None
            too_many = isinstance(each, Document) and most_pages is not None and pages > most_pages
            if too_many or (self.images is not None and total > self.images.total_bytes):
                beyond.add(each.sha256)
                pages -= each.pages if isinstance(each, Document) else 0
                total -= each.size_bytes
        return frozenset(beyond - {each.sha256 for each in shown[:1]})

    def _describe_excess_of_document(self, document: Document) -> str:
        if (limits := self.documents) is None:
            return "no PDF is taken over this API"
        if document.size_bytes > limits.document_bytes:
            most = format_megabytes(limits.document_bytes)
            return f"it has {format_megabytes(document.size_bytes)}, and at most {most} are taken"
        if limits.pages is not None and document.pages > limits.pages:
            return f"it has {document.pages} pages, and at most {limits.pages} are taken"
        return ""


def render_placeholder(attachment: Attachment, why: str) -> str:
    """What stands in a text in the place of an attachment that is not shown, with what to do instead."""
    remedy = f"; {PDF_REMEDY}" if isinstance(attachment, Document) else ""
    return f"{attachment.label[:-1]}: {why}{remedy}]"

"""A PDF beside a message: its label, what it weighs, what providers take, and old records without any."""

import pytest

from quorum.domain.conversation.attachment import AttachmentLimits, Document, DocumentLimits, Image, ImageLimits
from quorum.domain.conversation.compaction import remove_attachments
from quorum.domain.conversation.context_account import ContextKind, split_into_pieces
from quorum.domain.conversation.context_size import estimate_bytes
from quorum.domain.conversation.history import Conversation, UserMessage
from quorum.domain.events.event import MessageAdded, event_from_json
from quorum.domain.sessions.replay import Replay


def paper(pages=12, *, name="report.pdf", size=1000, sha256="a" * 64):
    return Document(name=name, pages=pages, size_bytes=size, sha256=sha256)


SHOT = Image(name="a.png", media_type="image/png", width=8, height=8, size_bytes=5_000, sha256="b" * 64)
IMAGES = ImageLimits(image_bytes=5_000, total_bytes=9_000, images=3)
LIMITS = AttachmentLimits(images=IMAGES, documents=DocumentLimits(document_bytes=8_000, pages=20))


@pytest.mark.parametrize(
    ("document", "label"),
    [
        (paper(), "[PDF report.pdf 12 pages]"),
        (paper(1), "[PDF report.pdf 1 page]"),
        (paper(0, size=240_000), "[PDF report.pdf 240 kB]"),
    ],
)
def test_the_label_names_file_and_pages_or_where_they_are_not_known_its_size(document, label):
    assert document.label == label


@pytest.mark.parametrize(("document", "tokens"), [(paper(2), 6_000), (paper(0, size=120_000), 9_000)])
def test_it_weighs_by_its_pages_and_not_by_its_bytes(document, tokens):
    shown, plain = UserMessage("see", documents=(document,)), UserMessage("see")

    assert estimate_bytes([shown]) - estimate_bytes([plain]) == 4 * tokens
    (piece,) = [each for each in split_into_pieces([shown]) if each.kind is ContextKind.DOCUMENTS]
    assert (piece.label, piece.size) == (document.label, 4 * tokens)


@pytest.mark.parametrize(
    ("document", "excess"),
    [
        (paper(20, size=8_000), ""),
        (paper(21), "it has 21 pages, and at most 20 are taken"),
        (paper(size=12_000_000), "it has 12.0 MB, and at most 0.0 MB are taken"),
    ],
)
def test_what_is_too_much_is_named_with_the_limit(document, excess):
    assert LIMITS.describe_excess(document) == excess


def test_where_no_documents_are_taken_each_is_too_much():
    assert AttachmentLimits(images=IMAGES).describe_excess(paper()) == "no PDF is taken over this API"


def test_of_too_many_pages_those_of_the_newest_are_sent():
    old, older = paper(9, sha256="c" * 64), paper(1, sha256="d" * 64)

    assert LIMITS.find_surplus((paper(12), old, older)) == {old.sha256}


def test_images_and_documents_share_the_bytes_of_a_request():
    large = paper(size=5_000)

    assert LIMITS.find_surplus((large, SHOT)) == {SHOT.sha256}
    assert LIMITS.find_surplus((SHOT, large)) == {large.sha256}


def test_the_newest_is_always_sent_as_its_excess_is_another_question():
    assert LIMITS.find_surplus((paper(300),)) == frozenset()


def test_without_it_a_line_says_why_and_how_else_it_can_be_read():
    shown = UserMessage("read [PDF report.pdf 12 pages] now", documents=(paper(),))

    left = shown.without({"a" * 64: "left out"})

    assert left.documents == ()
    assert left.text.startswith(
        "read [PDF report.pdf 12 pages: left out; run_command with `pdftotext -layout FILE -`"
    )
    assert left.text.endswith("] now")
    assert remove_attachments(shown).documents == ()


def test_it_is_on_record_with_its_message_and_comes_back():
    said = UserMessage("[PDF report.pdf 12 pages]", documents=(paper(),), of_call="call-1")

    assert event_from_json(MessageAdded(message=said).to_json()) == MessageAdded(message=said)


def test_messages_of_an_older_version_have_no_documents():
    value = MessageAdded(message=UserMessage("hello")).to_json()
    message = dict(value["message"])
    del message["documents"]

    assert event_from_json({**value, "message": message}) == MessageAdded(message=UserMessage("hello"))


def test_a_replayed_conversation_shows_it_again():
    said = UserMessage("see [PDF report.pdf 12 pages]", documents=(paper(),))
    replay = Replay()
    replay.apply(MessageAdded(message=said), 0)

    assert Conversation(replay.state.messages).messages == (said,)

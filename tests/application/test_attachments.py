import pytest

from quorum.application.turn.attachments import Attachments
from quorum.domain.conversation.history import UserMessage
from quorum.domain.errors import AttachmentError
from quorum.domain.events.event import MessageAdded
from quorum.domain.replacing import replace
from tests.support.fake_contents import FakeContents
from tests.support.papers import a_document, pdf
from tests.support.pictures import an_image, png


class Files:
    """Holds images by path; the clipboard holds the one called so."""

    def __init__(self, **contents):
        self.contents = {name.replace("_", "."): content for name, content in contents.items()}

    async def read(self, path):
        if path not in self.contents:
            raise AttachmentError(f"{path} cannot be read")
        known = a_document if path.endswith(".pdf") else an_image
        return known(self.contents[path], path), self.contents[path]

    async def read_clipboard(self):
        return await self.read("clipboard.png")


def attachments(files, contents=None, **more):
    return Attachments(files, contents or FakeContents(), hide=lambda text: text, **more)


async def test_an_attached_image_is_stored_and_then_said_where_its_label_stands():
    contents = FakeContents()
    known = attachments(Files(a_png=png(1, 1), b_png=png(2, 2)), contents)
    first, second = await known.attach("a.png"), await known.attach("b.png")

    assert set(contents.contents) == {first.sha256, second.sha256}
    assert known.build_message(f"first {second.label}, then {first.label}").images == (second, first)


async def test_a_label_that_was_deleted_shows_nothing():
    known = attachments(Files(a_png=png()))
    image = await known.attach("a.png")

    assert known.build_message(f"see {image.label[:-1]}") == UserMessage(f"see {image.label[:-1]}")
    assert known.build_message("see") == UserMessage("see")


async def test_a_label_that_nobody_attached_is_a_text():
    assert attachments(Files()).build_message("see [image a.png 1×1]").images == ()


async def test_of_a_prompt_that_another_process_kept_an_image_that_is_not_known_is_reported_as_lost():
    known = attachments(Files(shot_png=png()))
    image = await known.attach("shot.png")
    said = known.rebuild_message(f"compare {image.label} with [image other.png 9×9]")
    lost = "[image other.png 9×9: quorum ended before it was shown; it has to be attached again]"
    assert said == UserMessage(f"compare {image.label} with {lost}", (image,))


async def test_another_image_of_the_same_name_is_distinguished_and_the_same_image_is_not_doubled():
    files = Files(a_png=png(shade=1))
    known = attachments(files)
    first, again = await known.attach("a.png"), await known.attach("a.png")
    files.contents["a.png"] = png(shade=2)
    other = await known.attach("a.png")

    assert first == again
    assert other.label == "[image a.png #2 4×3]"
    assert known.build_message(f"{first.label} {other.label}").images == (first, other)


async def test_what_cannot_be_stored_is_not_attached():
    contents = FakeContents()
    contents.full = True
    known = attachments(Files(a_png=png()), contents)

    with pytest.raises(AttachmentError, match=r"a\.png cannot be attached: the disk is full"):
        await known.attach("a.png")

    assert known.build_message("[image a.png 4×3]").images == ()


async def test_the_images_of_a_session_taken_up_again_can_be_said_again():
    image = an_image(png(), "old.png")
    known = attachments(Files(), past=[MessageAdded(message=UserMessage(image.label, (image,)))])

    assert known.build_message(f"once more {image.label}").images == (image,)


async def test_what_another_process_attached_to_a_draft_is_said_like_its_own():
    known, image = attachments(Files()), an_image(png(), "shot.png")

    known.take_over(image)

    assert known.build_message(f"see {image.label}").images == (image,)


async def test_a_secret_in_a_name_is_hidden_before_the_name_is_shown():
    known = Attachments(
        Files(hunter2_png=png()), FakeContents(), hide=lambda text: text.replace("hunter2", "[secret:X]")
    )

    assert (await known.attach("hunter2.png")).label == "[image [secret:X].png 4×3]"


async def test_the_image_of_the_clipboard_is_attached_like_a_file():
    known = attachments(Files(**{"clipboard_png": png()}))

    assert await known.paste() == replace(an_image(png()), name="clipboard.png")


async def test_an_attached_pdf_is_said_beside_the_images_where_its_label_stands():
    known = attachments(Files(a_pdf=pdf(2), b_png=png()))
    paper, image = await known.attach("a.pdf"), await known.attach("b.png")

    said = known.build_message(f"compare {paper.label} with {image.label}")

    assert (said.images, said.documents) == ((image,), (paper,))


async def test_a_pdf_of_a_session_before_is_known_again_and_one_that_is_not_is_reported_as_lost():
    paper = a_document(pdf(2), "a.pdf")
    past = [MessageAdded(message=UserMessage("see", documents=(paper,)))]
    known = attachments(Files(), past=past)

    said = known.rebuild_message("[PDF a.pdf 2 pages] and [PDF b.pdf 12 pages] and [PDF c.pdf 1.2 MB]")

    lost = "quorum ended before it was shown; it has to be attached again"
    assert said.documents == (paper,)
    assert said.text == f"[PDF a.pdf 2 pages] and [PDF b.pdf 12 pages: {lost}] and [PDF c.pdf 1.2 MB: {lost}]"

import pytest

from quorum.domain.conversation.attachment import Image, ImageLimits
from quorum.domain.conversation.context_size import estimate_bytes
from quorum.domain.conversation.history import Conversation, UserMessage
from quorum.domain.events.event import MessageAdded, event_from_json
from quorum.domain.sessions.replay import Replay


def image(width=1280, height=720, *, name="shot.png", size=1000, sha256="a" * 64):
    return Image(name=name, media_type="image/png", width=width, height=height, size_bytes=size, sha256=sha256)


LIMITS = ImageLimits(image_bytes=5_000, total_bytes=9_000, images=3, side=100, crowd=2, crowd_side=50)


def test_the_label_names_file_and_size():
    assert image().label == "[image shot.png 1280×720]"


@pytest.mark.parametrize(
    ("size", "tokens"),
    [
        ((200, 200), 255),  # one tile, and its fee
        ((1092, 1092), 1534),  # the area, bounded at 1.15 megapixels
        ((1024, 1024), 1399),
        ((2048, 4096), 1534),
        ((1, 100_000), 765),
    ],
)
def test_tokens_are_those_of_the_vendors_who_counts_more(size, tokens):
    assert image(*size).tokens == tokens


def test_an_image_weighs_in_the_context_by_its_tokens_and_not_by_its_bytes():
    shown, plain = UserMessage("see", (image(size=4_000_000),)), UserMessage("see")

    assert estimate_bytes([shown]) - estimate_bytes([plain]) == 4 * image().tokens


def test_one_that_is_too_large_or_too_long_is_reported_with_the_limit():
    assert LIMITS.describe_excess(image(50, 50, size=5_000)) == ""
    assert LIMITS.describe_excess(image(50, 50, size=6_000)) == "it has 0.0 MB, and at most 0.0 MB are taken"
    assert LIMITS.describe_excess(image(50, 101, size=1)) == "it is 101 pixels long, and at most 100 are taken"


def test_of_more_than_fit_into_a_request_the_newest_are_kept():
    four = tuple(image(10, 10, sha256=str(n), size=1) for n in range(4))
    heavy = tuple(image(10, 10, sha256=str(n), size=4_000) for n in range(3))
    crowd = tuple(image(60, 10, sha256=str(n), size=1) for n in range(3))

    assert LIMITS.find_surplus(four) == {"3"}
    assert LIMITS.find_surplus(heavy) == {"2"}
    assert LIMITS.find_surplus(crowd) == {"1", "2"}
    assert LIMITS.find_surplus(crowd[:2]) == frozenset()


def test_a_message_without_its_image_says_why_where_its_label_stood():
    message = UserMessage("see [image shot.png 1280×720]!", (image(), image(name="b.png", sha256="b" * 64)))

    left = message.without({"a" * 64: "gone"})

    assert left.text == "see [image shot.png 1280×720: gone]!"
    assert [each.name for each in left.images] == ["b.png"]


def test_an_image_that_the_text_does_not_name_is_named_below_it():
    left = UserMessage("see", (image(),)).without({"a" * 64: "gone"})

    assert left == UserMessage("see\n[image shot.png 1280×720: gone]")


def test_a_message_that_loses_nothing_is_the_same():
    message = UserMessage("see", (image(),))

    assert message.without({"b" * 64: "gone"}) is message


def test_the_record_holds_what_is_known_of_an_image_and_not_its_content():
    event = MessageAdded(message=UserMessage("see", (image(),)))

    reply = event.to_json()

    assert reply["message"]["images"] == [
        {
            "name": "shot.png",
            "media_type": "image/png",
            "width": 1280,
            "height": 720,
            "size_bytes": 1000,
            "sha256": "a" * 64,
        }
    ]
    assert event_from_json(reply) == event


def test_a_record_of_before_there_were_images_is_read():
    old = {"type": "message_added", "v": 1, "message": {"type": "user", "text": "hi"}}

    assert event_from_json(old) == MessageAdded(message=UserMessage("hi"))


def test_a_replayed_conversation_has_its_images():
    replay = Replay()
    replay.apply(MessageAdded(message=UserMessage("see", (image(),))), 0)

    assert replay.state.messages == (UserMessage("see", (image(),)),)


def test_a_conversation_takes_a_text_as_a_message_without_images():
    conversation = Conversation()
    conversation.add_user("hi")

    assert conversation.messages == (UserMessage("hi"),)

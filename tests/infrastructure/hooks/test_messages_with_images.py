from quorum.application.calls.hooks import apply_message_edits, messages_to_json
from quorum.domain.conversation.history import UserMessage
from tests.support.pictures import an_image, png

SHOWN = UserMessage("see", (an_image(png()),))


def test_a_hook_reads_the_names_of_images_and_not_what_they_hold():
    assert messages_to_json([SHOWN, UserMessage("hi")]) == [
        {"index": 0, "role": "user", "text": "see", "images": ["shot.png"]},
        {"index": 1, "role": "user", "text": "hi"},
    ]


def test_a_message_whose_text_a_hook_changes_keeps_its_images():
    assert apply_message_edits([{"index": 0, "text": "look"}], [SHOWN]) == [UserMessage("look", SHOWN.images)]

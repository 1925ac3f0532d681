"""Images where a window fills: they give way to lines that name them, oldest first."""

from quorum.domain.conversation.compaction import select_attachments_to_hide
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import LlmResponse
from tests.application.test_context_manager import MODEL, Rig, says
from tests.support.pictures import an_image, png

SHOTS = [an_image(png(1000, 1000, shade=n), f"{n}.png") for n in range(4)]
NAMED = "[image {}.png 1000×1000: no longer shown, to make room]"


def showing(number: int) -> UserMessage:
    return UserMessage(f"see {SHOTS[number].label}", (SHOTS[number],))


def talk_of_images(rig: Rig) -> None:
    for number in range(4):
        rig.conversation.add_user(showing(number))
        rig.conversation.add_response(LlmResponse.from_text(f"answer {number}"))


async def test_older_images_give_way_to_their_names_and_the_newest_stays():
    rig = Rig(window=5_000)
    talk_of_images(rig)

    await rig.care.compact_if_full(MODEL, UserMessage("next"))

    said = [message for message in rig.messages if isinstance(message, UserMessage)]
    assert [message.text for message in said[:3]] == [f"see {NAMED.format(n)}" for n in range(3)]
    assert said[3] == showing(3)
    assert rig.asked == []
    (event,) = rig.compactions()
    assert event.tokens_after < event.tokens_before - 3_000


async def test_as_long_as_there_is_room_all_images_stay():
    rig = Rig(window=50_000)
    talk_of_images(rig)
    before = rig.messages

    await rig.care.compact_if_full(MODEL, UserMessage("next"))

    assert rig.messages == before


async def test_a_summarised_past_names_the_images_it_had():
    rig = Rig([says("They looked at pictures.")], window=3_000)
    talk_of_images(rig)
    rig.talk(4)

    await rig.care.compact(MODEL)

    kept = "\n".join(message.text for message in rig.messages if isinstance(message, UserMessage))
    assert NAMED.format(3) in kept
    assert all(not message.images for message in rig.messages if isinstance(message, UserMessage))


def test_an_image_that_the_model_has_yet_to_answer_never_gives_way():
    rig = Rig()
    talk_of_images(rig)
    rig.conversation.add_user(showing(0))

    assert select_attachments_to_hide(rig.messages, spared=0) == (0, 2, 4, 6)
    assert select_attachments_to_hide(rig.messages, spared=1) == (0, 2, 4, 6)

"""`read_file` on an image, in a real session: what the model sees, what is kept, and what cannot be shown."""

import struct
import zlib
from pathlib import Path

import pytest

from quorum.application.calls.hook_chain import HookRegistration
from quorum.application.calls.hooks import ResultDraft
from quorum.domain.calls.hook_points import HookPoint
from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.history import Message, ToolResults, UserMessage
from quorum.domain.errors import LedgerError
from quorum.domain.review.questions import Reject
from quorum.infrastructure.container import Container
from tests.support.builders import a_call
from tests.support.fake_ports import FakePerson
from tests.support.pictures import png
from tests.support.real_session import SessionStage
from tests.support.session_parts import put


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    return SessionStage(tmp_path)


def look(path: str, id_: str = "call-0") -> ToolCall:
    return a_call("read_file", {"path": path}, id_=id_)


def outputs(messages: tuple[Message, ...]) -> list[str]:
    return [result.output for m in messages if isinstance(m, ToolResults) for result in m.results]


def brought(messages: tuple[Message, ...]) -> list[UserMessage]:
    return [m for m in messages if isinstance(m, UserMessage) and m.of_call]


async def output_of(stage: SessionStage, path: str) -> str:
    """What the result says where nothing can be shown."""
    async with stage.opened() as session:
        await session.turn(look(path))
        assert brought(session.state.messages) == []
        (output,) = outputs(session.state.messages)
        return output


@pytest.mark.long
async def test_an_image_is_shown_with_the_result_and_its_content_is_kept_beside_the_events(
    stage: SessionStage,
) -> None:
    content = png(40, 30)
    (stage.root / "shot.png").write_bytes(content)

    async with stage.opened() as session:
        await session.turn(look("shot.png"))
        messages = session.state.messages
        (image,) = brought(messages)[0].images
        stored = await session.container.inputs().record.contents.get(image.sha256)
        sent = session.requests[1].messages

    assert outputs(messages) == [f"[image shot.png 40×30] of {len(content)} bytes is shown with this result"]
    assert brought(messages)[0].text == "[image shot.png 40×30]"
    assert stored == content
    assert sent == messages[: len(sent)]
    async with stage.opened() as again:
        assert again.state.messages == messages
        assert again.state.mended == ()


async def test_what_a_file_holds_counts_and_not_what_it_is_called(stage: SessionStage) -> None:
    (stage.root / "photo.txt").write_bytes(png(8, 8))
    (stage.root / "text.png").write_text("no image\n")
    (stage.root / "drawing.svg").write_text("<svg/>\n")

    async with stage.opened() as session:
        await session.turn([look("photo.txt", "a"), look("text.png", "b"), look("drawing.svg", "c")])
        first, *others = outputs(session.state.messages)

    assert first.startswith("[image photo.txt 8×8]")
    assert others == ["1\tno image", "1\t<svg/>"]


async def test_two_images_of_one_name_are_distinguished(stage: SessionStage) -> None:
    for number, folder in enumerate("ab"):
        (stage.root / folder).mkdir()
        (stage.root / folder / "shot.png").write_bytes(png(4, 3, shade=number))

    async with stage.opened() as session:
        await session.turn([look("a/shot.png", "a"), look("b/shot.png", "b")])
        said = outputs(session.state.messages)
        shown = {message.of_call: message.text for message in brought(session.state.messages)}

    assert sorted(shown.values()) == ["[image shot.png #2 4×3]", "[image shot.png 4×3]"]
    assert [shown["a"] in said[0], shown["b"] in said[1]] == [True, True]


async def test_taken_back_a_turn_takes_its_images_with_it(stage: SessionStage) -> None:
    (stage.root / "shot.png").write_bytes(png())

    async with stage.opened() as session:
        await session.turn(look("shot.png"))
        await session.undo()
        assert session.state.messages == ()
        await session.turn(prompt="something else")

        assert brought(session.state.messages) == []


@pytest.mark.long
async def test_an_enormous_image_is_named_and_not_read(stage: SessionStage) -> None:
    with (stage.root / "huge.png").open("wb") as huge:
        huge.write(png(8, 8))
        huge.truncate(1_000_000_000)

    output = await output_of(stage, "huge.png")

    kind = "binary file, 1000000000 bytes, looks like PNG"
    assert output == f"huge.png: {kind}; not shown, as an image has at most 20.0 MB"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (png(8, 8)[:20], "it ends in the middle of its header"),
        (png(8, 8)[:16] + b"\0\0\0\0" + png(8, 8)[20:], "its header is damaged"),
        (b"\xff\xd8\xff\xe0" + b"\0" * 50, "its header is damaged"),
        (b"RIFF\0\0\0\0WEBPVP8X\0", "it ends in the middle of its header"),
        (b"GIF89a\0\0\0\0\0\0", "its header is damaged: it names 0×0 pixels"),
    ],
)
async def test_a_damaged_image_is_named_with_what_is_wrong(
    stage: SessionStage, content: bytes, reason: str
) -> None:
    (stage.root / "x.png").write_bytes(content)

    output = await output_of(stage, "x.png")

    assert output.startswith("x.png: binary file")
    assert output.endswith(f"not shown: x.png cannot be shown to a model: {reason}")


async def test_an_image_that_would_unpack_to_gigabytes_is_never_unpacked(stage: SessionStage) -> None:
    header = b"IHDR" + struct.pack(">IIBBBBB", 1 << 20, 1 << 20, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))
    (stage.root / "bomb.png").write_bytes(bomb + b"\0" * 64)

    async with stage.opened() as session:
        await session.turn(look("bomb.png"))
        (output,) = outputs(session.state.messages)

    assert output.startswith("[image bomb.png 1048576×1048576]")


async def test_a_sensitive_image_is_asked_about_like_any_sensitive_file(stage: SessionStage) -> None:
    (stage.root / "id_rsa").write_bytes(png())
    person = FakePerson(lambda _request: Reject())

    async with stage.opened(person=person) as session:
        await session.turn(look("id_rsa"))
        assert brought(session.state.messages) == []

    assert len(person.requests) == 1


async def test_where_the_content_cannot_be_kept_nothing_is_shown_and_the_result_says_why(
    stage: SessionStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    (stage.root / "x.png").write_bytes(png())
    async with stage.opened() as session:

        async def full(_contents: object) -> None:
            raise LedgerError("the disk is full")

        monkeypatch.setattr(session.container.inputs().record.contents, "put", full)
        await session.turn(look("x.png"))
        (output,) = outputs(session.state.messages)

    assert output.endswith("not shown: x.png cannot be attached: the disk is full")


class Withholding:
    """A hook that puts another output in the place of each result."""

    async def after_tool_call(self, draft: ResultDraft) -> None:
        draft.output = "withheld"


async def test_a_hook_that_withholds_the_result_withholds_the_image_with_it(stage: SessionStage) -> None:
    (stage.root / "x.png").write_bytes(png())
    hook = HookRegistration(
        name="withhold",
        hook=Withholding(),  # type: ignore[arg-type]
        points=frozenset({HookPoint.AFTER_TOOL_CALL}),
    )

    def adjust(container: Container) -> None:
        put(container.parts().shared, registrations=[hook])

    async with stage.opened(adjust=adjust) as session:
        await session.turn(look("x.png"))
        await session.turn(prompt="and now?")

        assert outputs(session.state.messages) == ["withheld"]
        assert brought(session.state.messages) == []

"""`read_file` on a PDF, in a real session: what the model sees, what is kept, and what cannot be shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.infrastructure.container import Container
from tests.infrastructure.tools.test_read_images import Withholding, brought, look, outputs
from tests.support.papers import pdf
from tests.support.real_session import SessionStage
from tests.support.session_parts import put

REMEDY = "run_command with `pdftotext -layout FILE -` prints its text, where poppler-utils is installed"


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    return SessionStage(tmp_path)


async def output_of(stage: SessionStage, path: str) -> str:
    """What the result says where nothing can be shown."""
    async with stage.opened() as session:
        await session.turn(look(path))
        assert brought(session.state.messages) == []
        (output,) = outputs(session.state.messages)
        return output


async def test_a_pdf_is_shown_with_the_result_and_its_content_is_kept_beside_the_events(
    stage: SessionStage,
) -> None:
    content = pdf(12)
    (stage.root / "report.pdf").write_bytes(content)

    async with stage.opened() as session:
        await session.turn(look("report.pdf"))
        messages = session.state.messages
        (paper,) = brought(messages)[0].documents
        stored = await session.container.inputs().record.contents.get(paper.sha256)
        sent = session.requests[1].messages

    assert outputs(messages) == [f"[PDF report.pdf 12 pages] of {len(content)} bytes is shown with this result"]
    assert stored == content
    assert sent == messages[: len(sent)]
    async with stage.opened() as again:
        assert again.state.messages == messages
        assert again.state.mended == ()
        kept = again.container.parts().calls.attachments.build_message("and [PDF report.pdf 12 pages]?")
    assert kept.documents == (paper,)


async def test_taken_back_a_turn_takes_its_pdf_with_it(stage: SessionStage) -> None:
    (stage.root / "report.pdf").write_bytes(pdf())

    async with stage.opened() as session:
        await session.turn(look("report.pdf"))
        await session.undo()
        await session.turn(prompt="something else")

        assert brought(session.state.messages) == []


async def test_what_has_no_room_in_the_window_is_named_with_the_pages_that_can_be_printed(
    stage: SessionStage,
) -> None:
    (stage.root / "book.pdf").write_bytes(pdf(900))

    output = await output_of(stage, "book.pdf")

    assert "book.pdf: binary file" in output
    assert "book.pdf takes about 2,700,000 tokens, and the context window has room for" in output
    assert "`pdftotext` with -f and -l prints some of its pages" in output


async def test_an_encrypted_pdf_is_named_with_the_reason_and_another_way(stage: SessionStage) -> None:
    (stage.root / "a.pdf").write_bytes(pdf(trailer="/Encrypt 5 0 R"))

    output = await output_of(stage, "a.pdf")

    assert "not shown: a.pdf cannot be shown to a model: it is encrypted" in output
    assert output.endswith(REMEDY)


@pytest.mark.long
async def test_an_enormous_pdf_is_named_and_not_read(stage: SessionStage) -> None:
    with (stage.root / "huge.pdf").open("wb") as huge:
        huge.write(pdf())
        huge.truncate(60_000_000)

    output = await output_of(stage, "huge.pdf")

    kind = "binary file, 60000000 bytes, looks like PDF"
    assert output == f"huge.pdf: {kind}; not shown, as a PDF has at most 50.0 MB; {REMEDY}"


async def test_a_hook_that_withholds_the_result_withholds_the_pdf_with_it(stage: SessionStage) -> None:
    from quorum.application.calls.hook_chain import HookRegistration
    from quorum.domain.calls.hook_points import HookPoint

    (stage.root / "a.pdf").write_bytes(pdf())
    hook = HookRegistration(
        name="withhold",
        hook=Withholding(),  # type: ignore[arg-type]
        points=frozenset({HookPoint.AFTER_TOOL_CALL}),
    )

    def adjust(container: Container) -> None:
        put(container.parts().shared, registrations=[hook])

    async with stage.opened(adjust=adjust) as session:
        await session.turn(look("a.pdf"))

        assert outputs(session.state.messages) == ["withheld"]
        assert brought(session.state.messages) == []

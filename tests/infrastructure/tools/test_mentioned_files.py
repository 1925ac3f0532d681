"""Files that a prompt mentions, in a real session: what the model reads, what not, and what is recorded."""

import json
import os
import re
from pathlib import Path

import pytest

from quorum.application.calls.hook_chain import HookMatcher, HookRegistration
from quorum.domain.calls.hook_points import HookPoint, OnHookError
from quorum.domain.conversation.attachment import AttachedFile
from quorum.domain.conversation.history import UserMessage
from quorum.domain.events.event import MessageAdded
from quorum.domain.replacing import replace
from quorum.infrastructure.tools import mentioned_files
from tests.support.builders import a_call
from tests.support.pictures import png
from tests.support.real_session import RealSession, SessionStage
from tests.support.session_parts import put


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    return SessionStage(tmp_path, has_seen_all=False)


async def said_in(stage: SessionStage, prompt: str) -> UserMessage:
    """The message that the model is sent for this prompt."""
    async with stage.opened() as session:
        await session.turn(prompt=prompt)
        return prompts(session)[-1]


def prompts(session: RealSession) -> list[UserMessage]:
    return [m for m in session.state.messages if isinstance(m, UserMessage)]


async def file_in(stage: SessionStage, prompt: str) -> AttachedFile:
    (file,) = (await said_in(stage, prompt)).files
    return file


async def test_a_mentioned_file_is_sent_with_the_prompt_and_is_on_record(
    stage: SessionStage,
) -> None:
    (stage.root / "a.py").write_text("one\ntwo\n")

    async with stage.opened() as session:
        await session.turn(prompt="look at @a.py, please")
        (message,) = prompts(session)
        sent = session.requests[0].messages[-1]

    assert sent == message
    assert message.text == "look at @a.py, please"
    assert message.sent_text == (
        "look at @a.py, please\n\n[attached: a.py, 2 lines, 8 bytes]\n1\tone\n2\ttwo\n[end of a.py]"
    )
    assert message.files[0].label == "a.py · 2 lines · 8 bytes"
    async with stage.opened() as again:
        assert prompts(again) == [message]


@pytest.mark.parametrize("lines", [":2-3", "#L2-L3"])
async def test_of_a_file_with_lines_only_those_are_attached(stage: SessionStage, lines: str) -> None:
    (stage.root / "a.py").write_text("one\ntwo\nthree\nfour\n")

    file = await file_in(stage, f"see @a.py{lines}.")

    assert file.content == "2\ttwo\n3\tthree"
    assert (file.label, file.note) == ("a.py · lines 2-3 of 4 · 19 bytes", "")


async def test_a_file_that_is_called_like_a_range_is_the_one_that_is_meant(stage: SessionStage) -> None:
    (stage.root / "a.py").write_text("one\n")
    (stage.root / "a.py:1").write_text("the other\n")

    assert (await file_in(stage, "see @a.py:1")).content == "1\tthe other"


@pytest.mark.parametrize(
    ("lines", "note"),
    [
        (":9-12", "it has 2 lines, and line 9 is past its end"),
        (":2-1", "the lines 2-1 end before they begin"),
    ],
)
async def test_lines_that_are_not_there_are_reported(stage: SessionStage, lines: str, note: str) -> None:
    (stage.root / "a.py").write_text("one\ntwo\n")

    file = await file_in(stage, f"@a.py{lines}")

    assert (file.is_attached, file.note) == (False, note)
    assert file.sent == f"[a.py is not attached: {note}]"


async def test_of_a_long_file_the_rest_is_named_with_the_way_to_it(stage: SessionStage) -> None:
    (stage.root / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 3001)))

    file = await file_in(stage, "@long.txt")

    assert (file.first_line, file.last_line, file.total_lines) == (1, 2000, 3000)
    assert file.note == "lines 2001-3000 are left out; read_file with offset=2001 shows them"
    assert file.sent.endswith(f"\n2000\tline 2000\n[{file.note}]\n[end of long.txt]")


async def test_many_long_files_share_what_a_prompt_has_room_for(stage: SessionStage) -> None:
    for number in range(6):
        (stage.root / f"{number}.txt").write_text("x" * 70 + "\n" * 1 + ("y" * 75 + "\n") * 1500)

    files = (await said_in(stage, " ".join(f"@{number}.txt" for number in range(6)))).files

    assert sum(len(file.content.encode()) for file in files) <= 200_000
    assert [file.is_attached for file in files] == [True, True, True, True, False, False]
    assert files[-1].note == "the context window has no room left for it; read_file shows pages of it"


async def test_in_a_small_window_less_is_attached(tmp_path: Path) -> None:
    stage = SessionStage(
        tmp_path, has_seen_all=False, more_settings="[context_budget]\nwindow_tokens = 24000\n"
    )
    (stage.root / "long.txt").write_text(("y" * 75 + "\n") * 1500)

    assert len((await file_in(stage, "@long.txt")).content) < 40_000


async def test_a_line_that_does_not_fit_is_not_attached_and_its_file_does_not_count_as_seen(
    tmp_path: Path,
) -> None:
    stage = SessionStage(tmp_path, has_seen_all=False, more_settings="[context_budget]\nwindow_tokens = 4000\n")
    (stage.root / "wide.txt").write_text("é" * 1990 + "\n")
    (stage.root / "small.txt").write_text("one\n")

    async with stage.opened() as session:
        await session.turn(prompt="@wide.txt and @small.txt")
        wide, small = prompts(session)[-1].files
        seen = session.container.parts().calls.seen

    assert (wide.is_attached, small.content) == (False, "1\tone")
    assert "has no room left" in wide.note
    assert seen.find_knowledge(str(stage.root / "wide.txt")) is None
    assert seen.find_knowledge(str(stage.root / "small.txt")) is not None


async def test_a_model_without_a_window_gets_whole_files(tmp_path: Path) -> None:
    stage = SessionStage(tmp_path)
    (stage.root / "a.txt").write_text("one\n")

    async with stage.opened() as session:
        gauge = session.container.parts().conversation.gauge
        gauge._known_window = lambda _model: 0
        await session.turn(prompt="@a.txt")

        assert prompts(session)[-1].files[0].is_attached


@pytest.mark.long
async def test_a_folder_is_attached_as_a_bounded_listing(stage: SessionStage) -> None:
    folder = stage.root / "src"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.py").write_text("12345")
    first = await file_in(stage, "what is in @src/ now?")
    for number in range(300):
        (folder / f"{number:03}.txt").touch()
    second = await file_in(stage, "and @src now?")

    assert first.content == "  inner/\n  a.py  5"
    assert first.label == "src/ · 2 entries"
    assert second.content.count("\n") == 199
    assert second.note == "102 more entries are left out; list_directory or glob_search shows them"


async def test_what_is_no_file_stays_a_word(stage: SessionStage) -> None:
    prompt = "add @dataclass and ask @someone at me@example.org about @new/file.py and @/no/such/place"
    assert (await said_in(stage, prompt)).files == ()


async def test_a_sensitive_file_is_not_attached_and_the_model_may_ask_for_it(stage: SessionStage) -> None:
    (stage.root / ".env").write_text("TOKEN=hunter2-hunter2\n")

    file = await file_in(stage, "use @.env")

    assert not file.is_attached
    assert file.note == f"{stage.root}/.env is a sensitive file; read_file asks you first"


@pytest.mark.parametrize(
    ("answer", "note"),
    [("deny", r"denied: the rule read_file\(docs/\*\*\) denies it"), ("ask", r"read_file asks you first")],
)
async def test_a_rule_about_reading_holds_for_mentions(tmp_path: Path, answer: str, note: str) -> None:
    stage = SessionStage(
        tmp_path, has_seen_all=False, more_settings=f'[permissions]\n{answer} = ["read_file(docs/**)"]\n'
    )
    (stage.root / "docs").mkdir()
    (stage.root / "docs/a.md").write_text("text\n")
    os.symlink("docs/a.md", stage.root / "b.md")

    files = (await said_in(stage, "@docs/a.md and @b.md")).files

    assert [file.is_attached for file in files] == [False]
    assert files[0].name == "docs/a.md"
    assert re.search(note, files[0].note)


async def test_where_a_hook_is_to_see_each_reading_nothing_is_attached(stage: SessionStage) -> None:
    (stage.root / "a.py").write_text("one\n")

    class Nothing:
        async def before_tool_call(self, draft: object) -> None:
            return None

    hook = HookRegistration(
        name="watch",
        hook=Nothing(),  # type: ignore[arg-type]
        points=frozenset({HookPoint.BEFORE_TOOL_CALL}),
        matcher=HookMatcher(tools=("read_*",)),
        on_error=OnHookError.CLOSED,
    )

    def adjust(container: object) -> None:
        put(container.parts().shared, registrations=[hook])  # type: ignore[attr-defined]

    async with stage.opened(adjust=adjust) as session:
        await session.turn(prompt="@a.py")
        (file,) = prompts(session)[-1].files

    assert file.note == "hooks are to see each call of read_file; the model reads it with that"


async def test_what_lies_outside_the_workspace_is_refused_with_the_reason(stage: SessionStage) -> None:
    outside = stage.folder / "outside.txt"
    outside.write_text("x\n")

    file = await file_in(stage, f"@{outside}")

    assert "lies outside the workspace" in file.note


async def test_a_binary_file_is_named_with_its_kind(stage: SessionStage) -> None:
    (stage.root / "x.bin").write_bytes(b"\x7fELF\0\0\0")

    assert (await file_in(stage, "@x.bin")).note == "it is a binary file, 7 bytes, looks like an ELF program"


async def test_a_device_a_pipe_and_an_enormous_file_hold_nothing_up(stage: SessionStage) -> None:
    os.mkfifo(stage.root / "pipe")
    with (stage.root / "huge.log").open("wb") as huge:
        huge.write(b"a line\n" * 100_000)
        huge.truncate(mentioned_files.LARGEST_BYTES + 1)
    with (stage.root / "huge.img").open("wb") as huge:
        huge.truncate(20 << 30)
    (stage.root / "empty.txt").touch()

    pipe, huge_file, image, empty = (await said_in(stage, "@pipe @huge.log @huge.img @empty.txt")).files

    assert pipe.note == "pipe is a named pipe, not a regular file"
    assert huge_file.note == "it has 50 MB; read_file shows pages of it, and grep_search finds lines"
    assert image.note == f"it is a binary file, {20 << 30} bytes"
    assert empty.note == "it is empty"


async def test_a_resource_of_a_server_says_that_the_settings_name_none(stage: SessionStage) -> None:
    file = await file_in(stage, "see @github:issue://12")

    assert file.note == "it names a resource of an MCP server, and the settings name none"


async def test_a_file_that_was_attached_counts_as_seen(stage: SessionStage) -> None:
    path = stage.root / "a.py"
    path.write_text("one\n")

    async with stage.opened() as session:
        await session.turn(prompt="@a.py")
        path.write_text("changed meanwhile\n")
        await session.turn(a_call("edit_file", {"path": "a.py", "old_text": "changed", "new_text": "x"}))
        output = json.dumps([str(m) for m in session.state.messages])

        await session.turn(prompt="@a.py again")
        await session.turn(a_call("write_file", {"path": "a.py", "content": "mine\n"}))

    assert "changed since you last saw it" in output
    assert path.read_text() == "mine\n"


async def test_a_prompt_with_a_thousand_decorators_is_looked_through_in_part(stage: SessionStage) -> None:
    for number in range(30):
        (stage.root / f"f{number}").write_text("x\n")
    text = " ".join(f"@f{number}" for number in range(30)) + " ".join(f" @d{number}" for number in range(1000))

    files = (await said_in(stage, text)).files

    assert [file.is_attached for file in files].count(True) == 20
    assert files[-1].note == "a prompt attaches at most 20 files; read_file shows it"


async def test_names_that_would_reach_the_terminal_are_escaped(stage: SessionStage) -> None:
    (stage.root / "a\x1b[31m.py").write_text("x\n")

    assert (await file_in(stage, '@"a\\u001b[31m.py"')).label == "a\\x1b[31m.py · 1 line · 2 bytes"


async def test_an_attached_secret_is_masked_on_record_and_an_image_is_not_attached_twice(
    stage: SessionStage,
) -> None:
    (stage.root / "notes.md").write_text("key: sk-ant-api03-" + "a1B2" * 24 + "AA\n")
    (stage.root / "shot.png").write_bytes(png())

    async with stage.opened() as session:
        label = (await session.agent.attachments.attach("shot.png")).label
        await session.turn(prompt=f"@notes.md and @shot.png {label}")

    async with stage.opened() as again:
        (message,) = prompts(again)
        assert [file.name for file in message.files] == ["notes.md"]
        assert "sk-ant" not in message.files[0].content
        assert "[secret:" in message.files[0].content


def test_a_message_of_an_old_record_has_no_files() -> None:
    assert replace(MessageAdded(message=UserMessage("x")), steers=True).message == UserMessage("x", (), ())

"""Long outputs in a real session: all of them are stored and counted, whichever store and whichever tool."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from quorum.application.ports.storage import BlobStore
from quorum.domain.conversation.history import ToolResults
from quorum.domain.text.output import Text
from quorum.infrastructure.container import Container
from tests.support.fake_blob_store import FakeBlobStore
from tests.support.real_session import RealSession, SessionStage, call, shell
from tests.support.session_parts import put
from tests.support.sqlite_blob_store import SqliteBlobStore

LINES = "".join(f"{number}\n" for number in range(1, 20_001))
COUNTING = f'''
[tools.custom.count]
description = "Counts"
command = ["{sys.executable}", "-c", "print(*range(1, 20_001), sep=chr(10))"]
risk = "low"

[tools.custom.fail]
description = "Counts on standard error, and fails"
command = ["{sys.executable}", "-c", """
import sys
print(*range(1, 20_001), sep=chr(10), file=sys.stderr)
exit(3)"""]
risk = "low"

[tools.custom.wide]
description = "Counts, and says that the model needs to see more"
command = ["{sys.executable}", "-c", "print(*range(1, 20_001), sep=chr(10))"]
risk = "low"
summary_bytes = 3000
'''
STORES: dict[str, Callable[[Path], BlobStore] | None] = {
    "files": None,
    "memory": lambda _: FakeBlobStore(),
    "a third one": lambda folder: SqliteBlobStore(folder / "outputs.sqlite"),
}


def outputs(session: RealSession) -> list[str]:
    """What the model read of each call."""
    messages = session.container.parts().core.conversation.messages
    return [
        result.output for message in messages if isinstance(message, ToolResults) for result in message.results
    ]


def blob_of(output: str) -> str:
    found = re.match(r"\[blob:([0-9a-f-]+)\] text \| 20000 lines\n", output)
    assert found is not None, output
    return found[1]


@pytest.mark.long
@pytest.mark.parametrize("kind", STORES)
async def test_what_any_tool_prints_is_stored_whole_in_whichever_store_is_put_in(
    kind: str, tmp_path: Path
) -> None:
    make = STORES[kind]

    def adjust(container: Container) -> None:
        if make is not None:
            put(container.parts().shared, store=make(tmp_path))

    stage = SessionStage(tmp_path, more_settings=COUNTING)
    async with stage.opened(adjust=adjust) as session:
        await session.turn(shell("seq 1 20000"), call("count"), call("fail"))
        store = session.container.parts().shared.store
        ids = [blob_of(output) for output in outputs(session)]
        await session.turn(*[call("inspect", blob_id=blob_id, selector="lines:19999-20000") for blob_id in ids])
        shown = outputs(session)[3:]

        assert [await store.load(blob_id) for blob_id in ids] == [Text(LINES)] * 3
        assert [page.split()[:4] for page in shown] == [["19999", "19999", "20000", "20000"]] * 3
        lines = await session.agent.outputs.open_lines(ids[1])
        assert lines.read_lines(19_998, 5) == ["19999", "20000"]


@pytest.mark.long
async def test_the_model_gets_both_ends_of_what_a_command_printed(tmp_path: Path) -> None:
    async with SessionStage(tmp_path).opened() as session:
        await session.turn(shell("seq 1 20000"), shell("seq 1 3000"), shell("seq 1 5000"))
        long, whole, longer = outputs(session)

    blob_of(long)
    head, _, tail = long.partition("── tail ──\n")
    assert 5000 < len(long) <= 6144
    assert head.split("\n")[1:4] == ["── head ──", "1", "2"]
    assert tail.endswith("19999\n20000\nexit code 0")
    assert whole.startswith("1\n2\n")  # 13,893 bytes
    assert whole.endswith("3000\nexit code 0")
    assert longer.startswith("[blob:")  # 23,893 bytes
    assert 5000 < len(longer) <= 6144


async def test_the_hint_between_the_ends_leads_to_the_first_line_that_is_left_out(tmp_path: Path) -> None:
    async with SessionStage(tmp_path).opened() as session:
        await session.turn(shell("seq 1 20000"))
        (long,) = outputs(session)
        hint = re.search(r"inspect shows it: (lines:(\d+)-\d+)", long)
        assert hint is not None
        await session.turn(call("inspect", blob_id=blob_of(long), selector=hint[1]))
        page = outputs(session)[1]

    last_shown = long.partition("\n… left out")[0].rpartition("\n")[2]
    assert page.split()[0] == hint[2] == str(int(last_shown) + 1)


@pytest.mark.long
async def test_how_much_the_model_gets_can_be_set_for_commands_and_for_each_custom_tool(tmp_path: Path) -> None:
    stage = SessionStage(tmp_path, more_settings=COUNTING)
    settings = stage.home / "config" / "quorum" / "quorum.toml"
    settings.write_text(settings.read_text() + "inline_bytes = 100\nsummary_bytes = 1000\n")
    async with stage.opened() as session:
        await session.turn(shell("seq 1 100"), call("count"), call("wide"))
        command, default, wide = outputs(session)

    assert command.startswith("[blob:")
    assert "\n── head ──\n1\n2\n3\n4\n5\n── tail ──\n19998\n19999\n20000" in default
    assert len(default) <= 400
    assert 2000 < len(wide) <= 3000


@pytest.mark.long
async def test_an_error_of_a_custom_tool_says_where_all_of_it_is(tmp_path: Path) -> None:
    async with SessionStage(tmp_path, more_settings=COUNTING).opened() as session:
        await session.turn(call("fail"))
        (failed,) = outputs(session)

    blob_of(failed)
    assert "the program failed with exit code 3; the end of its standard error:" in failed
    assert failed.endswith("20000")

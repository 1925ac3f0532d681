"""Updates on their way to a client that reads slowly, or not at all."""

from __future__ import annotations

import asyncio

from acp.schema import ToolCallProgress, ToolCallStart

from quorum.acp_agent.standard_io import Outbox, SessionUpdate
from quorum.acp_agent.update_feed import build_message, build_thought


class SlowClient:
    def __init__(self) -> None:
        self.reads = asyncio.Event()
        self.got: list[SessionUpdate] = []

    async def send(self, update: SessionUpdate) -> None:
        await self.reads.wait()
        self.got.append(update)


def report(call: str, **fields: object) -> ToolCallProgress:
    return ToolCallProgress(session_update="tool_call_update", tool_call_id=call, **fields)


async def test_pieces_of_one_text_are_merged_while_they_wait_and_nothing_is_lost() -> None:
    client = SlowClient()
    outbox = Outbox(client.send)
    outbox.open()
    for n in range(1000):
        outbox.put(build_message(f"{n} ", "m1"))
    outbox.put(build_thought("hm", "m2"))
    outbox.put(build_message("end", "m1"))
    outbox.put(build_message("another message"))
    client.reads.set()
    await outbox.flush()

    texts = [update.content.text for update in client.got]
    assert "".join(texts) == "".join(f"{n} " for n in range(1000)) + "hmendanother message"
    assert len(texts) <= 5


async def test_reports_about_one_call_are_merged_and_keep_what_the_last_does_not_say() -> None:
    client = SlowClient()
    outbox = Outbox(client.send)
    outbox.put(build_message("before"))
    outbox.put(report("c1", title="ls", status="pending"))
    outbox.put(report("c2", status="pending"))
    outbox.put(report("c1", status="completed"))
    outbox.open()
    client.reads.set()
    await outbox.flush()

    found = [(u.tool_call_id, u.title, u.status) for u in client.got if isinstance(u, ToolCallProgress)]
    assert found == [("c1", "ls", "completed"), ("c2", None, "pending")]


async def test_nothing_is_sent_before_the_client_knows_the_session() -> None:
    client = SlowClient()
    client.reads.set()
    outbox = Outbox(client.send)
    outbox.put(build_message("early"))
    await outbox.flush()
    assert client.got == []
    outbox.open()
    await outbox.flush()

    assert len(client.got) == 1


async def test_a_client_that_is_gone_holds_up_nobody() -> None:
    async def fail(update: SessionUpdate) -> None:
        raise ConnectionError

    outbox = Outbox(fail)
    outbox.open()
    outbox.put(build_message("into the void"))
    await asyncio.wait_for(outbox.flush(), 60)
    outbox.put(build_message("and again"))

    await asyncio.wait_for(outbox.flush(), 60)


async def test_what_is_about_a_call_waits_until_that_call_was_put() -> None:
    outbox = Outbox(SlowClient().send)
    waiting = asyncio.ensure_future(outbox.wait_for_call("call-1"))
    outbox.put(ToolCallStart(session_update="tool_call", tool_call_id="call-2", title="another"))
    await asyncio.sleep(0)
    assert not waiting.done()

    outbox.put(ToolCallStart(session_update="tool_call", tool_call_id="call-1", title="ls"))

    await waiting
    await outbox.wait_for_call("call-1")

"""Which tools requests list: the same ones for a model for as long as it can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from quorum.application.event_bus import EventBus
from quorum.application.steering import PendingMessages
from quorum.application.turn import tool_prefix
from quorum.application.turn.tool_prefix import ToolPrefix
from quorum.domain.calls.server_tools import CALL_TOOL, MOST_TOOLS
from quorum.domain.events.event import ToolsListed
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.text.json_value import JsonObject
from tests.support.fake_ports import RecordingObserver


def schema(name: str, description: str = "Does something useful. And more.") -> JsonObject:
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": {}}}


OWN = [schema("read_file"), schema("jobs"), schema(CALL_TOOL)]


@dataclass
class Choice:
    model: str = "a/a"

    @property
    def serving(self) -> str:
        return self.model


class Rig:
    """A session; `reopen` is another process that continues it."""

    def __init__(
        self, small: Sequence[str] = (), past: Sequence[LedgerRecord] = (), room: int = 1 << 30
    ) -> None:
        self.seen = RecordingObserver()
        self.tools = list(OWN)
        self.choice = Choice()
        self._past, self._small, self._room = list(past), list(small), room
        self.pending = PendingMessages()
        self.prefix = ToolPrefix(
            self.choice,
            schemas=lambda: self.tools,
            names=lambda: ["of_another_mode"],
            events=EventBus([self.seen], past=past),
            pending_messages=self.pending,
            has_small_window=lambda model: model in self._small,
            compute_room=lambda _model: room,
        )

    def reopen(self, small: Sequence[str] = ()) -> Rig:
        listed = self.seen.of(ToolsListed)
        new = [LedgerRecord(seq=n, at_ms=n, event=event) for n, event in enumerate(listed)]
        return Rig(small, [*self._past, *new], self._room)

    async def list_names(self) -> list[object]:
        return [each["name"] for each in await self.prefix.choose()]


async def test_a_model_that_is_chosen_again_gets_the_list_that_it_had() -> None:
    rig = Rig()
    first = await rig.prefix.choose()
    rig.tools.append(schema("mcp__db__new"))
    rig.choice.model = "b/b"
    assert (await rig.list_names())[-1] == "mcp__db__new"
    rig.choice.model = "a/a"
    assert await rig.prefix.choose() == first
    assert "mcp__db__new" in rig.prefix.callable


async def test_tools_of_another_mode_and_those_a_model_refuses_are_withheld() -> None:
    rig = Rig()
    refused = (await rig.list_names())[0]
    assert rig.prefix.withheld == {"of_another_mode"}
    rig.prefix.refuse("a/a", str(refused))
    await rig.prefix.choose()
    assert rig.prefix.withheld == {"of_another_mode", refused}


@pytest.mark.parametrize("small", [[], ["a/a"]])
async def test_a_list_that_stays_is_gone_through_once(
    small: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(small=small)
    rig.tools.append(schema("mcp__db__find"))
    first = await rig.prefix.choose()
    await rig.prefix.choose()
    gone_through: list[object] = []
    monkeypatch.setattr(tool_prefix, "compute_tool_digest", gone_through.append)
    monkeypatch.setattr(tool_prefix, "count_json_bytes", gone_through.append)
    assert await rig.prefix.choose() == first
    rig.prefix.tell_changes()
    assert gone_through == []


async def test_the_schema_of_a_tool_is_recorded_once() -> None:
    rig = Rig()
    await rig.prefix.choose()
    rig.choice.model = "b/b"
    await rig.prefix.choose()
    first, second = rig.seen.of(ToolsListed)
    assert all(each.schema is not None for each in first.tools)
    assert all(each.schema is None for each in second.tools)


async def test_a_resumed_session_gives_a_small_model_the_short_tools_before_its_window_is_known() -> None:
    rig = Rig(small=["a/a"])
    first = await rig.prefix.choose()
    assert "jobs" not in [each["name"] for each in first]
    again = rig.reopen()
    again.prefix.tell_changes()
    assert await again.prefix.choose() == first
    assert again.seen.of(ToolsListed) == []


async def test_looking_for_changes_decides_nothing_about_the_size_of_the_window() -> None:
    rig = Rig(small=["a/a"])
    rig.prefix.tell_changes()
    assert "jobs" not in await rig.list_names()


async def test_a_tool_that_the_api_refuses_is_listed_no_more() -> None:
    rig = Rig()
    rig.tools.append(schema("mcp__db__odd"))
    await rig.prefix.choose()
    rig.prefix.refuse("a/a", "mcp__db__odd")
    assert "mcp__db__odd" not in await rig.list_names()
    assert "mcp__db__odd" not in rig.prefix.callable


async def test_another_version_of_a_tool_of_quorums_own_is_listed() -> None:
    rig = Rig()
    await rig.prefix.choose()
    again = rig.reopen()
    again.tools[0] = schema("read_file", "Reads.")
    assert (await again.prefix.choose())[0]["description"] == "Reads."


async def test_an_order_of_keys_that_the_record_does_not_have_is_another_list() -> None:
    rig = Rig()
    await rig.prefix.choose()
    again = rig.reopen()
    again.tools[0] = dict(reversed(again.tools[0].items()))
    await again.prefix.choose()
    assert len(again.seen.of(ToolsListed)) == 1


async def test_servers_whose_tools_do_not_fit_are_told_and_called_without_being_listed() -> None:
    rig = Rig(room=600)
    rig.tools += [schema(f"mcp__large__t{number}") for number in range(20)]
    rig.tools += [schema("mcp__small__a"), schema("mcp__small__b")]

    rig.prefix.tell_changes()
    told = rig.pending.pop(steering=False)
    names = await rig.list_names()

    assert names == ["read_file", "jobs", CALL_TOOL, "mcp__small__a", "mcp__small__b"]
    assert told is not None
    assert "mcp__large__t0, mcp__large__t1" in told.said.text
    assert "mcp__small__a" not in told.said.text
    assert {"mcp__large__t19", "mcp__small__a"} <= rig.prefix.callable
    again = rig.reopen()
    again.tools = rig.tools
    assert await again.list_names() == names


async def test_no_request_lists_more_tools_than_every_api_takes() -> None:
    rig = Rig()
    for server in range(5):
        rig.tools += [schema(f"mcp__s{server}__t{number}") for number in range(40)]

    assert len(await rig.list_names()) == len(OWN) + 120 <= MOST_TOOLS
    assert len(rig.prefix.callable) == len(OWN) + 200


async def test_all_are_listed_where_no_other_can_be_called() -> None:
    rig = Rig(room=0)
    rig.tools = [schema("read_file"), schema("mcp__db__new")]

    assert await rig.list_names() == ["read_file", "mcp__db__new"]

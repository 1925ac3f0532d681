"""The list of tools that requests begin with: the same to the byte for as long as it can be kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Protocol

from quorum.application.event_bus import EventBus
from quorum.application.steering import PendingMessage, PendingMessages
from quorum.domain.calls.server_tools import (
    RecordedTool,
    compute_tool_digest,
    find_tool_changes,
    is_of_server,
    list_callable,
    render_unread_changes,
    select_listed,
)
from quorum.domain.conversation.history import UserMessage
from quorum.domain.events.event import ToolsListed
from quorum.domain.replacing import replace
from quorum.domain.text.json_text import count_json_bytes
from quorum.domain.text.json_value import JsonObject


class ChosenModel(Protocol):
    """Which model the next request goes to."""

    @property
    def model(self) -> str:
        """The full name of the model chosen."""
        ...

    @property
    def serving(self) -> str:
        """The full name of the model that answers for it."""
        ...


# So many schemas are those of all models and modes of a session, and of what servers offered before.
_MOST_DIGESTS = 2_000


class _Digests:
    """The digests of schemas, each computed once: nobody changes a schema that is offered."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[JsonObject, str]] = {}  # the schema stays, and so its place in memory

    def compute(self, schema: JsonObject) -> str:
        known = self._known.get(id(schema))
        if known is None:
            if len(self._known) >= _MOST_DIGESTS:
                self._known.clear()
            known = self._known[id(schema)] = schema, compute_tool_digest(schema)
        return known[1]

    def list_tools(self, schemas: Sequence[JsonObject]) -> tuple[RecordedTool, ...]:
        """These tools by name and digest, without what the record may have of them already."""
        return tuple(RecordedTool(name=str(each["name"]), sha256=self.compute(each)) for each in schemas)


class ToolPrefix:
    """Chooses the tools of each request to the model that `choice` names.

    What the first request to a model lists is recorded, and listed again, also by a resumed session: providers
    reuse what they have read up to the first byte that differs, and tools come first. What servers offer since
    is told in a message. Another model and other tools of quorum's own, as in another mode, have another list;
    tools of servers that the settings do not name any more (`is_wanted`) are in none.

    `schemas` are the tools as they are now, `names` also those that other modes have and settings keep out;
    `offers` says whether a model, by its full name, is offered one, and `compute_room` how many bytes of JSON
    the tools of servers may take in its requests.
    """

    def __init__(
        self,
        choice: ChosenModel,
        *,
        schemas: Callable[[], Sequence[JsonObject]],
        names: Callable[[], Sequence[str]] = tuple,
        events: EventBus,
        pending_messages: PendingMessages | None = None,
        offers: Callable[[str, str], bool] = lambda _tool, _model: True,
        is_wanted: Callable[[str], bool] = lambda _tool: True,
        has_small_window: Callable[[str], bool] = lambda _model: False,
        compute_room: Callable[[str], int] = lambda _model: 1 << 30,
    ) -> None:
        self._choice = choice
        self._list_schemas = schemas
        self._list_names = names
        self._events = events
        self._pending_messages = pending_messages if pending_messages is not None else PendingMessages()
        self._offers = offers
        self._is_wanted = is_wanted
        self._has_small_window = has_small_window
        self._compute_room = compute_room
        self._small_windows: dict[str, bool] = {}
        self._refused: set[tuple[str, str]] = set()
        self._digests = _Digests()
        self._shortened: tuple[tuple[JsonObject, ...], tuple[JsonObject, ...]] = (), ()
        self.callable: frozenset[str] = frozenset()
        self.schemas: tuple[JsonObject, ...] = ()
        self.listed_bytes: int | None = None

    async def choose(self) -> tuple[JsonObject, ...]:
        """Return the tools of the next request. Of the calls in its answer, those of `callable` may run."""
        current = self._fit_current()
        by_digest = {self._digests.compute(each): each for each in current}
        tools = self._digests.list_tools(current)
        listed = self._find_listed(tools)
        if listed is None:
            listed = self._begin_list(current)
            if listed:
                await self._record(listed, by_digest)
        recorded = self._events.state.tool_schemas
        schemas = tuple(by_digest.get(each.sha256) or recorded[each.sha256] for each in listed)
        if self.listed_bytes is None or not _are_same(schemas, self.schemas):
            self.schemas, self.listed_bytes = schemas, count_json_bytes(schemas)
        self.callable = list_callable([each.name for each in listed], [each.name for each in tools])
        return self.schemas

    @property
    def withheld(self) -> frozenset[str]:
        """The names of all tools that the last list is without."""
        known = (*self._list_names(), *(str(each.get("name")) for each in self._list_schemas()))
        return frozenset(known) - {str(each.get("name")) for each in self.schemas}

    def tell_changes(self) -> None:
        """Have the model read which tools of servers are not as the list says, where it has not read it yet."""
        current = self._fit_current()
        tools = self._digests.list_tools(current)
        listed = self._find_listed(tools)
        changes = find_tool_changes(self._begin_list(current) if listed is None else listed, tools)
        if changes is None:
            return
        messages = self._events.state.messages
        text = render_unread_changes(changes, (each.text for each in messages if isinstance(each, UserMessage)))
        if text is not None and not self._pending_messages.is_waiting(text):
            self._pending_messages.add(PendingMessage(UserMessage(text), is_notice=True))

    def refuse(self, model: str, tool: str) -> None:
        """List a tool no more that the API of a model refuses."""
        self._refused.add((model, tool))
        self.callable -= {tool}

    def _list_current(self) -> tuple[JsonObject, ...]:
        model, serving = self._choice.model, self._choice.serving
        return tuple(
            each
            for each in self._list_schemas()
            if self._offers(name := str(each.get("name")), model) and (serving, name) not in self._refused
        )

    def _fit_current(self) -> tuple[JsonObject, ...]:
        """The tools as they are now, in the length for the model."""
        current, model = self._list_current(), self._choice.model
        is_small = self._find_size(current)
        if is_small is None:
            is_small = self._has_small_window(model)
        self._small_windows[model] = is_small
        return self._shorten(current) if is_small else current

    def _shorten(self, current: tuple[JsonObject, ...]) -> tuple[JsonObject, ...]:
        if not _are_same(self._shortened[0], current):
            from quorum.domain.calls.server_tools import shorten_tools  # most models have no use for it

            self._shortened = current, shorten_tools(current)
        return self._shortened[1]

    def _begin_list(self, current: Sequence[JsonObject]) -> tuple[RecordedTool, ...]:
        return self._digests.list_tools(select_listed(current, self._compute_room(self._choice.model)))

    def _find_size(self, current: tuple[JsonObject, ...]) -> bool | None:
        """Whether the model gets the short tools, as it was decided with the first request: each change costs
        it all that it has read. None where that is to be decided yet."""
        model = self._choice.model
        if model in self._small_windows:
            return self._small_windows[model]
        if not any(each.model == model for each in self._events.state.listed_tools):
            return None
        if self._find_listed(self._digests.list_tools(current)) is not None:
            return False
        shortened = self._digests.list_tools(self._shorten(current))
        return True if self._find_listed(shortened) is not None else None

    def _find_listed(self, tools: Sequence[RecordedTool]) -> tuple[RecordedTool, ...] | None:
        """The newest list on the record that requests to this model can carry for these tools."""
        state, model, serving = self._events.state, self._choice.model, self._choice.serving
        for listed in reversed(state.listed_tools):
            is_kept = listed.model == model and all(
                each.sha256 in state.tool_schemas
                and (not is_of_server(each.name) or self._is_wanted(each.name))
                and (serving, each.name) not in self._refused
                for each in listed.tools
            )
            if is_kept and find_tool_changes(listed.tools, tools) is not None:
                return listed.tools
        return None

    async def _record(self, tools: Sequence[RecordedTool], by_digest: Mapping[str, JsonObject]) -> None:
        known = self._events.state.tool_schemas
        recorded = tuple(
            each if each.sha256 in known else replace(each, schema=by_digest[each.sha256]) for each in tools
        )
        await self._events.record(ToolsListed(model=self._choice.model, tools=recorded))


def _are_same(one: Sequence[JsonObject], other: Sequence[JsonObject]) -> bool:
    return len(one) == len(other) and all(map(is_, one, other))

"""The items of an answer of OpenAI Responses while they arrive, found again by place or id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.shared.json_fields import parse_arguments, read_count_field, read_text_field


class ArrivingItem(Struct):
    """An item's first form, what followed, and its last form.

    `has_all_arguments` tells of a call that its arguments came whole, though perhaps its last form never will.
    """

    first: JsonObject
    place: tuple[int, int]
    pieces: list[str] = field(default_factory=list)
    parts: dict[int, list[str]] = field(default_factory=dict)
    whole: JsonObject | None = None
    part_ended: bool = False
    has_all_arguments: bool = False
    call_id: str = ""
    call_index: int = 0

    @property
    def kind(self) -> str:
        """The type of the item."""
        return read_text_field(self.first, "type")

    @property
    def received(self) -> str:
        """What the pieces brought so far."""
        return "".join(self.pieces)

    def add(self, text: str, part: int) -> None:
        """Take a piece of the part of that number."""
        self.pieces.append(text)
        self.parts.setdefault(part, []).append(text)

    def find_rest(self, text: str, part: int | None = None) -> str:
        """What the pieces, or those of one part, have not said yet of a text that is whole."""
        received = self.received if part is None else "".join(self.parts.get(part, ()))
        return text[len(received) :] if text.startswith(received) else ""

    def contradicts(self, arguments: str) -> bool:
        """Whether the pieces of a call hold other arguments than those with which it ends."""
        text = self.received
        if not text.strip() or not arguments.strip() or arguments.startswith(text):
            return False
        return parse_arguments(text)[1] is not None or parse_arguments(text) != parse_arguments(arguments)


class Arrivals:
    """The items of one answer.

    Servers differ in what they tell of an item's place: some give none, some give all items the place 0, and
    some give an item another id with every event.
    """

    def __init__(self) -> None:
        self._items: list[ArrivingItem] = []
        self._at: dict[int, ArrivingItem] = {}
        self._named: dict[str, ArrivingItem] = {}

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[ArrivingItem]:
        return iter(sorted(self._items, key=lambda item: item.place))

    def find_item(self, event: JsonObject, kind: str) -> ArrivingItem:
        """The item of this type to which a piece belongs, begun if it is new."""
        index, item_id = read_count_field(event, "output_index"), read_text_field(event, "item_id")
        for known in (self._find_at_place(index), self._named.get(item_id)):
            if known is not None and known.kind == kind:
                return known
        return self._begin({"type": kind}, index, item_id)

    def begin_item(self, event: JsonObject, form: JsonObject) -> ArrivingItem:
        """The item that an event brings in its first form."""
        known = self._find_item(event, form)
        if known is None or (known.whole is not None and not _is_again(known.whole, form)):
            return self._begin(form, read_count_field(event, "output_index"), read_text_field(form, "id"))
        if not known.call_id:
            if known.pieces and known.kind != read_text_field(form, "type"):
                return self._begin(form, read_count_field(event, "output_index"), read_text_field(form, "id"))
            known.first = form
        elif read_text_field(form, "call_id") not in ("", read_text_field(known.first, "call_id")):
            return self._begin(form, read_count_field(event, "output_index"), read_text_field(form, "id"))
        return known

    def end_item(self, event: JsonObject, form: JsonObject) -> ArrivingItem:
        """The item that an event brings in its last form."""
        known = self._find_item(event, form)
        if known is None or (known.whole is not None and not _is_again(known.whole, form)):
            return self._begin(form, read_count_field(event, "output_index"), read_text_field(form, "id"))
        if not known.call_id:
            known.first = form
        return known

    def find_lacking(self, listed: Sequence[JsonObject]) -> Iterator[tuple[ArrivingItem, JsonObject]]:
        """The items of the list at the end of an answer that no event has brought whole, with that form."""
        was = len(self._items)
        for index, form in enumerate(listed):
            known = self._find_like(form) or self._find_at_place(index)
            if known is None or known.kind != read_text_field(form, "type"):
                if len(listed) > was:
                    yield self._begin(form, index, read_text_field(form, "id")), form
            elif known.whole is None:
                if not known.call_id:
                    known.first = form
                yield known, form

    def _find_item(self, event: JsonObject, form: JsonObject) -> ArrivingItem | None:
        index = read_count_field(event, "output_index")
        return self._find_at_place(index) if index is not None else self._named.get(read_text_field(form, "id"))

    def _find_like(self, form: JsonObject) -> ArrivingItem | None:
        call_id = read_text_field(form, "call_id")
        same_call = (
            item for item in self._items if call_id and read_text_field(item.first, "call_id") == call_id
        )
        return next(same_call, None) or self._named.get(read_text_field(form, "id"))

    def _find_at_place(self, index: int | None) -> ArrivingItem | None:
        return None if index is None else self._at.get(index)

    def _begin(self, first: JsonObject, index: int | None, item_id: str) -> ArrivingItem:
        if index is None:
            index = max(self._at, default=-1) + 1
        item = ArrivingItem(first, (index, len(self._items)))
        self._items.append(item)
        self._at[index] = item
        if item_id:
            self._named[item_id] = item
        return item


def _is_again(whole: JsonObject, form: JsonObject) -> bool:
    """Whether a form repeats that of an item that is already whole."""
    return all(read_text_field(whole, key) == read_text_field(form, key) for key in ("type", "id", "call_id"))

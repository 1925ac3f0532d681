"""Reasoning as Chat Completions servers send it: many fields, none of them in the standard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from quorum.domain.conversation.response import ReasoningBlock
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.models.shared.json_fields import (
    read_objects_field,
    read_text_field,
    replace_surrogates,
)

_FIELDS = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
_GROWING = ("text", "summary", "signature")


class ChatReasoning:
    """Collects the reasoning of one answer, in the form in which it must go back."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._field = ""
        self._details: list[dict[str, JsonValue]] = []

    def read_delta(self, delta: JsonObject) -> str:
        """The readable reasoning in a delta, after taking it over with all that belongs to it."""
        details = read_objects_field(delta, "reasoning_details")
        for detail in details:
            self._merge(detail)
        for name in _FIELDS:
            if text := read_text_field(delta, name):
                self._field = self._field or name
                return self.add(text)
        # some servers send the details alone, others beside a field that says the same
        return self.add(
            "".join(read_text_field(detail, "text") or read_text_field(detail, "summary") for detail in details)
        )

    def add(self, text: str) -> str:
        """Take over readable reasoning that came in none of the fields."""
        if text:
            self._pieces.append(text)
        return replace_surrogates(text)

    def block(self, provider: str) -> ReasoningBlock | None:
        """What was collected, or None."""
        text = replace_surrogates("".join(self._pieces))
        if self._details:
            payload: JsonObject = {"reasoning_details": list(self._details)}
        elif self._field:
            payload = {self._field: text}
        else:
            payload = {}
        return ReasoningBlock(provider=provider, payload=payload, text=text) if text or payload else None

    def _merge(self, detail: JsonObject) -> None:
        """Add a detail, or a further piece of one. Encrypted ones come whole, several under one number."""
        known = next((one for one in self._details if _continues(one, detail)), None)
        if known is None:
            self._details.append(dict(detail))
            return
        for name, value in detail.items():
            before = known.get(name)
            if name in _GROWING and isinstance(before, str) and isinstance(value, str):
                known[name] = before + value
            elif value is not None or name not in known:
                known[name] = value


def _continues(known: JsonObject, detail: JsonObject) -> bool:
    if read_text_field(known, "type") != read_text_field(detail, "type") or known.get("index") != detail.get(
        "index"
    ):
        return False
    if "data" in detail:
        return known.get("data") == detail["data"] and known.get("id") == detail.get("id")
    ids = {str(one["id"]) for one in (known, detail) if one.get("id")}
    return len(ids) < 2


def read_part_texts(part: JsonObject) -> Iterator[str]:
    """The readable reasoning in one part of a content list: as a text, or as a list of texts."""
    for name in ("thinking", "summary", "reasoning"):
        value = part.get(name)
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (read_text_field(inner, "text") for inner in value if isinstance(inner, Mapping))

"""Reasoning as Chat Completions servers send it: three fields, none of them in the standard."""

from __future__ import annotations

from domain.json_value import JsonObject, JsonValue
from domain.response import ReasoningBlock
from infrastructure.providers.json_fields import objects_of, text_of, whole

_FIELDS = ("reasoning_content", "reasoning")


class ChatReasoning:
    """Collects the reasoning of one answer, in the form in which it must go back."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._field = ""
        self._details: dict[tuple[str, JsonValue], dict[str, JsonValue]] = {}

    def take(self, delta: JsonObject) -> str:
        """The readable reasoning in a delta, after taking it over with all that belongs to it."""
        details = objects_of(delta, "reasoning_details")
        for detail in details:
            self._merge(detail)
        for name in _FIELDS:
            if text := text_of(delta, name):
                self._field = self._field or name
                return self.add(text)
        # some servers send the details alone, others beside a field that says the same
        return self.add("".join(text_of(detail, "text") or text_of(detail, "summary") for detail in details))

    def add(self, text: str) -> str:
        """Take over readable reasoning that came in none of the fields."""
        if text:
            self._pieces.append(text)
        return whole(text)

    def block(self, provider: str) -> ReasoningBlock | None:
        """What was collected, or None."""
        text = whole("".join(self._pieces))
        if self._details:
            payload: JsonObject = {"reasoning_details": list(self._details.values())}
        elif self._field:
            payload = {self._field: text}
        else:
            payload = {}
        return ReasoningBlock(provider=provider, payload=payload, text=text) if text or payload else None

    def _merge(self, detail: JsonObject) -> None:
        key = (text_of(detail, "type"), str(detail.get("index", "")))
        known = self._details.setdefault(key, {})
        for name, value in detail.items():
            before = known.get(name)
            grows = name in ("text", "summary", "data", "signature")
            if grows and isinstance(before, str) and isinstance(value, str):
                known[name] = before + value
            elif value is not None or name not in known:
                known[name] = value

"""What a run shares between its tools, changed only by queued modifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from domain.json_value import JsonValue


@dataclass(frozen=True, slots=True)
class RunState:
    """Named values, such as the plan a model keeps. Immutable: a modifier answers another state."""

    values: Mapping[str, JsonValue] = field(default_factory=dict)

    def get(self, key: str) -> JsonValue:
        """The value of that name, or None."""
        return self.values.get(key)

    def having(self, key: str, value: JsonValue) -> RunState:
        """This state with one value set."""
        return RunState({**self.values, key: value})

    def changed_since(self, earlier: RunState) -> Mapping[str, JsonValue]:
        """The values that differ from those of an earlier state; None for one that is gone."""
        keys = sorted({*self.values, *earlier.values})
        return {key: self.get(key) for key in keys if self.get(key) != earlier.get(key)}


Modifier: TypeAlias = Callable[[RunState], RunState]


def folded(state: RunState, modifiers: Iterable[Modifier]) -> RunState:
    """The state after these modifiers, one after the other."""
    for modifier in modifiers:
        state = modifier(state)
    return state

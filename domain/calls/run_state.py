"""What a run shares between its tools, changed only by queued modifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import force_setattr

from quorum.domain.errors import ToolError
from quorum.domain.text.json_text import is_json
from quorum.domain.text.json_value import JsonValue


class RunState(Struct, frozen=True):
    """Named values, such as the plan a model keeps. Immutable: a modifier returns another state."""

    values: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        force_setattr(self, "values", MappingProxyType(dict(self.values)))

    def get(self, key: str) -> JsonValue:
        return self.values.get(key)

    def having(self, key: str, value: JsonValue) -> RunState:
        """This state with one value set."""
        return RunState({**self.values, key: value})

    def diff_since(self, earlier: RunState) -> Mapping[str, JsonValue]:
        """The values that differ from those of an earlier state; None for one that is gone."""
        keys = sorted({*self.values, *earlier.values})
        return {key: self.get(key) for key in keys if self.get(key) != earlier.get(key)}


Modifier: TypeAlias = Callable[[RunState], RunState]


def apply_modifiers(state: RunState, modifiers: Iterable[Modifier]) -> RunState:
    """Return the state after these modifiers, one after the other; `state` itself never changes.

    Raises ToolError where one of them raises, returns something else than a state, or puts into it what is
    not JSON: modifiers are the code of tools.
    """
    queued = tuple(modifiers)
    if not queued:
        return state
    now = RunState(deepcopy(dict(state.values)))  # a modifier may reach into nested lists
    for modifier in queued:
        try:
            now = modifier(now)
        except (Exception, SystemExit) as error:
            raise ToolError(f"it raised {type(error).__name__}: {error}") from error
        if not isinstance(now, RunState):
            raise ToolError(f"it returned {type(now).__name__} in place of a RunState")
    for key, value in now.values.items():
        if not isinstance(key, str) or not is_json(value):
            raise ToolError(f"it set {key!r} to a value that is not JSON")
    return now

"""What a run shares between its tools, and what its model knows of the content of files.

The state is changed only by queued modifiers.
"""

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


class SeenFile(Struct, frozen=True, kw_only=True):
    """What one result showed of a file with this SHA-256: lines `first_line` to `last_line` of `lines`, counted
    from 1, both included.

    A call that wrote the file shows none of its lines, because the model knows them: `lines` is 0 then, and the
    whole file counts as seen. `path` is canonical.
    """

    path: str
    sha256: str
    first_line: int = 1
    last_line: int = 0
    lines: int = 0


class FileKnowledge(Struct, frozen=True, kw_only=True):
    """The content that the model last saw of a file, and whether it has seen every line of it."""

    sha256: str
    is_whole: bool


def build_seen_file(path: str, sha256: str, known: FileKnowledge | None) -> SeenFile:
    """What the result of an edit shows: the file has this content now, and an edit shows no line that the model
    did not know before."""
    whole = known is not None and known.is_whole
    return SeenFile(path=path, sha256=sha256, lines=0 if whole else 1)


def collect_knowledge(path: str, seen: Iterable[SeenFile]) -> FileKnowledge | None:
    """What those results, oldest first, showed of the file at this path; None if nothing.

    Pages of the same content add up; another content makes those of the former worthless.
    """
    current: list[SeenFile] = []
    for file in seen:
        if file.path == path:
            current = [*current, file] if current and current[-1].sha256 == file.sha256 else [file]
    if not current:
        return None
    return FileKnowledge(sha256=current[-1].sha256, is_whole=_is_whole(current))


def _is_whole(pages: Iterable[SeenFile]) -> bool:
    reached = 0
    for page in sorted(pages, key=lambda each: each.first_line):
        if page.lines == 0:
            return True
        if page.first_line <= reached + 1:
            reached = max(reached, page.last_line)
        if reached >= page.lines:
            return True
    return False

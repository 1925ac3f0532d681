"""The undos of a session that can be redone, replayed from its events."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from quorum.domain.calls.effects import FileChange, FileState
from quorum.domain.conversation.history import Moment
from quorum.domain.events.event import SessionRedone
from quorum.domain.sessions.state import PastUndo
from quorum.domain.text.json_value import JsonValue


class ReplayedUndo(Struct, kw_only=True):
    """One undo, with what there was before it. `written` is how our change before it had left each path."""

    number: int
    turn: int | None = None
    changes: tuple[FileChange, ...] = ()
    written: Mapping[str, FileState | None] = field(default_factory=dict)
    turns: tuple[int, ...] = ()
    before: Moment | None = None
    values_before: Mapping[str, JsonValue] = field(default_factory=dict)
    continued: bool = False

    def to_past_undo(self) -> PastUndo:
        """Return the undo as an immutable value."""
        messages = self.before.messages if self.before is not None else ()
        return PastUndo(
            number=self.number,
            turn=self.turn,
            changes=self.changes,
            turns=self.turns,
            messages=messages,
            values=self.values_before,
            continued=self.continued,
        )


class ReplayedUndos:
    """Collects the undos until a turn starts, which makes them final.

    Restored files and the return to a turn are two events of one undo. It is whole once the second is there,
    and of files alone if that never comes: their process died in between, or they were restored one by one.
    """

    def __init__(self) -> None:
        self._undos: list[ReplayedUndo] = []
        self._count = 0
        self._is_open = False

    def list_past_undos(self) -> tuple[PastUndo, ...]:
        """Return the undos that can be redone as immutable values, the last one last."""
        return tuple(undo.to_past_undo() for undo in self._undos)

    def clear(self) -> None:
        """Make all undos final: a turn starts."""
        self._undos.clear()
        self._is_open = False

    def begin_process(self) -> None:
        """Note that another process continues the session: what its predecessor left half done stays so."""
        self._is_open = False

    def restore(self, changes: tuple[FileChange, ...], written: Mapping[str, FileState | None]) -> None:
        """Note that files were restored. `written` is how our last change before that left each path."""
        paths = {change.path for change in changes}
        undo = self._push()
        undo.changes = changes
        undo.written = {path: state for path, state in written.items() if path in paths}
        self._is_open = True

    def rewind(self, turn: int, *, files: bool) -> ReplayedUndo | None:
        """Note a return to before this turn; the undo that it is part of, or None where it restored no file."""
        undo = self._undos[-1] if self._undos and self._is_open and files else None
        self._is_open = False
        if undo is not None:
            undo.turn = turn
        return undo

    def take_out(
        self,
        undo: ReplayedUndo | None,
        turn: int,
        turns: tuple[int, ...],
        before: Moment,
        values: Mapping[str, JsonValue],
    ) -> None:
        """Note that an undo, a new one without `undo`, took these turns out of the conversation."""
        undo = undo if undo is not None else self._push()
        undo.turn, undo.turns, undo.before, undo.values_before = turn, turns, before, values

    def continue_conversation(self) -> None:
        """Note that the conversation continues from where the undos left it: it cannot come back then."""
        for undo in self._undos:
            if undo.before is not None:
                undo.turns, undo.before, undo.values_before, undo.continued = (), None, {}, True
        self._undos = [undo for undo in self._undos if undo.changes or undo.before is not None]

    def list_written_before(self) -> Mapping[str, FileState | None]:
        """Return how our last change had left the files of the last undo, before it."""
        return self._undos[-1].written if self._undos else {}

    def redo(self, event: SessionRedone) -> ReplayedUndo | None:
        """Note that the last undo was redone, in full or in part; the undo, or None where it is another one."""
        self._is_open = False
        if not self._undos:
            return None
        undo = self._undos[-1]
        if event.turn != undo.turn or (event.turns and event.turns != undo.turns):
            return None
        redone = ReplayedUndo(
            number=undo.number,
            turn=undo.turn,
            turns=undo.turns,
            before=undo.before,
            values_before=undo.values_before,
        )
        if event.turns:
            undo.turns, undo.before, undo.values_before = (), None, {}
        if event.files or not undo.changes:
            self._undos.pop()
        return redone

    def _push(self) -> ReplayedUndo:
        undo = ReplayedUndo(number=self._count)
        self._count += 1
        self._undos.append(undo)
        return undo

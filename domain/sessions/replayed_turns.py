"""The turns of a session, with what their calls did to files, and its undos, replayed from its events."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import takewhile
from typing import TypeAlias, assert_never

from msgspec import Struct, field

from quorum.domain.calls.effects import ChangeKind, FileChange, FileState, is_like
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.conversation.history import Moment
from quorum.domain.events.event import (
    CallFinished,
    CallStarted,
    EffectsObserved,
    FilesKept,
    FilesRestored,
    JobStarted,
    SessionRedone,
    TurnStarted,
)
from quorum.domain.instructions.custom_command import ExpandedCommand
from quorum.domain.sessions.state import PastTurn, PastUndo
from quorum.domain.shell.command_line import may_move_files
from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.pattern import compile_once

FileEvent: TypeAlias = FilesKept | EffectsObserved | FilesRestored | CallStarted | CallFinished

_LONGEST_COMMAND = 16_384
_TARGET = r"(?:>[>|]?|\b(?:tee(?:\s+-a)?|touch)\s)\s*[\"']?([^\s\"'<>|;&()]+)"
# Endings of calls that may have changed files without anybody having looked afterwards.
_CUT_SHORT = frozenset({Outcome.CANCELLED, Outcome.UNKNOWN})


class ReplayedTurn(Struct, kw_only=True):
    """One turn, with what there was before it."""

    number: int
    prompt: str
    at_ms: int
    before: Moment
    values_before: Mapping[str, JsonValue]
    changes: list[FileChange] = field(default_factory=list)
    unseen: dict[ToolExecutionContext, str] = field(default_factory=dict)
    jobs: list[str] = field(default_factory=list)
    manifests: dict[ToolExecutionContext, str] = field(default_factory=dict)
    edited: set[str] = field(default_factory=set)
    steered: list[str] = field(default_factory=list)
    said: bool = False
    undone: bool = False
    command: ExpandedCommand | None = None

    @property
    def said_text(self) -> str:
        """The messages that the model gets with the prompt."""
        return self.command.text if self.command is not None else self.prompt

    def freeze(self) -> PastTurn:
        """Return the turn as an immutable value."""
        return PastTurn(
            number=self.number,
            prompt=self.prompt,
            at_ms=self.at_ms,
            before=self.before,
            values_before=self.values_before,
            changes=tuple(self.changes),
            unseen=(*self.unseen.values(), *self.jobs),
            manifests=tuple(self.manifests.values()),
            edited=frozenset(self.edited),
            steered=tuple(self.steered),
            said=self.said,
            undone=self.undone,
            command=self.command,
        )


class ReplayedTurns:
    """Collects the turns. `last_written` is how our last change or restoration left each path, and `own_files`
    are those of the paths where calls made a file and nobody else is known to have changed it.

    A turn is frozen again only after it has changed: asking for all turns costs the same late in a session.
    """

    def __init__(self) -> None:
        self.last_written: dict[str, FileState | None] = {}
        self.own_files: set[str] = set()
        self._turns: list[ReplayedTurn] = []
        self._frozen: list[PastTurn] = []
        self._changed: set[int] = set()
        self._tools: dict[ToolExecutionContext, str] = {}
        self._named: dict[ToolExecutionContext, frozenset[str]] = {}
        self._kept: dict[ToolExecutionContext, ReplayedTurn] = {}

    def begin(self, started: TurnStarted, at_ms: int, before: Moment, values: Mapping[str, JsonValue]) -> None:
        """Start another turn: later events belong to it."""
        self._tools.clear()
        self._named.clear()
        turn = ReplayedTurn(
            number=len(self._turns),
            prompt=started.prompt,
            at_ms=at_ms,
            before=before,
            values_before=values,
            command=started.command,
        )
        self._turns.append(self._change(turn))

    def start_job(self, job: JobStarted) -> int:
        """Note that a command of this turn continues in the background, where its changes are not measured;
        those of a subagent are. Return the number of the turn; -1 where there is none."""
        if self._turns and not job.subagent_id:
            self._change(self._turns[-1]).jobs.append(
                f"What the background command {job.job_id} changed after its call had ended was not looked at."
            )
        return len(self._turns) - 1

    def steer(self, text: str) -> None:
        """Note a message that the person sent into the present turn."""
        if self._turns:
            self._change(self._turns[-1]).steered.append(text)

    def say(self, text: str | None) -> None:
        """Note that a message of the present turn was sent, with this text, and all prompts before it.

        If the text is a prompt that was started and never sent, those started after it are still pending.
        """
        unsent = list(takewhile(lambda turn: not turn.said, reversed(self._turns)))
        later = next((n for n, turn in enumerate(unsent) if turn.prompt and turn.said_text == text), 0)
        for turn in unsent[later:]:
            self._change(turn).said = True

    def list_standing(self, number: int) -> tuple[int, ...]:
        """Return the numbers of this turn and all later ones that are not undone."""
        return tuple(turn.number for turn in self._turns if turn.number >= number and not turn.undone)

    def redo(self, numbers: Collection[int]) -> None:
        """Mark turns as part of the conversation again."""
        for turn in self._turns:
            if turn.number in numbers:
                self._change(turn).undone = False

    def find_prompt(self, number: int) -> str:
        """Return the prompt of a turn."""
        return self._turns[number].prompt

    def reset_written(self, paths: Iterable[str], written: Mapping[str, FileState | None]) -> None:
        """Have the last change of these paths be the one it was before they were restored."""
        for path in paths:
            if path in written:
                self.last_written[path] = written[path]
            else:
                self.last_written.pop(path, None)

    def undo(self, number: int) -> ReplayedTurn | None:
        """Mark this turn and all later ones as taken back; the turn, or None where there is none."""
        if not 0 <= number < len(self._turns):
            return None
        for turn in self._turns[number:]:
            self._change(turn).undone = True
        return self._turns[number]

    def list_past_turns(self) -> tuple[PastTurn, ...]:
        """Return all turns as immutable values, oldest first."""
        for number in sorted(self._changed):
            self._frozen[number : number + 1] = [self._turns[number].freeze()]
        self._changed.clear()
        return tuple(self._frozen)

    def _change(self, turn: ReplayedTurn) -> ReplayedTurn:
        """Return the turn, to be changed: every change begins here, so that it is frozen anew."""
        self._changed.add(turn.number)
        return turn

    def apply(self, event: FileEvent) -> None:
        """Apply a change of files, by a call or by a restoration."""
        match event:
            case CallStarted():
                self._tools[event.context] = event.tool
                if isinstance(command := event.arguments.get("command"), str):
                    self._named[event.context] = _list_targets(command)
            case CallFinished():
                if event.outcome not in _CUT_SHORT:  # it was looked after, and nothing had changed
                    self._let_go(event.context)
            case FilesKept():
                if self._turns:
                    self._kept[event.context] = turn = self._change(self._turns[-1])
                    turn.manifests[event.context] = event.manifest
            case EffectsObserved():
                self._let_go(event.context)
                self._observe(event)
            case FilesRestored():
                self._mark_edited(event.changes)
                self.own_files.difference_update(change.path for change in event.changes)
            case _:
                assert_never(event)

    def _observe(self, event: EffectsObserved) -> None:
        edited = {change.path for change in event.effects.changes if self._was_edited(change)}
        self._mark_edited(event.effects.changes)
        gone = {change.path for change in event.effects.changes if change.kind is ChangeKind.DELETED}
        takes_away = not gone <= self.own_files  # and may have put what others wrote elsewhere
        named = self._named.get(event.context, frozenset())
        is_merged = bool(event.subagent_id)  # then all is declared, whatever put it there
        for change in event.effects.changes:
            is_told = not is_merged and (change.declared or change.path.rpartition("/")[2] in named)
            self._judge_owner(change, is_ours=is_told and not takes_away and change.path not in edited)
        if not self._turns:
            return
        turn = self._change(self._turns[-1])
        turn.edited |= edited
        turn.changes.extend(event.effects.changes)
        tool = self._tools.get(event.context, "a call")
        unseen = []
        if not event.effects.complete:
            unseen.append(
                f"Not every file was looked at after {tool} had run: it may have changed more than is known."
            )
        if late := sum(change.late for change in event.effects.changes):
            files = "a file" if late == 1 else f"{late} files"
            unseen.append(f"That {tool} changed {files} is not certain: it may have been done before.")
        if unseen:
            turn.unseen[event.context] = " ".join(unseen)

    def _judge_owner(self, change: FileChange, *, is_ours: bool) -> None:
        """Whose the file is now. `is_ours`: what it holds is what the call put there, and not what a command
        moved, or what somebody else did while it ran."""
        if not is_ours or change.late or change.after is None:
            self.own_files.discard(change.path)
        elif change.kind is ChangeKind.CREATED and change.before is None:
            self.own_files.add(change.path)

    def _was_edited(self, change: FileChange) -> bool:
        """Whether the file was not, before this change, as we had left it."""
        if change.path not in self.last_written or (
            change.before is None and change.kind is not ChangeKind.CREATED
        ):
            return False
        return not is_like(self.last_written[change.path], change.before)

    def _let_go(self, context: ToolExecutionContext) -> None:
        if (turn := self._kept.pop(context, None)) is not None:
            del self._change(turn).manifests[context]

    def _mark_edited(self, changes: Iterable[FileChange]) -> None:
        """Mark a change that was found late as edited: it may be the person's work."""
        for change in changes:
            if change.late or (change.after is None and change.kind is not ChangeKind.DELETED):
                self.last_written.pop(change.path, None)
            else:
                self.last_written[change.path] = change.after


def _list_targets(command: str) -> frozenset[str]:
    """The files that a command puts what it prints into, without their folders. None where it may move files:
    what it adds to may have come from elsewhere."""
    command = command[:_LONGEST_COMMAND]
    if may_move_files(command):
        return frozenset()
    return frozenset(name.rpartition("/")[2] for name in compile_once(_TARGET).findall(command))


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

"""What was done in a layer since its last review, replayed from the events of a session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from quorum.domain.calls.command_end import CommandEnd
from quorum.domain.calls.effects import ChangeKind, FileChange
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.job import JobStatus
from quorum.domain.calls.tool_traits import find_traits
from quorum.domain.events.event import (
    CallFinished,
    CallStarted,
    EffectsObserved,
    EffectsReviewed,
    EffectsVoted,
    JobEnded,
    JobStarted,
    LayerEntered,
    ResponseCompleted,
    SessionResumed,
    SubagentFinished,
    SubagentStarted,
)
from quorum.domain.events.staging import EffectsDecision
from quorum.domain.replacing import replace
from quorum.domain.shell.network_hosts import AskedHost
from quorum.domain.staging.effects_answer import EffectsVotes
from quorum.domain.staging.layer_work import (
    MOST_CHANGES,
    MOST_COMMANDS,
    MOST_STEPS,
    LayerWork,
    SubagentChanges,
    SubagentStep,
)
from quorum.domain.text.json_value import JsonValue

LayerEvent: TypeAlias = (
    LayerEntered
    | EffectsVoted
    | EffectsReviewed
    | ResponseCompleted
    | CallStarted
    | CallFinished
    | JobStarted
    | JobEnded
    | SubagentStarted
    | SubagentFinished
    | EffectsObserved
    | SessionResumed
)

_MOST_ADDRESSES = 100


class ReplayedLayer:
    """Collects what a session does while it works in a layer."""

    def __init__(self) -> None:
        self._layer = self._former = ""
        self._arguments: dict[ToolExecutionContext, Mapping[str, JsonValue]] = {}
        self._commands: list[CommandEnd] = []
        self._more = self._subagents = 0
        self._names: dict[str, str] = {}
        self._beside: dict[str, set[str]] = {}
        self._working: set[str] = set()
        self._changed_by: dict[str, set[str]] = {}
        self._steps: dict[str, list[SubagentStep]] = {}
        self._changes: tuple[SubagentChanges, ...] | None = ()
        self._shared: Mapping[str, tuple[SubagentStep, ...]] = {}
        self._addresses: dict[str, None] = {}
        self._jobs: dict[str, JobStarted] = {}
        self._votes: EffectsVotes | None = None
        self._answered_in: str | None = None
        self._was_reset = False

    @property
    def work(self) -> LayerWork:
        """What was done since the last review."""
        known = LayerWork(answered_in=self._answered_in, was_reset=self._was_reset)
        if not self._layer:
            return known
        changes = self._list_changes()
        return replace(
            known,
            layer=self._layer,
            commands=tuple(self._commands),
            more=self._more,
            addresses=tuple(self._addresses),
            subagents=self._subagents,
            changes=changes,
            shared=self._shared,
            jobs=tuple(job.command for job in self._jobs.values()),
            votes=self._votes,
        )

    def apply(self, event: LayerEvent) -> None:
        """Apply the next event."""
        match event:
            case SessionResumed():  # it says next in which layer it is, if it is in one
                self._former, self._layer = self._layer or self._former, ""
                self._arguments.clear()
                self._jobs.clear()
                self._working.clear()
            case LayerEntered():
                if event.layer != (self._former or event.layer):
                    self._forget()
                self._layer = self._former = event.layer
            case EffectsVoted() | EffectsReviewed():
                self._note_effects(event)
            case ResponseCompleted():
                self._answered_in, self._was_reset = self._layer, False
            case _ if not self._layer:
                pass
            case CallStarted():
                self._arguments[event.context] = event.arguments
            case CallFinished():
                self._finish(event)
            case SubagentStarted() | SubagentFinished() | EffectsObserved():
                self._follow_subagents(event)
            case JobStarted():
                self._jobs[event.job_id] = event
                self._arguments.pop(event.context, None)  # its end is told apart from the call's
            case JobEnded():
                self._end_job(event)

    def _note_effects(self, event: EffectsVoted | EffectsReviewed) -> None:
        match event:
            case EffectsVoted():
                self._votes = event.votes
            case EffectsReviewed(decision=EffectsDecision.APPLIED):
                self._forget()
            case EffectsReviewed(decision=EffectsDecision.DISCARDED):
                self._forget()
                self._was_reset = True
            case EffectsReviewed(decision=EffectsDecision.UNDONE | EffectsDecision.REDONE):
                self._was_reset = True
            case EffectsReviewed():
                pass

    def _follow_subagents(self, event: SubagentStarted | SubagentFinished | EffectsObserved) -> None:
        match event:
            case SubagentStarted():
                self._note_subagent(event.subagent_id, event.agent)
            case SubagentFinished():
                self._working.discard(event.subagent_id)
            case EffectsObserved():
                self._note_changes(event)

    def _note_subagent(self, id_: str, agent: str) -> None:
        self._subagents += 1
        self._names[id_] = f"{agent or 'subagent'} {self._subagents}"
        self._beside[id_] = set(self._working)
        for other in self._working & self._beside.keys():
            self._beside[other].add(id_)
        self._working.add(id_)
        self._changes = None

    def _note_changes(self, event: EffectsObserved) -> None:
        by = event.subagent_id or ""
        for change in event.effects.changes:
            if change.path in self._changed_by or len(self._changed_by) < MOST_CHANGES:
                self._changed_by.setdefault(change.path, set()).add(by)
                _add_step(self._steps.setdefault(change.path, []), _read_step(by, change))
                self._changes = None

    def _list_changes(self) -> tuple[SubagentChanges, ...]:
        """Kept until another change: this is asked for after each event."""
        if self._changes is None:
            paths: dict[str, dict[str, bool]] = {id_: {} for id_ in self._names}
            shared: dict[str, tuple[SubagentStep, ...]] = {}
            for path, who in self._changed_by.items():
                subagents = who & self._names.keys()
                for id_ in subagents:
                    paths[id_][path] = len(who) == 1
                if subagents and len(who) > 1:
                    shared[path] = tuple(self._steps[path])
            self._changes = tuple(
                SubagentChanges(
                    subagent_id=id_,
                    name=self._names[id_],
                    paths=changed,
                    beside=tuple(sorted(self._beside[id_])),
                )
                for id_, changed in paths.items()
                if changed
            )
            self._shared = shared
        return self._changes

    def _end_job(self, event: JobEnded) -> None:
        job = self._jobs.pop(event.job_id, None)
        self._add_hosts(event.hosts or ())
        if job is not None and not job.subagent_id:  # what a subagent was given is no command
            was_stopped = event.status is JobStatus.STOPPED
            self._add(CommandEnd.read_job(job.command, event.exit_code, event.output, was_stopped=was_stopped))

    def _finish(self, event: CallFinished) -> None:
        self._add_hosts(event.hosts or ())
        arguments = self._arguments.pop(event.context, None)
        if arguments is None:  # it did not run, or runs on in the background
            return
        traits = find_traits(event.tool)
        command = arguments.get(traits.command) if traits.command else None
        address = arguments.get("url")
        if isinstance(command, str):
            self._add(CommandEnd.read(command, event.outcome, event.output))
        elif isinstance(address, str):
            self._add_address(address)

    def _add_hosts(self, hosts: Iterable[AskedHost]) -> None:
        for host in hosts:
            self._add_address(f"{host.name} (refused)" if host.refusal else host.name)

    def _add_address(self, address: str) -> None:
        if len(self._addresses) < _MOST_ADDRESSES:
            self._addresses[address] = None

    def _add(self, command: CommandEnd) -> None:
        self._commands.append(command)
        if len(self._commands) > MOST_COMMANDS:
            self._more += 1
            del self._commands[0]

    def _forget(self) -> None:
        self._commands.clear()
        self._addresses.clear()
        self._more = self._subagents = 0
        self._names.clear()
        self._beside.clear()
        self._changed_by.clear()
        self._steps.clear()
        self._changes, self._shared = (), {}
        self._votes = None


def _read_step(by: str, change: FileChange) -> SubagentStep:
    before = change.before.sha256 if change.before is not None else None
    after = change.after.sha256 if change.after is not None else None
    return SubagentStep(
        by=by,
        before="" if change.kind is ChangeKind.CREATED else before,
        after="" if change.kind is ChangeKind.DELETED else after,
    )


def _add_step(steps: list[SubagentStep], step: SubagentStep) -> None:
    """Add one; what somebody did twice in a row is one step."""
    last = steps[-1] if steps else None
    if last is not None and last.by == step.by and last.after == step.before is not None:
        steps[-1] = SubagentStep(by=step.by, before=last.before, after=step.after)
    else:
        steps.append(step)
    del steps[:-MOST_STEPS]

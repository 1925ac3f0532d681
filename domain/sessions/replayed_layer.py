"""What was done in a layer since its last review, replayed from the events of a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool_traits import find_traits
from quorum.domain.events.event import (
    CallFinished,
    CallStarted,
    EffectsReviewed,
    JobEnded,
    JobStarted,
    LayerEntered,
    SessionResumed,
)
from quorum.domain.events.staging import EffectsDecision
from quorum.domain.staging.layer_work import MOST_COMMANDS, LayerWork, StagedCommand
from quorum.domain.text.json_value import JsonValue

LayerEvent: TypeAlias = (
    LayerEntered | EffectsReviewed | CallStarted | CallFinished | JobStarted | JobEnded | SessionResumed
)

_MOST_ADDRESSES = 100


class ReplayedLayer:
    """Collects the commands of a session while it works in a layer. Elsewhere nothing is collected."""

    def __init__(self) -> None:
        self._layer = self._former = ""
        self._arguments: dict[ToolExecutionContext, Mapping[str, JsonValue]] = {}
        self._commands: list[StagedCommand] = []
        self._more = 0
        self._addresses: dict[str, None] = {}
        self._jobs: dict[str, str] = {}

    @property
    def work(self) -> LayerWork:
        """What was done since the last review."""
        if not self._layer:
            return LayerWork()
        return LayerWork(
            layer=self._layer,
            commands=tuple(self._commands),
            more=self._more,
            addresses=tuple(self._addresses),
            jobs=tuple(self._jobs.values()),
        )

    def apply(self, event: LayerEvent) -> None:
        """Apply the next event."""
        match event:
            case SessionResumed():  # it says next in which layer it is, if it is in one
                self._former, self._layer = self._layer or self._former, ""
                self._arguments.clear()
                self._jobs.clear()
            case LayerEntered():
                if event.layer != (self._former or event.layer):
                    self._forget()
                self._layer = self._former = event.layer
            case EffectsReviewed():
                if event.decision in (EffectsDecision.APPLIED, EffectsDecision.DISCARDED):
                    self._forget()
            case _ if not self._layer:
                pass
            case CallStarted():
                self._arguments[event.context] = event.arguments
            case CallFinished():
                self._finish(event)
            case JobStarted():
                self._jobs[event.job_id] = event.command
            case JobEnded():
                if (command := self._jobs.pop(event.job_id, None)) is not None:
                    self._add(StagedCommand.read_job(command, event.exit_code, event.output))

    def _finish(self, event: CallFinished) -> None:
        arguments = self._arguments.pop(event.context, None)
        if arguments is None:  # it did not run
            return
        traits = find_traits(event.tool)
        command = arguments.get(traits.command) if traits.command else None
        address = arguments.get("url")
        if isinstance(command, str):
            self._add(StagedCommand.read(command, event.outcome, event.output))
        elif isinstance(address, str) and len(self._addresses) < _MOST_ADDRESSES:
            self._addresses[address] = None

    def _add(self, command: StagedCommand) -> None:
        self._commands.append(command)
        if len(self._commands) > MOST_COMMANDS:
            self._more += 1
            del self._commands[0]

    def _forget(self) -> None:
        self._commands.clear()
        self._addresses.clear()
        self._more = 0

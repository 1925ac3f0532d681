"""`!` commands as they run and end: each is a card with one call, marked `!`, or `!!` where the
model does not read it."""

from __future__ import annotations

from collections.abc import Callable

from quorum.application.view.entries import Batch, Call, Entry, Kept, Phase, StoredOutput
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events import event as ev


class UserCommandCards:
    """Adds the cards to the entries it is given, and keeps them up to date."""

    def __init__(self, entries: list[Entry], clock: Callable[[], float]) -> None:
        self._entries = entries
        self._clock = clock
        self._open: dict[str, Batch] = {}

    @property
    def running(self) -> list[Batch]:
        return [batch for batch in self._open.values() if batch.is_running]

    def take_over(self, others: UserCommandCards) -> None:
        """Continue with the cards of others that have no end yet."""
        self._open = others._open
        self._entries += self._open.values()

    def start(self, event: ev.UserCommandStarted) -> None:
        call = Call(
            index=0,
            tool="!" if event.told else "!!",
            arguments={"command": event.command},
            risk=RiskLevel.HIGH,
        )
        call.enter(Phase.RUNNING, self._clock())
        batch = Batch(event.command_id, [call], is_own=True)
        self._open[event.command_id] = batch
        self._entries.append(batch)

    def show_progress(self, event: ev.UserCommandProgressed) -> None:
        if (batch := self._open.get(event.command_id)) is not None:
            batch.calls[0].progress.show(event.text, event.styles)
            batch.version += 1

    def finish(self, event: ev.UserCommandFinished) -> None:
        if (batch := self._open.pop(event.command_id, None)) is None:
            return
        (call,) = batch.calls
        # As with a command of a model's, another exit code than 0 is shown, and is no failure of the call.
        exited = event.exit_code is not None and event.outcome is Outcome.ERROR
        call.outcome = Outcome.OK if exited else event.outcome
        call.output = Kept.of(_render_result(event), event.styles)
        call.stored = StoredOutput(event.blob_id, event.size_bytes) if event.blob_id is not None else None
        call.duration = event.duration_secs
        call.enter(Phase.FINISHED, self._clock())
        batch.version += 1

    def rest(self) -> None:
        """Nothing of the past runs any more; of what has no end, one may still arrive."""
        for batch in self._open.values():
            batch.calls[0].enter(Phase.ABANDONED, self._clock())
            batch.version += 1


def _render_result(event: ev.UserCommandFinished) -> str:
    """What it printed, and below it how it ended: in the words of a command's result."""
    exited = []
    if event.exit_code is not None:
        code = event.exit_code
        exited = [f"exit code {code}" if code >= 0 else f"killed by signal {-code}"]
    output = event.output.rstrip("\n")
    return "\n".join([*([output] if output else []), *exited, *event.remarks])

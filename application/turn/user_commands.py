"""User commands (`!`), and the terms that a custom command sets for its turn.

A user command runs at once, without review; it is recorded and visible to the model. A custom command may set
the tools that may change something, and the model that answers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from quorum.application.calls.outputs import KeptOutput, Outputs
from quorum.application.cancellation import absorb_cancellation, run_to_end
from quorum.application.event_bus import EventBus
from quorum.application.identifiers import generate_id
from quorum.application.ports.instructions import PromptExpander
from quorum.application.ports.models import LlmExchange, LlmGateway
from quorum.application.ports.tools import UserShellPort
from quorum.application.review.review import Review
from quorum.application.steering import PendingMessage, PendingMessages
from quorum.application.turn.switchable_session import SESSIONS_OWN, SwitchableSession, complete_model_name
from quorum.domain.calls.command_end import (
    CommandRun,
    UserCommand,
    describe_lost_command,
    describe_user_command,
)
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.summary import extract_styles, extract_text
from quorum.domain.conversation.history import UserMessage
from quorum.domain.errors import LedgerError, ProviderError
from quorum.domain.events.event import UserCommandFinished, UserCommandProgressed, UserCommandStarted
from quorum.domain.instructions.custom_command import ExpandedCommand
from quorum.domain.review.permission_rules import AllowedTools
from quorum.domain.text.output import COMMAND_LIMITS, OutputLimits, Printed


class CommandTerms:
    """The tools and model that a custom command sets, in force from `begin` to `end`.

    `expander` knows the commands, `gateway` the models of a provider.
    """

    def __init__(
        self, expander: PromptExpander, review: Review, session: SwitchableSession, gateway: LlmGateway
    ) -> None:
        self._expander = expander
        self._review = review
        self._session = session
        self._gateway = gateway
        self._exchanged: tuple[LlmExchange, LlmExchange] | None = None

    async def expand(self, prompt: str) -> tuple[ExpandedCommand | None, tuple[str, ...]]:
        """Expand a prompt; None where it is no custom command. Also returns sentences for the person.

        Raises CommandRefused.
        """
        return await self._expander.expand(prompt)

    async def begin(self, command: ExpandedCommand | None) -> tuple[str, ...]:
        """Apply what a command sets, if there is one. Returns a sentence for each part that cannot be."""
        if command is None:
            return ()
        if command.allowed_tools is not None:
            self._review.allowed_tools = AllowedTools.parse(command.name, command.allowed_tools)
        if command.model in SESSIONS_OWN:
            return ()
        try:
            other = await self._session.open(
                await complete_model_name(command.model, self._session.model, self._gateway)
            )
        except ProviderError as error:
            return (
                f"/{command.name} asks for the model {command.model}, which cannot be had: {error}; "
                f"{self._session.model} answers",
            )
        if other.model != self._session.model:
            self._exchanged = self._session.chosen, other
            self._session.switch(other)
        return ()

    def end(self) -> None:
        """Restore the session's own tools and model, unless the person chose another model meanwhile."""
        self._review.allowed_tools = None
        if self._exchanged is not None:
            own, other = self._exchanged
            self._exchanged = None
            if self._session.chosen is other:
                self._session.switch(own)


class UserCommandRunner:
    """Runs user commands beside the turns: no turn waits for them, and they change none of its messages.

    What the model is to know of one waits among the `pending_messages` for the next request. The model gets it
    as it is recorded, without secrets: unlike the commands of a model, these see the whole environment. Long
    outputs are kept aside behind a summary, as those of commands that a model runs. `hold` keeps a layer over
    the workspace from being taken away while one runs.
    """

    def __init__(
        self,
        *,
        shell: UserShellPort,
        events: EventBus,
        outputs: Outputs,
        pending_messages: PendingMessages,
        limits: OutputLimits = COMMAND_LIMITS,
        hold: Callable[[], AbstractContextManager[None]] | None = None,
    ) -> None:
        self._limits = limits
        self._hold = hold or nullcontext
        self._shell = shell
        self._events = events
        self._outputs = outputs
        self._pending_messages = pending_messages
        self._lost = tuple(each for each in events.state.user_commands if not each.ended)
        for command in events.state.user_commands:
            self._have_read(command.command_id, command.note)

    async def run(self, command: str, *, visible_to_model: bool) -> None:
        """Run a command to its end. If cancelled, kills it, and returns when none of its processes is left.

        `visible_to_model`: the model reads of it. What cannot be recorded is not run; that is reported like
        any ending.
        """
        command_id = generate_id()
        began = time.monotonic()
        try:
            await self._events.announce(
                UserCommandStarted(command_id=command_id, command=command, told=visible_to_model), urgent=True
            )
            with self._hold():
                ran = await self._shell.run(
                    command, owner=command_id, report=lambda printed: self._report_progress(command_id, printed)
                )
        except LedgerError as error:
            ran, visible_to_model = CommandRun(failure=str(error)), False
        except asyncio.CancelledError:
            absorb_cancellation()
            ran = CommandRun(cancelled=True)
        secs = time.monotonic() - began
        await run_to_end(
            self._finish(
                UserCommand(command_id=command_id, command=command, visible_to_model=visible_to_model),
                ran,
                secs,
            )
        )

    @property
    def lost(self) -> tuple[UserCommand, ...]:
        """The user commands that were running when an earlier process died."""
        return self._lost

    async def recover(self) -> None:
        """Record that it is unknown how those commands ended. None of them is run again."""
        lost, self._lost = self._lost, ()
        for command in lost:
            await self._end(
                UserCommandFinished(
                    command_id=command.command_id,
                    outcome=Outcome.UNKNOWN,
                    exit_code=None,
                    output="",
                    duration_secs=0.0,
                    note=describe_lost_command(self._events.hide(command.command))
                    if command.visible_to_model
                    else None,
                )
            )

    def _report_progress(self, command_id: str, printed: Printed) -> None:
        progress = UserCommandProgressed(command_id=command_id, text=printed.text, styles=printed.styles)
        self._events.show(progress)

    async def _finish(self, command: UserCommand, ran: CommandRun, secs: float) -> None:
        kept = await self._outputs.keep_within(
            ran.output, inline_bytes=self._limits.inline_bytes, summary_bytes=self._limits.summary_bytes
        )
        note = describe_user_command(command.command, ran, kept.text) if command.visible_to_model else None
        await self._end(
            UserCommandFinished(
                command_id=command.command_id,
                outcome=ran.outcome,
                exit_code=ran.exit_code,
                output=extract_text(ran.output),
                styles=extract_styles(ran.output),
                duration_secs=secs,
                remarks=_list_remarks(ran, kept),
                blob_id=kept.blob_id,
                size_bytes=kept.size_bytes,
                note=None if note is None else self._events.hide(note),
            )
        )

    async def _end(self, ended: UserCommandFinished) -> None:
        await self._events.record(ended)
        self._have_read(ended.command_id, ended.note)

    def _have_read(self, command_id: str, note: str | None) -> None:
        if note is not None:
            self._pending_messages.add(PendingMessage(UserMessage(note), command_id))


def _list_remarks(ran: CommandRun, kept: KeptOutput) -> tuple[str, ...]:
    failure = [f"it could not be started: {ran.failure}"] if ran.failure is not None else []
    return (*failure, *ran.remarks, *([kept.trouble] if kept.trouble is not None else []))


def describe_lost_commands(commands: Sequence[UserCommand]) -> tuple[str, ...]:
    """Describe user commands that a dead process left, in a sentence; empty if there are none."""
    if not commands:
        return ()
    named = ", ".join(f"`{each.command}`" for each in commands)
    return (f"your ! command was running when the process ended, effect unknown; not run again: {named}",)

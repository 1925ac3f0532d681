"""The messages between a run and its model: each one is recorded before the request that sends it."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Protocol

from application.cancellation import run_shielded
from application.empty_answer import render_empty_answer_reply
from application.events.event_bus import EventBus
from application.events.stream_events import StreamEvents
from application.ports.models import ToolChoice
from application.ports.workspace import SecretFinder
from application.turn.left_out_attachments import LeftOutAttachments
from application.turn.mentions import Mentions
from application.turn.steering import PendingMessage, PendingMessages
from application.turn.switchable_session import SwitchableSession
from application.turn.tool_prefix import ToolPrefix
from domain.calls.tool import ToolResultMessage
from domain.calls.tool_parser import may_hold_call
from domain.conversation.cost import PriceTable
from domain.conversation.history import AssistantMessage, Message, ToolResults, UserMessage
from domain.conversation.output_limits import LEAST_FOR_A_CALL, compute_larger_output
from domain.conversation.response import LlmResponse, StopKind, Usage
from domain.conversation.stream import StreamEvent, StreamRetry
from domain.errors import ProviderError, ProviderErrorKind
from domain.events.event import (
    CallLeaked,
    EmptyAnswerReceived,
    ErrorOccurred,
    MessageAdded,
    RequestRepeated,
    ResponseCompleted,
    UsageCounted,
)
from domain.lazy_dataclass import dataclass

_LEAKED = (
    "Your last answer was a call of {tool} written as text, so nothing ran. Call the tool itself if that is "
    "what you want; otherwise answer in words."
)


class ContextKeeper(Protocol):
    """Keeps a conversation within its model's window."""

    async def compact_if_full(self, model: str, upcoming: Message | None) -> None:
        """Compact the conversation if a request with this message would come too near to the window."""
        ...

    def take_spent(self) -> list[tuple[Usage, Decimal | None]]:
        """Return and reset what its own requests used and cost."""
        ...

    def fit_results(self, model: str, results: ToolResults) -> ToolResults:
        """Return the results, shortened where a request with them would not fit the window."""
        ...

    def answer_room(self, model: str) -> int | None:
        """Return the most tokens that an answer to the conversation can have; None where that is not known."""
        ...

    def explain_low_count(self, model: str, usage: Usage) -> str:
        """Return what to tell the person where the first request was not read whole; empty where it was."""
        ...

    async def make_room(self, model: str, error: ProviderError) -> bool:
        """Compact it if the request was refused for its length. Returns whether to try again."""
        ...


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer that is in the conversation and recorded; its cost is None where that is not known."""

    response: LlmResponse
    cost_usd: Decimal | None


class Dialogue:
    """Sends the messages of a run and takes the answers, one at a time.

    Its conversation and the record agree at the end of every turn, whatever happened in between: `settle` sees
    to it. `responses` is how many answers the session had before. A request that brings results carries all of
    the `pending_messages` that wait; those about commands are said before a turn begins, too.
    """

    def __init__(
        self,
        *,
        session: SwitchableSession,
        tools: ToolPrefix,
        events: EventBus,
        prices: PriceTable,
        context_keeper: ContextKeeper | None = None,
        responses: int = 0,
        secrets: SecretFinder | None = None,
        pending_messages: PendingMessages | None = None,
        mentions: Mentions | None = None,
    ) -> None:
        self.tools = tools
        self._mentions = mentions
        self.pending_messages = pending_messages if pending_messages is not None else PendingMessages()
        self.responses = responses
        self.conversation = session.conversation
        self._session = session
        self._events = events
        self._stream = StreamEvents(events.show)
        self._prices = prices
        self._context_keeper = context_keeper
        self._secrets = secrets
        self._noted = len(self.conversation.messages)
        self._left_out = LeftOutAttachments(session.conversation, events)
        self._held: UserMessage | ToolResults | None = None
        self._is_held_recorded = False
        self._unreturned: Answered | None = None
        self._dropped: list[tuple[Usage, Decimal | None]] = []
        self._last_kept = _find_last_answer(self.conversation.messages)

    def _take_event(self, event: StreamEvent) -> None:
        """Show what arrives. A tool that was refused is offered no more, and the person reads why."""
        if isinstance(event, StreamRetry) and event.without_tool:
            self.tools.refuse(self._session.answering, event.without_tool)
            self._events.note(ErrorOccurred(message=event.reason))
        else:
            self._stream.add_event(event)

    def begin_turn(self) -> None:
        """Start another turn: later messages belong to it."""
        self.pending_messages.begin_turn()
        self._session.begin_turn()

    @property
    def fallbacks_used(self) -> tuple[str, ...]:
        """The models that stood in for the chosen one during this turn."""
        return self._session.fallbacks_used

    async def say(self, content: str | UserMessage | None) -> Answered:
        """Send a message, or continue the conversation as it is. A message of the person gets the files
        that it mentions. Raises ProviderError and LedgerError."""
        if isinstance(content, UserMessage):
            content = await self._attach_files(content)
        await self._note(UserMessage(content) if isinstance(content, str) else content)
        sending = self._session.send_with_tools(content, self.tools.choose(), on_event=self._take_event)
        response = await self._repeat_if_too_long(sending)
        return await self._apply_response(await self._repeat_if_a_call_is_cut(response))

    async def give(self, results: Sequence[ToolResultMessage], *, tool_choice: ToolChoice = "auto") -> Answered:
        """Send the results of the open calls, and after them the pending messages, unless this is the last
        request of a turn: no tool may be called then. Raises ProviderError and LedgerError."""
        results = (await self._note_results(ToolResults(tuple(results)))).results
        if tool_choice == "auto" and self.pending_messages.any_waiting:
            await self.settle()
            await self._say_pending(steering=True)
            await self._note(None)
            sending = self._session.send_with_tools(None, self.tools.choose(), on_event=self._take_event)
        else:
            sending = self._session.send_tool_results(
                results, self.tools.choose(), tool_choice=tool_choice, on_event=self._take_event
            )
        response = await self._repeat_if_too_long(sending, tool_choice)
        if tool_choice == "auto":
            response = await self._repeat_if_a_call_is_cut(response)
        return await self._apply_response(response)

    def note_leaked_call(self, response: LlmResponse) -> CallLeaked | None:
        """Note that an answer calls a tool in its text, which never runs; None where it does not."""
        if response.holds_calls:
            return None
        text = response.text_content()
        if not may_hold_call(text):
            return None
        from domain.textual_calls.forms import list_argument_schemas
        from domain.textual_calls.leaked_call import find_leaked_call

        leaked = find_leaked_call(text, list_argument_schemas(self.tools.schemas))
        if leaked is None:
            return None
        provider = self._session.answering.partition("/")[0]
        event = CallLeaked(tool=leaked.tool, parser=leaked.parser, provider=provider)
        self._events.note(event)
        return event

    def reply_to_leaked_call(self, leaked: CallLeaked) -> str:
        """Return what to tell the model whose answer calls a tool in its text."""
        return _LEAKED.format(tool=leaked.tool)

    def reply_to_empty_answer(self, lack: str) -> str:
        """Return what to tell the model whose answer lacked so much that it is none."""
        self._events.note(EmptyAnswerReceived(lack=lack))
        return render_empty_answer_reply(lack)

    async def tell_of_commands(self) -> None:
        """Send the results of `!` commands with the next message.

        While calls are open, they are sent with the calls' results instead. Raises LedgerError.
        """
        if not self.conversation.open_calls:
            await self._say_pending(steering=False)

    async def tell_of_changes(self) -> None:
        """Send what quorum has to tell before the prompt that is held; where none is, with the next results.

        Raises LedgerError.
        """
        self.tools.tell_changes()
        held = self._held
        if not isinstance(held, UserMessage) or self.conversation.open_calls:
            return
        try:
            await self._say_pending(steering=False)
        finally:
            self.hold(held)

    async def _say_pending(self, *, steering: bool) -> None:
        while (word := self.pending_messages.pop(steering=steering)) is not None:
            if word.said.of_call and not self._is_named(word.said):
                continue  # the turn was taken back, or a hook has withheld the result
            said = word.said
            try:
                said = await self._attach_files(said) if word.steers else said
            finally:
                await self._say_one(word, said)

    def _is_named(self, message: UserMessage) -> bool:
        """Whether the result of its call names what the message brings."""
        return any(
            result.tool_use_id == message.of_call and message.text in result.output
            for past in reversed(self.conversation.messages)
            if isinstance(past, ToolResults)
            for result in past.results
        )

    async def _say_one(self, word: PendingMessage, said: UserMessage) -> None:
        self.hold(said)
        self._is_held_recorded = True
        try:
            await self._events.announce(
                MessageAdded(
                    message=said,
                    steers=word.steers,
                    command_id=word.command_id,
                    is_notice=word.is_notice,
                )
            )
        finally:
            await self.settle()

    async def _attach_files(self, message: UserMessage) -> UserMessage:
        """Return the message with the files that it mentions; without them if this is cancelled."""
        self.hold(message)
        return message if self._mentions is None else await self._mentions.attach(message)

    def hold(self, message: UserMessage | ToolResults) -> None:
        """Announce a message: however the turn ends, it will be in the conversation and recorded."""
        self._held, self._is_held_recorded = message, False
        self._noted = len(self.conversation.messages)

    async def add(self, message: UserMessage | ToolResults) -> None:
        """Add a message to the conversation without a request, even if it cannot be recorded."""
        self.hold(message)
        await self.settle()

    async def settle(self) -> None:
        """Make conversation and ledger agree, wherever a turn broke off.

        What was recorded and did not get into the conversation is put there; what a session said of its own
        accord, such as that an answer of another model should be continued, is recorded. All of that is done
        before a cancellation is noticed.
        """
        await run_shielded(self._settle())

    async def _settle(self) -> None:
        held, self._held = self._held, None
        known = self._noted
        if held is not None:
            if not self._is_held_recorded:
                await self._events.record(MessageAdded(message=held))
                known = len(self.conversation.messages)  # making room for it may have changed that
            if len(self.conversation.messages) == known:
                self._put(held)
            known += 1
        for message in self.conversation.messages[known:]:
            if isinstance(message, UserMessage):
                await self._events.record(MessageAdded(message=message))
        self._noted = len(self.conversation.messages)
        self._left_out.record()

    def _put(self, message: UserMessage | ToolResults) -> None:
        match message:
            case UserMessage():
                self.conversation.add_user(message)
            case ToolResults(results):
                self.conversation.add_results(results)

    def return_to(self, messages: Sequence[Message]) -> None:
        """Make this the whole conversation, as when rewinding. Raises ConversationError."""
        self.conversation.restore(messages)
        self._noted = len(messages)
        self._last_kept = _find_last_answer(messages)

    def take_spent(self) -> list[tuple[Usage, Decimal | None]]:
        """Return and reset what requests outside the conversation used and cost."""
        dropped, self._dropped = self._dropped, []
        return dropped + (self._context_keeper.take_spent() if self._context_keeper is not None else [])

    async def pop_last_answer(self) -> Answered | None:
        """Return the answer in which the turn broke off, or what arrived of it, unless it was returned already.

        It is in the conversation and recorded.
        """
        unreturned, self._unreturned = self._unreturned, None
        match self.conversation.messages:
            case (*_, AssistantMessage(response)) if response != self._last_kept:
                return await self._apply_response(response)
            case _:
                return unreturned

    async def _note_results(self, results: ToolResults) -> ToolResults:
        """Note results, and return them as they are sent: shortened where they would not fit the window."""
        self.hold(results)
        if self._context_keeper is not None:
            model = self._session.serving
            await self._context_keeper.compact_if_full(model, results)
            results = self._context_keeper.fit_results(model, results)
            self.hold(results)
        await self._announce(results)
        return results

    async def _note(self, message: UserMessage | None) -> None:
        if message is not None:
            self.hold(message)
        if self._context_keeper is not None:
            await self._context_keeper.compact_if_full(self._session.serving, message)
        await self._announce(message)

    async def _announce(self, message: UserMessage | ToolResults | None) -> None:
        self._noted = len(self.conversation.messages)
        if message is not None:
            self._is_held_recorded = True
            await self._events.announce(MessageAdded(message=message))

    async def _repeat_if_too_long(
        self, sending: Awaitable[LlmResponse], tool_choice: ToolChoice = "auto"
    ) -> LlmResponse:
        try:
            return await sending
        except ProviderError as error:
            await self.settle()
            if self._context_keeper is None or not await self._context_keeper.make_room(
                self._session.answering, error
            ):
                self._left_out.add_if_too_long(error, self._session.answering)
                raise
            self._noted = len(self.conversation.messages)
        try:
            return await self._session.send_with_tools(
                None, self.tools.choose(), tool_choice=tool_choice, on_event=self._take_event
            )
        except ProviderError as error:
            self._left_out.add_if_too_long(error, self._session.answering)
            raise

    async def _repeat_if_a_call_is_cut(self, cut: LlmResponse) -> LlmResponse:
        """Repeat the request with more room if its answer ended in the middle of a call, and return the answer.

        Where the model cannot give more, it is the answer as it was.
        """
        tokens = self._compute_larger_output(cut)
        if tokens is None:
            return cut
        await run_shielded(self._drop(cut, tokens))
        try:
            return await self._session.send_with_tools(
                None, self.tools.choose(), max_output_tokens=tokens, on_event=self._take_event
            )
        except ProviderError as error:
            if error.partial or error.kind not in (ProviderErrorKind.BAD_REQUEST, ProviderErrorKind.TOO_LONG):
                raise
            await self._events.record(
                ErrorOccurred(message=f"{self._session.answering} gives no longer answer: {error}")
            )
            counted = replace(cut, usage=Usage())
            self.conversation.add_response(counted)
            return counted

    def _compute_larger_output(self, cut: LlmResponse) -> int | None:
        """Return how many tokens to ask for instead; None if the answer needs no more, or there are no more."""
        if cut.stop_reason.kind is not StopKind.MAX_TOKENS or not cut.holds_calls:
            return None
        larger = compute_larger_output(self._session.answering, cut.usage.output, least=LEAST_FOR_A_CALL)
        if self._context_keeper is not None:
            room = self._context_keeper.answer_room(self._session.answering)
            larger = larger if room is None else min(larger, room)
        return larger if larger > cut.usage.output else None

    async def _drop(self, cut: LlmResponse, tokens: int) -> None:
        """Leave an answer out of the conversation; what it used is counted all the same."""
        await self.settle()
        messages = self.conversation.messages
        match messages:
            case (*before, AssistantMessage(response)) if response == cut.without_unfinished_calls():
                self.conversation.restore(before)
        self._noted = len(self.conversation.messages)
        model, usage = self._session.answering, cut.usage
        cost = self._prices.compute_cost(model, usage)
        self._dropped.append((usage, cost))
        self._events.note(UsageCounted(model=model, usage=usage, cost_usd=cost))
        self._events.note(RequestRepeated(max_output_tokens=tokens))

    async def _apply_response(self, response: LlmResponse) -> Answered:
        answered = await run_shielded(self._accept_answer(response))
        self._unreturned = None
        return answered

    async def _accept_answer(self, response: LlmResponse) -> Answered:
        self._stream.flush()  # an answer that broke off is complete on the screen before it is recorded
        if self._secrets is not None:
            for call in response.tool_calls():
                self._secrets.learn_from_call(call.arguments)  # before the answer that holds it is recorded
        await self.settle()
        self._events.note(ResponseCompleted(turn_index=self.responses, response=response))
        model, usage = self._session.answering, response.usage
        cost = self._prices.compute_cost(model, usage)
        self._events.note(UsageCounted(model=model, usage=usage, cost_usd=cost))
        if self._context_keeper is not None and (
            warning := self._context_keeper.explain_low_count(model, usage)
        ):
            self._events.note(ErrorOccurred(message=warning))
        self.responses += 1
        self._last_kept = response.without_unfinished_calls()
        self._unreturned = Answered(response, cost)
        return self._unreturned


def _find_last_answer(messages: Sequence[Message]) -> LlmResponse | None:
    last = messages[-1] if messages else None
    return last.response if isinstance(last, AssistantMessage) else None

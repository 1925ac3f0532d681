"""The messages between a run and its model: each one is recorded before the request that sends it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from typing import Protocol, TypeVar

from msgspec import UNSET

from quorum.application.cancellation import run_shielded
from quorum.application.conversation_session import CONTINUE_PROMPT, ArrivingAnswer
from quorum.application.event_bus import EventBus, StreamEvents
from quorum.application.ports.models import LlmExchange, LlmRequest, ToolChoice
from quorum.application.ports.workspace import SecretFinder
from quorum.application.steering import PendingMessages
from quorum.application.structured_answer import ASKED_AGAIN, render_empty_answer_reply
from quorum.application.turn.attachments import Mentions
from quorum.application.turn.run_tally import RunTally
from quorum.application.turn.switchable_session import SwitchableSession
from quorum.application.turn.tool_prefix import ToolPrefix
from quorum.domain.calls.command_end import COMMAND_NOTE
from quorum.domain.calls.server_tools import OfferedTools
from quorum.domain.calls.tool import ToolResultMessage, may_hold_call
from quorum.domain.conversation.context_size import LEAST_FOR_A_CALL, compute_larger_output
from quorum.domain.conversation.cost import PriceTable
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import (
    AssistantMessage,
    Conversation,
    Message,
    ToolResults,
    UserMessage,
    list_attachments,
    select_unanswered,
)
from quorum.domain.conversation.response import (
    TOOL_USE,
    LlmResponse,
    StopKind,
    StreamEvent,
    StreamRetry,
    ToolUseBlock,
    Usage,
)
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import (
    AnswerBrokeOff,
    AttachmentLeftOut,
    CallLeaked,
    EmptyAnswerReceived,
    MessageAdded,
    NoticeGiven,
    RequestRepeated,
    ResponseCompleted,
    SchemasMadePlain,
    UsageCounted,
)
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject

# Seconds before each time that an answer which breaks off is asked for again where nobody is there.
_DELAYS = (0.0, 2.0, 4.0, 8.0)
_LONGEST_DELAY_SECS = 60.0
_TOO_LONG = "left out, as the request with it was too long for {model}"


_SHORT = 1_500


def _shows_work(message: Message) -> bool:
    """Whether a message holds what was done: a result, an attachment, or a text that is no mere task."""
    match message:
        case ToolResults():
            return True
        case UserMessage():
            is_more = bool(message.attachments or message.files) or len(message.text) > _SHORT
            return is_more or message.text.startswith(COMMAND_NOTE)
        case AssistantMessage():
            return False


class LeftOutAttachments:
    """Records what sessions note in `left_out` of their conversation, so that a later process knows it, too."""

    def __init__(self, conversation: Conversation, events: EventBus) -> None:
        self._conversation = conversation
        self._events = events
        self._recorded = set(conversation.left_out)

    def record(self) -> None:
        for (model, sha256), reason in self._conversation.left_out.items():
            if (model, sha256) in self._recorded:
                continue
            attached = list_attachments(self._conversation.messages)
            label = next((each.label for each in attached if each.sha256 == sha256), "an attachment")
            self._events.note(AttachmentLeftOut(model=model, sha256=sha256, label=label, reason=reason))
        self._recorded.update(self._conversation.left_out)

    def add_if_too_long(self, error: ProviderError, model: str) -> None:
        """Leave out what was attached since the last answer, where a request was too long and no room can be
        made: later requests were too long as well otherwise. Raises ProviderError, which says so."""
        left_out = self._conversation.left_out
        attached = list_attachments(select_unanswered(self._conversation.messages))
        new = [each for each in attached if (model, each.sha256) not in left_out]
        if error.kind is not ProviderErrorKind.TOO_LONG or error.partial or not new:
            return
        left_out.update({(model, each.sha256): _TOO_LONG.format(model=model) for each in new})
        text = f"{error}; later requests to {model} go without {', '.join(each.label for each in new)}"
        raise ProviderError(text, kind=error.kind, status=error.status, request_id=error.request_id) from error


_Said = TypeVar("_Said", UserMessage, ToolResults)

_LEAKED = (
    "Your last answer was a call of {tool} written as text, so nothing ran. Call the tool itself if that is "
    "what you want; otherwise answer in words."
)
_LEAKED_UNKNOWN = (
    "Your last answer was a call written as text, so nothing ran; and {absence}. Call one of them if that is "
    "what you want; otherwise answer in words."
)


class ContextKeeper(Protocol):
    """Keeps a conversation within its model's window."""

    async def compact_if_full(self, model: str, upcoming: Message | None) -> None:
        """Compact the conversation if a request with this message would come too near to the window."""
        ...

    def fit_results(self, model: str, results: ToolResults) -> ToolResults:
        """Return the results, shortened where a request with them would not fit the window."""
        ...

    def answer_room(self, model: str) -> int | None:
        """Return the most tokens that an answer to the conversation can have; None where that is not known."""
        ...

    def find_known_window(self, model: str) -> int | None:
        """Return the tokens of the window; None where they are not known."""
        ...

    def fits_window(self, model: str, upcoming: Message) -> bool:
        """Return whether a request with this message fits the window, as far as that is known."""
        ...

    async def compact_after(self, model: str, usage: Usage) -> None:
        """Compact it after an answer that is not in it, of a request that took as much as this says."""
        ...

    def explain_low_count(self, model: str, usage: Usage) -> str:
        """Return what to tell the person where the first request was not read whole; empty where it was."""
        ...

    async def make_room(self, model: str, error: ProviderError) -> bool:
        """Compact it if the request was refused for its length. Returns whether to try again."""
        ...


class Dialogue:
    """Sends the messages of a run and takes the answers, one at a time.

    A message is recorded and in `conversation` before the request that sends it, and an answer is both, and
    counted in the tally of the turn, before it is returned; `responses` counts all of the session. A request
    that brings results carries all of the `pending_messages` that wait; those about commands are said before a
    turn begins, too. `system` and `get_effort` are for each request as they are then. `is_attended`: a person
    is there who sees how a turn ends.
    """

    def __init__(  # noqa: PLR0913 - what a message passes on its way meets here
        self,
        *,
        session: SwitchableSession,
        conversation: Conversation,
        tools: ToolPrefix,
        events: EventBus,
        prices: PriceTable,
        system: Callable[[], str] = lambda: "",
        get_effort: Callable[[str], Effort] = lambda _model: Effort.DEFAULT,
        context_keeper: ContextKeeper | None = None,
        secrets: SecretFinder | None = None,
        pending_messages: PendingMessages | None = None,
        mentions: Mentions | None = None,
        is_attended: Callable[[], bool] = lambda: True,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._is_attended, self._sleep = is_attended, sleep
        self.tools = tools
        self._mentions = mentions
        self.pending_messages = pending_messages if pending_messages is not None else PendingMessages()
        self.responses = events.state.responses
        self.conversation = conversation
        self._session = session
        self._system = system
        self._get_effort = get_effort
        self._events = events
        self._stream = StreamEvents(events.show)
        self._prices = prices
        self._context_keeper = context_keeper
        self._secrets = secrets
        self._left_out = LeftOutAttachments(conversation, events)
        self._held: UserMessage | None = None
        self._last_asked: tuple[LlmExchange, tuple[JsonObject, ...]] | None = None

    def _take_event(self, event: StreamEvent) -> None:
        """Show what arrives. A tool that was refused is offered no more; the person reads what is left out."""
        if isinstance(event, StreamRetry) and event.is_lasting:
            model = self._session.answering
            if event.without_tool:
                self.tools.refuse(model, event.without_tool)
                self._events.note(NoticeGiven(message=event.reason))
            else:
                self._events.note(SchemasMadePlain(message=event.reason, model=model))
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

    async def say(
        self, content: str | UserMessage | None, tally: RunTally, *, continues: bool = False
    ) -> LlmResponse:
        """Send a message, or continue the conversation as it is; `continues` the text that was cut off. A
        message of the person gets the files that it mentions. Raises ProviderError and LedgerError."""
        self._held = None
        match content:
            case UserMessage():
                await self._announce(content, self._attach_files)
            case str():
                await self._announce(UserMessage(content))
            case None:
                await self._make_room(None)
        return await self._ask(tally, continues=continues)

    async def give(
        self, results: Sequence[ToolResultMessage], tally: RunTally, *, tool_choice: ToolChoice = "auto"
    ) -> LlmResponse:
        """Send the results of the open calls, and after them the pending messages, unless this is the last
        request of a turn: no tool may be called then. Raises ProviderError and LedgerError."""
        await self._announce(ToolResults(tuple(results)))
        if tool_choice == "auto" and self.pending_messages.any_waiting:
            await self._say_pending(steering=True)
            await self._make_room(None)
        return await self._ask(tally, tool_choice)

    async def call(self, said: UserMessage, calls: Sequence[ToolUseBlock]) -> LlmResponse:
        """Say a message and have the answer be these calls, without asking the model. Raises LedgerError."""
        self._held = None
        await self._append(MessageAdded(message=said))
        return self._put_answer(LlmResponse(content=tuple(calls), stop_reason=TOOL_USE))

    async def conclude_call(
        self, results: Sequence[ToolResultMessage], text: str, *, is_notice: bool = False
    ) -> LlmResponse:
        """Add the results of such calls, and this text as the answer to them, which may be a notice."""
        await self.add(ToolResults(tuple(results)))
        return self._put_answer(LlmResponse.from_text(text), is_notice=is_notice)

    async def say_pending(self) -> None:
        """Say what waits for the next request, which no results go with."""
        if self.pending_messages.any_waiting:
            await self._say_pending(steering=True)
            await self._make_room(None)

    def is_claim(self, response: LlmResponse) -> bool:
        """Whether an answer tells of work as done that the person plainly asked for, in a session in which no
        tool has run, nor a command of the person, who has shown nothing either that it may be about. Agent
        programs have tools of their own, and while a plan is made nothing is to be done."""
        messages = self.conversation.messages
        answers = sum(isinstance(message, AssistantMessage) for message in messages)
        if response.program is not UNSET or not self.tools.schemas or answers < self.responses:
            return False
        if self._events.phase.is_planning or any(map(_shows_work, messages)):
            return False
        said = [message.text for message in messages if isinstance(message, UserMessage)]
        prompt = next((text for text in reversed(said) if not text.startswith(ASKED_AGAIN)), "")
        from quorum.domain.textual_calls.claims import asks_for_work, claims_work

        return asks_for_work(prompt) and claims_work(response.text_content())

    def note_leaked_call(self, response: LlmResponse) -> CallLeaked | None:
        """Note that an answer calls a tool in its text, which never runs; None where it does not."""
        if response.holds_calls:
            return None
        text = response.text_content()
        if not may_hold_call(text):
            return None
        from quorum.domain.textual_calls.forms import list_argument_schemas
        from quorum.domain.textual_calls.leaked_call import find_leaked_call

        leaked = find_leaked_call(text, list_argument_schemas(self.tools.schemas))
        if leaked is None:
            return None
        provider = self._session.answering.partition("/")[0]
        event = CallLeaked(tool=leaked.tool, parser=leaked.parser, provider=provider)
        self._events.note(event)
        return event

    def reply_to_leaked_call(self, leaked: CallLeaked) -> str:
        """Return what to tell the model whose answer calls a tool in its text."""
        names = tuple(str(schema["name"]) for schema in self.tools.schemas)
        if leaked.tool in names:
            return _LEAKED.format(tool=leaked.tool)
        return _LEAKED_UNKNOWN.format(absence=OfferedTools(names).explain_absence(leaked.tool))

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
        if self._held is not None and not self.conversation.open_calls:
            await self._say_pending(steering=False)

    async def _say_pending(self, *, steering: bool) -> None:
        while (word := self.pending_messages.pop(steering=steering)) is not None:
            if word.said.of_call and not self._is_named(word.said):
                continue  # the turn was taken back, or a hook has withheld the result
            said = word.said
            try:
                said = await self._attach_files(said) if word.steers else said
            finally:
                await self._append(
                    MessageAdded(
                        message=said,
                        steers=word.steers,
                        command_id=word.command_id,
                        is_notice=word.is_notice,
                    )
                )

    def _is_named(self, message: UserMessage) -> bool:
        """Whether the result of its call names what the message brings."""
        return any(
            result.tool_use_id == message.of_call and message.text in result.output
            for past in reversed(self.conversation.messages)
            if isinstance(past, ToolResults)
            for result in past.results
        )

    async def _attach_files(self, message: UserMessage) -> UserMessage:
        return message if self._mentions is None else await self._mentions.attach(message)

    def hold(self, message: UserMessage) -> None:
        """Say this message next; however the turn ends, it will be in the conversation and recorded."""
        self._held = message

    async def conclude(self) -> None:
        """Add the message that is held, where the turn broke off before it was said."""
        if self._held is not None:
            await self.add(self._held)
        self._left_out.record()

    async def add(self, message: UserMessage | ToolResults) -> None:
        """Add a message to the conversation without a request, even if it cannot be recorded."""
        self._held = None
        await run_shielded(self._add(message))

    async def _add(self, message: UserMessage | ToolResults) -> None:
        await self._events.record(MessageAdded(message=message))
        self._put(message)

    async def _announce(
        self,
        message: _Said,
        attach: Callable[[_Said], Awaitable[_Said]] | None = None,
    ) -> None:
        """Record a message that the next request sends, once there is room for it. Where that breaks off, it is
        added all the same, as it is by then."""
        upcoming: UserMessage | ToolResults = message
        try:
            if attach is not None:
                upcoming = await attach(message)
            await self._make_room(upcoming)
            if self._context_keeper is not None and isinstance(upcoming, ToolResults):
                upcoming = self._context_keeper.fit_results(self._session.serving, upcoming)
        except BaseException:
            await self.add(upcoming)
            raise
        await self._append(MessageAdded(message=upcoming))

    async def _append(self, event: MessageAdded) -> None:
        try:
            await self._events.announce(event)
        finally:
            self._put(event.message)

    def _put(self, message: UserMessage | ToolResults) -> None:
        match message:
            case UserMessage():
                self.conversation.add_user(message)
            case ToolResults(results):
                self.conversation.add_results(results)

    def return_to(self, messages: Sequence[Message]) -> None:
        """Make this the whole conversation, as when rewinding. Raises ConversationError."""
        self.conversation.restore(messages)

    async def has_room_for(self, text: str) -> bool:
        """Whether a request with this prompt fits the window, once room was made for it."""
        prompt = UserMessage(text)
        await self._make_room(prompt)
        keeper = self._context_keeper
        return keeper is None or keeper.fits_window(self._session.serving, prompt)

    async def _make_room(self, upcoming: UserMessage | ToolResults | None) -> None:
        if self._context_keeper is not None:
            await self._context_keeper.compact_if_full(self._session.serving, upcoming)

    async def _ask(
        self, tally: RunTally, tool_choice: ToolChoice = "auto", *, continues: bool = False
    ) -> LlmResponse:
        """Send the conversation, again with more room for the question or the answer where that helps, and
        where the stream of the answer broke off."""
        breaks, may_make_room = 0, self._context_keeper is not None
        while True:
            asked = self.conversation.messages
            try:
                response = await self._request(tally, tool_choice, continues=continues)
                break
            except ProviderError as error:
                if self._may_repeat(error, breaks):
                    breaks += 1
                    continues = await self._prepare_continuation(error, asked, breaks) or continues
                elif may_make_room and await self._make_room_for(error):
                    may_make_room = False
                else:
                    self._left_out.add_if_too_long(error, self._session.answering)
                    raise
        if tool_choice == "auto":
            response, continues = await self._repeat_if_a_call_is_cut(response, tally, continues=continues)
        await run_shielded(self._accept(response, tally, continues=continues))
        return response

    def _may_repeat(self, error: ProviderError, breaks: int) -> bool:
        """Whether to ask again after so many breaks: once where somebody is there, who can retry."""
        most = 1 if self._is_attended() else len(_DELAYS)
        return breaks < most and (error.broke_off or (breaks > 0 and error.retryable))

    async def _prepare_continuation(
        self, error: ProviderError, asked: Sequence[Message], breaks: int = 1
    ) -> bool:
        """Make ready for the rest of an answer that broke off. Returns whether any text of it is kept."""
        self._stream.flush()
        is_kept = len(self.conversation.messages) > len(asked)
        broke_off = AnswerBrokeOff(reason=str(error), is_kept=is_kept)
        if self._is_attended():
            self._events.note(broke_off)
        else:
            delay = min(max(_DELAYS[breaks - 1], error.retry_after or 0.0), _LONGEST_DELAY_SECS)
            self._events.note(replace(broke_off, attempt=breaks, attempts=len(_DELAYS), delay_secs=delay))
            await self._sleep(delay)
        if is_kept:
            await self._announce(UserMessage(CONTINUE_PROMPT))
        return is_kept

    async def _make_room_for(self, error: ProviderError) -> bool:
        keeper = self._context_keeper
        return keeper is not None and await keeper.make_room(self._session.answering, error)

    async def _request(
        self,
        tally: RunTally,
        tool_choice: ToolChoice = "auto",
        max_output_tokens: int | None = None,
        *,
        continues: bool = False,
    ) -> LlmResponse:
        """Send the conversation. Of an answer that breaks off, what has arrived is accepted."""
        limits = iter((max_output_tokens,))  # another model has limits of its own
        keeper = self._context_keeper

        async def build(exchange: LlmExchange) -> LlmRequest:
            tools = await self.tools.choose()
            await self._add_continuation(exchange, tools)
            self._last_asked = exchange, tools
            return LlmRequest(
                messages=self.conversation.messages,
                system=self._system(),
                tools=tools,
                tool_choice=tool_choice,
                max_output_tokens=next(limits, None),
                window=keeper.find_known_window(exchange.model) if keeper is not None else None,
                effort=self._get_effort(exchange.model),
                left_out=self.conversation.left_out,
                plain_schemas=self.conversation.plain_schemas,
                withheld=self.tools.withheld,
            )

        arriving = ArrivingAnswer(self._take_event)
        try:
            response = await self._session.ask(build, arriving)
        except (ProviderError, asyncio.CancelledError) as failure:
            partial = arriving.build_partial(self._session.answering, failure)
            if partial is not None:
                await run_shielded(self._accept(partial, tally, continues=continues))
            else:
                self._count_lost(arriving, tally)
            raise
        self._count_lost(arriving, tally)
        return response

    def _count_lost(self, arriving: ArrivingAnswer, tally: RunTally) -> None:
        """Count what was used by answers of which nothing is kept."""
        if arriving.used != Usage():
            tally.count(arriving.used, self._count(arriving.used))

    async def _add_continuation(self, exchange: LlmExchange, tools: tuple[JsonObject, ...]) -> None:
        """Ask for it where an answer is to be continued that another model began, or with other tools."""
        messages = self.conversation.messages
        if self._last_asked is not None and (self._last_asked[0] is exchange and self._last_asked[1] == tools):
            return
        if messages and isinstance(messages[-1], AssistantMessage):
            await self.add(UserMessage(CONTINUE_PROMPT))

    async def _repeat_if_a_call_is_cut(
        self, cut: LlmResponse, tally: RunTally, *, continues: bool
    ) -> tuple[LlmResponse, bool]:
        """Repeat the request with more room if its answer ended in the middle of a call, and once more if that
        breaks off. Returns the answer, and whether it continues another.

        Where the model cannot give more, it is the answer as it was, which is counted already.
        """
        if self._context_keeper is not None and _is_cut_in_call(cut):
            await self._context_keeper.compact_after(self._session.answering, cut.usage)
        tokens = self._compute_larger_output(cut)
        if tokens is None:
            return cut, continues
        self._stream.flush()
        tally.count(cut.usage, self._count(cut.usage))
        self._events.note(RequestRepeated(max_output_tokens=tokens))
        asked = self.conversation.messages
        try:
            return await self._request(tally, max_output_tokens=tokens, continues=continues), continues
        except ProviderError as error:
            if error.broke_off:
                continues = await self._prepare_continuation(error, asked) or continues
                return await self._request(tally, max_output_tokens=tokens, continues=continues), continues
            if error.partial or error.kind not in (ProviderErrorKind.BAD_REQUEST, ProviderErrorKind.TOO_LONG):
                raise
            await self._events.record(
                NoticeGiven(message=f"{self._session.answering} gives no longer answer: {error}")
            )
            return replace(cut, usage=Usage()), continues

    def _compute_larger_output(self, cut: LlmResponse) -> int | None:
        """Return how many tokens to ask for instead; None if the answer needs no more, or there are no more."""
        if not _is_cut_in_call(cut):
            return None
        larger = compute_larger_output(self._session.answering, cut.usage.output, least=LEAST_FOR_A_CALL)
        if self._context_keeper is not None:
            room = self._context_keeper.answer_room(self._session.answering)
            larger = larger if room is None else min(larger, room)
        return larger if larger > cut.usage.output else None

    async def _accept(self, response: LlmResponse, tally: RunTally, *, continues: bool = False) -> None:
        """Put an answer into the conversation, onto the record and into the tally, in one step."""
        self._stream.flush()  # an answer that broke off is complete on the screen before it is recorded
        self._record_answer(response)
        cost = self._count(response.usage)
        if self._context_keeper is not None and (
            warning := self._context_keeper.explain_low_count(self._session.answering, response.usage)
        ):
            self._events.note(NoticeGiven(message=warning))
        self.responses += 1
        tally.add_response(response, cost, continues=continues)

    def _put_answer(self, response: LlmResponse, *, is_notice: bool = False) -> LlmResponse:
        """The same for one that no model gave, and which is in no tally."""
        self._record_answer(response, is_notice=is_notice)
        self.responses += 1
        return response

    def _record_answer(self, response: LlmResponse, *, is_notice: bool = False) -> None:
        if self._secrets is not None:
            for call in response.tool_calls():
                self._secrets.learn_from_call(call.arguments)  # before the answer that holds it is recorded
        self.conversation.add_response(response)
        self._left_out.record()
        self._events.note(ResponseCompleted(turn_index=self.responses, response=response, is_notice=is_notice))

    def _count(self, usage: Usage) -> Decimal | None:
        """Record what an answer used. Returns its cost, where that is known."""
        model = self._session.answering
        counted = UsageCounted.of(model, usage, self._prices)
        self._events.note(counted)
        return counted.cost_usd


def _is_cut_in_call(response: LlmResponse) -> bool:
    return response.stop_reason.kind is StopKind.MAX_TOKENS and response.holds_calls

"""What happens between a prompt and the end of its turn, but for the calls: messages, requests and answers."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import UNSET, UnsetType

from quorum.domain.conversation.cost import PriceTable, SpendCap, Spending
from quorum.domain.conversation.history import Message, ToolResults, UserMessage
from quorum.domain.conversation.response import LlmResponse, Usage
from quorum.domain.errors import ProviderErrorKind
from quorum.domain.events.report import ReportedEnd
from quorum.domain.fact import CanonicalPlace, Fact, PersonInput
from quorum.domain.instructions.custom_command import ExpandedCommand
from quorum.domain.struct_json import Amount
from quorum.domain.text.amounts import format_amount


class PromptsQueued(PersonInput, frozen=True, kw_only=True, tag="prompts_queued"):
    """What the person has sent and no request carries yet, oldest first: all of it, in place of what this event
    said before.

    A prompt leaves the list with its `TurnStarted`, a word said into a running turn with its `MessageAdded`.
    The prompt of a turn that is taken back joins it, for it comes back to be edited.
    """

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    prompts: tuple[str, ...]

    @property
    def is_said(self) -> bool:
        """A queue that was emptied says nothing."""
        return bool(self.prompts)


class TurnStarted(PersonInput, frozen=True, kw_only=True, tag="turn_started"):
    """A turn started with the person's prompt. If it is empty, the turn continues the conversation as it is.

    `command`: the prompt is a custom slash command, and this is what the model reads in its place.
    """

    prompt: str
    command: ExpandedCommand | None = None

    @property
    def is_said(self) -> bool:
        """A turn that continues another was asked for by whoever asked for that."""
        return bool(self.prompt)


class MessageAdded(PersonInput, frozen=True, kw_only=True, tag="message_added"):
    """This message is part of the conversation now; a request with it may follow. Answers come with
    `ResponseCompleted`.

    `steers`: the person said it into the turn that was running. `command_id`: it tells of that command, which
    they had run themselves. `is_notice`: quorum says it, of what has changed.
    """

    message: UserMessage | ToolResults
    steers: bool = False
    command_id: str | None = None
    is_notice: bool = False

    @property
    def is_said(self) -> bool:
        """The prompt of a turn, and what commands printed, was said by who began those."""
        return self.steers


class ConversationCompacted(Fact, frozen=True, kw_only=True, tag="conversation_compacted"):
    """The first `replaced` messages of the conversation gave way to these.

    `what` was shortened: the outputs of tools, or all of it to a summary. Tokens are those of the whole
    request, as far as they are known; `focus` is what the person asked to keep in view; `blobs` are the outputs
    that were kept aside for it.
    """

    what: Literal["outputs", "summary"]
    replaced: int
    by: tuple[Message, ...]
    tokens_before: int
    tokens_after: int
    focus: str | None = None
    blobs: tuple[str, ...] = ()


class TextDelta(Fact, frozen=True, kw_only=True, tag="text_delta"):
    """A piece of answer text arrived."""

    durable: ClassVar = False
    text: str


class ReasoningDelta(Fact, frozen=True, kw_only=True, tag="reasoning_delta"):
    """A piece of readable reasoning arrived."""

    durable: ClassVar = False
    text: str


class ToolCallDelta(Fact, frozen=True, kw_only=True, tag="tool_call_delta"):
    """A piece of a call arrived."""

    durable: ClassVar = False
    index: int
    id: str | None
    name: str | None
    arguments_delta: str


class PromptProgressed(Fact, frozen=True, kw_only=True, tag="prompt_progressed"):
    """The model's server has read so many of the `total` tokens of the prompt."""

    durable: ClassVar = False
    read: int
    total: int

    @property
    def percent(self) -> int:
        """How much of it that is, in hundredths; all of an empty one."""
        return self.read * 100 // self.total if self.total else 100


class RetryScheduled(Fact, frozen=True, kw_only=True, tag="retry_scheduled"):
    """A request failed before its first byte and will be sent again: for the `attempt`-th time of `attempts`.

    `reason` is a sentence; `kind` says the same in a word, where it is known; `is_loading`: the server loads
    the model.
    """

    durable: ClassVar = False
    attempt: int
    delay_secs: float
    reason: str
    attempts: int | None = None
    kind: ProviderErrorKind | None = None
    is_loading: bool = False


class ResponseCompleted(Fact, frozen=True, kw_only=True, omit_defaults=True, tag="response_completed"):
    """An answer arrived whole, or as much of it as will ever come. `is_notice`: no model gave it; quorum tells
    the next one something in its place that the person reads of otherwise."""

    turn_index: int
    response: LlmResponse
    is_notice: bool = False


class RequestRepeated(Fact, frozen=True, kw_only=True, tag="request_repeated"):
    """An answer was cut off in the middle of a call by its output limit, and is no part of the conversation.

    The same request is sent once more, for an answer of up to `max_output_tokens`.
    """

    is_warning: ClassVar = True
    max_output_tokens: int

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        return (
            "the answer was cut off in the middle of a call by its output limit; it is asked for once more, "
            f"with up to {format_amount(self.max_output_tokens, 'token')}"
        )


class AnswerBrokeOff(Fact, frozen=True, kw_only=True, tag="answer_broke_off"):
    """The stream of an answer ended before the answer was whole; none of its calls ran.

    The text that arrived `is_kept`, and the model continues it; where none arrived, the same request is sent
    once more. If that answer breaks off, too, the turn has failed, unless nobody is there: then this is the
    `attempt`-th of at most `attempts`, made after `delay_secs`. `reason` is a sentence.
    """

    is_warning: ClassVar = True
    reason: str
    is_kept: bool
    attempt: int | UnsetType = UNSET
    attempts: int | UnsetType = UNSET
    delay_secs: float | UnsetType = UNSET

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        consequence = "the model continues it" if self.is_kept else "it is asked for once more"
        if self.attempt:
            consequence += f" (attempt {self.attempt} of {self.attempts}, in {self.delay_secs:g} s)"
        return f"the answer broke off, and {consequence}: {self.reason}"


class CallLeaked(Fact, frozen=True, kw_only=True, omit_defaults=True, tag="call_leaked"):
    """The last answer called this tool in its text, and not as a call.

    The call does not run. The model gets one message that says so. The turn has failed where the model does the
    same once more, or makes no call at all. `parser` is the value of `tool_parser` with which such calls of the
    `provider` are read, or "" where none reads them.
    """

    is_warning: ClassVar = True
    tool: str
    parser: str = ""
    provider: str = ""

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        call = f"a call of {self.tool} written as text"
        return f"that is no answer but {call}; nothing ran, and the model is notified; {self.remedy}"

    @property
    def reason(self) -> str:
        """Why a turn that ends with it has failed."""
        return f"the model wrote a call of {self.tool} as text, so nothing ran; {self.remedy}"

    @property
    def remedy(self) -> str:
        """What helps, as a clause."""
        if self.parser and self.provider:
            setting = f'[providers.{self.provider}] tool_parser = "{self.parser}"'
            return f"{setting} has such calls read (F8 in the app writes it)"
        return "docs/local-models.md says which servers and models make calls"


class EmptyAnswerReceived(Fact, frozen=True, kw_only=True, tag="empty_answer_received"):
    """The last answer held no words and no call that can run; `lack` says what it held instead.

    The model gets a message that says so, and is asked once more.
    """

    is_warning: ClassVar = True
    lack: str

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        return f"the model's answer is none: {self.lack}; it is asked once more"


class AttachmentLeftOut(Fact, frozen=True, kw_only=True, tag="attachment_left_out"):
    """A model did not take an attachment, and later requests to it only name it.

    `reason` begins with "left out".
    """

    model: str
    sha256: str
    label: str
    reason: str

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        return f"{self.label} is {self.reason}; later requests to {self.model} go without it"


class UsageCounted(Fact, frozen=True, kw_only=True, tag="usage_counted"):
    """Tokens of one request became known. `cost_usd` is None where the price of the model is not known, and
    nothing where a plan pays for it, `by_plan`."""

    place: ClassVar = CanonicalPlace.BY_CHANCE
    model: str
    usage: Usage
    cost_usd: Amount | None = None
    by_plan: bool | UnsetType = UNSET  # as earlier records have it

    @classmethod
    def of(cls, model: str, usage: Usage, prices: PriceTable) -> UsageCounted:
        """What a request to "provider/model" used, at these prices."""
        cost, by_plan = prices.compute_cost(model, usage), prices.is_by_plan(model)
        return cls(model=model, usage=usage, cost_usd=cost, by_plan=by_plan or UNSET)

    def add_to(self, spending: Spending) -> Spending:
        """What was spent with this request."""
        return spending.with_request(self.usage, self.cost_usd, by_plan=bool(self.by_plan))


class SpendCapRaised(Fact, frozen=True, kw_only=True, tag="spend_cap_raised"):
    """The person raised a spend cap, in US dollars or tokens: by so much, to this limit.

    A cap of the session stays raised; one of a turn only for that turn.
    """

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    cap: SpendCap
    by: Amount
    limit: Amount


class TurnFinished(ReportedEnd, frozen=True, kw_only=True, tag="turn_finished"):
    """The answer to a prompt ended."""

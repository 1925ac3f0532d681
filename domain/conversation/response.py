"""What a model answers: content blocks, why it stopped, what it used, and its pieces as they arrive."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field

from quorum.domain.calls.server_tools import read_indirect_call
from quorum.domain.calls.tool import ToolCall
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.replacing import replace
from quorum.domain.text.json_text import name_json_type
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.pattern import compile_once
from quorum.domain.text.printable import has_visible_text

_THOUGHTS = r"(?is)(?:\s*<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z))+"
# marks that end a turn, and that some servers leave in the text
_END_MARKS = r"\s*(?:(?:<\|[a-zA-Z_]{1,30}\|>|<[｜|][a-z▁]{1,30}[｜|]>|</s>|<eos>|<end_of_turn>)\s*)+"


def says_anything(text: str) -> bool:
    """Whether a text holds a character that can be seen, behind thoughts at its beginning, and no mere mark."""
    found = compile_once(_THOUGHTS).match(text)
    said = text[found.end() :] if found is not None else text
    return has_visible_text(said) and compile_once(_END_MARKS).fullmatch(said) is None


class TextBlock(Struct, frozen=True, tag="text"):
    """Plain text of the answer."""

    text: str


class ToolUseBlock(Struct, frozen=True, kw_only=True, tag="tool_use"):
    """A call the model asks for. `parse_error` is set when its arguments were not a JSON object; `repairs` say
    what of their text was read in another form."""

    id: str
    name: str
    input: JsonObject
    parse_error: str | None = None
    repairs: tuple[str, ...] = ()


class ReasoningBlock(Struct, frozen=True, kw_only=True, tag="reasoning"):
    """Reasoning in the provider's own form: it goes back unchanged to `provider` and to no other."""

    provider: str
    payload: JsonObject
    text: str = ""


class OpaqueBlock(Struct, frozen=True, kw_only=True, tag="opaque"):
    """A block we do not interpret (server tools, unknown kinds); kept and sent back like reasoning."""

    provider: str
    payload: JsonObject


ContentBlock: TypeAlias = TextBlock | ToolUseBlock | ReasoningBlock | OpaqueBlock


class StopKind(StrEnum):
    """The reasons to stop that the program acts on."""

    END_TURN = "end_turn"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"
    PAUSE = "pause"
    OTHER = "other"


class StopReason:
    """Why the model stopped; `detail` keeps the provider's word where the kind is OTHER."""

    __slots__ = ("detail", "kind")

    def __init__(self, kind: StopKind, detail: str | None = None) -> None:
        self.kind: Final = kind
        self.detail: Final = detail

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StopReason) and (self.kind, self.detail) == (other.kind, other.detail)

    def __hash__(self) -> int:
        return hash((self.kind, self.detail))

    def __repr__(self) -> str:
        return f"StopReason({self.kind!r}, {self.detail!r})"

    def __str__(self) -> str:
        return self.detail if self.kind is StopKind.OTHER and self.detail else self.kind.value

    def to_json(self) -> str:
        """One word; a provider's own that could be taken for one of ours says that it is none."""
        word = str(self)
        is_foreign = self.kind is StopKind.OTHER and self.detail
        return f"{_OTHER}{word}" if is_foreign and (word in _STOP_WORDS or word.startswith(_OTHER)) else word

    @classmethod
    def from_json(cls, value: JsonValue) -> StopReason:
        """The reason that is recorded as this word. Raises ValueError."""
        if not isinstance(word := value, str):
            raise ValueError(f"expected a string, found {name_json_type(value)}")
        if word.startswith(_OTHER):
            return cls(StopKind.OTHER, word.removeprefix(_OTHER))
        return cls(StopKind(word)) if word in _STOP_WORDS else cls(StopKind.OTHER, word)


_OTHER = "other: "
_STOP_WORDS = frozenset(kind.value for kind in StopKind)


END_TURN = StopReason(StopKind.END_TURN)
TOOL_USE = StopReason(StopKind.TOOL_USE)
MAX_TOKENS = StopReason(StopKind.MAX_TOKENS)
REFUSAL = StopReason(StopKind.REFUSAL)
PAUSE = StopReason(StopKind.PAUSE)

_OF_LENGTH = r"(?i)length|context|max_?(?:\w*_)?tokens?|token_limit"


def guess_stop_reason(word: str) -> StopReason:
    """The reason to stop that a provider's unknown word stands for: a limit, where it names one."""
    return MAX_TOKENS if compile_once(_OF_LENGTH).search(word) else StopReason(StopKind.OTHER, word)


# an answer in which a model makes up what a tool would have said
_INVENTED_RESULT = r"(?s)\s*<tool_(?:response|result|output)s?>.*</tool_(?:response|result|output)s?>\s*"
_OWN_ENDINGS = frozenset({StopKind.MAX_TOKENS, StopKind.REFUSAL, StopKind.PAUSE})


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens of one or more requests. `input` excludes what was read from or written to a cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            reasoning=self.reasoning + other.reasoning,
        )

    @property
    def context(self) -> int:
        """Tokens the request and its answer occupied in the model's window."""
        return self.input + self.cache_read + self.cache_write + self.output


class LlmResponse(Struct, frozen=True, kw_only=True):
    """One complete answer of a model. `program` names the agent program that was asked, with its version; it is
    not set where an API was asked, or where the program does not say."""

    content: tuple[ContentBlock, ...]
    stop_reason: StopReason
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    program: str | UnsetType = UNSET

    @classmethod
    def from_text(cls, text: str, *, model: str = "") -> LlmResponse:
        """An answer of text alone that ends the turn."""
        return cls(content=(TextBlock(text),), stop_reason=END_TURN, model=model)

    def text_content(self) -> str:
        """All text blocks joined."""
        return "".join(block.text for block in self.content if isinstance(block, TextBlock))

    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls to execute: none unless the model stopped in order to have tools run. A call of `call_tool`
        is one of the tool that it names: nothing but what is sent back to the model knows it otherwise."""
        if self.stop_reason.kind is not StopKind.TOOL_USE:
            return ()
        calls: list[ToolCall] = []
        thoughts: list[str] = []
        for block in self.content:
            if isinstance(block, ReasoningBlock) and block.text:
                thoughts.append(block.text)
            elif isinstance(block, ToolUseBlock):
                name, arguments = read_indirect_call(block.name, block.input) or (block.name, block.input)
                calls.append(
                    ToolCall(
                        tool_name=name,
                        arguments=arguments,
                        native_id=block.id,
                        reasoning="\n\n".join(thoughts) or None,
                        parse_error=block.parse_error,
                        repairs=block.repairs,
                    )
                )
                thoughts = []
        return tuple(calls)

    @property
    def holds_calls(self) -> bool:
        """Whether it asks for a call, be it one that was cut off."""
        return any(isinstance(block, ToolUseBlock) for block in self.content)

    def has_tool_calls(self) -> bool:
        """Whether there is anything to execute."""
        return bool(self.tool_calls())

    @property
    def has_words(self) -> bool:
        """Whether its text holds a character that can be seen, thoughts in it aside."""
        return says_anything(self.text_content())

    @property
    def lack(self) -> str | None:
        """What it lacks to be an answer, as a clause that begins with "it"; None where it lacks nothing.

        A limit, a refusal and a pause are endings of their own.
        """
        if self.has_tool_calls() or self.stop_reason.kind in _OWN_ENDINGS:
            return None
        if self.stop_reason.kind is StopKind.TOOL_USE:
            return "it stopped to call a tool, and called none"
        if compile_once(_INVENTED_RESULT).fullmatch(self.text_content()):
            return "it held nothing but the result of a tool, which no tool gave"
        if self.has_words:
            return None
        if self.holds_calls:
            return "it held no text, and no call that can be read"
        thinks_in_text = has_visible_text(self.text_content())
        if thinks_in_text or any(isinstance(block, ReasoningBlock) for block in self.content):
            return "it held reasoning alone, without text or a call"
        return "it held neither text nor a call"

    def mark_cut(self) -> LlmResponse:
        """The answer as one that was cut off, for servers that say that it ended. Its calls are whole, unless
        the arguments of the last one cannot be read, or are missing."""
        if self.stop_reason.kind is StopKind.TOOL_USE:
            calls = [block for block in self.content if isinstance(block, ToolUseBlock)]
            if calls and calls[-1].input and calls[-1].parse_error is None:
                return self
        return self if self.stop_reason.kind in _OWN_ENDINGS else replace(self, stop_reason=MAX_TOKENS)

    def without_unfinished_calls(self) -> LlmResponse:
        """The answer as it may enter the conversation: calls stay only where the stop reason is TOOL_USE."""
        if self.stop_reason.kind is StopKind.TOOL_USE:
            return self
        kept = (block for block in self.content if not isinstance(block, ToolUseBlock))
        return replace(self, content=_drop_empty_text(kept))


def _drop_empty_text(blocks: Iterable[ContentBlock]) -> tuple[ContentBlock, ...]:
    return tuple(b for b in blocks if not (isinstance(b, TextBlock) and not b.text))


class Delta(Struct, frozen=True):
    """A piece of answer text."""

    text: str


class StreamedReasoning(Struct, frozen=True):
    """A piece of readable reasoning."""

    text: str


class StreamedToolCall(Struct, frozen=True, kw_only=True):
    """A piece of a call. `id` and `name` come with the first piece of an index, and only there."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments_delta: str = ""


class StreamedPromptProgress(Struct, frozen=True, kw_only=True):
    """The server has read so many of the `total` tokens of the prompt; nothing of the answer is there yet."""

    read: int
    total: int


class StreamedUsage(Struct, frozen=True):
    """What the provider said until now that an answer used which will not be whole."""

    usage: Usage


class StreamRetry(Struct, frozen=True, kw_only=True):
    """The request failed before its first byte and will be sent again after `delay_secs`.

    It is the `attempt`-th repetition of at most `attempts`; `kind` says why it failed in a word, `is_loading`
    that the server loads the model. `without_tool` names a tool that was refused and is not offered again;
    `is_lasting`: what was refused is left out from now on, which the person reads.
    """

    attempt: int
    delay_secs: float
    reason: str
    attempts: int | None = None
    kind: ProviderErrorKind | None = None
    is_loading: bool = False
    without_tool: str = ""
    is_lasting: bool = False


class Completed(Struct, frozen=True):
    """The text answer is complete."""

    text: str


class CompletedResponse(Struct, frozen=True):
    """The structured answer is complete."""

    response: LlmResponse


class Error(Struct, frozen=True):
    """The request failed for good; the same error is raised to the caller."""

    error: ProviderError


StreamEvent: TypeAlias = (
    Delta
    | StreamedReasoning
    | StreamedToolCall
    | StreamedPromptProgress
    | StreamedUsage
    | StreamRetry
    | Completed
    | CompletedResponse
    | Error
)

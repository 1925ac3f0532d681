"""How full a model's window is, and how much room the parts of a shortened conversation get."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from quorum.domain.conversation.compaction import ContextBudget, SummaryRoom, is_summary
from quorum.domain.conversation.context_account import (
    ContextAccount,
    ContextKind,
    ContextShare,
    find_largest,
    split_into_pieces,
    sum_shares,
)
from quorum.domain.conversation.context_size import ContextMeter, estimate_bytes
from quorum.domain.conversation.history import AssistantMessage, Conversation, Message, list_attachments

_USUAL_WINDOW = 200_000
_PART_FOR_TOOLS = 10
_USUAL_LIMIT = 0.8
_NO_BOUND = 1 << 40
# Below this, a request that is refused as too long says nothing about the window.
_SMALLEST_WINDOW = 2_000
# No text that people write has so few tokens for its estimate, and no server reads so few of a longer one.
_LEAST_COUNTED = 0.4
_SMALLEST_COUNT = 200


class ContextUse(Struct, frozen=True, kw_only=True):
    """How full the window is, in tokens. `window` is None where it is not known, 0 where there is none."""

    tokens: int
    window: int | None


class ContextGauge:
    """Estimates what the next request takes of its model's window.

    `window` answers the tokens of a model's window: None where that is not known, 0 for a model that has none.
    `tool_bytes` answers those of the tools in every request; `instructions` answers the parts of the system
    prompt, the name and the bytes of each.
    """

    def __init__(
        self,
        conversation: Conversation,
        *,
        window: Callable[[str], int | None],
        budget: ContextBudget,
        tool_bytes: Callable[[], int] = lambda: 0,
        instructions: Callable[[], Sequence[tuple[str, int]]] = tuple,
    ) -> None:
        self._conversation = conversation
        self._known_window = window
        self._budget = budget
        self._meter = ContextMeter()
        self._tool_bytes = tool_bytes
        self._instructions = instructions
        self._measured: Message | None = None
        self._refused: dict[str, int] = {}
        self._served: dict[str, int] = {}

    def measure(self, model: str) -> ContextUse:
        """How full this model's window is, as far as it is known before the next request."""
        windows = (self._known_window(model), self._served.get(model), self._refused.get(model))
        known = [window for window in windows if window is not None]
        return ContextUse(tokens=self.estimate_request_tokens(None), window=min(known, default=None))

    def knows_window(self, model: str) -> bool:
        """Whether a window of this model is known without asking its server."""
        return self._known_window(model) is not None

    def take_served_window(self, model: str, tokens: int) -> None:
        """Take note that the server gives this model a window of so many tokens."""
        self._served[model] = tokens

    def find_window(self, model: str) -> int:
        """The tokens of a model's window, or what is taken for it; less where so much was refused."""
        window = self.measure(model).window
        return self._budget.assumed_window if window is None else window

    def compute_limit(self, window: int) -> int:
        """The tokens at which room is made in a window of this size."""
        return round((self._budget.compact_at or _USUAL_LIMIT) * window)

    def refuse(self, model: str, tokens: int) -> None:
        """Take note that so much was too long for this model."""
        if tokens >= _SMALLEST_WINDOW:
            self._refused[model] = min(tokens, self._refused.get(model, tokens))

    def estimate_request_tokens(self, upcoming: Message | None) -> int:
        """The tokens of a request with the conversation as it is and this message."""
        return self.estimate_tokens_after(self._conversation.messages, upcoming)

    def estimate_tokens_after(self, messages: Sequence[Message], upcoming: Message | None) -> int:
        """The tokens of a request with these messages and this one."""
        self._set_right()
        return self._meter.estimate_tokens(messages if upcoming is None else (*messages, upcoming))

    def build_account(self, model: str, *, automatic: bool, freed: int) -> ContextAccount:
        """What fills this model's window. `automatic`: room is made by itself at the limit."""
        use = self.measure(model)  # it sets the estimate right
        rate, window = self._meter.per_byte, self.find_window(model)
        pieces = tuple(split_into_pieces(self._conversation.messages))
        files = tuple(
            ContextShare(kind=ContextKind.INSTRUCTIONS, name=name, tokens=round(rate * size))
            for name, size in self._instructions()
            if name
        )
        tools = ContextShare(kind=ContextKind.TOOLS, tokens=round(rate * self._tool_bytes()))
        own = self._meter.fixed_tokens - sum(share.tokens for share in (*files, tools))
        fixed = (ContextShare(kind=ContextKind.INSTRUCTIONS, tokens=own), *files, tools)
        return ContextAccount(
            tokens=use.tokens,
            window=use.window or 0,
            limit=self.compute_limit(window) if automatic else 0,
            freed=freed,
            shares=(*fixed, *sum_shares(pieces, rate)),
            largest=find_largest(pieces, rate),
        )

    def estimate_bytes(self, tokens: float) -> int:
        """How many bytes of a conversation take so many tokens."""
        return round(tokens / self._meter.per_byte)

    def estimate_tokens(self, size: int) -> int:
        """How many tokens so many bytes of a conversation take."""
        return round(size * self._meter.per_byte)

    def compute_room_for_tools(self, model: str) -> int:
        """How many bytes the tools of servers may take in each request: a tenth of the window."""
        return self.estimate_bytes((self.find_window(model) or _USUAL_WINDOW) / _PART_FOR_TOOLS)

    def compute_room_for_files(self, model: str) -> int:
        """How many bytes may be attached to the next message: half of what is left below the limit, and a
        little where that is less, for room is made before the request."""
        if (window := self.find_window(model)) == 0:
            return _NO_BOUND
        limit = self.compute_limit(window)
        return self.estimate_bytes(max((limit - self.estimate_request_tokens(None)) / 2, limit / 20))

    def compute_room_for_document(self, model: str) -> int:
        """How many tokens a document that a tool reads may have: what is left below the limit."""
        if (window := self.find_window(model)) == 0:
            return _NO_BOUND
        return max(self.compute_limit(window) - self.estimate_request_tokens(None), 0)

    def compute_room(self, limit: int, upcoming: Message | None) -> SummaryRoom:
        """Parts that together stay well below the limit, whatever the next message takes."""
        taken = self._meter.per_byte * estimate_bytes((upcoming,)) if upcoming is not None else 0
        room = self.estimate_bytes(max(limit - self._meter.fixed_tokens - taken, limit / 4))
        return SummaryRoom(tail=round(0.35 * room), prompts=round(0.1 * room), summary=round(0.15 * room))

    def explain_low_count(self, model: str, tokens: int) -> str:
        """What to tell the person where the first answer of a conversation came to a request of which its
        server counted so few tokens that it cannot have read all of it; empty where that is not so."""
        messages = self._conversation.messages
        answers = [place for place, each in enumerate(messages) if isinstance(each, AssistantMessage)]
        sent = messages[: answers[0]] if answers else messages
        if len(answers) > 1 or tokens < _SMALLEST_COUNT or list_attachments(sent):
            return ""
        fixed_bytes = self._tool_bytes() + sum(size for _, size in self._instructions())
        estimate = ContextMeter(fixed_bytes).estimate_tokens(sent)
        if estimate < _SMALLEST_WINDOW or tokens >= _LEAST_COUNTED * estimate:
            return ""
        return (
            f"{model} counted {tokens:,} of some {estimate:,} tokens of the first request: its server drops "
            "tools or cuts the beginning. Start it with a larger context, and set window to that size in "
            f'[context_budget.models."{model}"]'
        )

    def _set_right(self) -> None:
        """Take what goes with every request as it is now, and correct the estimate by the newest answer that
        reported what it took.

        After a resume of a compacted conversation, it is not known whether that still holds.
        """
        self._meter.fixed_bytes = self._tool_bytes() + sum(size for _, size in self._instructions())
        newest = self._find_newest_answer()
        if newest is None or newest is self._measured:
            return
        messages = self._conversation.messages
        is_first, self._measured = self._measured is None, newest
        tokens = newest.response.usage.context
        if tokens and not (is_first and any(map(is_summary, messages))):
            end = max(place for place, message in enumerate(messages) if message is newest) + 1
            self._meter.learn_tokens(messages[:end], tokens)

    def _find_newest_answer(self) -> AssistantMessage | None:
        return next((m for m in reversed(self._conversation.messages) if isinstance(m, AssistantMessage)), None)

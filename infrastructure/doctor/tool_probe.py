"""What a model and its server do with tools: one tool is offered, then one call is forced."""

from __future__ import annotations

from msgspec import Struct

from quorum.domain.calls.tool_parser import ToolParser
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ProviderError
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.json_text import count_json_bytes
from quorum.domain.text.json_value import JsonObject
from quorum.domain.textual_calls.forms import list_argument_schemas
from quorum.domain.textual_calls.leaked_call import find_leaked_call
from quorum.infrastructure.doctor.finding import Finding, report_ok, warn
from quorum.infrastructure.models.registry import ProviderRegistry

_NAME = "read_file"
_PROMPT = f"Call the tool {_NAME} with the path README.md. Say nothing else."
_TOOL: JsonObject = {
    "name": _NAME,
    # long enough that a server which leaves it out counts plainly fewer tokens
    "description": (
        "Read a text file of the project and return its lines with their numbers. A path is relative to the "
        "working directory. A long file is returned in part; ask for the rest with offset and limit. The file "
        "is not changed by this, and nothing is returned for one that does not exist but an error that says so."
    ),
    "input_schema": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The path of the file, for example src/app.py."},
            "offset": {"type": "integer", "description": "The number of the first line to return, from 1."},
            "limit": {"type": "integer", "description": "How many lines to return at most."},
        },
        "required": ["path"],
    },
}
_TOOL_TOKENS = count_json_bytes(_TOOL) // 4
_DROPPED = 0.3  # below this part of the tokens that the tool should take, it was not in the prompt


class ToolUse(Struct, frozen=True):
    """What came of offering a tool. `counted` and `expected` are tokens of the prompt; 0 where not known."""

    made_call: bool
    parser: ToolParser | None
    counted: int
    expected: int
    fills_forms: bool
    window: int | None

    @property
    def was_dropped(self) -> bool:
        """Whether the server left the tool out of what the model read."""
        without = self.expected - _TOOL_TOKENS
        return self.expected > 0 and 0 < self.counted < without + _DROPPED * _TOOL_TOKENS


async def probe_tools(model: str, gateway: ProviderRegistry, words: int) -> ToolUse:
    """Offer a tool, then force a call of it. `words` are the tokens of a short prompt without tools.

    Raises ProviderError where tools are refused.
    """
    response = await gateway.open_session(model, Conversation(), "").send_with_tools(
        _PROMPT, (_TOOL,), on_event=lambda _event: None
    )
    leaked = find_leaked_call(response.text_content(), list_argument_schemas((_TOOL,)))
    return ToolUse(
        made_call=response.has_tool_calls(),
        parser=leaked.parser if leaked is not None else None,
        counted=_count_prompt(response),
        expected=words + _TOOL_TOKENS if words else 0,
        fills_forms=await _fills_forms(model, gateway),
        window=await gateway.find_window(model, is_known=False),
    )


async def _fills_forms(model: str, gateway: ProviderRegistry) -> bool:
    session = gateway.open_session(model, Conversation(), "")
    try:
        response = await session.send_with_tools(
            _PROMPT, (_TOOL,), tool_choice=("tool", _NAME), on_event=lambda _event: None
        )
    except ProviderError:
        return False
    return response.has_tool_calls()


def _count_prompt(response: LlmResponse) -> int:
    return response.usage.context - response.usage.output


def report_tools(about: str, provider: str, chosen: ToolParser, use: ToolUse) -> Finding:
    """What there is to say of it. `chosen` is the parser in the settings."""
    window = f"; window {format_amount(use.window, 'token')}" if use.window is not None else ""
    forms = "" if use.fills_forms else "; answers in fields, as of reviewers, could not be had"
    if use.made_call:
        return report_ok("tools", f"{about}: calls tools{forms}{window}")
    if use.parser and use.parser == chosen:
        return report_ok(
            "tools", f'{about}: writes calls as text, which tool_parser = "{chosen}" reads{forms}{window}'
        )
    if use.parser is not None:
        remedy = (
            f'set [providers.{provider}] tool_parser = "{use.parser}", or have the server read them'
            if use.parser
            else "have the server read them, or choose another model (docs/local-models.md)"
        )
        return warn("tools", f"{about}: writes calls as text, and none of them runs{forms}{window}", remedy)
    if use.was_dropped:
        counts = f"it counted {use.counted} of some {use.expected} tokens"
        text = f"{about}: the server drops tools: {counts}{forms}{window}"
        return warn("tools", text, "start it with a chat template that has tools, or choose another model")
    return warn(
        "tools",
        f"{about}: called no tool when asked to{forms}{window}",
        "a larger model may do better (docs/local-models.md)",
    )

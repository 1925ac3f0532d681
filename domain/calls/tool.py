"""Tools as the model and the runtime know them: definitions, calls, and what goes back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.calls.run_state import SeenFile
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.pattern import compile_once

ParameterType: TypeAlias = Literal["string", "path", "number", "integer", "boolean", "array"]


class RiskLevel(StrEnum):
    """Whether a call is put to review before it runs. What is not known is HIGH."""

    LOW = "low"
    HIGH = "high"


class ToolParameter(Struct, frozen=True, kw_only=True):
    """One argument of a tool. `items` is the JSON schema of an array's elements, `choices` are the texts it may
    be. `description` is empty where the name and the description of the tool say it all: each request pays for
    every word."""

    name: str
    type: ParameterType
    description: str = ""
    required: bool = False
    items: JsonObject | None = None
    minimum: int | None = None
    choices: tuple[str, ...] = ()


class ToolDefinition(Struct, frozen=True, kw_only=True):
    """What a tool is: name, purpose, arguments, risk, and what a call of it reads and writes.

    `access` may raise for arguments it cannot place; `determine_access` then answers exclusive.
    `timeout_secs` bounds one execution; None leaves the bound to the tool itself. `inline_bytes` is the
    length up to which its output stays in the conversation whole, and `summary_bytes` that of the summary of a
    longer one, which then shows as many whole lines of both ends as fit; None means the run's own limits.
    `is_callers`: another program makes the call, with the arguments that it has asked about.
    `input_schema` is the JSON schema of the arguments of a tool that brings its own, in place of `parameters`.
    """

    name: str
    description: str
    parameters: tuple[ToolParameter, ...]
    risk: RiskLevel = RiskLevel.HIGH
    access: Callable[[JsonObject], Access] = lambda _arguments: EXCLUSIVE
    timeout_secs: float | None = None
    inline_bytes: int | None = None
    summary_bytes: int | None = None
    input_schema: JsonObject | None = None
    is_callers: bool = False

    def determine_access(self, arguments: JsonObject) -> Access:
        """What a call with these arguments touches; exclusive where that is unknown."""
        try:
            access: object = self.access(arguments)
        except (Exception, SystemExit):  # noqa: BLE001 - a classifier that fails must not make a call look harmless
            return EXCLUSIVE
        return access if isinstance(access, Access) else EXCLUSIVE


class ToolSpec:
    """The tools that exist in a run."""

    def __init__(self, definitions: Iterable[ToolDefinition]) -> None:
        self._definitions: Mapping[str, ToolDefinition] = {d.name: d for d in definitions}

    @property
    def all_tools(self) -> tuple[ToolDefinition, ...]:
        """Every tool, in the order of registration."""
        return tuple(self._definitions.values())

    @property
    def low_risk_tools(self) -> tuple[ToolDefinition, ...]:
        """Tools whose calls run without review."""
        return tuple(d for d in self.all_tools if d.risk is RiskLevel.LOW)

    def find(self, name: str) -> ToolDefinition | None:
        return self._definitions.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._definitions)


class ToolCall(Struct, frozen=True, kw_only=True):
    """One call as the model asked for it. `native_id` is the provider's id, which the result must carry;
    `reasoning` is what the model thought since the call before, where it can be read.

    A call whose arguments did not parse carries the parse error as data and becomes an error result. `repairs`
    are phrases about what of their text was read in another form.
    """

    tool_name: str
    arguments: JsonObject
    native_id: str
    reasoning: str | None = None
    parse_error: str | None = None
    repairs: tuple[str, ...] = ()


class ToolResultMessage(Struct, frozen=True, kw_only=True):
    """What goes back to the model for one call. `seen` are the files whose content the model knows by it."""

    tool_use_id: str
    tool_name: str
    output: str
    is_error: bool = False
    is_rejected: bool = False
    seen: tuple[SeenFile, ...] = ()


PATCH_TOOL = "apply_patch"
# GPT from 4.1 on, the open ones, the reasoning models and Codex, under whatever provider they are named.
_TRAINED_ON_PATCHES = r"(?:^|[^a-z0-9])(?:gpt-(?:4\.1|oss|[5-9])|o[3-9](?![a-z0-9])|codex)"


def is_offered(tool: str, model: str) -> bool:
    """Whether a model, named "provider/model", is offered a tool without anybody having asked for it."""
    return tool != PATCH_TOOL or compile_once(_TRAINED_ON_PATCHES).search(model.casefold()) is not None


ToolParser: TypeAlias = Literal[
    "",
    "hermes",
    "qwen-coder",
    "llama",
    "mistral",
    "deepseek",
    "glm",
    "kimi",
    "granite",
    "gpt-oss",
    "functionary",
    "gemma",
    "minimax",
    "command",
    "lfm2",
    "internlm",
    "phi",
    "nemotron",
    "json",
]
TOOL_PARSERS: tuple[ToolParser, ...] = tuple(each for each in get_args(ToolParser) if each)
"""In the order in which they are tried where the family is not known."""

_MARKS = ("{", "<", "[", ">>>")


def may_hold_call(text: str) -> bool:
    """Whether a text has what calls of every family have: a quick answer, of which only the no is certain."""
    return any(mark in text for mark in _MARKS)

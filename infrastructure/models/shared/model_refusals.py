"""The reasoning efforts that each API takes, and the models that refuse one all the same.

Models that refuse to be made to call a tool. Which they are is found out by asking. Tools that a model's API
refuses, as for the schema of one of an MCP server; it is found out by asking.
"""

from __future__ import annotations

import json
import re
from typing import assert_never

from quorum.domain.conversation.effort import Effort
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.shared.api_client import ApiRequest
from quorum.infrastructure.provider_types import ProviderType

_OPENAI = tuple(Effort)
_ANTHROPIC = tuple(effort for effort in Effort if effort is not Effort.MINIMAL)
_COPILOT = tuple(effort for effort in _ANTHROPIC if effort is not Effort.NONE)
_NAMES_OF_THE_FIELDS = ("effort", "adaptive", "outputconfig", "thinkingtype", "supportthinking")


def list_efforts(type: ProviderType) -> tuple[Effort, ...]:
    """The efforts that an API has names for, the least first; none where its models do not reason."""
    match type:
        case "anthropic":
            return _ANTHROPIC
        case "openai" | "openai-chat" | "codex":
            return _OPENAI
        case "copilot" | "claude-cli":
            return _COPILOT
        case "acp" | "offline":
            return ()
        case _:
            assert_never(type)


class RefusedEfforts:
    """The efforts that models of one provider refuse. Which they are is found out by asking."""

    def __init__(self) -> None:
        self._refused: set[tuple[str, Effort]] = set()

    def fit_request(self, request: ApiRequest) -> ApiRequest:
        """The request as its model takes it, as far as that is known."""
        is_refused = (request.model, request.effort) in self._refused
        return replace(request, effort=Effort.DEFAULT) if is_refused else request

    def learn(self, request: ApiRequest, error: ProviderError) -> str:
        """Why this request was refused for its effort, in a sentence; empty where that is not the reason."""
        if error.partial or error.retryable or request.effort is Effort.DEFAULT:
            return ""
        words = "".join(letter for letter in str(error).lower() if letter.isalnum())
        if not any(name in words for name in _NAMES_OF_THE_FIELDS):
            return ""
        self._refused.add((request.model, request.effort))
        return f"{request.model} is asked without the effort {request.effort.value}: {error}"


_REFUSALS = frozenset({ProviderErrorKind.BAD_REQUEST, ProviderErrorKind.NOT_FOUND})


class FreeModels:
    """The models of one provider that may only be offered a tool, never made to call it.

    Many that think refuse to be forced, and some local servers do not know how. What they answer when they
    are free is as good where they call the tool all the same, and whoever asked sees whether they did.
    """

    def __init__(self) -> None:
        self._models: set[str] = set()

    def fit_request(self, request: ApiRequest) -> ApiRequest:
        """The request as its model takes it, as far as that is known."""
        is_free = request.model in self._models and _forces(request)
        return replace(request, tool_choice="auto") if is_free else request

    def learn(self, request: ApiRequest, error: ProviderError) -> bool:
        """Whether this request was refused because it forces a tool, so that it is worth sending freely."""
        if error.partial or error.kind not in _REFUSALS or not _forces(request):
            return False
        words = str(error).lower().replace("_", "").replace(" ", "")
        if "toolchoice" not in words:
            return False
        self._models.add(request.model)
        return True


def _forces(request: ApiRequest) -> bool:
    return not isinstance(request.tool_choice, str)


_REFUSED_TOOLS_REFUSALS = frozenset({ProviderErrorKind.BAD_REQUEST, ProviderErrorKind.SERVER})
# Where in the body it is, as Anthropic, OpenAI, Google and servers that use pydantic word it. Google puts
# all functions into one tool.
_PLACE = re.compile(
    r"function_?declarations\[(?P<declared>\d+)\]"
    r"|\btools(?:\.|\[(?!\d+\]\.function_?declarations)|['\"],\s*|\s*->\s*)(?P<place>\d+)",
    re.IGNORECASE,
)
_NAMED = re.compile(r"schema for function ['\"](?P<name>[^'\"]{1,128})['\"]", re.IGNORECASE)
# A refusal of these is one of what quorum adds to any tool.
_OF_ALL = re.compile(r"cache_?control|\btools\.\d+(\.custom)?\.\w+: extra inputs", re.IGNORECASE)
# Where so many are refused, what is refused is not a matter of single tools.
_MOST = 16


class RefusedTools:
    """The tools that models of one provider refuse."""

    def __init__(self) -> None:
        self._refused: dict[str, set[str]] = {}

    def fit_request(self, request: ApiRequest) -> ApiRequest:
        """The request without the tools that its model refuses, as far as that is known."""
        if not (refused := self._refused.get(request.model)):
            return request
        return replace(request, tools=tuple(each for each in request.tools if _encode(each) not in refused))

    def learn(self, request: ApiRequest, error: ProviderError) -> str:
        """The name of the tool for which this request was refused; empty where it is not for one that it can go
        without. `request` is the one that was sent: the place of a tool that an error names is that in it."""
        if error.partial or error.kind not in _REFUSED_TOOLS_REFUSALS:
            return ""
        tool = _find_tool(request, str(error))
        refused = self._refused.setdefault(request.model, set())
        if tool is None or len(refused) >= _MOST:
            return ""
        name = str(tool.get("name"))
        if request.tool_choice == ("tool", name):
            return ""
        refused.add(_encode(tool))
        return name


def _find_tool(request: ApiRequest, text: str) -> JsonObject | None:
    if _OF_ALL.search(text):
        return None
    if (found := _PLACE.search(text)) is not None:
        place = int(found["declared"] or found["place"])
        return request.tools[place] if place < len(request.tools) else None
    if (found := _NAMED.search(text)) is not None:
        return next((each for each in request.tools if each.get("name") == found["name"]), None)
    return None


def _encode(tool: JsonObject) -> str:
    return json.dumps(tool, sort_keys=True)

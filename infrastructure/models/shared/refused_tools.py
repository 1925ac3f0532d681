"""Tools that a model's API refuses, as for the schema of one of an MCP server; it is found out by asking."""

from __future__ import annotations

import json
import re

from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.shared.api_client import ApiRequest

_REFUSALS = frozenset({ProviderErrorKind.BAD_REQUEST, ProviderErrorKind.SERVER})
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
        if error.partial or error.kind not in _REFUSALS:
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

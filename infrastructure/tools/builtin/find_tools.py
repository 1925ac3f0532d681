"""find_tools: the tools of MCP servers, also those that the request does not list."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from quorum.application.calls.tool_set import ToolSet
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.server_tools import CALL_TOOL, FIND_TOOLS
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import ToolTraits
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.tools.builtin.parts import require_text

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

TRAITS = ToolTraits(verb="find tools", telling=("query",), kind="search", is_conditional=True)

_MOST_SCHEMAS = 10
_MOST_BYTES = 12_000
_MOST_NAMES = 40
_OF_NAME = 3
_WORD = r"[^\W_]+"
_HUMP = r"(?<=[a-z0-9])(?=[A-Z])"
_EMPTY = frozenset(
    {
        *("a", "an", "and", "as", "at", "by", "for", "from", "how", "in", "into", "is", "it", "of", "on", "or"),
        *("the", "this", "to", "tool", "tools", "use", "with"),
    }
)


def build(parts: ToolParts) -> FindTools | None:
    """The tool; none where the settings name no MCP server."""
    return FindTools(parts.get_tool_set) if parts.has_servers else None


class FindTools:
    """Looks among the tools that servers offer now. What they say of them is data from outside."""

    def __init__(self, get_tool_set: Callable[[], ToolSet]) -> None:
        self._get_tool_set = get_tool_set
        self.definition = ToolDefinition(
            name=FIND_TOOLS,
            description=(
                "Look up tools of MCP servers by words of their names and descriptions, and what they take. "
                f"Those that are not among your tools are called with {CALL_TOOL}."
            ),
            parameters=(
                ToolParameter(
                    name="query", type="string", description="Names or words; without any, all are listed."
                ),
            ),
            risk=RiskLevel.LOW,
            access=lambda _arguments: Access(),
            inline_bytes=2 * _MOST_BYTES,
        )

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """The best with what they take, a JSON object a line; of the others names alone."""
        words = _split_words(require_text(arguments, "query", ""))
        schemas = self._get_tool_set().list_server_schemas()
        ranked = _rank(schemas, words)
        if not ranked:
            return _list_names("no tool of an MCP server has any of these words; there is", schemas)
        lines = [json.dumps(each, ensure_ascii=False) for each in ranked[:_MOST_SCHEMAS]]
        sizes = accumulate(len(line.encode()) for line in lines)
        shown = max(1, sum(size <= _MOST_BYTES for size in sizes))
        rest = ranked[shown:]
        return "\n".join((*lines[:shown], *([_list_names("less likely", rest)] if rest else ())))


def _split_words(text: str) -> frozenset[str]:
    """Words in small letters, without those that say nothing, and parts of names as words of their own."""
    return frozenset(compile_once(_WORD).findall(compile_once(_HUMP).sub(" ", text).lower())) - _EMPTY


def _rank(schemas: Sequence[JsonObject], words: frozenset[str]) -> list[JsonObject]:
    """Those that have any of the words, the best first: words that few tools have count for more, and those of
    a name for more than those of a description. All, in their order, without a word."""
    if not words:
        return list(schemas)
    names = [_split_words(str(each["name"]).removeprefix("mcp__")) for each in schemas]
    texts = [_split_words(str(each["description"])) for each in schemas]
    counts = Counter(word for name, text in zip(names, texts, strict=True) for word in words & (name | text))
    scores = [
        sum((_OF_NAME * (word in name) + (word in text)) / counts[word] for word in words & (name | text))
        for name, text in zip(names, texts, strict=True)
    ]
    places = sorted((place for place, score in enumerate(scores) if score), key=lambda place: -scores[place])
    return [schemas[place] for place in places]


def _list_names(heading: str, schemas: Sequence[JsonObject]) -> str:
    names = [str(each["name"]) for each in schemas]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{heading}: {', '.join(names[:_MOST_NAMES]) or 'none'}{more}"

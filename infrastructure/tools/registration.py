"""The checks that every tool passes before a model is offered it, whoever wrote it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

from msgspec import Struct

from quorum.application.ports.tools import SealingTool, Tool
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.seal import Seal
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.errors import ConfigError
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import ToolOutput

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_UNSEALED = "what this tool touches is not sealed"


class ToolSource(Struct, frozen=True):
    """Tools and where they come from, in words that an error can begin with. They are not checked yet."""

    origin: str
    tools: Sequence[object]


def check_tools(sources: Iterable[ToolSource], *, cwd: str) -> dict[str, Tool]:
    """The tools by name, in their order; a tool of high risk that cannot seal is made reviewable.

    Raises ConfigError, naming origin and tool, for one that does not keep the contract of `Tool` and for two
    of one name.
    """
    tools: dict[str, Tool] = {}
    origins: dict[str, str] = {}
    for source in sources:
        for candidate in source.tools:
            tool, definition = _check_tool(candidate, source.origin)
            name = definition.name
            if name in tools:
                places = f"{origins[name]} and {source.origin}"
                raise ConfigError(f"two tools are named {name}, from {places}; rename one of them")
            if definition.risk is RiskLevel.HIGH and not isinstance(tool, SealingTool):
                tool = UnsealedTool(tool, cwd)
            tools[name], origins[name] = tool, source.origin
    return tools


class UnsealedTool:
    """A tool of high risk that cannot say what a call will touch: the review says so in its place."""

    def __init__(self, tool: Tool, cwd: str) -> None:
        self._tool = tool
        self._cwd = cwd

    @property
    def definition(self) -> ToolDefinition:
        """That of the tool."""
        return self._tool.definition

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str | ToolOutput:
        """Have the tool do it."""
        return await self._tool.execute(arguments, context)

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """The working directory, and the plain word that all else is open."""
        return Seal(cwd=self._cwd, unsealed=_UNSEALED)


def _check_tool(candidate: object, origin: str) -> tuple[Tool, ToolDefinition]:
    kind = candidate if isinstance(candidate, type) else type(candidate)
    label = f"{origin}: the tool {kind.__module__}.{kind.__qualname__}"
    if isinstance(candidate, type):
        raise ConfigError(f"{label} is a class; give an object of it")
    definition = _build_definition(candidate, label)
    label = f"{origin}: the tool {definition.name}"
    _require_coroutine(candidate, "execute", ("arguments", "context"), label)
    if hasattr(candidate, "seal"):
        _require_coroutine(candidate, "seal", ("arguments", "projected"), label)
    return cast("Tool", candidate), definition


def _build_definition(candidate: object, label: str) -> ToolDefinition:
    try:
        definition = getattr(candidate, "definition", None)
    except Exception as error:
        raise ConfigError(f"{label} has a definition that fails: {type(error).__name__}: {error}") from error
    if not isinstance(definition, ToolDefinition):
        raise ConfigError(f"{label} has no definition; give it a property of type ToolDefinition")
    if not isinstance(definition.name, str) or not _NAME.fullmatch(definition.name):
        raise ConfigError(
            f"{label} is named {definition.name!r}; a name is made of 1 to 64 letters, digits, - and _"
        )
    if not isinstance(definition.risk, RiskLevel):
        raise ConfigError(f"{label} has the risk {definition.risk!r}; give RiskLevel.LOW or RiskLevel.HIGH")
    if not all(isinstance(parameter, ToolParameter) for parameter in definition.parameters):
        raise ConfigError(f"{label} has parameters that are none; give each as a ToolParameter")
    if not isinstance(definition.description, str) or not callable(definition.access):
        raise ConfigError(f"{label} needs a text as description and a function as access")
    for name in ("timeout_secs", "inline_bytes", "summary_bytes"):
        if not _is_limit(getattr(definition, name)):
            raise ConfigError(f"{label} has an unusable {name}; give a number that is not negative, or None")
    names = [parameter.name for parameter in definition.parameters]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"{label} has two parameters named {twice!r}; rename one of them")
    return definition


def _is_limit(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and value >= 0)


def _require_coroutine(candidate: object, method: str, expected: tuple[str, str], label: str) -> None:
    remedy = f"write it as `async def {method}(self, {', '.join(expected)})`"
    function = getattr(candidate, method, None)
    if not callable(function):
        raise ConfigError(f"{label} has no {method}; {remedy}")
    if not (inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)):
        raise ConfigError(f"{label} is refused because its {method} is not a coroutine function; {remedy}")
    if (lacking := _find_missing_parameter(function, expected)) is not None:
        raise ConfigError(f"{label} is refused because its {method} {lacking}; {remedy}")


def _find_missing_parameter(function: Callable[..., object], expected: tuple[str, str]) -> str | None:
    """What keeps a function from being called with these two, given by position; None where nothing does."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        return f"cannot be looked into ({error})"
    positional = [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    for place, name in enumerate(expected):
        if positional[place : place + 1] not in ([name], [f"_{name}"]):
            return f"does not take {name} as its {('first', 'second')[place]} parameter"
    try:
        signature.bind(*expected)
    except TypeError as error:
        return f"cannot be called with {' and '.join(expected)} alone ({error})"
    return None

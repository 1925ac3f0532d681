"""Which tools a session has, and the checks that each passes before a model is offered it.

The checks are the same whoever wrote the tool. The settings and the session's kind take some away.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from quorum.application.ports.tools import SealingTool, Tool
from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter, is_offered
from quorum.domain.calls.tool_traits import find_traits
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import ConfigError
from quorum.domain.plan.plan import FAIL_TASK, RUN_TASK
from quorum.domain.text.fuzzy import find_nearest_word
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import ToolOutput
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.own_code import find_name_conflict
from quorum.infrastructure.settings_conversion import list_custom_declarations
from quorum.infrastructure.tools.built_in_tools import build_tools
from quorum.infrastructure.tools.builtin.parts import ToolParts

if TYPE_CHECKING:
    from quorum.infrastructure.tools.custom_tool import CustomTool

_NAME = r"[a-zA-Z0-9_-]{1,64}"
_UNSEALED = "what this tool touches is not known beforehand"


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
    if not isinstance(definition.name, str) or not compile_once(_NAME).fullmatch(definition.name):
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


_PLUGIN_GROUP = "quorum.tools"


class ToolChoice(Struct, frozen=True, kw_only=True):
    """The tools by name; `notices` say which names of an untrusted project's file are ignored, and why."""

    tools: dict[str, Tool]
    notices: tuple[str, ...] = ()


def choose_tools(
    parts: ToolParts,
    *,
    form: SessionKind,
    loaded: LoadedSettings,
    wanted: Collection[str] | None,
) -> ToolChoice:
    """All tools that can be made of these parts, each checked, without those that the settings or the session's
    form take away, and without those that are not `wanted`.

    Raises ConfigError for names of no tool, unless an untrusted project's file names them.
    """
    settings, covered, cwd = loaded.settings, loaded.covered, parts.workspace.cwd
    servers = tuple(f"mcp__{server}__" for server in settings.mcp.servers)
    sources = (
        ToolSource("quorum itself", build_tools(parts)),
        ToolSource("[tools.custom] in the settings", _build_declared_tools(parts)),
        *(() if loaded.is_safe else load_plugin_tools(cwd)),
    )
    by_name = check_tools(sources, cwd=str(cwd))
    notices: list[str] = []
    known: dict[str, tuple[str, ...]] = {}
    for key, names in (("enabled", settings.tools.enabled), ("disabled", settings.tools.disabled)):
        problems = {name: problem for name in names if (problem := _name_problem(key, name, by_name, servers))}
        before = covered.get(f"tools.{key}")
        for name, problem in problems.items():
            if not isinstance(before, list | tuple) or name in before:
                raise ConfigError(problem)
            notices.append(f"{problem}; the project's file is not trusted, so this is ignored")
        known[key] = tuple(name for name in names if name not in problems)
    enabled = known["enabled"] or tuple(by_name)
    if RUN_TASK in enabled:  # whoever may be given a task can say that it failed
        enabled = (*enabled, FAIL_TASK)
    kept = {n: t for n, t in by_name.items() if n in enabled and n not in known["disabled"]}
    match form:
        case SessionKind.AGENT | SessionKind.EXTERNAL:
            pass
        case SessionKind.ASK:
            kept = {
                n: t
                for n, t in kept.items()
                if t.definition.risk is RiskLevel.LOW and not find_traits(n).is_planners
            }
        case SessionKind.DISCUSS | SessionKind.DEBATE | SessionKind.REVIEW:
            kept = {}
    companions = {n: find_traits(n).companion_of for n in kept}
    kept = {
        n: t
        for n, t in kept.items()
        if (not companions[n] or companions[n] in kept) and (wanted is None or n in wanted)
    }
    return ToolChoice(tools=kept, notices=tuple(notices))


def _build_declared_tools(parts: ToolParts) -> tuple[CustomTool, ...]:
    if not (declared := list_custom_declarations(parts.settings)):
        return ()
    from quorum.infrastructure.tools.custom_tool import build_custom_tools

    return build_custom_tools(
        declared,
        root=parts.workspace.cwd,
        resources=lambda named: parts.workspace.locate(named).resources,
        max_output_bytes=parts.settings.tools.run_command.max_output_bytes,
        secret_names=parts.secret_names,
        sandbox=parts.sandbox,
        open_spill=parts.outputs.open_spill,
    )


def _name_problem(key: str, name: str, by_name: Mapping[str, Tool], servers: tuple[str, ...]) -> str:
    """What is wrong with a name in `tools.enabled` or `tools.disabled`; empty where nothing is.

    `servers` is how the names of tools of MCP servers begin: which there are, is known once they run.
    """
    if name.startswith(servers):
        return ""
    traits = find_traits(name)
    if name in by_name or traits.is_conditional or (traits.turned_on_by and key == "disabled"):
        return ""
    if traits.turned_on_by:
        return f'tools.enabled names "{name}", which is off; set {traits.turned_on_by}'
    near = find_nearest_word(name, tuple(by_name))
    hint = f"; did you mean {near}?" if near else f"; the tools are {', '.join(by_name)}"
    return f'tools.{key} names "{name}", and there is no such tool{hint}'


def load_plugin_tools(root: Path) -> tuple[ToolSource, ...]:
    """What every installed distribution adds, in the order of distributions and entry points.

    An entry point names a callable, such as a class or a function, that gives one tool or several. It is given
    the workspace's root if it needs an argument. Raises ConfigError that names the distribution where one
    cannot be loaded or called, or gives something else.
    """
    return tuple(_name_source(entry, root) for entry in find_plugins())


def find_plugins() -> tuple[EntryPoint, ...]:
    """What installed distributions name, looked for anew where one was installed, changed or removed."""
    return _find_plugins(tuple((folder, *_list_distributions(folder)) for folder in sys.path))


@lru_cache(maxsize=1)
def _find_plugins(_installed: object) -> tuple[EntryPoint, ...]:
    if not any(_may_add_tools(each) for each in distributions()):  # to parse them all takes thrice as long
        return ()
    try:
        found = entry_points(group=_PLUGIN_GROUP)
    except (TypeError, ValueError):
        for each in distributions():
            with _explained_of(each):
                _ = each.entry_points
        raise
    return tuple(sorted(found, key=lambda entry: (_find_distribution(entry), entry.name)))


def _may_add_tools(distribution: Distribution) -> bool:
    with _explained_of(distribution):
        return _PLUGIN_GROUP in (distribution.read_text("entry_points.txt") or "")


@contextmanager
def _explained_of(distribution: Distribution) -> Iterator[None]:
    """Raises ConfigError where the library stumbles over what a distribution says of itself."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"the entry points of the installed package {distribution.name} cannot be read: "
            f"{_describe_error(error)}; repair or uninstall it"
        ) from error


def _list_distributions(folder: str) -> list[tuple[str, int]]:
    """Those in an entry of the import path, each with the time of its last change."""
    try:
        with os.scandir(folder or ".") as found:
            infos = [each for each in found if each.name.endswith((".dist-info", ".egg-info"))]
        return sorted((each.name, each.stat().st_mtime_ns) for each in infos)
    except OSError:  # it need not be there, or be a folder
        return []


def _name_source(entry: EntryPoint, root: Path) -> ToolSource:
    origin = f"the plug-in {_find_distribution(entry)} ({entry.name} = {entry.value})"
    remedy = f"repair or uninstall {_find_distribution(entry)}"
    try:
        factory = entry.load()
    except (ImportError, AttributeError) as error:
        conflict = find_name_conflict(error.name if isinstance(error, ImportError) else entry.module)
        raise ConfigError(
            f"{origin} cannot be loaded: {_describe_error(error)}{conflict or '; ' + remedy}"
        ) from error
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{origin} cannot be loaded: {_describe_error(error)}; {remedy}") from error
    if not callable(factory):
        raise ConfigError(
            f"{origin} names an object of type {type(factory).__name__}, which cannot be called; {remedy}"
        )
    try:
        given = _call_factory(factory, root)
        tools = tuple(given) if isinstance(given, Iterable) else (given,)
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{origin} gives no tools: {_describe_error(error)}; {remedy}") from error
    return ToolSource(origin, tools)


def _call_factory(factory: Callable[..., object], root: Path) -> object:
    try:
        inspect.signature(factory).bind()
    except TypeError:
        return factory(root)
    return factory()


def _find_distribution(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "of an unknown distribution"


def _describe_error(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def build_tool_offer(settings: Settings) -> Callable[[str, str], bool]:
    """Whether a tool is offered to a model: what `tools.enabled` names always is."""
    enabled = frozenset(settings.tools.enabled)
    return lambda tool, model: tool in enabled or is_offered(tool, model)


def decide_server_tools(settings: Settings, kind: SessionKind) -> Callable[[str, bool], bool]:
    """Whether a session of this kind has a tool of an MCP server, by its name and whether it only reads."""
    enabled, disabled = frozenset(settings.tools.enabled), frozenset(settings.tools.disabled)

    def is_offered(name: str, reads_only: bool) -> bool:
        if name in disabled or (enabled and name not in enabled):
            return False
        match kind:
            case SessionKind.AGENT:
                return True
            case SessionKind.ASK:
                return reads_only
            case SessionKind.DISCUSS | SessionKind.DEBATE | SessionKind.REVIEW | SessionKind.EXTERNAL:
                return False

    return is_offered

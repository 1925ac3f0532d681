"""Which tools a session has: all that its sources give, but for what the settings and its kind take away."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from quorum.application.ports.tools import Tool
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.calls.tool_traits import find_traits
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import ConfigError
from quorum.domain.plan.phase import FAIL_TASK, RUN_TASK
from quorum.domain.text.fuzzy import find_nearest_word
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.own_code import find_name_conflict
from quorum.infrastructure.tools.registration import ToolSource, check_tools

_PLUGIN_GROUP = "quorum.tools"


class ToolChoice(Struct, frozen=True, kw_only=True):
    """The tools by name; `notices` say which names of an untrusted project's file are ignored, and why."""

    tools: dict[str, Tool]
    notices: tuple[str, ...] = ()


def choose_tools(
    settings: Settings,
    cwd: Path,
    sources: Sequence[ToolSource],
    form: SessionKind = SessionKind.AGENT,
    covered: Mapping[str, object] = MappingProxyType({}),
) -> ToolChoice:
    """The tools, each checked, without those that the settings or the session's form take away.

    `covered` are the values that those of an untrusted project's file replaced, by their dotted keys. Raises
    ConfigError for names of no tool, wherever else they are from.
    """
    servers = tuple(f"mcp__{server}__" for server in settings.mcp.servers)
    by_name = check_tools((*sources, *load_plugin_tools(cwd)), cwd=str(cwd))
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
    kept = {n: t for n, t in kept.items() if not companions[n] or companions[n] in kept}
    return ToolChoice(tools=kept, notices=tuple(notices))


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
    found = sorted(entry_points(group=_PLUGIN_GROUP), key=lambda entry: (_find_distribution(entry), entry.name))
    return tuple(_name_source(entry, root) for entry in found)


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

"""Which tools a session has: all that its sources give, but for what the settings and its kind take away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from application.ports.tools import Tool
from domain.calls.tool import RiskLevel
from domain.conversation.session_kind import SessionKind
from domain.errors import ConfigError
from domain.text.nearest import nearest_word
from infrastructure.config.schema import Settings
from infrastructure.tools.plugins import plugin_tools
from infrastructure.tools.registration import ToolSource, checked

_OPTIONAL = {"web_fetch": "tools.web.fetch = true", "web_search": "tools.web.search to a service"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChoice:
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
    by_name = checked((*sources, *plugin_tools(cwd)), cwd=str(cwd))
    notices: list[str] = []
    known: dict[str, tuple[str, ...]] = {}
    for key, names in (("enabled", settings.tools.enabled), ("disabled", settings.tools.disabled)):
        problems = {name: problem for name in names if (problem := _name_problem(key, name, by_name))}
        before = covered.get(f"tools.{key}")
        for name, problem in problems.items():
            if not isinstance(before, list | tuple) or name in before:
                raise ConfigError(problem)
            notices.append(f"{problem}; the project's file is not trusted, so this is ignored")
        known[key] = tuple(name for name in names if name not in problems)
    enabled = known["enabled"] or tuple(by_name)
    kept = {n: t for n, t in by_name.items() if n in enabled and n not in known["disabled"]}
    if form is SessionKind.ASK:
        kept = {n: t for n, t in kept.items() if t.definition.risk is RiskLevel.LOW}
    return ToolChoice(tools=kept, notices=tuple(notices))


def _name_problem(key: str, name: str, by_name: Mapping[str, Tool]) -> str:
    """What is wrong with a name in `tools.enabled` or `tools.disabled`; empty where nothing is."""
    if name in by_name or (name in _OPTIONAL and key == "disabled"):
        return ""
    if name in _OPTIONAL:
        return f'tools.enabled names "{name}", which is off; set {_OPTIONAL[name]}'
    near = nearest_word(name, tuple(by_name))
    hint = f"; did you mean {near}?" if near else f"; the tools are {', '.join(by_name)}"
    return f'tools.{key} names "{name}", and there is no such tool{hint}'

"""Settings made into what the parts of a session want to be built from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from application.outputs import Outputs
from application.ports import Tool
from domain.errors import ConfigError
from domain.output import OutputLimits
from domain.path_policy import PathPolicy
from domain.tool import ToolSpec
from infrastructure.blobs.file_store import FileBlobStore
from infrastructure.blobs.spill import Spill
from infrastructure.config.custom_tool_table import declaration
from infrastructure.config.keys import nearest_word
from infrastructure.config.paths import state_folder
from infrastructure.config.schema import ProviderTable, Settings
from infrastructure.providers.wire import ProviderSettings
from infrastructure.tools.custom.declaration import CustomToolDeclaration
from infrastructure.tools.inspecting import Inspect
from infrastructure.tools.plugins import plugin_tools
from infrastructure.tools.registration import ToolSource, checked
from infrastructure.tools.web.selection import WebSettings
from infrastructure.tools.workspace import Workspace


def path_policy(settings: Settings, roots: Sequence[Path]) -> PathPolicy:
    """The roots of the workspace and the patterns of the person."""
    return PathPolicy(
        roots=tuple(map(str, roots)), protected=settings.review.protected, sensitive=settings.review.sensitive
    )


def provider_settings(tables: Mapping[str, ProviderTable]) -> dict[str, ProviderSettings]:
    """How each provider is reached."""
    return {
        name: ProviderSettings(
            type=table.type,
            base_url=table.base_url or None,
            api_key_env=table.api_key_env,
            timeout_secs=table.timeout_secs,
            max_retries=table.max_retries,
            max_output_tokens=table.max_output_tokens or None,
            headers=table.headers,
        )
        for name, table in tables.items()
    }


def directory_resolver(workspace: Workspace) -> Callable[[str], Path]:
    """Places a folder that a model names inside the workspace, or refuses it."""
    return lambda named: Path(workspace.locate(named).path)


def key_names(settings: Settings) -> frozenset[str]:
    """The environment variables that hold keys, which no command may see."""
    names = {table.api_key_env for table in settings.providers.values()} | {settings.tools.web.search_key_env}
    return frozenset(names - {""})


def web_settings(settings: Settings) -> WebSettings:
    """What the web tools may do."""
    table = settings.tools.web
    return WebSettings(
        fetch=table.fetch,
        search=table.search,
        search_url=table.search_url,
        search_key_env=table.search_key_env,
        max_bytes=table.max_bytes,
        timeout_secs=table.timeout_secs,
    )


def custom_declarations(settings: Settings) -> tuple[CustomToolDeclaration, ...]:
    """The tools declared in the settings."""
    return tuple(declaration(name, table) for name, table in settings.tools.custom.items())


def resources(workspace: Workspace) -> Callable[[str], frozenset[str]]:
    """The resources behind a path that a model names."""
    return lambda named: workspace.locate(named).resources


_OPTIONAL = {"web_fetch": "tools.web.fetch = true", "web_search": "tools.web.search to a service"}


def offered(settings: Settings, cwd: Path, sources: Sequence[ToolSource]) -> dict[str, Tool]:
    """The tools by name, each of them checked, without those that the settings take away."""
    by_name = checked((*sources, *plugin_tools(cwd)), cwd=str(cwd))
    for key, names in (("enabled", settings.tools.enabled), ("disabled", settings.tools.disabled)):
        for name in names:
            if name in _OPTIONAL and name not in by_name:
                if key == "enabled":
                    raise ConfigError(f'tools.enabled names "{name}", which is off; set {_OPTIONAL[name]}')
            elif name not in by_name:
                near = nearest_word(name, tuple(by_name))
                hint = f"; did you mean {near}?" if near else f"; the tools are {', '.join(by_name)}"
                raise ConfigError(f'tools.{key} names "{name}", and there is no such tool{hint}')
    enabled = settings.tools.enabled or tuple(by_name)
    return {n: t for n, t in by_name.items() if n in enabled and n not in settings.tools.disabled}


def spec(tools: Mapping[str, Tool]) -> ToolSpec:
    """The definitions of the tools."""
    return ToolSpec(tool.definition for tool in tools.values())


def output_limits(settings: Settings) -> OutputLimits:
    """When an output is kept aside, and how long its summary may be."""
    table = settings.tools.output
    return OutputLimits(
        inline_bytes=table.inline_bytes,
        summary_bytes=table.summary_bytes,
        head_lines=table.head_lines,
        tail_lines=table.tail_lines,
    )


def blob_store(settings: Settings, environ: Mapping[str, str]) -> FileBlobStore | None:
    """The store of long outputs; None where it is switched off or there is no folder for it."""
    if not settings.tools.output.store:
        return None
    if settings.storage.blobs:
        return FileBlobStore(Path(settings.storage.blobs).expanduser())
    state = state_folder(environ)
    return FileBlobStore(state / "blobs") if state is not None else None


def spill_opener(store: FileBlobStore | None) -> Callable[[], Spill] | None:
    """Opens the place for the text of a command that prints more than is kept; None without a store."""
    return store.open_spill if store is not None else None


def inspection(store: FileBlobStore | None, outputs: Outputs) -> tuple[Inspect, ...]:
    """The tool that opens stored outputs: there only where there is a store."""
    return (Inspect(store, outputs.refers_to),) if store is not None else ()

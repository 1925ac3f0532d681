"""The container: everything a session is made of, read from top to bottom. The front end fills the slots."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dependency_injector import containers, providers

from application.event_stream import EventStream
from application.identifiers import new_id
from application.instructions import system_instructions
from application.ports import Tool
from application.review import Review
from application.run_agent import AgentLimits, RunAgent
from application.tool_runtime import ToolRuntime
from domain.conversation import Conversation
from domain.errors import ConfigError
from domain.path_policy import PathPolicy
from domain.plan import serializable
from domain.tool import ToolSpec
from infrastructure.commands.run_command import RunCommand
from infrastructure.config.keys import nearest_word
from infrastructure.config.schema import ProviderTable, Settings
from infrastructure.json_schema import JsonSchema
from infrastructure.providers.gateway import ProviderGateway
from infrastructure.providers.wire import ProviderSettings
from infrastructure.tools.editing import EditFile
from infrastructure.tools.globbing import GlobSearch
from infrastructure.tools.listing import ListDirectory
from infrastructure.tools.plan import UpdatePlan
from infrastructure.tools.reading import ReadFile
from infrastructure.tools.searching import GrepSearch
from infrastructure.tools.seen import SeenFiles
from infrastructure.tools.workspace import Workspace
from infrastructure.tools.writing import WriteFile


def _path_policy(settings: Settings, roots: Sequence[Path]) -> PathPolicy:
    return PathPolicy(
        roots=tuple(map(str, roots)), protected=settings.review.protected, sensitive=settings.review.sensitive
    )


def _provider_settings(tables: Mapping[str, ProviderTable]) -> dict[str, ProviderSettings]:
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


def _directory_resolver(workspace: Workspace) -> Callable[[str], Path]:
    return lambda named: Path(workspace.locate(named).path)


def _key_names(tables: Mapping[str, ProviderTable]) -> frozenset[str]:
    return frozenset(table.api_key_env for table in tables.values() if table.api_key_env)


def _offered(settings: Settings, tools: Sequence[Tool]) -> dict[str, Tool]:
    """The tools by name, without those that the settings take away."""
    by_name = {tool.definition.name: tool for tool in tools}
    for key, names in (("enabled", settings.tools.enabled), ("disabled", settings.tools.disabled)):
        for name in names:
            if name not in by_name:
                near = nearest_word(name, tuple(by_name))
                hint = f"; did you mean {near}?" if near else f"; the tools are {', '.join(by_name)}"
                raise ConfigError(f'tools.{key} names "{name}", and there is no such tool{hint}')
    enabled = settings.tools.enabled or tuple(by_name)
    return {n: t for n, t in by_name.items() if n in enabled and n not in settings.tools.disabled}


def _spec(tools: Mapping[str, Tool]) -> ToolSpec:
    return ToolSpec(tool.definition for tool in tools.values())


class Container(containers.DeclarativeContainer):
    """One session. Slots first, then what stands on them."""

    settings: providers.Dependency[Any] = providers.Dependency()
    model: providers.Dependency[Any] = providers.Dependency()
    root: providers.Dependency[Any] = providers.Dependency(instance_of=Path)
    environ: providers.Dependency[Any] = providers.Dependency()
    person: providers.Dependency[Any] = providers.Dependency()
    observer: providers.Dependency[Any] = providers.Dependency()

    # What happens, and who may let it happen
    events = providers.Singleton(EventStream, observers=providers.List(observer))
    workspace = providers.Singleton(Workspace, roots=providers.List(root))
    paths = providers.Singleton(_path_policy, settings=settings, roots=workspace.provided.roots)
    review = providers.Singleton(
        Review, person=person, paths=paths, mode=settings.provided.review.mode, events=events
    )

    # Tools
    seen = providers.Singleton(SeenFiles)
    tools = providers.Singleton(
        _offered,
        settings=settings,
        tools=providers.List(
            providers.Singleton(ReadFile, workspace=workspace, seen=seen),
            providers.Singleton(ListDirectory, workspace=workspace),
            providers.Singleton(GlobSearch, workspace=workspace),
            providers.Singleton(GrepSearch, workspace=workspace, policy=paths),
            providers.Singleton(WriteFile, workspace=workspace, seen=seen),
            providers.Singleton(EditFile, workspace=workspace, seen=seen),
            providers.Singleton(
                RunCommand,
                root=root,
                resolve_directory=providers.Callable(_directory_resolver, workspace),
                timeout_secs=settings.provided.tools.run_command.timeout_secs,
                max_output_bytes=settings.provided.tools.run_command.max_output_bytes,
                secret_names=providers.Callable(_key_names, settings.provided.providers),
            ),
            providers.Singleton(UpdatePlan),
        ),
    )
    schema = providers.Singleton(JsonSchema)
    spec = providers.Singleton(_spec, tools=tools)
    schemas = providers.Singleton(schema.provided.all_tools_schema.call(spec))
    planner = providers.Selector(settings.provided.tools.planner, serializable=providers.Object(serializable))
    runtime = providers.Singleton(
        ToolRuntime,
        tools=tools,
        schema=schema,
        review=review,
        events=events,
        planner=planner,
        cwd=providers.Callable(str, root),
    )

    # The model
    gateway = providers.Singleton(
        ProviderGateway,
        settings=providers.Callable(_provider_settings, settings.provided.providers),
        environ=environ,
    )
    conversation = providers.Singleton(Conversation)
    session = providers.Singleton(
        gateway.provided.session.call(
            model,
            conversation,
            providers.Callable(
                system_instructions, cwd=providers.Callable(str, root), system=platform.system()
            ),
        )
    )

    # The main job
    run_agent = providers.Singleton(
        RunAgent,
        session_id=providers.Callable(new_id),
        cwd=providers.Callable(str, root),
        conversation=conversation,
        session=session,
        runtime=runtime,
        review=review,
        schemas=schemas,
        events=events,
        limits=providers.Factory(AgentLimits, max_tool_turns=settings.provided.agent.max_tool_turns),
    )

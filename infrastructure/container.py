"""The container: everything a session is made of, read from top to bottom. The front end fills the slots."""

from __future__ import annotations

import platform
from functools import partial
from operator import call
from pathlib import Path
from typing import Any

from dependency_injector import containers, providers

from application.event_stream import EventStream
from application.hook_chain import HookChain
from application.identifiers import new_id
from application.instructions import system_instructions
from application.outputs import Outputs
from application.review import Review
from application.run_agent import AgentLimits, RunAgent
from application.switchable_session import SwitchableSession
from application.tool_runtime import ToolRuntime
from application.voting import Voting
from domain.conversation import Conversation
from domain.plan import PLANNERS
from infrastructure.building_blocks import (
    blob_store,
    custom_declarations,
    directory_resolver,
    guard_settings,
    inspection,
    key_names,
    offered,
    output_limits,
    path_policy,
    provider_settings,
    quorum_policy,
    resources,
    sandbox,
    shell_gate,
    spec,
    spill_opener,
    web_settings,
)
from infrastructure.commands.run_command import RunCommand
from infrastructure.effects.watch import WorkspaceWatch
from infrastructure.hooks.registrations import hook_registrations
from infrastructure.json_schema import JsonSchema
from infrastructure.permissions.in_force import rule_book, rule_file, saved_rules
from infrastructure.prices.table import price_table
from infrastructure.providers.gateway import ProviderGateway
from infrastructure.tools.custom.tool import custom_tools
from infrastructure.tools.editing import EditFile
from infrastructure.tools.globbing import GlobSearch
from infrastructure.tools.listing import ListDirectory
from infrastructure.tools.plan import UpdatePlan
from infrastructure.tools.reading import ReadFile
from infrastructure.tools.registration import ToolSource
from infrastructure.tools.searching import GrepSearch
from infrastructure.tools.seen import SeenFiles
from infrastructure.tools.web.selection import web_tools
from infrastructure.tools.workspace import Workspace
from infrastructure.tools.writing import WriteFile


class Container(containers.DeclarativeContainer):
    """One session. Slots first, then what stands on them."""

    settings: providers.Dependency[Any] = providers.Dependency()
    model: providers.Dependency[Any] = providers.Dependency()
    root: providers.Dependency[Any] = providers.Dependency(instance_of=Path)
    environ: providers.Dependency[Any] = providers.Dependency()
    config_files: providers.Provider[Any] = providers.Object(())
    origins: providers.Provider[Any] = providers.Object({})
    person: providers.Dependency[Any] = providers.Dependency()
    observer: providers.Dependency[Any] = providers.Dependency()

    # What happens, and where
    events = providers.Singleton(EventStream, observers=providers.List(observer))
    workspace = providers.Singleton(Workspace, roots=providers.List(root))
    paths = providers.Singleton(path_policy, settings=settings, roots=workspace.provided.roots)
    # The models that can be asked, and what they cost
    gateway = providers.Singleton(
        ProviderGateway,
        settings=providers.Callable(provider_settings, settings.provided.providers),
        environ=environ,
    )
    prices = providers.Singleton(price_table, settings.provided.providers, settings.provided.prices, environ)

    # Who decides that a call may run
    guards = providers.Singleton(guard_settings, settings)
    rule_file = providers.Singleton(rule_file, environ)
    saved_rules = providers.Singleton(saved_rules, rule_file, workspace.provided.cwd)
    rules = providers.Singleton(
        rule_book,
        settings,
        origins=origins,
        saved=saved_rules,
        store=rule_file,
        paths=paths,
        guards=guards,
    )
    voting = providers.Singleton(
        Voting,
        gateway=gateway,
        policy=providers.Singleton(quorum_policy, settings),
        events=events,
        prices=prices,
    )
    review = providers.Singleton(
        Review,
        person=person,
        paths=paths,
        mode=settings.provided.review.mode,
        events=events,
        rules=rules,
        voting=voting,
        guards=guards,
    )

    # Tools
    store = providers.Singleton(blob_store, settings, environ)
    outputs = providers.Singleton(Outputs, store=store, limits=providers.Callable(output_limits, settings))
    seen = providers.Singleton(SeenFiles)
    secret_names = providers.Callable(key_names, settings)
    gate = providers.Singleton(shell_gate, paths, environ, secret_names)
    sandbox = providers.Singleton(sandbox, settings, paths, environ, config_files, review)
    built_in = providers.List(
        providers.Singleton(ReadFile, workspace=workspace, seen=seen),
        providers.Singleton(ListDirectory, workspace=workspace),
        providers.Singleton(GlobSearch, workspace=workspace),
        providers.Singleton(GrepSearch, workspace=workspace, policy=paths),
        providers.Singleton(WriteFile, workspace=workspace, seen=seen),
        providers.Singleton(EditFile, workspace=workspace, seen=seen),
        providers.Singleton(
            RunCommand,
            root=root,
            resolve_directory=providers.Callable(directory_resolver, workspace),
            timeout_secs=settings.provided.tools.run_command.timeout_secs,
            max_output_bytes=settings.provided.tools.run_command.max_output_bytes,
            secret_names=secret_names,
            open_spill=providers.Callable(spill_opener, store),
            judge=gate.provided.judge,
            sandbox=sandbox,
        ),
        providers.Singleton(UpdatePlan),
    )
    web = providers.Callable(web_tools, providers.Callable(web_settings, settings), environ=environ)
    custom = providers.Callable(
        custom_tools,
        providers.Callable(custom_declarations, settings),
        root=workspace.provided.cwd,
        resources=providers.Callable(resources, workspace),
        max_output_bytes=settings.provided.tools.run_command.max_output_bytes,
        secret_names=secret_names,
        sandbox=sandbox,
    )
    tools = providers.Singleton(
        offered,
        settings=settings,
        cwd=workspace.provided.cwd,
        sources=providers.List(
            providers.Factory(ToolSource, "quorum itself", built_in),
            providers.Factory(ToolSource, "quorum itself", providers.Callable(inspection, store, outputs)),
            providers.Factory(ToolSource, "[tools.web] in the settings", web),
            providers.Factory(ToolSource, "[tools.custom] in the settings", custom),
        ),
    )
    schema = providers.Singleton(JsonSchema)
    spec = providers.Singleton(spec, tools=tools)
    schemas = providers.Singleton(schema.provided.all_tools_schema.call(spec))
    planner = providers.Selector(
        settings.provided.tools.planner,
        **{name: providers.Object(planner) for name, planner in PLANNERS.items()},
    )
    registrations = providers.Singleton(
        hook_registrations,
        settings.provided.hooks,
        workspace=workspace.provided.cwd,
        environ=environ,
        secret_names=secret_names,
        sandbox=sandbox,
    )
    hooks = providers.Singleton(HookChain, registrations=registrations, events=events)
    runtime = providers.Singleton(
        ToolRuntime,
        hooks=hooks,
        outputs=outputs,
        tools=tools,
        schema=schema,
        review=review,
        events=events,
        planner=planner,
        cwd=providers.Callable(str, root),
        watch=providers.Singleton(WorkspaceWatch, workspace.provided.roots),
    )

    # The conversation
    conversation = providers.Singleton(Conversation)
    open_session = providers.Factory(
        partial,
        gateway.provided.session,
        conversation=conversation,
        system=providers.Callable(
            system_instructions, cwd=providers.Callable(str, root), system=platform.system()
        ),
        shape=hooks.provided.on_message_send,
    )
    session = providers.Singleton(
        SwitchableSession,
        providers.Callable(call, open_session, model),
        conversation=conversation,
        gateway=gateway,
        open_session=open_session,
    )

    # The main job
    run_agent = providers.Singleton(
        RunAgent,
        session_id=providers.Callable(new_id),
        cwd=providers.Callable(str, root),
        session=session,
        runtime=runtime,
        review=review,
        schemas=schemas,
        events=events,
        hooks=hooks,
        prices=prices,
        limits=providers.Factory(
            AgentLimits,
            max_tool_turns=settings.provided.agent.max_tool_turns,
            max_turn_end_retries=settings.provided.agent.max_turn_end_retries,
        ),
    )

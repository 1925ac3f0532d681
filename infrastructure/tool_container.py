"""The container of what carries out calls: models, review, tools and the runtime, read from top to bottom."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from dependency_injector import containers, providers

from application.calls.hook_chain import HookChain
from application.calls.one_session import OneSession
from application.calls.outputs import Outputs
from application.calls.tool_runtime import ToolRuntime
from application.calls.tool_set import ToolSet
from application.events.event_bus import EventBus
from application.jobs.background_jobs import BackgroundJobs
from application.plan.plan_service import PhaseTools, PlanService
from application.ports.people import Approver, Observer
from application.ports.tools import Tool
from application.review.masking_approver import MaskingApprover
from application.review.review import Review
from application.review.voting import Voting
from application.session.session_folders import SessionFolders, WantedFolder
from application.session.session_record import SessionRecord
from application.spending.metered_gateway import MeteredGateway
from application.spending.spend_limiter import SpendLimiter
from application.turn.attachments import Attachments
from application.turn.call_attachments import CallAttachments
from application.turn.steering import PendingMessages
from application.turn.turn_diagnostics import TurnDiagnostics
from domain.calls.planners import PLANNERS
from domain.conversation.effort import Effort
from domain.conversation.history import Conversation
from domain.events.masking import SecretMask
from domain.subagents.subagent_task import Asker
from infrastructure import building_blocks as build
from infrastructure.attachments.files import AttachmentFiles
from infrastructure.changes.repository_changes import ReadChange
from infrastructure.config.loading import is_flag
from infrastructure.config.model_choice import StoredKey, find_no_stored_key
from infrastructure.config.schema import Settings
from infrastructure.diagnostics.checking_command import build_checking_commands
from infrastructure.execution.commands.run_command import RunCommand
from infrastructure.execution.sandbox.places import list_homes
from infrastructure.files.addable_folders import AddableFolders
from infrastructure.files.workspace import Workspace
from infrastructure.hooks.registrations import build_hook_registrations
from infrastructure.instructions.skill_catalog import SkillCatalog
from infrastructure.instructions.skill_folders import SkillFolders
from infrastructure.models.registry import ProviderRegistry
from infrastructure.permissions import in_force
from infrastructure.prices.model_figures import build_price_table
from infrastructure.session_paths import build_path_policy, list_own_paths
from infrastructure.store.snapshots.keeper import WorkspaceKeeper
from infrastructure.store.snapshots.reading import FileReader
from infrastructure.store.snapshots.saved_index import open_saved_index
from infrastructure.tools.builtin.apply_patch import ApplyPatch
from infrastructure.tools.builtin.create_plan import CreatePlan
from infrastructure.tools.builtin.edit_file import EditFile
from infrastructure.tools.builtin.glob_search import GlobSearch
from infrastructure.tools.builtin.grep_search import GrepSearch
from infrastructure.tools.builtin.jobs import Jobs
from infrastructure.tools.builtin.list_directory import ListDirectory
from infrastructure.tools.builtin.read_file import ReadFile
from infrastructure.tools.builtin.seen import SeenFiles
from infrastructure.tools.builtin.update_plan import UpdatePlan
from infrastructure.tools.builtin.update_task import UpdateTask
from infrastructure.tools.builtin.write_file import WriteFile
from infrastructure.tools.choice import choose_tools
from infrastructure.tools.custom.tool import build_custom_tools
from infrastructure.tools.json_schema import JsonSchema
from infrastructure.tools.registration import ToolSource
from infrastructure.tools.web.selection import build_web_tools
from infrastructure.trust.decisions import TrustDecisions, open_trust_decisions


class ToolContainer(containers.DeclarativeContainer):
    """The slots that a front end fills, and what the calls of a session run on."""

    settings: providers.Dependency[Settings] = providers.Dependency(instance_of=Settings)
    models: providers.Dependency[Sequence[str]] = providers.Dependency()
    chosen_efforts: providers.Provider[Mapping[str, Effort]] = providers.Object({})
    participants: providers.Provider[Sequence[str]] = providers.Object(())
    moderator: providers.Provider[str] = providers.Object("")
    root: providers.Dependency[Path] = providers.Dependency(instance_of=Path)
    environ: providers.Dependency[Mapping[str, str]] = providers.Dependency()
    config_files: providers.Provider[Sequence[Path]] = providers.Object(())
    origins: providers.Provider[Mapping[str, str]] = providers.Object({})
    covered: providers.Provider[Mapping[str, object]] = providers.Object({})
    approver: providers.Dependency[Approver] = providers.Dependency()
    observer: providers.Dependency[Observer] = providers.Dependency()
    record: providers.Dependency[SessionRecord] = providers.Dependency(instance_of=SessionRecord)
    mask: providers.Dependency[SecretMask] = providers.Dependency(instance_of=SecretMask)
    stored_key: providers.Provider[StoredKey] = providers.Object(find_no_stored_key)
    sockets: providers.Provider[Sequence[Path]] = providers.Object(())
    wanted_folders: providers.Provider[Sequence[WantedFolder]] = providers.Object(())
    reserved_commands: providers.Provider[Collection[str]] = providers.Object(())
    read_change: providers.Provider[ReadChange] = providers.Singleton(ReadChange)
    trust: providers.Provider[TrustDecisions] = providers.Singleton(open_trust_decisions, environ)

    # What is there where the session is a subagent's, and what is not
    owner_review: providers.Provider[Review | None] = providers.Object(None)
    asker: providers.Provider[Asker] = providers.Object(Asker())
    one_session: providers.Provider[OneSession] = providers.Singleton(OneSession)
    task_tools: providers.Provider[Sequence[Tool]] = providers.Object(())

    # What the record of the session says of it
    session_id = record.provided.session_id
    ledger = record.provided.ledger
    storage = record.provided.storage
    contents = record.provided.contents
    past = record.provided.records
    kind = record.provided.form

    # What happens, and where
    events = providers.Singleton(
        EventBus,
        observers=providers.List(observer),
        ledger=ledger,
        mask=mask,
        past=past,
    )
    state = events.provided.state
    conversation = providers.Singleton(Conversation, state.messages)
    workspace = providers.Singleton(Workspace, roots=providers.List(root))
    own = providers.Singleton(
        list_own_paths, settings, workspace.provided.roots, environ, config_files, sockets
    )
    paths = providers.Singleton(
        build_path_policy,
        settings,
        workspace.provided.roots,
        own,
        config_files,
        folders=workspace.provided.folders,
    )
    secrets = providers.Singleton(build.session_secrets, mask, settings=settings, environ=environ, policy=paths)
    folders = providers.Singleton(
        SessionFolders,
        workspace.provided.folders,
        check=providers.Singleton(AddableFolders, paths, providers.Callable(list_homes, environ)),
        events=events,
        configured=settings.provided.workspace.directories,
        wanted=wanted_folders,
        learn=secrets.provided.learn_workspace,
    )

    # The models that can be asked, and what they cost
    gateway = providers.Singleton(
        ProviderRegistry,
        settings=providers.Callable(build.build_provider_settings, settings.provided.providers),
        environ=environ,
        stored_key=stored_key,
        contents=contents,
    )
    prices = providers.Singleton(
        build_price_table, settings.provided.providers, settings.provided.prices, environ
    )

    # What they may spend: no request goes past the limiter
    spending = providers.Singleton(
        SpendLimiter,
        providers.Callable(build.build_spend_caps, settings),
        prices=prices,
        approver=approver,
        events=events,
        always_asked=settings.provided.models.review,
        is_free=providers.Callable(build.build_free_model_test, settings.provided.providers),
    )
    metered = providers.Singleton(MeteredGateway, gateway, spending)

    # Who decides that a call may run
    guards = providers.Singleton(in_force.build_guard_settings, settings)
    rule_file = providers.Singleton(in_force.open_rule_file, environ)
    saved_rules = providers.Singleton(in_force.load_saved_rules, rule_file, workspace.provided.cwd)
    rules = providers.Singleton(
        in_force.build_rule_book,
        settings,
        origins=origins,
        saved=saved_rules,
        store=rule_file,
        paths=paths,
        guards=guards,
        list_plan_rules=providers.Callable(in_force.build_plan_rule_list, events),
    )
    voting = providers.Singleton(
        Voting,
        gateway=providers.Singleton(MeteredGateway, gateway, spending, may_ask=False),
        policy=providers.Singleton(build.build_quorum_policy, settings),
        events=events,
        prices=prices,
    )
    review = providers.Singleton(
        Review,
        person=providers.Singleton(MaskingApprover, approver, mask),
        paths=paths,
        mode=settings.provided.review.mode,
        events=events,
        rules=rules,
        voting=voting,
        guards=guards,
        within=owner_review,
    )

    # Tools
    store = providers.Singleton(build.build_blob_store, settings, storage, mask)
    outputs = providers.Singleton(
        Outputs, store=store, limits=providers.Callable(build.build_output_limits, settings), kept=state.blobs
    )
    command_limits = providers.Callable(build.build_command_limits, settings)
    seen = providers.Singleton(SeenFiles, conversation)
    secret_names = providers.Callable(build.list_key_names, settings)
    gate = providers.Singleton(build.build_shell_gate, paths, environ, secret_names)
    sandbox = providers.Singleton(
        build.build_sandbox,
        settings,
        paths,
        environ,
        own,
        review,
        root=root,
        session_id=session_id,
        git_approvals=state.git_approvals,
    )
    review.add_kwargs(folders=folders)
    # Which modes there are depends on the sandbox, and that on the mode in force.
    review.add_kwargs(refusal=providers.Callable(build.build_mode_check, sandbox.provider))
    pending_messages = providers.Singleton(PendingMessages)
    attachment_files = providers.Singleton(AttachmentFiles, workspace.provided.cwd, paths, environ)
    attachments = providers.Singleton(
        Attachments,
        attachment_files,
        contents,
        hide=events.provided.hide,
        past=providers.Callable(build.past_events, past),
    )
    call_attachments = providers.Singleton(CallAttachments, attachments, pending_messages)
    read_file = providers.Singleton(ReadFile, workspace=workspace, seen=seen, attachments=call_attachments)
    list_directory = providers.Singleton(ListDirectory, workspace=workspace)
    glob_search = providers.Singleton(GlobSearch, workspace=workspace)
    grep_search = providers.Singleton(GrepSearch, workspace=workspace, policy=paths)
    write_file = providers.Singleton(WriteFile, workspace=workspace, seen=seen)
    edit_file = providers.Singleton(EditFile, workspace=workspace, seen=seen)
    apply_patch = providers.Singleton(ApplyPatch, workspace=workspace, seen=seen)
    jobs = providers.Singleton(
        BackgroundJobs,
        events=events,
        outputs=outputs,
        pending_messages=pending_messages,
        most=settings.provided.tools.run_command.max_jobs,
    )
    run_command = providers.Singleton(
        RunCommand,
        jobs=jobs,
        root=root,
        resolve_directory=providers.Callable(build.build_directory_resolver, workspace),
        timeout_secs=settings.provided.tools.run_command.timeout_secs,
        max_output_bytes=settings.provided.tools.run_command.max_output_bytes,
        limits=command_limits,
        secret_names=secret_names,
        open_spill=providers.Callable(build.spill_opener, store),
        judge=gate.provided.judge,
        sandbox=sandbox,
    )
    job_control = providers.Singleton(Jobs, jobs=jobs)
    update_plan = providers.Singleton(UpdatePlan)
    plans = providers.Singleton(
        PlanService,
        events=events,
        kind=kind,
        scope=settings.provided.agent.phase_scope,
        is_asked_for=providers.Callable(is_flag, origins, "agent.phase_scope"),
    )
    create_plan = providers.Singleton(CreatePlan, plans, providers.Callable(str, root))
    update_task = providers.Singleton(UpdateTask, plans)
    skill_folders = providers.Singleton(SkillFolders, root, environ)
    skills = providers.Singleton(SkillCatalog, skill_folders, decisions=trust, approver=approver, cwd=root)
    built_in = providers.List(
        read_file,
        list_directory,
        glob_search,
        grep_search,
        write_file,
        edit_file,
        apply_patch,
        run_command,
        job_control,
        update_plan,
        create_plan,
        update_task,
    )
    web = providers.Callable(
        build_web_tools, providers.Callable(build.build_web_settings, settings), environ=environ
    )
    custom = providers.Callable(
        build_custom_tools,
        providers.Callable(build.list_custom_declarations, settings),
        root=workspace.provided.cwd,
        resources=providers.Callable(build.build_resource_resolver, workspace),
        max_output_bytes=settings.provided.tools.run_command.max_output_bytes,
        secret_names=secret_names,
        sandbox=sandbox,
        open_spill=providers.Callable(build.spill_opener, store),
    )
    tool_choice = providers.Singleton(
        choose_tools,
        form=kind,
        covered=covered,
        settings=settings,
        cwd=workspace.provided.cwd,
        sources=providers.List(
            providers.Factory(ToolSource, "quorum itself", built_in),
            providers.Factory(
                ToolSource, "quorum itself", providers.Callable(build.skill_tools, skill_folders, skills)
            ),
            providers.Factory(
                ToolSource, "quorum itself", providers.Callable(build.inspection, store, outputs)
            ),
            providers.Factory(ToolSource, "quorum itself", task_tools),
            providers.Factory(ToolSource, "[tools.web] in the settings", web),
            providers.Factory(ToolSource, "[tools.custom] in the settings", custom),
        ),
    )
    schema = providers.Singleton(JsonSchema)
    tools = tool_choice.provided.tools
    spec = providers.Singleton(build.build_tool_spec, tools=tools)
    tool_set = providers.Singleton(ToolSet, tools, schema)
    phase_tools = providers.Singleton(PhaseTools, events, tool_set)
    planner = providers.Selector(
        settings.provided.tools.planner,
        **{name: providers.Object(planner) for name, planner in PLANNERS.items()},
    )
    registrations = providers.Singleton(
        build_hook_registrations,
        settings.provided.hooks,
        workspace=workspace.provided.cwd,
        environ=environ,
        secret_names=secret_names,
        sandbox=sandbox,
    )
    hooks = providers.Singleton(HookChain, registrations=registrations, events=events)
    # Files as they were before they were changed
    holds_secret = providers.Callable(build.build_secret_test, mask)
    reader = providers.Singleton(
        FileReader, workspace, paths, holds_secret, on_sensitive=secrets.provided.learn_from_file
    )
    keeper = providers.Singleton(
        WorkspaceKeeper,
        workspace,
        reader,
        contents,
        holds_secret=holds_secret,
        own_paths=providers.Callable(build.convert_to_strings, own),
        saved_index=providers.Callable(open_saved_index, settings, environ, paths, record, holds_secret),
    )
    diagnostics = providers.Singleton(
        TurnDiagnostics,
        providers.Callable(
            build_checking_commands,
            settings.provided.diagnostics,
            workspace=workspace.provided.cwd,
            environ=environ,
            secret_names=secret_names,
            sandbox=sandbox,
        ),
        events,
    )
    runtime = providers.Singleton(
        ToolRuntime,
        hooks=hooks,
        outputs=outputs,
        tools=tool_set,
        schema=schema,
        review=review,
        events=events,
        planner=planner,
        cwd=providers.Callable(str, root),
        keeper=keeper,
        secrets=secrets,
        edits=diagnostics,
        asker=asker,
        one_session=one_session,
    )

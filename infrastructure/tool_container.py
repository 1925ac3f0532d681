"""The container of what carries out calls: the tools and the runtime, after `review_container.py`."""

from __future__ import annotations

from application.calls.hook_chain import HookChain
from application.calls.outputs import Outputs
from application.calls.tool_runtime import ToolRuntime
from application.calls.tool_set import ToolSet
from application.jobs.background_jobs import BackgroundJobs
from application.plan.plan_service import PhaseTools, PlanService
from application.turn.attachments import Attachments
from application.turn.call_attachments import CallAttachments
from application.turn.steering import PendingMessages
from application.turn.turn_diagnostics import TurnDiagnostics
from domain.calls.planners import PLANNERS
from infrastructure import building_blocks as build
from infrastructure import session_tools
from infrastructure.attachments.files import AttachmentFiles
from infrastructure.config.loading import is_flag
from infrastructure.diagnostics.checking_command import build_checking_commands
from infrastructure.execution.commands.run_command import RunCommand
from infrastructure.execution.sandbox.sandbox import EarlySearch
from infrastructure.hooks.registrations import build_hook_registrations
from infrastructure.injection import providers
from infrastructure.instructions.agent_catalog import AgentCatalog
from infrastructure.instructions.agent_files import AgentFiles
from infrastructure.instructions.skill_catalog import SkillCatalog
from infrastructure.instructions.skill_folders import SkillFolders
from infrastructure.review_container import ReviewContainer
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
from infrastructure.tools.web.selection import build_web_fetch, build_web_search


class ToolContainer(ReviewContainer):
    """What the calls of a session run on."""

    # Tools
    store = providers.Singleton(
        build.build_blob_store, ReviewContainer.settings, ReviewContainer.storage, ReviewContainer.mask
    )
    outputs = providers.Singleton(
        Outputs,
        store=store,
        limits=providers.Callable(build.build_output_limits, ReviewContainer.settings),
        kept=ReviewContainer.state.blobs,
    )
    command_limits = providers.Callable(build.build_command_limits, ReviewContainer.settings)
    seen = providers.Singleton(SeenFiles, ReviewContainer.conversation)
    secret_names = providers.Callable(build.list_key_names, ReviewContainer.settings)
    gate = providers.Singleton(
        build.build_shell_gate, ReviewContainer.paths, ReviewContainer.environ, secret_names
    )
    sandbox = providers.Singleton(
        build.build_sandbox,
        ReviewContainer.settings,
        ReviewContainer.paths,
        ReviewContainer.environ,
        ReviewContainer.own,
        ReviewContainer.review,
        root=ReviewContainer.root,
        session_id=ReviewContainer.session_id,
        git_approvals=ReviewContainer.state.git_approvals,
    )
    early_search = providers.Singleton(EarlySearch, sandbox, ReviewContainer.workspace.provided.folders)
    ReviewContainer.review.add_kwargs(folders=ReviewContainer.folders)
    # Which modes there are depends on the sandbox, and that on the mode in force.
    ReviewContainer.review.add_kwargs(
        refusal=providers.Callable(
            build.build_mode_check,
            sandbox.provider,
            ReviewContainer.policy,
            ReviewContainer.settings.provided.models.review,
        )
    )
    pending_messages = providers.Singleton(PendingMessages)
    attachment_files = providers.Singleton(
        AttachmentFiles, ReviewContainer.workspace.provided.cwd, ReviewContainer.paths, ReviewContainer.environ
    )
    attachments = providers.Singleton(
        Attachments,
        attachment_files,
        ReviewContainer.contents,
        hide=ReviewContainer.events.provided.hide,
        past=providers.Callable(build.list_past_events, ReviewContainer.past),
    )
    call_attachments = providers.Singleton(CallAttachments, attachments, pending_messages)
    read_file = providers.Singleton(
        ReadFile, workspace=ReviewContainer.workspace, seen=seen, attachments=call_attachments
    )
    list_directory = providers.Singleton(ListDirectory, workspace=ReviewContainer.workspace)
    glob_search = providers.Singleton(GlobSearch, workspace=ReviewContainer.workspace)
    grep_search = providers.Singleton(
        GrepSearch, workspace=ReviewContainer.workspace, policy=ReviewContainer.paths
    )
    write_file = providers.Singleton(WriteFile, workspace=ReviewContainer.workspace, seen=seen)
    edit_file = providers.Singleton(EditFile, workspace=ReviewContainer.workspace, seen=seen)
    apply_patch = providers.Singleton(ApplyPatch, workspace=ReviewContainer.workspace, seen=seen)
    background_jobs = providers.Singleton(
        BackgroundJobs,
        events=ReviewContainer.events,
        outputs=outputs,
        pending_messages=pending_messages,
        most=ReviewContainer.settings.provided.tools.run_command.max_jobs,
    )
    run_command = providers.Singleton(
        RunCommand,
        jobs=background_jobs,
        root=ReviewContainer.root,
        resolve_directory=providers.Callable(build.build_directory_resolver, ReviewContainer.workspace),
        timeout_secs=ReviewContainer.settings.provided.tools.run_command.timeout_secs,
        max_output_bytes=ReviewContainer.settings.provided.tools.run_command.max_output_bytes,
        limits=command_limits,
        secret_names=secret_names,
        open_spill=providers.Callable(build.get_spill_opener, store),
        judge=gate.provided.judge,
        sandbox=sandbox,
    )
    jobs = providers.Singleton(Jobs, jobs=background_jobs)
    update_plan = providers.Singleton(UpdatePlan)
    plans = providers.Singleton(
        PlanService,
        events=ReviewContainer.events,
        kind=ReviewContainer.kind,
        scope=ReviewContainer.settings.provided.agent.phase_scope,
        is_asked_for=providers.Callable(is_flag, ReviewContainer.origins, "agent.phase_scope"),
    )
    create_plan = providers.Singleton(CreatePlan, plans, providers.Callable(str, ReviewContainer.root))
    update_task = providers.Singleton(UpdateTask, plans)
    skill_folders = providers.Singleton(SkillFolders, ReviewContainer.root, ReviewContainer.environ)
    skills = providers.Singleton(
        SkillCatalog,
        skill_folders,
        decisions=ReviewContainer.trust,
        approver=ReviewContainer.approver,
        cwd=ReviewContainer.root,
    )
    agent_files = providers.Singleton(AgentFiles, ReviewContainer.root, ReviewContainer.environ)
    agents = providers.Singleton(
        AgentCatalog,
        agent_files,
        decisions=ReviewContainer.trust,
        approver=ReviewContainer.approver,
        cwd=ReviewContainer.root,
    )
    # These are None in a session that has no use for them.
    load_skill = providers.Singleton(session_tools.build_load_skill, skill_folders, skills)
    inspect = providers.Singleton(session_tools.build_inspect, store, outputs)
    task = providers.Singleton(session_tools.build_task, ReviewContainer.owner_review)
    run_task = providers.Singleton(session_tools.build_run_task, ReviewContainer.owner_review, plans)
    fail_task = providers.Singleton(
        session_tools.build_fail_task, ReviewContainer.owner_review, ReviewContainer.asker
    )
    web_settings = providers.Callable(build.build_web_settings, ReviewContainer.settings)
    web_fetch = providers.Singleton(build_web_fetch, web_settings)
    web_search = providers.Singleton(build_web_search, web_settings, ReviewContainer.environ)
    built_in = providers.List(
        read_file,
        list_directory,
        glob_search,
        grep_search,
        write_file,
        edit_file,
        apply_patch,
        run_command,
        jobs,
        update_plan,
        create_plan,
        update_task,
        load_skill,
        inspect,
        task,
        run_task,
        fail_task,
    )
    web = providers.List(web_fetch, web_search)
    custom = providers.Callable(
        build_custom_tools,
        providers.Callable(build.list_custom_declarations, ReviewContainer.settings),
        root=ReviewContainer.workspace.provided.cwd,
        resources=providers.Callable(build.build_resource_resolver, ReviewContainer.workspace),
        max_output_bytes=ReviewContainer.settings.provided.tools.run_command.max_output_bytes,
        secret_names=secret_names,
        sandbox=sandbox,
        open_spill=providers.Callable(build.get_spill_opener, store),
    )
    tool_choice = providers.Singleton(
        choose_tools,
        form=ReviewContainer.kind,
        covered=ReviewContainer.covered,
        settings=ReviewContainer.settings,
        cwd=ReviewContainer.workspace.provided.cwd,
        sources=providers.Callable(session_tools.list_tool_sources, built_in, web, custom),
    )
    schema = providers.Singleton(JsonSchema)
    tools = providers.Singleton(
        session_tools.keep_wanted_tools, tool_choice.provided.tools, ReviewContainer.wanted_tools
    )
    spec = providers.Singleton(session_tools.build_tool_spec, tools=tools)
    tool_set = providers.Singleton(ToolSet, tools, schema)
    create_plan.add_kwargs(tools=tool_set.provider)  # it is one of them
    phase_tools = providers.Singleton(PhaseTools, ReviewContainer.events, tool_set)
    planner = providers.Selector(
        ReviewContainer.settings.provided.tools.planner,
        **{name: providers.Object(planner) for name, planner in PLANNERS.items()},
    )
    registrations = providers.Singleton(
        build_hook_registrations,
        ReviewContainer.settings.provided.hooks,
        workspace=ReviewContainer.workspace.provided.cwd,
        environ=ReviewContainer.environ,
        secret_names=secret_names,
        sandbox=sandbox,
    )
    hooks = providers.Singleton(HookChain, registrations=registrations, events=ReviewContainer.events)
    # Files as they were before they were changed
    holds_secret = providers.Callable(build.build_secret_test, ReviewContainer.mask)
    reader = providers.Singleton(
        FileReader,
        ReviewContainer.workspace,
        ReviewContainer.paths,
        holds_secret,
        on_sensitive=ReviewContainer.secrets.provided.learn_from_file,
    )
    keeper = providers.Singleton(
        WorkspaceKeeper,
        ReviewContainer.workspace,
        reader,
        ReviewContainer.contents,
        holds_secret=holds_secret,
        own_paths=providers.Callable(build.convert_to_strings, ReviewContainer.own),
        saved_index=providers.Callable(
            open_saved_index,
            ReviewContainer.settings,
            ReviewContainer.environ,
            ReviewContainer.paths,
            ReviewContainer.record,
            holds_secret,
        ),
    )
    diagnostics = providers.Singleton(
        TurnDiagnostics,
        providers.Callable(
            build_checking_commands,
            ReviewContainer.settings.provided.diagnostics,
            workspace=ReviewContainer.workspace.provided.cwd,
            environ=ReviewContainer.environ,
            secret_names=secret_names,
            sandbox=sandbox,
        ),
        ReviewContainer.events,
    )
    runtime = providers.Singleton(
        ToolRuntime,
        hooks=hooks,
        outputs=outputs,
        tools=tool_set,
        schema=schema,
        review=ReviewContainer.review,
        events=ReviewContainer.events,
        planner=planner,
        cwd=providers.Callable(str, ReviewContainer.root),
        keeper=keeper,
        secrets=ReviewContainer.secrets,
        edits=diagnostics,
        asker=ReviewContainer.asker,
        one_session=ReviewContainer.one_session,
    )

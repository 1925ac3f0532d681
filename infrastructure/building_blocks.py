"""Settings made into what the parts of a session want to be built from."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from application.calls.tool_runtime import ToolRuntime
from application.context.context_gauge import ContextGauge
from application.instructions.system_prompt import SystemPrompt
from application.ports.storage import BlobStore, Spill, Storage
from application.review.quorum_policy import QuorumPolicy
from application.review.review import Review
from application.session.late_secrets import mask_late_secrets
from application.session.session_models import SessionModels
from application.session.session_record import SessionRecord
from application.spending.spend_limiter import SpendLimiter
from application.turn.switchable_session import SwitchableSession
from domain.conversation.compaction import ContextBudget
from domain.conversation.spend_caps import SpendCap, SpendCaps
from domain.events.event import Event
from domain.events.masking import SecretMask
from domain.review.approved_call import GitApproval
from domain.review.ballot import QuorumRule
from domain.review.lens import parse_lens
from domain.review.mode import Mode
from domain.review.path_policy import PathPolicy
from domain.review.permissions import Answer, Rule
from domain.secrets.key_variables import CLOUD_KEYS
from domain.sessions.past_session import LedgerRecord
from domain.shell.sandbox import SandboxOn
from domain.text.json_value import JsonValue
from domain.text.output import COMMAND_LIMITS, OutputLimits
from infrastructure.config.custom_tool import CustomToolDeclaration
from infrastructure.config.custom_tool_table import build_declaration
from infrastructure.config.paths import locate_state_folder
from infrastructure.config.permission_table import PermissionTable
from infrastructure.config.policy_table import NO_POLICY, ManagedPolicy
from infrastructure.config.provider_table import ProviderTable
from infrastructure.config.schema import Settings
from infrastructure.execution.commands.environment import build_command_environment
from infrastructure.execution.sandbox.sandbox import Sandbox
from infrastructure.execution.sandbox.session_tmp import SessionTmp
from infrastructure.execution.sandbox.unfinished_commands import UnfinishedCommands
from infrastructure.execution.shell.gate import ShellGate
from infrastructure.execution.shell.programs import SystemPrograms
from infrastructure.files.workspace import Workspace
from infrastructure.models.shared.api_client import ProviderSettings
from infrastructure.secrets.known import SessionSecrets
from infrastructure.tools.web.selection import WebSettings


def build_permission_rules(
    settings: Settings, origins: Mapping[str, str] = MappingProxyType({})
) -> tuple[Rule, ...]:
    """The rules of the settings. `origins` says of a key where its value came from, for the person.

    The rules that allow by default hold beside those that the settings list: a rule that asks or denies is
    stricter, and so switches them off.
    """
    table = settings.permissions
    usual = (
        Rule.parse(text, Answer.ALLOW, "permissions.allow, default")
        for text in PermissionTable().allow
        if text not in table.allow
    )
    listed = ((Answer.ALLOW, table.allow), (Answer.ASK, table.ask), (Answer.DENY, table.deny))
    own = (
        Rule.parse(text, answer, f"permissions.{answer}, {origins.get(f'permissions.{answer}', 'settings')}")
        for answer, texts in listed
        for text in texts
    )
    return (*usual, *own)


def build_quorum_policy(settings: Settings, managed: ManagedPolicy = NO_POLICY) -> QuorumPolicy:
    """Who votes, and how the votes are counted. Raises ConfigError for a calibration that cannot be read."""
    policy = QuorumPolicy(
        reviewers=settings.models.review,
        rule=QuorumRule.parse(settings.quorum.rule),
        min_votes=settings.quorum.min_votes,
        vote_timeout_secs=settings.quorum.vote_timeout_secs,
        efforts=settings.models.effort,
        lenses={name: parse_lens(text) for name, text in settings.quorum.lenses.items()},
        escalate_below=settings.quorum.escalate_below if settings.quorum.escalate else None,
        min_families=managed.min_families,
        max_plan_revisions=settings.agent.max_plan_revisions,
    )
    if not settings.quorum.calibration or not policy.reviewers:
        return policy
    from infrastructure.benchmark.calibration_file import load_calibration

    path = Path(settings.quorum.calibration).expanduser()
    return replace(policy, calibration=load_calibration(path, policy))


def build_spend_caps(settings: Settings) -> SpendCaps:
    """The spend caps that are set: 0 is none."""
    table = settings.agent
    figures = {
        SpendCap.COST: table.max_cost_usd,
        SpendCap.TOKENS: table.max_tokens,
        SpendCap.TURN_COST: table.max_cost_usd_per_turn,
        SpendCap.TURN_TOKENS: table.max_tokens_per_turn,
    }
    return SpendCaps({cap: Decimal(repr(figure)) for cap, figure in figures.items() if figure})


def build_free_model_test(providers: Mapping[str, ProviderTable]) -> Callable[[str], bool]:
    """Answers whether "provider/model" runs in this process and costs nothing."""
    free = frozenset(name for name, table in providers.items() if table.type == "offline")
    return lambda model: model.partition("/")[0] in free


def list_spend_notices(
    limiter: SpendLimiter, models: Sequence[str], reviewers: Sequence[str]
) -> tuple[str, ...]:
    """What to say of the caps before the first request of a session that is to be opened with `models`."""
    return limiter.build_unpriced_notices((models[0], *reviewers))


def build_provider_settings(tables: Mapping[str, ProviderTable]) -> dict[str, ProviderSettings]:
    """How each provider is reached."""
    return {
        name: ProviderSettings(
            type=table.type,
            client=table.client,
            region=table.region or None,
            project=table.project or None,
            api_version=table.api_version or None,
            program=table.program or None,
            base_url=table.base_url or None,
            api_key_env=table.api_key_env,
            timeout_secs=table.timeout_secs,
            max_retries=table.max_retries,
            requests_per_minute=table.requests_per_minute,
            max_output_tokens=table.max_output_tokens or None,
            headers=table.headers,
        )
        for name, table in tables.items()
    }


def build_directory_resolver(workspace: Workspace) -> Callable[[str], Path]:
    """Places a folder that a model names inside the workspace, or refuses it."""
    return lambda named: Path(workspace.locate(named).path)


def build_shell_gate(paths: PathPolicy, environ: Mapping[str, str], secret_names: Collection[str]) -> ShellGate:
    """Tells which commands only read; it looks programs up where a command would."""
    path = build_command_environment(environ, secret_names)["PATH"]
    return ShellGate(paths, SystemPrograms(path, paths))


def list_key_names(settings: Settings) -> frozenset[str]:
    """The environment variables that hold keys, which no command may see."""
    names = {table.api_key_env for table in settings.providers.values()} | {settings.tools.web.search_key_env}
    names |= {table.bearer_token_env for table in settings.mcp.servers.values()}
    return frozenset(names - {""}) | CLOUD_KEYS


def convert_to_strings(paths: Sequence[Path]) -> list[str]:
    """The same paths as text."""
    return list(map(str, paths))


def build_sandbox(
    settings: Settings,
    policy: PathPolicy,
    environ: Mapping[str, str],
    own: Sequence[Path],
    review: Review,
    *,
    root: Path = Path(),
    session_id: str = "",
    git_approvals: Collection[GitApproval] = (),
) -> Sandbox:
    """What commands are held to. `own` is hidden from them. `git_approvals` are those recorded; one of this
    very session and workspace, `session_id` and `root`, holds again.
    """
    table = settings.tools.run_command
    shared = locate_shared_tmp(environ)
    return Sandbox(
        choice=table.sandbox,
        policy=policy,
        environ=environ,
        own=own,
        readable=table.sandbox_readable,
        writable=table.sandbox_writable,
        network=_decide_network(table.network, review),
        tmp=SessionTmp(shared) if shared is not None else None,
        unfinished=_keep_unfinished_commands(policy, environ, session_id),
        is_git_open=os.path.realpath(root) == str(root)  # no link leads to another workspace than approved
        and GitApproval(session_id=session_id, workspace=str(root)) in git_approvals,
    )


def _keep_unfinished_commands(
    policy: PathPolicy, environ: Mapping[str, str], session_id: str
) -> UnfinishedCommands | None:
    state = locate_state_folder(environ)
    if state is None or not session_id:
        return None
    return UnfinishedCommands(state / "unfinished-commands" / session_id, policy)


def locate_shared_tmp(environ: Mapping[str, str]) -> Path | None:
    """Where the folders lie that the commands of sessions share as `/tmp`; None where there is no home."""
    state = locate_state_folder(environ)
    return state / "sandbox" if state is not None else None


def build_mode_check(
    sandbox: Callable[[], Sandbox], policy: ManagedPolicy = NO_POLICY, reviewers: Sequence[str] = ()
) -> Callable[[Mode], Awaitable[str | None]]:
    """Tells why a mode cannot be had here, by the managed policy or for want of a sandbox.

    The sandbox depends on the review, for the mode that is in force: it is made when somebody asks.
    """

    async def find_refusal(mode: Mode) -> str | None:
        if (why := policy.explain_mode_refusal(mode, reviewers)) is not None:
            return why
        if not mode.traits.needs_sandbox:
            return None
        state = await sandbox().find_state()
        if isinstance(state, SandboxOn):
            return None
        return f"the mode {mode} needs a sandbox, and {state.why}: {state.remedy}"

    return find_refusal


def _decide_network(choice: str, review: Review) -> Callable[[], bool]:
    """Whether a command reaches the network: not where nobody looks at it, unless the settings say so."""
    return lambda: choice == "on" or (choice == "auto" and review.mode.traits.network)


def build_web_settings(settings: Settings) -> WebSettings:
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


def list_custom_declarations(settings: Settings) -> tuple[CustomToolDeclaration, ...]:
    """The tools declared in the settings."""
    return tuple(build_declaration(name, table) for name, table in settings.tools.custom.items())


def build_resource_resolver(workspace: Workspace) -> Callable[[str], frozenset[str]]:
    """The resources behind a path that a model names."""
    return lambda named: workspace.locate(named).resources


def build_output_limits(settings: Settings) -> OutputLimits:
    """When an output is kept aside, and how long its summary may be."""
    table = settings.tools.output
    return OutputLimits(
        inline_bytes=table.inline_bytes,
        summary_bytes=table.summary_bytes,
        head_lines=table.head_lines,
        tail_lines=table.tail_lines,
    )


def build_command_limits(settings: Settings) -> OutputLimits:
    """How much the model gets of what a command prints."""
    table = settings.tools.run_command
    return replace(COMMAND_LIMITS, inline_bytes=table.inline_bytes, summary_bytes=table.summary_bytes)


def build_blob_store(settings: Settings, storage: Storage, mask: SecretMask) -> BlobStore | None:
    """The store of long outputs; None where it is switched off or there is no place for it."""
    return storage.open_blobs(mask) if settings.tools.output.store else None


def build_secret_test(mask: SecretMask) -> Callable[[bytes], bool]:
    """Tells contents that hold a known secret, and so must not be stored; also in two bytes a character."""

    def holds_secret(content: bytes) -> bool:
        forms = (content, content.replace(b"\0", b"")) if b"\0" in content else (content,)
        texts = (form.decode("utf-8", "replace") for form in forms if mask.may_hold_known(form))
        return any(mask.mask_known(text) is not text for text in texts)

    return holds_secret


def build_context_budget(settings: Settings) -> ContextBudget:
    """How a conversation is kept within its model's window."""
    table = settings.context_budget
    return ContextBudget(
        compact_at=table.compact_at,
        max_entry_bytes=table.max_entry_bytes,
        max_total_bytes=table.max_total_bytes,
        recent_full_count=table.recent_full_count,
        assumed_window=table.window_tokens,
    )


def build_prompt_measure(system_prompt: SystemPrompt) -> Callable[[], Sequence[tuple[str, int]]]:
    """The parts of the system prompt, the name and the bytes of each, as they are whenever that is asked."""
    return lambda: system_prompt.sizes


def build_file_measure(gauge: ContextGauge, session: SwitchableSession) -> Callable[[], int]:
    """How many bytes the files of a prompt may have: half of what is left before room is made."""
    return lambda: gauge.compute_room_for_files(session.serving)


def build_document_measure(
    gauge: Callable[[], ContextGauge], session: Callable[[], SwitchableSession]
) -> Callable[[], int]:
    """How many tokens a PDF may have that a tool reads: what is left before room is made."""
    return lambda: gauge().compute_room_for_document(session().serving)


def read_state_values(runtime: ToolRuntime) -> Callable[[], Mapping[str, JsonValue]]:
    """What the run's state holds at any time."""
    return lambda: runtime.state.values


def get_spill_opener(store: BlobStore | None) -> Callable[[], Spill] | None:
    """Opens the place for the text of a command that prints more than is kept; None without a store."""
    return store.open_spill if store is not None else None


def build_model_name_source(models: SessionModels) -> Callable[[], str]:
    """Which model the session has at any time."""
    return lambda: models.current


def list_past_events(records: Sequence[LedgerRecord]) -> tuple[Event, ...]:
    """What happened in these records, as far as it can be read."""
    return tuple(record.event for record in records if record.event is not None)


def gather_session_secrets(
    mask: SecretMask, *, settings: Settings, environ: Mapping[str, str], policy: PathPolicy
) -> SessionSecrets:
    """What a session knows to be secret, gathered before anything is said or recorded."""
    secrets = SessionSecrets(mask, settings=settings, environ=environ, policy=policy)
    secrets.gather()
    return secrets


def mask_record(
    record: SessionRecord, mask: SecretMask, _gathered: SessionSecrets, *notices: Sequence[str]
) -> SessionRecord:
    """The record as people may see it: without the secrets that are known by now, with what there is to say."""
    shown, hidden = mask_late_secrets(record.records, mask, record.session_id)
    all_notices = (*record.notices, *((hidden,) if hidden else ()), *chain.from_iterable(notices))
    return replace(record, records=shown, notices=all_notices)

"""What happens in a session, what it shares with its subagents, and who decides that its calls may run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from copy import copy
from functools import cached_property
from typing import Final

from msgspec import Struct, field

from quorum.application.calls.batch_state import OneSession
from quorum.application.calls.hook_chain import SessionHooks
from quorum.application.event_bus import EventBus
from quorum.application.instructions.system_prompt import SystemPrompt
from quorum.application.ports.models import LlmGateway
from quorum.application.ports.tools import Tool
from quorum.application.review.approvers import MaskingApprover, NotifyingApprover
from quorum.application.review.review import Review
from quorum.application.review.voting import Voting
from quorum.application.session_folders import SessionFolders
from quorum.application.spend_limiter import MeteredGateway
from quorum.application.turn.turn_diagnostics import TurnDiagnostics
from quorum.domain.conversation.history import Conversation
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.subagent_task import Asker
from quorum.infrastructure import settings_conversion as conversion
from quorum.infrastructure.checking_command import build_checking_commands
from quorum.infrastructure.execution.commands.environment import build_command_environment
from quorum.infrastructure.execution.sandbox.opening import build_mode_check, build_sandbox
from quorum.infrastructure.execution.sandbox.places import KnownPlaces
from quorum.infrastructure.execution.shell.gate import ShellGate
from quorum.infrastructure.execution.shell.programs import SystemPrograms
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.hooks.registrations import build_hook_registrations
from quorum.infrastructure.instructions.environment import MachineEnvironment
from quorum.infrastructure.language_servers.opening import open_language_servers
from quorum.infrastructure.managed_policy import build_folder_check, build_spend_limiter
from quorum.infrastructure.permissions.in_force import open_rules
from quorum.infrastructure.permissions.sample_file import open_sampling
from quorum.infrastructure.permissions.signing import build_approver, build_signing_terms, list_askers
from quorum.infrastructure.prices.model_figures import build_price_table
from quorum.infrastructure.secrets.known import SessionSecrets, build_secret_test
from quorum.infrastructure.session_inputs import SessionInputs
from quorum.infrastructure.storage import find_session_paths
from quorum.infrastructure.store.snapshots.keeper import WorkspaceKeeper, open_keeper
from quorum.infrastructure.store.snapshots.reading import FileReader


class SubagentTerms(Struct, frozen=True, kw_only=True, eq=False):
    """How a session differs that works for another, its `owner`, perhaps in a layer of its own, if for any."""

    owner: ReviewParts | None = None
    check_layer: Callable[[], None] | None = None
    asker: Asker = field(default_factory=Asker)
    one_session: OneSession = field(default_factory=OneSession)
    wanted_tools: Collection[str] | None = None
    system_prompt: SystemPrompt | None = None


class CoreParts:
    """What happens in this session, and what has happened by now."""

    def __init__(self, given: SessionInputs, owner: EventBus | None) -> None:
        record, askers = given.record, list_askers(given.loaded.policy.people, owner)
        self.events: Final[EventBus] = EventBus(
            [given.observer], ledger=record.ledger, mask=given.mask, past=record.records, list_accounts=askers
        )
        state = self.events.state
        self.conversation: Final = Conversation(
            state.messages, left_out=state.left_out, plain_schemas=state.plain_schemas
        )


class SharedParts:
    """What decides, runs, pays and keeps for a session and its subagents. `get_mode` says what is in force,
    `get_tools` what there is once all is built."""

    def __init__(
        self,
        given: SessionInputs,
        core: CoreParts,
        gateway: LlmGateway,
        get_mode: Callable[[], Mode],
        get_tools: Callable[[], Mapping[str, Tool]],
    ) -> None:
        settings, environ, record = given.settings, given.environ, given.record
        self._given, self._get_mode = given, get_mode
        self.gateway: Final = gateway
        self.workspace: Final = Workspace(roots=[given.root])
        self.own, self.paths = find_session_paths(
            given.loaded, self.workspace, environ, given.sockets, is_layered=given.layer is not None
        )
        self.secrets: Final = SessionSecrets(given.mask, settings=settings, environ=environ, policy=self.paths)
        self.secrets.gather()  # before anything is said or recorded

        self.prices: Final = build_price_table(settings.providers, settings.prices, environ)
        self.approver: Final = NotifyingApprover(given.approver, lambda *what: self.session_hooks.notify(*what))
        self.spending: Final = build_spend_limiter(
            given.loaded, prices=self.prices, approver=self.approver, events=core.events
        )

        self.rules: Final = open_rules(
            given.loaded,
            environ,
            folder=self.workspace.cwd,
            paths=self.paths,
            storage=record.storage,
            get_tools=get_tools,
            events=core.events,
        )

        self.secret_names: Final = conversion.list_key_names(settings)
        self._set_up(given, core.events, given.layer.check if given.layer is not None else None)
        self.session_hooks: Final = SessionHooks(self.registrations, core.events, record.session_id, given.root)
        self.store: Final = record.storage.open_blobs(given.mask) if settings.tools.output.store else None

    def _set_up(self, given: SessionInputs, events: EventBus, check_layer: Callable[[], None] | None) -> None:
        """Make all that looks at the files of the workspace, and runs there."""
        settings, environ, record = given.settings, given.environ, given.record
        variables = build_command_environment(environ, self.secret_names)
        self.gate = ShellGate(self.paths, SystemPrograms(variables["PATH"], self.paths))
        self.sandbox = build_sandbox(
            settings.tools.run_command,
            self.paths,
            environ,
            own=self.own,
            get_mode=self._get_mode,
            links=() if given.loaded.policy.explain_no_links() else settings.worktrees.links,
            root=given.root,
            session_id=record.session_id,
            git_approvals=events.state.git_approvals,
            check_layer=check_layer,
            list_rules=lambda: self.rules.book.rules,
            learn=given.mask.learn,
        )
        judge, find_state = self.gate.judge, self.sandbox.find_state
        self.environment = MachineEnvironment(
            self.workspace.cwd, settings, variables=variables, judge=judge, sandbox=find_state
        )
        self.registrations = build_hook_registrations(
            settings.hooks,
            workspace=self.workspace.cwd,
            environ=environ if given.hook_environ is None else given.hook_environ,
            secret_names=self.secret_names,
            sandbox=self.sandbox,
            session_id=record.session_id,
        )
        checks = build_checking_commands(settings.diagnostics, self.workspace.cwd, variables, self.sandbox)
        self.language_servers = open_language_servers(
            settings.lsp, self.workspace, self.paths, environ, self.secret_names, self.sandbox
        )
        self.diagnostics = TurnDiagnostics(checks, events, self.language_servers)
        self.reader = FileReader(
            self.workspace, self.paths, build_secret_test(given.mask), on_sensitive=self.secrets.learn_from_file
        )

    def set_apart(self, given: SessionInputs, events: EventBus, check_layer: Callable[[], None]) -> SharedParts:
        """The same where the files are others at the same paths: in a layer of a subagent's own."""
        apart = copy(self)
        apart.paths = replace(self.paths, places=KnownPlaces(self.workspace.folders))
        apart._given = given
        vars(apart).pop("keeper", None)
        apart._set_up(given, events, check_layer)
        apart.sandbox.list_planted = self.sandbox.list_planted
        return apart

    @cached_property
    def keeper(self) -> WorkspaceKeeper:
        """Reads the index of an earlier session, for whom files are changed."""
        given = self._given
        return open_keeper(self.reader, given.record, self.own, given.settings, given.environ)

    async def end_keeping(self) -> None:
        """Keep no files any more, if any were kept."""
        if (keeper := vars(self).get("keeper")) is not None:
            await keeper.aclose()


class ReviewParts:
    """Who decides that a call may run, and what they may spend: no request goes past the limiter."""

    def __init__(
        self, given: SessionInputs, core: CoreParts, shared: SharedParts, terms: SubagentTerms
    ) -> None:
        self.given, self.core, self.shared, self.terms = given, core, shared, terms
        settings, record = given.settings, given.record
        self.masking_approver: Final = MaskingApprover(shared.approver, given.mask)
        self.metered: Final = MeteredGateway(shared.gateway, shared.spending)
        self.review_gateway: Final = MeteredGateway(shared.gateway, shared.spending, may_ask=False)
        self.folders: Final = SessionFolders(
            shared.workspace.folders,
            check=build_folder_check(shared.paths, given.loaded.policy, given.environ),
            events=core.events,
            configured=settings.workspace.directories,
            wanted=given.wanted_folders,
            learn=shared.secrets.learn_workspace,
        )
        self.quorum_policy: Final = conversion.build_quorum_policy(settings, given.loaded.policy)
        self.voting: Final = Voting(
            gateway=self.review_gateway, policy=self.quorum_policy, events=core.events, prices=shared.prices
        )
        self.review: Final[Review] = Review(
            person=build_approver(
                self.masking_approver, record, given.loaded, given.environ, given.root, core.events
            ),
            find_signing=build_signing_terms(given.loaded.policy.people, core.events),
            paths=shared.paths,
            mode=settings.review.mode,
            events=core.events,
            rules=shared.rules.book,
            voting=self.voting,
            guards=shared.rules.guards,
            refusal=build_mode_check(shared.sandbox, given.loaded.policy, settings.models.review),
            within=terms.owner.review if terms.owner else None,
            folders=self.folders,
            plan_task=terms.asker.plan_task,
            sampling=open_sampling(
                given.environ, settings.review, session_id=record.session_id, hide=given.mask.mask_text
            ),
        )

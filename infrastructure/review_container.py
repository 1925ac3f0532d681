"""The container of what front ends hand a session, and of who decides that a call may run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from pathlib import Path

from application.calls.one_session import OneSession
from application.events.event_bus import EventBus
from application.inbox.inbox_approver import InboxApprover
from application.ports.people import Approver, Observer
from application.review.masking_approver import MaskingApprover
from application.review.review import Review
from application.review.voting import Voting
from application.session.session_folders import SessionFolders, WantedFolder
from application.session.session_record import SessionRecord
from application.spending.metered_gateway import MeteredGateway
from application.spending.spend_limiter import SpendLimiter
from domain.conversation.effort import Effort
from domain.conversation.history import Conversation
from domain.events.masking import SecretMask
from domain.subagents.subagent_task import Asker
from infrastructure import building_blocks as build
from infrastructure.changes.repository_changes import ReadChange
from infrastructure.config.model_choice import StoredKey, find_no_stored_key
from infrastructure.config.policy_table import NO_POLICY, ManagedPolicy
from infrastructure.config.schema import Settings
from infrastructure.execution.sandbox.places import list_homes
from infrastructure.files.addable_folders import AddableFolders
from infrastructure.files.workspace import Workspace
from infrastructure.injection import containers, providers
from infrastructure.managed_policy import build_model_check, build_spend_ceilings
from infrastructure.models.registry import ProviderRegistry
from infrastructure.permissions import in_force
from infrastructure.prices.model_figures import build_price_table
from infrastructure.session_paths import build_path_policy, list_own_paths
from infrastructure.trust.decisions import TrustDecisions, open_trust_decisions


class ReviewContainer(containers.DeclarativeContainer):
    """What a session is about and with whom, its rules, its reviewers and what they may spend."""

    settings: providers.Dependency[Settings] = providers.Dependency(instance_of=Settings)
    models: providers.Dependency[Sequence[str]] = providers.Dependency()
    chosen_efforts: providers.Provider[Mapping[str, Effort]] = providers.Object({})
    participants: providers.Provider[Sequence[str]] = providers.Object(())
    debaters: providers.Provider[Sequence[str]] = providers.Object(())
    moderator: providers.Provider[str] = providers.Object("")
    root: providers.Dependency[Path] = providers.Dependency(instance_of=Path)
    environ: providers.Dependency[Mapping[str, str]] = providers.Dependency()
    config_files: providers.Provider[Sequence[Path]] = providers.Object(())
    origins: providers.Provider[Mapping[str, str]] = providers.Object({})
    covered: providers.Provider[Mapping[str, object]] = providers.Object({})
    policy: providers.Provider[ManagedPolicy] = providers.Object(NO_POLICY)
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
    wanted_tools: providers.Provider[Collection[str] | None] = providers.Object(None)

    # What the record of the session says of it
    session_id = record.provided.session_id
    ledger = record.provided.ledger
    storage = record.provided.storage
    contents = record.provided.contents
    answers = record.provided.storage.answers
    pacer = record.provided.storage.pacer
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
    conversation = providers.Singleton(Conversation, state.messages, left_out=state.left_out)
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
    secrets = providers.Singleton(
        build.gather_session_secrets, mask, settings=settings, environ=environ, policy=paths
    )
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
        pacer=pacer,
        explain_refusal=providers.Callable(build_model_check, policy, settings.provided.providers),
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
        ceilings=providers.Callable(build_spend_ceilings, policy),
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
    review_gateway = providers.Singleton(MeteredGateway, gateway, spending, may_ask=False)
    quorum_policy = providers.Singleton(build.build_quorum_policy, settings, policy)
    voting = providers.Singleton(
        Voting,
        gateway=review_gateway,
        policy=quorum_policy,
        events=events,
        prices=prices,
    )
    review = providers.Singleton(
        Review,
        person=providers.Singleton(
            InboxApprover, providers.Singleton(MaskingApprover, approver, mask), answers, session_id
        ),
        paths=paths,
        mode=settings.provided.review.mode,
        events=events,
        rules=rules,
        voting=voting,
        guards=guards,
        within=owner_review,
        plan_task=providers.Callable(attrgetter("plan_task"), asker),
    )

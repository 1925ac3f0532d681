"""What the managed policy has people sign, for a session and for the inbox."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.application.event_bus import EventBus
from quorum.application.inbox import InboxApprover
from quorum.application.ports.people import Approver
from quorum.application.session.session_record import SessionRecord
from quorum.domain.errors import LedgerError
from quorum.domain.events.event import ErrorOccurred
from quorum.domain.review.people import PeoplePolicy
from quorum.domain.review.signing import SigningTerms
from quorum.infrastructure.answerer import find_account
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.wall_clock import read_wall_clock_ms

if TYPE_CHECKING:
    from quorum.infrastructure.permissions.ssh_signatures import SshSignatures


def build_approver(
    person: Approver,
    record: SessionRecord,
    loaded: LoadedSettings,
    environ: Mapping[str, str],
    folder: Path,
    events: EventBus,
) -> Approver:
    """Who answers about calls: the person here or the inbox, and for some calls so many people who sign. Those
    whom the settings name are told while a decision waits; where they cannot be, that is recorded."""
    inbox = InboxApprover(person, record.storage.answers, record.session_id)
    answering = _build_signing_approver(person, inbox, record, loaded.policy.people, environ)
    if not (tables := loaded.settings.push):
        return answering
    from quorum.application.review.pushing import PushingApprover
    from quorum.infrastructure.execution.commands.environment import build_command_environment
    from quorum.infrastructure.push import build_pushes
    from quorum.infrastructure.settings_conversion import list_key_names

    answers, session_id = record.storage.answers, record.session_id

    async def find_seen_age(digest: str) -> float:
        """What cannot be read was not seen."""
        with suppress(LedgerError):
            return await answers.find_seen_age_secs(session_id, digest)
        return math.inf

    variables = build_command_environment(environ, list_key_names(loaded.settings))
    return PushingApprover(
        answering,
        build_pushes(tables, variables, folder),
        session_id=record.session_id,
        folder=folder.name,
        complain=lambda message: events.record(ErrorOccurred(message=message)),
        find_seen_age=find_seen_age,
    )


def _build_signing_approver(
    person: Approver, inbox: Approver, record: SessionRecord, policy: PeoplePolicy, environ: Mapping[str, str]
) -> Approver:
    if not policy.rules:
        return inbox
    from quorum.application.review.signed_approval import SigningApprover
    from quorum.infrastructure.permissions.ssh_signatures import SshSignatures

    signatures = SshSignatures(policy=policy, environ=environ, clock=read_wall_clock_ms)
    return SigningApprover(
        person,
        inbox,
        record.storage.answers,
        record.session_id,
        sign=signatures.sign,
        verify=signatures.verify,
    )


def build_signing_terms(
    policy: PeoplePolicy, events: EventBus
) -> Callable[[Collection[str]], SigningTerms | None]:
    """Tells what people have to sign for a call of this session."""
    return lambda spoke: policy.find_terms(spoke, events.askers)


def list_askers(policy: PeoplePolicy, owner: EventBus | None) -> Callable[[], Collection[str]]:
    """Names the accounts of those who ask in a session of this process: for a subagent, all who asked in that
    of its owner."""
    if owner is not None:
        return lambda: owner.askers
    account = find_account() if policy.account_asks else ""
    return lambda: (account,)


def build_signing(policy: PeoplePolicy, environ: Mapping[str, str], *, is_on_terminal: bool) -> SshSignatures:
    """Signs an approval in the inbox, with a key of the person who is here, and verifies those of others."""
    from quorum.infrastructure.permissions.ssh_signatures import SshSignatures

    return SshSignatures(
        policy=policy, environ=environ, clock=read_wall_clock_ms, is_on_terminal=is_on_terminal
    )

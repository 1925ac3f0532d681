"""The inbox of a person: the reviews that wait in all sessions, as they may be seen here."""

from __future__ import annotations

from collections.abc import Mapping

from quorum.application.inbox import Inbox
from quorum.application.ports.storage import AnswerStore, SessionArchive
from quorum.infrastructure.answerer import name_answerer
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.permissions.signing import build_signing
from quorum.infrastructure.secrets.known import PacketRestorer
from quorum.infrastructure.wall_clock import read_wall_clock_ms


def open_inbox(
    archive: SessionArchive,
    answers: AnswerStore,
    loaded: LoadedSettings,
    environ: Mapping[str, str],
    *,
    is_on_terminal: bool = False,
) -> Inbox:
    """The reviews that wait, with what was hidden in them shown again as far as it is known here.

    `is_on_terminal`: whoever signs may be asked for the passphrase of their key there.
    """
    settings, people = loaded.settings, loaded.policy.people
    signatures = build_signing(people, environ, is_on_terminal=is_on_terminal) if people.people else None
    return Inbox(
        archive,
        answers,
        clock=read_wall_clock_ms,
        answered_by=name_answerer(),
        restore=PacketRestorer(settings, environ).restore,
        list_staged=lambda: _list_staged(environ),
        sign=signatures.sign if signatures is not None else None,
        verify=signatures.verify if signatures is not None else None,
    )


def _list_staged(environ: Mapping[str, str]) -> frozenset[str]:
    from quorum.infrastructure.staging.waiting_layers import list_waiting_sessions  # few sessions have layers

    return list_waiting_sessions(environ)

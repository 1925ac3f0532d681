"""Finds what is hidden in packets of other sessions in the environment and the files of their folders."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from quorum.application.inbox.inbox import Inbox
from quorum.application.ports.storage import AnswerStore, SessionArchive
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.events.masking import MaskedPacket, SecretMask
from quorum.infrastructure.answerer import name_answerer
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.secrets.known import SessionSecrets
from quorum.infrastructure.session_paths import build_path_policy
from quorum.infrastructure.wall_clock import read_wall_clock_ms


def open_inbox(
    archive: SessionArchive, answers: AnswerStore, settings: Settings, environ: Mapping[str, str]
) -> Inbox:
    """The reviews that wait, with what was hidden in them shown again as far as it is known here."""
    return Inbox(
        archive,
        answers,
        clock=read_wall_clock_ms,
        answered_by=name_answerer(),
        restore=PacketRestorer(settings, environ).restore,
    )


class PacketRestorer:
    """Remembers each packet it was asked about, whether it could be restored or not."""

    def __init__(self, settings: Settings, environ: Mapping[str, str] = os.environ) -> None:
        self._settings = settings
        self._environ = environ
        self._shown: dict[str, ReviewPacket] = {}

    def restore(self, packet: MaskedPacket, cwd: str) -> ReviewPacket:
        """The packet of a session in this folder as the person may see it, with its original; itself where that
        is not known here. Blocks for up to two seconds."""
        if (shown := self._shown.get(packet.digest)) is None:
            shown = self._shown[packet.digest] = self._restore(packet, cwd)
        return shown

    def _restore(self, packet: MaskedPacket, cwd: str) -> ReviewPacket:
        from quorum.domain.events.unmasking import restore_packet

        mask = SecretMask()
        policy = build_path_policy(self._settings, (Path(cwd),))
        SessionSecrets(mask, settings=self._settings, environ=self._environ, policy=policy).gather()
        original = restore_packet(packet, mask.list_values)
        return packet if original is None else mask.mask_packet(original)

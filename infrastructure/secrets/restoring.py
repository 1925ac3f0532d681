"""Finds what is hidden in packets of other sessions in the environment and the files of their folders."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.events.masking import MaskedPacket, SecretMask
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.secrets.known import SessionSecrets
from quorum.infrastructure.session_paths import build_path_policy


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

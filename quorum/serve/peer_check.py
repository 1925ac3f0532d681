"""Who connects on loopback: another person of this machine, or a command that quorum started, is not served."""

from __future__ import annotations

import asyncio
import os
from weakref import WeakKeyDictionary

from aiohttp import web

from quorum.infrastructure.remote.server import find_objection
from quorum.infrastructure.remote.tcp_peer import SocketAddress, identify_tcp_peer

_ROOT = 0


class PeerCheck:
    """Finds the objection to whoever holds a connection, once for each connection.

    Where the other end cannot be found out nothing is objected: it has to show the token or the cookie anyway.
    Another user is objected to, but for root, who relays connections of containers and virtual machines.
    """

    def __init__(self) -> None:
        self._found: WeakKeyDictionary[asyncio.BaseTransport, str] = WeakKeyDictionary()

    async def __call__(self, request: web.Request) -> str:
        """Why the other end of this request is not served; empty where it is."""
        transport = request.transport
        if transport is None:
            return "the connection is gone"
        if transport not in self._found:
            ours, theirs = transport.get_extra_info("sockname"), transport.get_extra_info("peername")
            self._found[transport] = await asyncio.to_thread(
                _find, SocketAddress(*ours[:2]), SocketAddress(*theirs[:2])
            )
        return self._found[transport]


def _find(ours: SocketAddress, theirs: SocketAddress) -> str:
    peer = identify_tcp_peer(ours, theirs)
    if peer is None or (peer.uid == _ROOT and os.geteuid() != _ROOT):
        return ""
    return find_objection(peer)

"""`quorum acp`: serves one client on the standard streams, until it goes away."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from typing import cast

from acp.agent.connection import AgentSideConnection
from acp.interfaces import Agent

from quorum.acp_agent.protocol_agent import ProtocolAgent
from quorum.acp_agent.session_composer import SessionComposer
from quorum.acp_agent.standard_io import StandardIoTransport
from quorum.command_line.options import StartOptions
from quorum.errors import complain

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve_client(options: StartOptions) -> int:
    """Speak the protocol on standard input and output. Returns 0 once the client is gone, or at a signal.

    Whatever else is printed goes to standard error: the output belongs to the protocol.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        complain(["quorum acp talks to an editor, which starts it; docs/acp.md says how. Ctrl+C ends it"])
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    asyncio.run(_serve(options, source, sink))
    return 0


async def _serve(options: StartOptions, source: int, sink: int) -> None:
    transport = StandardIoTransport(source, sink)
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, transport.stop)
    agent = ProtocolAgent(SessionComposer(options), transport.settle)
    connection = AgentSideConnection(
        cast("Agent", agent), transport, listening=False, use_unstable_protocol=True
    )
    try:
        await connection.listen()
    finally:
        if (
            await agent.close()
        ):  # a turn waits for an answer, and is not to be cancelled: another process takes it
            sys.stderr.flush()
            os._exit(0)
        with suppress(ConnectionError):
            await connection.close()

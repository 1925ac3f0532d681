"""Who is served: the person's own programs, and nothing that quorum itself has started."""

from __future__ import annotations

import os

from infrastructure.execution.commands.orphans import markers
from infrastructure.execution.commands.supervisor import ProcessTable, processes
from infrastructure.remote.peer import Peer


def objection_to(peer: Peer) -> str:
    """Why this peer is not served, as a sentence; empty where it is. Reads /proc, or runs `ps`: it blocks.

    What a command of ours started is found by its descent from us and by the marker in its environment. That
    is a second wall, not the first: what has left both behind, or has another program connect for it, is not
    recognised here.
    """
    if peer.uid != os.geteuid():
        return "only the person who runs quorum is served"
    table = processes()
    if peer.pid not in table:
        return "a process that cannot be seen is not served"
    for pid in _line_of(peer.pid, table):
        if pid == os.getpid() or markers(pid):
            return "what quorum itself started is not served: no command reaches its own approval"
    return ""


def _line_of(pid: int, table: ProcessTable) -> list[int]:
    """A process and those it descends from, itself first."""
    line: list[int] = []
    while pid in table and pid not in line:
        line.append(pid)
        pid = table[pid][0]
    return line

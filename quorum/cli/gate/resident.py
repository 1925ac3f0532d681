"""The resident gate, `quorum gate --resident`: decides for processes of its own user and environment.

It ends when none has asked for a while. It is a shorter way to the same decision, and nothing else: it runs
what `quorum gate` runs, reads all settings again where one of their files has changed, and asks nobody.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.command_line.options import StartOptions
from quorum.domain.errors import ConfigError, LedgerError
from quorum.gate.dialects import DIALECTS, Reply
from quorum.gate.gate_sessions import GateSessions, UnaskedApprover
from quorum.gate.payload import BadPayload, parse_payload
from quorum.gate.resident_key import ResidentKey, identify_resident
from quorum.infrastructure.execution.program import close_process_to_inspection
from quorum.infrastructure.gate.undecided import answer_undecided
from quorum.infrastructure.remote.peer import Peer
from quorum.infrastructure.remote.place import SocketPath
from quorum.infrastructure.remote.server import Server
from quorum.infrastructure.remote.session_release import RELEASE
from quorum.rpc.json_rpc import (
    JsonParams,
    build_invalid_params,
    encode_invalid_request,
    handle_request,
    make_refusal,
)
from quorum.settings import load

if TYPE_CHECKING:
    from quorum.infrastructure.config.loading import LoadedSettings

_LOOK_SECS = 5.0
_SESSION_SECS = 600.0  # to open a session takes longer than to decide; others get it once they ask


def serve_calls() -> int:
    """Serve until idle, or until a signal; the exit code. Where another resident has the place, it ends."""
    if (key := identify_resident(os.environ)) is None:
        return 0
    close_process_to_inspection()
    _load_all()
    try:
        place = SocketPath(Path(key.socket))
    except ConfigError:
        return 0
    try:
        asyncio.run(_Resident(key, place).run())
    finally:
        place.leave()
    return 0


def _load_all() -> None:
    """Import what a first decision would import: it is waited for."""
    from quorum.infrastructure.storage import load_default_storage

    load_default_storage()
    gc.freeze()


def find_objection(peer: Peer) -> str:
    """Why a peer is not served; empty where it is. It gets what it would get from a process of its own."""
    return "" if peer.uid == os.geteuid() else "only the person who runs quorum is served"


class _Resident:
    """Takes calls at its socket. `load` notes with each reading of the settings for how long it may be idle."""

    def __init__(self, key: ResidentKey, place: SocketPath) -> None:
        self._key, self._place = key, place
        self._sessions = GateSessions(
            StartOptions(),
            self._load,
            lambda _caller, _root: UnaskedApprover(),
            idle_secs=_SESSION_SECS,
        )
        self._idle_secs = 60.0  # until the settings of a first call say more
        self._running = 0
        self._asked_at = 0.0
        self._ending = asyncio.Event()

    async def run(self) -> None:
        """Serve until nobody has asked for as long as the settings say, or the socket is gone."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._ending.set)
        self._asked_at = loop.time()
        server = Server(
            self._place.socket,
            lambda body: handle_request(body, self._invoke),
            encode_invalid_request,
            objection=find_objection,
        )
        serving = asyncio.create_task(server.run())
        while not self._is_over(loop.time()):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), min(_LOOK_SECS, self._idle_secs or _LOOK_SECS))
        self._ending.set()
        self._place.leave()  # who comes from now on decides itself
        while self._running:  # noqa: ASYNC110 - in bounded time: each call has a limit
            await asyncio.sleep(0.05)
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving
        with suppress(LedgerError):  # nothing is left to answer; the next process closes what is open
            await self._sessions.aclose()

    def _is_over(self, now: float) -> bool:
        is_idle = not self._running and now - self._asked_at >= self._idle_secs
        return self._ending.is_set() or is_idle or not self._has_place()

    def _has_place(self) -> bool:
        """Whether it could still be found: the socket may be taken away, with the whole folder."""
        try:
            return stat.S_ISSOCK(os.lstat(self._key.socket).st_mode)
        except OSError:
            return False

    def _load(self, options: StartOptions, root: Path) -> LoadedSettings:
        loaded = load(options, root)
        self._idle_secs = 60.0 * loaded.settings.gate.idle_minutes
        return loaded

    async def _invoke(self, method: str, params: JsonParams) -> object:
        if self._ending.is_set():
            raise make_refusal("the resident gate is about to end", "closing")
        if method == "gate.greet":
            if params.get("key") != self._key.digest:
                raise make_refusal("this process has another environment, or another quorum", "key")
            return self._key.digest
        if method == RELEASE:
            await self._sessions.release(str(params.get("session")))
            return None
        if method != "gate.decide":
            raise build_invalid_params(f"there is no method {method!r}")
        self._running += 1
        try:
            reply = await self._decide(params)
        finally:
            self._running -= 1
            self._asked_at = asyncio.get_running_loop().time()
        return {"out": reply.out, "err": reply.err, "code": reply.code}

    async def _decide(self, params: JsonParams) -> Reply:
        dialect, call = params.get("dialect"), params.get("call")
        folder, given, secs = params.get("folder"), params.get("environment"), params.get("timeout_secs")
        if dialect not in DIALECTS or not isinstance(call, str) or not isinstance(secs, int):
            raise build_invalid_params("this is no call of quorum gate")
        if not isinstance(folder, str) or not isinstance(given, dict):
            raise build_invalid_params("'folder' and 'environment' of the process that asks are missing")
        form, event = DIALECTS[dialect], ""
        try:
            payload = parse_payload(call.encode("utf-8", "surrogatepass"))
            form = form.adapt(payload, given)
            request = form.read(payload, given, folder)
            event = request.event
            decision = await self._sessions.decide(request, timeout_secs=secs)
        except BadPayload as error:
            event = event or error.event
            decision = await asyncio.to_thread(answer_undecided, str(error))
        return form.reply(event, decision)

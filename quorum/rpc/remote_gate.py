"""Calls of other agents that come over the socket: decided about by the app, and asked about on its screen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from quorum.rpc.json_rpc import JsonParams, build_invalid_params, make_refusal

if TYPE_CHECKING:
    from quorum.gate.gate_service import GateService

OpenGate: TypeAlias = Callable[[], Awaitable["GateService"]]
"""Makes what decides, with the first call that comes."""

MOST_SECS = 86_400


class RemoteGate:
    """What decides in this app, there from the first call on."""

    def __init__(self, open_gate: OpenGate) -> None:
        self._open = open_gate
        self._service: GateService | None = None
        self._is_closed = False

    async def decide(self, params: JsonParams) -> dict[str, object]:
        """What the asking process prints, and its exit code. Raises RpcError."""
        environment = params["environment"]
        if not isinstance(environment, dict) or not all(isinstance(each, str) for each in environment.values()):
            raise build_invalid_params("'environment' has to be an object of texts")
        if self._is_closed:
            raise make_refusal("the app is about to end", "closing")
        if self._service is None:
            service = await self._open()
            self._service = self._service or service  # another call may have come meanwhile
        reply = await self._service.decide(
            params["dialect"],
            params["call"],
            environment,
            params["folder"],
            timeout_secs=params["timeout_secs"],
        )
        return {"out": reply.out, "err": reply.err, "code": reply.code}

    async def aclose(self) -> None:
        """Close the sessions of callers. Raises LedgerError where something could not be written."""
        self._is_closed = True
        if self._service is not None:
            await self._service.aclose()

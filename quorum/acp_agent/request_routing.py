"""Messages of the protocol that the SDK has no route for, worded as ones that it has."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

CANCEL_REQUEST = "$/cancel_request"
REQUEST_SENT: ContextVar[object] = ContextVar("REQUEST_SENT", default=None)
"""The id of the request that a task has sent last."""

_EXTENSIONS = frozenset({"session/delete"})


class RequestRouting:
    """Knows the prompts that are not answered yet, by the id of their request.

    The SDK hands a method that begins with an underscore to the agent. To cancel the request of a prompt is to
    cancel the prompt of its session; any other request is answered soon, and is not cancelled.
    """

    def __init__(self) -> None:
        self._prompted: dict[tuple[type, Any] | None, Any] = {}

    def route(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """The message as the SDK routes it; None where it asks for nothing that can be done."""
        method, params = message.get("method"), message.get("params")
        if method == CANCEL_REQUEST and "id" not in message:
            key = _identify(params.get("requestId")) if isinstance(params, dict) else None
            if key not in self._prompted:
                return None
            return {**message, "method": "session/cancel", "params": {"sessionId": self._prompted[key]}}
        if method in _EXTENSIONS:
            return {**message, "method": f"_{method}"}
        key = _identify(message.get("id"))
        if method == "session/prompt" and isinstance(params, dict) and key is not None:
            self._prompted[key] = params.get("sessionId")
        return message

    def send(self, message: dict[str, Any]) -> dict[str, Any]:
        """The message as the client is to get it: an answer, which ends its request, or a message of ours."""
        method = message.get("method")
        if method is None:
            self._prompted.pop(_identify(message.get("id")), None)
        elif "id" in message:
            REQUEST_SENT.set(message["id"])
        return {**message, "method": CANCEL_REQUEST} if method == f"_{CANCEL_REQUEST}" else message


def _identify(request_id: object) -> tuple[type, Any] | None:
    """A valid id of a request, with its type: Python takes `true` and `1.0` for `1`."""
    return (type(request_id), request_id) if type(request_id) in (str, int) else None

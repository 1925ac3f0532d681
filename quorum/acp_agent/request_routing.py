"""Messages of the protocol that the SDK has no route for, worded as ones that it has."""

from __future__ import annotations

from typing import Any

_EXTENSIONS = frozenset({"session/delete"})
_CANCEL_REQUEST = "$/cancel_request"


class RequestRouting:
    """Knows the prompts that are not answered yet, by the id of their request.

    The SDK hands a method that begins with an underscore to the agent. To cancel the request of a prompt is to
    cancel the prompt of its session; any other request is answered soon, and is not cancelled.
    """

    def __init__(self) -> None:
        self._prompted: dict[tuple[type, Any], Any] = {}

    def route(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """The message as the SDK routes it; None where it asks for nothing that can be done."""
        method, params = message.get("method"), message.get("params")
        if method == _CANCEL_REQUEST and "id" not in message:
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

    def forget(self, answer: dict[str, Any]) -> None:
        """Note that a request is answered."""
        if (key := _identify(answer.get("id"))) is not None:
            self._prompted.pop(key, None)


def _identify(request_id: object) -> tuple[type, Any] | None:
    """A valid id of a request, with its type: Python takes `true` and `1.0` for `1`."""
    return (type(request_id), request_id) if type(request_id) in (str, int) else None

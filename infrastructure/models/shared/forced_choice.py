"""Models that refuse to be made to call a tool. Which they are is found out by asking."""

from __future__ import annotations

from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.replacing import replace
from quorum.infrastructure.models.shared.api_client import ApiRequest

_REFUSALS = frozenset({ProviderErrorKind.BAD_REQUEST, ProviderErrorKind.NOT_FOUND})


class FreeModels:
    """The models of one provider that may only be offered a tool, never made to call it.

    Many that think refuse to be forced, and some local servers do not know how. What they answer when they
    are free is as good where they call the tool all the same, and whoever asked sees whether they did.
    """

    def __init__(self) -> None:
        self._models: set[str] = set()

    def fit_request(self, request: ApiRequest) -> ApiRequest:
        """The request as its model takes it, as far as that is known."""
        is_free = request.model in self._models and _forces(request)
        return replace(request, tool_choice="auto") if is_free else request

    def learn(self, request: ApiRequest, error: ProviderError) -> bool:
        """Whether this request was refused because it forces a tool, so that it is worth sending freely."""
        if error.partial or error.kind not in _REFUSALS or not _forces(request):
            return False
        words = str(error).lower().replace("_", "").replace(" ", "")
        if "toolchoice" not in words:
            return False
        self._models.add(request.model)
        return True


def _forces(request: ApiRequest) -> bool:
    return not isinstance(request.tool_choice, str)

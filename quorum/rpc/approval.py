"""What a client of the remote control may do: everything but approving, and with the token that too."""

from __future__ import annotations

import hmac
import json
from dataclasses import dataclass

from quorum.rpc.json_rpc import JsonParams, build_invalid_params, make_refusal

TOKEN = "token"
"""The parameter that carries the token."""


@dataclass(frozen=True, slots=True)
class Hand:
    """Who asks. `may_approve`: they have shown the token; `lacks` says, where not, what it would take."""

    may_approve: bool
    lacks: str = ""

    def demand(self, what: str) -> None:
        """Refuse, unless they may approve. `what` is what was asked for, as the subject of a sentence."""
        if not self.may_approve:
            raise make_refusal(f"{what} takes approval: {self.lacks}", "needs_approval")


class RemoteApproval:
    """Tells a hand that may approve from one that may not. Without a token none may."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    @property
    def is_on(self) -> bool:
        """Whether anybody may approve over the socket."""
        return self._token is not None

    def hand(self, params: JsonParams) -> Hand:
        """Who made a request with these parameters. Raises RpcError for a token that is wrong or misplaced."""
        given = params.get(TOKEN)
        if self._token is None:
            return Hand(False, "quorum was started without --listen-approve; do it at the keyboard")
        others = {name: value for name, value in params.items() if name != TOKEN}
        if self._token in json.dumps(others, ensure_ascii=False):
            raise build_invalid_params(
                f"the token stands in another parameter than {TOKEN!r}; nothing was done with it"
            )
        if given is None:
            return Hand(False, f"say the {TOKEN!r} that was handed over at the start")
        if not isinstance(given, str) or not hmac.compare_digest(given.encode(), self._token.encode()):
            raise make_refusal("this is not the token that was handed over at the start", "wrong_token")
        return Hand(True)

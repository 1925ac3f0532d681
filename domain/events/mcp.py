"""What MCP servers ask the person."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from quorum.domain.fact import CanonicalPlace, Fact
from quorum.domain.mcp.server_question import ServerAction
from quorum.domain.text.json_value import JsonObject


class ServerQuestionAnswered(Fact, frozen=True, kw_only=True, tag="server_question_answered"):
    """A question of an MCP server was answered; the server gets the answer next.

    `call` is the tool that the server worked on, empty where it is not known. `digest` is that of the
    question, `address` what the server wanted opened, `values` what the person entered in its form.
    """

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    server: str
    call: str
    message: str
    digest: str
    action: ServerAction
    address: str = ""
    values: JsonObject = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """What became of it, for the person."""
        asked = f"the MCP server {self.server} asked" + (f" for {self.call}" if self.call else "")
        match self.action:
            case ServerAction.ACCEPT if self.address:
                return f"{asked} to open {self.address}, and you agreed"
            case ServerAction.ACCEPT:
                entered = ", ".join(f"{name}: {value}" for name, value in self.values.items())
                return f"{asked}, and you answered" + (f" ({entered})" if entered else "")
            case ServerAction.DECLINE:
                return f"{asked}, and you declined"
            case ServerAction.CANCEL:
                return f"{asked}, and got no answer"

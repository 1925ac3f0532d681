"""Questions that an MCP server asks the person (elicitation), in the form of the SDK and in ours."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from mcp.client.session import ClientRequestContext, ElicitationFnT
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
)

from quorum.domain.errors import FormError, LoginError, QuorumError
from quorum.domain.mcp.server_question import (
    FieldValue,
    ServerAction,
    ServerAddress,
    ServerAnswer,
    ServerForm,
    ServerQuestion,
    read_form,
    read_text,
)
from quorum.infrastructure.mcp.connection import OpenCalls
from quorum.infrastructure.mcp.oauth.login import require_safe_address

AskPerson = Callable[[ServerQuestion], Awaitable[ServerAnswer]]
"""Puts a question to the person, and records the answer."""

_HERE = "http://localhost"


def build_elicitation(server: str, url: str, calls: OpenCalls, ask: AskPerson) -> ElicitationFnT:
    """What the SDK calls when the server asks. `url` is the server's own; empty for one that runs here."""

    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        try:
            return _convert(await calls.put_question(lambda tool: ask(_read(server, url, tool, params))))
        except FormError as error:
            return ErrorData(code=INVALID_PARAMS, message=str(error))
        except QuorumError as error:  # what cannot be recorded is not answered
            return ErrorData(code=INTERNAL_ERROR, message=str(error))

    return answer


def _read(server: str, url: str, tool: str, params: ElicitRequestParams) -> ServerQuestion:
    match params:
        case ElicitRequestFormParams():
            return _read_form(server, tool, params)
        case ElicitRequestURLParams():
            try:
                require_safe_address(params.url, url or _HERE)
            except LoginError as error:
                raise FormError(str(error)) from error
            message = read_text(params.message, "the message")
            return ServerAddress(server=server, call=tool, message=message, address=params.url)


def _read_form(server: str, tool: str, params: ElicitRequestFormParams) -> ServerForm:
    try:
        return read_form(server, tool, params.message, params.requested_schema)
    except RecursionError as error:
        raise FormError("the form is nested too deeply") from error


def _convert(answer: ServerAnswer) -> ElicitResult:
    if answer.action is not ServerAction.ACCEPT or not answer.values:
        return ElicitResult(action=answer.action.value)
    return ElicitResult(action="accept", content=_convert_values(answer.values))


def _convert_values(
    values: Mapping[str, FieldValue],
) -> dict[str, str | int | float | bool | list[str] | None]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

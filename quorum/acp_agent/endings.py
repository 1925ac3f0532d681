"""How a prompt ended, as the protocol says it and as quorum does."""

from __future__ import annotations

from acp.exceptions import RequestError
from acp.schema import PromptResponse, StopReason, Usage

from quorum.acp_agent.tool_calls import convert_json
from quorum.domain.conversation.response import StopKind
from quorum.domain.conversation.spend_caps import SpendCap
from quorum.domain.events.report import RunReport, RunStatus

_TOKEN_STOPS = frozenset(
    {StopKind.MAX_TOKENS.value, SpendCap.TOKENS.value, SpendCap.TURN_TOKENS.value},
)
_INTERNAL_ERROR = -32603


def build_response(report: RunReport) -> PromptResponse:
    """The answer to a prompt; `_meta` holds the object of `quorum run --output json` and its exit code.

    Raises RequestError, with the same, where the provider failed.
    """
    ending = {"exit_code": report.exit_code, "report": convert_json(report.to_json())}
    if report.provider_failed and report.status is RunStatus.FAILED:
        raise RequestError(_INTERNAL_ERROR, report.error or "the provider failed", {"quorum": ending})
    usage = report.usage
    prompt_tokens = usage.input + usage.cache_read + usage.cache_write
    return PromptResponse(
        stop_reason=choose_stop_reason(report),
        usage=Usage(
            input_tokens=usage.input,
            output_tokens=usage.output,
            total_tokens=prompt_tokens + usage.output,
            cached_read_tokens=usage.cache_read,
            cached_write_tokens=usage.cache_write,
            thought_tokens=usage.reasoning,
        ),
        field_meta={"quorum": ending},
    )


def choose_stop_reason(report: RunReport) -> StopReason:
    """The nearest of the protocol's reasons to stop. What it has no word for is said in a message."""
    match report.status:
        case RunStatus.INTERRUPTED:
            return "cancelled"
        case RunStatus.REFUSED:
            return "refusal"
        case RunStatus.LIMIT:
            return "max_tokens" if report.stop_reason in _TOKEN_STOPS else "max_turn_requests"
        case RunStatus.COMPLETED | RunStatus.NEEDS_APPROVAL | RunStatus.FAILED:
            return "end_turn"

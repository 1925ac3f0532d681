"""The names of the GenAI conventions of OpenTelemetry that are sent, and our own beside them.

They are written out rather than imported: the package that holds them marks them as private, for they may
change. A test compares them with it.
"""

from __future__ import annotations

INVOKE_AGENT, CHAT, EXECUTE_TOOL = "invoke_agent", "chat", "execute_tool"

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
AGENT = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS = "gen_ai.usage.cache_creation.input_tokens"
REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
TOOL = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
CALL_ID = "gen_ai.tool.call.id"
CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
CALL_RESULT = "gen_ai.tool.call.result"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOKEN_TYPE = "gen_ai.token.type"
ERROR_TYPE = "error.type"

TOKEN_USAGE = "gen_ai.client.token.usage"
OPERATION_DURATION = "gen_ai.client.operation.duration"

REVIEW = "quorum.review"
"""The event of a review; the conventions have none for approvals."""
REVIEW_STAGE = "quorum.review.stage"
REVIEW_DIGEST = "quorum.review.digest"
REVIEW_DECISION = "quorum.review.decision"
REVIEW_VERDICT = "quorum.review.verdict"
REVIEW_REVIEWER = "quorum.review.reviewer"
REVIEW_CONFIDENCE = "quorum.review.confidence"
REVIEW_REASON = "quorum.review.reason"
RUN_STATUS = "quorum.run.status"
CALL_OUTCOME = "quorum.call.outcome"
CALL_DECISION = "quorum.call.decision"
COST = "quorum.usage.cost_usd"
"""US dollars, where the price is known."""

"""Deciding about one call in this process, from its settings to its record."""

from __future__ import annotations

from domain.errors import LedgerError
from domain.review.gate_decision import GateDecision
from quorum.gate.dialects import CallerRequest
from quorum.gate.gate_sessions import GateSessions, Load
from quorum.gate.unasked_approver import UnaskedApprover
from quorum.options import Options


async def decide_here(request: CallerRequest, options: Options, load: Load) -> GateDecision:
    """Decide, and record it. What fails is to be asked about. Raises BadPayload."""
    sessions = GateSessions(options, load, lambda _caller, _root: UnaskedApprover())
    try:
        decision = await sessions.decide(request, timeout_secs=options.gate.timeout_secs)
        await sessions.aclose()
    except LedgerError as error:
        return GateDecision.ask(f"the decision cannot be recorded: {error}")
    return decision

"""The hooks after the calls of one batch: what they make of each result, and how an interruption stops them."""

from __future__ import annotations

import asyncio

from quorum.application.calls.call_run import CallRun
from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.hooks import ResultDraft
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.hook import HookAnswer, Skip
from quorum.domain.calls.summary import extract_text
from quorum.domain.errors import HookAborted
from quorum.domain.text.output import ToolOutput

_STOPPED = "the result was withheld: the turn was interrupted before the hooks had seen it"


class AfterHooks:
    """Asks the hooks about results, in call order. What a hook was to see and did not is withheld.

    `aborted` is why a hook ended the run, if one did.
    """

    def __init__(self, hooks: HookChain, aborted: str | None) -> None:
        self.aborted = aborted
        self._hooks = hooks
        self._stopped = False
        self._asking: asyncio.Task[HookAnswer] | None = None

    def stop(self) -> None:
        """Cancel the hook that runs and ask no other: the person interrupted the turn."""
        self._stopped = True
        if self._asking is not None:
            self._asking.cancel()

    async def collect_output(self, call: CallRun) -> str | ToolOutput:
        """The output of an ended call, as the hooks leave it."""
        assert call.execution.outcome is not None
        output = call.output
        draft = ResultDraft(
            context=call.context,
            tool=call.execution.name,
            risk=call.risk,
            outcome=call.execution.outcome,
            output=extract_text(output),
            paths=call.paths,
        )
        withheld: str | None = None
        if self.aborted is None:
            withheld = await self._ask(draft)
        elif call.execution.outcome is Outcome.OK:
            withheld = f"the result was withheld: {self.aborted}"
        if withheld is not None:
            call.execution.seen.clear()  # the model does not read what the call showed
            return withheld
        return output if draft.output == extract_text(output) else draft.output

    async def _ask(self, draft: ResultDraft) -> str | None:
        """Let the hooks see the result; what the model reads in its place if it is withheld."""
        if not self._hooks.concerns(draft):
            return None
        if self._stopped:
            return _STOPPED
        self._asking = asyncio.create_task(self._hooks.after_tool_call(draft))
        await asyncio.wait({self._asking})
        if self._asking.cancelled():
            return _STOPPED
        try:
            answer = self._asking.result()
        except HookAborted as stop:
            self.aborted = str(stop)
            return f"the result was withheld: {self.aborted}"
        if isinstance(answer, Skip):
            because = f": {answer.reason}" if answer.reason else ""
            return f"the result was withheld by a hook{because}"
        return None

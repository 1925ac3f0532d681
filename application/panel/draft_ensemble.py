"""An ensemble that writes AGENTS.md: each model drafts it, and a moderator makes one file of the drafts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence

from quorum.application.events.event_bus import EventBus
from quorum.application.identifiers import generate_id
from quorum.application.panel.draft_ensemble_forms import (
    MERGING_SYSTEM,
    make_draft_form,
    make_merging_form,
    render_for_merging,
)
from quorum.application.panel.drafts import DraftingSession, DraftPolicy
from quorum.application.panel.panel import MODERATOR, NoFormAnswer, Panel, PanelQuestion
from quorum.application.panel.panel_session import NoPanelAnswer
from quorum.application.ports.models import LlmRequest
from quorum.domain.conversation.response import TOOL_USE, LlmResponse, TextBlock, ToolUseBlock
from quorum.domain.events.event import PanelConcluded
from quorum.domain.panel.open_panel import PanelConclusion
from quorum.domain.panel.panel_answer import PanelAnswer
from quorum.domain.panel.panel_form import PanelForm
from quorum.domain.panel.synthesis import Point
from quorum.domain.sessions.replayed_panels import read_conclusion
from quorum.domain.text.json_value import JsonObject

WRITE_FILE = "write_file"
INSTRUCTION_FILE = "AGENTS.md"
_FEWEST = 2
_PROPOSED = (
    f"{INSTRUCTION_FILE} is there already. I read it, and make the changes that lead to this, with edits as "
    "small as they can be:"
)


class DraftEnsemble(DraftingSession):
    """All participants look at the project and draft the file, and the moderator makes one text of the drafts.

    It is written as the session's model would write it: by a call of `write_file`, so that rules, reviewers and
    the person decide on it as on any. Where the file `is_there`, the model of the session reads it and makes
    the changes: what it has not read it does not overwrite. Where the moderator makes nothing of the drafts,
    the first one stands, which is said.
    """

    form = PanelForm.DRAFT

    def __init__(
        self,
        panel: Panel,
        *,
        system: str,
        moderator: str,
        models: Sequence[str],
        events: EventBus,
        policy: DraftPolicy,
        is_there: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(
            panel,
            system=system,
            moderator=moderator,
            models=models,
            events=events,
            policy=policy,
        )
        self._is_there = is_there

    async def respond(self, request: LlmRequest) -> LlmResponse:
        """What there is to say of the drafts, and the call that writes the file, or reads the one there is.

        Raises NoPanelAnswer.
        """
        if not any(each.get("name") == WRITE_FILE for each in request.tools):
            raise NoPanelAnswer(f"several models write no file without the tool {WRITE_FILE}")
        merged, said = await self._merge(*self._find_question(request))
        if await asyncio.to_thread(self._is_there):
            said = f"{said}\n\n{_PROPOSED}\n\n{_fence(merged)}"
            call = _call("read_file", {"path": INSTRUCTION_FILE})
        else:
            call = _call(WRITE_FILE, {"path": INSTRUCTION_FILE, "content": merged})
        return LlmResponse(
            content=(TextBlock(said), call),
            stop_reason=TOOL_USE,
            model=self._moderator,
        )

    async def _conclude_question(self, text: str, question: PanelQuestion) -> str:
        raise NoPanelAnswer("files are written in a session with tools")

    async def _merge(self, text: str, question: PanelQuestion) -> tuple[str, str]:
        """The text of the file, and what there is to say of it."""
        if len(self._participants) < _FEWEST:
            raise NoPanelAnswer("an ensemble needs two models or more in models.participants")
        if (former := self._find_concluded(text)) is not None:
            return self._render(former[1], former[0].given)
        panel = await self._open(text, question)
        known = {each.label: each for each in panel.given}
        drafts = await self._drafts.gather(
            panel.panel_id, self._participants, question, make_draft_form(), known
        )
        chosen, reason, merged = drafts[0], "", None
        if len(drafts) > 1:
            try:
                merged = await self._panel.ask_in_form(
                    self._moderator,
                    MERGING_SYSTEM,
                    render_for_merging(panel.panel_id, text, drafts),
                    make_merging_form(drafts),
                    role=MODERATOR,
                )
            except NoFormAnswer as problem:
                reason = f"{self._moderator} did not make one file of the drafts: {problem}"
        concluded = PanelConcluded(
            panel_id=panel.panel_id,
            synthesis=None,
            chosen=None if merged is not None else chosen.label,
            reason=reason,
            additions=merged.differences if merged is not None else (),
            merged=merged.content if merged is not None else "",
        )
        await self._events.record(concluded)
        return self._render(read_conclusion(concluded), drafts)

    def _render(self, over: PanelConclusion, drafts: Sequence[PanelAnswer]) -> tuple[str, str]:
        """The text of the file, and what there is to say of it, made of the conclusion."""
        if over.merged:
            return over.merged, self._describe_merged(over.additions, drafts)
        chosen = next(each for each in drafts if each.label == over.chosen)
        return chosen.text, self._describe_chosen(chosen, drafts, over.reason)

    def _describe_merged(self, differences: Sequence[Point], drafts: Sequence[PanelAnswer]) -> str:
        lines = [f"**{INSTRUCTION_FILE}, made of the drafts {', '.join(each.label for each in drafts)}.**"]
        if differences:
            lines += ["", "They differ; check before you approve:", ""]
            lines += [f"- {point.text} ({', '.join(point.answers)})" for point in differences]
        return "\n".join([*lines, *self._describe_missing(drafts)])

    def _describe_chosen(self, chosen: PanelAnswer, drafts: Sequence[PanelAnswer], reason: str) -> str:
        only = "the only one" if len(drafts) == 1 else "as it is"
        lines = [f"**{INSTRUCTION_FILE} as {chosen.label} ({chosen.model}) drafted it, {only}.**"]
        if reason:
            lines += ["", f"- {reason}"]
        return "\n".join([*lines, *self._describe_missing(drafts)])

    def _describe_missing(self, drafts: Sequence[PanelAnswer]) -> list[str]:
        """Who gave no draft."""
        given = {each.label for each in drafts}
        missing = [each for each in self._participants if each.label not in given]
        named = ", ".join(f"{each.label} ({each.model})" for each in missing)
        return ["", f"No draft came from {named}."] if missing else []


def _call(tool: str, arguments: JsonObject) -> ToolUseBlock:
    return ToolUseBlock(id=f"draft_{generate_id()}", name=tool, input=arguments)


def _fence(text: str) -> str:
    """The text as a block of code that nothing in it ends."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}markdown\n{text.rstrip()}\n{marks}"

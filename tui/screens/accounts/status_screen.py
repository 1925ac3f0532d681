"""The screen of `/status`: all that holds in this session, on one page."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from textual.content import Content

from quorum.domain.text.amounts import format_amount, format_tokens
from quorum.domain.text.printable import make_printable
from quorum.tui.screens.accounts.sheet import AccountSheet
from quorum.tui.widgets.colours import QUIET

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession
    from quorum.domain.events.event import InstructionsLoaded

_NAME_CELLS = 14
_UNKNOWN = "not known yet"


class StatusFacts(Struct, frozen=True, kw_only=True, eq=False):
    """What the page shows beside the agent's own state; what is not known is empty. `context` is the tokens in
    the model's window, and the size of that; `loaded` is None before the first prompt."""

    title: str
    model: str
    used: str
    sandbox: str
    context: tuple[int, int]
    mode: str
    loaded: InstructionsLoaded | None


class StatusScreen(AccountSheet):
    """Shows what holds whenever it is drawn. Secrets are hidden in every line."""

    HEADING = "Status"

    def __init__(
        self, agent: AgentSession, read_status: Callable[[], StatusFacts], *, version: str, folder: str
    ) -> None:
        super().__init__()
        self._agent, self._read_status, self._version, self._folder = agent, read_status, version, folder

    def build_lines(self, width: int) -> Iterator[Content]:
        """Each fact with its name before it; long ones take several lines."""
        hide, status = self._agent.mask.mask_text, self._read_status()
        for heading, facts in (
            ("Session", self._describe_session(status)),
            ("Model", self._describe_model(status)),
            ("Reviews", self._describe_reviews(status)),
            ("Consensus", self._describe_consensus()),
            ("Loaded", self._describe_loaded(status.loaded)),
        ):
            yield Content(heading).stylize("bold $text-accent")
            for name, values in facts:
                yield from _render_fact(name, values, width, hide)
            yield Content("")
        yield Content(f"quorum {self._version}".strip()).stylize("dim")

    def _describe_session(self, status: StatusFacts) -> Iterator[tuple[str, Sequence[str]]]:
        agent = self._agent
        yield "title", [status.title or "new"]
        yield "id", [agent.session_id]
        yield "folder", [self._folder]
        if added := agent.folders.added:
            yield "added", list(added)
        ends = "" if agent.record.outlives else ", which ends with this process"
        yield "recorded in", [f"{agent.record.place or _UNKNOWN}{ends}"]
        if in_use := agent.record.in_use:
            yield "read-only", [in_use]

    def _describe_model(self, status: StatusFacts) -> Iterator[tuple[str, Sequence[str]]]:
        tokens, window = status.context
        share = f" of {format_tokens(window)}, {100 * tokens // window} %" if window else ""
        yield "model", [status.model]
        yield "context", [f"about {format_tokens(tokens)} tokens{share}"]
        yield "used", [status.used or "nothing yet"]
        caps = [
            f"agent.{each.cap}: {each.cap.render(each.spent)} of {each.cap.render(each.limit)}"
            for each in self._agent.spending.standings
        ]
        yield "caps", caps or ["none"]

    def _describe_consensus(self) -> Iterator[tuple[str, Sequence[str]]]:
        consensus = self._agent.consensus.current
        yield "level", [consensus.level.value]
        yield "strategy", [consensus.strategy.value]

    def _describe_reviews(self, status: StatusFacts) -> Iterator[tuple[str, Sequence[str]]]:
        yield "mode", [status.mode]
        if errors := self._agent.review.describe_error():
            yield "unasked calls", errors
        yield "plan", list(self._describe_plan())
        yield "sandbox", [status.sandbox.removeprefix("sandbox ") or _UNKNOWN]

    def _describe_plan(self) -> Iterator[str]:
        plans = self._agent.plans
        if plans.phase.is_planning:
            yield "being made: nothing is changed until you approve one"
        if plans.phase.review is not None:
            yield "carried out; its final review is due: /retry makes it, /plan drop drops it"
        if (approved := plans.phase.approved) is None or (progress := plans.progress) is None:
            if not plans.phase.is_planning and plans.phase.review is None:
                yield "none"
            return
        total = format_amount(len(approved.plan.tasks), "task")
        yield f"in force, {progress.done} of {total} done"
        yield " ".join(approved.plan.objective.split())
        for task in approved.plan.ordered:
            first, _, _ = task.description.partition("\n")
            yield f"{task.id}, {progress.statuses[task.id].value.replace('_', ' ')}: {first}"
        for rule in approved.rules:
            yield f"allows {rule.text}"

    def _describe_loaded(self, loaded: InstructionsLoaded | None) -> Iterator[tuple[str, Sequence[str]]]:
        files = [each.file for each in loaded.files] if loaded is not None else []
        yield "instructions", files or ["none" if loaded is not None else "looked for with the first prompt"]
        yield (
            "skills",
            [each.name for each in loaded.skills] if loaded is not None and loaded.skills else ["none"],
        )
        if loaded is not None and loaded.agents:
            yield "agents", [each.name for each in loaded.agents]
        if loaded is not None and loaded.notices:
            yield "notices", loaded.notices
        servers = [
            f"{server.name}: {server.state.value}, {format_amount(len(server.tools), 'tool')}"
            for server in self._agent.tool_servers.list_statuses()
        ]
        yield "MCP servers", servers or ["none"]


def _render_fact(name: str, values: Sequence[str], width: int, hide: Callable[[str], str]) -> Iterator[Content]:
    room = max(20, width - _NAME_CELLS - 2)
    rows = [
        row
        for value in values
        for row in textwrap.wrap(make_printable(hide(value), newlines=False), room, break_on_hyphens=False)
        or [""]
    ]
    for place, row in enumerate(rows):
        yield Content.assemble((f"  {'' if place else name:<{_NAME_CELLS}}", QUIET), row)

"""The screen of `/status`: all that holds in this session, on one page."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

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


class StatusFacts(Protocol):
    """What the page shows of a session's facts, each as one text; empty where it is not known."""

    @property
    def title(self) -> str:
        """The first prompt."""
        ...

    @property
    def model_with_effort(self) -> str:
        """The model, and its reasoning effort where one is chosen."""
        ...

    @property
    def used(self) -> str:
        """Tokens and cost so far."""
        ...

    @property
    def sandbox(self) -> str:
        """`sandbox on` or `sandbox off`."""
        ...


class StatusSession(Protocol):
    """What the page reads of the session whenever it is drawn."""

    @property
    def agent(self) -> AgentSession: ...

    @property
    def facts(self) -> StatusFacts:
        """What the session's events lead to."""
        ...

    @property
    def context(self) -> tuple[int, int]:
        """The tokens in the model's window, and the size of that; 0 where it is not known."""
        ...

    @property
    def mode_label(self) -> str:
        """The name of the review mode."""
        ...

    @property
    def loaded_instructions(self) -> InstructionsLoaded | None:
        """The instruction files and skills in force; None before the first prompt."""
        ...


class StatusScreen(AccountSheet):
    """Shows what holds at this moment. Secrets are hidden in every line."""

    HEADING = "Status"

    def __init__(self, session: StatusSession, *, version: str, folder: str) -> None:
        super().__init__()
        self._session, self._version, self._folder = session, version, folder

    def build_lines(self, width: int) -> Iterator[Content]:
        """Each fact with its name before it; long ones take several lines."""
        hide = self._session.agent.mask.mask_text
        for heading, facts in (
            ("Session", self._describe_session()),
            ("Model", self._describe_model()),
            ("Reviews", self._describe_reviews()),
            ("Consensus", self._describe_consensus()),
            ("Loaded", self._describe_loaded()),
        ):
            yield Content(heading).stylize("bold $text-accent")
            for name, values in facts:
                yield from _render_fact(name, values, width, hide)
            yield Content("")
        yield Content(f"quorum {self._version}".strip()).stylize("dim")

    def _describe_session(self) -> Iterator[tuple[str, Sequence[str]]]:
        agent, facts = self._session.agent, self._session.facts
        yield "title", [facts.title or "new"]
        yield "id", [agent.session_id]
        yield "folder", [self._folder]
        if added := agent.folders.added:
            yield "added", list(added)
        ends = "" if agent.record.outlives else ", which ends with this process"
        yield "recorded in", [f"{agent.record.place or _UNKNOWN}{ends}"]
        if in_use := agent.record.in_use:
            yield "read-only", [in_use]

    def _describe_model(self) -> Iterator[tuple[str, Sequence[str]]]:
        session = self._session
        tokens, window = session.context
        share = f" of {format_tokens(window)}, {100 * tokens // window} %" if window else ""
        yield "model", [session.facts.model_with_effort]
        yield "context", [f"about {format_tokens(tokens)} tokens{share}"]
        yield "used", [session.facts.used or "nothing yet"]
        caps = [
            f"agent.{each.cap}: {each.cap.render(each.spent)} of {each.cap.render(each.limit)}"
            for each in session.agent.spending.standings
        ]
        yield "caps", caps or ["none"]

    def _describe_consensus(self) -> Iterator[tuple[str, Sequence[str]]]:
        consensus = self._session.agent.consensus.current
        yield "level", [consensus.level.value]
        yield "strategy", [consensus.strategy.value]

    def _describe_reviews(self) -> Iterator[tuple[str, Sequence[str]]]:
        yield "mode", [self._session.mode_label]
        if errors := self._session.agent.review.describe_error():
            yield "unasked calls", errors
        yield "plan", list(self._describe_plan())
        yield "sandbox", [self._session.facts.sandbox.removeprefix("sandbox ") or _UNKNOWN]

    def _describe_plan(self) -> Iterator[str]:
        plans = self._session.agent.plans
        if plans.phase.is_planning:
            yield "being made: nothing is changed until you approve one"
        if plans.phase.review is not None:
            yield "carried out; its final review is due: /retry makes it, /plan drop drops it"
        if (approved := plans.phase.approved) is None or (progress := plans.progress) is None:
            if not plans.phase.is_planning and plans.phase.review is None:
                yield "none"
            return
        total = format_amount(len(approved.plan.tasks), "task")
        yield f"in force, {progress.done} of {total} done (sha256 {approved.digest[:12]})"
        yield " ".join(approved.plan.objective.split())
        for task in approved.plan.ordered:
            first, _, _ = task.description.partition("\n")
            yield f"{task.id}, {progress.statuses[task.id].value.replace('_', ' ')}: {first}"
        for rule in approved.rules:
            yield f"allows {rule.text}"

    def _describe_loaded(self) -> Iterator[tuple[str, Sequence[str]]]:
        loaded = self._session.loaded_instructions
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
            for server in self._session.agent.tool_servers.list_statuses()
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

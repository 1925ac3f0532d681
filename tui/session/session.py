"""The session behind the screen: its agent, what is known of it, and what the person may see and change of it.

Loaded when the agent is there.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.application.view.present import Book, SessionStatus
from quorum.domain.conversation.effort import Effort, format_model
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import ProviderErrorKind, QuorumError
from quorum.domain.events.event import RetryScheduled
from quorum.domain.plan.plan import PhaseScope
from quorum.domain.review.mode import Mode
from quorum.domain.text.amounts import format_amount, format_duration
from quorum.tui.keys.choices import CYCLED_MODES, EFFORTS, LAYERED_MODES, SANDBOX_OFF, STAGED
from quorum.tui.keys.slash_commands import DROP, LEAVE
from quorum.tui.screens.accounts.spending import format_cost, render_spending

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession
    from quorum.application.view.session_view import SessionView
    from quorum.domain.events.event import CallLeaked
    from quorum.domain.events.session import InstructionsLoaded
    from quorum.domain.sessions.state import PastTurn


_TICK_TOLERANCE_SECS = 0.1  # a tick that comes a little early has its second gone by all the same
_IN_SHORT = {
    ProviderErrorKind.RATE_LIMIT: "rate limited",
    ProviderErrorKind.OVERLOADED: "overloaded",
    ProviderErrorKind.TIMEOUT: "no answer in time",
    ProviderErrorKind.CONNECTION: "no connection",
    ProviderErrorKind.DAMAGED_STREAM: "damaged answer",
}


_OFFLINE = "offline/"


class SessionFacts:
    """The facts in words, as they are now. `clock` is in seconds."""

    def __init__(self, status: SessionStatus, *, clock: Callable[[], float]) -> None:
        self._status = status
        self._clock = clock
        self._seen = -1
        self._retry: RetryScheduled | None = None
        self._retry_at = 0.0

    def catch_up(self) -> bool:
        """Apply an event; returns whether anything shown has changed."""
        status = self._status
        if status.retry is not self._retry:
            self._retry = status.retry
            self._retry_at = self._clock() + (status.retry.delay_secs if status.retry else 0.0)
        seen, self._seen = self._seen, status.version
        return seen != status.version

    @property
    def model(self) -> str:
        """The model that answers, as "provider/model"."""
        return self._status.model

    @property
    def has_model(self) -> bool:
        """Whether a model answers, and not the interpreter of simple requests."""
        return not self.model.startswith(_OFFLINE)

    @property
    def effort(self) -> str:
        """The reasoning effort that the model is asked for; empty where none is set."""
        effort = self._status.effort
        return effort.value if effort not in (None, Effort.DEFAULT) else ""

    @property
    def model_with_effort(self) -> str:
        """The model that answers, with its effort where one is set."""
        return format_model(self._status.model, self._status.effort)

    @property
    def mode(self) -> str:
        """The review mode."""
        return self._status.mode

    @property
    def title(self) -> str:
        """The first prompt; empty until there is one."""
        return self._status.title

    @property
    def sandbox(self) -> str:
        """Whether commands run in a sandbox; empty until that is known."""
        return {True: "sandbox on", False: SANDBOX_OFF, None: ""}[self._status.sandbox]

    @property
    def book(self) -> Book:
        """What was used, by turn and by model."""
        return self._status.book

    @property
    def used(self) -> str:
        """Tokens and cost so far, as `12.3k in · 1.2k out · $0.04`; empty where nothing was used."""
        return render_spending(self._status.book.total)

    @property
    def cost(self) -> str:
        """The cost so far as `$0.04`; where no price is known the tokens, and nothing where none were used."""
        total = self._status.book.total
        return format_cost(total) or render_spending(total)

    @property
    def retry(self) -> str:
        """What is waited for, as `rate limited, again in 12 s (2 of 2)`; empty where nothing is."""
        if (retry := self._retry) is None:
            return ""
        left = math.ceil(self._retry_at - self._clock() - _TICK_TOLERANCE_SECS)
        when = f"again in {left} s" if left > 0 else "trying again"
        of = f" of {retry.attempts}" if retry.attempts is not None else ""
        why = _IN_SHORT.get(retry.kind, "request failed") if retry.kind else "request failed"
        why = "loading the model" if retry.is_loading else why
        return f"{why}, {when} ({retry.attempt}{of})"


_LISTING_SECS = 0.5


class Session:
    """One agent, at work in the folder `cwd`, and the facts about its session. `clock` is in seconds."""

    def __init__(self, agent: AgentSession, view: SessionView, *, cwd: str, clock: Callable[[], float]) -> None:
        status = view.status
        self.agent = agent
        self.clock, self._begun, self._changed_files = clock, clock(), view.present.changed_files
        self.cwd = cwd
        self._status, self._view = status, view
        self._jobs_seen = 0
        self.facts = SessionFacts(status, clock=clock)
        self.wished_mode = ""
        self.context = agent.context.use

    def begin(self) -> None:
        """The past is applied; from now on the agent's model and mode hold."""
        models = self.agent.models
        self._status.resume(model=models.current, effort=models.effort, mode=self.agent.review.mode.value)
        self.catch_up()

    def catch_up(self) -> bool:
        """Apply an event; returns whether anything shown of the session has changed."""
        changed = self.facts.catch_up()
        if changed:
            self.context = self.agent.context.use  # reckoned from the whole conversation: not at each frame
        jobs, self._jobs_seen = self._jobs_seen, self.jobs
        return changed or jobs != self._jobs_seen

    @property
    def instructions(self) -> InstructionsLoaded | None:
        """Those in force, None while none are known."""
        return self._status.instructions

    @property
    def leaked_call(self) -> CallLeaked | None:
        """The last call in the text of an answer that a setting would have had read."""
        return self._status.leaked_call

    @property
    def jobs(self) -> int:
        """How many commands run in the background."""
        return len(self._view.present.jobs.running)

    @property
    def account(self) -> list[str]:
        """What the session came to, in a line: use, changed files and time; nothing where it did nothing."""
        files = self._changed_files.list_files()
        added, removed = sum(file.added for file in files), sum(file.removed for file in files)
        changed = f"{format_amount(len(files), 'file')} changed +{added:,} −{removed:,}" if files else ""
        used = f"tokens: {self.facts.used}" if self.facts.used else ""
        parts = [part for part in (used, changed) if part]
        return [" · ".join([*parts, format_duration(self.clock() - self._begun)])] if parts else []

    @property
    def can_be_resumed(self) -> bool:
        """Whether there is a turn in it, and it outlives the process."""
        record = self.agent.record
        return bool(self.facts.book.turn) and record.outlives and not record.in_use

    def explain_no_continuation(self) -> str | None:
        """Why no other process could continue what was said in it; None where one can, or nothing was."""
        if not self.facts.book.turn or self.can_be_resumed:
            return None
        return "this session is kept nowhere, so that no other process could continue it"

    async def shorten_id(self) -> str:
        """As much of its id as it takes to name it; all of it where that cannot be found out at once."""
        from quorum.domain.sessions.stored_session import shorten_id

        name = self.agent.session_id
        try:
            async with asyncio.timeout(_LISTING_SECS):
                return shorten_id(name, await self.agent.record.archive.list_sessions())
        except (QuorumError, TimeoutError):
            return name

    @property
    def refusal(self) -> str:
        """Why nothing can be added to the session, with the remedy; empty where it can."""
        return (
            f"read-only: /fork continues in a copy · {self.agent.record.in_use}"
            if self.agent.record.in_use
            else ""
        )

    @property
    def mode_label(self) -> str:
        """How it goes about risky calls, and that several models answer if they do: its review mode; what it
        is where there are none, or none run. That it stands in a layer where its name does not say so."""
        label = self._name_mode()
        is_told = self.agent.effects is None or label.partition(",")[0] == STAGED
        return label if is_told else f"{label}, in a layer"

    def _name_mode(self) -> str:
        match self.agent.record.form:
            case SessionKind.AGENT if self.agent.plans.phase.is_planning:
                return "plan"
            case SessionKind.AGENT:
                goal = "goal" if self.has_open_goal else ""
                mode = self.wished_mode or self.facts.mode
                return ", ".join(filter(None, (mode, self.agent.consensus.current.label, goal)))
            case SessionKind.EXTERNAL:
                return self.facts.mode
            case SessionKind.ASK:
                return "looks only"
            case SessionKind.DISCUSS:
                return "discussion"
            case SessionKind.DEBATE:
                return "debate"
            case SessionKind.REVIEW:
                return "code review"

    @property
    def has_open_goal(self) -> bool:
        """Whether its turns go on until the checks of a goal pass."""
        goals = self.agent.goals
        return goals is not None and goals.goal is not None and goals.goal.is_open

    @property
    def model_label(self) -> str:
        """The model that answers; the name of its provider before it only where several are set up."""
        provider, _, name = self.facts.model.partition("/")
        has_others = any(other != provider for other in self.agent.models.configured_providers)
        shown = self.facts.model if has_others or not name else name
        return format_model(shown, self._status.effort)

    @property
    def last_turn(self) -> PastTurn | None:
        """The last turn that was not taken back."""
        return next((turn for turn in reversed(self.agent.rewind.turns) if not turn.undone), None)

    async def set_mode(self, name: str) -> str:
        """Change the review mode; why that cannot be, empty where it can."""
        try:
            await self.agent.review.set_mode(Mode(name))
        except QuorumError as error:
            return str(error)
        self._status.choose_mode(self.agent.review.mode.value)
        return ""

    def crosses_layer(self, mode: str) -> bool:
        """Whether this mode takes another process: one in a layer, or one that is in none."""
        if self.agent.effects is None:
            return mode == STAGED
        return mode not in LAYERED_MODES

    @property
    def is_agent(self) -> bool:
        """Whether its model may change anything; else it only looks or talks."""
        return self.agent.record.form in {SessionKind.AGENT, SessionKind.EXTERNAL}

    @property
    def is_fast(self) -> bool:
        """Whether it works at once, and no other model is asked about a plan."""
        return self.agent.plans.phase.scope is PhaseScope.FAST

    @property
    def is_ensemble(self) -> bool:
        """Whether several models answer a prompt."""
        return bool(self.agent.consensus.current.label)

    @property
    def special_modes(self) -> tuple[str, ...]:
        """The modes it is in that are entered and left by a command; none where one model works at once."""
        is_planning = self.agent.plans.phase.is_planning
        modes = {"plan": is_planning, "fast": self.is_fast, "ensemble": self.is_ensemble}
        return tuple(name for name, is_on in modes.items() if is_on)

    async def change_plan(self, word: str) -> str:
        """Leave plan mode, withdraw the plan, or, with any other word, have one made; without a word, enter
        plan mode or leave it. Returns why that cannot be, empty where it can."""
        plans = self.agent.plans
        try:
            if word == LEAVE or (not word and plans.phase.is_planning):
                await plans.leave()
            elif word == DROP:
                await plans.withdraw("you withdrew it")
            else:
                await plans.set_scope(PhaseScope.PLAN_ONLY)
        except QuorumError as error:
            return str(error)
        return ""

    async def set_scope(self, name: str) -> str:
        """Have the session go this far from now on; why that cannot be, empty where it can."""
        try:
            await self.agent.plans.set_scope(PhaseScope(name))
        except QuorumError as error:
            return str(error)
        return ""

    async def choose_consensus(self, level: str, strategy: str) -> tuple[str, ...]:
        """Change how many models answer, and how; empty keeps what is. Returns what to warn of. Raises
        QuorumError."""
        from quorum.domain.panel.panel_answer import ConsensusLevel, Strategy

        return await self.agent.consensus.choose(
            level=ConsensusLevel(level) if level else None,
            strategy=Strategy(strategy) if strategy else None,
        )

    def list_following_modes(self) -> tuple[str, ...]:
        """The modes that keep asking, in their order from the one that follows; the present one stands last.

        The last of them all is in another process: it begins in a layer, or outside of one.
        """
        modes = (*CYCLED_MODES, STAGED) if self.agent.effects is None else (*LAYERED_MODES, CYCLED_MODES[0])
        mode = self.wished_mode or self.facts.mode
        place = modes.index(mode) + 1 if mode in modes else 0
        return (*modes[place:], *modes[:place])

    async def set_model(self, typed: str) -> str:
        """Choose another model, its effort, or both: `MODEL`, `EFFORT` or `MODEL EFFORT`. Returns why that
        cannot be had, empty where it can."""
        name, _, effort = typed.partition(" ") if "/" in typed else ("", "", typed)
        if effort.strip() not in ("", *EFFORTS):
            refusal = f"there is no effort {effort.strip()}; there are {', '.join(EFFORTS)}"
            return refusal if name else f"{refusal}; a model is PROVIDER/MODEL: /model alone lists them"
        models = self.agent.models
        try:
            await models.choose(name or models.current, Effort(effort.strip()) if effort else None)
        except QuorumError as error:
            return str(error)
        return ""

    async def export(self, file: str) -> str:
        """Write the session into this file, or one named after it in the state folder, out of the project; its
        path. Raises QuorumError and OSError."""
        from quorum.application.export.formats import export_to
        from quorum.tui.prompt_box.unsent import locate_state_folder

        exports = locate_state_folder() / "exports"
        return str(await export_to(file, self.agent, folder=Path(self.cwd), exports=exports))

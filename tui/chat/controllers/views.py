"""Screens that show what the session used, kept and did, and an empty transcript."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.tui.chat.controllers.host import ChatHost, CurrentSession
from quorum.tui.themes.looks import Looks
from quorum.tui.transcript.layout.view import TranscriptView

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession
    from quorum.application.view.entries import Call, Entry, FollowedSubagent
    from quorum.domain.code_review.review_result import ReviewResult
    from quorum.tui.screens.timeline.chart import TimelineRow
    from quorum.tui.session.session import Session


class ViewController:
    """Opens screens to look at the session: its costs, its context, its timeline and its outputs.

    It also clears what the transcript shows.
    """

    def __init__(self, host: ChatHost, current: CurrentSession, transcript: TranscriptView) -> None:
        self._host, self._current, self._transcript = host, current, transcript

    def action_clear_transcript(self) -> None:
        """Clear the screen; the conversation continues."""
        self._transcript.clear()

    def action_show_cost(self) -> None:
        if (session := self._current.require_session("nothing was used yet; look")) is not None:
            from quorum.tui.screens.accounts.cost_screen import CostScreen

            self._host.app.push_screen(CostScreen(session.facts.book, session.agent.spending.standings))

    def action_show_status(self) -> None:
        """Show all that holds in this session."""
        if (session := self._current.require_session("look at the status")) is None:
            return
        from quorum.tui.screens.accounts.status_screen import StatusFacts, StatusScreen

        def read_status() -> StatusFacts:
            return StatusFacts(
                title=session.facts.title,
                model=session.facts.model_with_effort,
                used=session.facts.used,
                sandbox=session.facts.sandbox,
                context=session.context,
                mode=session.mode_label,
                loaded=session.instructions,
            )

        app = self._host.app
        version = app.version if isinstance(app, Looks) else ""
        app.push_screen(StatusScreen(session.agent, read_status, version=version, folder=session.cwd))

    def action_show_context(self) -> None:
        """Show what fills the model's window."""
        if (session := self._current.require_session("look at the context")) is not None:
            from quorum.tui.screens.accounts.context_screen import ContextScreen

            agent = session.agent
            self._host.app.push_screen(
                ContextScreen(agent.context.account, agent.models.current, agent.mask.mask_text)
            )

    def action_show_skills(self) -> None:
        if (session := self._current.require_session("look at the skills")) is not None:
            self._host.run_worker(self._show_skills(session.agent), group="skills", exclusive=True)

    async def _show_skills(self, agent: AgentSession) -> None:
        from quorum.tui.screens.accounts.offers_screens import SkillsScreen

        self._host.app.push_screen(SkillsScreen(await agent.skills.survey()))

    def action_show_agents(self) -> None:
        if (session := self._current.require_session("look at the agents")) is not None:
            self._host.run_worker(self._show_agents(session.agent), group="agents", exclusive=True)

    async def _show_agents(self, agent: AgentSession) -> None:
        from quorum.tui.screens.accounts.offers_screens import AgentsScreen

        self._host.app.push_screen(AgentsScreen(await agent.agents.survey()))

    def action_show_mcp(self, order: str = "") -> None:
        """Show the MCP servers and their tools; `restart NAME` starts one anew, `login NAME` logs in to it."""
        if (session := self._current.require_session("look at the MCP servers")) is None:
            return
        verb, _, name = order.strip().partition(" ")
        if not verb:
            from quorum.tui.screens.accounts.mcp_screen import McpScreen

            agent = session.agent
            self._host.app.push_screen(
                McpScreen(agent.tool_servers.list_statuses(), lambda name: self._begin_login(agent, name))
            )
        elif verb == "login" and name.strip():
            self._begin_login(session.agent, name.strip())
        elif verb == "restart":
            self._host.run_worker(self._restart_server(session.agent, name.strip()), group="mcp")
        else:
            self._host.refuse(
                "/mcp shows the MCP servers, /mcp restart NAME starts one of them anew, /mcp login NAME logs in"
            )

    def _begin_login(self, agent: AgentSession, name: str) -> None:
        self._host.run_worker(self._log_in(agent, name), group="mcp-login", exclusive=True)

    async def _log_in(self, agent: AgentSession, name: str) -> None:
        """Log in to a server; the screen with the address cancels it when it is closed."""
        from quorum.domain.errors import ConfigError, LoginError
        from quorum.tui.screens.accounts.mcp_screen import LoginScreen

        screens: list[LoginScreen] = []

        def cancel(_result: None) -> None:
            login.cancel()

        async def show(address: str) -> None:
            screens.append(LoginScreen(name, address))
            self._host.app.push_screen(screens[0], cancel)

        login = asyncio.ensure_future(agent.tool_servers.log_in(name, show))
        self._host.say(f"asking the MCP server {name} where to log in")
        try:
            await asyncio.wait((login,))
        finally:
            login.cancel()
            for screen in screens:
                screen.dismiss()
        if login.cancelled():
            self._host.say(f"the login to the MCP server {name} was cancelled")
        elif (error := login.exception()) is None:
            self._host.say(f"logged in to the MCP server {name}; its tools are there with the next prompt")
        elif isinstance(error, ConfigError | LoginError):
            self._host.tell(f"no login to the MCP server {name}: {error}")
        else:
            raise error

    async def _restart_server(self, agent: AgentSession, name: str) -> None:
        if await agent.tool_servers.restart(name):
            self._host.say(f"the MCP server {name} is starting anew; its tools are there with the next prompt")
        else:
            known = ", ".join(server.name for server in agent.tool_servers.list_statuses()) or "none"
            self._host.refuse(f"there is no MCP server {name!r}; there is: {known}")

    def action_show_language_servers(self, order: str = "") -> None:
        """Show the language servers; `restart NAME` starts one anew."""
        if (session := self._current.require_session("look at the language servers")) is None:
            return
        verb, _, name = order.strip().partition(" ")
        if not verb:
            from quorum.tui.screens.accounts.offers_screens import LanguageServersScreen

            self._host.app.push_screen(LanguageServersScreen(session.agent.language_servers.list_statuses()))
        elif verb == "restart":
            self._host.run_worker(self._restart_language_server(session.agent, name.strip()), group="lsp")
        else:
            self._host.refuse("/lsp shows the language servers, /lsp restart NAME starts one of them anew")

    async def _restart_language_server(self, agent: AgentSession, name: str) -> None:
        servers = agent.language_servers
        if (status := await servers.restart(name)) is None:
            known = ", ".join(server.name for server in servers.list_statuses()) or "none"
            self._host.refuse(f"there is no language server {name!r}; there is: {known}")
        elif status.problem:
            self._host.refuse(f"the language server {name} does not start: {status.problem}")
        else:
            self._host.say(f"the language server {name} runs")

    def action_show_findings(self, panel_id: str = "") -> None:
        """Show what a code review on the screen found, the latest if none is named."""
        if (session := self._current.require_session("look at the findings")) is None:
            return
        if (result := find_review_result(self._transcript.entries, panel_id)) is not None:
            from quorum.tui.screens.findings_screen import FindingsScreen

            reviewed = session.agent.reviewed_files
            self._host.app.push_screen(FindingsScreen(result, reviewed, workspace=Path(session.cwd)))
        else:
            self._host.refuse("there is no code review on the screen; /review begins one")

    def action_show_inbox(self) -> None:
        """Show the decisions that wait in any session."""
        if (session := self._current.require_session("look at the inbox")) is not None:
            from quorum.tui.screens.inbox_screen import InboxScreen

            self._host.app.push_screen(InboxScreen(session.agent.inbox, clock=session.clock))

    def action_show_timeline(self) -> None:
        """Show every turn and call of the session on a time axis."""
        from quorum.tui.screens.timeline.timeline_screen import TimelineScreen

        view = self._transcript.session_view
        self._host.app.push_screen(TimelineScreen(view.timings, view.clock), self._reveal)

    def _reveal(self, row: TimelineRow | None) -> None:
        """Have what a row stands for in sight."""
        if row is None or (entry := row.entry) is None:
            return
        if not self._transcript.reveal(entry, row.call):
            self._host.refuse("that is not on the screen any more: /clear took it off")

    def action_open_output(self, nth: int = 1) -> None:
        """Read the nth latest output of a command, or stored one."""
        if (call := self._transcript.find_latest_output(nth)) is not None:
            self.open_output(call)
        else:
            self._host.refuse(
                "no command has printed anything yet" if nth == 1 else f"there are fewer than {nth} outputs"
            )

    def open_output(self, call: Call) -> None:
        """Read the whole output of a call."""
        if self._current.session is not None:  # without one there is no call either
            self._host.run_worker(
                self._open_output(self._current.session, call), group="output", exclusive=True
            )

    async def _open_output(self, session: Session, call: Call) -> None:
        """It may have to be fetched from another machine: the screen stays as it is until then."""
        from quorum.domain.errors import BlobError
        from quorum.tui.screens.pager_screen import open_pager

        try:
            self._host.app.push_screen(await open_pager(call, session.agent))
        except BlobError as error:
            self._host.refuse(str(error))

    def action_show_subagent(self, session_id: str) -> None:
        """Show what a subagent on the screen does, or did."""
        if (session := self._current.require_session("look at a task")) is None:
            return
        if (subagent := find_subagent(self._transcript.entries, session_id)) is not None:
            from quorum.tui.screens.subagent_screen import SubagentScreen

            self._host.app.push_screen(SubagentScreen(subagent, session.agent))
        else:
            self._host.refuse("that task is not on the screen")


def find_subagent(entries: Sequence[Entry], session_id: str) -> FollowedSubagent | None:
    """The subagent whose session has this id; None where no call on the screen has given it a task."""
    return next((each for each in list_subagents(entries) if each.session_id == session_id), None)


def list_subagents(entries: Sequence[Entry]) -> list[FollowedSubagent]:
    """Those to which calls on the screen have given tasks, of the newest batch first."""
    from quorum.application.view.entries import Batch

    calls = (call for entry in reversed(entries) if isinstance(entry, Batch) for call in entry.calls)
    return [call.subagent for call in calls if call.subagent is not None]


def find_review_result(entries: Sequence[Entry], panel_id: str = "") -> ReviewResult | None:
    """What the latest code review came to, or that of this panel; None where there is none."""
    from quorum.application.view.entries import PanelEntry

    panels = (entry for entry in reversed(entries) if isinstance(entry, PanelEntry))
    fitting = (panel.result for panel in panels if panel_id in ("", panel.panel_id))
    return next((result for result in fitting if result is not None), None)

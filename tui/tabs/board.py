"""What `/board` lists of this app, and what leads from there to tabs and sessions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from quorum.application.inbox import SessionBoard, read_board
from quorum.domain.sessions.session_summary import NamedSession
from quorum.domain.text.amounts import format_duration, format_elapsed, shorten_home
from quorum.tui.chat.controllers.views import list_subagents
from quorum.tui.screens.board_screen import BoardRow, BoardScreen, BoardSection, GoThere, make_lines

if TYPE_CHECKING:
    from quorum.application.view.entries import FollowedSubagent
    from quorum.application.view.present import JobView
    from quorum.tui.session.session import Session
    from quorum.tui.tabs.tabs import Tab, Tabs

_ENDED_TASKS_SHOWN = 5


def build_board_screen(
    tabs: Tabs, session: Session, open_session: Callable[[NamedSession], Awaitable[None]]
) -> BoardScreen:
    """The board of an app with these tabs. `session` is the one in front, through which all others are read;
    `open_session` opens one of them in a tab."""
    agent = session.agent

    async def read() -> SessionBoard:
        return await read_board(agent.inbox, agent.record.archive, without=tabs.list_sessions())

    def attach(session_id: str) -> GoThere:
        return lambda: open_session(NamedSession(session_id))

    front = tabs.front
    return BoardScreen(
        lambda: _list_tabs(tabs),
        read,
        attach,
        lambda session_id: agent.record.archive.end_holder(session_id),
        agent.inbox,
        cwd=str(front.folder),
        clock=front.host.clock,
    )


def _list_tabs(tabs: Tabs) -> Iterator[BoardRow]:
    """Each tab, and the background commands and tasks of its session."""
    for number, tab in enumerate(tabs.all, 1):
        go = partial(tabs.go_to, tab)
        yield _build_tab_row(tab, number, go, is_front=tab is tabs.front)
        session = tab.chat.current.last
        if session is None:
            continue
        now = tab.chat.transcript.session_view.clock()
        jobs = tab.chat.transcript.session_view.present.jobs.all
        for job in jobs:
            show = partial(_show_task, tabs, tab, job.subagent_id) if job.subagent_id else go
            yield _build_job_row(job, session, number, show, now)
        in_background = {job.subagent_id for job in jobs}
        subagents = list_subagents(tab.chat.transcript.entries)
        tasks = [task for task in subagents if task.session_id not in in_background]
        ended = [task for task in tasks if not task.is_live]
        for task in (*(task for task in tasks if task.is_live), *ended[:_ENDED_TASKS_SHOWN]):
            yield _build_task_row(task, tabs, tab, number)


def _build_tab_row(tab: Tab, number: int, go: GoThere, *, is_front: bool) -> BoardRow:
    turns, session = tab.chat.turns, tab.chat.current.last

    async def stop() -> str:
        return f"tab {number} is stopping" if turns.interrupt() else "nothing runs there any more"

    part, state = BoardSection.RESTING, "at rest"
    if tab.mark == "!":
        part, state = BoardSection.WAITING, "answer needed"
    elif turns.running:
        part, state = BoardSection.RUNNING, f"{turns.does} {format_elapsed(turns.elapsed)}"
    elif turns.own.running:
        part, state = BoardSection.RUNNING, f"your command {format_elapsed(turns.own.elapsed)}"
    elif session is not None and session.agent.record.in_use:
        state = "read-only"
    model = session.facts.model_with_effort if session is not None else "starting"
    return BoardRow(
        part=part,
        key=tab.mode,
        name=f"tab {number}",
        text=tab.title,
        state=f"{state}, here" if is_front else state,
        about=make_lines(tab.title, f"{model} · {shorten_home(str(tab.folder))}"),
        go=go,
        stop="nothing runs there" if part is BoardSection.RESTING else stop,
    )


def _build_job_row(job: JobView, session: Session, number: int, go: GoThere, now: float) -> BoardRow:
    async def stop() -> str:
        return await session.agent.jobs.stop_by_id(job.job_id)

    running = f"running {format_duration(job.count_seconds(now))}"
    state = running if job.is_running else job.ending
    return BoardRow(
        part=BoardSection.RUNNING if job.is_running else BoardSection.ENDED,
        key=f"{number} {job.job_id}",
        name=job.job_id,
        text=job.command,
        state=job.summarise_state(now),
        about=make_lines(job.command, f"tab {number} · {state}", job.last_line),
        go=go,
        stop=stop if job.is_running else f"{job.job_id} has ended already",
    )


async def _show_task(tabs: Tabs, tab: Tab, session_id: str) -> None:
    await tabs.go_to(tab)
    tab.chat.views.action_show_subagent(session_id)


def _build_task_row(task: FollowedSubagent, tabs: Tabs, tab: Tab, number: int) -> BoardRow:
    return BoardRow(
        part=BoardSection.RUNNING if task.is_live else BoardSection.ENDED,
        key=task.session_id,
        name="task",
        text=task.title.removeprefix("task").removeprefix(":").strip(),
        state=f"in tab {number}",
        about=make_lines(task.title, f"in tab {number} · {task.session_id}"),
        go=partial(_show_task, tabs, tab, task.session_id),
        stop=f"a task stops with the turn of tab {number}" if task.is_live else "that task has ended already",
    )

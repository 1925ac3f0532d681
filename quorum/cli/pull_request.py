"""`quorum pr`: what the sessions of a branch show of its change, for its pull request and its commits."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.command_line.command import ArgumentGroup, CliCommand, argument, flag
from quorum.command_line.options import StartOptions
from quorum.command_line.shared import PLACES, SESSION_HELP
from quorum.command_line.values import parse_pull_request, parse_session_name

if TYPE_CHECKING:
    from quorum.application.export.session_evidence import SharedWork
    from quorum.domain.sessions.session_summary import SessionSummary
    from quorum.infrastructure.changes.git_reader import BranchFiles
    from quorum.session_store import SessionStore


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestOptions(StartOptions):
    """The pull request, None: that of the branch. `sessions` names those of the change; else it is those that
    changed a file which the branch changes since it parted from `base`."""

    number: int | None = None
    sessions: tuple[str, ...] = ()
    base: str = ""
    trailer: bool = False
    print: bool = False
    yes: bool = False

    def find_conflict(self) -> str:
        """Which options do not go together, in a sentence; empty where all do."""
        if self.sessions and self.base:
            return "--session names the sessions, and --base finds them: give one of the two"
        return ""


def _describe(options: PullRequestOptions, root: Path) -> int:
    from quorum.cli.sessions.actions import act_on_sessions

    return act_on_sessions(options, root, describe_change)


async def describe_change(wish: PullRequestOptions, store: SessionStore) -> int:
    """Print the trailers, or the comment, and post it once the person says so; 0, or 1 where they say no.

    Raises LedgerError for a session that does not hold, ToolError where git or gh fails, and UsageError.
    """
    from quorum.application.export.session_evidence import render_comment, render_trailers
    from quorum.domain.errors import ToolError
    from quorum.errors import UsageError

    try:
        works = await _gather_works(wish, store)
        if wish.trailer:
            sys.stdout.write(render_trailers(works))
            return 0
        comment = render_comment(works, store.build_mask())
        sys.stdout.write(comment)
        return 0 if wish.print else await _post(wish, comment, store.root)
    except ToolError as error:
        raise UsageError(str(error)) from error


async def _gather_works(wish: PullRequestOptions, store: SessionStore) -> list[SharedWork]:
    from quorum.application.export.session_evidence import SharedWork, gather_evidence
    from quorum.domain.errors import LedgerError
    from quorum.domain.sessions.stored_session import anchor_session
    from quorum.errors import UsageError
    from quorum.infrastructure.changes.git_reader import read_branch_files
    from quorum.infrastructure.wall_clock import read_wall_clock_ms

    branch = (
        None if wish.sessions else await asyncio.to_thread(read_branch_files, store.root, os.environ, wish.base)
    )
    works = []
    for session in await _list_candidates(wish, store, branch):
        stored = await store.archive.read_stored(session.id)
        checked, records = stored.verify_and_decode()
        evidence = gather_evidence(records)
        if branch is not None and not branch.touches(evidence.changed):
            continue
        if not checked.holds:
            raise LedgerError(f"the session {session.id} {checked.flaw}; nothing is said of what does not hold")
        anchor = anchor_session(stored, at_ms=read_wall_clock_ms())
        works.append(SharedWork(title=session.title, anchor=anchor, evidence=evidence))
    if not works:
        raise UsageError(
            "no session of this folder changed a file that the branch changes; name them with --session, or "
            "the commit from which the branch parted with --base"
        )
    return works


async def _list_candidates(
    wish: PullRequestOptions, store: SessionStore, branch: BranchFiles | None
) -> list[SessionSummary]:
    """The sessions that may be of the change, the one that began first at the top; those of subagents, too."""
    if branch is None:
        return [await store.find_named(name) for name in wish.sessions]
    listed = await store.archive.list_sessions()
    near = [each for each in listed if branch.may_hold(each.cwd) and each.updated_ms >= branch.since_ms]
    return sorted(near, key=lambda each: (each.started_ms, each.id))


async def _post(wish: PullRequestOptions, comment: str, root: Path) -> int:
    """Post the comment. Where that cannot be and nobody insisted, it was printed: say why it was not posted."""
    from quorum.cli.confirmation import confirm
    from quorum.domain.errors import ToolError
    from quorum.errors import complain
    from quorum.infrastructure.pull_request_comments import find_pull_request, post_comment

    try:
        found = await find_pull_request(root, os.environ, wish.number)
    except ToolError as error:
        if wish.yes:
            raise
        complain([f"it was not posted: {error}"])
        return 0
    if not wish.yes and not confirm(
        f"Post this as a comment on {found.repository}#{found.number}?",
        otherwise="--yes posts it without asking, --print only prints it",
    ):
        complain(["nothing was posted"])
        return 1
    complain([f"posted: {await post_comment(found, comment, root, os.environ)}"])
    return 0


COMMAND = CliCommand(
    PullRequestOptions,
    _describe,
    details="The comment names the sessions that changed files of the branch, the heads of their chains, who "
    "approved what, votes and tests. It is posted with gh once you say yes.",
    arguments=(
        argument(
            "number",
            metavar="N",
            type=parse_pull_request,
            nargs="?",
            help="the pull request; by default that of the branch",
        ),
        argument(
            "--session",
            dest="sessions",
            metavar="ID",
            type=parse_session_name,
            action="append",
            help=f"a session of the change: {SESSION_HELP}; repeat for more",
        ),
        argument("--base", metavar="REV", help="the branch or commit that the branch parted from"),
        ArgumentGroup(
            (
                flag("--trailer", help="print a trailer for a commit message instead"),
                flag("--print", help="only print the comment"),
                flag("--yes", help="post without asking"),
            ),
            is_exclusive=True,
        ),
        *PLACES,
    ),
    examples=(
        ("quorum pr", "print the comment, and post it once you say yes"),
        ('git commit --trailer "$(quorum pr --trailer --session latest)"', "name the session in a commit"),
    ),
)

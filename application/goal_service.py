"""Setting a goal, approving its checks, and finding out whether the receipt of an attempt still holds."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from quorum.application.calls.tool_set import ToolSet
from quorum.application.event_bus import EventBus
from quorum.application.identifiers import generate_id
from quorum.application.ports.workspace import FileKeeper
from quorum.domain.calls.effects import (
    IN_IGNORED_FOLDER,
    FileKind,
    FileLook,
    FileMark,
    FileState,
    KeptFiles,
    is_like,
)
from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import GoalRefused, LedgerError, ToolError
from quorum.domain.events.event import (
    ChecksApproved,
    ErrorOccurred,
    GoalDropped,
    GoalReceiptOutdated,
    GoalSet,
    OutdatedTestsClaimed,
)
from quorum.domain.goal import Goal, GoalCheck, GoalFile, TypedGoal, claims_tests, find_last_test_run
from quorum.domain.review.permission_rules import COMMAND_TOOL
from quorum.domain.settings import AgentTable
from quorum.domain.text.json_value import JsonObject

_MOST_FILES = 50

NO_GOALS_HERE = "a goal needs a session in which one model works with its tools"


class GoalService:
    """Keeps the goal of one session. It is read from the events, so that what is recorded is what holds.

    A check is approved by its content: the command, and the program, files and sandbox that it would run with,
    at the moment when the person names it or agrees to it. A check is ended after `check_secs`.
    """

    def __init__(
        self,
        events: EventBus,
        keeper: FileKeeper,
        root: str,
        kind: SessionKind,
        get_tools: Callable[[], ToolSet],
        limits: AgentTable,
    ) -> None:
        self._events = events
        self._root = root
        self._kind = kind
        self._get_tools = get_tools
        self._limits = limits
        self.changes = WorkspaceChanges(keeper, root)

    @property
    def goal(self) -> Goal | None:
        """The goal that was set last and not taken away."""
        return self._events.state.goal

    async def set_goal(self, typed: TypedGoal) -> None:
        """Set a goal in place of any other. The person has named its checks, if there are any, and approves
        them with that. Raises GoalRefused and LedgerError, and then the former one stands."""
        if self._kind is not SessionKind.AGENT:
            raise GoalRefused(NO_GOALS_HERE)
        if not typed.text.strip():
            raise GoalRefused("the goal is empty; write what is to be reached")
        checks = await self._measure_all(typed.checks)
        state = await self.changes.capture()
        await self._events.announce(GoalSet(text=typed.text, manifest=state.manifest, checks=checks))

    async def approve(self, commands: Sequence[str], context: ToolExecutionContext | None = None) -> None:
        """Put these checks, which the person approved, in place of the goal's. Raises GoalRefused."""
        if self.goal is None:
            raise GoalRefused("no goal is set")
        checks = await self._measure_all(commands)
        await self._events.announce(ChecksApproved(checks=checks, context=context))

    async def drop(self) -> None:
        """Take the goal away. Raises GoalRefused where there is none."""
        if self.goal is None:
            raise GoalRefused("no goal is set")
        await self._events.announce(GoalDropped())

    async def look_again(self) -> None:
        """Say so, once, where files changed since the checks of the last attempt ran, whoever changed them."""
        goal = self.goal
        if goal is None or goal.receipt is None or goal.is_open or goal.is_outdated:
            return  # those of an attempt that failed say nothing that could be wrong later
        try:
            found = await self.changes.find_since(goal.receipt.manifest)
        except LedgerError as error:
            await self._events.record(ErrorOccurred(message=f"not known whether the receipt holds: {error}"))
            return
        if found.files:
            labels = tuple(file.label for file in found.files[:_MOST_FILES])
            await self._events.record(GoalReceiptOutdated(files=labels))

    async def note_claim(self, answer: str) -> None:
        """Say so where an answer speaks of tests and none can have run since the last edit."""
        run = find_last_test_run(self._events.state.recent_work)
        if run is not None and run.predates_edit and claims_tests(answer):
            files = run.edited[:_MOST_FILES]
            await self._events.record(
                OutdatedTestsClaimed(command=run.command, exit_code=run.exit_code, files=files)
            )

    def build_arguments(self, command: str) -> JsonObject:
        """The arguments of the call that runs a check."""
        return {"command": command, "timeout_secs": self._limits.check_timeout_secs}

    async def measure(self, command: str) -> GoalCheck:
        """The check with the digest of what it would run and with what, as things stand. Raises GoalRefused."""
        if (tool := self._get_tools().find(COMMAND_TOOL)) is None:
            raise GoalRefused(f"checks are commands, and this session has no {COMMAND_TOOL}")
        if (hidden := self._events.hide(command)) != command:  # another process would run what is recorded
            raise GoalRefused(f"the check {hidden} holds a secret, which is not recorded; put it into a script")
        arguments = self.build_arguments(command)
        try:
            seal = await tool.seal(arguments, {})
        except (ToolError, OSError) as problem:
            raise GoalRefused(f"the check {command} cannot run: {problem}") from problem
        id_ = generate_id()
        packet = ReviewPacket(
            call=ToolCall(native_id=id_, tool_name=COMMAND_TOOL, arguments=arguments),
            context=ToolExecutionContext(call_id=id_, batch_id=id_, call_index=0, turn_index=0),
            seal=seal or Seal(cwd=self._root),
        )
        return GoalCheck(command=command, digest=packet.content_digest)

    async def _measure_all(self, commands: Sequence[str]) -> tuple[GoalCheck, ...]:
        return tuple([await self.measure(command) for command in commands])


_MOST_KNOWN = 3
_NO_MARK = FileMark(kind=0, size=0, modified_ns=0, changed_ns=0, inode=0)


class WorkspaceState(Struct, frozen=True, kw_only=True):
    """The files at one moment: the name of their stored list, and the digest over paths and contents."""

    manifest: str
    tree: str
    is_complete: bool


class WorkspaceDifference(Struct, frozen=True, kw_only=True):
    """The files that differ, by path, without by-products such as caches; whether all were looked at."""

    files: tuple[GoalFile, ...]
    is_complete: bool


class WorkspaceChanges:
    """Compares the files below `root` with a stored list of them. Raises LedgerError where none can be stored
    or read.

    A file whose content was not read in time is told from a later one by its mark, which only the process has
    that saw it; where nothing tells, the comparison is not complete.
    """

    def __init__(self, keeper: FileKeeper, root: str) -> None:
        self._keeper = keeper
        self._root = root.rstrip("/") + "/"
        self._known: dict[str, KeptFiles] = {}

    def label(self, path: str) -> str:
        """The path from the workspace on, where it lies in it."""
        return path.removeprefix(self._root)

    async def capture(self) -> WorkspaceState:
        """Keep the files as they are now."""
        kept = await self._keeper.keep()
        tree = await asyncio.to_thread(_compute_tree, kept.states, self._root)
        self._remember(kept)
        is_read = not any(map(_is_unread, kept.states.values()))
        return WorkspaceState(manifest=kept.manifest, tree=tree, is_complete=kept.complete and is_read)

    async def find_since(self, manifest: str) -> WorkspaceDifference:
        """What differs now from that list."""
        then, now = await self._load(manifest), await self._keeper.keep()
        differing, unknown = await asyncio.to_thread(_compare, then, now)
        is_complete = then.complete and now.complete and not unknown
        if not differing:
            return WorkspaceDifference(files=(), is_complete=is_complete)
        states = {path: state for path, state in then.states.items() if path in differing}
        # Asked for by name, with marks that no file has, only these are read again, and by-products are told.
        look = FileLook(marks=dict.fromkeys(states, _NO_MARK))
        asked = KeptFiles(roots=tuple(sorted(differing)), states=states, complete=then.complete, look=look)
        effects = await self._keeper.find_changes(asked, frozenset())
        files = sorted(
            (
                GoalFile(
                    path=self.label(change.path),
                    kind=change.kind,
                    sha256=None if change.after is None else change.after.sha256,
                )
                for change in effects.changes
                if not change.is_by_product
            ),
            key=lambda file: file.path,
        )
        return WorkspaceDifference(files=tuple(files), is_complete=is_complete)

    async def _load(self, manifest: str) -> KeptFiles:
        if (kept := self._known.get(manifest)) is None:
            self._remember(kept := await self._keeper.load(manifest))
        return kept

    def _remember(self, kept: KeptFiles) -> None:
        """Keep the list at hand: that of the moment when the goal was set, and that of its receipt."""
        self._known.pop(kept.manifest, None)
        self._known[kept.manifest] = kept
        while len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]


def _compare(then: KeptFiles, now: KeptFiles) -> tuple[set[str], bool]:
    """The paths that are known to differ, and whether there are others of which nothing tells. There may be
    hundreds of thousands."""
    differing, is_unknown = set[str](), False
    for path in then.states.keys() | now.states.keys():
        before, after = then.states.get(path), now.states.get(path)
        if not is_like(before, after):
            differing.add(path)
        elif before is not after and (_is_unread(before) or _is_unread(after)):
            marks = then.look.marks.get(path), now.look.marks.get(path)
            if None in marks:
                is_unknown = True
            elif marks[0] != marks[1]:
                differing.add(path)
    return differing, is_unknown


def _is_unread(state: FileState | None) -> bool:
    return (
        state is not None
        and state.kind is FileKind.FILE
        and state.sha256 is None
        and state.unkept != IN_IGNORED_FOLDER
    )


def _compute_tree(states: Mapping[str, FileState], root: str) -> str:
    """SHA-256 over a line for each file whose content is known: mode, content or target, and path."""
    digest = hashlib.sha256()
    for path in sorted(states):
        state = states[path]
        if (content := state.sha256 or state.target) is not None:
            line = f"{state.mode:o} {content} {path.removeprefix(root)}\n"
            digest.update(line.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()

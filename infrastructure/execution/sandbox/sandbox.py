"""The sandbox of a session: found out once, then asked for each command what that is held to."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never

from quorum.application.program_lookup import follow_path
from quorum.domain.errors import StagingError, ToolError
from quorum.domain.replacing import replace
from quorum.domain.review.path_policy import NO_PLACES, PathPolicy
from quorum.domain.shell.network_hosts import PROXY_PORT, HostList, HostPattern, write_hosts
from quorum.domain.shell.sandbox import OFFERS_GIT, OPENS_GIT, SandboxOff, SandboxOn, SandboxState
from quorum.domain.text.paths import is_below_any
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.execution.network.command_secrets import CommandSecrets, HandedSecrets
from quorum.infrastructure.execution.sandbox import seatbelt
from quorum.infrastructure.execution.sandbox.confinement import Confinement, Launch, RunningCommands
from quorum.infrastructure.execution.sandbox.guarded_files import FolderCache
from quorum.infrastructure.execution.sandbox.identity_store import IdentityStore
from quorum.infrastructure.execution.sandbox.known_files import KnownFiles
from quorum.infrastructure.execution.sandbox.new_protected_paths import ProtectedPathCheck, UnfinishedCommands
from quorum.infrastructure.execution.sandbox.places import (
    SOCKET_VARIABLES,
    TEMPORARY_VARIABLES,
    KnownPlaces,
    expand_path,
    list_bound_sockets,
    list_homes,
    list_private_folders,
    list_secret_places,
    list_socket_places,
    list_tool_folders,
)
from quorum.infrastructure.execution.sandbox.preflight import (
    NAMESPACES,
    choose_keys,
    explain_missing_proof,
    find_proof,
    look_for_sandbox,
)
from quorum.infrastructure.execution.sandbox.repository_places import (
    explain_unfit_target,
    explain_unknown_tree,
    find_written_folders,
    list_linked_folders,
)
from quorum.infrastructure.execution.sandbox.session_tmp import CommandHome, SessionTmp, SharedTmp
from quorum.infrastructure.execution.sandbox.view import SandboxView, Surroundings
from quorum.infrastructure.files.mounts import are_local
from quorum.infrastructure.files.opened_path import RealPaths

if TYPE_CHECKING:  # loaded where one is made
    from quorum.infrastructure.execution.network.host_proxy import HostProxy

_GIT_IS_OPEN = "commands of this session may write to .git, but for its settings and hooks, as you approved"
_EARLY_SECS = 1.0  # after the session was opened, when the screen has come up
SandboxChoice: TypeAlias = Literal["auto", "require", "off"]


class Sandbox:
    """Runs commands through bubblewrap where that works.

    `choice` says what to do where it does not: "auto" runs commands without and says so, "require" runs none;
    "off" never looks. `own` are our own files and folders, which no command may see. `readable` and `writable`
    are paths as the settings spell them, `closed` absolute ones in what is writable that may only be read;
    `links` name folders of the main working tree that commands in another one may read. `network` is asked for
    each command, and `list_hosts` for those without: which hosts they reach all the same; None where they never
    do. `tmp` is the `/tmp` that commands share; without it each gets its own. `is_git_open`: before the session
    was resumed the person let it write to `.git`. `unfinished` is kept for the case that quorum is killed while
    a command runs; `identities` keep for other sessions what was guarded. `check_layer` raises where the
    workspace is not the layer that it should be; with it a `.git` that the layer holds is open. `needs_proof`:
    on macOS it works only once that was proven. `secrets` are put in for those without network.
    """

    def __init__(  # noqa: PLR0913 - what holds a command meets here
        self,
        *,
        choice: SandboxChoice,
        policy: PathPolicy,
        environ: Mapping[str, str] = os.environ,
        own: Sequence[Path] = (),
        readable: Sequence[str] = (),
        writable: Sequence[str] = (),
        closed: Sequence[str] = (),
        links: Sequence[str] = (),
        network: Callable[[], bool] = lambda: True,
        list_hosts: Callable[[], HostList] | None = None,
        tmp: SessionTmp | None = None,
        is_git_open: bool = False,
        unfinished: UnfinishedCommands | None = None,
        identities: IdentityStore | None = None,
        check_layer: Callable[[], None] | None = None,
        needs_proof: bool = True,
        secrets: CommandSecrets | None = None,
    ) -> None:
        self._unfinished = unfinished
        self._choice = choice
        # What was found before is looked for by what it is, and not by where it was.
        self._policy = replace(policy, places=NO_PLACES)
        self._environ = environ
        self._own = tuple(map(str, own))
        self._readable = tuple(readable)
        self._writable = tuple(writable)
        self._closed = tuple(closed)
        self._links = tuple(links)
        self._network = network
        self._list_hosts = list_hosts
        self._tmp = tmp
        self._check_layer = check_layer
        self.list_planted: Callable[[], tuple[str, ...]] = tuple
        """What was written in the layer that programs start by themselves, a clause each. Blocks."""
        self._needs_proof = needs_proof
        self._secrets = secrets or CommandSecrets({})
        self._is_git_open = is_git_open or check_layer is not None
        self._state: SandboxState | None = None
        self._first_tools: Mapping[str, str] = {}
        self._looking = Lock()
        self._folders = FolderCache()
        self._identities = identities
        self._places = policy.places if isinstance(policy.places, KnownPlaces) else None
        self._known_files = KnownFiles(identities, self._places)
        self._running = RunningCommands(identities)

    def forget_files(self) -> None:
        """Look for what is guarded anew, as at the start: the files have other numbers now."""
        self._folders = FolderCache()
        self._known_files = KnownFiles(self._identities, self._places)

    @property
    def is_in_layer(self) -> bool:
        """Whether a layer holds what commands write, which ends what they leave running with the turn."""
        return self._check_layer is not None

    @property
    def known(self) -> SandboxState | None:
        """The state, or None as long as nobody has looked. Never waits."""
        return self._state

    def detect_state(self) -> SandboxState:
        """The state. The first time it tries bubblewrap, two seconds at most: call it off the event loop."""
        with self._looking:
            if self._state is None:
                # No command of the session has run: a link that leads to programs now is the person's.
                paths = RealPaths()
                self._first_tools = {path: paths.resolve(path) for path in self._list_named_tools()}
                self._state = self._detect_state()
            return self._state

    async def close(self) -> None:
        """Remove what the commands of the session shared. No command may run any more."""
        if self._tmp is not None:
            await asyncio.to_thread(self._tmp.close)
        if self._unfinished is not None:
            await asyncio.to_thread(self._unfinished.clear)

    async def find_state(self) -> SandboxState:
        """The state, looked for in a thread where it is not known yet."""
        known = self._state
        return known if known is not None else await asyncio.to_thread(self.detect_state)

    def list_broken(self) -> tuple[str, ...]:
        """What the last proof on this machine found not to hold. Reads files; call it off the event loop."""
        record = find_proof(self._environ)
        return record.broken if record is not None else ()

    @property
    def can_be_left(self) -> bool:
        """Whether a command may ask to run outside it. Looks at nothing but the settings."""
        return self._choice == "auto"

    @property
    def can_open_git(self) -> bool:
        """Whether a command may ask to write to `.git`. Looks at nothing but the settings."""
        return self._choice != "off"

    @property
    def is_git_open(self) -> bool:
        """Whether the person has let commands of this session write to `.git`."""
        return self._is_git_open

    def open_git(self) -> None:
        """From now on commands of this session may write to `.git`: the person was asked."""
        self._is_git_open = True

    async def describe_former(self) -> tuple[str, ...]:
        said = await asyncio.to_thread(self._finish_killed)
        if self._is_git_open and not self.is_in_layer and not isinstance(await self.find_state(), SandboxOff):
            folders = await asyncio.to_thread(self._find_git_folders)
            said += [_GIT_IS_OPEN] if folders else []
        return tuple(said)

    def _finish_killed(self) -> list[str]:
        """Look for what commands made that ran when quorum was killed. Nobody was asked about them.

        While one session waits to be resumed, the person may have worked on: in others it is only named.
        """
        if self._unfinished is None:
            return []
        commands, said = self._unfinished.pop_all()
        for each in commands:
            check = ProtectedPathCheck(
                self._policy, each.before, roots=each.roots, opened=each.opened, began_ns=each.began_ns
            )
            notes = check.finish(was_asked=False) if each.is_own else check.name_new()
            said += [f"a command ran when quorum was killed: {note}" for note in notes]
        return said

    @property
    def can_open_hosts(self) -> bool:
        """Whether a command may ask to reach hosts. Looks at nothing but the settings."""
        return self._list_hosts is not None and self._choice != "off"

    def is_host_open(self, host: HostPattern) -> bool:
        """Whether commands reach this host unasked."""
        hosts = self._list_hosts() if self._list_hosts is not None else HostList()
        is_withheld = any(each.overlaps(host) for each in hosts.withheld)
        return not is_withheld and any(each.includes(host) for each in hosts.allowed)

    def _find_hosts(self, state: SandboxOn) -> HostList | None:
        """The hosts that commands reach unasked; None where none can be opened to them: only root enters the
        network of a command whose sandbox a setuid program made, and macOS has no such networks."""
        return None if self._list_hosts is None or choose_keys(state.program) != "none" else self._list_hosts()

    def confine_with_git(self, hosts: tuple[HostPattern, ...] = ()) -> Confinement:
        """What a command is held to that asks to write to `.git`. Reads folders; call it off the event loop.

        Raises ToolError, one sentence, where the workspace has no such folder of its own.
        """
        confinement = self.confine(hosts)
        if confinement.line is None or self._is_git_open:
            return confinement
        if not (folders := self._find_git_folders()):
            why = explain_unknown_tree(os.path.realpath(self._policy.roots[0]))
            raise ToolError(
                "nothing was run: the workspace has no .git folder of its own that could be opened; "
                f"{why + ', or ' if why else ''}leave out opens_git"
            )
        return replace(
            confinement,
            description=f"{confinement.description}; {self._name_elsewhere(folders)}{OPENS_GIT}",
            opens_git=True,
        )

    def confine_offering_git(self, hosts: tuple[HostPattern, ...] = ()) -> Confinement:
        """What a command is held to that changes the repository: once the person approved it, it may write to
        `.git`, and so may later ones; otherwise it runs with `.git` closed. Raises ToolError as `confine` does.
        """
        confinement = self.confine(hosts)
        if confinement.line is None:
            return confinement
        if not (folders := self._find_closed_git_folders()):
            why = explain_unknown_tree(os.path.realpath(self._policy.roots[0]))
            return replace(confinement, description=f"{confinement.description}; {why}") if why else confinement
        return replace(
            confinement,
            description=f"{confinement.description}; {self._name_elsewhere(folders)}{OFFERS_GIT}",
            offers_git=True,
        )

    def _name_elsewhere(self, folders: Sequence[str]) -> str:
        """The folder that git writes to where it is not that of the workspace, for the person."""
        own = os.path.join(os.path.realpath(self._policy.roots[0]), ".git")
        return "" if folders[0] == own else f"as {folders[0]}, it "

    def _find_git_folders(self) -> tuple[str, ...]:
        """The folders that git writes to in the working directory's repository, none of them through a link."""
        root = os.path.realpath(self._policy.roots[0])
        folders = find_written_folders(root)
        is_held = self._check_layer is None or all(is_below_any(folder, (root,)) for folder in folders)
        return folders if is_held else ()

    def _find_closed_git_folders(self) -> tuple[str, ...]:
        """Those that neither the person nor the settings have opened."""
        opened = [os.path.realpath(path) for path in self._list_writable()]
        folders = () if self._is_git_open else self._find_git_folders()
        return tuple(folder for folder in folders if not is_below_any(folder, opened))

    def _list_writable(self) -> tuple[str, ...]:
        return self._select_steady(self._expand(self._writable))

    def _expand(self, paths: Sequence[str]) -> tuple[str, ...]:
        return tuple(expand_path(path, self._environ, Path(self._policy.roots[0])) for path in paths)

    def _select_steady(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Those that mean what the person named: a command could have made any link where it may write."""
        return tuple(path for path, link in self._find_links(paths) if link is None)

    def _find_links(self, paths: Sequence[str]) -> Iterator[tuple[str, str | None]]:
        """Each path with the first link on its way that a command could have made."""
        folders = [os.path.realpath(folder) for folder in (*self._policy.roots, *self._expand(self._writable))]
        is_link = cache(os.path.islink)  # many lead through the same few folders
        for path in paths:
            try:
                links = filter(is_link, follow_path(path, is_link))
                yield path, next((e for e in links if is_below_any(os.path.dirname(e), folders)), None)
            except OSError:
                yield path, path

    def _list_named_tools(self) -> tuple[str, ...]:
        return list_tool_folders(self._environ, list_homes(self._environ))

    def _list_tools(self) -> tuple[str, ...]:
        """Where programs lie: what a link that a command could have made led to before the first of them."""
        links = dict(self._find_links(self._list_named_tools()))
        first = [self._first_tools.get(path, path) for path, link in links.items() if link is not None]
        return (*(path for path, link in links.items() if link is None), *self._select_steady(first))

    def _explain_closed(self) -> tuple[str, ...]:
        """What of the settings and of the folders of programs stays closed, a sentence each."""
        paths = RealPaths()
        changed = [path for path, first in self._first_tools.items() if paths.resolve(path) != first]
        named = self._find_links((*self._expand((*self._readable, *self._writable)), *changed))
        return tuple(
            f"{path} stays closed to commands: {link} is a link where they may write, so it may lead elsewhere "
            "than the person meant; the person can name the path that it leads to in the settings"
            for path, link in dict(named).items()
            if link is not None
        )

    def confine_outside(self) -> Confinement:
        """What a command is held to that asks to run outside the sandbox. Call it off the event loop.

        Raises ToolError, one sentence, where the settings forbid that.
        """
        match self.detect_state():
            case SandboxOn() if self.can_be_left:
                return Confinement(
                    description="outside the sandbox: with your rights; network on",
                    is_left=True,
                    gaps=self._secrets.list_gaps(),
                )
            case SandboxOn():
                raise ToolError(
                    f'nothing was run: tools.run_command.sandbox is "{self._choice}", so nothing runs outside '
                    "the sandbox; leave out outside_sandbox"
                )
            case SandboxOff():
                return self.confine()

    def confine(self, hosts: tuple[HostPattern, ...] = ()) -> Confinement:
        """What a command will be held to if it runs now. Call it off the event loop. `hosts` are those that it
        asks to reach where it has no network.

        Raises ToolError, one sentence, where a sandbox is required and does not work.
        """
        network = self._network()
        self._require_layer()
        match self.detect_state():
            case SandboxOn() as state:
                reached = None if network else self._find_hosts(state)
                if hosts and not network and reached is None:
                    raise ToolError(
                        "nothing was run: tools.run_command.network, or the sandbox of this machine, lets "
                        "commands reach no hosts; leave out hosts"
                    )
                return Confinement(
                    description="in a sandbox: writes in the workspace only; "
                    + _describe_network(network, hosts, reached)
                    + "".join(f"; {each}" for each in self._secrets.descriptions if reached is not None)
                    + ("; .git is open, but for its settings and hooks" if self._is_git_open else ""),
                    network=network,
                    asked_hosts=() if network else hosts,
                    reached=reached.texts if reached is not None else (),
                    line=partial(self._build_launch, state, network, reached),
                )
            case SandboxOff(required=True) as state:
                raise ToolError(
                    f"nothing was run: tools.run_command.sandbox requires a sandbox, and {state.why}; "
                    f"the person can {state.remedy}"
                )
            case SandboxOff() as state:
                open_network = "" if network else "; the network, which should be off, is on"
                return Confinement(
                    description=f"no sandbox: {state.why}{open_network}", gaps=self._secrets.list_gaps()
                )
            case never:
                assert_never(never)

    def _require_layer(self) -> None:
        if self._check_layer is not None:
            try:
                self._check_layer()
            except StagingError as error:
                raise ToolError(f"nothing was run: {error}") from error

    def find_gap(self, check: Callable[[], None] = lambda: None) -> str | None:
        """Why protected and sensitive files of the workspace would be open to a command, a clause; None where
        they are closed, and where there is no sandbox. Reads folders; call it off the event loop. `check` is
        called now and then, and ends the search by raising.
        """
        if isinstance(self.detect_state(), SandboxOff):
            return None
        try:
            view = SandboxView(
                self._read_surroundings(),
                self._policy,
                cache=self._folders,
                known=self._known_files,
                is_busy=self._running.are_in,
                check=check,
            )
        except ToolError as error:
            return str(error)
        if view.guarded.complete:
            return self._known_files.gap
        return (
            "the workspace is too large to be looked through, and the sandbox would leave protected and "
            "sensitive files deep in it open"
        )

    def wrap(
        self,
        argv: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        *,
        network: bool,
        is_read_only: bool = False,
    ) -> Launch:
        """What runs `argv`, which begins with a program's absolute path, in the sandbox; `.git` stays closed.
        `is_read_only`: it writes in its own home and `/tmp` alone, and shares neither with commands.

        Raises ToolError where there is no sandbox. Reads folders; call it off the event loop.
        """
        self._require_layer()
        state = self.detect_state()
        if isinstance(state, SandboxOff):
            raise ToolError(f"there is no sandbox: {state.why}; the person can {state.remedy}")
        return self._build_launch(
            state, network, None, argv, cwd, environment, opens_git=False, is_read_only=is_read_only
        )

    def _detect_state(self) -> SandboxState:
        required = self._choice == "require"
        if self._choice == "off":
            return SandboxOff(
                why='tools.run_command.sandbox is "off"', remedy='set tools.run_command.sandbox to "auto"'
            )
        roots = [Path(os.path.realpath(root)) for root in self._policy.roots]
        if Path("/") in roots:
            return SandboxOff(
                why="the workspace is the whole file system, of which nothing could be kept apart",
                remedy="work in a folder below it",
                required=required,
            )
        explain = partial(explain_missing_proof, self._environ) if self._needs_proof else str
        state = look_for_sandbox(self._environ.get("PATH"), untrusted=roots, explain_missing_proof=explain)
        if isinstance(state, SandboxOff) and required:
            return SandboxOff(why=state.why, remedy=state.remedy, required=True)
        return state

    def _build_launch(
        self,
        state: SandboxOn,
        network: bool,
        hosts: HostList | None,
        argv: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        *,
        opens_git: bool = True,
        keeps_home: bool = False,
        is_read_only: bool = False,
        approved: tuple[HostPattern, ...] = (),
    ) -> Launch:
        git = self._find_git_folders() if opens_git and self._is_git_open else ()
        view = SandboxView(
            self._read_surroundings(git, network=network),
            self._policy,
            argv[0],
            cache=self._folders,
            known=self._known_files,
            is_busy=self._running.are_in,
            is_read_only=is_read_only,
        )
        if state.program == seatbelt.PROGRAM:
            return self._build_seatbelt_launch(view, network, argv, environment)
        tmp, note = (None, None) if is_read_only else self._prepare_shared_tmp(view)
        sources = self._make_homes(view) if keeps_home else {}
        handed = self._hand_over() if hosts is not None else HandedSecrets(gaps=self._secrets.list_gaps())
        mounts = (*view.list_mounts(tmp, sources), *handed.mounts)
        own_home = os.path.realpath(self._environ.get("HOME", ""))
        words = (
            state.program,
            *NAMESPACES,
            *(() if network else ("--unshare-net",)),
            *mounts,
            *(word for name in _list_misleading_variables(environment, view) for word in ("--unsetenv", name)),
            *(word for each in _PROXY_VARIABLES if hosts is not None for word in ("--setenv", *each)),
            *(word for each in handed.variables for word in ("--setenv", *each)),
            *("--chdir", os.path.realpath(cwd)),
            "--",
            *argv,
        )
        return Launch(
            argv=words,
            is_confined=True,
            keys=choose_keys(state.program),
            is_complete=view.guarded.complete,
            has_network=network,
            proxy=_make_proxy(hosts, approved, handed) if hosts is not None else None,
            check=None if is_read_only else view.check(self._policy, self._folders),
            notes=(*((note,) if note is not None else ()), *self._known_files.notes, *self._explain_closed()),
            is_hidden=view.is_hidden,
            can_be_left=self.can_be_left,
            unfinished=self._unfinished,
            home=CommandHome(sources, mounts, own_home) if sources else None,
            guards=tuple(view.list_guards()),
            running=nullcontext if is_read_only else partial(self._running.count, view.roots),
            follow=lambda: self._known_files.follow(view.roots, is_busy=self._running.are_in),
            can_open_git=bool(self._find_closed_git_folders()),
            is_in_layer=self.is_in_layer,
            gaps=handed.gaps,
        )

    def _hand_over(self) -> HandedSecrets:
        return self._secrets.hand_over(self._tmp.make_folder if self._tmp is not None else lambda: None)

    def _build_seatbelt_launch(
        self, view: SandboxView, network: bool, argv: Sequence[str], environment: Mapping[str, str]
    ) -> Launch:
        tmp = None
        with suppress(OSError):
            shared = self._tmp.prepare(()) if self._tmp is not None else None
            tmp = shared.source if shared is not None else None
        try:
            profile = seatbelt.render_profile(view.list_places(), network=network, tmp=tmp)
        except ValueError as error:
            raise ToolError(f"nothing was run: {error}") from error
        unset = [name for name in SOCKET_VARIABLES if name in environment]
        return Launch(
            argv=seatbelt.build_line(profile, argv, unset=unset, tmp=tmp),
            is_confined=True,
            is_complete=view.guarded.complete,
            has_network=network,
            check=view.check(self._policy, self._folders),
            notes=(*self._known_files.notes, *self._explain_closed()),
            is_hidden=view.is_hidden,
            can_be_left=self.can_be_left,
            unfinished=self._unfinished,
            running=partial(self._running.count, view.roots),
            follow=lambda: self._known_files.follow(view.roots, is_busy=self._running.are_in),
            can_open_git=bool(self._find_closed_git_folders()),
            is_in_layer=self.is_in_layer,
            gaps=self._secrets.list_gaps(),
        )

    def _prepare_shared_tmp(self, view: SandboxView) -> tuple[SharedTmp | None, str | None]:
        """The `/tmp` of the session, or what to say of a command that gets its own."""
        below = view.list_mounts_in_tmp() if self._tmp is not None else None
        if self._tmp is None or below is None:
            return None, None
        try:
            shared = self._tmp.prepare(below)
        except OSError as error:
            return None, f"its /tmp was its own, because the session's could not be made: {error}"
        if shared is None:
            return None, "its /tmp was its own, because the session's could not be used"
        return shared, None

    def _make_homes(self, view: SandboxView) -> dict[str, str]:
        """An empty folder for each home; none where they cannot be made: the command gets its own in memory."""
        made: dict[str, str] = {}
        if self._tmp is None:
            return made
        with suppress(OSError):
            for home in view.homes:
                if (folder := self._tmp.make_folder()) is not None:
                    made[home] = folder
        return made

    def _read_surroundings(self, git: tuple[str, ...] = (), *, network: bool = True) -> Surroundings:
        home_folders = list_homes(self._environ)
        return Surroundings(
            homes=home_folders,
            private=list_private_folders(),
            tools=self._list_tools(),
            secrets=(*list_secret_places(home_folders), *list_socket_places(self._environ)),
            own=self._own,
            readable=self._select_steady(self._expand(self._readable)),
            writable=self._list_writable(),
            closed=self._closed,
            repositories=git,
            linked=self._list_linked(),
            sockets=() if network else list_bound_sockets(),
        )

    def _list_linked(self) -> tuple[str, ...]:
        """Those that may be read now: what stands in their places may be changed while the session lasts."""
        linked = list_linked_folders(os.path.realpath(self._policy.roots[0]), self._links)
        return tuple(path for path in linked if explain_unfit_target(path, self._policy) is None)


def _describe_network(network: bool, asked: Sequence[HostPattern], reached: HostList | None) -> str:
    """What of the network a command reaches. What is asked for is not told by what was allowed meanwhile."""
    if network:
        return "network on"
    if asked:
        return f"network: {write_hosts(each.text for each in asked)}, and hosts that settings and rules allow"
    if reached is not None and reached.texts:
        return f"network: {write_hosts(reached.texts)} only"
    return "network off"


def _make_proxy(hosts: HostList, approved: tuple[HostPattern, ...], handed: HandedSecrets) -> HostProxy:
    from quorum.infrastructure.execution.network.host_proxy import HostProxy

    return HostProxy(replace(hosts, allowed=(*hosts.allowed, *approved)), handed=handed)


_PROXY = f"http://127.0.0.1:{PROXY_PORT}"
_LOOPBACK = "localhost,127.0.0.1,::1"
# How programs are told of the proxy; most read the first ones.
_PROXY_VARIABLES = (
    *((name, _PROXY) for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY")),
    *((name, _PROXY) for name in ("http_proxy", "https_proxy", "all_proxy", "ftp_proxy")),
    *((name, _LOOPBACK) for name in ("NO_PROXY", "no_proxy")),
    *(
        (name, _PROXY)
        for name in ("npm_config_proxy", "npm_config_https_proxy", "PIP_PROXY", "CARGO_HTTP_PROXY")
    ),
    *((name, _PROXY) for name in ("YARN_HTTP_PROXY", "YARN_HTTPS_PROXY")),
    ("NODE_USE_ENV_PROXY", "1"),
)


def _list_misleading_variables(environment: Mapping[str, str], view: SandboxView) -> list[str]:
    """Variables that name sockets and temporary folders which are not there in the sandbox."""
    folders = (name for name in TEMPORARY_VARIABLES if name in environment)
    gone = [name for name in folders if not view.is_seen(environment[name])]
    return [name for name in SOCKET_VARIABLES if name in environment] + gone


class EarlySearch:
    """Implements `BackgroundWork`: the first search of a workspace of 300,000 files takes seconds, later
    ones read only the folders that changed. What does not lie on disks of this machine is left to the commands.
    """

    def __init__(self, sandbox: Sandbox, folders: Sequence[str]) -> None:
        """`folders` are the roots of the workspace, which may grow."""
        self._sandbox = sandbox
        self._folders = folders
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Search once the screen has come up."""
        if self._task is None:
            self._task = asyncio.create_task(self._wait_and_search(), name="early-search")

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _wait_and_search(self) -> None:
        await asyncio.sleep(_EARLY_SECS)
        await run_in_thread(self._search)

    def _search(self, stop: Stop) -> None:
        if are_local(self._folders):
            self._sandbox.find_gap(stop.check)

"""What one command will be held to, stated before it runs, and the remarks once it has."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from quorum.application.program_lookup import hold_links
from quorum.domain.shell.network_hosts import AskedHost, HostPattern, write_hosts
from quorum.domain.shell.sandbox import Keys
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.execution.sandbox.identity_store import IdentityStore
from quorum.infrastructure.execution.sandbox.new_protected_paths import ProtectedPathCheck, UnfinishedCommands
from quorum.infrastructure.execution.sandbox.session_tmp import CommandHome

if TYPE_CHECKING:  # loaded where one is made
    from quorum.infrastructure.execution.network.host_proxy import HostProxy


class RunningCommands:
    """Which commands run in the sandbox: how many of this session, and with a `store` whether others do."""

    def __init__(self, store: IdentityStore | None = None) -> None:
        self._count = 0
        self._store = store

    def are_in(self, roots: Sequence[str]) -> bool:
        """Whether one runs that may move files in these folders."""
        return self._count > 0 or (self._store is not None and self._store.is_running(roots))

    @contextmanager
    def count(self, roots: Sequence[str]) -> Iterator[None]:
        """One more in these folders, until the block ends."""
        self._count += 1
        try:
            with self._store.mark_running(roots) if self._store is not None else nullcontext():
                yield
        finally:
            self._count -= 1


_SIGNALLED = {128 + each.value: each.name for each in signal.Signals}
_READ_ONLY = "Read-only file system"
# What the system and usual programs say where there is no network, without regard to case.
_UNREACHABLE = (
    "(?i)"
    + "|".join(
        map(
            re.escape,
            (
                "network is unreachable",
                "temporary failure in name resolution",
                "temporary failure resolving",
                "name or service not known",
                "no address associated with hostname",
                "could not resolve host",
                "couldn't resolve host",
                "failed to resolve address",
                "failed to establish a new connection",
                "getaddrinfo enotfound",
                "getaddrinfo eai_again",
                "dns error: failed to lookup address",
                "unable to resolve host",
            ),
        )
    )
    + r"|dial (?:tcp|udp).*: (?:connect: network is|server misbehaving|no such host|i/o timeout)"
)
_DAEMONS = r"(?i)cannot connect to the docker daemon|failed to connect to bus"
# A path that a program could not find, as usual programs print it.
_MISSING = r"(?P<path>/[^\s:'\"`]+)['\"`]?:? (?:No such file or directory|not found)"
_MOST_SEARCHED = 20_000
_OF_OTHERS = "Value too large for defined data type"


class Launch(Struct, frozen=True, kw_only=True):
    """A command line as it is really run.

    `is_confined` tells whether that is inside a sandbox; `keys` what it reaches of those that the kernel keeps;
    `is_complete` whether the whole workspace could be
    looked through for protected and sensitive files; `has_network` whether it reaches the network, `proxy` lets
    it reach some hosts without that; `check` looks for protected paths that it makes; `notes` are sentences
    about it. `is_hidden` tells of a path whether the command cannot see what may stand there; `can_be_left`:
    another call may ask to run outside the sandbox; `can_open_git`: one may ask to write to `.git`.
    `unfinished` keeps for a resumed session what `check` has found before. `guards` are for the supervisor,
    which looks at them before the command begins; `running` counts it among those that run; `follow` finds
    guarded files that it moved. `home` is what it has for a home, if that is kept until `close_home`.
    `is_in_layer`: a layer holds all. `gaps` are sentences about secrets that it is not handed.
    """

    argv: tuple[str, ...]
    is_confined: bool = False
    keys: Keys = "all"
    is_complete: bool = True
    has_network: bool = True
    proxy: HostProxy | None = None
    check: ProtectedPathCheck | None = None
    notes: tuple[str, ...] = ()
    is_hidden: Callable[[str], bool] = lambda _path: False
    can_be_left: bool = False
    can_open_git: bool = False
    unfinished: UnfinishedCommands | None = None
    guards: tuple[bytes, ...] = ()
    running: Callable[[], AbstractContextManager[None]] = nullcontext
    follow: Callable[[], None] = lambda: None
    home: CommandHome | None = None
    is_in_layer: bool = False
    gaps: tuple[str, ...] = ()

    def count_background(self, ended: int) -> int:
        """How many of the processes that were ended are the command's: the first one is that of bubblewrap."""
        return ended - 1 if self.is_confined and self.keys != "all" and ended else ended

    def begin(self, *, was_asked: bool) -> Callable[[], None]:
        """Call it before the command starts, and what it returns once `finish` was called for the last time."""
        with ExitStack() as begun:
            begun.enter_context(self.running())
            if self.check is not None:
                begun.callback(hold_links(self.check.list_links()))
            if not was_asked and self.check is not None and self.unfinished is not None:
                begun.callback(self.check.keep_in(self.unfinished))
            return begun.pop_all().close

    def finish(self, *, was_asked: bool) -> list[str]:
        """Set aside protected paths that the command made and nobody was asked about, and say so.

        Call it once nothing of the command is alive, however it ended, and off the event loop. It may be called
        while the command runs, too, which can then make such a path anew.
        """
        said = self.check.finish(was_asked=was_asked) if self.check is not None else []
        self.follow()
        return said

    def close_home(self) -> list[str]:
        """Remove its home, and say what it wrote there. Call it as `finish`, once."""
        return self.home.close() if self.home is not None else []

    def list_remarks(self, exit_code: int | None, output: str) -> list[str]:
        """What there is to say of the sandbox once the command has ended, a sentence each."""
        gaps = self.gaps if exit_code != 0 else ()
        if not self.is_confined:
            return [*gaps]
        said: list[str] = [*self.notes, *self._describe_hosts(), *gaps]
        if exit_code in _SIGNALLED:
            said.append(f"in the sandbox exit code {exit_code} may stand for {_SIGNALLED[exit_code]}")
        want = self._explain_want(output[-_MOST_SEARCHED:]) if exit_code != 0 else None
        if want is not None:
            said.append(want)
        elif _READ_ONLY in output:
            said.append(self._name_writable())
        if self.is_in_layer and _OF_OTHERS in output:
            said.append(
                "the layer cannot change files that belong to another user, or to another group than the "
                "person's own; the person can do that outside of it (/unstage)"
            )
        if not self.is_complete:
            said.append(
                "the workspace is too large to be looked through: protected and sensitive files deep in it "
                "were not kept from the command"
            )
        return said

    @property
    def asked_hosts(self) -> tuple[AskedHost, ...]:
        """The hosts that it has asked for, where it has no network of its own."""
        return self.proxy.asked if self.proxy is not None else ()

    def _describe_hosts(self) -> Iterator[str]:
        """Which hosts it reached and which not, and how it could."""
        if self.proxy is None:
            return
        from quorum.infrastructure.execution.network.host_proxy import NOT_LISTED, describe_asked

        yield from describe_asked(self.proxy.asked, self.proxy.more, self.proxy.used_secrets)
        if self.proxy.failure:
            yield f"the sandbox could open no way to any host: {self.proxy.failure}"
        if closed := dict.fromkeys(each.name for each in self.proxy.asked if each.refusal == NOT_LISTED):
            yield (
                f'if the task needs that, call run_command again with hosts = "{write_hosts(closed)}": the '
                "person is asked"
            )

    def _name_writable(self) -> str:
        return _WRITES_IN_LAYER if self.is_in_layer else _WRITES

    def _explain_want(self, output: str) -> str | None:
        """What the command may have failed for want of, and the way out."""
        way_out = (
            "if the task needs it, call run_command again with outside_sandbox = true: the person is asked"
            if self.can_be_left
            else "this session lets no command run outside the sandbox (tools.run_command.sandbox)"
        )
        if _READ_ONLY in output and self.can_open_git and ".git/" in output:
            return (
                "in the sandbox .git is read-only; if the task needs to change it, for example to commit, call "
                "run_command again with opens_git = true: the person is asked once for the session"
            )
        if _READ_ONLY in output:
            return f"{self._name_writable()}; {way_out}"
        if self.asked_hosts:
            return None
        if not self.has_network and compile_once(_UNREACHABLE).search(output):
            if self.proxy is not None:
                return _NO_NETWORK
            return f"it may have failed because the sandbox has no network; {way_out}"
        if compile_once(_DAEMONS).search(output):
            return f"it may have failed because the sandbox hides the sockets of services; {way_out}"
        missing = next(
            (m["path"] for m in compile_once(_MISSING).finditer(output) if self.is_hidden(m["path"])), None
        )
        if missing is not None:
            return f"it may have failed because the sandbox hides the folder of {missing}; {way_out}"
        return None


_WRITES = (
    "in the sandbox commands write in the workspace only, and there not to protected paths such as .git; the "
    "person can open more with tools.run_command.sandbox_writable (docs/sandbox.md)"
)

_WRITES_IN_LAYER = (
    "in this layer commands write in the workspace only, and so not to a repository that lies outside of it, "
    "such as that of a worktree or of the folder above; the person can do that after leaving it (/unstage)"
)

_NO_NETWORK = (
    "it may have failed because the sandbox has no network but the proxy that HTTPS_PROXY names, to hosts that "
    "are allowed: call run_command again with hosts, for which the person is asked, and have the program use it"
)


class SandboxLine(Protocol):
    """Builds what runs a command in the sandbox."""

    def __call__(
        self,
        argv: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        *,
        keeps_home: bool = False,
        approved: tuple[HostPattern, ...] = (),
    ) -> Launch: ...


class Confinement(Struct, frozen=True, kw_only=True):
    """The limits of a command. `description` is part of what a review approves; None if no sandbox was asked
    for. `network` says whether the command reaches the network, `asked_hosts` which hosts it asks for without;
    `reached` are those that it reaches unasked, as text. `is_left`: there is a sandbox, and the command
    asks to run outside it. `opens_git`: it asks to write to `.git`, as later commands then may too;
    `offers_git`: it may once a person approved it, and runs without where nobody did. `gaps` are sentences
    about secrets that it is not handed where there is no sandbox.
    """

    description: str | None = None
    network: bool = True
    asked_hosts: tuple[HostPattern, ...] = ()
    reached: tuple[str, ...] = ()
    line: SandboxLine | None = None
    is_left: bool = False
    opens_git: bool = False
    offers_git: bool = False
    gaps: tuple[str, ...] = ()

    @property
    def is_confined(self) -> bool:
        """Whether the command runs inside a sandbox."""
        return self.line is not None

    @property
    def is_closed(self) -> bool:
        """Whether the command runs inside a sandbox, and reaches no hosts but those that are named."""
        return self.is_confined and not self.network

    def launch(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        keeps_home: bool = False,
        approved: tuple[HostPattern, ...] = (),
    ) -> Launch:
        """The command line to run, which begins with a program's absolute path. Reads folders; call it off the
        event loop. `keeps_home`: what it writes in its home stays until `close_home`. `approved` are hosts that
        it reaches beside those that are allowed.
        """
        if self.line is None:
            return Launch(argv=tuple(argv), gaps=self.gaps)
        return self.line(argv, cwd, environment, keeps_home=keeps_home, approved=approved)

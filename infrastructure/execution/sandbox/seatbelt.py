"""The sandbox of macOS, `sandbox-exec`: the places that bubblewrap mounts, as rules of a profile.

Of several rules that speak of a path the last one counts. Nothing is mounted there: what a command may not see
is denied and stays in sight, and its temporary files go to a folder that `TMPDIR` names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from quorum.domain.text.paths import is_below_any

PROGRAM = "/usr/bin/sandbox-exec"
# Without these hardly any program starts. Others would have services act outside of the sandbox: they start
# programs, read the clipboard, open keychains, send events to other programs.
_SERVICES = (
    "com.apple.system.logger",
    "com.apple.system.notification_center",
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.opendirectoryd.membership",
    "com.apple.bsd.dirhelper",
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper", "/dev/random", "/dev/urandom")
# Who reads a terminal reads what is typed there; a disk holds all files, for root.
_TERMINALS_AND_DISKS = '(regex #"^/dev/(tty[a-z.]|pty|cu[.]|r?disk)")'
_QUOTED = re.compile(r'(["\\])')


class VisiblePlaces(Struct, frozen=True, kw_only=True):
    """What a command sees, as absolute paths. `hidden` are folders of which it sees only `visible` ones and
    those it may write. `locked` it may not write, nor `masked` read, wherever they lie."""

    writable: tuple[str, ...]
    hidden: tuple[str, ...]
    visible: tuple[str, ...] = ()
    locked: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()


def render_profile(places: VisiblePlaces, *, network: bool, tmp: str | None = None) -> str:
    """The profile as text. Raises ValueError for a path that no profile can hold."""
    return "\n".join(_list_rules(places, network=network, tmp=tmp)) + "\n"


def build_line(
    profile: str, argv: Sequence[str], *, unset: Iterable[str] = (), tmp: str | None = None
) -> tuple[str, ...]:
    """What runs a command under a profile, without these variables."""
    variables = [word for name in unset for word in ("-u", name)]
    variables += [f"{name}={tmp}" for name in ("TMPDIR", "TMP", "TEMP") if tmp is not None]
    return (PROGRAM, "-p", profile, "/usr/bin/env", *variables, *argv)


def _list_rules(places: VisiblePlaces, *, network: bool, tmp: str | None) -> Iterator[str]:
    own = (*places.writable, *((tmp,) if tmp is not None else ()))
    yield "(version 1)"
    yield "(allow default)"
    yield "(deny file-write*)"
    yield _rule("allow", "file-write*", [*_list_literals(_DEVICES), *_list_subpaths(places.writable)])
    yield _rule("deny", "file-read* file-write* file-ioctl", [_TERMINALS_AND_DISKS])
    if places.hidden:
        yield _rule("deny", "file-read* file-write*", _list_subpaths(places.hidden))
        # Programs look at the folders on their way, and see nothing of what these hold.
        above = _list_above((*places.visible, *own), places.hidden)
        yield _rule("allow", "file-read-metadata", _list_literals((*places.hidden, *above)))
        yield _rule("allow", "file-read*", _list_subpaths((*places.visible, *places.writable)))
        yield _rule("allow", "file-write*", _list_subpaths(places.writable))
    if places.locked:
        yield _rule("deny", "file-write* file-link", _list_subpaths(places.locked))
    if places.masked:
        yield _rule("deny", "file-read* file-write* file-link", _list_subpaths(places.masked))
    # Who moves a folder moves what is guarded in it, to where no rule speaks of it.
    if above := _list_above((*places.locked, *places.masked), places.writable):
        yield _rule("deny", "file-write-unlink", _list_literals(above))
    yield _rule("deny", "file-write-unlink", _list_literals(places.writable))
    if tmp is not None:
        yield _rule("allow", "file-read* file-write*", _list_subpaths((tmp,)))
    if not network:
        yield "(deny network*)"
        yield _rule("allow", "network-bind network-inbound network-outbound", _list_subpaths(own))
    yield "(deny mach-lookup)"
    yield _rule("allow", "mach-lookup", [f"(global-name {_quote(name)})" for name in _SERVICES])
    yield "(deny mach-register mach-priv* appleevent-send job-creation)"
    # Drivers of keyboards and screens; sleep and power are asked about by many programs.
    yield "(deny iokit-open)"
    yield _rule("allow", "iokit-open", ['(iokit-registry-entry-class "RootDomainUserClient")'])
    yield "(deny signal process-info*)"
    yield "(allow signal process-info* (target same-sandbox))"
    yield "(deny file-write-setugid)"


def _rule(answer: str, operations: str, filters: Iterable[str]) -> str:
    return "\n  ".join((f"({answer} {operations}", *filters)) + ")"


def _list_subpaths(paths: Iterable[str]) -> list[str]:
    return [f"(subpath {_quote(path)})" for path in paths]


def _list_literals(paths: Iterable[str]) -> list[str]:
    return [f"(literal {_quote(path)})" for path in paths]


def _list_above(paths: Iterable[str], folders: Sequence[str]) -> list[str]:
    """The folders between these and what lies in them, without both."""
    found: dict[str, None] = {}
    for path in paths:
        above = os.path.dirname(path)
        while is_below_any(above, folders) and above not in folders:
            found[above] = None
            above = os.path.dirname(above)
    return sorted(found)


def _quote(path: str) -> str:
    if any(character < " " or character == "\x7f" for character in path):
        raise ValueError(f"the path {path!r} has control characters, which no profile of sandbox-exec can hold")
    return f'"{_QUOTED.sub(_escape, path)}"'


def _escape(found: re.Match[str]) -> str:
    return f"\\{found[1]}"

"""What an agent in the sandbox makes in the places that it obeys, once it runs outside of it.

What is there cannot be changed from inside: it is mounted read-only. Nothing can be mounted over a name that
does not exist, nor over a link: what the agent makes there is given a name that it does not obey.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

_MOST_SAME_NAMES = 10_000
_MOST_LINKS = 40  # as many as the system follows


class SetAsidePlace(Struct, frozen=True):
    """A path that the agent has changed, and what became of that, in words."""

    path: str
    outcome: str


class ObeyedPlaces:
    """These absolute paths, as they are before the agent begins. Blocks."""

    def __init__(self, paths: Sequence[str]) -> None:
        followed = dict.fromkeys(each for path in paths for each in _follow(path))
        self._open: Mapping[str, str | None] = {
            path: found for path in followed if (found := _read_link(path)) is None or found
        }

    def set_aside(self) -> Iterator[SetAsidePlace]:
        """Rename what the agent has made by now, and put links back that it has replaced or removed."""
        for path, link in self._open.items():
            if (now := _read_link(path)) == link:
                continue
            try:
                outcome = f"renamed to {_rename(path)}" if now is not None else "put back"
                if link is not None:
                    os.symlink(link, path)
            except OSError as error:
                outcome = f"and cannot be renamed: {error.strerror or error}"
            yield SetAsidePlace(path, outcome)


def _follow(path: str) -> Iterator[str]:
    """The path and, while these are links, where they lead."""
    for _ in range(_MOST_LINKS):
        yield path
        if not (link := _read_link(path)):
            return
        path = os.path.normpath(os.path.join(os.path.realpath(os.path.dirname(path)), link))


def _read_link(path: str) -> str | None:
    """Where a link leads, empty for what is none; None where nothing is."""
    try:
        return os.readlink(path) if stat.S_ISLNK(os.lstat(path).st_mode) else ""
    except OSError:
        return None


def _rename(path: str) -> str:
    """Give it a free name in its folder. Raises OSError."""
    folder, name = os.path.split(path)
    for number in range(1, _MOST_SAME_NAMES):
        new = f"set-aside-{name.lstrip('.')}~{number}"
        if not os.path.lexists(os.path.join(folder, new)):
            os.rename(path, os.path.join(folder, new))
            return new
    raise OSError("there are too many of that name")

"""What tells whether the same thing stands at a path as before, also after a restart."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from msgspec import Struct

from quorum.infrastructure.files.birth_time import read_birth_time

_PLACE = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


class Inode(NamedTuple):
    """What stands somewhere, as long as it exists."""

    device: int
    number: int


class Traits(NamedTuple):
    """What is kept while something is moved, and another that gets its inode does not have.

    `born_ns` is None where the file system does not tell; the rest is None of a folder.
    """

    born_ns: int | None
    modified_ns: int | None
    size: int | None

    def is_of_same(self, other: Traits) -> bool:
        """A file may have been written since, or was born anew in an upper layer, but hardly both."""
        if self.born_ns == other.born_ns and (self.born_ns is not None or self.size is None):
            return True
        return self.size is not None and self[1:] == other[1:]


class LinkCount(NamedTuple):
    """How many names a file has, and when that last may have changed."""

    names: int
    changed_ns: int


class PathState(NamedTuple):
    """What stands at a path, and in which folder, both at one moment; None: nothing does.

    `is_closed` tells that nobody can look.
    """

    inode: Inode | None = None
    folder: Inode | None = None
    traits: Traits | None = None
    links: LinkCount = LinkCount(0, 0)
    is_closed: bool = False


class KnownFile(Struct):
    """All names of something guarded, each with the folder that it stands in.

    `searched` is what `links` were when its other names were last looked for.
    """

    is_sensitive: bool
    traits: Traits
    paths: dict[str, Inode]
    links: LinkCount = LinkCount(1, 0)
    searched: LinkCount | None = None

    @property
    def has_unknown_names(self) -> bool:
        """Whether it is to be looked for: a folder has one name, and a file as many as the system counts."""
        if not self.paths:
            return True
        is_folder = self.traits.size is None
        return not is_folder and self.links.names != len(self.paths) and self.links != self.searched


def look_at(path: str) -> PathState:
    """What stands at a path now. No link is followed at its end."""
    above, name = os.path.split(path)
    folder: Inode | None = None
    try:
        place = os.open(above, _PLACE)
        try:
            folder = get_inode(os.fstat(place))
            status = os.stat(name, dir_fd=place, follow_symlinks=False)
            born_ns = read_birth_time(name, place)
        finally:
            os.close(place)
    except (FileNotFoundError, NotADirectoryError):
        return PathState(folder=folder)
    except OSError:
        return PathState(folder=folder, is_closed=True)
    is_folder = stat.S_ISDIR(status.st_mode)
    traits = Traits(born_ns, *((None, None) if is_folder else (status.st_mtime_ns, status.st_size)))
    return PathState(get_inode(status), folder, traits, LinkCount(status.st_nlink, status.st_ctime_ns))


def get_inode(status: os.stat_result) -> Inode:
    """The identity of what a status tells of."""
    return Inode(status.st_dev, status.st_ino)

"""Owner, mode, access control list and extended attributes of a file, for the one that takes its place."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping

_ACCESS_LIST = "system.posix_acl_access"
# The kernel computes them from the content.
_OF_CONTENT = frozenset({"security.ima", "security.evm"})
_UNSUPPORTED = frozenset({errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})


class MetadataNotKept(Exception):
    """A new file cannot have what the old one has: only writing in the old one keeps it."""


def copy_metadata(source: int, target: int) -> None:
    """Give a new file, which only its owner may read so far, all that another has. Both are descriptors.

    At no moment may anybody do more with it than with the other. Raises MetadataNotKept, OSError.
    """
    status, own = os.fstat(source), os.fstat(target)
    try:
        if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
            os.fchown(target, status.st_uid, status.st_gid)
        _copy_attributes(_read_attributes(source), target)
    except PermissionError as error:
        raise MetadataNotKept from error
    # The group's bits are the mask of an access control list: that has to be there before.
    os.fchmod(target, stat.S_IMODE(status.st_mode))


def _copy_attributes(wanted: Mapping[str, bytes], target: int) -> None:
    present = _read_attributes(target)
    if _ACCESS_LIST in present and _ACCESS_LIST not in wanted:  # from the folder's default
        os.removexattr(target, _ACCESS_LIST)
    for name, value in wanted.items():
        if present.get(name) == value:
            continue
        try:
            os.setxattr(target, name, value)
        except OSError as error:
            raise MetadataNotKept from error


def _read_attributes(descriptor: int) -> dict[str, bytes]:
    if not hasattr(os, "listxattr"):  # only Linux has it
        return {}
    try:
        names = os.listxattr(descriptor)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return {}
        raise
    return {name: os.getxattr(descriptor, name) for name in names if name not in _OF_CONTENT}

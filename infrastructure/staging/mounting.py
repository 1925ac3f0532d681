"""Mounts a copy-on-write layer over a folder, in namespaces that this process alone has.

Loads nothing but the standard library, and can be run as a program: it then tries all of it and undoes nothing,
since its namespaces end with it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

_CLONE_FS = 0x00000200  # linux/sched.h
_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_MS_REC, _MS_SLAVE = 0x4000, 1 << 19  # linux/mount.h
_MNT_DETACH = 2
_FILE_SYSTEM = "overlay"
# Without it the kernel mounts a layer in which a folder that was removed and made anew shows its old files.
_OPTION = "userxattr"
# Else the kernel writes all that waits for the disk, of every program, each time a layer is taken away.
_UNSYNCED = "volatile"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOUNTS = "/proc/thread-self/mountinfo"
_OWN_MOUNTS = "/proc/thread-self/ns/mnt"
_OPENED = "/proc/self/fdinfo"
_THREADS = "/proc/self/task"
_OCTAL = re.compile(rb"\\([0-7]{3})")


class MountRefused(Exception):
    """No layer can be mounted here; the text is a clause that says why."""


class Mount(NamedTuple):
    """A line of the kernel's list of mounts."""

    place: str
    device: str
    type: str
    options: tuple[str, ...]


def enter_namespaces() -> bool:
    """Give this process mounts of its own, and where its rights do not reach for that a user namespace, too, in
    which its user and group keep their numbers. Returns whether it needed that, which nothing takes back.

    Raises MountRefused; the process is as it was then.
    """
    if len(os.listdir(_THREADS)) > 1:  # the kernel refuses a user namespace then, with a reason that misleads
        raise MountRefused("this process has begun other work already")
    needs_user = False
    try:
        _call("unshare", _CLONE_NEWNS)
    except PermissionError:
        _enter_user_namespace()
        needs_user = True
    # What the machine mounts and unmounts is still followed, and nothing of ours goes back to it.
    _call("mount", b"none", b"/", None, _MS_REC | _MS_SLAVE, None)
    return needs_user


def _enter_user_namespace() -> None:
    user, group = os.geteuid(), os.getegid()
    try:
        _call("unshare", _CLONE_NEWUSER | _CLONE_NEWNS)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno == errno.ENOSPC:  # which is not about a disk here
            reason = "there may be no more of them: user.max_user_namespaces"
        raise MountRefused(
            f"the system allows no user namespaces ({reason}), as containers and hardened systems do"
        ) from error


def mount_layer(workspace: str, upper: str, work: str) -> int:
    """Mount a layer over a folder by its canonical path; returns a descriptor of the folder below it.

    The namespaces must be this process's own, and `work` be empty. What is written in the layer is on the disk
    when the system writes it there, whatever programs ask for. Raises MountRefused where the kernel refuses, or
    mounts something else; nothing is mounted then.
    """
    try:
        lower = os.open(workspace, _FOLDER)
    except OSError as error:
        raise MountRefused(_explain(error)) from error
    try:
        mount_folders(workspace, [workspace], upper, work)
    except BaseException:
        os.close(lower)
        raise
    return lower


def mount_folders(place: str, lowers: Sequence[str], upper: str = "", work: str = "") -> None:
    """Have a folder show others, the first of `lowers` on top, below `upper`, which takes what is written;
    without one nothing can be. Raises MountRefused; nothing is mounted then.
    """
    opened: list[int] = []

    def name(folder: str) -> str:
        opened.append(os.open(folder, _FOLDER))
        # By descriptor: in a path of the options a comma, a colon or a backslash would mean something else.
        return f"/proc/thread-self/fd/{opened[-1]}"

    try:
        options = [_OPTION, f"lowerdir={':'.join(map(name, lowers))}"]
        if upper:
            options += [_UNSYNCED, f"upperdir={name(upper)}", f"workdir={name(work)}"]
        _call("mount", b"quorum", os.fsencode(place), _FILE_SYSTEM.encode(), 0, ",".join(options).encode())
        if not is_mounted(place):
            unmount(place)
            raise MountRefused(
                f"the kernel mounts layers without {_OPTION}, which would show removed files again"
            )
    except OSError as error:
        raise MountRefused(_explain(error)) from error
    finally:
        for number in opened:
            os.close(number)


def separate_thread() -> int:
    """Give this thread mounts of its own, which begin as those of its process; returns a descriptor of them.

    Threads and programs that it starts have them, too. Raises OSError.
    """
    _call("unshare", _CLONE_NEWNS)
    return os.open(_OWN_MOUNTS, os.O_RDONLY | os.O_CLOEXEC)


def join_mounts(mounts: int, folder: str) -> None:
    """Give this thread the mounts of a descriptor, for good, and have it work in a folder. Raises OSError."""
    _call("unshare", _CLONE_FS)
    _call("setns", mounts, _CLONE_NEWNS)
    os.chdir(folder)


def _explain(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.errno in (errno.EINVAL, errno.EREMOTE):
        reason += ": the state folder, or the workspace, lies on a file system that holds no layers, such as "
        reason += "another overlay or a network file system"
    return f"the layer cannot be mounted ({reason})"


def is_mounted(workspace: str) -> bool:
    """Whether what stands at a canonical path is such a layer: the last mount there, and what a look finds."""
    here = [mount for mount in list_mounts() if mount.place == workspace]
    if not here or here[-1].type != _FILE_SYSTEM or _OPTION not in here[-1].options:
        return False
    device = os.stat(workspace).st_dev
    return here[-1].device == f"{os.major(device)}:{os.minor(device)}"


def find_mount(folder: str) -> str:
    """The kernel's number of the mount that a folder lies on: names move within one alone. Raises OSError."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with open(f"{_OPENED}/{opened}", encoding="ascii") as lines:
            return next(line.split()[1] for line in lines if line.startswith("mnt_id:"))
    finally:
        os.close(opened)


def unmount(workspace: str) -> None:
    """Take the layer away; what is still open in it stays usable until it is closed. Raises OSError."""
    _call("umount2", os.fsencode(workspace), _MNT_DETACH)


def list_mounts() -> Iterator[Mount]:
    """The mounts of this process, those on top last. Raises OSError."""
    with open(_MOUNTS, "rb") as lines:
        for line in lines:
            before, _, after = line.partition(b" - ")
            fields, more = before.split(), after.split()
            place = os.fsdecode(_OCTAL.sub(lambda code: bytes([int(code[1], 8)]), fields[4]))
            yield Mount(place, fields[2].decode(), more[0].decode(), tuple(os.fsdecode(more[2]).split(",")))


@cache
def _load_library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: bytes | int | None) -> None:
    given = [ctypes.c_ulong(each) if name == "mount" and isinstance(each, int) else each for each in arguments]
    if getattr(_load_library(), name)(*given) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def main() -> int:
    """Try a layer over the first argument, with the folders that follow; on stdout stands why not, if so."""
    workspace, upper, work = sys.argv[1:4]
    try:
        enter_namespaces()
        mount_layer(workspace, upper, work)
    except (MountRefused, OSError) as refused:
        print(refused)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

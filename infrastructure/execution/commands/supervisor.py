"""The supervisor: a small process between quorum and one command, run by path as `python -I -S supervisor.py`.

It starts the command in a session of its own, adopts whatever the command leaves behind, and ends all of it
when the command ends, when quorum asks, or when quorum dies. Since the program is run by path it imports the
standard library only, and little of that: it is started anew for every command.

Arguments: the file descriptor of the lifeline (a pipe whose other end only quorum holds; its end of file
means "end everything"), that of the control pipe, the seconds between TERM and KILL, the number of words
of the command, what it is to reach of the keys that the kernel keeps: "all", "own" (those of a session
keyring of its own) or "none", the number of its guards, the descriptor of a socket to quorum, -1 for none,
with a port: the command has a network of its own then, in which quorum gets a socket that listens there; and
the descriptor of what is to be the command's standard input, -1 for an empty one.
Standard input: those words, the guards, then the environment as NAME=VALUE, each followed by NUL. With guards
the command is one of bubblewrap: what it starts waits until each guarded file was seen to be covered, as the
files may be moved while the mounts are made. Sent on the control pipe, a line each: `shell PID`, `failed WHY`,
`unheard WHY` (there is no listening socket), `exit CODE` (negative: the signal), `ended COUNT`, `left PID …`
and at last `done`.

On Linux every orphan becomes a child of the supervisor (child subreaper), so that a walk from parent to child
finds also what has called `setsid` or forked twice. Where there is no such thing (macOS) the walk starts
from the command's process group and from the supervisor's children: a daemon that has left both is not found.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:  # the part of `signal` that is written in C: without `enum`, a third of the time to start
    import _signal as signal

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_KEYCTL_JOIN_SESSION_KEYRING = 1
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_NEW_USER_NAMESPACE = 0x10000000
_NEW_NETWORK_NAMESPACE = 0x40000000
_GET_USER_NAMESPACE = 0xB701  # of another namespace: the one that owns it
_AF_VSOCK, _SYS_SOCKET = 40, 1
_MOST_WAITING = 128
# Of each architecture its name in the audit of system calls, the first of add_key, request_key and keyctl, then
# unshare and clone, where the flags of clone lie in what a filter sees, and socket and socketcall.
_CALLS = {
    "x86_64": (0xC000003E, 248, 272, 56, 16, 41, 0xFFFFFFFF),
    "i686": (0x40000003, 286, 310, 120, 16, 359, 102),
    "aarch64": (0xC00000B7, 217, 97, 220, 16, 198, 0xFFFFFFFF),
    "armv7l": (0x40000028, 309, 337, 120, 16, 281, 0xFFFFFFFF),
    "riscv64": (0xC00000F3, 217, 97, 220, 16, 198, 0xFFFFFFFF),
    "loongarch64": (0xC0000102, 217, 97, 220, 16, 198, 0xFFFFFFFF),
    "ppc64le": (0xC0000015, 269, 282, 120, 16, 326, 102),
    "s390x": (0x80000016, 278, 303, 120, 28, 359, 102),
}
_IO_URING_SETUP, _CLONE3 = 425, 435  # on every architecture
_BIG_ENDIAN = 4 if sys.byteorder == "big" else 0  # where the lower half of an argument begins
_SETTLE_SECS = 0.1  # for what is about to end by itself, such as the reader of `> >(…)`
_KILL_SECS = 2.0
_TICK_SECS = 0.02
_IGNORED = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGALRM,
    signal.SIGPIPE,
    signal.SIGTSTP,
    signal.SIGTTIN,
    signal.SIGTTOU,
)

# Of the sandbox, while it is being made. The shell in it has only digits for descriptors. The first is where
# bubblewrap reads which system calls it is to refuse, as its command line says.
_NAMESPACE_FILTER, _INFO, _GO, _READY = 6, 7, 8, 9
_FIRST_FREE = 10  # any other descriptor is here or above, that none of these takes its number
_WAIT_FOR_GUARDS = (
    f'printf . >&{_READY}; read -r go <&{_GO} || exit 125; exec {_INFO}>&- {_GO}<&- {_READY}>&-; exec "$@"'
)
_PLACE = os.O_PATH | os.O_DIRECTORY
_MOVED = "files that the sandbox guards were moved while it was made; nothing was run, try again"

ProcessTable = dict[int, tuple[int, int]]


def list_processes() -> ProcessTable:
    """Every process that is alive (no zombies): its id → the ids of its parent and of its process group."""
    return list_processes_by_proc() if os.path.exists("/proc/self/stat") else list_processes_by_ps()


def find_family(table: ProcessTable, *, roots: set[int], group: int | None) -> set[int]:
    """All below the roots, and all in the process group with all below them; never the roots themselves."""
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in table.items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    unseen = [pid for pid, (_, its_group) in table.items() if its_group == group]
    unseen += [child for root in roots for child in children.get(root, ())]
    while unseen:
        pid = unseen.pop()
        if pid not in found:
            found.add(pid)
            unseen += children.get(pid, ())
    return found - roots


def send(pid: int, number: int) -> bool:
    """Send a signal. False where the process is gone or belongs to somebody else."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def list_processes_by_proc() -> ProcessTable:
    """The table as the kernel of Linux shows it."""
    table: ProcessTable = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as stat:
                    fields = stat.read().rpartition(b")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if fields[0] not in (b"Z", b"X"):
                table[int(name)] = (int(fields[1]), int(fields[2]))
    return table


def list_processes_by_ps() -> ProcessTable:
    """The table as `ps` prints it, where there is no /proc."""
    import subprocess  # slow to load, and needed only here

    with subprocess.Popen(["/bin/ps", "-axo", "pid=,ppid=,pgid=,stat="], stdout=subprocess.PIPE) as ps:
        lines = ps.communicate()[0].decode("ascii", "replace").splitlines()
    rows = [line.split() for line in lines]
    return {
        int(row[0]): (int(row[1]), int(row[2]))
        for row in rows
        if not row[3].startswith("Z") and int(row[0]) != ps.pid
    }


def find_uncovered(guards: list[bytes], root: str) -> bytes | None:
    """The first guarded path that a process does not see as it should, whose root directory this is.

    A guard is `masked` or `locked`, device and inode of the path's folder and of what stands there, and the
    path. Both are looked up in the folder of this identity, so that it is no matter where that lies later.
    """
    for guard in guards:
        kind, *numbers, path = guard.split(b" ", 5)
        folder, itself = tuple(map(int, numbers[:2])), tuple(map(int, numbers[2:]))
        is_masked = kind == b"masked"
        try:
            outside, _ = _look_in(b"", path, folder)
            inside, is_locked = _look_in(os.fsencode(root), path, folder, reads_mount=not is_masked)
        except OSError:
            return path
        if outside != itself or (inside == itself if is_masked else inside != itself or not is_locked):
            return path
    return None


def _look_in(
    root: bytes, path: bytes, folder: tuple[int, ...], *, reads_mount: bool = False
) -> tuple[tuple[int, int], bool]:
    """Device and inode of what a path leads to below this root, and whether it lies on a read-only mount, where
    that is asked.
    """
    above, name = os.path.split(path)
    place = os.open(root + above, _PLACE)
    try:
        status = os.fstat(place)
        if (status.st_dev, status.st_ino) != folder:
            raise FileNotFoundError
        if not reads_mount:
            status = os.stat(name, dir_fd=place, follow_symlinks=False)
            return (status.st_dev, status.st_ino), False
        found = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=place)
    finally:
        os.close(place)
    try:
        status = os.fstat(found)
        return (status.st_dev, status.st_ino), bool(os.fstatvfs(found).f_flag & os.ST_RDONLY)
    finally:
        os.close(found)


def _find_child(parent: int) -> int | None:
    """A child of a process; None where it has none. Kernels that do not list them are asked about all."""
    try:
        with open(f"/proc/{parent}/task/{parent}/children", "rb") as listed:
            children = [int(pid) for pid in listed.read().split()]
    except OSError:
        children = [pid for pid, (above, _) in list_processes().items() if above == parent]
    return children[0] if children else None


def _call_prctl(option: int, value: int) -> bool:
    return sys.platform == "linux" and bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("if_true", ctypes.c_ubyte),
        ("if_false", ctypes.c_ubyte),
        ("value", ctypes.c_uint),
    )


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction)))


def close_keyrings(*, is_whole: bool) -> None:
    """Have this process, and the program that it becomes, leave its session keyring for an empty one.

    `is_whole`: the system calls for keys are refused from then on, also those of the machine's other
    architectures; no program can gain rights then by whose it is. Does nothing where the numbers of the calls
    are not known. Raises OSError.
    """
    machine = os.uname().machine
    if machine not in _CALLS:
        return
    kernel = ctypes.CDLL(None, use_errno=True)
    first = _CALLS[machine][1]
    if kernel.syscall(first + 2, _KEYCTL_JOIN_SESSION_KEYRING, None) < 0 and ctypes.get_errno() != _ENOSYS:
        raise OSError(ctypes.get_errno(), "no keyring of its own could be made for the command")
    if not is_whole:
        return
    words = [(0x20, 0, 0, 4)]  # the architecture that the call is made for
    for architecture, number, *_ in _CALLS.values():
        words += [
            (0x15, 0, 6, architecture),
            (0x20, 0, 0, 0),  # the number of the call
            (0x54, 0, 0, 0xBFFFFFFF),  # without the mark of x32
            (0x35, 0, 2, number),
            (0x25, 1, 0, number + 2),
            (0x06, 0, 0, 0x00050000 | _EPERM),
            (0x06, 0, 0, 0x7FFF0000),
        ]
    words.append((0x06, 0, 0, 0x7FFF0000))
    instructions = (_Instruction * len(words))(*(_Instruction(*word) for word in words))
    filtering = _Filter(len(words), instructions)
    if kernel.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or kernel.prctl(
        _PR_SET_SECCOMP, 2, ctypes.byref(filtering), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "the keys of the kernel could not be closed to the command")


def hand_over_filter() -> None:
    """Have the program that this process becomes find a filter of system calls at its descriptor.

    It refuses new user namespaces, for bubblewrap to use once it has made its own. In another one a command has
    every right over its own view of the files: it can leave what is mounted over guarded files behind, and then
    replace these. It refuses sockets to the host of a virtual machine, too, which no network namespace closes,
    and rings of io_uring, which make sockets without a call that a filter sees.
    Where the numbers of the calls are not known it refuses nothing. Raises OSError.
    """
    words = [(0x20, 0, 0, 4)]  # the architecture that the call is made for
    for architecture, _, unshare, clone, flags, *sockets in (
        _CALLS.values() if os.uname().machine in _CALLS else ()
    ):
        words += [
            (0x15, 0, 23, architecture),
            (0x20, 0, 0, 0),  # the number of the call
            (0x54, 0, 0, 0xBFFFFFFF),  # without the mark of x32
            (0x15, 6, 0, _CLONE3),
            (0x15, 5, 0, _IO_URING_SETUP),
            (0x15, 5, 0, unshare),
            (0x15, 6, 0, clone),
            (0x15, 9, 0, sockets[0]),
            (0x15, 10, 0, sockets[1]),
            (0x06, 0, 0, 0x7FFF0000),
            # What they ask for lies in memory, where a filter cannot look; libraries then use older calls.
            (0x06, 0, 0, 0x00050000 | _ENOSYS),
            (0x20, 0, 0, 16 + _BIG_ENDIAN),
            (0x05, 0, 0, 1),
            (0x20, 0, 0, flags),
            (0x45, 0, 1, _NEW_USER_NAMESPACE),
            (0x06, 0, 0, 0x00050000 | _EPERM),
            (0x06, 0, 0, 0x7FFF0000),
            (0x20, 0, 0, 16 + _BIG_ENDIAN),
            (0x15, 3, 2, _AF_VSOCK),
            # Its family lies in memory as well; libraries then call socket.
            (0x20, 0, 0, 16 + _BIG_ENDIAN),
            (0x15, 2, 0, _SYS_SOCKET),
            (0x06, 0, 0, 0x7FFF0000),
            (0x06, 0, 0, 0x00050000 | _EAFNOSUPPORT),
            (0x06, 0, 0, 0x00050000 | _ENOSYS),
        ]
    words.append((0x06, 0, 0, 0x7FFF0000))
    reader, writer = os.pipe()
    os.write(writer, bytes((_Instruction * len(words))(*(_Instruction(*word) for word in words))))
    os.close(writer)
    os.dup2(_move_away(reader), _NAMESPACE_FILTER)


def listen_within(process: int, channel: int, port: int) -> None:
    """Listen on loopback in the network of a process and send the socket over a channel.

    A network belongs to a user namespace, in which this process then stays: call it in one that ends. It may
    have no threads. Raises OSError.
    """
    import _socket  # the part of `socket` that is written in C

    kernel = ctypes.CDLL(None, use_errno=True)
    network = os.open(f"/proc/{process}/ns/net", os.O_RDONLY)
    owner = fcntl.ioctl(network, _GET_USER_NAMESPACE)
    own = os.stat("/proc/self/ns/user")
    entered = [(network, _NEW_NETWORK_NAMESPACE)]
    if (os.fstat(owner).st_dev, os.fstat(owner).st_ino) != (own.st_dev, own.st_ino):
        entered.insert(0, (owner, _NEW_USER_NAMESPACE))
    for namespace, kind in entered:
        if kernel.setns(namespace, kind):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", port))
    listener.listen(_MOST_WAITING)
    carried = listener.fileno().to_bytes(4, sys.byteorder)
    _socket.socket(fileno=channel).sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, carried)])


class Supervisor:
    """Watches one command. It waits on two descriptors only: the lifeline and the news of ended children."""

    def __init__(
        self,
        *,
        lifeline: int,
        control: int,
        grace_secs: float,
        keys: str,
        channel: int,
        port: int,
        stdin: int,
    ) -> None:
        self._keys = keys
        self._channel, self._lifeline, self._control, self._stdin = map(
            _move_away, (channel, lifeline, control, stdin)
        )
        self._port = port
        self._grace_secs = grace_secs
        self._asked_to_end = False
        self._shell = 0
        self._shell_ended = False
        self._childless = False
        self._adopts = _call_prctl(_PR_SET_CHILD_SUBREAPER, 1)
        _call_prctl(_PR_SET_PDEATHSIG, signal.SIGCONT)  # should the command have stopped us when quorum dies
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        self._news, wake = os.pipe()
        os.set_blocking(self._news, False)
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def run(self, argv: list[bytes], environment: dict[bytes, bytes], guards: list[bytes]) -> None:
        """Run the command to its end or to the end of the lifeline, then end what is left of it."""
        if guards or self._channel >= 0:
            self._start_guarded(argv, environment, guards)
        else:
            self._shell = self._start(argv, environment)
        if self._stdin >= 0:
            os.close(self._stdin)  # who writes to it learns when the command does not read any more
        self._tell(f"shell {self._shell}")
        self._reap()
        while not self._shell_ended and not self._asked_to_end:
            self._wait(None)
        settled = time.monotonic() + _SETTLE_SECS
        while not self._asked_to_end and self._find_orphans() and time.monotonic() < settled:
            self._wait(_TICK_SECS)
        ended = self._signal_all(signal.SIGTERM, self._grace_secs)
        ended |= self._signal_all(signal.SIGKILL, _KILL_SECS)
        left = self._find_orphans()
        self._tell(f"ended {len(ended - left - {self._shell})}")
        self._tell(" ".join(["left", *map(str, sorted(left))]))
        self._tell("done")

    def _start_guarded(self, argv: list[bytes], environment: dict[bytes, bytes], guards: list[bytes]) -> None:
        """Start the command in its sandbox, and let it begin once all that is guarded is covered in there."""
        place = argv.index(b"--")
        gate = [b"/bin/sh", b"-c", _WAIT_FOR_GUARDS.encode(), b"sh"]
        argv = [*argv[:place], b"--info-fd", str(_INFO).encode(), b"--", *gate, *argv[place + 1 :]]
        (info, info_end), (go_end, go), (ready, ready_end) = os.pipe(), os.pipe(), os.pipe()
        self._shell = self._start(argv, environment, {_INFO: info_end, _GO: go_end, _READY: ready_end})
        for descriptor in (info_end, go_end, ready_end):
            os.close(descriptor)
        poll = select.poll()
        poll.register(ready, select.POLLIN)
        poll.register(self._lifeline, select.POLLIN)
        if ready not in dict(poll.poll()):
            return  # all is to end before; over a pipe that nobody reads it would end by another signal
        if os.read(ready, 1):  # nothing comes where bubblewrap failed
            sandbox = _read_child(info)
            if self._channel >= 0:
                self._listen(sandbox)
            if self._is_covered(guards, sandbox):
                os.write(go, b"go\n")
            else:
                self._tell(f"failed {_MOVED}")
        for descriptor in (info, go, ready):  # without a word the shell in the sandbox ends
            os.close(descriptor)

    def _listen(self, sandbox: int) -> None:
        """Let quorum have its socket in the network of the command, which runs without where that fails."""
        pid = os.fork()
        if pid == 0:
            try:
                listen_within(sandbox, self._channel, self._port)
            except (OSError, ImportError) as error:
                self._tell(f"unheard {error}")
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        os.close(self._channel)

    def _is_covered(self, guards: list[bytes], sandbox: int) -> bool:
        if not guards:
            return True
        inside = _find_child(sandbox)
        return inside is not None and find_uncovered(guards, f"/proc/{inside}/root") is None

    def _start(
        self, argv: list[bytes], environment: dict[bytes, bytes], handed: dict[int, int] | None = None
    ) -> int:
        """Fork, and become the command. `handed` are its descriptors by number, beside the three usual ones."""
        supervisor = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                moved = {number: _move_away(descriptor) for number, descriptor in (handed or {}).items()}
                for number, descriptor in moved.items():
                    os.dup2(descriptor, number)
                self._become(supervisor, argv, environment)
            except OSError as error:
                self._tell(f"failed {error.strerror}")
            finally:
                os._exit(127)
        return pid

    def _become(self, supervisor: int, argv: list[bytes], environment: dict[bytes, bytes]) -> None:
        os.setsid()
        for number in (*_IGNORED, signal.SIGCHLD, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.dup2(self._stdin if self._stdin >= 0 else os.open(os.devnull, os.O_RDONLY), 0)
        _call_prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if self._keys != "all":
            close_keyrings(is_whole=self._keys == "none")
            hand_over_filter()
        if os.getppid() == supervisor:  # otherwise it died before the binding above
            os.execve(argv[0], argv, environment)

    def _wait(self, seconds: float | None) -> None:
        poll = select.poll()
        poll.register(self._news, select.POLLIN)
        if not self._asked_to_end:
            poll.register(self._lifeline, select.POLLIN)
        for descriptor, _ in poll.poll(None if seconds is None else seconds * 1000):
            if descriptor == self._lifeline:
                self._asked_to_end = True
            else:
                os.read(self._news, 4096)
        self._reap()

    def _reap(self) -> None:
        self._childless = False
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._childless = True
                return
            if pid == 0:
                return
            if pid == self._shell:
                self._shell_ended = True
                self._tell(f"exit {os.waitstatus_to_exitcode(status)}")

    def _find_orphans(self) -> set[int]:
        self._reap()
        if self._childless and self._adopts:
            return set()
        return find_family(list_processes(), roots={os.getpid()}, group=self._shell)

    def _signal_all(self, number: int, seconds: float) -> set[int]:
        """Signal all orphans, newcomers too, until there are none or the time is up; who got the signal."""
        signalled: set[int] = set()
        deadline = time.monotonic() + seconds
        while (orphans := self._find_orphans()) and time.monotonic() < deadline:
            for pid in orphans - signalled:
                if send(pid, number):
                    send(pid, signal.SIGCONT)  # a stopped process handles TERM only when it continues
                    signalled.add(pid)
            self._wait(_TICK_SECS)
        return signalled

    def _tell(self, line: str) -> None:
        try:
            os.write(self._control, line.encode() + b"\n")
        except BrokenPipeError:
            self._asked_to_end = True  # quorum is gone: there is nobody to tell, and all must end


def _move_away(descriptor: int) -> int:
    """The same at a number that no other takes, and for this process alone; -1 for -1."""
    if descriptor < 0:
        return descriptor
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE)
    os.close(descriptor)
    return moved


def _read_child(info: int) -> int:
    """The process that bubblewrap says it has started in the sandbox; 0 where it says nothing of the kind."""
    said = os.read(info, 4096).partition(b'"child-pid":')[2].strip()
    digits = said[: next((place for place, each in enumerate(said) if not 48 <= each <= 57), len(said))]
    return int(digits or b"0")


def main() -> None:
    """Read the order from the arguments and standard input, and carry it out.

    With "try", keys, and the words of a command as arguments it only becomes that command.
    """
    if sys.argv[1] == "try":
        close_keyrings(is_whole=sys.argv[2] == "none")
        hand_over_filter()
        os.execv(sys.argv[3], sys.argv[3:])
    lifeline, control, words, guards, channel, port, stdin = (
        int(sys.argv[place]) for place in (1, 2, 4, 6, 7, 8, 9)
    )
    with open(0, "rb", closefd=False) as order:
        fields = order.read().split(b"\0")[:-1]
    environment = dict(field.split(b"=", 1) for field in fields[words + guards :])
    supervisor = Supervisor(
        lifeline=lifeline,
        control=control,
        grace_secs=float(sys.argv[3]),
        keys=sys.argv[5],
        channel=channel,
        port=port,
        stdin=stdin,
    )
    supervisor.run(fields[:words], environment, fields[words : words + guards])
    os._exit(0)  # skips the interpreter's tidying up, for which quorum would wait


if __name__ == "__main__":
    main()

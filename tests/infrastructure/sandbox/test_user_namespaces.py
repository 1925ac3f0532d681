"""A command makes no user namespace, in which it could leave what is mounted over guarded files behind.

It makes no ring of io_uring either, through which it could make sockets past the filter of system calls.
"""

from __future__ import annotations

import errno
import os
import struct
import subprocess
import sys
from collections.abc import Mapping

import pytest

from quorum.infrastructure.execution.commands import supervisor
from quorum.infrastructure.execution.commands.supervisor import _BIG_ENDIAN, _CALLS, _NAMESPACE_FILTER
from tests.infrastructure.sandbox.sandbox_bench import Household, needs_bubblewrap

_MACHINE = os.uname().machine
pytestmark = [
    needs_bubblewrap,
    pytest.mark.skipif(_MACHINE not in _CALLS, reason="no system calls for namespaces are known here"),
]
# Each call of the kernel that makes a process or a namespace; prints what the kernel answers.
_ASK = """
import ctypes
kernel = ctypes.CDLL(None, use_errno=True)
flags = ctypes.c_ulong(0x10000000 | 17)
clone = (CLONE, 0, flags) if FLAGS_AT > 16 else (CLONE, flags, 0)
for call in ((UNSHARE, ctypes.c_ulong(0x10000000)), (*clone, 0, 0, 0), (435, 0, 0)):
    made = kernel.syscall(*call)
    if made == 0 and call[0] == CLONE:
        kernel._exit(0)
    print("made" if made >= 0 else ctypes.get_errno())
"""


async def test_every_call_that_makes_one_is_refused(household: Household) -> None:
    _, _, unshare, clone, flags_at, *_ = _CALLS[_MACHINE]
    script = _ASK.replace("UNSHARE", str(unshare)).replace("CLONE", str(clone))
    (household.root / "ask.py").write_text(script.replace("FLAGS_AT", str(flags_at)))

    output = await household.run(f"{sys.executable} -S ask.py")

    assert output.splitlines()[:3] == ["1", "1", "38"]


async def test_processes_and_threads_are_made_as_ever(household: Household) -> None:
    (household.root / "fork.py").write_text(
        "import subprocess, threading\n"
        "thread = threading.Thread(target=print, args=('thread',))\n"
        "thread.start(); thread.join()\n"
        "subprocess.run(['echo', 'process'], close_fds=False)\n"
    )

    output = await household.run(f"{sys.executable} -S -u fork.py | cat; (exec echo shell) & wait")

    assert {"thread", "process", "shell"} <= set(output.split())


async def test_no_ring_of_io_uring_is_made(household: Household) -> None:
    (household.root / "ask.py").write_text(
        "import ctypes\n"
        "kernel = ctypes.CDLL(None, use_errno=True)\n"
        "made = kernel.syscall(425, 1, ctypes.create_string_buffer(120))\n"
        "print('made' if made >= 0 else ctypes.get_errno())\n"
    )

    output = await household.run(f"{sys.executable} -S ask.py")

    assert output.splitlines()[:1] == [str(errno.ENOSYS)]


_ALLOWED = 0x7FFF0000


def _answer(program: list[tuple[int, int, int, int]], seen: Mapping[int, int]) -> int:
    """What a filter returns for a call, of which it sees these words by their offset."""
    place = held = 0
    while True:
        code, if_true, if_false, value = program[place]
        place += 1
        match code:
            case 0x20:
                held = seen.get(value, 0)
            case 0x54:
                held &= value
            case 0x05:
                place += value
            case 0x15:
                place += if_true if held == value else if_false
            case 0x45:
                place += if_true if held & value else if_false
            case 0x06:
                return value if value == _ALLOWED else value & 0xFFFF
            case _:
                raise AssertionError(f"no instruction of this filter: {code:#x}")


def test_the_filter_refuses_the_same_on_every_architecture() -> None:
    source = f"{supervisor.__file__!r}, run_name='filter')['hand_over_filter']()"
    script = f"import os, runpy; runpy.run_path({source}; os.write(1, os.read({_NAMESPACE_FILTER}, 65536))"
    written = subprocess.run((sys.executable, "-S", "-c", script), check=True, capture_output=True).stdout
    program = list(struct.iter_unpack("=HBBI", written))
    first = 16 + _BIG_ENDIAN

    for architecture, _, unshare, clone, flags_at, socket, socketcall in _CALLS.values():
        for number, words, answer in (
            (425, {}, errno.ENOSYS),
            (435, {}, errno.ENOSYS),
            (unshare, {first: 0x10000000}, errno.EPERM),
            (unshare, {first: 0x400}, _ALLOWED),
            (clone, {flags_at: 0x10000011}, errno.EPERM),
            (clone, {flags_at: 17}, _ALLOWED),
            (socket, {first: 40}, errno.EAFNOSUPPORT),
            (socket, {first: 2}, _ALLOWED),
            (socketcall, {first: 1}, errno.ENOSYS if socketcall < 1 << 31 else _ALLOWED),
            (socketcall, {first: 3}, _ALLOWED),
            (424, {}, _ALLOWED),
        ):
            assert _answer(program, {0: number, 4: architecture, **words}) == answer, (architecture, number)
    assert _answer(program, {0: 425, 4: 1}) == _ALLOWED

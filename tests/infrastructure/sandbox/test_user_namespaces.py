"""A command makes no user namespace, in which it could leave what is mounted over guarded files behind."""

from __future__ import annotations

import os
import sys

import pytest

from quorum.infrastructure.execution.commands.supervisor import _CALLS
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

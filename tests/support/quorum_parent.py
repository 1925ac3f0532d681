"""The process whose forks are `quorum`: started by its path, with the number of the socket of requests.

It has one thread and imports all of `quorum`; what a fork is to be comes with its request.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import signal
import socket
import sys
import termios
from typing import Any

import quorum

LONGEST_REQUEST = 1 << 20
_MOST_DESCRIPTORS = 16
_BEYOND_PASSED = 64
_NEEDS_A_MIGRATION = "quorum.infrastructure.store.migrations."


def import_all() -> None:
    """Import what each command may import, an entry point run as a program aside."""
    for module in pkgutil.walk_packages(quorum.__path__, "quorum."):
        if not module.name.startswith(_NEEDS_A_MIGRATION):
            importlib.import_module(module.name)


def answer_requests(requests: socket.socket) -> dict[str, Any] | None:
    """Fork for each request. Returns in the fork, with its request, and in this process once nobody can ask."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # of keepers
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, LONGEST_REQUEST, _MOST_DESCRIPTORS)
        if not message:
            return None
        if os.fork() == 0:
            requests.close()
            return _keep(json.loads(message), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _keep(request: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
    """Fork the program, tell its number and its exit code, negative for a signal. Returns in the program."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    life, *streams = descriptors
    if (pid := os.fork()) == 0:
        os.close(life)
        _become(request, streams)
        return request
    for stream in streams:
        os.close(stream)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # Ctrl+C is for the program
    os.write(life, b"%d\n" % pid)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(BrokenPipeError):  # where nobody waits for it any more
        os.write(life, b"%d\n" % code)
    os._exit(0)


def _become(request: dict[str, Any], streams: list[int]) -> None:
    """Take over streams, environment, folder and arguments."""
    moved = [fcntl.fcntl(stream, fcntl.F_DUPFD_CLOEXEC, _BEYOND_PASSED) for stream in streams]
    for stream in streams:
        os.close(stream)
    for stream, number in zip(moved, (0, 1, 2, *request.get("passed", ())), strict=True):
        os.dup2(stream, number)
        os.close(stream)
    if request.get("leads_session"):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever starts the tests ignores
        for number in (signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.argv = request["argv"]
    for number, (name, errors) in enumerate(
        (("stdin", "surrogateescape"), ("stdout", "surrogateescape"), ("stderr", "backslashreplace"))
    ):
        mode, buffering = "w" if number else "r", 1 if name == "stderr" else -1
        stream = io.open(number, mode, buffering, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115, UP020
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    connection = socket.socket(fileno=int(sys.argv[1]))
    import_all()
    gc.collect()
    gc.freeze()
    if answer_requests(connection) is not None:
        from quorum.__main__ import main

        main()

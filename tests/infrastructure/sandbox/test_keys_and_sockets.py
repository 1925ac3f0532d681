from __future__ import annotations

import asyncio
import ctypes
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.infrastructure.execution.commands.process import SupervisedProcess
from quorum.infrastructure.execution.commands.supervisor import _CALLS
from quorum.infrastructure.execution.sandbox.places import list_bound_sockets
from tests.infrastructure.sandbox.sandbox_bench import Household, needs_bubblewrap

_MACHINE = os.uname().machine
_knows_key_calls = pytest.mark.skipif(_MACHINE not in _CALLS, reason="no system calls for keys are known here")
# Asks for a key of the session keyring, and adds one; prints what the kernel answers.
_ASK = """
import ctypes
kernel = ctypes.CDLL(None, use_errno=True)
session = ctypes.c_int(-3)
for call in ((FIRST + 2, 10, session, b"user", b"quorum-test", 0), (FIRST, b"user", b"x", b"y", 1, session)):
    print("key" if kernel.syscall(*call) > 0 else ctypes.get_errno())
"""


@pytest.fixture
def script(household: Household) -> Path:
    first = _CALLS[_MACHINE][1]
    file = household.root / "ask.py"
    file.write_text(_ASK.replace("FIRST", str(first)))
    kernel = ctypes.CDLL(None, use_errno=True)
    content = b"secret of a key"
    if kernel.syscall(first, b"user", b"quorum-test", content, len(content), ctypes.c_int(-3)) < 0:
        pytest.skip("the kernel keeps no keys here")
    return file


@needs_bubblewrap
@_knows_key_calls
async def test_a_command_in_the_sandbox_reaches_no_key_of_the_kernel(
    household: Household, script: Path
) -> None:
    output = await household.run(f"{sys.executable} -S {script}")

    assert output.splitlines()[:2] == ["1", "1"]


@needs_bubblewrap
@_knows_key_calls
async def test_a_command_in_the_sandbox_reads_no_names_of_keys(household: Household, script: Path) -> None:
    assert "quorum-test" not in await household.run("cat /proc/keys")


@needs_bubblewrap
@_knows_key_calls
@pytest.mark.parametrize("network", [True, False])
async def test_the_host_of_a_virtual_machine_is_not_reached_and_other_sockets_open(
    household: Household, network: bool
) -> None:
    household.network = network
    (household.root / "ask.py").write_text(
        "import socket\n"
        "for family in (40, socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):\n"
        "    try:\n"
        "        print('open', socket.socket(family, 3 if family == 16 else 1).close())\n"
        "    except OSError as error:\n"
        "        print(error.errno)\n"
    )

    output = await household.run(f"{sys.executable} -S ask.py")

    assert output.splitlines()[:5] == ["97", *["open None"] * 4]


@_knows_key_calls
@pytest.mark.parametrize(("keys", "answers"), [("all", ["key", "key"]), ("own", ["126", "key"])])
async def test_a_process_reaches_the_keys_that_it_is_given(
    household: Household, script: Path, keys: str, answers: list[str]
) -> None:
    printed = bytearray()
    process = SupervisedProcess(
        (sys.executable, "-S", str(script)),
        cwd=household.root,
        environment={},
        timeout_secs=30,
        on_output=printed.extend,
        keys=keys,  # type: ignore[arg-type]
    )
    assert (await process.wait()).exit_code == 0

    assert printed.decode().split() == answers


@pytest.fixture
def listening(household: Household) -> Iterator[Path]:
    """A socket in the workspace that another program listens at."""
    path = household.root / "service.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        yield path


_CONNECT = "import socket; socket.socket(socket.AF_UNIX).connect({path!r}); print('connected')"


@needs_bubblewrap
async def test_a_socket_of_another_program_is_closed_without_network(
    household: Household, listening: Path
) -> None:
    connect = f'{sys.executable} -S -c "{_CONNECT.format(path=str(listening))}"'
    assert "connected" in await household.run(connect)

    household.network = False
    assert "connected" not in await household.run(connect)

    household.readable = [str(listening)]
    assert "connected" in await household.run(connect)


@needs_bubblewrap
async def test_a_command_without_network_connects_to_its_own_socket(household: Household) -> None:
    household.network = False
    code = (
        "import socket; s = socket.socket(socket.AF_UNIX); s.bind('own.sock'); s.listen(); "
        "socket.socket(socket.AF_UNIX).connect('own.sock'); print('connected')"
    )

    assert "connected" in await household.run(f'{sys.executable} -S -c "{code}"')


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists them")
async def test_sockets_are_listed_by_their_real_paths_and_abstract_ones_are_not(
    tmp_path: Path, listening: Path
) -> None:
    link = tmp_path / "with a blank"
    link.symlink_to(tmp_path)
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as abstract:
        server.bind(str(link / "a b.sock"))
        abstract.bind("\0/abstract")

        found = await asyncio.to_thread(list_bound_sockets)

    assert {str(listening), str(tmp_path / "a b.sock")} <= set(found)
    assert not any("abstract" in path for path in found)

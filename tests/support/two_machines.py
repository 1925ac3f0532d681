"""Machines as far as a kernel can make them: each a network and a host name of its own, and one database."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from quorum.infrastructure.store.postgres.address import parse_address
from tests.support.headless_run import QUORUM, configure, environment
from tests.support.postgres_server import PostgresForTests

_NETWORK = "10.213"
_PORT = 54329


class Machine:
    """Has a state folder of its own, and reaches the others by its network alone."""

    def __init__(self, folder: Path, name: str, project: Path, url: str) -> None:
        self.name, self.url, self._project = name, url, project
        self._home = folder / name
        configure(
            self._home,
            f'[storage]\nurl = "{url}"\n[permissions]\nallow = ["run_command(cat *)"]\n',
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start `quorum` there."""
        return self.start_command([str(QUORUM), *arguments])

    def start_command(self, command: Sequence[str], **more: str) -> subprocess.Popen[str]:
        """Start a command there, with these variables."""
        named = ("unshare", "--uts", "sh", "-c", f'hostname {self.name}; exec "$@"', "sh")
        return subprocess.Popen(
            ["ip", "netns", "exec", self.name, *named, *command],
            cwd=self._project,
            env=environment(self._home, PATH=f"{os.environ['PATH']}:/usr/sbin:/sbin") | more,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def quorum(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        process = self.start(*arguments)
        out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)


@contextmanager
def connect_machines(
    server: PostgresForTests, folder: Path, project: Path, names: Sequence[str]
) -> Iterator[list[Machine]]:
    """Machines of these names, each with a line of its own to the database. Skips without the rights to it."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-n", "true"], check=False).returncode != 0:
        pytest.skip("network namespaces need root, and a container that allows them")
    database = parse_address(server.new_database()).database
    with (server.data / "pg_hba.conf").open("a") as rules:
        rules.write(f"host all all {_NETWORK}.0.0/16 trust\n")
    with ExitStack() as made:
        machines, addresses = [], []
        for number, name in enumerate(names):
            line, far = f"q{os.getpid() % 100000}h{number}", f"q{os.getpid() % 100000}n{number}"
            here, there = (f"{_NETWORK}.{number}.{host}" for host in (1, 2))
            _run("ip", "netns", "add", name)
            made.callback(_run, "ip", "netns", "del", name)  # and with it both ends of the line
            _run("ip", "link", "add", line, "type", "veth", "peer", "name", far, "netns", name)
            _run("ip", "addr", "add", f"{here}/24", "dev", line)
            _run("ip", "link", "set", line, "up")
            _run("ip", "-n", name, "addr", "add", f"{there}/24", "dev", far)
            _run("ip", "-n", name, "link", "set", far, "up")
            _run("ip", "-n", name, "link", "set", "lo", "up")
            addresses.append(here)
            url = f"postgresql+psycopg://quorum@{here}:{_PORT}/{database}"
            machines.append(Machine(folder, name, project, url))
        server.settings |= {"listen_addresses": ",".join(addresses), "port": str(_PORT)}
        server.port = _PORT
        server.stop()
        server.start()
        yield machines


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)

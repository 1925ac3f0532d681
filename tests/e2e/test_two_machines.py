"""Two machines with one database: what one began the other continues, and only one of them writes."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest

from quorum.infrastructure.store.postgres.address import parse_address
from tests.support.postgres_server import remove_postgres, start_postgres
from tests.support.two_machines import Machine, connect_machines


def read_events(machine: Machine, session: str) -> str:
    return machine.quorum("sessions", "export", "--format", "json", session).stdout


@pytest.mark.long
def test_a_session_goes_from_one_machine_to_the_other_and_its_paused_writer_appends_nothing(
    tmp_path: Path,
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    os.mkfifo(project / "gate")
    server = start_postgres()
    try:
        with connect_machines(server, tmp_path, project, ("quorum-here", "quorum-there")) as (here, there):
            left = here.quorum("run", "--leave-open", "--output", "json", "run echo a >> a.txt")
            assert left.returncode == 3, left.stderr
            report = json.loads(left.stdout)
            session = report["session_id"]
            (waiting,) = json.loads(there.quorum("inbox", "list", "--json").stdout)
            assert (waiting["session"], [waiting["digest"]]) == (session, report["waiting"])
            assert there.quorum("inbox", "approve", waiting["digest"]).returncode == 0
            resumed = there.quorum("run", "--leave-open", "--output", "json", "--resume", session)
            assert (resumed.returncode, json.loads(resumed.stdout)["status"]) == (0, "completed")
            assert (project / "a.txt").read_text() == "a\n"

            writer = here.start("run", "--resume", session, "--output", "stream-json", "run cat gate")
            assert writer.stdout is not None
            for line in writer.stdout:
                if json.loads(line)["type"] == "call_started":
                    break
            pid = writer.pid  # every program on the way to it was replaced by the next one
            os.kill(pid, signal.SIGSTOP)
            refused = there.quorum("run", "--resume", session, "list files")
            assert refused.returncode != 0
            assert "on quorum-here" in refused.stderr
            assert "call_started" in read_events(there, session)  # one writes, the other reads
            server.let_leases_end(parse_address(there.url).database)
            taken = there.quorum("run", "--leave-open", "--output", "json", "--resume", session)
            assert taken.returncode == 0, taken.stderr
            before = read_events(there, session)
            os.kill(pid, signal.SIGCONT)
            gate = os.open(project / "gate", os.O_WRONLY)
            os.write(gate, b"opened\n")
            os.close(gate)
            _, error = writer.communicate(timeout=120)

            assert writer.returncode != 0
            assert "was taken over by another process" in error
            assert read_events(there, session) == before
            assert re.findall(r'"outcome": ?"(\w+)"', before)[-1] == "unknown"
            assert there.quorum("sessions", "verify", "--all").returncode == 0
    finally:
        remove_postgres(server)

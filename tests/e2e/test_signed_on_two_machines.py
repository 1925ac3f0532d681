"""People on two machines with one database sign a call, each with a key of their own."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.policy_namespace import Namespace, open_namespace
from tests.support.postgres_server import remove_postgres, start_postgres
from tests.support.two_machines import Machine, connect_machines

RULE = '[[signatures]]\ncalls = ["run_command(echo *)"]\nneeded = 2\n'


def make_key(folder: Path, name: str) -> str:
    """A new key pair in a person's home; the public one."""
    key = folder / ".ssh" / "id_ed25519"
    shutil.rmtree(key.parent, ignore_errors=True)
    key.parent.mkdir(parents=True)
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(key)]
    subprocess.run(words, check=True, timeout=60)
    return key.with_suffix(".pub").read_text().strip()


def write_policy(keys: Mapping[str, str], revoked: Mapping[str, str] | None = None) -> str:
    policy = RULE
    for name, key in keys.items():
        policy += f"[people.{name}]\nkeys = [{json.dumps(key)}]\n"
        policy += f"revoked = [{json.dumps(revoked[name])}]\n" if revoked and name in revoked else ""
        policy += 'accounts = ["root"]\n' if name == "ada" else ""
    return policy


class Office:
    """A machine with its policy, and the homes of the people on it."""

    def __init__(self, machine: Machine, namespace: Namespace, homes: Mapping[str, Path]) -> None:
        self._machine, self._namespace, self._homes = machine, namespace, homes

    def set_policy(self, policy: str) -> None:
        self._namespace.policy.write_text(policy)

    def quorum(self, *words: str, by: str) -> subprocess.CompletedProcess[str]:
        command = self._namespace.build_command(*words)
        process = self._machine.start_command(command, HOME=str(self._homes[by]))
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(words, process.returncode, out, err)


@pytest.mark.long
def test_people_elsewhere_sign_a_call_and_a_stolen_key_that_is_revoked_counts_for_nothing(
    tmp_path: Path,
) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    homes = {name: tmp_path / "people" / name for name in ("ada", "bob", "cyn")}
    keys = {name: make_key(home, name) for name, home in homes.items()}
    stolen = tmp_path / "people" / "eve"
    shutil.copytree(homes["cyn"], stolen)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    namespaces = [open_namespace(tmp_path / name, write_policy(keys)) for name in ("a", "b")]
    project = tmp_path / "project"
    project.mkdir()
    server = start_postgres()
    try:
        with connect_machines(server, tmp_path, project, ("quorum-sa", "quorum-sb")) as machines:
            here, there = (
                Office(machine, namespace, {**homes, "eve": stolen})
                for machine, namespace in zip(machines, namespaces, strict=True)
            )
            made = namespaces[0].work / "made.txt"
            left = here.quorum("run", "--leave-open", "--output", "json", "run echo made >> made.txt", by="ada")
            assert left.returncode == 3, left.stderr
            report = json.loads(left.stdout)
            (digest,) = report["waiting"]
            resume = ("run", "--leave-open", "--output", "json", "--resume", "latest")

            assert there.quorum("inbox", "approve", digest, by="bob").returncode == 0
            # The key is revoked where the session runs; where it was stolen to, nobody has heard of that yet.
            new = make_key(homes["cyn"], "cyn")
            here.set_policy(write_policy({**keys, "cyn": new}, {"cyn": keys["cyn"]}))
            taken = there.quorum("inbox", "approve", digest, by="eve")
            assert taken.returncode == 0, taken.stderr
            waits = here.quorum(*resume, by="ada")
            assert waits.returncode == 3, waits.stderr
            assert not made.exists()
            refused = here.quorum("inbox", "approve", digest, by="eve")
            assert "no key in the agent or in ~/.ssh is one that the policy names" in refused.stderr

            there.set_policy(write_policy({**keys, "cyn": new}, {"cyn": keys["cyn"]}))
            signed = there.quorum("inbox", "approve", digest, by="cyn")
            assert signed.returncode == 0, signed.stderr
            ended = here.quorum(*resume, by="ada")
            assert ended.returncode == 0, ended.stderr
            assert made.read_text() == "made\n"
            verified = there.quorum("sessions", "verify", report["session_id"], by="bob")
            assert "1 approval signed, as they had to be, by keys of the policy" in verified.stdout
    finally:
        remove_postgres(server)

"""The proof of the sandbox: it holds here, and each line fails where its own protection is taken away."""

from __future__ import annotations

import asyncio
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from quorum.cli.doctor import COMMAND, DoctorOptions
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.shell.network_hosts import HostList, sort_entries
from quorum.infrastructure.doctor import sandbox_proof
from quorum.infrastructure.doctor.finding import FindingState
from quorum.infrastructure.doctor.sandbox_proof import (
    ATTEMPTS,
    Attempt,
    Held,
    ProofLine,
    is_proven,
    prove_sandbox,
    remove_abandoned_stages,
    report_proof,
)
from quorum.infrastructure.execution.commands import process
from quorum.infrastructure.execution.network.host_proxy import HostProxy
from quorum.infrastructure.execution.sandbox.confinement import Launch
from quorum.infrastructure.execution.sandbox.opening import build_mode_check
from quorum.infrastructure.execution.sandbox.preflight import explain_missing_proof, find_proof, keep_proof
from tests.infrastructure.sandbox.sandbox_bench import Household, a_household, needs_bubblewrap

pytestmark = needs_bubblewrap
Words = Sequence[str]


def without(*words: str) -> Callable[[Launch], Launch]:
    """The sandbox without the mounts and flags that begin with these words and name these parts."""

    def alter(launch: Launch) -> Launch:
        return replace(launch, argv=tuple(_drop(launch.argv, words)), guards=())

    return alter


def _drop(argv: Words, wanted: Words) -> list[str]:
    kept, place = [], 0
    end = argv.index("--")
    lengths = {"--bind": 3, "--ro-bind": 3, "--ro-bind-try": 3, "--tmpfs": 2, "--remount-ro": 2, "--seccomp": 2}
    while place < end:
        option = list(argv[place : place + lengths.get(argv[place], 1)])
        if not any(word == option[0] or (len(option) > 1 and option[-1].endswith(word)) for word in wanted):
            kept += option
        place += len(option)
    return [*kept, *argv[end:]]


def writable_ground(launch: Launch) -> Launch:
    """All that is not mounted over may be written, and nothing private is mounted over it."""
    argv = _drop(launch.argv, ("/tmp", "/home"))
    place = argv.index("--ro-bind")
    return replace(launch, argv=(*argv[:place], "--bind", *argv[place + 1 :]), guards=())


def outside(launch: Launch) -> Launch:
    """No sandbox at all, but with the environment of commands."""
    return Launch(argv=launch.argv[launch.argv.index("--") + 1 :])


def any_host(launch: Launch) -> Launch:
    return replace(launch, proxy=HostProxy(HostList(ranges=sort_entries(["127.0.0.1"])[1])))


_TAKEN_AWAY: dict[str, Callable[[Launch], Launch]] = {
    "write beside the workspace": writable_ground,
    "write through a link in the workspace": writable_ground,
    "replace a folder beside the workspace": writable_ground,
    "write in the home": writable_ground,
    "write a protected path": without("/.git"),
    "replace a protected path": without("/AGENTS.md"),
    "move a protected folder away and make another": without("/.git"),
    "write a protected path by another name of it": without("/.git"),
    "read a secret of the home": without("/tmp", "/home", "/.ssh"),
    "read a secret through a link in the workspace": without("/tmp", "/home", "/.ssh"),
    "read a secret by another name of it": outside,
    "read a sensitive file of the workspace": without("/.env"),
    "read a sensitive file once it has another name": without("/.env"),
    "read what quorum keeps": without("/tmp", "/state"),
    "end another process": without("--unshare-pid"),
    "read the environment of another process": outside,
    "trace another process": outside,
    "make a user namespace": without("--seccomp"),
    "connect to the network": without("--unshare-net"),
    "send a datagram": without("--unshare-net"),
    "connect to a socket of another program": without("/tmp", "/sock"),
    "reach a host that is not listed by the proxy": any_host,
}


def hand_down_keys(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sandbox_proof, "build_command_environment", lambda environ, _names: dict(environ))


def hand_down_descriptors(patch: pytest.MonkeyPatch) -> None:
    class Popen(subprocess.Popen[bytes]):
        def __init__(self, argv: Words, **options: Any) -> None:
            listed = [int(each) for each in os.listdir("/proc/self/fd")]
            there = [each for each in listed if each > 2 and os.path.exists(f"/proc/self/fd/{each}")]
            super().__init__(argv, **options | {"pass_fds": there})

    patch.setattr(process, "subprocess", SimpleNamespace(Popen=Popen))


# Not the sandbox keeps these, but how any command is started.
_BY_THE_START_OF_COMMANDS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "read a key in the environment": hand_down_keys,
    "use a descriptor that quorum has open": hand_down_descriptors,
}


def an_attempt(name: str) -> Attempt:
    return next(each for each in ATTEMPTS if each.name == name)


async def proven(*names: str, alter: Callable[[Launch], Launch] = lambda launch: launch) -> list[ProofLine]:
    return list(await prove_sandbox(os.environ, attempts=[an_attempt(name) for name in names], alter=alter))


@pytest.mark.long
async def test_all_of_it_holds_here() -> None:
    lines = await prove_sandbox(os.environ)

    assert [line for line in lines if line.held not in (Held.HELD, Held.SHUT)] == []
    assert is_proven(lines)


def test_each_attempt_has_a_protection_that_a_test_takes_away() -> None:
    assert {
        each.name for each in ATTEMPTS if each.only_on != "darwin"
    } == _TAKEN_AWAY.keys() | _BY_THE_START_OF_COMMANDS.keys()


@pytest.mark.long(after=1)
@pytest.mark.parametrize("name", _TAKEN_AWAY)
async def test_a_line_is_broken_without_its_protection(name: str) -> None:
    [line] = await proven(name, alter=_TAKEN_AWAY[name])

    assert line.held is Held.BROKEN
    assert line.finding.state is FindingState.FAIL
    assert not is_proven([line])


@pytest.mark.long
@pytest.mark.parametrize("name", _BY_THE_START_OF_COMMANDS)
async def test_a_line_is_broken_where_commands_are_started_with_more(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _BY_THE_START_OF_COMMANDS[name](monkeypatch)

    [line] = await proven(name)

    assert line.held is Held.BROKEN


async def test_an_attempt_that_does_nothing_even_without_the_sandbox_shows_nothing() -> None:
    idle = Attempt(name="nothing", code="print('no harm')", did_harm=lambda _stage, _trace: False)
    broken = replace(idle, code="raise SystemExit('it fails')")

    lines = await prove_sandbox(os.environ, attempts=[idle, broken, replace(broken, may_be_shut=True)])

    assert [(line.held, line.said) for line in lines] == [
        (Held.UNTRIED, "no harm"),
        (Held.UNTRIED, "it fails"),
        (Held.SHUT, "it fails"),
    ]
    assert lines[0].finding.state is FindingState.WARN
    assert not is_proven(lines[:1])


@pytest.mark.parametrize(
    ("prefix", "is_known"), [("", True), ("x", False)], ids=["as it was", "another version of the system"]
)
def test_a_proof_is_remembered_for_this_machine_and_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str, is_known: bool
) -> None:
    environ = {"HOME": str(tmp_path)}
    assert find_proof(environ) is None
    assert "was not proven" in explain_missing_proof(environ)
    assert keep_proof((), environ)
    release = platform.release()

    monkeypatch.setattr(platform, "release", lambda: prefix + release)

    assert (find_proof(environ) is not None) is is_known
    assert (explain_missing_proof(environ) == "") is is_known


def test_a_proof_that_failed_says_what_did_not_hold(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    keep_proof(["write in the home"], environ)

    assert explain_missing_proof(environ) == "the sandbox does not hold on this machine: write in the home"


def test_a_damaged_proof_is_none(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    keep_proof((), environ)
    [file] = tmp_path.rglob("sandbox-proof.json")
    file.write_text("{")

    assert find_proof(environ) is None


@pytest.fixture
def household(tmp_path: Path) -> Household:
    return a_household(tmp_path.resolve())


async def test_the_mode_sandboxed_is_refused_where_the_sandbox_was_seen_not_to_hold(
    household: Household,
) -> None:
    keep_proof(["write in the home"], household.environ)

    refusal = await build_mode_check(household.sandbox())(Mode.SANDBOXED)

    assert refusal is not None
    assert refusal.startswith("the sandbox does not hold here: write in the home")


@pytest.mark.long
async def test_the_command_says_line_by_line_what_held_and_keeps_it(
    household: Household, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(household.home))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)

    code = await asyncio.to_thread(COMMAND.run, DoctorOptions(prove=True), household.root)

    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert [line.split()[0] for line in lines[:-1]] == ["ok"] * (len(lines) - 1)
    assert lines[-1] == f"{len(lines) - 1} ok, 0 to know about, 0 to repair"
    assert find_proof(household.environ) is not None


async def test_without_a_sandbox_there_is_nothing_to_prove(household: Household) -> None:
    [finding] = await report_proof({**household.environ, "PATH": str(household.home)})

    assert finding.state is FindingState.FAIL
    assert find_proof(household.environ) is None


def test_the_stages_of_killed_proofs_are_removed_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("quorum-proof-old", "quorum-proof-new", "quorum-proofs", "elsewhere"):
        (tmp_path / name / "home").mkdir(parents=True)
    (tmp_path / "quorum-proof-link").symlink_to(tmp_path / "elsewhere")
    for name in ("quorum-proof-old", "quorum-proofs", "elsewhere"):
        os.utime(tmp_path / name, (0, 0))

    remove_abandoned_stages(time.time())

    left = {"quorum-proof-new", "quorum-proofs", "quorum-proof-link", "elsewhere"}
    assert set(os.listdir(tmp_path)) == left
    assert (tmp_path / "elsewhere" / "home").is_dir()


async def test_a_temporary_folder_that_cannot_hold_it_is_a_finding(
    household: Household, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))

    [finding] = await report_proof(household.environ)

    assert finding.state is FindingState.FAIL
    assert str(tmp_path / "gone") in finding.remedy

"""The profile of macOS as text. What it does there is shown by `quorum doctor --prove` on a Mac, not here."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from quorum.domain.shell.sandbox import SandboxOff, SandboxOn
from quorum.infrastructure.execution.sandbox import preflight, seatbelt
from quorum.infrastructure.execution.sandbox.seatbelt import VisiblePlaces, render_profile
from tests.infrastructure.sandbox.sandbox_bench import Household, a_repository

_PLACES = VisiblePlaces(
    writable=("/Users/a/project", "/opt/cache"),
    hidden=("/Users/a", "/private/tmp"),
    visible=("/Users/a/.cargo/bin",),
    locked=("/Users/a/project/.git", "/Users/a/project/deep/down/AGENTS.md"),
    masked=("/Users/a/.ssh", "/Users/a/project/.env"),
)


def last_rule(profile: str, operation: str, path: str) -> str:
    """What the last rule that speaks of a path answers: how the system reads a profile."""
    answer = "allow"
    for rule in re.findall(r"^\((allow|deny) (.*(?:\n  .*)*)\)$", profile, re.MULTILINE):
        words, *filters = rule[1].split("\n  ")
        if not any(fnmatchcase(operation, name) for name in words.split()):
            continue
        if not filters or any(_speaks_of(each, path) for each in filters):
            answer = rule[0]
    return answer


def _speaks_of(filter_: str, path: str) -> bool:
    place = re.fullmatch(r'\((subpath|literal|regex) #?"(.*)"\)', filter_)
    match place and place.groups():
        case ("regex", pattern):
            return re.search(pattern, path) is not None
        case ("subpath", above):
            return path == above or path.startswith(f"{above}/")
        case ("literal", named):
            return path == named
    return False


@pytest.mark.parametrize(
    ("operation", "path", "answer"),
    [
        ("file-write-data", "/Users/a/project/src/x", "allow"),
        ("file-write-data", "/opt/cache/x", "allow"),
        ("file-write-data", "/dev/null", "allow"),
        ("file-write-data", "/usr/local/x", "deny"),
        ("file-write-data", "/Users/a/.zshrc", "deny"),
        ("file-write-data", "/private/tmp/x", "deny"),
        ("file-write-data", "/Users/a/.cargo/bin/x", "deny"),
        ("file-write-data", "/Users/a/project/.git/hooks/x", "deny"),
        ("file-write-unlink", "/Users/a/project/.git", "deny"),
        ("file-write-unlink", "/Users/a/project/deep", "deny"),
        ("file-write-unlink", "/Users/a/project/deep/down", "deny"),
        ("file-write-unlink", "/Users/a/project", "deny"),
        ("file-write-unlink", "/Users/a/project/other", "allow"),
        ("file-link", "/Users/a/project/.git/config", "deny"),
        ("file-link", "/Users/a/project/.env", "deny"),
        ("file-read-data", "/usr/lib/x", "allow"),
        ("file-read-data", "/Users/a/project/src/x", "allow"),
        ("file-read-data", "/Users/a/.cargo/bin/cargo", "allow"),
        ("file-read-data", "/Users/a/Documents/x", "deny"),
        ("file-read-data", "/Users/a", "deny"),
        ("file-read-metadata", "/Users/a", "allow"),
        ("file-read-metadata", "/Users/a/Documents/x", "deny"),
        ("file-read-data", "/Users/a/.ssh/id_ed25519", "deny"),
        ("file-read-data", "/Users/a/project/.env", "deny"),
        ("file-read-data", "/dev/ttys003", "deny"),
        ("file-ioctl", "/dev/ttys003", "deny"),
        ("file-read-data", "/dev/rdisk0", "deny"),
        ("file-write-data", "/dev/tty", "allow"),
        ("file-read-data", "/dev/urandom", "allow"),
        ("iokit-open", "anything", "deny"),
        ("network-outbound", "/private/var/run/docker.sock", "deny"),
        ("network-bind", "/Users/a/project/own.sock", "allow"),
        ("mach-lookup", "anything", "deny"),
        ("job-creation", "anything", "deny"),
        ("appleevent-send", "anything", "deny"),
    ],
)
def test_the_last_rule_about_a_place_says_what_bubblewrap_mounts(
    operation: str, path: str, answer: str
) -> None:
    assert last_rule(render_profile(_PLACES, network=False), operation, path) == answer


def test_with_the_network_on_only_that_differs() -> None:
    off, on = (render_profile(_PLACES, network=network).splitlines() for network in (False, True))

    assert any("network" in line for line in set(off) - set(on))
    assert all("network" in line or "project" in line or "cache" in line for line in set(off) - set(on))
    assert not any("network" in line for line in on)


def test_a_folder_for_temporary_files_is_open_wherever_it_lies() -> None:
    places = VisiblePlaces(writable=("/w",), hidden=("/Users/a",), masked=("/Users/a/state",))
    profile = render_profile(places, network=False, tmp="/Users/a/state/sandbox/tmp")

    assert last_rule(profile, "file-write-data", "/Users/a/state/sandbox/tmp/x") == "allow"
    assert last_rule(profile, "file-read-data", "/Users/a/state/ledger") == "deny"


def test_names_of_paths_are_text_and_no_rules() -> None:
    profile = render_profile(VisiblePlaces(writable=('/w") (allow default) ("\\',), hidden=()), network=False)

    assert '(subpath "/w\\") (allow default) (\\"\\\\")' in profile
    with pytest.raises(ValueError, match="control characters"):
        render_profile(VisiblePlaces(writable=("/w\n",), hidden=()), network=False)


def test_one_description_of_places_makes_mounts_and_rules(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_repository(household.root)
    household.write("src/project/.env")
    household.write(".ssh/id_ed25519")
    sandbox = household.sandbox()
    state = SandboxOn(program=seatbelt.PROGRAM, version="sandbox-exec")
    monkeypatch.setattr(sandbox, "_state", state)
    household.network = False

    launch = sandbox.confine().launch(("/bin/echo", "x"), cwd=household.root, environment=household.environ)

    program, flag, profile, *rest = launch.argv
    assert (program, flag, rest[0], rest[-2:]) == (seatbelt.PROGRAM, "-p", "/usr/bin/env", ["/bin/echo", "x"])
    for operation, path, answer in (
        ("file-write-data", household.root / "new", "allow"),
        ("file-write-data", household.root / ".git" / "config", "deny"),
        ("file-read-data", household.root / ".env", "deny"),
        ("file-read-data", household.home / ".ssh" / "id_ed25519", "deny"),
        ("file-write-data", household.home / ".profile", "deny"),
    ):
        assert last_rule(profile, operation, str(path)) == answer, path


@pytest.mark.parametrize(
    ("exit_code", "missing", "why"),
    [
        (0, "", None),
        (0, "the sandbox was not proven", "the sandbox was not proven"),
        (1, "", "sandbox-exec does not work here: "),
    ],
)
def test_the_sandbox_of_macos_counts_where_it_works_and_was_proven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exit_code: int, missing: str, why: str | None
) -> None:
    program = tmp_path / "sandbox-exec"
    program.write_text(f"#!/bin/sh\nexit {exit_code}\n")
    program.chmod(0o755)
    monkeypatch.setattr(seatbelt, "PROGRAM", str(program))
    monkeypatch.setattr(preflight.sys, "platform", "darwin")

    state = preflight.look_for_sandbox(None, explain_missing_proof=lambda: missing)

    if why is None:
        assert isinstance(state, SandboxOn)
    else:
        assert isinstance(state, SandboxOff)
        assert state.why.startswith(why)

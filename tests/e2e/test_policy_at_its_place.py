"""The managed policy at the place where an administrator puts it, in a mount namespace of the test's own."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from quorum.infrastructure.config.policy_file import POLICY_PLACE
from tests.support.headless_run import configure
from tests.support.policy_namespace import Namespace, open_namespace

POLICY = 'review.modes = ["ask"]\nreview.guards = ["network"]\nagent.max_tool_turns = 5\n'
SETTINGS = (
    '[review]\nmode = "auto"\n[agent]\nmax_tool_turns = 50\n[[guards]]\nname = "network"\nenabled = false\n'
)


@pytest.fixture
def namespace(tmp_path: Path) -> Namespace:
    made = open_namespace(tmp_path, POLICY)
    configure(made.home, SETTINGS)
    return made


def test_a_file_of_root_is_obeyed_and_named(namespace: Namespace) -> None:
    done = namespace.run("config", "show")

    assert done.returncode == 0, done.stderr
    printed = done.stdout + done.stderr
    assert "/etc/quorum/requirements.toml:1: review.modes allows only ask, read-only, not auto" in printed
    assert "/etc/quorum/requirements.toml:2: review.guards demands the guard network" in printed
    assert re.search(r"^agent.max_tool_turns = 5 +# /etc/quorum/requirements.toml$", done.stdout, re.MULTILINE)
    assert not POLICY_PLACE.file.exists()


def foreign_file(tmp_path: Path) -> Path:
    """A file that is not of root, as the namespace sees it."""
    if os.geteuid():
        return Path("/etc/passwd")  # its owner, the root outside, is somebody else inside
    made = tmp_path / "foreign.toml"
    made.write_text(POLICY)
    os.chown(made, 54_321, 54_321)
    return made


@pytest.mark.long
def test_a_file_of_somebody_else_is_refused_and_no_session_begins(namespace: Namespace, tmp_path: Path) -> None:
    for arguments in (("run", "list ."), ("config", "show")):
        done = namespace.run(*arguments, policy=foreign_file(tmp_path))

        assert done.returncode == 2, done.stdout
        assert "/etc/quorum/requirements.toml is not owned by root, so" in done.stderr
        assert "nothing is started without it" in done.stderr


@pytest.mark.long
def test_a_file_that_others_can_write_is_refused(namespace: Namespace) -> None:
    namespace.policy.chmod(0o666)

    done = namespace.run("run", "list .")

    assert done.returncode == 2, done.stdout
    assert "can be written by others than its owner" in done.stderr


@pytest.mark.long
def test_a_run_is_held_to_it_whatever_its_options_say(namespace: Namespace) -> None:
    done = namespace.run("run", "list .", "--mode", "auto")

    assert done.returncode == 0, done.stderr
    assert "review.modes allows only ask, read-only, not auto; review.mode (flag) is now ask" in done.stderr

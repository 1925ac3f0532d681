"""What makes a gate that is loaded read its settings anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quorum.infrastructure.config.policy_file import PolicyPlace
from quorum.infrastructure.gate.hook_files import read_settings_state
from tests.support.gate_rig import GateRig


def test_the_managed_policy_is_among_what_is_compared(
    rig: GateRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "requirements.toml"
    monkeypatch.setattr("quorum.infrastructure.gate.hook_files.POLICY_PLACE", PolicyPlace(policy, os.getuid()))
    states = [read_settings_state(rig.root, None)]
    for text in ('[review]\nmode = "ask"\n', '[review]\nmode = "read-only"\n'):
        policy.write_text(text)
        states.append(read_settings_state(rig.root, None))

    assert len(set(states)) == 3


@pytest.mark.parametrize("name", ["quorum.toml", "permissions.toml"])
def test_contents_count_where_size_and_times_are_the_same(rig: GateRig, name: str) -> None:
    rig.configure("")
    file = rig.home / "config" / "quorum" / name
    file.write_text("# a\n")
    before, former = read_settings_state(rig.root, None), file.stat()
    with file.open("r+") as opened:
        opened.write("# b\n")
    os.utime(file, ns=(former.st_atime_ns, former.st_mtime_ns))

    assert read_settings_state(rig.root, None) != before


def test_without_a_change_the_state_is_the_same(rig: GateRig) -> None:
    rig.configure("# a\n")

    assert read_settings_state(rig.root, None) == read_settings_state(rig.root, None)

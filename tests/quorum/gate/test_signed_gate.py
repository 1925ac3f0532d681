"""Calls of other agents that people have to sign: no answer of the agent's own person stands in for them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from quorum.infrastructure.config.policy_file import PolicyPlace
from tests.support.gate_rig import GateRig

POLICY = """
[people.bob]
keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINPD0C7N+0B9JHQs8xOL7LTZD/tgHt1LzyTpHaCzaD4u bob"]
[[signatures]]
calls = ["run_command(deploy *)"]
needed = 1
"""


@pytest.fixture
def signed(rig: GateRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GateRig:
    """The rig, on a machine whose policy has people sign what deploys."""
    file = tmp_path / "etc" / "requirements.toml"
    file.parent.mkdir()
    file.write_text(POLICY)
    for path in (tmp_path, file.parent, file):
        path.chmod(path.stat().st_mode & ~0o022)
    place = PolicyPlace(file, owner=os.getuid())
    monkeypatch.setattr("quorum.infrastructure.config.policy_file.POLICY_PLACE", place)
    return rig


def test_a_call_that_nobody_signs_in_time_is_denied_and_the_reason_says_who_has_to(signed: GateRig) -> None:
    answer = signed.own("run_command", "--timeout", "1", command="deploy now")

    assert answer.json["decision"] == "deny"
    (reason,) = answer.json["reasons"]
    assert "it takes the signatures of 2 of bob" in reason
    assert "within the time of the gate: quorum inbox approve " in reason


def test_what_cannot_be_decided_is_denied_where_people_sign_calls(signed: GateRig) -> None:
    call = signed.payload("Bash", command=1)

    answer = signed.send(json.dumps(call).encode())

    assert answer.permission == "deny"
    assert "may be one of them" in answer.reason


def test_what_nobody_has_to_sign_is_still_asked_about(signed: GateRig) -> None:
    assert signed.claude("Bash", command="touch a").permission == "ask"

"""Calls that people sign, in sessions that somebody submitted: the worker's account does not tell who asked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quorum.command_line.options import SessionOptions
from quorum.domain.review.people import PeoplePolicy
from quorum.domain.review.signing import SigningTerms
from quorum.fleet.advance import load_for_fleet
from quorum.infrastructure.answerer import find_account
from quorum.infrastructure.config.policy_file import PolicyPlace
from quorum.infrastructure.permissions.signing import list_askers
from quorum.settings import load

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI"
POLICY = f"""
[people.ada]
keys = ["{KEY}Oa9tupNBz5NSsgvs6JqNSq8R7U3Dzn5/GsDL0oxpwM5"]
[people.bob]
keys = ["{KEY}NPD0C7N+0B9JHQs8xOL7LTZD/tgHt1LzyTpHaCzaD4u"]
accounts = ["{find_account()}"]
[people.cyn]
keys = ["{KEY}L0/aaEqDpgVYQ2MqhT13jDYLm3TMS3Tzf2gxATGE3CF"]
[[signatures]]
calls = ["run_command(deploy *)"]
needed = 2
"""


def test_the_person_of_the_worker_is_not_taken_for_who_submitted_so_one_more_signs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "etc" / "requirements.toml"
    file.parent.mkdir()
    file.write_text(POLICY)
    for path in (tmp_path, file.parent, file):
        path.chmod(path.stat().st_mode & ~0o022)
    place = PolicyPlace(file, owner=os.getuid())
    monkeypatch.setattr("quorum.infrastructure.config.policy_file.POLICY_PLACE", place)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    people = load(SessionOptions(workdir=tmp_path), tmp_path).policy.people
    spoke = [f"rule {people.rules[0].rule.id}"]

    def find_terms(people: PeoplePolicy) -> SigningTerms | None:
        return people.find_terms(spoke, list_askers(people, None)())

    by_hand = find_terms(people)
    submitted = find_terms(load_for_fleet(SessionOptions(), tmp_path).policy.people)

    assert by_hand is not None
    assert submitted is not None
    assert by_hand.describe() == "it takes the signatures of ada, cyn; bob asked for it and does not count"
    assert submitted.describe() == (
        "it takes the signatures of ada, bob, cyn; 1 more than the policy says, as it is not known who asked"
    )
    assert not submitted.is_met(["ada", "cyn"])  # ada may have submitted it

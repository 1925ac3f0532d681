"""Who is who, and what people have to sign, as the managed policy says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from quorum.domain.review.people import PeoplePolicy
from quorum.infrastructure.config.policy_file import parse_policy
from quorum.infrastructure.config.toml_file import TomlFile
from tests.domain.test_public_keys import write_key

ADA = f"{write_key('ssh-ed25519', bytes(32))} ada@laptop"
BOB = f"{write_key('sk-ssh-ed25519@openssh.com', bytes(32), b'ssh:')} bob"
RSA, SAME_RSA = (write_key("ssh-rsa", b"\1\0\1", zeros + b"\x9a" * 256) for zeros in (b"\0", b"\0\0\0"))
PEOPLE = f'[people.ada]\nkeys = ["{ADA}"]\naccounts = ["ada"]\n[people.bob]\nkeys = ["{BOB}"]\n'
RULE = '[[signatures]]\ncalls = ["run_command(deploy *)", "write_file(infra/**)"]\nneeded = 1\n'


def read(folder: Path, text: str) -> PeoplePolicy:
    file = folder / "requirements.toml"
    file.write_text(text)
    return parse_policy(TomlFile.read(file)).people


def test_calls_are_bound_to_people_and_all_are_meant_where_none_is_named(tmp_path: Path) -> None:
    policy = read(tmp_path, PEOPLE + RULE)

    assert [(each.rule.text, each.needed, each.people) for each in policy.rules] == [
        ("run_command(deploy *)", 1, ("ada", "bob")),
        ("write_file(infra/**)", 1, ("ada", "bob")),
    ]
    assert policy.find_person("ada") == "ada"
    assert policy.find_person("root") == ""


def test_such_calls_are_asked_about_in_every_mode(tmp_path: Path) -> None:
    file = tmp_path / "requirements.toml"
    file.write_text('permissions.ask = ["web_fetch"]\n' + PEOPLE + RULE)

    bounds = [each for each in parse_policy(TomlFile.read(file)).bounds if each.path == ("permissions", "ask")]

    assert [each.value for each in bounds] == [
        ("web_fetch",),
        ("run_command(deploy *)", "write_file(infra/**)"),
    ]


def test_keys_end_with_the_day_that_is_named_and_a_revoked_one_is_none(tmp_path: Path) -> None:
    text = f'[people.ada]\nkeys = ["{ADA}", "{BOB}"]\nrevoked = ["{BOB[:-4]}"]\nexpires = 2027-06-30\n'
    ada = read(tmp_path, text).people["ada"]

    assert ada.keys == (ADA,)
    assert ada.expires_ms == 1_814_400_000_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PEOPLE + RULE.replace("needed = 1", "needed = 3"), "needed = 3, and 2 people are named"),
        (PEOPLE + RULE.replace("needed = 1", "needed = 0"), "signatures must be"),
        (PEOPLE + RULE + 'people = ["cyn"]\n', r"people names cyn, of whom there is no \[people.NAME\]"),
        (PEOPLE + RULE.replace("deploy *)", "deploy *"), "is no rule"),
        (PEOPLE.replace(ADA, "ssh-ed25519"), "people must be tables of people"),
        (PEOPLE.replace(BOB, ADA), "people.bob and people.ada have the same key SHA256:"),
        (PEOPLE.replace(BOB, f"{ADA.split(' ada')[0]}= bob"), "have the same key SHA256:"),
        (PEOPLE.replace(ADA, RSA).replace(BOB, SAME_RSA), "have the same key SHA256:"),
        (PEOPLE + f'revoked = ["{ADA}"]\n', "people.bob and people.ada have the same key SHA256:"),
        (PEOPLE.replace(ADA, f"ssh-ed25519 {'A' * 68}"), "people.ada: .* is no public key"),
        (PEOPLE.replace(ADA, write_key("ssh-ed25519-cert-v01@openssh.com", bytes(40))), "is no public key"),
        (PEOPLE + 'accounts = ["ada"]\n', "have the same account ada"),
        (PEOPLE + "admin = true\n", "people must be tables of people"),
        (RULE, "needed = 1, and 0 people are named"),
    ],
)
def test_what_cannot_be_meant_is_an_error(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read(tmp_path, text)

from __future__ import annotations

import base64
import os
import ssl
import sys
from pathlib import Path

import pytest
from msgspec import Struct

from quorum.infrastructure.execution.network import command_secrets
from quorum.infrastructure.execution.network.command_secrets import (
    CERTIFICATES_IN_SANDBOX,
    CommandSecrets,
    HandedSecrets,
    make_placeholder,
)

VALUE = "ghp_realrealrealreal0001"


class Table(Struct, frozen=True):
    hosts: tuple[str, ...] = ("api.example.org",)
    command: tuple[str, ...] = ()


def hand_over(tmp_path: Path, value: str = VALUE, **tables: Table) -> HandedSecrets:
    given = CommandSecrets(tables or {"TOKEN": Table()}, {"TOKEN": value, "PATH": "/usr/bin:/bin"})
    return given.hand_over(lambda: str(tmp_path))


@pytest.mark.parametrize(
    ("value", "beginning"),
    [
        (VALUE, "ghp_"),
        ("sk-ant-api03-Ab1Cd2Ef3Gh4Ij5Kl6", "sk-ant-api03-"),
        ("0123456789abcdef0123456789abcdef", ""),
        ("a-b.c_d" * 8, ""),
    ],
)
def test_a_placeholder_has_the_form_of_the_secret_and_nothing_else_of_it(value: str, beginning: str) -> None:
    made = make_placeholder(value)

    assert len(made) == len(value)
    assert made.startswith(beginning)
    assert made != value != make_placeholder(value)
    assert [each.isdigit() for each in made] == [each.isdigit() for each in value]


def test_a_short_secret_has_a_placeholder_that_turns_up_nowhere_by_chance() -> None:
    assert make_placeholder("12345678").startswith("placeholder-")


def test_a_command_is_handed_the_placeholder_and_whom_to_trust(tmp_path: Path) -> None:
    handed = hand_over(tmp_path)
    variables = dict(handed.variables)

    assert variables["TOKEN"] == handed.secrets[0].placeholder != VALUE
    assert variables["SSL_CERT_FILE"] == variables["GIT_SSL_CAINFO"] == CERTIFICATES_IN_SANDBOX
    assert handed.mounts == ("--ro-bind", str(tmp_path / "certificates.pem"), CERTIFICATES_IN_SANDBOX)
    trusted = ssl.create_default_context(cafile=handed.mounts[1]).get_ca_certs()
    assert len(trusted) > 1


def test_value_and_placeholder_are_learnt_before_a_command_has_them(tmp_path: Path) -> None:
    learnt: list[tuple[str, str]] = []
    given = CommandSecrets({"TOKEN": Table()}, {"TOKEN": VALUE}, lambda *what: learnt.append(what))

    handed = given.hand_over(lambda: str(tmp_path))

    assert learnt == [("TOKEN", VALUE), ("TOKEN", handed.secrets[0].placeholder)]
    assert VALUE not in repr(handed)


def test_all_commands_of_a_session_have_the_same_placeholder(tmp_path: Path) -> None:
    given = CommandSecrets({"TOKEN": Table()}, {"TOKEN": VALUE})

    first, second = (given.hand_over(lambda: str(tmp_path)) for _ in range(2))

    assert first == second


def test_a_program_can_print_the_secret(tmp_path: Path) -> None:
    program = (sys.executable, "-c", "print('printed-secret-0001')")

    assert hand_over(tmp_path, KEY=Table(command=program)).secrets[0].value == "printed-secret-0001"


@pytest.mark.parametrize(
    ("table", "value", "said"),
    [
        (Table(), "", "set the variable TOKEN for quorum"),
        (Table(), "short", "it must be one word of 8 to 4096 visible characters"),
        (Table(), "two words of it", "it must be one word"),
        (Table(), "line-one\r\nX: evil", "it must be one word"),
        (Table(command=("no-such-program",)), VALUE, "no-such-program"),
        (Table(command=("sh", "-c", "echo secret-0001; exit 3")), VALUE, "its command exited with 3"),
        (Table(command=("true",)), VALUE, "it is empty"),
    ],
)
def test_a_secret_that_cannot_be_had_is_said_with_the_setting_and_nothing_of_it(
    tmp_path: Path, table: Table, value: str, said: str
) -> None:
    handed = hand_over(tmp_path, value, TOKEN=table)

    assert handed.secrets == handed.mounts == ()
    [gap] = handed.gaps
    assert said in gap
    assert "tools.run_command.secrets.TOKEN" in gap
    assert "secret-0001" not in gap


def test_a_program_that_fails_is_not_waited_for_with_each_command(tmp_path: Path) -> None:
    runs, now = tmp_path / "runs", [0.0]
    program = ("sh", "-c", f"echo >> {runs}; exit 3")
    given = CommandSecrets({"TOKEN": Table(command=program)}, os.environ, clock=lambda: now[0])

    first, second = (given.hand_over(lambda: str(tmp_path)).gaps for _ in range(2))
    assert first == second
    assert runs.read_text() == "\n"

    now[0] = 61.0
    assert given.hand_over(lambda: str(tmp_path)).gaps == first
    assert runs.read_text() == "\n\n"


def test_without_certificates_of_the_system_nothing_is_handed_over(tmp_path: Path) -> None:
    environ = {"TOKEN": VALUE, "SSL_CERT_FILE": str(tmp_path / "none")}

    handed = CommandSecrets({"TOKEN": Table()}, environ).hand_over(lambda: str(tmp_path))

    assert handed.secrets == ()
    assert "install ca-certificates, or set SSL_CERT_FILE" in handed.gaps[0]


def test_certificates_that_were_cleared_away_are_written_again(tmp_path: Path) -> None:
    given = CommandSecrets({"TOKEN": Table()}, {"TOKEN": VALUE})
    first = given.hand_over(lambda: str(tmp_path))
    Path(first.file).unlink()

    again = given.hand_over(lambda: str(tmp_path))

    assert Path(again.file).is_file()
    assert again.secrets == first.secrets


def test_a_program_that_hangs_is_not_waited_for_by_each_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_secrets, "_COMMAND_SECS", 1)
    ran, now = tmp_path / "ran", [0.0]
    table = Table(command=("sh", "-c", f"echo . >> {ran}; exec sleep 60"))
    given = CommandSecrets({"TOKEN": table}, {"PATH": "/usr/bin:/bin"}, clock=lambda: now[0])

    gaps = [given.hand_over(lambda: str(tmp_path)).gaps for _ in range(2)]
    assert gaps[0] == gaps[1]
    assert "took longer" in gaps[0][0]
    assert ran.read_text() == ".\n"

    now[0] = 61.0
    given.hand_over(lambda: str(tmp_path))
    assert ran.read_text() == ".\n.\n"


def test_a_command_without_the_proxy_is_told_what_it_takes() -> None:
    assert CommandSecrets({}).list_gaps() == ()
    assert "a list of hosts in tools.run_command.network" in CommandSecrets({"TOKEN": Table()}).list_gaps()[0]


def test_a_secret_is_put_in_for_its_own_host_and_port_alone(tmp_path: Path) -> None:
    handed = hand_over(tmp_path, TOKEN=Table(hosts=("api.example.org", "*.example.net:8443")))
    word = b"token " + handed.secrets[0].placeholder.encode()

    assert handed.put_in(word, "api.example.org", 443) == (b"token " + VALUE.encode(), ("TOKEN",))
    assert handed.put_in(word, "a.example.net", 8443)[1] == ("TOKEN",)
    for host, port in (("example.org", 443), ("a.example.net", 443), ("api.example.org", 8080)):
        assert handed.put_in(word, host, port) == (word, ())
        assert not handed.list_for(host, port)


def test_a_placeholder_is_found_as_it_is_and_in_a_login(tmp_path: Path) -> None:
    handed = hand_over(tmp_path)
    word = handed.secrets[0].placeholder.encode()

    assert handed.find_held([b"a", b"x=" + word]) == "TOKEN"
    assert handed.find_held([b"Basic " + base64.b64encode(b"me:" + word)]) == "TOKEN"
    assert handed.find_held([b"Authorization: Basic " + base64.b64encode(b"me:" + word)]) == "TOKEN"
    assert handed.find_held([b"Basic bm90aGluZw==", b""]) is None

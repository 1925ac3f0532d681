"""The files of the guides that run services: they are valid, open to nobody else, and name what exists."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from quorum.command_line.reading import parse
from quorum.infrastructure.config.loading import list_setting_values, load_settings
from quorum.infrastructure.config.toml_text import parse_key_path
from quorum.infrastructure.store.postgres import fleet
from quorum.infrastructure.store.postgres.address import parse_address

FILE = Path(__file__).parents[2] / "docs" / "compose.yaml"
GUIDE = FILE.with_name("beyond-one-machine.md")
UNIT = FILE.with_name("quorum-fleet.service")
FLEETS = FILE.with_name("fleets.md")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return loaded


def published_ports(compose: dict[str, Any]) -> set[str]:
    """What is published, each as ADDRESS:PORT."""
    ports = [port for service in compose["services"].values() for port in service["ports"]]
    return {port.rpartition(":")[0] for port in ports}


def test_what_quorum_is_told_are_settings_that_exist_and_lead_to_the_services(compose, tmp_path):
    told = compose["x-quorum"]

    loaded = load_settings(cwd=tmp_path, environ={"HOME": str(tmp_path), **told}, overrides={})

    values = dict(list_setting_values(loaded.settings))
    for name, value in told.items():
        key = name.removeprefix("QUORUM_").lower().replace("__", ".")
        assert values[parse_key_path(key)] == value
        assert urlsplit(value).netloc.rpartition("@")[2] in published_ports(compose)


def test_the_database_is_the_one_that_the_ledger_is_started_with(compose):
    address = parse_address(compose["x-quorum"]["QUORUM_STORAGE__URL"])
    environment = compose["services"]["ledger"]["environment"]

    assert (address.user, address.database) == (environment["POSTGRES_USER"], environment["POSTGRES_DB"])
    assert environment["POSTGRES_PASSWORD"].startswith("${PGPASSWORD:?")
    assert "UTF8" in environment["POSTGRES_INITDB_ARGS"]


def test_services_are_reached_from_this_machine_alone_and_their_versions_are_named(compose):
    assert all(port.startswith("127.0.0.1:") for port in published_ports(compose))
    for service in compose["services"].values():
        assert re.fullmatch(r"[a-z/-]+:\d+(\.\d+)*", service["image"])
        for volume in service.get("volumes", ()):
            assert volume.partition(":")[0] in compose["volumes"]
        for config in service.get("configs", ()):
            yaml.safe_load(compose["configs"][config["source"]]["content"])


def test_the_guide_names_the_file():
    assert "[`compose.yaml`](compose.yaml)" in GUIDE.read_text(encoding="utf-8")


def test_the_unit_of_a_worker_signals_only_the_worker_and_waits_for_its_sessions():
    unit = ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(UNIT.read_text(encoding="utf-8"))

    service = unit["Service"]
    assert service["KillMode"] == "mixed"
    assert float(service["TimeoutStopSec"]) > fleet._GRACE_SECS
    assert service["OOMPolicy"] == "continue"
    program, *arguments = shlex.split(service["ExecStart"])
    assert Path(program).name == "quorum"
    assert parse(arguments).path == ("fleet", "work")
    assert "[`quorum-fleet.service`](quorum-fleet.service)" in FLEETS.read_text(encoding="utf-8")


@pytest.mark.long
def test_compose_itself_takes_the_file():
    docker = shutil.which("docker")
    asked = [str(docker), "compose", "version"]
    if docker is None or subprocess.run(asked, capture_output=True, timeout=60, check=False).returncode:
        pytest.skip("docker compose is not installed")

    done = subprocess.run(
        [docker, "compose", "--profile", "telemetry", "-f", FILE, "config", "--quiet"],
        env={"PATH": str(Path(docker).parent), "PGPASSWORD": "x"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr

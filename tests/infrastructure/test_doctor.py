import asyncio
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from domain.errors import ConfigError
from infrastructure.doctor import Finding, FindingState, diagnose, render_findings
from tests.support.settings_machine import Machine

OK, WARN, FAIL = FindingState.OK, FindingState.WARN, FindingState.FAIL


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.environ |= {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    return machine


async def _findings(machine: Machine, *, probe: bool = False) -> dict[str, Finding]:
    found = await diagnose(machine.load(), machine.environ, probe=probe)
    return {finding.name: finding for finding in found}


async def test_with_nothing_configured_it_says_that_no_model_works_and_how_to_get_one(machine: Machine):
    model = (await _findings(machine))["model"]

    assert model.state is WARN
    assert "no model" in model.text
    assert "ANTHROPIC_API_KEY" in (model.remedy or "")


async def test_a_key_is_found_but_never_told(machine: Machine):
    machine.environ["ANTHROPIC_API_KEY"] = "sk-ant-very-secret"

    findings = await _findings(machine)

    assert findings["model"].state is OK
    assert findings["key"] == Finding("key", OK, "ANTHROPIC_API_KEY is set")
    assert findings["sdk"].state is OK
    assert "very-secret" not in render_findings(tuple(findings.values()))


async def test_a_missing_key_fails_with_its_remedy(machine: Machine):
    machine.user('models.decision = "openai/m"')

    key = (await _findings(machine))["key"]

    assert key.state is FAIL
    assert "export OPENAI_API_KEY=" in (key.remedy or "")


async def test_a_server_on_this_machine_wants_no_key(machine: Machine):
    machine.user('models.decision = "openai/m"\nproviders.openai.base_url = "http://127.0.0.1:1/v1"')

    assert (await _findings(machine))["key"].state is OK


async def test_a_model_that_cannot_be_chosen_is_a_finding_and_no_crash(machine: Machine):
    machine.user('models.decision = "nobody/m"')

    findings = await _findings(machine)

    assert findings["model"].state is FAIL
    assert "nobody" in findings["model"].text
    assert "git" in findings


async def test_settings_that_do_not_load_are_a_finding_beside_all_others(machine: Machine):
    found = await diagnose(ConfigError("first\nsecond"), machine.environ)

    assert [f.text for f in found if f.state is FAIL] == ["first\nsecond"]
    assert {"python", "search", "git", "bash", "sandbox", "processes", "state"} <= {f.name for f in found}


async def test_what_a_project_file_may_not_is_a_warning(machine: Machine):
    machine.project('review.mode = "auto"')

    configuration = (await _findings(machine))["configuration"]

    assert configuration.state is WARN
    assert "may only choose a stricter mode" in configuration.text


async def test_a_listening_server_is_reached_and_sent_nothing(machine: Machine):
    received = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.set_result(await reader.read())
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        machine.user(f'models.decision = "openai/m"\nproviders.openai.base_url = "http://127.0.0.1:{port}/v1"')
        finding = (await _findings(machine, probe=True))["server"]
        sent = await asyncio.wait_for(received, 10)

    assert finding == Finding("server", OK, f"127.0.0.1:{port} accepts connections")
    assert sent == b""


async def test_a_server_that_is_not_there_fails(machine: Machine):
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    machine.user(f'models.decision = "openai/m"\nproviders.openai.base_url = "http://127.0.0.1:{port}/v1"')

    finding = (await _findings(machine, probe=True))["server"]

    assert finding.state is FAIL
    assert f"127.0.0.1:{port} cannot be reached" in finding.text


async def test_without_being_asked_it_connects_to_nobody(machine: Machine):
    machine.user('models.decision = "openai/m"')

    assert "server" not in await _findings(machine)


async def test_programs_that_are_not_on_the_path_are_told(machine: Machine, tmp_path: Path):
    machine.environ["PATH"] = str(tmp_path)

    findings = await _findings(machine)

    assert findings["git"].state is WARN
    assert findings["bash"].text == "not found; commands run in /bin/sh"
    assert findings["sandbox"].text == (
        "not used yet; commands run with your rights (bubblewrap is not installed)"
    )


async def test_the_sandbox_is_never_claimed(machine: Machine, tmp_path: Path):
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    machine.environ["PATH"] = str(tmp_path)

    sandbox = (await _findings(machine))["sandbox"]

    assert sandbox.state is WARN
    assert sandbox.text.startswith("not used yet; commands run with your rights")


async def test_the_state_folder_is_looked_at_and_not_made(machine: Machine):
    state = (await _findings(machine))["state"]

    assert state.state is OK
    assert not (machine.home / ".local").exists()


async def test_a_state_folder_below_a_file_cannot_be_written(machine: Machine):
    (machine.home / "file").write_text("")
    machine.environ["XDG_STATE_HOME"] = str(machine.home / "file")

    assert (await _findings(machine))["state"].state is FAIL


@pytest.mark.parametrize(
    ("variables", "state"),
    [
        ({"LANG": "de_DE.utf8"}, OK),
        ({"LC_ALL": "C", "LANG": "C.UTF-8"}, WARN),
        ({"LANG": ""}, WARN),
    ],
)
async def test_the_locale_that_counts_must_be_utf8(machine: Machine, variables: dict[str, str], state: str):
    machine.environ |= variables

    assert (await _findings(machine))["locale"].state == state


def test_a_terminal_is_measured_where_there_is_one():
    program = (
        "import asyncio, os\n"
        "from domain.errors import ConfigError\nfrom infrastructure.doctor import diagnose\n"
        "found = asyncio.run(diagnose(ConfigError('none'), os.environ))\n"
        "print(*(finding.text for finding in found if finding.name == 'terminal'))"
    )
    master, slave = pty.openpty()
    environ = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONUTF8": "1"}
    environ.pop("NO_COLOR", None)
    try:
        subprocess.run(["stty", "cols", "79", "rows", "24"], stdin=slave, check=True)
        root = Path(__file__).parents[2]
        subprocess.run([sys.executable, "-c", program], stdout=slave, env=environ, cwd=root, check=True)
        shown = os.read(master, 1000).decode()
    finally:
        os.close(master)
        os.close(slave)

    assert shown.strip() == "xterm-256color, 16 million colours, 79×24"


def test_findings_are_rendered_one_a_line_with_remedies_below():
    findings = (Finding("key", OK, "fine"), Finding("model", FAIL, "one\ntwo\x1b[2J", "do this"))

    assert render_findings(findings).splitlines() == [
        "ok    key    fine",
        "fail  model  one",
        "             two\\u001b[2J",
        "             → do this",
        "1 ok, 0 to know about, 1 to repair",
    ]

import asyncio
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from quorum.infrastructure.doctor.diagnosis import diagnose
from quorum.infrastructure.doctor.finding import Finding, FindingState, render_findings
from quorum.infrastructure.extras import render_install_command
from tests.infrastructure.sandbox.sandbox_bench import needs_bubblewrap
from tests.support.settings_machine import Machine

OK, WARN, FAIL = FindingState.OK, FindingState.WARN, FindingState.FAIL


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.environ |= {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    return machine


async def _findings(machine: Machine) -> dict[str, Finding]:
    found = await diagnose(machine.load(), machine.environ)
    return {finding.name: finding for finding in found}


def _provider(found: tuple[Finding, ...], name: str) -> Finding:
    return next(
        each for each in found if each.name == "provider" and each.text.startswith((f"{name}:", f"{name} "))
    )


async def test_with_nothing_configured_it_says_that_no_model_works_and_how_to_get_one(machine: Machine):
    model = (await _findings(machine))["model"]

    assert model.state is WARN
    assert "no model" in model.text
    assert "ANTHROPIC_API_KEY" in (model.remedy or "")


async def test_a_key_is_found_but_never_printed(machine: Machine):
    machine.environ["ANTHROPIC_API_KEY"] = "sk-ant-very-secret"

    found = await diagnose(machine.load(), machine.environ)

    assert {finding.name: finding for finding in found}["model"].state is OK
    assert _provider(found, "anthropic") == Finding(
        "provider", OK, "anthropic: ANTHROPIC_API_KEY is set, the package anthropic is installed"
    )
    assert "very-secret" not in render_findings(found)


async def test_a_missing_key_fails_with_its_remedy(machine: Machine):
    machine.user('models.decision = "openai/m"')

    assert _provider(await diagnose(machine.load(), machine.environ), "openai") == Finding(
        "provider",
        FAIL,
        "openai: OPENAI_API_KEY is not set",
        "export OPENAI_API_KEY=… with your key for openai, or `quorum keys set openai`",
    )


async def test_a_missing_key_fails_for_any_role(machine: Machine):
    machine.user('[models]\ndecision = "offline/offline"\nreview = ["openai/m"]')

    assert _provider(await diagnose(machine.load(), machine.environ), "openai").state is FAIL


async def test_what_a_provider_lacks_that_nothing_uses_is_no_fault(machine: Machine):
    openai = _provider(await diagnose(machine.load(), machine.environ), "openai")

    assert openai.state is OK
    assert openai.text == (
        "openai (no role uses it): OPENAI_API_KEY is not set; to use it: "
        "export OPENAI_API_KEY=… with your key for openai, or `quorum keys set openai`"
    )


async def test_what_a_provider_lacks_that_someone_set_up_is_to_be_known(machine: Machine):
    machine.user('[providers.work]\ntype = "anthropic"\napi_key_env = "WORK_KEY"\n[models]\nask = "openai/m"\n')
    machine.environ["OPENAI_API_KEY"] = "k"

    work = _provider(await diagnose(machine.load(), machine.environ), "work")

    assert (work.state, work.remedy) == (
        WARN,
        "export WORK_KEY=… with your key for work, or `quorum keys set work`",
    )


async def test_a_server_on_this_machine_wants_no_key(machine: Machine):
    machine.user('models.decision = "openai/m"\nproviders.openai.base_url = "http://127.0.0.1:1/v1"')

    assert _provider(await diagnose(machine.load(), machine.environ), "openai").state is OK


async def test_the_program_of_copilot_is_looked_for_on_the_path(machine: Machine, tmp_path: Path):
    machine.user('models.decision = "copilot/gpt"')
    machine.environ["PATH"] = str(tmp_path)
    missing = _provider(await diagnose(machine.load(), machine.environ), "copilot")
    program = tmp_path / "copilot"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    found = _provider(await diagnose(machine.load(), machine.environ), "copilot")

    assert (missing.state, missing.remedy) == (FAIL, "npm install -g @github/copilot")
    assert found == Finding(
        "provider", OK, f"copilot: the GitHub Copilot CLI is {program}, the package copilot is installed"
    )


@pytest.mark.parametrize(
    ("settings", "module", "extra", "state"),
    [
        ("", "keyring", "keyring", OK),
        ("", "html_to_markdown", "web", OK),
        ("tools.web.fetch = true", "html_to_markdown", "web", WARN),
        ('mcp.servers.x.command = ["x"]', "mcp", "mcp", WARN),
        ('models.decision = "copilot/gpt"', "copilot", "copilot", FAIL),
    ],
)
async def test_an_extra_that_is_not_installed_is_reported_with_the_command_that_installs_it(
    settings: str,
    module: str,
    extra: str,
    state: FindingState,
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
):
    machine.user(settings)
    installed = await diagnose(machine.load(), machine.environ)
    monkeypatch.setitem(sys.modules, module, None)

    missing = await diagnose(machine.load(), machine.environ)

    assert f"the extra {extra} is not installed" not in render_findings(installed)
    (reported,) = [each for each in missing if f"the extra {extra} is not installed" in each.text]
    assert reported.state is state
    assert render_install_command(extra) in f"{reported.text} {reported.remedy}"


@pytest.mark.parametrize(("client", "module"), [("bedrock", "boto3"), ("vertex", "google.auth")])
async def test_what_a_cloud_needs_is_looked_for_and_not_loaded(
    client: str, module: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
):
    machine.user(
        f'[models]\ndecision = "cloud/m"\n[providers.cloud]\ntype = "anthropic"\nclient = "{client}"\n'
    )
    monkeypatch.setitem(sys.modules, module, None)

    cloud = _provider(await diagnose(machine.load(), machine.environ), "cloud")

    assert cloud.state is FAIL
    assert f"the extra {client} is not installed (there is no Python package {module})" in cloud.text
    assert cloud.remedy == render_install_command(client)


async def test_what_a_cloud_must_know_is_asked_for(machine: Machine):
    machine.user('[models]\ndecision = "cloud/m"\n[providers.cloud]\ntype = "openai"\nclient = "azure"\n')

    cloud = _provider(await diagnose(machine.load(), machine.environ), "cloud")

    assert cloud.state is FAIL
    assert "provider cloud has no address; set base_url in [providers.cloud]" in cloud.text


async def test_a_cloud_that_could_be_asked_is_reported(machine: Machine):
    machine.user(
        '[models]\ndecision = "cloud/m"\n[providers.cloud]\ntype = "anthropic"\nclient = "bedrock"\n'
        'region = "eu-central-1"\n'
    )

    assert _provider(await diagnose(machine.load(), machine.environ), "cloud") == Finding(
        "provider", OK, "cloud: the extra bedrock is installed, the package anthropic is installed"
    )


@pytest.mark.long
def test_no_sdk_is_loaded_by_looking(machine: Machine):
    machine.user(
        '[models]\ndecision = "b/m"\nask = "v/m"\nmoderator = "copilot/m"\nreview = ["openai/m"]\n'
        '[providers.b]\ntype = "anthropic"\nclient = "bedrock"\n'
        '[providers.v]\ntype = "anthropic"\nclient = "vertex"\n'
    )
    program = (
        "import asyncio, os, sys\nfrom pathlib import Path\n"
        "from quorum.infrastructure.config.loading import load_settings\n"
        "from quorum.infrastructure.doctor.diagnosis import diagnose\n"
        "loaded = load_settings(cwd=Path(sys.argv[1]), environ=os.environ)\n"
        "found = asyncio.run(diagnose(loaded, os.environ))\n"
        "sdks = {'anthropic', 'openai', 'copilot', 'boto3', 'google.auth'}\n"
        "print(len(found) > 10, sdks & sys.modules.keys())"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program, str(machine.repository)],
        env=machine.environ,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )

    assert ended.stdout == "True set()\n"


async def test_a_model_that_cannot_be_chosen_is_a_finding_and_no_crash(machine: Machine):
    machine.user('models.decision = "nobody/m"')

    findings = await _findings(machine)

    assert findings["model"].state is FAIL
    assert "nobody" in findings["model"].text
    assert "git" in findings


async def test_settings_that_do_not_load_are_a_finding_beside_all_others(machine: Machine):
    found = await diagnose(ConfigError("first\nsecond"), machine.environ)

    assert [f.text for f in found if f.state is FAIL] == ["first\nsecond"]
    assert {"python", "search", "git", "bash", "sandbox", "mode staged", "processes", "state"} <= {
        f.name for f in found
    }


async def test_what_a_project_file_may_not_is_a_warning(machine: Machine):
    machine.project('review.mode = "auto"')

    configuration = (await _findings(machine))["configuration"]

    assert configuration.state is WARN
    assert "may only choose a stricter mode" in configuration.text


async def test_which_model_does_what_is_reported(machine: Machine):
    machine.user('[models]\ndecision = "openai/d"\nask = "openai/a"\nreview = ["openai/a", "openai/d"]')

    roles = (await _findings(machine))["roles"]

    assert roles == Finding(
        "roles",
        OK,
        "exploration, moderator, participants: as decision\nask: openai/a\ndecision_fallback: no model\n"
        "review: openai/a, openai/d",
    )


async def test_without_being_asked_it_connects_to_nobody(machine: Machine):
    connections = 0

    def count(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        writer.close()

    async with await asyncio.start_server(count, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        machine.user(f'models.decision = "openai/m"\nproviders.openai.base_url = "http://127.0.0.1:{port}/v1"')
        findings = await _findings(machine)

    assert "request" not in findings
    assert connections == 0


async def test_programs_that_are_not_on_the_path_are_reported(machine: Machine, tmp_path: Path):
    machine.environ["PATH"] = str(tmp_path)

    findings = await _findings(machine)

    assert findings["git"].state is WARN
    assert findings["bash"].text == "not found; commands run in /bin/sh"
    assert findings["sandbox"].state is WARN
    assert findings["sandbox"].text.endswith("; commands run with your rights")


async def test_a_sandbox_that_does_not_work_is_not_claimed(machine: Machine, tmp_path: Path):
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho bubblewrap 9; [ $# = 1 ]\n")
    program.chmod(0o755)
    machine.environ["PATH"] = str(tmp_path)

    sandbox = (await _findings(machine))["sandbox"]

    assert sandbox.state is WARN
    assert sandbox.text.endswith("; commands run with your rights")


async def test_a_sandbox_that_is_required_and_missing_is_to_be_repaired(machine: Machine, tmp_path: Path):
    machine.environ["PATH"] = str(tmp_path)
    machine.user('tools.run_command.sandbox = "require"')

    sandbox = (await _findings(machine))["sandbox"]

    assert sandbox.state is FAIL
    assert sandbox.text.endswith("; no command runs")
    assert sandbox.remedy


@needs_bubblewrap
async def test_a_sandbox_that_works_is_reported(machine: Machine):
    sandbox = (await _findings(machine))["sandbox"]

    assert sandbox.state is OK
    assert sandbox.text.startswith("bubblewrap ")


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


@pytest.mark.long
def test_a_terminal_is_measured_where_there_is_one():
    program = (
        "import asyncio, os\n"
        "from quorum.domain.errors import ConfigError\n"
        "from quorum.infrastructure.doctor.diagnosis import diagnose\n"
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


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("command", "state", "text"),
    [
        (["no-such-server"], FAIL, "checker does not start: "),
        ([str(Path(sys.executable).parent / "ruff"), "server"], OK, "checker starts, ruff "),
        (["false"], FAIL, "checker does not start: it ended with exit code 1"),
    ],
)
async def test_each_language_server_is_named_with_whether_it_starts(
    machine: Machine, command: list[str], state: FindingState, text: str
):
    machine.user(
        f'[lsp.checker]\ncommand = {json.dumps(command)}\nlanguages = ["python"]\n'
        '[tools.run_command]\nsandbox = "off"\n'
    )

    found = (await _findings(machine))["language server"]

    assert found.state is state
    assert found.text.startswith(text)
    assert (found.remedy is None) == (state is OK)


async def test_nothing_is_said_of_language_servers_where_none_is_on(machine: Machine):
    machine.user('[lsp.off]\ncommand = ["no-such-server"]\nlanguages = ["python"]\nenabled = false\n')
    machine.project('[lsp.theirs]\ncommand = ["no-such-server"]\nlanguages = ["python"]\n')

    assert "language server" not in await _findings(machine)


async def test_what_keeps_a_secret_from_commands_is_said_with_its_remedy(machine: Machine):
    machine.user(
        'tools.run_command.network = "on"\n[tools.run_command.secrets.FORGE]\nhosts = ["forge.example"]\n'
    )

    found = [each for each in await diagnose(machine.load(), machine.environ) if each.name == "secrets"]

    assert [(each.state, each.remedy) for each in found] == [
        (WARN, "give tools.run_command.network a list of hosts"),
        (WARN, "set it, or tools.run_command.secrets.FORGE.command"),
    ]


async def test_a_secret_that_commands_can_use_is_named_and_not_shown(machine: Machine):
    machine.environ["FORGE"] = "very-secret-0001"
    machine.user(
        'tools.run_command.network = ["forge.example"]\n'
        '[tools.run_command.secrets.FORGE]\nhosts = ["forge.example"]\n'
    )

    found = await diagnose(machine.load(), machine.environ)

    assert [each.state for each in found if each.name == "secrets"] == [OK]
    assert "very-secret" not in render_findings(found)

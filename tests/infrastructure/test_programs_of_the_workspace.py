"""Whatever quorum starts outside the sandbox by a bare name is none that a command of a session may write."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from quorum.application import program_lookup
from quorum.application.program_lookup import find_local_package, note_writable, pin_runner
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ConfigError, DiagnosticsFailed, HookFailure, ProviderError, ToolError
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.agents.channel import AgentChannel, ObeyedPlaces
from quorum.infrastructure.agents.launch import AgentLaunch, find_launch
from quorum.infrastructure.checking_command import CheckingCommand
from quorum.infrastructure.config.command_template import CustomToolDeclaration
from quorum.infrastructure.config.program_tables import McpServerTable
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.execution.status_command import StatusCommand, StatusCommandError
from quorum.infrastructure.hooks.command_hook import CommandHook
from quorum.infrastructure.mcp.transports import find_obstacle, open_transport
from quorum.infrastructure.models.copilot.launch import CliLaunch
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.tools.custom_tool import CustomTool
from quorum.tui.terminal.browser import open_address
from tests.support.hook_drafts import a_call_draft


class Machine:
    """A workspace whose `.venv/bin`, first on PATH, holds a program of any name; each notes that it ran."""

    def __init__(self, folder: Path) -> None:
        self.root, self.bin = folder / "work", folder / "bin"
        self.ran = folder / "ran"
        inside = self.root / ".venv/bin"
        inside.mkdir(parents=True)
        self.bin.mkdir()
        self.environ = {"PATH": os.pathsep.join(map(str, (inside, self.bin, "/usr/bin", "/bin")))}
        for name in ("tool-of-nobody", "helper-of-nobody", "xdg-open", "xdg-settings", "www-browser"):
            self.write(inside / name, f"echo {name} >> {self.ran}")

    def write(self, file: Path, script: str) -> None:
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    monkeypatch.setattr(program_lookup, "_writable", [])
    note_writable((str(made.root),))
    return made


async def test_a_hook(machine: Machine) -> None:
    hook = CommandHook(["tool-of-nobody"], cwd=machine.root, environment=machine.environ)

    with pytest.raises(HookFailure, match=r"found only at .*work/.venv/bin/tool-of-nobody"):
        await hook.answer(a_call_draft())


async def test_a_status_command(machine: Machine) -> None:
    command = StatusCommand(["tool-of-nobody"], cwd=machine.root, environment=machine.environ)

    with pytest.raises(StatusCommandError, match="found only at"):
        await command.print_line({})


async def test_a_checking_command_without_a_sandbox(machine: Machine) -> None:
    command = CheckingCommand(
        "check", ["*"], ["tool-of-nobody"], workspace=machine.root, environment=machine.environ
    )

    with pytest.raises(DiagnosticsFailed, match="found only at"):
        await command.run([])


async def test_a_custom_tool(machine: Machine) -> None:
    declaration = CustomToolDeclaration(
        name="tool", description="d", command=("tool-of-nobody",), parameters=(), risk=RiskLevel.HIGH
    )
    tool = CustomTool(
        declaration, root=machine.root, resources=lambda _: frozenset(), inherited=machine.environ
    )

    with pytest.raises(ToolError, match=r"found only at .*tools.custom.tool.command"):
        await tool.seal({}, {})


def test_a_tool_server(machine: Machine) -> None:
    table = msgspec.convert({"command": ["tool-of-nobody"]}, McpServerTable)

    assert "found only at" in find_obstacle(table, machine.environ)
    whole = msgspec.convert({"command": [f"{machine.root}/.venv/bin/tool-of-nobody"]}, McpServerTable)
    assert not find_obstacle(whole, machine.environ)


class _NoPeer:
    def take_notification(self, method: str, params: JsonObject) -> None:
        raise AssertionError(method)

    async def answer_request(self, method: str, params: JsonObject) -> JsonObject:
        raise AssertionError(method)


RUNNERS = (
    *("npx -y {}", "npx --package={} other", "npm exec {}@1.0 -- x", "pnpm dlx {}", "bunx --bun {}"),
    *("pnx {}", "pn dlx {}"),
)


@pytest.mark.parametrize("line", RUNNERS)
@pytest.mark.parametrize("package", ["server-of-nobody", "@nobody/server"])
def test_a_package_of_the_workspace_that_a_runner_prefers(machine: Machine, line: str, package: str) -> None:
    words, below = line.format(package).split(), machine.root / "a/b"
    below.mkdir(parents=True)
    assert find_local_package(words, str(below)) is None
    (machine.root / "node_modules" / package).mkdir(parents=True)

    assert find_local_package(words, str(below)) == f"{machine.root}/node_modules/{package}"
    assert find_local_package(("node", *words[1:]), str(below)) is None
    assert find_local_package(words, str(machine.bin)) is None, "nothing there is the workspace's"


async def test_a_server_an_agent_a_hook_and_a_status_command_by_such_a_runner(machine: Machine) -> None:
    machine.write(machine.bin / "npx", f"echo npx >> {machine.ran}")
    (machine.root / "node_modules/.bin").mkdir(parents=True)
    (machine.root / "node_modules/.bin/thing").symlink_to("../thing/run.js")
    words = ("npx", "-y", "@scope/thing@2")
    table = msgspec.convert({"command": words}, McpServerTable)
    agent = AgentLaunch(name="a", words=(f"{machine.bin}/npx", *words[1:]), environ={}, timeout_secs=1)
    hook = CommandHook(words, cwd=machine.root, environment=machine.environ)
    status = StatusCommand(words, cwd=machine.root, environment=machine.environ)

    with pytest.raises(ToolError, match="npx would start"):
        open_transport("a", table, cwd=machine.root, environ=machine.environ, secret_names=())
    with pytest.raises(ProviderError, match="npx would start"):
        await AgentChannel(agent, str(machine.root), _NoPeer(), None, ObeyedPlaces(())).open()
    with pytest.raises(HookFailure, match="npx would start"):
        await hook.answer(a_call_draft())
    with pytest.raises(StatusCommandError, match="npx would start"):
        await status.print_line({})
    assert not machine.ran.exists()


def test_settings_and_modules_of_the_workspace_do_not_reach_a_runner(machine: Machine) -> None:
    folder = str(machine.root)
    (machine.root / "own.py").write_text("")

    def pin(line: str) -> tuple[str, dict[str, str]]:
        words, settings = pin_runner(line.split(), f"{machine.bin}/{line.split()[0]}", folder)
        return " ".join(words).removeprefix(f"{machine.bin}/"), settings

    for line in ("npx -y server", "npx -y ./server", "npx -c server", "npm exec github:nobody/server@1"):
        runner, _, rest = line.partition(" ")
        words, given = pin(line)
        assert words == f"{runner} --prefix {machine.bin} {rest}"
        assert list(given) == ["npm_config_script_shell"]
    machine.write(machine.bin / "server", "true")
    installed = pin("npx -y server")
    assert installed == ("npx -y server", {**given, "npm_config_location": "global"})
    assert pin("npx -y server@2") == (f"npx --prefix {machine.bin} -y server@2", given)
    assert pin("pnpm dlx server") == ("pnpm dlx server", {"npm_config_ignore_pnpmfile": "true"})
    assert pin("yarn dlx server") == ("yarn dlx server", {"YARN_IGNORE_PATH": "1"})
    assert pin("npm run server") == ("npm run server", {})
    assert pin("python3 -I -m server")[1] == {"PYTHONSAFEPATH": "1"}
    assert pin("python3.12 -m own.server")[1] == {}
    assert pin("python3 main.py -m server")[1] == {}


@pytest.mark.parametrize(
    "words",
    [
        ("python3", "-c", "import json"),
        ("python3", "-ucimport json"),
        ("python3", "-"),
        ("python3", "-W", "ignore", "-um", "json.tool"),
        ("env", "-i", "A=1", "python3", "-c", "import json"),
        ("uv", "run", "python", "-m", "json.tool"),
        ("timeout", "5", "/usr/bin/python3", "-X", "dev", "-mjson.tool"),
        ("sh", "-c", "cat a.json | python3 -m json.tool"),
        ("bash", "-lc", "exec python3 -c 'import json'"),
        ("sh", "-c", 'A=1 "python3" -c "import json; print(1)"'),
    ],
)
def test_code_for_python_imports_nothing_of_the_workspace(machine: Machine, words: Sequence[str]) -> None:
    assert pin_runner(words, words[0], str(machine.root))[1] == {"PYTHONSAFEPATH": "1"}
    for other in (("python3", "tool.py", "-c", "x"), ("sh", "-c", "python3 tool.py"), ("node", "-c", "x")):
        assert pin_runner(other, other[0], str(machine.root))[1] == {}


def test_what_runs_a_package_and_what_yarn_obeys_are_looked_for_as_well(machine: Machine) -> None:
    binaries = machine.root / "node_modules/.bin"
    binaries.mkdir(parents=True)
    assert find_local_package(("npx", "-y", "server"), str(machine.root)) is None
    (machine.root / ".yarnrc.yml").write_text("yarnPath: ./yarn.js")
    assert find_local_package(("yarn", "dlx", "server"), str(machine.root)) == f"{machine.root}/.yarnrc.yml"
    (binaries / "node").write_text("")

    for line in ("npx -y server", "bunx server", "npm exec server"):
        assert find_local_package(line.split(), str(machine.root)) == f"{binaries}/node"


def test_what_npx_starts_gets_nothing_of_the_workspace_even_if_it_is_put_there_later(machine: Machine) -> None:
    """npm puts `node_modules/.bin` of a folder and of those above in front of PATH, then starts a shell."""
    _, settings = pin_runner(("npx", "-y", "server"), f"{machine.bin}/npx", str(machine.root))
    binaries, below = machine.root / "node_modules/.bin", machine.root / "a b"
    below.mkdir()
    binaries.mkdir(parents=True)
    for name in ("sh", "git", "server"):
        machine.write(binaries / name, f"echo {name} >> {machine.ran}")
    cache = machine.root.parent / "cache/node_modules/.bin"
    cache.mkdir(parents=True)
    machine.write(cache / "server", 'git; echo "$1 $npm_config_prefix$npm_config_script_shell"')
    machine.write(machine.bin / "git", "echo the git of the machine")
    path = [cache, below / "node_modules/.bin", binaries, "/node_modules/.bin", machine.bin, "/usr/bin", "/bin"]

    done = subprocess.run(
        [settings["npm_config_script_shell"], "-c", "'server' 'one two'"],
        cwd=below,
        env={"PATH": os.pathsep.join(map(str, path)), "npm_config_prefix": "/x", **settings},
        capture_output=True,
        text=True,
    )

    assert done.stdout == "the git of the machine\none two \n", done.stderr
    assert not machine.ran.exists()


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("pnpm dlx server", ".npmrc"),
        ("pnx server", "pnpm-workspace.yaml"),
        ("bunx server", "bunfig.toml"),
        ("bun --smol run /opt/server.ts", "bunfig.toml"),
        ("bun -e 1", "bunfig.toml"),
    ],
)
def test_settings_that_a_runner_would_obey_keep_it_from_starting(
    machine: Machine, line: str, name: str
) -> None:
    assert find_local_package(line.split(), str(machine.root)) is None
    (machine.root / name).write_text("")

    assert find_local_package(line.split(), str(machine.root)) == f"{machine.root}/{name}"
    assert find_local_package(["bun", "run", "lint"], str(machine.root)) is None


def test_what_an_agent_starts_in_turn(machine: Machine) -> None:
    machine.write(machine.bin / "agent-of-nobody", "true")
    settings = msgspec.convert({"agents": {"mine": {"command": ["agent-of-nobody"]}}}, Settings)

    launch = find_launch("mine", settings, machine.environ)

    assert launch.words == (f"{machine.bin}/agent-of-nobody",)
    assert launch.environ["PATH"].split(os.pathsep) == [str(machine.bin), "/usr/bin", "/bin"]


@pytest.mark.parametrize(
    ("folder", "is_refused"),
    [
        ("{home}", True),
        ("{home}/", True),
        ("{home}/.codex/..", True),
        ("{home}/..", True),
        ("/", True),
        ("{home}/link", True),
        ("{home}/.codex", False),
        ("{home}-of-codex", False),
    ],
)
def test_a_confined_agent_is_not_given_the_home_folder(machine: Machine, folder: str, is_refused: bool) -> None:
    machine.write(machine.bin / "codex-acp", "true")
    home = machine.root.parent / "home-of-agents"
    (home / ".codex").mkdir(parents=True)
    (home / "link").symlink_to(home)
    environ = {**machine.environ, "HOME": str(home), "CODEX_HOME": folder.format(home=home)}
    confined = msgspec.convert({"agents": {"codex": {"sandbox": True}}}, Settings)

    assert find_launch("codex", Settings(), environ).environ["CODEX_HOME"] == environ["CODEX_HOME"]
    if is_refused:
        with pytest.raises(ConfigError, match=r"CODEX_HOME is .*, and your home folder lies in it"):
            find_launch("codex", confined, environ)
    else:
        assert environ["CODEX_HOME"] in find_launch("codex", confined, environ).folders


def test_the_copilot_cli(machine: Machine) -> None:
    settings = ProviderSettings(type="copilot", program="tool-of-nobody")

    with pytest.raises(ProviderError, match="found only at"):
        CliLaunch.of("copilot", settings, machine.environ)


async def test_a_browser(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SSH_CONNECTION", "SSH_TTY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("PATH", machine.environ["PATH"].removesuffix("/usr/bin:/bin").rstrip(":"))
    assert not await open_address("https://example.org/")

    opened = machine.ran.with_name("opened")
    machine.write(machine.bin / "xdg-open", f'echo "$1" > {opened}')
    assert await open_address("https://example.org/")
    assert not machine.ran.exists()

    machine.write(machine.bin / "xdg-open", "exit 3")
    assert not await open_address("https://example.org/")


async def test_what_such_a_program_starts_in_turn(machine: Machine) -> None:
    machine.write(machine.bin / "status", "helper-of-nobody; echo $PATH")
    command = StatusCommand(["status"], cwd=machine.root, environment=machine.environ)

    assert ".venv" not in await command.print_line({})
    assert not machine.ran.exists()

from __future__ import annotations

import os
import socket
import sys
import threading
from pathlib import Path

import pytest

from tests.infrastructure.sandbox.sandbox_bench import Household, needs_bubblewrap

pytestmark = needs_bubblewrap

_ELSEWHERE = "/usr/quorum-was-here"
_CONNECT = "import socket; socket.create_connection(('127.0.0.1', {port}), 5).close(); print('connected')"


async def test_what_a_command_writes_in_the_workspace_is_there(household: Household) -> None:
    assert await household.run("mkdir deep && echo made > deep/file") == "exit code 0"

    assert (household.root / "deep/file").read_text() == "made\n"


async def test_the_rest_of_the_file_system_is_read_only(household: Household) -> None:
    output = await household.run(f"touch {_ELSEWHERE}")

    assert "Read-only file system" in output
    assert "tools.run_command.sandbox_writable" in output
    assert "quorum-was-here" not in os.listdir("/usr")


async def test_nothing_written_to_the_home_arrives_there(household: Household) -> None:
    profile = household.write(".bashrc", "mine\n")

    await household.run('echo evil >> ~/.bashrc; echo evil > ~/new; rm -rf ~/.config; echo "$HOME"')

    assert profile.read_text() == "mine\n"
    assert not (household.home / "new").exists()


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    "path", [".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", "notes.txt", "other/x.py"]
)
async def test_nothing_of_the_home_can_be_read(household: Household, path: str) -> None:
    household.write(path)

    output = await household.run(f"cat ~/{path}; ls -A ~")

    assert "No such file or directory" in output
    assert "secret" not in output


async def test_a_program_installed_in_the_home_runs_and_cannot_be_changed(household: Household) -> None:
    program = household.write(".local/bin/greet", "#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    household.environ["PATH"] = f"{program.parent}:{household.environ['PATH']}"

    output = await household.run("greet; echo evil >> ~/.local/bin/greet")

    assert output.startswith("hello\n")
    assert "Read-only file system" in output


async def test_credentials_among_the_tools_of_the_home_stay_secret(household: Household) -> None:
    household.write(".cargo/credentials.toml")
    household.write(".cargo/env", "plain\n")

    output = await household.run("cat ~/.cargo/env ~/.cargo/credentials.toml")

    assert output.startswith("plain\n")
    assert "Permission denied" in output
    assert "secret" not in output


async def test_secrets_of_the_home_are_hidden_where_the_home_is_the_workspace(household: Household) -> None:
    household.root = household.home
    for path in (".ssh/config", ".docker/config.json", ".git-credentials"):
        household.write(path)
    household.write("plain", "readable\n")

    output = await household.run(
        "cat plain .ssh/config .docker/config.json .git-credentials; touch new .ssh/new"
    )

    assert output.startswith("readable\n")
    assert "secret" not in output
    assert (household.home / "new").exists()
    assert not (household.home / ".ssh/new").exists()


async def test_our_state_and_configuration_are_hidden_wherever_they_lie(
    household: Household, tmp_path: Path
) -> None:
    inside = household.write("src/project/own-state/ledger")
    outside = household.write(".config/quorum/quorum.toml")
    named = household.write("src/project/named.toml")
    household.own = [inside.parent, outside.parent, named]

    output = await household.run(f"cat own-state/ledger {outside} named.toml; ls own-state; touch own-state/x")

    assert "secret" not in output
    assert "Read-only file system" in output
    assert inside.read_text() == named.read_text() == "secret\n"


@pytest.mark.parametrize("path", ["AGENTS.md", "sub/mise.toml", ".github/workflows/ci.yml", ".git/config"])
async def test_a_protected_path_can_be_read_and_not_changed(household: Household, path: str) -> None:
    file = household.write(f"src/project/{path}", "mine\n")

    output = await household.run(f"cat {path}; echo evil >> {path}; rm -rf {path}")

    assert output.startswith("mine\n")
    assert file.read_text() == "mine\n"


@pytest.mark.long
async def test_no_number_of_sensitive_files_opens_a_protected_path_or_another_of_them(
    household: Household,
) -> None:
    for path in (".git/hooks/pre-commit", ".git/config", ".env"):
        household.write(f"src/project/{path}", "mine\n")
    for number in range(400):
        household.write(f"src/project/!{number}.pem", "")

    output = await household.run("echo evil > .git/hooks/pre-commit; echo evil > .git/config; cat .env")

    assert output.count("Read-only file system\n") == 2
    assert ".env: Permission denied" in output
    assert "too large to be looked through" in output
    assert (household.root / ".git/hooks/pre-commit").read_text() == "mine\n"


async def test_a_repository_of_an_installed_package_cannot_be_changed(household: Household) -> None:
    hook = household.write("src/project/node_modules/@a/b/.git/hooks/pre-commit", "mine\n")

    output = await household.run(
        "echo evil > node_modules/@a/b/.git/hooks/pre-commit; echo fine > node_modules/@a/b/x"
    )

    assert "Read-only file system" in output
    assert hook.read_text() == "mine\n"
    assert (household.root / "node_modules/@a/b/x").read_text() == "fine\n"


async def test_settings_of_the_kernel_cannot_be_written_by_anybody(household: Household) -> None:
    output = await household.run(
        "find /proc -writable -type f -not -path '/proc/[0-9]*' -not -path '/proc/*self/*' "
        "-not -path /proc/keys 2>/dev/null | head; test -c /proc/keys || echo keys; "
        "test -w /proc/sys/kernel/core_pattern"
    )

    assert output == "exit code 1"


async def test_nothing_new_appears_in_a_protected_folder_nor_can_it_be_moved_away(household: Household) -> None:
    household.write("src/project/.git/HEAD", "x\n")

    output = await household.run("mkdir .git/hooks; mv .git elsewhere")

    assert "Read-only file system" in output
    assert sorted(os.listdir(household.root)) == [".git"]
    assert os.listdir(household.root / ".git") == ["HEAD"]


async def test_a_protected_path_that_an_approved_command_makes_is_reported(household: Household) -> None:
    output = await household.run("echo obey > AGENTS.md", was_asked=True)

    assert output == (
        "exit code 0\n"
        f"made by the command, though protected: {household.root}/AGENTS.md (it was not there before)"
    )


async def test_sensitive_files_of_the_workspace_cannot_be_read(household: Household) -> None:
    household.write("src/project/.env")
    household.write("src/project/deep/er/server.pem")
    household.write("src/project/.aws/credentials")
    household.write("src/project/.github/.env")
    shared = household.write("src/project/shared/settings")
    (household.root / ".env.local").symlink_to(shared)

    output = await household.run(
        "cat .env deep/er/server.pem .aws/credentials .github/.env .env.local; ls .aws"
    )

    assert "secret" not in output
    assert output.count("Permission denied") == 4


async def test_certificates_of_installed_packages_can_be_read(household: Household) -> None:
    household.write("src/project/.venv/lib/python3/site-packages/certifi/cacert.pem", "authorities\n")

    assert "authorities" in await household.run("cat .venv/lib/python3/site-packages/certifi/cacert.pem")


async def test_keys_are_in_no_environment_a_command_can_see(household: Household) -> None:
    household.environ["ANTHROPIC_API_KEY"] = "sk-planted"

    output = await household.run("env; cat /proc/*/environ | tr '\\0' '\\n'")

    assert "PATH=" in output
    assert "sk-planted" not in output


async def test_a_command_sees_its_own_processes_only(household: Household) -> None:
    output = await household.run(f"echo /proc/[0-9]*; kill -0 {os.getpid()}; echo asked: $?")

    processes = output.split("\n")[0].split()
    assert 1 < len(processes) < 5
    assert f"/proc/{os.getpid()}" not in processes
    assert "asked: 1" in output


async def test_a_command_has_no_capabilities_and_gains_none(household: Household) -> None:
    output = await household.run("grep -E 'CapEff|NoNewPrivs' /proc/self/status")

    assert output == "CapEff:\t0000000000000000\nNoNewPrivs:\t1\nexit code 0"


async def test_temporary_folders_are_private(household: Household, tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("secret\n")
    household.environ["TMPDIR"] = str(tmp_path)

    output = await household.run('cat "$(dirname "$HOME")/theirs"; f=$(mktemp) && echo "$f"; ls -A /run')

    assert "secret" not in output
    assert "\n/tmp/tmp." in output


async def test_addresses_of_hidden_sockets_are_taken_away(household: Household) -> None:
    household.environ |= {"SSH_AUTH_SOCK": "/tmp/agent", "XDG_RUNTIME_DIR": "/run/user/0"}

    assert "AUTH_SOCK" not in await household.run("env | grep -E 'SSH_AUTH_SOCK|XDG_RUNTIME' || echo none")


async def test_the_network_is_reached_only_where_it_is_on(household: Household) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepting = threading.Thread(target=lambda: server.accept()[0].close(), daemon=True)
        accepting.start()
        command = f'{sys.executable} -c "{_CONNECT.format(port=server.getsockname()[1])}"'

        household.network = False
        closed = await household.run(command)
        household.network = True
        opened = await household.run(command)

        accepting.join(60)
    assert "ConnectionRefusedError" in closed
    assert opened == "connected\nexit code 0"


async def test_without_the_network_a_command_can_still_talk_to_itself(household: Household) -> None:
    household.network = False
    script = (
        "import socket; s = socket.create_server(('127.0.0.1', 0));"
        "c = socket.create_connection(s.getsockname()); s.accept(); print('met')"
    )

    assert await household.run(f'{sys.executable} -c "{script}"') == "met\nexit code 0"


async def test_a_socket_outside_the_workspace_cannot_be_reached(household: Household, tmp_path: Path) -> None:
    address = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(address))
        server.listen()
        script = f"import socket; socket.socket(socket.AF_UNIX).connect('{address}')"

        output = await household.run(f'{sys.executable} -c "{script}"')

    assert "FileNotFoundError" in output


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SSH_AUTH_SOCK", "{}"),
        ("DOCKER_HOST", "unix://{}"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path={},guid=0"),
    ],
)
async def test_a_socket_that_acts_for_the_person_is_closed_even_where_it_is_in_sight(
    household: Household, variable: str, value: str
) -> None:
    household.environ[variable] = value.format(household.root / "agent")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(household.root / "agent"))
        server.listen()
        script = "import socket; socket.socket(socket.AF_UNIX).connect('agent')"

        output = await household.run(f'{sys.executable} -c "{script}"')

    assert "ConnectionRefusedError" in output or "PermissionError" in output

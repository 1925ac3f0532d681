"""quorum as others install it: a wheel in an environment beside other distributions and projects."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.headless_run import configure, environment
from tests.support.installation import (
    ROOT,
    Installation,
    build_wheel_once,
    make_wheel,
    needed_without_extras,
)
from tests.support.terminal import Terminal

PACKAGES = ("domain", "application", "infrastructure", "tui")
SHADOWS = (*PACKAGES, "rich", "textual", "msgspec")
HOOK = """
[[hooks]]
event = "after_tool_call"
python = "quorum.hooks.secret_masker:SecretMasker"
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built once for all processes that run tests."""
    folder = tmp_path_factory.getbasetemp()
    return build_wheel_once(folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder)


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    """An environment without quorum."""
    return Installation(tmp_path / "venv")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Installation:
    """An environment with quorum, which no test changes."""
    installation = Installation(tmp_path_factory.mktemp("installed") / "venv")
    installation.install(wheel)
    return installation


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Installation:
    """An environment with quorum and what it needs, and no extra."""
    installation = Installation(tmp_path_factory.mktemp("bare") / "venv", needed_without_extras(wheel))
    installation.install(wheel)
    return installation


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with packages that have the names of ours and of our dependencies."""
    folder = tmp_path / "project"
    for name in SHADOWS:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f"raise RuntimeError('this is the {name} of the project')")
    (folder / "notes.txt").write_text("buy milk\n")
    return folder


def ask(installation: Installation, project: Path, home: Path, prompt: str, **variables: str) -> str:
    """What `quorum run` prints."""
    done = subprocess.run(
        [installation.quorum, "run", "--mode", "auto", prompt],
        cwd=project,
        env=environment(home, **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_holds_one_package_with_every_file_that_the_program_reads(wheel: Path):
    with ZipFile(wheel) as archive:
        held = set(archive.namelist())

    top_level = {name.partition("/")[0] for name in held}
    assert {name for name in top_level if not name.endswith((".dist-info", ".data"))} == {"quorum"}
    beside = {name.partition(".data/data/")[2] for name in held if ".data/" in name}
    assert beside == {
        "share/bash-completion/completions/quorum",
        "share/fish/vendor_completions.d/quorum.fish",
        "share/man/man1/quorum.1",
        "share/quorum/verify_audit_export.py",
        "share/zsh/site-functions/_quorum",
    }
    ours = {
        f"quorum/{file.relative_to(ROOT)}"
        for package in PACKAGES
        for file in (ROOT / package).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert ours <= held
    assert {"quorum/tui/app/quorum.tcss", "quorum/infrastructure/prices/prices.toml"} <= ours


@pytest.mark.long
def test_quorum_and_a_distribution_with_packages_of_the_same_names_leave_each_other_alone(
    installation: Installation, wheel: Path, project: Path, tmp_path: Path
):
    other = dict.fromkeys(PACKAGES, "NAME = 'the other one'")
    installation.install(make_wheel(tmp_path, "other", **other))
    installation.install(wheel)
    configure(tmp_path, HOOK)

    assert "buy milk" in ask(installation, project, tmp_path, "read notes.txt")
    seen = [installation.python, "-I", "-c", "import domain, tui; print(domain.NAME, tui.NAME)"]
    assert subprocess.check_output(seen, text=True) == "the other one the other one\n"

    installation.uninstall("quorum-agent")
    assert subprocess.check_output(seen, text=True) == "the other one the other one\n"
    assert not (installation.packages / "quorum").exists()


@pytest.mark.long
def test_quorum_runs_in_a_project_on_PYTHONPATH_that_has_packages_of_the_same_names(
    installed: Installation, project: Path, tmp_path: Path
):
    for path in (".", str(project), f"{tmp_path}::{project}"):
        reported = ask(
            installed, project, tmp_path, "read notes.txt and run `echo $PYTHONPATH`", PYTHONPATH=path
        )
        assert "buy milk" in reported
        assert path in reported  # the person's commands keep it


def quorum(
    installation: Installation, home: Path, *arguments: str, stdin: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [installation.quorum, *arguments],
        cwd=home,
        env=environment(home, **variables),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.long
def test_without_extras_quorum_answers_and_the_app_starts(bare: Installation, project: Path, tmp_path: Path):
    extras = "for name in ('html_to_markdown', 'copilot', 'keyring', 'boto3'): print(find_spec(name))"
    seen = [bare.python, "-I", "-c", f"from importlib.util import find_spec\n{extras}"]
    assert subprocess.check_output(seen, text=True).split() == ["None"] * 4

    assert "buy milk" in ask(bare, project, tmp_path, "read notes.txt")
    with Terminal(project, tmp_path, rows=30, columns=100, arguments=[], program=bare.quorum) as terminal:
        terminal.wait_until_ready()
        terminal.submit("read notes.txt")
        terminal.wait_for("buy milk")


@pytest.mark.long
def test_what_an_extra_would_do_is_answered_with_the_command_that_installs_it(
    bare: Installation, tmp_path: Path
):
    key = "q7Zrt9vX2m4kPwd3Ls8Y"
    configure(tmp_path, "tools.web.fetch = true\n")

    diagnosis = quorum(bare, tmp_path, "doctor").stdout
    copilot = quorum(bare, tmp_path, "run", "-m", "copilot/gpt", "hello")
    kept = quorum(bare, tmp_path, "keys", "set", "anthropic", stdin=key)
    listed = quorum(bare, tmp_path, "keys", "list", ANTHROPIC_API_KEY=key)

    for extra in ("copilot", "keyring", "web"):
        assert f"the extra {extra} is not installed" in diagnosis
        assert f"{INSTALL} {bare.python} {NEEDED[extra]}" in diagnosis
    for refused, extra in ((copilot, "copilot"), (kept, "keyring")):
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr.count("\n") == 1
        assert f"{INSTALL} {bare.python} {NEEDED[extra]}" in refused.stderr
    assert "anthropic: environment variable ANTHROPIC_API_KEY" in listed.stdout
    assert "openai: no key: OPENAI_API_KEY is not set\n" in listed.stdout
    assert (listed.returncode, f"{INSTALL} {bare.python} {NEEDED['keyring']}" in listed.stderr) == (0, True)
    assert key not in kept.stderr + listed.stdout + listed.stderr


INSTALL = "uv pip install --python"
NEEDED = {
    **{"acp": "'agent-client-protocol<", "audit": "'cbor2<", "bedrock": r"'anthropic\[bedrock\]'"},
    **{"copilot": "'github-copilot-sdk<", "fleet": "'procrastinate<", "keyring": "'keyring<", "mcp": "'mcp<"},
    **{
        "otel": "'opentelemetry-sdk<",
        "postgres": "'sqlalchemy<",
        "s3": "'obstore<",
        "serve": "'textual-serve<",
    },
    **{"vertex": r"'anthropic\[vertex\]'", "web": "'html-to-markdown<"},
}
"""For each extra, a requirement that its command names, as a pattern."""
CLOUD = '[models]\ndecision = "cloud/m"\n[providers.cloud]\ntype = "anthropic"\nclient = "{}"\nregion = "r"\n'
POSTGRES = 'storage.url = "postgresql+psycopg://quorum@127.0.0.1:1/quorum"\n'
WANTING: dict[str, tuple[str, tuple[str, ...]]] = {
    "acp": ("", ("acp",)),
    "audit": ("", ("sessions", "export", "--signed", "latest", "-o", "session.cose")),
    "bedrock": (CLOUD.format("bedrock"), ("run", "hello")),
    "copilot": ("", ("run", "-m", "copilot/gpt", "hello")),
    "fleet": (POSTGRES, ("fleet", "status")),
    "keyring": ("", ("keys", "set", "anthropic")),
    "mcp": ('mcp.servers.git.command = ["git"]\n', ("mcp", "test", "git")),
    "otel": ('telemetry.otlp_endpoint = "http://127.0.0.1:1"\n', ("run", "read notes.txt")),
    "postgres": (POSTGRES, ("sessions", "list")),
    "s3": ('storage.blobs = "s3://bucket"\n', ("run", "read notes.txt")),
    "serve": ("", ("serve",)),
    "vertex": (CLOUD.format("vertex"), ("run", "hello")),
    "web": ("tools.web.fetch = true\n", ("doctor",)),
}
"""For each extra, settings and a command that need it."""


def test_there_is_a_command_that_needs_each_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert set(WANTING) == set(project["optional-dependencies"]) - {"all"}


@pytest.mark.long
@pytest.mark.parametrize("extra", WANTING)
def test_a_command_that_needs_an_extra_says_how_to_install_it(
    extra: str, bare: Installation, tmp_path: Path
) -> None:
    settings, arguments = WANTING[extra]
    configure(tmp_path, settings)
    (tmp_path / "notes.txt").write_text("buy milk\n", encoding="utf-8")

    if "latest" in arguments:
        quorum(bare, tmp_path, "run", "read notes.txt")

    done = quorum(bare, tmp_path, *arguments, stdin="q7Zrt9vX2m4kPwd3Ls8Y")

    said = done.stdout + done.stderr
    assert re.search(rf"{INSTALL} \S+ .*{NEEDED[extra]}", said)
    assert "Traceback" not in said


@pytest.mark.long
def test_the_public_interface_is_imported_outside_of_the_program(installed: Installation):
    seen = [installed.python, "-I", "-c", "from quorum.api import Continue; print(Continue())"]
    assert subprocess.check_output(seen, text=True) == "Continue()\n"


@pytest.mark.long
def test_quorum_runs_as_a_module_in_such_a_project(installed: Installation, project: Path, tmp_path: Path):
    reported = subprocess.check_output(
        [installed.python, "-m", "quorum", "run", "read notes.txt"],
        cwd=project,
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        text=True,
    )

    assert "buy milk" in reported


@pytest.mark.long
@pytest.mark.parametrize("kind", ["wheel", "editable"])
def test_the_app_starts_in_such_a_project(kind: str, installed: Installation, project: Path, tmp_path: Path):
    program: dict[str, Path] = {}
    if kind == "wheel":
        program["program"] = installed.quorum

    variables = {"PYTHONPATH": "."}
    with Terminal(
        project, tmp_path, rows=30, columns=100, arguments=[], variables=variables, **program
    ) as terminal:
        terminal.wait_until_ready()
        terminal.submit("read notes.txt")
        terminal.wait_for("buy milk")

"""What a person is told to type for a missing extra or a newer version fits how the program was installed."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.command_line.reading import explain_tried_word
from quorum.infrastructure import extras
from quorum.infrastructure.extras import (
    SINGLE_FILE_MARK,
    Installation,
    Installer,
    find_installation,
    render_install_command,
    render_update_command,
)

ROOT = Path(__file__).parents[2]
PYTHON = "/opt/env/bin/python"
NEEDS = "'html-to-markdown<4,>=3.19'"
RECEIPT = """[tool]
requirements = [
    { name = "quorum-agent", extras = ["keyring"], directory = "/src" },
    { name = "six", specifier = ">=1.17" },
]
"""


def installed(by: Installer, **more: object) -> Installation:
    given = {"installer": by, "prefix": Path("/opt/quorum-agent"), "python": PYTHON, **more}
    return Installation(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("by", "more", "command"),
    [
        (Installer.PIP, {}, f"{PYTHON} -m pip install {NEEDS}"),
        (Installer.PIP, {"source": "file:///src", "folder": "/src"}, f"{PYTHON} -m pip install {NEEDS}"),
        (Installer.PIPX, {}, f"pipx inject quorum-agent {NEEDS}"),
        (Installer.UV, {}, f"uv pip install --python {PYTHON} {NEEDS}"),
        (Installer.UV_TOOL, {}, f"uv pip install --python {PYTHON} {NEEDS}"),
        (
            Installer.PIP,
            {"folder": "/src/a b", "is_distribution": False},
            f"{PYTHON} -m pip install -e '/src/a b[web]'",
        ),
        (
            Installer.UV,
            {"folder": "/src", "is_distribution": False},
            f"uv pip install --python {PYTHON} -e '/src[web]'",
        ),
    ],
)
def test_an_extra_is_added_in_the_way_the_program_came(
    by: Installer, more: dict[str, object], command: str
) -> None:
    assert render_install_command("web", installed(by, **more)) == command


@pytest.mark.parametrize(
    ("is_editable", "option"), [(False, ""), (True, "--editable ")], ids=["folder", "editable"]
)
def test_uv_keeps_what_the_tool_was_installed_with(tmp_path: Path, is_editable: bool, option: str) -> None:
    (tmp_path / "uv-receipt.toml").write_text(RECEIPT, encoding="utf-8")
    found = installed(
        Installer.UV_TOOL, prefix=tmp_path, source="file:///src", folder="/src", is_editable=is_editable
    )

    assert render_install_command("web", found) == (
        f"uv tool install {option}'quorum-agent[keyring,web] @ file:///src' --with 'six>=1.17'"
    )


@pytest.mark.parametrize(("mark", "extras"), [("", "web"), ("otel\naudit\n", "'audit otel web'")])
def test_a_single_file_is_built_anew_with_the_extras_it_has(tmp_path: Path, mark: str, extras: str) -> None:
    (tmp_path / SINGLE_FILE_MARK).write_text(f"quorum 1.0.0\n{mark}", encoding="utf-8")
    found = installed(Installer.SINGLE_FILE, prefix=tmp_path)
    had = " EXTRAS='audit otel'" if mark else ""
    then = "(in a clone; dist/quorum then takes the place of this file)"

    assert render_install_command("web", found) == f"make single-file EXTRAS={extras} {then}"
    assert render_update_command(found) == f"git pull && make single-file{had} {then}"


SRC = {"source": "file:///src", "folder": "/src"}
GIT = {"source": "git+https://example.org/quorum"}
WHEEL = {"source": "file:///dist/quorum_agent-1.0.0-py3-none-any.whl"}


@pytest.mark.parametrize(
    ("by", "more", "command"),
    [
        (Installer.PIP, SRC, f"git -C /src pull && {PYTHON} -m pip install --upgrade /src"),
        (Installer.PIP, SRC | {"prefix": Path("/src/.venv")}, "git -C /src pull && make -C /src setup"),
        (
            Installer.PIP,
            SRC | {"is_editable": True},
            f"git -C /src pull && {PYTHON} -m pip install --upgrade -e /src",
        ),
        (
            Installer.PIP,
            {"folder": "/src", "is_distribution": False},
            "git -C /src pull && make -C /src setup",
        ),
        (Installer.PIP, GIT, f"{PYTHON} -m pip install --upgrade git+https://example.org/quorum"),
        (
            Installer.PIP,
            WHEEL,
            f"{PYTHON} -m pip install --upgrade WHEEL (WHEEL: the path of the newer one)",
        ),
        (Installer.PIPX, SRC, "git -C /src pull && pipx upgrade quorum-agent"),
        (Installer.PIPX, GIT, "pipx upgrade quorum-agent"),
        (Installer.PIPX, {}, "pipx install --force WHEEL (WHEEL: the path of the newer one)"),
        (Installer.UV_TOOL, SRC, "git -C /src pull && uv tool upgrade quorum-agent"),
        (Installer.UV, SRC, f"git -C /src pull && uv pip install --upgrade --python {PYTHON} /src"),
    ],
)
def test_a_newer_version_comes_in_the_same_way(by: Installer, more: dict[str, object], command: str) -> None:
    assert render_update_command(installed(by, **more)) == command


def test_a_release_that_knows_its_repository_is_updated_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_own_address", lambda: "https://code.example/who/quorum")

    assert render_update_command(installed(Installer.UV_TOOL)) == (
        "uv tool install --reinstall git+https://code.example/who/quorum"
    )


@pytest.mark.parametrize(
    ("mark", "by"),
    [
        ("pipx_metadata.json", Installer.PIPX),
        ("uv-receipt.toml", Installer.UV_TOOL),
        (SINGLE_FILE_MARK, Installer.SINGLE_FILE),
    ],
)
def test_an_environment_is_known_by_the_file_of_what_made_it(
    mark: str, by: Installer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / mark).write_text("", encoding="utf-8")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))

    assert find_installation().installer is by


def test_this_process_knows_its_own_environment() -> None:
    found = find_installation()

    assert (found.prefix, found.python) == (Path(sys.prefix), sys.executable)
    assert sys.executable in render_install_command("web") or "pipx" in render_install_command("web")


def test_every_extra_has_requirements_that_its_command_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    for extra in project["optional-dependencies"]:
        command = render_install_command(extra, installed(Installer.PIPX))
        assert len(command.split()) > 3, extra
        assert "quorum-agent" not in command.removeprefix("pipx inject quorum-agent"), extra


@pytest.mark.parametrize("by", Installer)
@pytest.mark.parametrize("source", [{}, SRC, GIT, WHEEL], ids=["name", "folder", "git", "wheel"])
def test_no_command_takes_the_program_from_an_index_by_its_name(
    by: Installer, source: dict[str, object], tmp_path: Path
) -> None:
    (tmp_path / "uv-receipt.toml").write_text(RECEIPT, encoding="utf-8")
    found = installed(by, prefix=tmp_path, **source)

    for command in (render_install_command("web", found), render_update_command(found)):
        if source in (SRC, GIT):  # these keep from where it came
            command = re.sub(r"(pipx|uv tool) upgrade \S+$", "", command)
        assert not re.search(r"quorum-agent(?!\[[\w,]+\] @ )", command), command


# Programs of others that quorum works with, and how their makers have them installed.
OF_OTHERS = {"uv tool install mistral-vibe"}
REMEDY = re.compile(
    r"quorum-agent\b|\b(pip|pipx|uv tool|uv pip) (install|inject|upgrade)\b|\bmake (dev-)?setup\b"
)


def _list_sentences() -> Iterator[tuple[str, str]]:
    """The strings of the program that tell a person to install something, beside the one module for them."""
    for package in ("domain", "application", "infrastructure", "tui", "quorum"):
        for file in sorted((ROOT / package).rglob("*.py")):
            if (text := file.read_text(encoding="utf-8")) and REMEDY.search(text):
                for node in ast.walk(ast.parse(text)):
                    match node:
                        case ast.Constant(value=str(said)) if REMEDY.search(said):
                            yield str(file.relative_to(ROOT)), said


@pytest.mark.long
def test_one_module_alone_says_how_quorum_and_its_extras_are_installed() -> None:
    own = "infrastructure/extras.py"
    sentences = [(file, text) for file, text in _list_sentences() if text not in OF_OTHERS]
    # What guards look for in commands, and an example of a setting, tell nobody to install quorum.
    elsewhere = [
        (file, text)
        for file, text in sentences
        if file != own and not file.startswith(("domain/review/", "domain/shell/"))
    ]

    assert {file for file, _ in sentences} >= {own}
    assert [each for each in elsewhere if "for example make setup" not in each[1]] == [
        ("application/export/review_sarif.py", "pkg:pypi/quorum-agent")
    ]


@pytest.mark.parametrize("word", ["update", "upgrade", "self-update"])
def test_a_tried_update_is_answered_with_the_command_of_this_installation(word: str) -> None:
    assert explain_tried_word(word).endswith(f"this does: {render_update_command()}")


GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.name)
def test_no_page_takes_the_program_from_an_index_by_its_name(guide: Path) -> None:
    by_name = (
        r"\b(pip|pipx|uv tool) (install|inject|upgrade)\b.*[ \"']quorum(-agent)?(\[[\w,]+\])?[\"'`]?($|[ `])"
    )
    for line in guide.read_text(encoding="utf-8").splitlines():
        assert not re.search(by_name, line), line

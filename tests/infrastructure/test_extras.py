"""What a person is told to type for a missing extra or a newer version fits how the program was installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from quorum.infrastructure.extras import (
    Installation,
    find_installation,
    render_install_command,
    render_update_command,
)


def _installed(prefix: Path, *, by: str = "", **more: object) -> Installation:
    if by:
        (prefix / by).write_text("{}", encoding="utf-8")
    given = {"prefix": prefix, "python": "/opt/env/bin/python", "has_pip": True, **more}
    return Installation(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("by", "more", "command"),
    [
        ("", {}, '/opt/env/bin/python -m pip install "quorum-agent[web]"'),
        ("pipx_metadata.json", {}, 'pipx inject quorum-agent "quorum-agent[web]"'),
        (
            "uv-receipt.toml",
            {"has_pip": False, "source": "git+https://example.org/quorum"},
            'uv pip install --python /opt/env/bin/python "quorum-agent[web] @ git+https://example.org/quorum"',
        ),
        (
            "uv-receipt.toml",
            {"has_pip": False},
            'uv pip install --python /opt/env/bin/python "quorum-agent[web]"',
        ),
        ("", {"checkout": "/src/a b"}, "/opt/env/bin/python -m pip install -e '/src/a b[web]'"),
        (
            "",
            {"checkout": "/src", "has_pip": False},
            "uv pip install --python /opt/env/bin/python -e '/src[web]'",
        ),
    ],
)
def test_an_extra_is_added_in_the_way_the_program_came(
    tmp_path: Path, by: str, more: dict[str, object], command: str
) -> None:
    prefix = tmp_path / "quorum-agent"
    prefix.mkdir()

    assert render_install_command("web", _installed(prefix, by=by, **more)) == command


@pytest.mark.parametrize(
    ("by", "more", "command"),
    [
        ("", {}, '/opt/env/bin/python -m pip install --upgrade "quorum-agent"'),
        ("", {"source": "file:///src"}, "git -C /src pull && /opt/env/bin/python -m pip install /src"),
        ("", {"source": "file:///"}, "git -C / pull && make -C / setup"),
        ("", {"checkout": "/src"}, "git -C /src pull && make -C /src setup"),
        (
            "",
            {"source": "git+https://x/y"},
            '/opt/env/bin/python -m pip install --upgrade "git+https://x/y"',
        ),
        ("pipx_metadata.json", {}, "pipx upgrade quorum-agent"),
        (
            "pipx_metadata.json",
            {"source": "file:///src"},
            "git -C /src pull && pipx install --force /src",
        ),
        ("uv-receipt.toml", {"has_pip": False}, "uv tool upgrade quorum-agent"),
        (
            "uv-receipt.toml",
            {"has_pip": False, "source": "file:///src"},
            "git -C /src pull && uv tool install --reinstall /src",
        ),
    ],
)
def test_a_newer_version_comes_in_the_same_way(
    tmp_path: Path, by: str, more: dict[str, object], command: str
) -> None:
    prefix = tmp_path / "quorum-agent"
    prefix.mkdir()

    assert render_update_command(_installed(prefix, by=by, **more)) == command


def test_this_process_knows_its_own_environment() -> None:
    found = find_installation()

    assert (found.prefix, found.python) == (Path(sys.prefix), sys.executable)
    assert sys.executable in render_install_command("web") or "pipx" in render_install_command("web")

"""What is installed: the optional parts and how to get them, and which version of the program, from where."""

from __future__ import annotations

import importlib.util
import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

_NAME = "quorum-agent"
_UNKNOWN = "unknown"


def is_installed(module: str) -> bool:
    """Whether a module could be imported; it is not."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """How the program is installed: the folder and the interpreter of its environment, whether that has pip,
    the URL it was installed from, empty where from an index, and the folder of its sources where it is not
    installed."""

    prefix: Path
    python: str
    has_pip: bool
    source: str = ""
    checkout: str = ""


def find_installation() -> Installation:
    """That of this process. Looks at files."""
    is_unknown = find_own_version() == _UNKNOWN
    return Installation(
        prefix=Path(sys.prefix),
        python=sys.executable,
        has_pip=is_installed("pip"),
        source=_find_source(),
        checkout=str(Path(__file__).resolve().parents[1]) if is_unknown else "",
    )


def render_install_command(extra: str, installation: Installation | None = None) -> str:
    """What adds the extra of this name to the program, in the way in which it was installed, for a shell.

    pip and pipx find the program itself in place, so that they fetch only what the extra adds.
    """
    found = installation or find_installation()
    python, wanted = shlex.quote(found.python), f'"{_NAME}[{extra}]"'
    if (found.prefix / "pipx_metadata.json").is_file():
        return f"pipx inject {shlex.quote(found.prefix.name)} {wanted}"
    if not found.has_pip:  # of `uv tool`, or an environment that uv made
        if found.checkout:
            return f"uv pip install --python {python} -e {shlex.quote(f'{found.checkout}[{extra}]')}"
        where = f'"{_NAME}[{extra}] @ {found.source}"' if found.source else wanted
        return f"uv pip install --python {python} {where}"
    if found.checkout:
        return f"{python} -m pip install -e {shlex.quote(f'{found.checkout}[{extra}]')}"
    return f"{python} -m pip install {wanted}"


def render_update_command(installation: Installation | None = None) -> str:
    """What brings the program to its newest version, in the way in which it was installed, for a shell."""
    found = installation or find_installation()
    folder = found.source.removeprefix("file://") if found.source.startswith("file://") else ""
    if folder := folder or found.checkout:
        place = shlex.quote(folder)
        pull = f"git -C {place} pull"
        if (found.prefix / "pipx_metadata.json").is_file():
            return f"{pull} && pipx install --force {place}"
        if (found.prefix / "uv-receipt.toml").is_file():
            return f"{pull} && uv tool install --reinstall {place}"
        if found.checkout or found.prefix.is_relative_to(folder) or not found.has_pip:
            return f"{pull} && make -C {place} setup"
        return f"{pull} && {shlex.quote(found.python)} -m pip install {place}"
    if (found.prefix / "pipx_metadata.json").is_file():
        return f"pipx upgrade {shlex.quote(found.prefix.name)}"
    if (found.prefix / "uv-receipt.toml").is_file():
        return f"uv tool upgrade {_NAME}"
    installer = f"{shlex.quote(found.python)} -m pip install" if found.has_pip else "uv pip install"
    return f'{installer} --upgrade "{found.source or _NAME}"'


def _find_source() -> str:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        text = distribution(_NAME).read_text("direct_url.json")
        given: object = json.loads(text) if text else None
    except (PackageNotFoundError, ValueError):
        return ""
    if not isinstance(given, dict) or not isinstance(url := given.get("url"), str):
        return ""
    return f"{vcs['vcs']}+{url}" if isinstance(vcs := given.get("vcs_info"), dict) and "vcs" in vcs else url


def find_own_version() -> str:
    """The version that is installed; "unknown" where the program runs from its sources."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import, and few ask

    try:
        return version(_NAME)
    except PackageNotFoundError:
        return _UNKNOWN


def find_own_address() -> str:
    """Where the sources of the installed version are; empty where its release does not say."""
    from importlib.metadata import PackageNotFoundError, metadata  # slow to import, and few ask

    try:
        addresses = metadata(_NAME).get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    return next((each.partition(", ")[2] for each in addresses if each.startswith("Source, ")), "")
